package main

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"

	"flower/internal/text"
)

var sessionID = regexp.MustCompile(`--resume ([0-9a-f-]{36})`)

// session FILE sets SESSION to the session id that a line of once has named.
func session(ts *testscript.TestScript, neg bool, args []string) {
	m := sessionID.FindStringSubmatch(ts.ReadFile(args[0]))
	if neg || m == nil {
		ts.Fatalf("no session is named")
	}
	ts.Setenv("SESSION", m[1])
}

// interrupt SIGNAL sends a signal to the last program in the background.
func interrupt(ts *testscript.TestScript, neg bool, args []string) {
	signals := map[string]syscall.Signal{"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP}
	cmds := ts.BackgroundCmds()
	if neg || len(args) != 1 || signals[args[0]] == 0 || len(cmds) == 0 {
		ts.Fatalf("usage: interrupt INT, TERM or HUP, with a program in the background")
	}
	ts.Check(cmds[len(cmds)-1].Process.Signal(signals[args[0]]))
}

// columns N: no line of the output before is wider than N cells, and one is as wide.
func columns(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: columns n")
	}
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	widest := 0
	for line := range strings.Lines(ts.ReadFile("stdout")) {
		line = strings.TrimSuffix(line, "\n")
		w := text.Width(line)
		if w > n && !strings.HasPrefix(line, "<- ") { // the wake line is one line
			ts.Fatalf("%d cells: %s", w, line)
		}
		widest = max(widest, w)
	}
	if widest < n/2 {
		ts.Fatalf("the widest line has %d cells", widest)
	}
}

// fill FILE N BYTE writes N times a byte, given in hex.
func fill(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: fill file n hex")
	}
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	b, err := strconv.ParseUint(args[2], 16, 8)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Repeat(string([]byte{byte(b)}), n)), 0o666))
}

// lines N: the error stream before holds N lines, the exit code's not counted.
func lines(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: lines n")
	}
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	if got := strings.Count(ts.ReadFile("stderr"), "\n") - 1; got != n {
		ts.Fatalf("%d lines, want %d", got, n)
	}
}
