package document

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxLabel bounds, in bytes, the part of a line in which a section's name is
// looked for; the longest name with marks, two languages and an ordinal is far
// shorter. It keeps lines of a megabyte cheap.
const maxLabel = 240

// heading is a line that names a section.
type heading struct {
	key     string // "" when the name is none of the document's
	level   int    // number of #, 2 for a heading without
	title   string // the line without its #, for headings that are kept
	inline  string // text after the colon, belongs to the section
	ordinal bool   // the line is also a list item
}

// markTags are the HTML tags models use as heading marks.
var markTags = []string{"u", "b", "i", "strong", "em", "h1", "h2", "h3", "h4", "h5", "h6"}

// parseHeading reads one line, its indent gone. It is a heading when a section's
// name is all there is, apart from marks, and at least one mark says so: #,
// an ordinal, bold or underline on both sides, or a colon, after which text may
// follow. Any other line with # and a blank is a heading of no known section.
func (d *dialect) parseHeading(line string) (h heading, ok bool) {
	hashes, rest := cutHashes(line)
	h.level, h.title = 2, strings.TrimSpace(rest)
	if hashes > 0 {
		h.level = hashes
	}
	key, inline, ordinal := d.parseLabel(rest, hashes > 0)
	if key != "" {
		h.key, h.inline, h.ordinal = key, inline, ordinal && hashes == 0
		return h, true
	}
	plain := hashes > 0 && strings.HasPrefix(line, "#") && (rest == "" || rest[0] == ' ' || rest[0] == '\t')
	return h, plain
}

// cutHashes takes up to six # (also full-width) off the front.
func cutHashes(line string) (n int, rest string) {
	rest = line
	for n < 7 {
		if r, ok := strings.CutPrefix(rest, "#"); ok {
			rest = r
		} else if r, ok := strings.CutPrefix(rest, "＃"); ok {
			rest = r
		} else {
			break
		}
		n++
	}
	if n > 6 {
		return 0, line
	}
	return n, rest
}

func (d *dialect) parseLabel(s string, marked bool) (key, inline string, ordinal bool) {
	s = strings.TrimSpace(s)
	if marked {
		if t := strings.TrimRight(s, "#"); t != strings.TrimSpace(t) {
			s = strings.TrimSpace(t)
		}
	}
	opener := ""
	for range 6 {
		t := s
		s = strings.TrimLeftFunc(s, unicode.IsSpace)
		if rest, ok := cutOrdinal(s, marked || opener != ""); ok {
			s, ordinal = strings.TrimLeftFunc(rest, unicode.IsSpace), true
		}
		if mark := leadingMark(s); mark != "" {
			opener += mark
			s = s[len(mark):]
		}
		if marked || opener != "" {
			s = strings.TrimLeftFunc(s, isDecoration)
		}
		if s == t {
			break
		}
	}
	words, rest, colon, framed := cutLabel(s)
	if words == "" || !marked && !ordinal && !colon && !framed && opener == "" {
		return "", "", false
	}
	bare, closed := trimClosing(words, opener != "" || marked)
	key = d.section(bare)
	if key == "" {
		return "", "", false
	}
	inline = strings.TrimSpace(rest)
	if opener != "" && !closed {
		var ok bool
		if inline, ok = closeInline(inline, opener); !ok && !colon {
			return "", "", false
		}
	}
	return key, inline, ordinal
}

// cutLabel separates the name from the text after it: at the first colon, or
// after a name in 【】, or the name is the whole line.
func cutLabel(s string) (words, rest string, colon, framed bool) {
	if inner, ok := strings.CutPrefix(s, "【"); ok {
		if words, _, ok = strings.Cut(head(inner), "】"); ok {
			rest = strings.TrimLeftFunc(inner[len(words)+len("】"):], unicode.IsSpace)
			for _, c := range []string{":", "："} {
				rest = strings.TrimPrefix(rest, c)
			}
			return words, rest, false, true
		}
	}
	h := head(s)
	if i := strings.IndexFunc(h, isColon); i >= 0 {
		_, n := utf8.DecodeRuneInString(h[i:])
		return h[:i], s[i+n:], true, false
	}
	if len(s) > maxLabel {
		return "", "", false, false
	}
	return s, "", false, false
}

// head is the part of s a name can stand in.
func head(s string) string {
	if len(s) <= maxLabel {
		return s
	}
	n := maxLabel
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

func isColon(r rune) bool { return r == ':' || r == '：' || r == '﹕' || r == '∶' || r == '︰' }

// isDecoration tells emoji and other signs that stand before or after a name.
func isDecoration(r rune) bool {
	return unicode.In(r, unicode.So, unicode.Sk) || r == 0xfe0f || r == 0x200d || r == 0x20e3 || unicode.IsSpace(r)
}

// leadingMark returns the emphasis that opens s: a run of * or _, or a tag.
// A single * before a blank is a bullet and no mark.
func leadingMark(s string) string {
	if s == "" {
		return ""
	}
	if s[0] == '*' || s[0] == '_' {
		n := len(s) - len(strings.TrimLeft(s, s[:1]))
		if n > 3 || n == 1 && (len(s) == 1 || s[1] == ' ' || s[1] == '\t') {
			return ""
		}
		return s[:n]
	}
	if s[0] == '<' {
		for _, t := range markTags {
			if n := len(t) + 2; len(s) > n && s[n-1] == '>' && strings.EqualFold(s[1:n-1], t) {
				return s[:n]
			}
		}
	}
	return ""
}

// trimClosing takes closing marks and decoration off the end of a name.
func trimClosing(s string, decorated bool) (bare string, closed bool) {
	for range 6 {
		t := s
		s = strings.TrimRightFunc(s, unicode.IsSpace)
		if decorated {
			s = strings.TrimRight(strings.TrimRightFunc(s, isDecoration), "#")
		}
		if n := len(strings.TrimRight(s, "*_")); n < len(s) {
			s, closed = s[:n], true
		}
		for _, tag := range markTags {
			n := len(s) - len(tag) - 3
			if n >= 0 && strings.EqualFold(s[n:], "</"+tag+">") {
				s, closed = s[:n], true
			}
		}
		if s == t {
			break
		}
	}
	return s, closed
}

// closeInline takes the marks that opened before a name off the text after the
// colon: at its front (**name:** text) or at its end (**name: text**).
func closeInline(s, opener string) (string, bool) {
	if opener[0] == '<' {
		tag := "</" + opener[1:]
		for _, cut := range []func(string, string) (string, bool){strings.CutPrefix, strings.CutSuffix} {
			if t, ok := cut(s, tag); ok {
				return strings.TrimSpace(t), true
			}
		}
		return s, false
	}
	if t := strings.TrimLeft(s, opener[:1]); len(s)-len(t) == len(opener) {
		return strings.TrimSpace(t), true
	}
	if t := strings.TrimRight(s, opener[:1]); len(s)-len(t) == len(opener) {
		return strings.TrimSpace(t), true
	}
	return s, false
}

// cutOrdinal takes "1." "2)" "3、" "(4)" "一、" "（五）" "①" "1.2" "IV." off the
// front. loose also allows a number with nothing but a blank after it.
func cutOrdinal(s string, loose bool) (rest string, ok bool) {
	r, size := utf8.DecodeRuneInString(s)
	if r >= '①' && r <= '⑳' || r >= '❶' && r <= '❿' {
		return s[size:], true
	}
	open := r == '(' || r == '（'
	if open {
		s = s[size:]
	}
	n := 0
	for n < len(s) && n < 12 && (s[n] >= '0' && s[n] <= '9' || n > 0 && s[n] == '.' && n+1 < len(s) && s[n+1] >= '0' && s[n+1] <= '9') {
		n++
	}
	if n == 0 {
		n = len(head(s)) - len(strings.TrimLeft(head(s), "一二三四五六七八九十"))
		if n > 12 {
			return "", false
		}
	}
	if n == 0 {
		n = len(head(s)) - len(strings.TrimLeft(head(s), "IVXivx"))
		if n > 5 {
			return "", false
		}
	}
	if n == 0 {
		return "", false
	}
	r, size = utf8.DecodeRuneInString(s[n:])
	switch {
	case r == ')' || r == '）':
		return s[n+size:], true
	case open:
		return "", false
	case r == '.' || r == '、' || r == '．':
		next, _ := utf8.DecodeRuneInString(s[n+size:])
		return s[n+size:], n+size == len(s) || r == '、' || !isWord(next) && next != '.' && next != '/'
	case loose && (r == ' ' || r == 0xfe0f || r == 0x20e3) && s[0] <= '9' && s[0] >= '0':
		return s[n+size:], true
	}
	return "", false
}
