package tools

import (
	"fmt"
	"sort"
	"strings"
	"unicode/utf8"
)

// change is what one call of Edit asks for.
type change struct {
	old, new string // old is not empty
	all      bool
}

// apply makes the change in body and returns the new body with the line numbers where it was made, or in why, for the
// model, what is in the way.
//
// Models see and write plain line feeds. In a body that has CRLF anywhere the search therefore takes both endings for
// one, and what is put in gets the ending of its place.
func (c change) apply(body string) (changed string, lines []int, why string) {
	v := unify(body)
	old := c.old
	if v.crlf != nil {
		old = strings.ReplaceAll(old, "\r\n", "\n")
	}
	found := occurrences(v.text, old, c.all)
	switch {
	case len(found) == 0:
		return "", nil, nearMiss(v.text, old)
	case len(found) > 1 && !c.all:
		return "", nil, fmt.Sprintf("old_string occurs more than once, at line %s. Add text around it that singles out one place, or set replace_all", numbers(lineNumbers(v.text, found)))
	}
	var out strings.Builder
	last := 0
	for _, at := range found {
		from, to := v.offset(at), v.offset(at+len(old))
		out.WriteString(body[last:from])
		out.WriteString(v.ending(body, from, c.new))
		last = to
	}
	out.WriteString(body[last:])
	if out.String() == body {
		return "", nil, "the change makes no difference; to change line endings use a command"
	}
	return out.String(), lineNumbers(v.text, found), ""
}

// unified is a body with all CRLF written as LF, and where they were.
type unified struct {
	text string
	crlf []int // offsets in text of the line feeds that were CRLF; nil if there were none
}

func unify(body string) unified {
	if !strings.Contains(body, "\r\n") {
		return unified{text: body}
	}
	v := unified{text: strings.ReplaceAll(body, "\r\n", "\n")}
	for at, gone := 0, 0; ; gone++ {
		i := strings.Index(body[at:], "\r\n")
		if i < 0 {
			return v
		}
		v.crlf = append(v.crlf, at+i-gone)
		at += i + 2
	}
}

// offset is the place in the body of an offset in the unified text.
func (v unified) offset(at int) int { return at + sort.SearchInts(v.crlf, at) }

// ending gives s, which is to stand at body[from:], the line ending of that place: the next one, else the one before.
func (v unified) ending(body string, from int, s string) string {
	if v.crlf == nil || !strings.Contains(s, "\n") {
		return s
	}
	s = strings.ReplaceAll(s, "\r\n", "\n")
	at := strings.IndexByte(body[from:], '\n')
	if at >= 0 {
		at += from
	} else {
		at = strings.LastIndexByte(body[:from], '\n')
	}
	if at > 0 && body[at-1] == '\r' {
		return strings.ReplaceAll(s, "\n", "\r\n")
	}
	return s
}

// occurrences returns offsets of s in text: all that do not overlap, or, if one is expected, the first and the next
// one even if they overlap, because then it is not clear which is meant.
func occurrences(text, s string, all bool) []int {
	var found []int
	for at := 0; at <= len(text); {
		i := strings.Index(text[at:], s)
		if i < 0 {
			break
		}
		found = append(found, at+i)
		if all {
			at += i + len(s)
			continue
		}
		_, size := utf8.DecodeRuneInString(s)
		at += i + size
	}
	return found
}

// lineNumbers turns ascending offsets into line numbers, from 1.
func lineNumbers(text string, offsets []int) []int {
	lines := make([]int, len(offsets))
	line, last := 1, 0
	for i, at := range offsets {
		line += strings.Count(text[last:at], "\n")
		lines[i], last = line, at
	}
	return lines
}
