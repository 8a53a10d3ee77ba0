package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"flower/internal/text"
)

// writeJSON writes a value for programs: two blanks of indent, and what the screen would take out of a text escaped, so
// that it stays a part of its string.
func (s *screen) writeJSON(v any) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("encode JSON: %w", err)
	}
	s.Text(escapeHidden(buf.String()))
	return nil
}

// escapeHidden writes characters that are no text as JSON escapes. In JSON they stand only in strings.
func escapeHidden(s string) string {
	var out strings.Builder
	for _, r := range s {
		if r >= 0x7f && r <= 0xffff && text.Plain(string(r)) != string(r) {
			fmt.Fprintf(&out, `\u%04x`, r)
		} else {
			out.WriteRune(r)
		}
	}
	return out.String()
}

// stampJSON is a time for programs, nil if it is not known.
func stampJSON(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	s := t.UTC().Format("2006-01-02T15:04:05.000Z")
	return &s
}

// minuteOf is a time as people read it.
func minuteOf(t time.Time) string { return t.In(time.Local).Format("2006-01-02 15:04") }
