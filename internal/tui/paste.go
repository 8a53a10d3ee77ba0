package tui

import (
	"strings"

	"flower/internal/text"
)

// pastedText is what of a paste is kept: line breaks have one form, tabs stay, and nothing is left that a terminal
// would obey.
func pastedText(s string) string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	return plainInput(strings.ReplaceAll(s, "\r", "\n"))
}

// plainInput takes control sequences, control characters and hidden characters out of what came from the keyboard.
func plainInput(s string) string {
	parts := strings.Split(strings.ToValidUTF8(s, "\uFFFD"), "\t")
	for i, part := range parts {
		parts[i] = text.Plain(part)
	}
	return strings.Join(parts, "\t")
}
