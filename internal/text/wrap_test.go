package text

import (
	"strings"
	"testing"
)

func TestWrap(t *testing.T) {
	tests := []struct {
		s    string
		n    int
		want []string
	}{
		{"", 10, []string{""}},
		{"short", 10, []string{"short"}},
		{"one two three", 8, []string{"one two", "three"}},
		{"one two  three", 7, []string{"one two", "three"}},
		{"abcdefghij", 4, []string{"abcd", "efgh", "ij"}},
		{"写一个脚本", 4, []string{"写一", "个脚", "本"}},
		{"abc 写一个脚本", 7, []string{"abc 写", "一个脚", "本"}},
		{"写一个script", 9, []string{"写一个", "script"}},
		{"a\n\nb", 9, []string{"a", "", "b"}},
		{"   indented words", 10, []string{"   indente", "d words"}},
		{"abcd 中文，文", 9, []string{"abcd 中", "文，文"}},
		{"稍后再试:why", 9, []string{"稍后再", "试:why"}},
		{"中文", 1, []string{"中", "文"}},
		{"one · two · three", 9, []string{"one ·", "two ·", "three"}},
		{"one · two · three", 11, []string{"one · two ·", "three"}},
		{"one · two · three", 9, []string{"one ·", "two ·", "three"}},
		{"the notes are in .flower/notes/需求.md", 34, []string{"the notes are in", ".flower/notes/需求.md"}},
		{"需求已确认:.flower/notes/需求.md", 28, []string{"需求已确认:", ".flower/notes/需求.md"}},
		{"(samples/some/name.csv) is there", 12, []string{"(samples/", "some/", "name.csv) is", "there"}},
		{"in (samples/some/name.csv)", 24, []string{"in", "(samples/some/name.csv)"}},
		{"读a/b文件并转换成表格", 10, []string{"读a/b文件", "并转换成表", "格"}},
		{"目录/文件都在这里了", 10, []string{"目录/文件", "都在这里了"}},
		{"他说「这是一个很长的句子」", 6, []string{"他说", "「这是", "一个很", "长的句", "子」"}},
		{"see https://example.com/a/b", 12, []string{"see", "https://", "example.com/", "a/b"}},
	}
	for _, tt := range tests {
		if got := Wrap(tt.s, tt.n); strings.Join(got, "|") != strings.Join(tt.want, "|") {
			t.Errorf("Wrap(%q, %d) = %q, want %q", tt.s, tt.n, got, tt.want)
		}
	}
}

// What goes on stands under its beginning, and addresses stay in one piece.
func TestLines(t *testing.T) {
	tests := []struct {
		s    string
		n    int
		want []string
	}{
		{"", 10, []string{""}},
		{"one two three", 8, []string{"one two", "three"}},
		{"- one two three", 10, []string{"- one two", "  three"}},
		{"  - one two three", 12, []string{"  - one two", "    three"}},
		{"12. one two three", 12, []string{"12. one two", "    three"}},
		{"- [x] one two three", 14, []string{"- [x] one two", "      three"}},
		{"> one two three", 10, []string{"> one two", "  three"}},
		{"| one | two | three |", 14, []string{"| one | two |", "  three |"}},
		{"    if a { b }", 11, []string{"    if a {", "    b }"}},
		{"-- no item at all", 10, []string{"-- no item", "at all"}},
		{"1.5 is no item", 10, []string{"1.5 is no", "item"}},
		{"- 写一个脚本", 8, []string{"- 写一个", "  脚本"}},
		{"          deep", 12, []string{"          de", "ep"}},
		{"- ", 10, []string{"- "}},
		{"see https://example.com/a/b for more", 12, []string{"see", "https://example.com/a/b", "for more"}},
		{"- https://example.com/a/b。", 12, []string{"- https://example.com/a/b。"}},
		{"详见https://example.com/a/b 。", 12, []string{"详见", "https://example.com/a/b 。"}},
	}
	for _, tt := range tests {
		if got := Lines(tt.s, tt.n); strings.Join(got, "\n") != strings.Join(tt.want, "\n") {
			t.Errorf("Lines(%q, %d) = %q, want %q", tt.s, tt.n, got, tt.want)
		}
	}
}

func FuzzWrap(f *testing.F) {
	f.Add("one two three", 8)
	f.Add("写000", 4)
	f.Add("ﾊﾟｰﾃｨｰ ทำน้ำ a\ufe0fか\uff9e", 3)
	f.Add("写一个脚本 and then", 5)
	f.Add("- in samples/的/a/b.csv, see https://example.com/x「y」", 9)
	f.Add("👨\u200d👩\u200d👧e\u0301", 2)
	f.Fuzz(func(t *testing.T, s string, n int) {
		n = max(2, min(n, 200))
		s = Sanitise(s)
		squeeze := strings.NewReplacer(" ", "", "\n", "")
		var all strings.Builder
		for _, line := range Wrap(s, n) {
			if w := Width(line); w > n {
				t.Errorf("%q is %d cells wide, more than %d", line, w, n)
			}
			all.WriteString(line)
		}
		if got, want := squeeze.Replace(all.String()), squeeze.Replace(s); got != want {
			t.Errorf("Wrap lost text: %q, want %q", got, want)
		}
		if got, want := squeeze.Replace(strings.Join(Lines(s, n), "")), squeeze.Replace(s); got != want {
			t.Errorf("Lines lost text: %q, want %q", got, want)
		}
		if w := Width(Truncate(s, n)); !strings.Contains(s, "\n") && w > n {
			t.Errorf("Truncate to %d gives %d cells", n, w)
		}
	})
}
