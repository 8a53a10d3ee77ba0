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
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
)

// cells measures grapheme clusters and takes SGR for nothing. Ambiguous width is 1.
var cells = displaywidth.Options{ControlSequences: true}

// Width is the number of terminal cells of one line of text; SGR takes none.
func Width(s string) int {
	if !strings.ContainsFunc(s, odd) {
		return cells.String(s)
	}
	width := 0
	for g := cells.StringGraphemes(s); g.Next(); {
		width += clusterWidth(g.Value(), g.Width())
	}
	return width
}

// odd tells the characters because of which a cluster is not as wide as its first character, in terminals: those that
// join a cluster and take a cell all the same (the marks of half-width kana, the vowel am of Thai and Lao), and the
// selector that asks for a picture, also of what has none.
func odd(r rune) bool {
	switch r {
	case 0xff9e, 0xff9f, 0x0e33, 0x0eb3, asPicture:
		return true
	}
	return false
}

// asPicture is the variation selector 16.
const asPicture = 0xfe0f

// clusterWidth corrects the measured width of one grapheme cluster.
func clusterWidth(cluster string, measured int) int {
	first, size := utf8.DecodeRuneInString(cluster)
	rest := cluster[size:]
	if strings.HasPrefix(rest, string(rune(asPicture))) && !pictured(first) && !strings.ContainsRune("#*0123456789", first) {
		measured = cells.Rune(first)
	}
	for _, r := range rest {
		if odd(r) && r != asPicture {
			measured++
		}
	}
	return measured
}

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
		w := clusterWidth(g.Value(), g.Width())
		if used+w > n && (at > 0 || n <= 0) {
			break
		}
		used += w
		at += len(g.Value())
	}
	return s[:at], s[at:]
}
