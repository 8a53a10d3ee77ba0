package tools

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"flower/agent"
)

// tree is a workspace to search in.
func tree(t *testing.T) *fixture {
	f := newFixture(t, nil)
	for name, content := range map[string]string{
		"main.go":               "package main\n\nfunc main() {\n\tprintln(\"hello\")\n}\n",
		"lib/a.go":              "package lib\n\n// A says Hello.\nfunc A() {}\n",
		"lib/a_test.go":         "package lib\n",
		"lib/web/b.ts":          "export const hello = 1\r\nexport const bye = 2\r\n",
		".hidden/c.txt":         "hello from the dark\n",
		".git/config":           "hello\n",
		".flower/spill/x.txt":   "hello\n",
		"node_modules/m/i.js":   "hello\n",
		"data/bin":              "hello\x00\n",
		"data/latin":            "caf\xE9 hello\n",
		"data/wide":             "\xFF\xFEh\x00e\x00l\x00l\x00o\x00\n\x00",
		"data/empty":            "",
		"日本/ファイル.md":            "こんにちは hello\n",
		"odd/new\nline.txt":     "nothing\n",
		"odd/[brackets]{x}.txt": "nothing\n",
	} {
		f.file(name, content)
	}
	if err := syscall.Mkfifo(filepath.Join(f.dir, "fifo"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("..", filepath.Join(f.dir, "lib/loop")); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestGlob(t *testing.T) {
	f := tree(t)
	tests := []struct {
		pattern, path string
		want          []string // in any order
	}{
		{"*.go", "", []string{"main.go", "lib/a.go", "lib/a_test.go"}},
		{"./*.go", "", []string{"main.go"}},
		{"**/*.go", "", []string{"main.go", "lib/a.go", "lib/a_test.go"}},
		{"**/*.{go,ts}", "lib", []string{"lib/a.go", "lib/a_test.go", "lib/web/b.ts"}},
		{"lib/*.go", "", []string{"lib/a.go", "lib/a_test.go"}},
		{f.dir + "/lib/**/*.ts", "", []string{"lib/web/b.ts"}},
		{"*.txt", "", []string{".hidden/c.txt", `"odd/new\nline.txt"`, "odd/[brackets]{x}.txt"}},
		{"*.md", "", []string{"日本/ファイル.md"}},
		{`odd/\[brackets\]*`, "", []string{"odd/[brackets]{x}.txt"}},
		{"config", "", nil},
		{".git/*", "", []string{".git/config"}},
		{"**/.git/**", "", []string{".git/config"}},
		{"*", ".git", []string{".git/config"}},
		{"*.js", "", nil},
		{"node_modules/**/*.js", "", []string{"node_modules/m/i.js"}},
		{"fifo", "", []string{"fifo"}},
		{"loop", "", []string{"lib/loop"}},
		{"*.none", "", nil},
	}
	for _, test := range tests {
		t.Run(test.pattern, func(t *testing.T) {
			f := *f
			f.t = t
			lines := strings.Split(f.ok(Glob, in{"pattern": test.pattern, "path": test.path}), "\n")
			status, got := lines[len(lines)-1], lines[:len(lines)-1]
			slices.Sort(got)
			slices.Sort(test.want)
			if !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if want := fmt.Sprintf("[%s]", plural(len(got), "match")); len(got) > 0 && status != want {
				t.Errorf("status %q, want %q", status, want)
			}
			if len(got) == 0 {
				wants(t, status, "[no match for", "searched]")
			}
		})
	}
	wants(t, f.fails(Glob, in{"pattern": "*", "path": "missing"}), "missing does not exist")
	wants(t, f.fails(Glob, in{"pattern": "missing/*"}), "does not exist")
	wants(t, f.denied(Glob, in{"pattern": "/proc/*"}), "kernel")
}

func TestGlobNewestFirstAndBounded(t *testing.T) {
	f := newFixture(t, nil)
	begin := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range globFiles + 5 {
		path := f.file(fmt.Sprintf("f%03d", i), "")
		if err := os.Chtimes(path, begin, begin.Add(time.Duration(i)*time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	lines := strings.Split(f.ok(Glob, in{"pattern": "*"}), "\n")
	if len(lines) != globFiles+1 || lines[0] != "f104" || lines[globFiles-1] != "f005" {
		t.Errorf("got %d lines from %s to %s", len(lines), lines[0], lines[len(lines)-2])
	}
	if want := "[the newest 100 of 105 matches]"; lines[globFiles] != want {
		t.Errorf("status %q, want %q", lines[globFiles], want)
	}
}

func TestGrep(t *testing.T) {
	f := tree(t)
	tests := []struct {
		name  string
		input in
		want  string
	}{
		{"files", in{"pattern": "hello"}, ".hidden/c.txt\ndata/latin\ndata/wide\nlib/web/b.ts\nmain.go\n日本/ファイル.md\n[6 matches in 6 files; 12 files searched, 1 of them binary and passed by]"},
		{"ignoring case", in{"pattern": "HELLO", "-i": true, "path": "lib"}, "lib/a.go\nlib/web/b.ts\n[2 matches in 2 files; 3 files searched]"},
		{"content", in{"pattern": "hello", "output_mode": "content", "type": "go"}, "main.go:4:\tprintln(\"hello\")\n[1 match in 1 file; 3 files searched]"},
		{"without numbers", in{"pattern": "hello", "output_mode": "content", "glob": "*.go", "-n": false}, "main.go:\tprintln(\"hello\")\n[1 match in 1 file; 3 files searched]"},
		{"context", in{"pattern": "hello", "output_mode": "content", "path": "main.go", "-C": 1}, "main.go-3-func main() {\nmain.go:4:\tprintln(\"hello\")\nmain.go-5-}\n[1 match in 1 file; 1 file searched]"},
		{"before and after", in{"pattern": "hello", "output_mode": "content", "path": "main.go", "-B": 2, "-A": "9"}, "main.go-2-\nmain.go-3-func main() {\nmain.go:4:\tprintln(\"hello\")\nmain.go-5-}\n[1 match in 1 file; 1 file searched]"},
		{"groups", in{"pattern": "^package|^}", "output_mode": "content", "path": "main.go", "-A": 1}, "main.go:1:package main\nmain.go-2-\n--\nmain.go:5:}\n[2 matches in 1 file; 1 file searched]"},
		{"groups that touch", in{"pattern": "main", "output_mode": "content", "path": "main.go", "-C": 1}, "main.go:1:package main\nmain.go-2-\nmain.go:3:func main() {\nmain.go-4-\tprintln(\"hello\")\n[2 matches in 1 file; 1 file searched]"},
		{"count", in{"pattern": "export", "output_mode": "count"}, "lib/web/b.ts:2\n[2 matches in 1 file; 12 files searched, 1 of them binary and passed by]"},
		{"end of a CRLF line", in{"pattern": "1$", "output_mode": "content", "path": "lib/web"}, "lib/web/b.ts:1:export const hello = 1\n[1 match in 1 file; 1 file searched]"},
		{"Latin-1", in{"pattern": "caf", "output_mode": "content", "path": "data"}, "data/latin:1:caf\\xE9 hello\n[1 match in 1 file; 4 files searched, 1 of them binary and passed by]"},
		{"a line cannot match across", in{"pattern": `main\s+func`, "path": "main.go"}, `[no match for "main\\s+func" in main.go: 1 file searched]`},
		{"multiline", in{"pattern": `main\s+func`, "path": "main.go", "output_mode": "content", "multiline": true}, "main.go:1:package main\nmain.go:2:\nmain.go:3:func main() {\n[1 match in 1 file; 1 file searched]"},
		{"multiline dot", in{"pattern": `func.*}`, "path": "main.go", "output_mode": "count", "multiline": true}, "main.go:1\n[1 match in 1 file; 1 file searched]"},
		{"start of the text is that of a line", in{"pattern": `\Afunc`, "path": "main.go", "output_mode": "count"}, "main.go:1\n[1 match in 1 file; 1 file searched]"},
		{"alternatives stay together", in{"pattern": "^x|main$", "path": "main.go", "output_mode": "content"}, "main.go:1:package main\n[1 match in 1 file; 1 file searched]"},
		{"globs", in{"pattern": "package", "glob": "*.{go,ts} !*_test.go"}, "lib/a.go\nmain.go\n[2 matches in 2 files; 3 files searched]"},
		{"globs with commas", in{"pattern": "package", "glob": "*.go,!lib/**"}, "main.go\n[1 match in 1 file; 1 file searched]"},
		{"glob with directory", in{"pattern": "package", "glob": "lib/*.go"}, "lib/a.go\nlib/a_test.go\n[2 matches in 2 files; 2 files searched]"},
		{"glob from the workspace", in{"pattern": "package", "path": "lib", "glob": "lib/*_test.go"}, "lib/a_test.go\n[1 match in 1 file; 1 file searched]"},
		{"named directory", in{"pattern": "hello", "glob": "node_modules/**"}, "node_modules/m/i.js\n[1 match in 1 file; 1 file searched]"},
		{"inside a named directory", in{"pattern": "hello", "path": ".git"}, ".git/config\n[1 match in 1 file; 1 file searched]"},
		{"head", in{"pattern": "hello", "head_limit": 2}, ".hidden/c.txt\ndata/latin\n[the first 2 entries after offset 0; more follow: go on with offset 2, or narrow the search]"},
		{"next page", in{"pattern": "hello", "head_limit": 2, "offset": 2}, "data/wide\nlib/web/b.ts\n[the first 2 entries after offset 2; more follow: go on with offset 4, or narrow the search]"},
		{"last page", in{"pattern": "hello", "head_limit": 2, "offset": 4}, "main.go\n日本/ファイル.md\n[6 matches in 6 files; 12 files searched, 1 of them binary and passed by]"},
		{"behind the end", in{"pattern": "hello", "offset": 9}, "[nothing behind offset 9: there are 6 entries]"},
		{"no limit", in{"pattern": "hello", "head_limit": 0, "path": "lib"}, "lib/web/b.ts\n[1 match in 1 file; 3 files searched]"},
		{"none", in{"pattern": "absent", "path": "lib"}, `[no match for "absent" in lib: 3 files searched]`},
		{"no file", in{"pattern": "hello", "glob": "*.zzz"}, "[no file to search: none below . fits glob and type]"},
		{"empty file", in{"pattern": "^", "path": "data/empty"}, `[no match for "^" in data/empty: 1 file searched]`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := *f
			f.t = t
			if got := f.ok(Grep, test.input); got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
	wants(t, f.fails(Grep, in{"pattern": "x", "path": "missing"}), "does not exist")
	wants(t, f.fails(Grep, in{"pattern": "x", "path": "fifo"}), "not a regular file")
	wants(t, f.denied(Grep, in{"pattern": "x", "path": "/proc/self/environ"}), "kernel")
}

func TestSearchesThatAreIncomplete(t *testing.T) {
	f := tree(t)
	large := f.file("large", "hello\n")
	if err := os.Truncate(large, grepMaxFile+1); err != nil {
		t.Fatal(err)
	}
	wants(t, f.fails(Grep, in{"pattern": "absent"}), "[incomplete: no match so far", "1 file too large")
	wants(t, f.ok(Grep, in{"pattern": "println"}), "main.go\n", "; incomplete: 1 file too large]")

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for tool, input := range map[string]in{Glob: {"pattern": "*.go"}, Grep: {"pattern": "hello"}} {
		r, err := f.run(ctx, tool, input)
		if err != nil || !r.IsError {
			t.Errorf("%s: %v, %v", tool, r, err)
		}
		wants(t, textOf(r), "incomplete", "interrupted")
	}
	ctx, cancel = context.WithCancel(context.Background())
	s := f.box.newSearch(filepath.Join(f.dir, "main.go"))
	s.walk(ctx, func(string, string, fs.DirEntry) error { cancel(); return nil })
	if s.gaps() == "" {
		t.Error("a search that was interrupted in its last file counts as complete")
	}
	f = newFixture(t, func(o *Options) { o.SearchTimeout = time.Nanosecond })
	f.file("a", "hello\n")
	for tool, input := range map[string]in{Glob: {"pattern": "*"}, Grep: {"pattern": "hello"}} {
		wants(t, f.fails(tool, input), "incomplete", "time for one search is over")
	}
	if os.Geteuid() != 0 {
		f = newFixture(t, nil)
		if err := os.Chmod(f.file("a", "hello\n"), 0); err != nil {
			t.Fatal(err)
		}
		wants(t, f.fails(Grep, in{"pattern": "hello"}), "incomplete", "1 unreadable")
	}
}

func TestGrepCutsLongLines(t *testing.T) {
	f := newFixture(t, nil)
	f.file("f", strings.Repeat("é", 5000)+"needle"+strings.Repeat("é", 5000)+"\n")
	got := f.ok(Grep, in{"pattern": "needle", "output_mode": "content"})
	wants(t, got, "f:1:… éé", "éneedleé", "… [20006 bytes in this line]")
	if len(got) > 2*grepMaxLine {
		t.Errorf("%d bytes", len(got))
	}
}

// FuzzSpans compares the search with the plain one, line by line.
func FuzzSpans(f *testing.F) {
	for _, p := range []string{"a", "^a", "a$", "$", "^$", "", `\s`, `\bа?`, `[^x]+`, `\Aa`, `a\z`, "a|b", "(?s)a.b", "x*"} {
		f.Add(p, "a\nxa\n\nb a\n")
		f.Add(p, "\n\n")
		f.Add(p, "0")
	}
	f.Fuzz(func(t *testing.T, pattern, body string) {
		m, err := newMatcher(pattern, false, false)
		if err != nil || len(body) > 1000 || len(pattern) > 100 {
			return
		}
		plain := regexp.MustCompile("(?m:" + pattern + ")")
		var want []string
		for _, line := range strings.Split(strings.TrimSuffix(body, "\n"), "\n") {
			if body != "" && plain.MatchString(line) {
				want = append(want, line)
			}
		}
		var got []string
		for _, s := range m.spans(context.Background(), body) {
			got = append(got, body[s.from:s.to])
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q in %q: got %q, want %q", pattern, body, got, want)
		}
	})
}

func BenchmarkGrep(b *testing.B) {
	dir := b.TempDir()
	for i := range 500 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), []byte(strings.Repeat("some line of a source file\n", 1000)), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	box, err := New(Options{Workspace: dir})
	if err != nil {
		b.Fatal(err)
	}
	list, err := box.Tools(agent.Spec{Tools: []string{Grep}}, agent.Env{})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(500 * 1000 * 27)
	for b.Loop() {
		if _, err := list[0].Run(context.Background(), agent.Call{Name: Grep, Input: []byte(`{"pattern":"absent [0-9]+"}`)}); err != nil {
			b.Fatal(err)
		}
	}
}
