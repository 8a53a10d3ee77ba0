package text

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Reveal writes the characters that are there and are not seen as their numbers, <U+202E> for one, control characters
// too, and blanks that are not the one of the keyboard. It is for texts a person decides by: Sanitise would take out what
// somebody wants to hide in them, and then the person agrees to something else than what is used. What joins and varies
// stays where scripts and pictures need it.
func Reveal(s string) string {
	if clean(s) {
		return s
	}
	text := []rune(strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\r\n", "\n"))
	var out strings.Builder
	for i, r := range text {
		switch {
		case r == '\n', r == '\t':
			out.WriteRune(r)
		case r < 0x20, r >= 0x7f && r < 0xa0, unseen(r) && !needed(text, i):
			fmt.Fprintf(&out, "<U+%04X>", r)
		default:
			out.WriteRune(r)
		}
	}
	return out.String()
}

// unseen tells what takes no room, or looks like a blank and is another one: format characters, what Unicode says a
// display may leave out (Default_Ignorable_Code_Point), ends of lines of their own kind, blanks.
func unseen(r rune) bool {
	switch {
	case r == ' ', r == '\u3000': // the blanks of keyboards
		return false
	case r >= 0x600 && r <= 0x605, r == 0x6dd, r == 0x70f, r == 0x890, r == 0x891, r == 0x8e2, r == 0x110bd, r == 0x110cd, r >= 0x13430 && r <= 0x13455:
		return false // format characters that are seen
	case r == 0x2800: // the blank of Braille
		return true
	}
	return unicode.In(r, unicode.Cf, unicode.Zs, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// needed says whether an unseen character does what it is for.
func needed(text []rune, i int) bool {
	at := func(i int) rune {
		if i < 0 || i >= len(text) {
			return ' '
		}
		return text[i]
	}
	before, after := at(i-1), at(i+1)
	switch text[i] {
	case '\ufe0e', '\ufe0f': // text or picture; keys are digits in a frame
		return pictured(before) || after == '\u20e3' && strings.ContainsRune("0123456789#*", before)
	case '\u200d':
		if before == '\ufe0f' {
			before = at(i - 2)
		}
		return virama(before) || pictured(before) && pictured(after)
	case '\u200c':
		return virama(before) || joins(before, true) && joins(after, false)
	case '\u00a0', '\u202f': // inside French quotation marks
		return before == '«' || after == '»'
	}
	return false
}

// virama tells the sign of Indic scripts behind which a joiner or its opposite changes what is seen (RFC 5892, A.1, A.2).
func virama(r rune) bool { return norm.NFC.PropertiesString(string(r)).CCC() == 9 }

// joins says whether a letter is written together with the next one, or with the one before it: there a non-joiner is
// seen (RFC 5892, A.1).
func joins(r rune, next bool) bool {
	if !unicode.In(r, unicode.Arabic, unicode.Syriac, unicode.Mongolian, unicode.Nko, unicode.Mandaic) || !unicode.IsLetter(r) {
		return r >= 0x64b && r <= 0x65f || r == 0x670 // its vowel signs are passed over
	}
	return !next || !slices.ContainsFunc(rightJoining, func(s [2]rune) bool { return s[0] <= r && r <= s[1] })
}

// rightJoining are the letters of Arabic that are not joined to the next one.
var rightJoining = [][2]rune{
	{0x621, 0x625}, {0x627, 0x627}, {0x629, 0x629}, {0x62f, 0x632}, {0x648, 0x648}, {0x671, 0x677}, {0x688, 0x699},
	{0x6c0, 0x6c0}, {0x6c3, 0x6cb}, {0x6cd, 0x6cd}, {0x6cf, 0x6cf}, {0x6d2, 0x6d5}, {0x6ee, 0x6ef},
}

// pictured says whether a character is, or may be, a picture: the blocks that have all those of Emoji.
func pictured(r rune) bool {
	switch {
	case r >= 0x1f000 && r <= 0x1faff, r >= 0x2190 && r <= 0x21ff, r >= 0x2300 && r <= 0x23ff, r >= 0x25a0 && r <= 0x27bf, r >= 0x2b00 && r <= 0x2bff:
		return true
	}
	return strings.ContainsRune("©®‼⁉™ℹⓂ⤴⤵〰〽㊗㊙", r)
}
