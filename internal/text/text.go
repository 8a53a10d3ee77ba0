// Package text is what flower says on a screen: the language it speaks, and how wide and how safe a text is.
//
// Terms. A cell is one column of a terminal; wide characters take two. A catalogue is the list of messages of one
// language, one embedded file each. SGR is the one control sequence that only changes how text looks (colour, bold).
//
// Trust. Texts of models, tools, files and errors are hostile until Sanitise has seen them: a terminal obeys whatever
// it is sent. Sanitise is called at the one place where output is written. Catalogues are part of the program.
package text

import (
	"strings"

	"github.com/clipperhouse/displaywidth"
)

// cells measures grapheme clusters and takes SGR for nothing. Ambiguous width is 1.
var cells = displaywidth.Options{ControlSequences: true}

// Width is the number of terminal cells of one line of text; SGR takes none.
func Width(s string) int { return cells.String(s) }

// Truncate cuts a line to at most n cells, never inside a character. What was cut is marked by "..." if n has room for
// more than that.
func Truncate(s string, n int) string {
	const mark = "..."
	if n <= 0 {
		return ""
	}
	if _, rest := split(s, n); rest == "" {
		return s
	}
	tail := mark
	if n <= len(mark) {
		tail = ""
	}
	head, _ := split(s, n-len(tail))
	return head + tail
}

// Fit makes a line exactly n cells wide: longer ones are truncated, shorter ones filled with blanks.
func Fit(s string, n int) string {
	s = Truncate(s, n)
	return s + strings.Repeat(" ", max(0, n-Width(s)))
}

// Wrap breaks a text into lines of at most n cells: at blanks where it can, next to a wide character otherwise, and
// inside a word that is longer than a line. Line breaks of the text stay. n below 2 counts as 2, so that every
// character fits.
func Wrap(s string, n int) []string {
	n = max(n, 2)
	var lines []string
	for _, line := range strings.Split(s, "\n") {
		for {
			head, rest := split(line, n)
			if rest == "" {
				break
			}
			if at := breakAt(line, len(head)); at > 0 {
				head, rest = line[:at], line[at:]
			}
			lines = append(lines, strings.TrimRight(head, " "))
			line = strings.TrimLeft(rest, " ")
		}
		lines = append(lines, line)
	}
	return lines
}

// split cuts s behind the last character that ends within n cells, but behind one character at least if n is positive.
func split(s string, n int) (head, rest string) {
	at, used := 0, 0
	g := cells.StringGraphemes(s)
	for g.Next() {
		w := g.Width()
		if used+w > n && (at > 0 || n <= 0) {
			break
		}
		used += w
		at += len(g.Value())
	}
	return s[:at], s[at:]
}

// closing are the marks that belong to what stands before them.
const closing = ",.;:!?)]}%、。，；：！？）】》」』”’"

// breakAt is the last place up to limit where a line may be broken: beside a blank or a wide character, but not before a
// mark that closes something, and behind something other than blanks. 0 if there is none.
func breakAt(s string, limit int) int {
	best, at := 0, 0
	seen, soft := false, false // something was there; the character before allows a break
	g := cells.StringGraphemes(s)
	for at <= limit && g.Next() {
		v := g.Value()
		here := v == " " || g.Width() == 2
		if seen && (soft || here) && !strings.Contains(closing, v) {
			best = at
		}
		at += len(v)
		seen = seen || v != " "
		soft = here
	}
	return best
}
