//go:build unix

package proc

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCapture(t *testing.T) {
	tests := []struct {
		name       string
		head, tail int
		chunks     []string
		want       string
		omitted    int64
	}{
		{"empty", 3, 3, nil, "", 0},
		{"fits", 3, 3, []string{"abcdef"}, "abcdef", 0},
		{"one too many", 3, 3, []string{"abcdefg"}, "abc\n[… 1 bytes left out …]\nefg", 1},
		{"byte by byte", 3, 3, strings.Split("abcdefghij", ""), "abc\n[… 4 bytes left out …]\nhij", 4},
		{"ring turns", 1, 4, []string{"ab", "cde", "fgh", "ij"}, "a\n[… 5 bytes left out …]\nghij", 5},
		{"no head", -1, 2, []string{"abc"}, "\n[… 1 bytes left out …]\nbc", 1},
		{"no tail", 2, -1, []string{"abc"}, "ab\n[… 1 bytes left out …]\n", 1},
		{"cuts between characters", 4, 4, []string{"字字字字"}, "字\n[… 6 bytes left out …]\n字", 6},
		{"character over the seam", 4, 4, []string{"a字字b"}, "a字字b", 0},
		{"bad bytes at the cut stay visible", 2, 2, []string{"a\xffbbbb\xffc"}, "a\uFFFD\n[… 4 bytes left out …]\n\uFFFDc", 4},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := newCapture(Command{KeepHead: tt.head, KeepTail: tt.tail})
			for _, chunk := range tt.chunks {
				c.add([]byte(chunk))
			}
			if got, omitted := c.text(); got != tt.want || omitted != tt.omitted {
				t.Errorf("got %q, %d, want %q, %d", got, omitted, tt.want, tt.omitted)
			}
		})
	}
}

// TestSecretsAtTheSeam: of a secret that the place where output is cut goes through, no piece is kept, whatever the secrets
// around it have become.
func TestSecretsAtTheSeam(t *testing.T) {
	key := "key-" + strings.Repeat("0123456789", 10)
	const keep, head = 300, 300 + secretMargin // what is read of the beginning, or of the end
	x := func(n int) string { return strings.Repeat("x", n) }
	for name, tt := range map[string]struct{ output, want string }{
		// What a secret takes less room for is not made up for.
		"in what is kept":                   {x(10) + key + x(3*head), x(10) + "K" + x(keep-len(key)-10)},
		"at the end of what is read":        {x(head-50) + key + x(3*head), x(keep)},
		"all secrets, in the middle of one": {strings.Repeat(key, 2*head/len(key)) + x(keep), ""},
	} {
		t.Run(name, func(t *testing.T) {
			redact := func(s string) string { return strings.ReplaceAll(s, key, "K") }
			for turned, output := range map[bool]string{false: tt.output, true: backwards(tt.output)} {
				c := newCapture(Command{KeepHead: keep, KeepTail: keep, Redact: redact})
				if turned {
					c.redact = func(s string) string { return backwards(redact(backwards(s))) }
				}
				c.add([]byte(output))
				text, omitted := c.text()
				begin, end, cut := strings.Cut(text, fmt.Sprintf("\n[… %d bytes left out …]\n", omitted))
				got := begin
				if turned {
					got = backwards(end)
				}
				if !cut || got != tt.want {
					t.Errorf("turned %v: kept %q, want %q", turned, got, tt.want)
				}
			}
		})
	}
}

func backwards(s string) string {
	b := []byte(s)
	slices.Reverse(b)
	return string(b)
}

func FuzzCapture(f *testing.F) {
	f.Add([]byte("abcdefghij"), uint8(3), uint8(3), uint8(1))
	f.Add([]byte("a字\x00字\xff\xfe"), uint8(4), uint8(2), uint8(3))
	f.Fuzz(func(t *testing.T, data []byte, head, tail, chunk uint8) {
		var spill bytes.Buffer
		c := newCapture(Command{KeepHead: int(head), KeepTail: int(tail), Spill: &spill})
		for rest := data; len(rest) > 0; {
			n := min(len(rest), int(chunk)+1)
			c.add(rest[:n])
			rest = rest[n:]
		}
		text, omitted := c.text()
		if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
			t.Errorf("not clean: %q", text)
		}
		if !bytes.Equal(spill.Bytes(), data) {
			t.Errorf("spilled %q, want %q", spill.Bytes(), data)
		}
		if omitted == 0 && text != clean(data) {
			t.Errorf("got %q for %q", text, data)
		}
		if omitted > 0 && !strings.Contains(text, fmt.Sprintf("\n[… %d bytes left out …]\n", omitted)) {
			t.Errorf("no mark in %q", text)
		}
	})
}
