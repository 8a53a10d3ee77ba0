package tui

import (
	"strings"
	"testing"

	"flower/internal/text"
)

// pasted are pastes and what is kept of them.
var pasted = []struct{ paste, want string }{
	{"one\r\ntwo\rthree\n", "one\ntwo\nthree\n"},
	{"中\x1b[31m文\x1b[0m\tx", "中文\tx"},
	{"a\u009b1mb", "ab"},
	{"a\x1b(Bb", "ab"},
	{"a\x00b\x7fc\u0085d\u202ee\u200bf", "abcdef"},
	{"a\xffb", "a\ufffdb"},
	// Complete within the row: nothing of it is seen where it was copied.
	{"\x1b]8;;https://example.com\x1b\\a link\x1b]8;;\x1b\\.", "a link."},
	{"\x1b]0;title\aprompt", "prompt"},
	{"a\x1bPq\u009cb", "ab"},
	// Not complete: what follows stays.
	{"log line 1\nbad \x1b]0;title\nline 3", "log line 1\nbad 0;title\nline 3"},
	{"bad \u009d0;title\nline 3\x1b\\", "bad 0;title\nline 3"},
	{"a\u0090b\nc", "ab\nc"},
	{"a\x1bPb\nc", "ab\nc"},
	{"a\x1bXb\x1b^c\x1b_d\u0098e\u009ef\u009fg", "abcdefg"},
	{"\x1bPa\ab", "ab"},
	{"\x1b]a\x1b[31mb", "ab"},
	{"a\x1b[12\nb", "a12\nb"},
	{"a\x1b[12;", "a12;"},
	{"a\x1bbc\x1b", "abc"},
	{"a\x1b( \n", "a( \n"},
	{"\x1b\x1b]]0;never ends", "]0;never ends"},
	{"\x1b\x1b[31m[31m", "[31m"},
}

func TestPastedText(t *testing.T) {
	for _, tt := range pasted {
		if got := pastedText(tt.paste); got != tt.want {
			t.Errorf("of %q is kept %q, want %q", tt.paste, got, tt.want)
		}
	}
}

// Nothing is left that a terminal obeys or hides, and no row gets lost.
func FuzzPastedText(f *testing.F) {
	for _, tt := range pasted {
		f.Add(tt.paste)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := pastedText(s)
		if again := pastedText(got); again != got {
			t.Errorf("%q becomes %q the second time", got, again)
		}
		if plain := strings.ReplaceAll(got, "\t", " "); text.Plain(plain) != plain {
			t.Errorf("%q is not plain", got)
		}
		rows := strings.Count(strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n"), "\n")
		if n := strings.Count(got, "\n"); n != rows {
			t.Errorf("of %d rows %d are left", rows, n)
		}
	})
}
