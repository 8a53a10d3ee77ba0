package tools

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Byte order marks.
const (
	markUTF8    = "\xEF\xBB\xBF"
	markUTF16LE = "\xFF\xFE"
	markUTF16BE = "\xFE\xFF"
)

// text is the content of a text file: its byte order mark, and its body as UTF-8. A body that was UTF-8 or bytes of
// another kind is there as it was, byte for byte; one in UTF-16 is converted.
type text struct {
	mark string
	body string
}

// sniffed is how much of a file is looked at to tell text from binary data; git and grep use the same amount.
const sniffed = 8000

// isBinary says whether data, the beginning of a file, is not text: a NUL in it that is no half of a UTF-16 unit.
func isBinary(data []byte) bool {
	if bytes.HasPrefix(data, []byte(markUTF16LE)) || bytes.HasPrefix(data, []byte(markUTF16BE)) {
		return len(data)%2 != 0 && len(data) < sniffed
	}
	return bytes.IndexByte(data[:min(len(data), sniffed)], 0) >= 0
}

// parseText reads the content of a file; false for binary data.
func parseText(data []byte) (text, bool) {
	if isBinary(data) {
		return text{}, false
	}
	s := string(data)
	for _, mark := range []string{markUTF8, markUTF16LE, markUTF16BE} {
		if body, ok := strings.CutPrefix(s, mark); ok {
			if mark == markUTF8 {
				return text{mark, body}, true
			}
			t := text{mark, decodeUTF16(body, order(mark))}
			// Half a pair or an odd byte would be lost on the way back.
			return t, string(t.bytes()) == s
		}
	}
	return text{body: s}, true
}

// bytes is the file again.
func (t text) bytes() []byte {
	if t.mark != markUTF16LE && t.mark != markUTF16BE {
		return []byte(t.mark + t.body)
	}
	out := []byte(t.mark)
	for _, u := range utf16.Encode([]rune(t.body)) {
		out = order(t.mark).AppendUint16(out, u)
	}
	return out
}

// byteOrder reads and writes units; both of package binary do.
type byteOrder interface {
	binary.ByteOrder
	binary.AppendByteOrder
}

func order(mark string) byteOrder {
	if mark == markUTF16LE {
		return binary.LittleEndian
	}
	return binary.BigEndian
}

func decodeUTF16(s string, order byteOrder) string {
	units := make([]uint16, len(s)/2)
	for i := range units {
		units[i] = order.Uint16([]byte(s[2*i : 2*i+2]))
	}
	return string(utf16.Decode(units))
}

// visible makes NULs and bytes that are not UTF-8 visible as \xNN, so that they are neither lost nor taken for something
// else.
func visible(s string) string {
	if utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 {
		return s
	}
	var out strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if r == 0 || r == utf8.RuneError && n == 1 {
			fmt.Fprintf(&out, `\x%02X`, s[0])
		} else {
			out.WriteString(s[:n])
		}
		s = s[n:]
	}
	return out.String()
}

// countLines counts lines; a last one without a line feed counts.
func countLines(s string) int {
	n := strings.Count(s, "\n")
	if s != "" && !strings.HasSuffix(s, "\n") {
		n++
	}
	return n
}

// plural is "1 line", "2 lines".
func plural(n int, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "ch"), strings.HasSuffix(noun, "s"):
		return fmt.Sprintf("%d %ses", n, noun)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
