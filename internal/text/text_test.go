package text

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// row is one line of a table in testdata.
type row struct {
	line  int
	cells []string
}

func readTable(t testing.TB, name string) []row {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var rows []row
	header := true
	for i, line := range strings.Split(strings.TrimSuffix(string(data), "\n"), "\n") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		if header {
			header = false
			continue
		}
		var cells []string
		for _, c := range strings.Split(line, "\t") {
			cells = append(cells, unescape(t, c))
		}
		rows = append(rows, row{line: i + 1, cells: cells})
	}
	if len(rows) < 20 {
		t.Fatalf("%s: only %d rows", name, len(rows))
	}
	return rows
}

// unescape undoes the escapes of a cell.
func unescape(t testing.TB, s string) string {
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			out.WriteByte(s[i])
			continue
		}
		i++
		digits := 0
		switch s[i] {
		case 'n':
			out.WriteByte('\n')
		case 't':
			out.WriteByte('\t')
		case 'r':
			out.WriteByte('\r')
		case '0':
			out.WriteByte(0)
		case '\\':
			out.WriteByte('\\')
		case 'x':
			digits = 2
		case 'u':
			digits = 4
		default:
			t.Fatalf("unknown escape in %q", s)
		}
		if digits > 0 {
			n, err := strconv.ParseUint(s[i+1:i+1+digits], 16, 32)
			if err != nil {
				t.Fatal(err)
			}
			out.WriteRune(rune(n))
			i += digits
		}
	}
	return out.String()
}

func TestSanitiseTable(t *testing.T) {
	for _, r := range readTable(t, "sanitise.tsv") {
		if got := Sanitise(r.cells[0]); got != r.cells[1] {
			t.Errorf("line %d (%s): Sanitise(%q) = %q, want %q", r.line, r.cells[2], r.cells[0], got, r.cells[1])
		}
	}
}

func TestSanitise(t *testing.T) {
	tests := []struct{ name, raw, want string }{
		{"a byte that is no UTF-8", "a\x9b2Jb", "a\uFFFD2Jb"},
		{"8-bit style", "\u009b1mx", "\x1b[1mx"},
		{"an escape inside a string ends it", "a\x1b]0;t\x1b[2Jb\x07c", "abc"},
		{"CAN ends a string", "a\x1bPq\x18b", "ab"},
		{"SUB ends a string", "a\x1bPq\x1ab", "ab"},
		{"SUB ends a title", "a\x1b]0;t\x1ab\x07c", "abc"},
		{"8-bit strings of every kind", "a\u0090q\u009cb\u0098q\u009cc\u009eq\u009cd\u009fq\u009ce\u009dq\u009cf", "abcdef"},
		{"characters that are not seen", "a\u200bb\u2060c\ufeffd", "abcd"},
		{"BEL does not end a DCS", "a\x1bPq\x07b\x1b\\c", "ac"},
		{"a line feed breaks a sequence off", "a\x1b[3\n1mb", "a\n1mb"},
		{"a style of a thousand numbers", "\x1b[" + strings.Repeat("1;", 1000) + "mx", "x"},
		{"a sub-parameter is no plain number", "\x1b[4:3mx", "x"},
		{"joiners stay", "👩\u200d💻", "👩\u200d💻"},
		{"embedding", "a\u202ab\u202cc", "abc"},
	}
	for _, tt := range tests {
		if got := Sanitise(tt.raw); got != tt.want {
			t.Errorf("%s: Sanitise(%q) = %q, want %q", tt.name, tt.raw, got, tt.want)
		}
	}
}

func TestPlain(t *testing.T) {
	if got, want := Plain("\x1b[31mred\x1b[0m\x1b[2J and\tblue\x1b[m"), "red and blue"; got != want {
		t.Errorf("Plain = %q, want %q", got, want)
	}
}

var sgr = regexp.MustCompile("\x1b\\[[0-9;]*m")

func FuzzSanitise(f *testing.F) {
	for _, r := range readTable(f, "sanitise.tsv") {
		f.Add(r.cells[0])
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := Sanitise(s)
		if !utf8.ValidString(got) {
			t.Errorf("not UTF-8: %q", got)
		}
		for _, r := range sgr.ReplaceAllString(got, "") {
			if r != '\n' && (r < 0x20 || r >= 0x7f && r < 0xa0) || hidden(r) {
				t.Errorf("%U is left in %q", r, got)
			}
		}
		if again := Sanitise(got); again != got {
			t.Errorf("twice: %q, once: %q", again, got)
		}
		if plain := Plain(s); plain != sgr.ReplaceAllString(got, "") {
			t.Errorf("Plain is %q", plain)
		}
	})
}

func TestWidthTable(t *testing.T) {
	for _, r := range readTable(t, "width.tsv") {
		want, err := strconv.Atoi(r.cells[1])
		if err != nil {
			t.Fatal(err)
		}
		if got := Width(r.cells[0]); got != want {
			t.Errorf("line %d (%s): Width(%q) = %d, want %d", r.line, r.cells[2], r.cells[0], got, want)
		}
		if got := Width("\x1b[1;31m" + r.cells[0] + "\x1b[0m"); got != want {
			t.Errorf("line %d: with a style Width is %d, want %d", r.line, got, want)
		}
	}
}

func TestTruncateAndFit(t *testing.T) {
	tests := []struct {
		s        string
		n        int
		cut, fit string
	}{
		{"hello", 5, "hello", "hello"},
		{"hello", 8, "hello", "hello   "},
		{"hello world", 8, "hello...", "hello..."},
		{"目标十五条", 8, "目标...", "目标... "},
		{"目标", 3, "目", "目 "},
		{"目标", 0, "", ""},
		{"", 2, "", "  "},
		{"👨\u200d👩\u200d👧 family", 6, "👨\u200d👩\u200d👧 ...", "👨\u200d👩\u200d👧 ..."},
	}
	for _, tt := range tests {
		if got := Truncate(tt.s, tt.n); got != tt.cut {
			t.Errorf("Truncate(%q, %d) = %q, want %q", tt.s, tt.n, got, tt.cut)
		}
		if got := Fit(tt.s, tt.n); got != tt.fit {
			t.Errorf("Fit(%q, %d) = %q, want %q", tt.s, tt.n, got, tt.fit)
		}
	}
}
