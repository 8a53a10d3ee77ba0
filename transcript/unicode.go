package transcript

import (
	"bytes"
	"unicode/utf8"
)

// cleanJSON makes the strings of a JSON text decodable to valid UTF-8: stray bytes and escapes of half a surrogate pair
// become U+FFFD. repaired says whether anything had to be changed; without need the bytes are returned as they are.
func cleanJSON(text []byte) (clean []byte, repaired bool) {
	if !utf8.Valid(text) {
		text, repaired = bytes.ToValidUTF8(text, []byte("\uFFFD")), true
	}
	halves := loneSurrogates(text)
	if len(halves) == 0 {
		return text, repaired
	}
	text = bytes.Clone(text)
	for _, at := range halves {
		copy(text[at:], `\ufffd`)
	}
	return text, true
}

// loneSurrogates finds the places of \uXXXX escapes that stand for half a character.
func loneSurrogates(text []byte) []int {
	var places []int
	for at := 0; ; {
		skip := bytes.IndexByte(text[at:], '\\')
		if skip < 0 {
			return places
		}
		at += skip
		r, ok := escapedRune(text[at:])
		switch {
		case !ok:
			at += 2 // a short escape, or the end of a torn text
		case r < 0xD800 || r > 0xDFFF:
			at += 6
		case r < 0xDC00 && followedByLow(text[at+6:]):
			at += 12
		default:
			places = append(places, at)
			at += 6
		}
		if at >= len(text) {
			return places
		}
	}
}

func followedByLow(text []byte) bool {
	r, ok := escapedRune(text)
	return ok && r >= 0xDC00 && r <= 0xDFFF
}

// escapedRune reads the \uXXXX that text begins with.
func escapedRune(text []byte) (r rune, ok bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	for _, c := range text[2:6] {
		r <<= 4
		switch {
		case c >= '0' && c <= '9':
			r += rune(c - '0')
		case c >= 'a' && c <= 'f':
			r += rune(c-'a') + 10
		case c >= 'A' && c <= 'F':
			r += rune(c-'A') + 10
		default:
			return 0, false
		}
	}
	return r, true
}

// sendable says whether the JSON text is valid UTF-8 and decodes to valid UTF-8.
func sendable(text []byte) bool { return utf8.Valid(text) && len(loneSurrogates(text)) == 0 }
