package cli

import (
	"strings"
	"unicode"

	"flower/internal/text"
)

// What a line can begin with that makes it no text for agents.
const (
	commandNew    = "/new"
	commandHelp   = "/help"
	commandStatus = "/status"
	commandAside  = "?" // a question beside the work
)

// entry is what a person's line says: a command and what stands behind it, or a text.
type entry struct {
	command string // in lower case; also one that does not exist; "" is none
	text    string // behind the command, or the whole line
}

// parseEntry reads a line. A command is a slash and letters, alone or before a blank: the path of a file has more than one
// slash, or a dot. A backslash before a slash or a question mark says that the line is a text, and is not part of it.
func parseEntry(line string) entry {
	said := strings.TrimSpace(line)
	if rest := strings.TrimLeft(said, "?？"); rest != said {
		return entry{commandAside, strings.TrimSpace(rest)}
	}
	if rest := strings.TrimLeft(said, `\`); rest != said && strings.IndexFunc(rest, begins) == 0 {
		return entry{text: said[1:]}
	}
	word, rest := said, ""
	if at := strings.IndexFunc(said, unicode.IsSpace); at >= 0 {
		word, rest = said[:at], strings.TrimSpace(said[at:])
	}
	name, slash := strings.CutPrefix(word, "/")
	if !slash || name == "" || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) }) {
		return entry{text: line}
	}
	return entry{strings.ToLower(word), rest}
}

// begins says whether a line that begins with r may be no text.
func begins(r rune) bool { return r == '/' || r == '?' || r == '？' }

// textOf is what a line says to agents: all of it if it was no command for those who took it.
func textOf(e entry, said string) string {
	if e.command != "" {
		return said
	}
	return e.text
}

// wish is what is wanted.
type wish struct {
	text  string
	fresh bool // the history is to be put aside first
}

// wish reads a request that was given where nobody can be asked what it means: as an argument, or through a pipe. What
// looks like a command and is none there is an error. Questions beside the work do not exist there.
func (a *app) wish(said string) (wish, error) {
	switch e := parseEntry(said); e.command {
	case "":
		return wish{text: strings.TrimSpace(e.text)}, nil
	case commandAside:
		return wish{text: strings.TrimSpace(said)}, nil
	case commandNew:
		return wish{e.text, true}, nil
	default:
		return wish{}, &usageError{spoken(a.noCommand(e))}
	}
}

// noCommand says that a word is none, and how to say it to agents.
func (a *app) noCommand(e entry) string {
	return a.Say("command.unknown", text.Data{"Word": oneLine(e.command)})
}
