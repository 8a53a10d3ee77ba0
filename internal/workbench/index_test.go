package workbench_test

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"flower/internal/workbench"
)

func TestIndex(t *testing.T) {
	b := workbench.Open(t.TempDir())
	if err := b.Create(); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"a.sh":         "#!/bin/sh\n# desc: runs the tests\n",
		"b.js":         "// Desc： builds\r\n",
		"c.sql":        "-- desc:counts rows",
		"d.py":         "\n\n#desc :  late but early enough  \n# desc: second",
		"e.sh":         strings.Repeat("#\n", 10) + "# desc: too late\n",
		"f.sh":         "# desc: \x1b[2Jclears\u202e the\tscreen\xff\n",
		"g.sh":         "echo # desc: not at the start\n# description: no\n",
		"h\n# i.sh":    "# desc: odd name\n",
		".hidden":      "# desc: hidden\n",
		"sub/inner.sh": "# desc: not looked at\n",
		"z.sh":         "# desc: " + strings.Repeat("长", 300),
	} {
		put(t, b.Scripts()+"/"+name, text)
	}
	if err := syscall.Mkfifo(b.Scripts()+"/pipe", 0o600); err != nil {
		t.Fatal(err)
	}
	for i := range 43 {
		put(t, fmt.Sprintf("%s/%02d.txt", b.Artifacts(), i), "# desc: only scripts have one\n")
	}
	put(t, b.NotePath(workbench.Brief), "x")
	put(t, b.NotePath("archive/x/y.md"), "x")
	put(t, b.SpillDir()+"/x.txt", "x")

	var artifacts strings.Builder
	for i := range 40 {
		fmt.Fprintf(&artifacts, "- %02d.txt\n", i)
	}
	want := `# .flower

## scripts

- a.sh: runs the tests
- b.js: builds
- c.sql: counts rows
- d.py: late but early enough
- e.sh
- f.sh: �[2Jclears� the�screen�
- g.sh
- h�# i.sh: odd name
- pipe
- sub/
- z.sh: ` + strings.Repeat("长", 200) + `…

## artifacts

` + artifacts.String() + `- … and 3 more

## notes

- 需求.md
`
	got, err := b.Index()
	if err != nil {
		t.Fatal(err)
	}
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if err := b.WriteIndex(); err != nil || get(t, b.Dir()+"/INDEX.md") != want {
		t.Errorf("written:\n%s\n%v", get(t, b.Dir()+"/INDEX.md"), err)
	}
	before, err := os.Stat(b.Dir() + "/INDEX.md")
	if err != nil {
		t.Fatal(err)
	}
	if err := b.WriteIndex(); err != nil {
		t.Fatal(err)
	}
	if after, err := os.Stat(b.Dir() + "/INDEX.md"); err != nil || !os.SameFile(before, after) {
		t.Errorf("the same index was written again: %v", err)
	}
}

func FuzzIndex(f *testing.F) {
	f.Add("#!/bin/sh\n# desc: runs")
	f.Add("// desc：\x1b]0;x\x07")
	f.Add("-- DESC:\xff\u2028x\r\n")
	b := workbench.Open(f.TempDir())
	f.Fuzz(func(t *testing.T, text string) {
		put(t, b.Scripts()+"/x.sh", text)
		got, err := b.Index()
		if err != nil {
			t.Fatal(err)
		}
		const start = "# .flower\n\n## scripts\n\n- x.sh"
		if !strings.HasPrefix(got, start) || strings.Count(got, "\n") != 5 || !utf8.ValidString(got) || strings.ContainsAny(got, "\x1b\r\x00\u2028\u202e") {
			t.Errorf("got %q", got)
		}
	})
}
