package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf16"

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
	s.JSON(buf.Bytes())
	return nil
}

// JSON writes a JSON text. Secrets are looked for in each string as it is read, because escapes would hide them.
func (s *screen) JSON(doc []byte) {
	s.Text(escapeHidden(mapStrings(string(doc), s.Secretless)))
}

// Secretless is a text without the secrets in it, also where hidden characters part one; else it stays as it is.
func (s *screen) Secretless(t string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.redact == nil {
		return t
	}
	if plain := text.Plain(t); s.redact(plain) != plain {
		return s.redact(plain)
	}
	return t
}

// mapStrings puts f of each string of a JSON text in its place; what f does not change keeps its spelling.
func mapStrings(doc string, f func(string) string) string {
	var out strings.Builder
	for {
		begin := strings.IndexByte(doc, '"')
		if begin < 0 {
			return out.String() + doc
		}
		end := begin + 1
		for end < len(doc) && doc[end] != '"' {
			if doc[end] == '\\' {
				end++
			}
			end++
		}
		end = min(end+1, len(doc))
		out.WriteString(doc[:begin])
		out.WriteString(mapString(doc[begin:end], f))
		doc = doc[end:]
	}
}

func mapString(quoted string, f func(string) string) string {
	var said string
	if json.Unmarshal([]byte(quoted), &said) != nil {
		return quoted
	}
	changed := f(said)
	if changed == said {
		return quoted
	}
	again, err := json.Marshal(changed)
	if err != nil {
		return `""`
	}
	return string(again)
}

// escapeHidden writes characters that are no text as JSON escapes. In JSON they stand only in strings.
func escapeHidden(s string) string {
	var out strings.Builder
	for _, r := range s {
		switch {
		case r < 0x7f || text.Plain(string(r)) == string(r):
			out.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&out, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
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
