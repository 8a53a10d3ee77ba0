package tools

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Exit is how a command ended, as the last line of a result of Bash says it.
type Exit struct {
	Code        int
	Unknown     bool   // how it ended is not known; Code is 0
	Signal      string // that ended it
	Ran         time.Duration
	TimedOut    bool
	Interrupted bool
	Background  int // processes that it has left running
}

// Parts of a status line that are written and read: by statusLine and ReadExit.
const (
	exitUnknown     = "exit code unknown"
	exitTimeout     = "stopped: the timeout of "
	exitInterrupted = "interrupted: "
	exitBackground  = " still running in the background"
)

var exitLine = regexp.MustCompile(`^\[exit code (unknown|\d{1,10})(?:, ended by ([^,\]]+))?, ran ([^,\]]+)`)

var exitLeft = regexp.MustCompile(`, (\d{1,9}) process(?:es)?` + exitBackground)

// ReadExit reads the status line of Bash; false if it is none.
func ReadExit(line string) (Exit, bool) {
	m := exitLine.FindStringSubmatch(line)
	if m == nil || !strings.HasSuffix(line, "]") {
		return Exit{}, false
	}
	ran, err := time.ParseDuration(m[3])
	if err != nil {
		return Exit{}, false
	}
	e := Exit{Unknown: m[1] == "unknown", Signal: m[2], Ran: ran}
	e.Code, _ = strconv.Atoi(m[1]) // 0 where it is unknown
	rest := line[len(m[0]):]
	e.TimedOut = strings.HasPrefix(rest, ", "+exitTimeout)
	e.Interrupted = strings.Contains(rest, ", "+exitInterrupted)
	if left := exitLeft.FindStringSubmatch(rest); left != nil {
		e.Background, _ = strconv.Atoi(left[1])
	}
	return e, true
}

// Found is what a search came to, as the last line of a result of Glob or Grep says it.
type Found struct {
	Matches    int
	Files      int  // with matches; 0 where it is not said
	Incomplete bool // there may be more
}

var (
	foundLine = regexp.MustCompile(`^\[(?:the newest \d+ of )?(\d{1,9}) match(?:es)?(?: in (\d{1,9}) files?)?[;\]]`)
	noneLine  = regexp.MustCompile(`^\[(?:no match for |no file to search: |no file searched: |incomplete: )`)
)

// ReadFound reads the status line of Glob and Grep; false if it is none, or one of a page in the middle.
func ReadFound(line string) (Found, bool) {
	if !strings.HasSuffix(line, "]") {
		return Found{}, false
	}
	if noneLine.MatchString(line) {
		return Found{Incomplete: strings.HasPrefix(line, "[incomplete: ")}, true
	}
	m := foundLine.FindStringSubmatch(line)
	if m == nil {
		return Found{}, false
	}
	f := Found{Incomplete: strings.Contains(line, "; incomplete: ") || strings.HasPrefix(line, "[the newest ")}
	f.Matches, _ = strconv.Atoi(m[1]) // digits
	f.Files, _ = strconv.Atoi(m[2])   // or none
	return f, true
}

// Page is which lines of a file were read, as what people see of a result of Read says it.
type Page struct {
	First, Last, Total int
	More               bool // Total was not counted to the end
}

var pageLine = regexp.MustCompile(`: lines (\d{1,9})-(\d{1,9}) of (at least )?(\d{1,9}) lines?$`)

// ReadPage reads the display of Read; false if it is none.
func ReadPage(display string) (Page, bool) {
	m := pageLine.FindStringSubmatch(display)
	if m == nil {
		return Page{}, false
	}
	p := Page{More: m[3] != ""}
	p.First, _ = strconv.Atoi(m[1]) // digits, all three
	p.Last, _ = strconv.Atoi(m[2])
	p.Total, _ = strconv.Atoi(m[4])
	return p, true
}
