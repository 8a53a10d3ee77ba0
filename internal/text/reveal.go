package text

import (
	"fmt"
	"strings"
	"unicode"
)

// Reveal writes the characters that are there and are not seen as their numbers, <U+202E> for one, and control
// characters too. It is for texts a person decides by: Sanitise would take out what somebody wants to hide in them, and
// then the person agrees to something else than what is used.
func Reveal(s string) string {
	if clean(s) {
		return s
	}
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\r\n", "\n")
	var out strings.Builder
	last := ' '
	for _, r := range s {
		switch {
		case r == '\n', r == '\t':
			out.WriteRune(r)
		case r == '\u200c' || r == '\u200d':
			// Scripts and pictures are joined so; between letters that need none it hides something.
			if last < 0x80 {
				fmt.Fprintf(&out, "<U+%04X>", r)
			} else {
				out.WriteRune(r)
			}
		case r < 0x20, r >= 0x7f && r < 0xa0, hidden(r), invisible(r):
			fmt.Fprintf(&out, "<U+%04X>", r)
		default:
			out.WriteRune(r)
		}
		last = r
	}
	return out.String()
}

// invisible tells format characters that Sanitise leaves, and letters that look like nothing.
func invisible(r rune) bool {
	switch r {
	case 0x115f, 0x1160, 0x3164, 0xffa0, 0x2800: // fillers, and the blank of Braille
		return true
	}
	if r >= 0x600 && r <= 0x605 || r == 0x6dd || r == 0x70f || r == 0x8e2 || r == 0x110bd || r == 0x110cd {
		return false // signs that are seen
	}
	return unicode.Is(unicode.Cf, r)
}
