package document

import "strings"

// scanner walks the lines of a text and knows what hides them: a fence
// (CommonMark: three or more of one mark, closed by at least as many) or an
// HTML comment. Fences may stand inside list items, so it also knows how far
// the open list items are indented.
//
// It departs from CommonMark in one place: a fence in a list item does not end
// when a line is indented less than the item. Models indent carelessly, and
// what was meant as code must not become a section.
type scanner struct {
	mark  byte // '`', '~', '!' for a comment, 0 for nothing open
	run   int  // length of the opening fence
	base  int  // indent of the list item the fence stands in
	items []int
	own   int // items[:own] belong to a heading that is a list item itself
}

// next takes one line, without its line end. shown is what remains visible
// (hidden lines leave "", a list mark before a fence stays); heading reports
// whether the line may be a heading: visible, indented by at most three and
// in no list item.
func (s *scanner) next(line string) (shown string, heading bool) {
	indent, rest := cutIndent(line)
	if s.mark != 0 {
		if s.closes(indent, rest) {
			s.mark = 0
		}
		return "", false
	}
	if rest == "" {
		return "", false
	}
	for n := len(s.items); n > 0 && indent < s.items[n-1]; n-- {
		s.items = s.items[:n-1]
	}
	s.own = min(s.own, len(s.items))
	inItem := len(s.items) > s.own
	base, at := 0, indent
	if n := len(s.items); n > 0 {
		base = s.items[n-1]
	}
	if at-base <= 3 && strings.HasPrefix(rest, "<!--") {
		end := strings.LastIndex(rest, "-->")
		if end < 4 {
			s.mark = '!'
			return "", false
		}
		if end+3 == len(rest) {
			return "", false
		}
	}
	for at-base <= 3 && !isRule(rest) {
		if s.opens(rest) {
			s.base = base
			return strings.TrimRight(line[:len(line)-len(rest)], " \t"), false
		}
		width := listMark(rest)
		if width == 0 || len(s.items) > 64 {
			break
		}
		pad, inner := cutIndent(rest[width:])
		if inner == "" || pad > 4 {
			pad = 1
		}
		base, at = at+width+pad, at+width+pad
		s.items = append(s.items, base)
		rest = inner
	}
	return strings.TrimRight(line, " \t"), indent <= 3 && !inItem
}

func (s *scanner) opens(rest string) bool {
	mark, run := fenceRun(rest)
	if run < 3 || mark == '`' && strings.IndexByte(rest[run:], '`') >= 0 {
		return false
	}
	s.mark, s.run = mark, run
	return true
}

func (s *scanner) closes(indent int, rest string) bool {
	if s.mark == '!' {
		return strings.Contains(rest, "-->")
	}
	mark, run := fenceRun(rest)
	return mark == s.mark && run >= s.run && indent <= s.base+3 && strings.TrimRight(rest[run:], " \t") == ""
}

// closer is the line that ends what is open, "" when nothing is.
func (s *scanner) closer() string {
	switch s.mark {
	case 0:
		return ""
	case '!':
		return "-->"
	}
	return strings.Repeat(string(s.mark), s.run)
}

// section tells the scanner that its last line was a heading.
func (s *scanner) section(h heading) {
	if h.ordinal {
		s.own = len(s.items)
		return
	}
	s.items, s.own = s.items[:0], 0
}

func fenceRun(s string) (mark byte, run int) {
	if s == "" || s[0] != '`' && s[0] != '~' {
		return 0, 0
	}
	return s[0], len(s) - len(strings.TrimLeft(s, s[:1]))
}

// cutIndent counts the columns before the first character that is no blank; a
// tab goes to the next multiple of four.
func cutIndent(line string) (columns int, rest string) {
	for i := range len(line) {
		switch line[i] {
		case ' ':
			columns++
		case '\t':
			columns += 4 - columns%4
		default:
			return columns, line[i:]
		}
	}
	return columns, ""
}

// listMark is the width of a CommonMark list mark at the front of s, 0 when
// there is none.
func listMark(s string) int {
	n := 0
	for n < len(s) && n < 9 && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	switch {
	case n >= len(s):
		return 0
	case n == 0 && (s[0] == '-' || s[0] == '*' || s[0] == '+'), n > 0 && (s[n] == '.' || s[n] == ')'):
		n++
	default:
		return 0
	}
	if n < len(s) && s[n] != ' ' && s[n] != '\t' {
		return 0
	}
	return n
}
