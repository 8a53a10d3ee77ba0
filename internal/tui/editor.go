package tui

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"

	"flower/internal/text"
)

// Pastes above one of these are shown folded: nobody edits in them, and they would fill the screen.
const (
	foldLines = 5
	foldBytes = 800
)

// How much is remembered: lines, and bytes of all of them, of which there is one line at least.
const (
	maxHistory      = 200
	maxHistoryBytes = 64 << 20
)

// piece is what the cursor steps over: a character as people see one (a grapheme cluster), a line feed, or a folded
// paste.
type piece struct {
	text  string
	label string // of a folded paste: what is shown in its place
}

// editor is the text that is being typed, with its cursor. It knows no terminal. One goroutine uses it.
type editor struct {
	pieces []piece
	at     int // the cursor stands before this piece
	killed []piece

	history [][]piece // as they were entered, long pastes folded
	recall  int       // which line of history is shown; len(history) is none
	draft   []piece   // what was typed before history was looked at
}

func (e *editor) empty() bool { return len(e.pieces) == 0 }

// text is everything that was typed, folded pastes in full.
func (e *editor) text() string { return join(e.pieces) }

func join(pieces []piece) string {
	var out strings.Builder
	for _, p := range pieces {
		out.WriteString(p.text)
	}
	return out.String()
}

// graphemes cuts a text into pieces.
func graphemes(s string) []piece {
	pieces := make([]piece, 0, len(s))
	g := displaywidth.StringGraphemes(s)
	for g.Next() {
		pieces = append(pieces, piece{text: g.Value()})
	}
	return pieces
}

// insert types a text at the cursor. What belongs to the characters beside it joins them: a mark typed behind its letter,
// the second half of a picture.
func (e *editor) insert(s string) {
	from, to := e.at, e.at
	if from > 0 && e.pieces[from-1].label == "" {
		from--
	}
	if to < len(e.pieces) && e.pieces[to].label == "" {
		to++
	}
	before, after := join(e.pieces[from:e.at]), join(e.pieces[e.at:to])
	fresh := graphemes(before + s + after)
	e.replace(from, to, fresh)
	end := len(before) + len(s)
	for e.at = from; e.at < len(e.pieces) && end > 0; e.at++ {
		end -= len(e.pieces[e.at].text)
	}
}

// paste puts in what was pasted; label is what stands in its place if it is long.
func (e *editor) paste(s, label string) {
	if strings.Count(s, "\n") < foldLines && len(s) <= foldBytes {
		e.insert(s)
		return
	}
	e.replace(e.at, e.at, []piece{{text: s, label: label}})
	e.at++
}

// replace puts pieces in the place of those from one to another.
func (e *editor) replace(from, to int, fresh []piece) {
	e.pieces = slices.Concat(e.pieces[:from], fresh, e.pieces[to:])
}

// set replaces everything.
func (e *editor) set(pieces []piece) {
	e.pieces, e.at = pieces, len(pieces)
}

// take returns what was typed, empties the line and remembers it.
func (e *editor) take() string {
	s := e.text()
	e.remember(trimmed(e.pieces))
	e.set(nil)
	e.draft = nil
	e.recall = len(e.history)
	return s
}

// remember adds a line to the history, unless it is empty or the last one once more.
func (e *editor) remember(line []piece) {
	if len(line) == 0 || len(e.history) > 0 && slices.Equal(e.history[len(e.history)-1], line) {
		return
	}
	e.history = append(e.history, line)
	bytes, kept := 0, 0
	for _, l := range slices.Backward(e.history) {
		for _, p := range l {
			bytes += len(p.text)
		}
		if kept == maxHistory || kept > 0 && bytes > maxHistoryBytes {
			break
		}
		kept++
	}
	e.history = slices.Clone(e.history[len(e.history)-kept:]) // a part would keep the rest
}

// trimmed is a line without the blanks around it.
func trimmed(pieces []piece) []piece {
	for len(pieces) > 0 && strings.TrimSpace(pieces[0].text) == "" {
		pieces = pieces[1:]
	}
	for len(pieces) > 0 && strings.TrimSpace(pieces[len(pieces)-1].text) == "" {
		pieces = pieces[:len(pieces)-1]
	}
	return pieces
}

// unsent is what was typed and not entered: what was put aside to look at history, and what is shown, unless it is a line
// of history as it was.
func (e *editor) unsent() []string {
	var all []string
	keep := func(s string) {
		if strings.TrimSpace(s) != "" {
			all = append(all, s)
		}
	}
	if e.recall < len(e.history) {
		keep(join(e.draft))
		if slices.Equal(e.pieces, e.history[e.recall]) {
			return all
		}
	}
	keep(e.text())
	return all
}

// continued ends a line with a backslash in a line feed instead; false if there is no backslash before the cursor.
func (e *editor) continued() bool {
	if e.at == 0 || e.at != len(e.pieces) || e.pieces[e.at-1].text != `\` {
		return false
	}
	e.replace(e.at-1, e.at, []piece{{text: "\n"}})
	return true
}

// key does what a key of editing says; others do nothing.
func (e *editor) key(name string) {
	switch name {
	case "left", "ctrl+b":
		e.at = max(0, e.at-1)
	case "right", "ctrl+f":
		e.at = min(len(e.pieces), e.at+1)
	case "alt+b", "ctrl+left", "alt+left":
		e.at = e.wordLeft()
	case "alt+f", "ctrl+right", "alt+right":
		e.at = e.wordRight()
	case "home", "ctrl+a", "find":
		e.at = e.lineStart()
	case "end", "ctrl+e", "select":
		e.at = e.lineEnd()
	case "ctrl+home":
		e.at = 0
	case "ctrl+end":
		e.at = len(e.pieces)
	case "alt+enter", "shift+enter", "ctrl+enter":
		e.insert("\n")
	default:
		e.remove(name)
	}
}

// remove does what a key says that takes something away, or puts it back.
func (e *editor) remove(name string) {
	switch name {
	case "backspace", "ctrl+h", "shift+backspace":
		if e.at > 0 {
			e.at--
			e.replace(e.at, e.at+1, nil)
		}
	case "delete", "ctrl+d":
		if e.at < len(e.pieces) {
			e.replace(e.at, e.at+1, nil)
		}
	case "ctrl+w", "alt+backspace", "ctrl+backspace":
		e.kill(e.wordLeft(), e.at)
	case "alt+d", "ctrl+delete", "alt+delete":
		e.kill(e.at, e.wordRight())
	case "ctrl+u":
		e.kill(e.lineStart(), e.at)
	case "ctrl+k":
		e.kill(e.at, e.lineEnd())
	case "ctrl+y":
		e.replace(e.at, e.at, e.killed)
		e.at += len(e.killed)
	}
}

// kill takes out pieces and keeps them for ctrl+y.
func (e *editor) kill(from, to int) {
	if from == to {
		return
	}
	e.killed = append([]piece(nil), e.pieces[from:to]...)
	e.replace(from, to, nil)
	e.at = from
}

func (e *editor) lineStart() int {
	at := e.at
	for at > 0 && e.pieces[at-1].text != "\n" {
		at--
	}
	return at
}

func (e *editor) lineEnd() int {
	at := e.at
	for at < len(e.pieces) && e.pieces[at].text != "\n" {
		at++
	}
	return at
}

// kind tells what belongs to one word: letters and digits, wide characters, folded pastes; blanks and marks part them.
type kind int

const (
	blank kind = iota
	mark
	letter
	wide
	folded
)

func (p piece) kind() kind {
	r, _ := utf8.DecodeRuneInString(p.text)
	switch {
	case p.label != "":
		return folded
	case unicode.IsSpace(r):
		return blank
	case !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && !unicode.IsSymbol(r):
		return mark
	case text.Width(string(r)) == 2:
		return wide
	}
	return letter
}

func (e *editor) wordLeft() int {
	at := e.at
	for at > 0 && e.pieces[at-1].kind() <= mark {
		at--
	}
	for k := blank; at > 0; at-- {
		next := e.pieces[at-1].kind()
		if k != blank && next != k || k == folded {
			break
		}
		k = next
	}
	return at
}

func (e *editor) wordRight() int {
	at := e.at
	for at < len(e.pieces) && e.pieces[at].kind() <= mark {
		at++
	}
	for k := blank; at < len(e.pieces); at++ {
		next := e.pieces[at].kind()
		if k != blank && next != k || k == folded {
			break
		}
		k = next
	}
	return at
}

// older shows the line of history before the one that is shown; what was being typed comes back with newer.
func (e *editor) older() {
	if e.recall == 0 {
		return
	}
	if e.recall == len(e.history) {
		e.draft = e.pieces
	}
	e.recall--
	e.set(e.history[e.recall])
}

func (e *editor) newer() {
	if e.recall >= len(e.history) {
		return
	}
	e.recall++
	if e.recall == len(e.history) {
		e.set(e.draft)
		return
	}
	e.set(e.history[e.recall])
}

// up moves to the row above that was begun by a line feed; false if there is none.
func (e *editor) up() bool {
	start := e.lineStart()
	if start == 0 {
		return false
	}
	column := e.at - start
	e.at = start - 1
	e.at = min(e.lineStart()+column, start-1)
	return true
}

// down moves to the row below; false if there is none.
func (e *editor) down() bool {
	column := e.at - e.lineStart()
	end := e.lineEnd()
	if end == len(e.pieces) {
		return false
	}
	e.at = end + 1
	e.at = min(e.at+column, e.lineEnd())
	return true
}
