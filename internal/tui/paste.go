package tui

import (
	"strings"
	"unicode/utf8"

	"flower/internal/text"
)

// pastedText is what of a paste is kept: line breaks have one form, tabs stay, and nothing is left that a terminal
// would obey.
func pastedText(s string) string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	return plainInput(strings.ReplaceAll(s, "\r", "\n"))
}

// plainInput takes control sequences, control characters and hidden characters out of what came from the keyboard. It is
// the person's own text: where text.Plain takes out what a terminal would hide, up to the end if need be, only sequences
// that are complete within their row go here. Of others the characters that begin them go, and what follows stays.
func plainInput(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	var out strings.Builder
	out.Grow(len(s))
	for len(s) > 0 {
		at := strings.IndexFunc(s, control)
		if at < 0 {
			at = len(s)
		}
		out.WriteString(text.Plain(s[:at])) // it hides nothing else
		s = s[at:]
		switch {
		case s == "":
		case s[0] == '\n', s[0] == '\t':
			out.WriteByte(s[0])
			s = s[1:]
		default:
			s = s[controls(s):]
		}
	}
	return out.String()
}

func control(r rune) bool { return r < 0x20 || r >= 0x7f && r < 0xa0 }

// controls is the length of what goes at the beginning of s, which is a control character: a complete sequence, or the
// character with what makes it the beginning of one.
func controls(s string) int {
	r, n := utf8.DecodeRuneInString(s)
	if r == 0x1b && len(s) > 1 {
		switch s[1] {
		case '[', ']', 'P', 'X', '^', '_':
			r, n = rune(s[1])+0x40, 2 // it has a short form
		case '\\': // the end of a sequence that has none
			return 2
		}
	}
	switch r {
	case 0x1b: // of a set of characters, say
		if end := following(s, 1, 0x20, 0x2f); end > 1 && end < len(s) && s[end] >= 0x30 && s[end] < 0x7f {
			return end + 1
		}
	case 0x9b:
		end := following(s, following(s, n, 0x30, 0x3f), 0x20, 0x2f)
		if end < len(s) && s[end] >= 0x40 && s[end] < 0x7f {
			return end + 1
		}
	case 0x90, 0x98, 0x9d, 0x9e, 0x9f:
		end := strings.IndexFunc(s[n:], control)
		if end < 0 {
			return n
		}
		for _, mark := range []string{"\x1b\\", "\u009c", "\a"} {
			if strings.HasPrefix(s[n+end:], mark) && (mark != "\a" || r == 0x9d) {
				return n + end + len(mark)
			}
		}
	}
	return n
}

// following is the place behind the bytes of a range that stand at a place.
func following(s string, at int, from, to byte) int {
	for at < len(s) && s[at] >= from && s[at] <= to {
		at++
	}
	return at
}
