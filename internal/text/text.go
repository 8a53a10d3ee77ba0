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
	return head + tail[:min(len(tail), max(0, n-Width(head)))] // a wide character takes more than was left
}

// Fit makes a line exactly n cells wide: longer ones are truncated, shorter ones filled with blanks.
func Fit(s string, n int) string {
	s = Truncate(s, n)
	return s + strings.Repeat(" ", max(0, n-Width(s)))
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
