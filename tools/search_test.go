package tools

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
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
		{"{node_modules,src}/**/*.js", "", []string{"node_modules/m/i.js"}},
		{"{src,{.git,node_modules/m}}/*", "", []string{".git/config", "node_modules/m/i.js"}},
		{`**/node\_modules/**`, "", []string{"node_modules/m/i.js"}},
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
			status = regexp.MustCompile("[;,] (1 symbolic link not followed(, [1-3] director(y|ies) passed by .*)?)?]$").ReplaceAllString(status, "]")
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
		{"files", in{"pattern": "hello"}, ".hidden/c.txt\ndata/latin\ndata/wide\nlib/web/b.ts\nmain.go\n日本/ファイル.md\n[6 matches in 6 files; 11 files searched, {bin}, {rest}, {dirs}]"},
		{"ignoring case", in{"pattern": "HELLO", "-i": true, "path": "lib"}, "lib/a.go\nlib/web/b.ts\n[2 matches in 2 files; 3 files searched, {link}]"},
		{"content", in{"pattern": "hello", "output_mode": "content", "type": "go"}, "main.go:4:\tprintln(\"hello\")\n[1 match in 1 file; 3 files searched, {rest}, {dirs}]"},
		{"without numbers", in{"pattern": "hello", "output_mode": "content", "glob": "*.go", "-n": false}, "main.go:\tprintln(\"hello\")\n[1 match in 1 file; 3 files searched, {rest}, {dirs}]"},
		{"context", in{"pattern": "hello", "output_mode": "content", "path": "main.go", "-C": 1}, "main.go-3-func main() {\nmain.go:4:\tprintln(\"hello\")\nmain.go-5-}\n[1 match in 1 file; 1 file searched]"},
		{"before and after", in{"pattern": "hello", "output_mode": "content", "path": "main.go", "-B": 2, "-A": "9"}, "main.go-2-\nmain.go-3-func main() {\nmain.go:4:\tprintln(\"hello\")\nmain.go-5-}\n[1 match in 1 file; 1 file searched]"},
		{"groups", in{"pattern": "^package|^}", "output_mode": "content", "path": "main.go", "-A": 1}, "main.go:1:package main\nmain.go-2-\n--\nmain.go:5:}\n[2 matches in 1 file; 1 file searched]"},
		{"groups that touch", in{"pattern": "main", "output_mode": "content", "path": "main.go", "-C": 1}, "main.go:1:package main\nmain.go-2-\nmain.go:3:func main() {\nmain.go-4-\tprintln(\"hello\")\n[2 matches in 1 file; 1 file searched]"},
		{"count", in{"pattern": "export", "output_mode": "count"}, "lib/web/b.ts:2\n[2 matches in 1 file; 11 files searched, {bin}, {rest}, {dirs}]"},
		{"end of a CRLF line", in{"pattern": "1$", "output_mode": "content", "path": "lib/web"}, "lib/web/b.ts:1:export const hello = 1\n[1 match in 1 file; 1 file searched]"},
		{"Latin-1", in{"pattern": "caf", "output_mode": "content", "path": "data"}, "data/latin:1:caf\\xE9 hello\n[1 match in 1 file; 3 files searched, {bin}]"},
		{"a line cannot match across", in{"pattern": `main\s+func`, "path": "main.go"}, `[no match for "main\\s+func" in main.go: 1 file searched]`},
		{"multiline", in{"pattern": `main\s+func`, "path": "main.go", "output_mode": "content", "multiline": true}, "main.go:1:package main\nmain.go:2:\nmain.go:3:func main() {\n[1 match in 1 file; 1 file searched]"},
		{"multiline dot", in{"pattern": `func.*}`, "path": "main.go", "output_mode": "count", "multiline": true}, "main.go:1\n[1 match in 1 file; 1 file searched]"},
		{"start of the text is that of a line", in{"pattern": `\Afunc`, "path": "main.go", "output_mode": "count"}, "main.go:1\n[1 match in 1 file; 1 file searched]"},
		{"alternatives stay together", in{"pattern": "^x|main$", "path": "main.go", "output_mode": "content"}, "main.go:1:package main\n[1 match in 1 file; 1 file searched]"},
		{"globs", in{"pattern": "package", "glob": "*.{go,ts} !*_test.go"}, "lib/a.go\nmain.go\n[2 matches in 2 files; 3 files searched, {rest}, {dirs}]"},
		{"globs with commas", in{"pattern": "package", "glob": "*.go,!lib/**"}, "main.go\n[1 match in 1 file; 1 file searched, {rest}, {dirs}]"},
		{"glob with directory", in{"pattern": "package", "glob": "lib/*.go"}, "lib/a.go\nlib/a_test.go\n[2 matches in 2 files; 2 files searched, {rest}, {dirs}]"},
		{"glob from the workspace", in{"pattern": "package", "path": "lib", "glob": "lib/*_test.go"}, "lib/a_test.go\n[1 match in 1 file; 1 file searched, {link}]"},
		{"named directory", in{"pattern": "hello", "glob": "node_modules/**"}, "node_modules/m/i.js\n[1 match in 1 file; 1 file searched, {rest}, 2 directories passed by (.flower, .git)]"},
		{"inside a named directory", in{"pattern": "hello", "path": ".git"}, ".git/config\n[1 match in 1 file; 1 file searched]"},
		{"head", in{"pattern": "hello", "head_limit": 2}, ".hidden/c.txt\ndata/latin\n[the first 2 entries after offset 0; more follow: go on with offset 2, or narrow the search]"},
		{"next page", in{"pattern": "hello", "head_limit": 2, "offset": 2}, "data/wide\nlib/web/b.ts\n[the first 2 entries after offset 2; more follow: go on with offset 4, or narrow the search]"},
		{"last page", in{"pattern": "hello", "head_limit": 2, "offset": 4}, "main.go\n日本/ファイル.md\n[6 matches in 6 files; 11 files searched, {bin}, {rest}, {dirs}]"},
		{"behind the end", in{"pattern": "hello", "offset": 9}, "[nothing behind offset 9: there are 6 entries]"},
		{"no limit", in{"pattern": "hello", "head_limit": 0, "path": "lib"}, "lib/web/b.ts\n[1 match in 1 file; 3 files searched, {link}]"},
		{"none", in{"pattern": "absent", "path": "lib"}, `[no match for "absent" in lib: 3 files searched, {link}]`},
		{"no file", in{"pattern": "hello", "glob": "*.zzz"}, "[no file searched: below . none fits glob and type apart from what was left out: {rest}, {dirs}]"},
		{"empty file", in{"pattern": "^", "path": "data/empty"}, `[no match for "^" in data/empty: 1 file searched]`},
	}
	leftOut := strings.NewReplacer("{bin}", "1 binary file not searched", "{link}", "1 symbolic link not followed",
		"{rest}", "1 special file (pipe, socket or device) not read, 1 symbolic link not followed", "{dirs}", "3 directories passed by (.flower, .git, node_modules)")
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := *f
			f.t = t
			if got, want := f.ok(Grep, test.input), leftOut.Replace(test.want); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
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
	s.walk(ctx, func(file) error { cancel(); return nil })
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
	for _, p := range []string{"$^", "(?i)ab|k", "(ab)+c", "x(?i:sk)y*", "a", "^a", "a$", "$", "^$", "", `\s`, `\bа?`, `[^x]+`, `\Aa`, `a\z`, "a|b", "(?s)a.b", "x*"} {
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

// withoutRipgrep is the same fixture with all searching done here.
func (f *fixture) withoutRipgrep() *fixture {
	g := newFixture(f.t, func(o *Options) { o.Workspace, o.Environ = f.dir, []string{"PATH=/nowhere", "HOME=" + f.dir} })
	g.dir = f.dir
	return g
}

// TestRipgrep compares the answers with and without ripgrep, and with a plain search of every file.
func TestRipgrep(t *testing.T) {
	f := newFixture(t, nil)
	if f.box.program("rg") == "" {
		t.Skip("ripgrep is not installed; FuzzRust and this test compare with it where it is")
	}
	contents := []string{
		"package main\n\nfunc main() {\n\tprintln(\"hello\")\n}\n", "hello\r\nworld\r\n", "\xEF\xBB\xBFhello first\n",
		"\xFF\xFEh\x00e\x00l\x00l\x00o\x00\n\x00", "\xFE\xFF\x00h\x00e\x00l\x00l\x00o\x00", "caf\xE9 hello\n", "caf\u00e9 HELLO\n", "hello\x00binary\n", "\xFF\xFEh\x00\x00\xD8", "\xFF\xFEh\x00x", strings.Repeat("y", sniffed) + "\x00hello\n",
		"", "\n", "no end", "a\rb\nhello\rworld\n", "K \u212A k\nſ S\n", "x\u0301 1\u0661\n", strings.Repeat("long ", 5000) + "hello\n", "a b\r\n\r\nc\r\n",
	}
	for i := range 12 * len(contents) {
		f.file(fmt.Sprintf("d%d/e%d/f%d", i%3, i%7, i), contents[i%len(contents)])
	}
	plain := f.withoutRipgrep()
	for _, pattern := range []string{
		"hello", "^hello", "hello$", "^$", "(?i)HELLO", "k", `\bhello\b`, `\w+ \w`, `caf.`, `caf. h`, `[^a]$`, `\d`, `\S\s\S`, `h.*o`, `o\r`, `\x00`, "é", `\pL\pM`, "(?i)s$", `\Ahello`, `lo\z`,
		`hello\nworld`, `hello.world`, `b\s+c`, `^(a|b)`, `x{0}`, `(?s).{20}`, `\B`, `[[:^alpha:]]h`, `a[^x]b`, "�", "absent", `l{2}`, `(?i)ſ`, `b$`, `^\w`,
	} {
		for _, input := range []in{
			{"output_mode": modeContent}, {"output_mode": modeCount, "head_limit": 0}, {"multiline": true, "output_mode": modeContent, "head_limit": 0}, {"-i": true}, {"-C": 1, "output_mode": modeContent, "offset": 30, "head_limit": 9},
		} {
			input["pattern"] = pattern
			with, without := f.result(Grep, input), plain.result(Grep, input)
			if textOf(with) != textOf(without) || with.IsError != without.IsError {
				t.Errorf("%v: with ripgrep\n%s\nwithout\n%s", input, clip(textOf(with), 500), clip(textOf(without), 500))
			}
		}
	}
}

// FuzzRust checks that ripgrep leaves out no file that holds a match.
func FuzzRust(f *testing.F) {
	dir := f.TempDir()
	box, err := New(Options{Workspace: dir, Environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}})
	if err != nil {
		f.Fatal(err)
	}
	if box.program("rg") == "" {
		f.Skip("ripgrep is not installed")
	}
	for _, p := range []string{"$^", "a", "^a", "a$", "^$", `\s`, `\bа?`, `[^x]+`, `\Aa`, `a\z`, "(?s)a.b", "x*", `(?i)k\W`, `[^\n]\r`, `\B.`, `(a|){2,3}`, `�`} {
		f.Add(p, "a\r\nxa\n\nb a\n", false, false)
		f.Add(p, "\xEF\xBB\xBFa\xE9b", true, true)
	}
	var names []file
	for i := range rgFromFiles {
		path := filepath.Join(dir, fmt.Sprint(i))
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			f.Fatal(err)
		}
		info, err := os.Lstat(path)
		if err != nil {
			f.Fatal(err)
		}
		names = append(names, file{path: path, entry: fs.FileInfoToDirEntry(info)})
	}
	f.Fuzz(func(t *testing.T, pattern, data string, fold, multiline bool) {
		if len(pattern) > 40 || len(data) > 200 {
			return
		}
		m, err := newMatcher(pattern, fold, multiline)
		parsed, ok := parseText([]byte(data))
		if err != nil || !ok {
			return
		}
		if err := os.WriteFile(names[0].path, []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
		found := len(m.spans(context.Background(), strings.ReplaceAll(parsed.body, "\r\n", "\n"))) > 0
		m.needle = needle{} // so that ripgrep is asked
		left := box.ripgrep(&query{match: m}).candidates(context.Background(), names)
		if found && (len(left) == 0 || left[0].path != names[0].path) {
			t.Errorf("%q is in %q (multiline %v), but ripgrep does not say so", pattern, data, multiline)
		}
	})
}

// TestIgnoreFiles compares what is passed by with what git says of the same tree.
func TestIgnoreFiles(t *testing.T) {
	f := newFixture(t, nil)
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed")
	}
	run := func(args ...string) string {
		cmd := exec.CommandContext(t.Context(), git, args...)
		cmd.Dir, cmd.Env = f.dir, []string{"HOME=" + f.dir, "PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1"}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
		return string(out)
	}
	run("init", "-q")
	run("config", "--global", "core.excludesFile", "~/mine")
	for name, content := range map[string]string{
		".gitignore": "*.log\n!keep.log\n/build/\ntmp*/\n/sub/deep/*.x\n", "sub/.gitignore": "!*.log\nsecret\n", ".git/info/exclude": "excluded\n", "mine": "*.swp\n",
		"a.log": "", "keep.log": "", "build/out": "", "sub/build/out": "", "sub/a.log": "", "sub/secret": "", "secret": "", "tmp1/x": "", "sub/tmp/keep.log": "",
		"sub/deep/a.x": "", "sub/deep/more/a.x": "", "excluded": "", "sub/excluded": "", "x.swp": "", ".hidden": "", "sub/a.go": "",
	} {
		f.file(name, content)
	}
	for _, dir := range []string{"", "sub", "sub/deep"} {
		want := strings.Split(strings.TrimSpace(run("ls-files", "--cached", "--others", "--exclude-standard", filepath.Join(f.dir, dir))), "\n")
		lines := strings.Split(f.ok(Glob, in{"pattern": "**", "path": dir}), "\n")
		got := lines[:len(lines)-1]
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("below %q: got %q, want %q", dir, got, want)
		}
	}

	// What is named is found, and what is passed by is said.
	f.file("kept/.gitignore", "*\n") // as some programs protect a directory of theirs
	f.file("kept/in/x.log", "in\n")
	f.file(".git/info/exclude", "excluded\nkept\n")
	for _, name := range []string{"kept/.gitignore", "kept/in/x.log"} {
		if err := os.Chtimes(filepath.Join(f.dir, name), time.Time{}, time.Unix(0, 0)); err != nil {
			t.Fatal(err)
		}
	}
	for _, row := range []struct {
		tool  string
		input in
		want  string
	}{
		{Glob, in{"pattern": "build/*"}, "build/out\n[1 match"},
		{Glob, in{"pattern": "**", "path": "build"}, "build/out\n[1 match"},
		{Glob, in{"pattern": "**/build/*.y", "path": "sub"}, "no match"},
		{Glob, in{"pattern": "*", "path": "kept"}, "kept/.gitignore\nkept/in/x.log\n[2 matches]"},
		{Glob, in{"pattern": "**/kept/**"}, "kept/.gitignore\nkept/in/x.log\n[2 matches"},
		{Glob, in{"pattern": "*", "path": "kept/in"}, "kept/in/x.log\n[1 match"},
		{Grep, in{"pattern": "in", "path": "kept/in"}, "kept/in/x.log\n[1 match"},
		{Glob, in{"pattern": "a.log"}, "a.log\n[2 matches"},
		{Glob, in{"pattern": "*.swp"}, "no match"},
		{Glob, in{"pattern": "*.swp"}, "ignored by ignore files and passed by]"},
		{Grep, in{"pattern": "log", "path": "mine"}, "no match"},
		{Grep, in{"pattern": "swp"}, "mine\n[1 match in 1 file; 11 files searched, 1 directory passed by (.git), 10 ignored"},
	} {
		if row.tool == Grep {
			f.file("x.swp", "swp\n")
		}
		wants(t, f.ok(row.tool, row.input), row.want)
	}
	f.file(".ignore", "!*.swp\nkeep.*\n") // goes before all of git's
	wants(t, f.ok(Grep, in{"pattern": "swp"}), "mine\nx.swp\n")
	wants(t, f.ok(Glob, in{"pattern": "keep.l*"}), "no match")
	f.file("sub/nested/.git/HEAD", "") // a repository of its own
	f.file("sub/nested/b.log", "")
	f.file("sub/nested/secret", "")
	wants(t, f.ok(Glob, in{"pattern": "**/nested/*"}), "sub/nested/secret")

	run("-c", "user.name=x", "-c", "user.email=x@y.example", "commit", "-q", "--allow-empty", "-m", "x")
	run("worktree", "add", "-q", "side")
	f.file("side/excluded", "")
	f.file("side/more", "")
	if got := f.ok(Glob, in{"pattern": "*", "path": "side"}); strings.Contains(got, "excluded") || !strings.Contains(got, "side/more") {
		t.Errorf("a work tree does not know the excludes of its repository: %s", got)
	}
}

// TestIgnoreFilesWithoutGit: a .gitignore counts in a directory that is no repository, too.
func TestIgnoreFilesWithoutGit(t *testing.T) {
	f := newFixture(t, nil)
	f.file(".gitignore", "out\n")
	f.file("out/x", "hello\n")
	f.file("in", "hello\n")
	if got, want := f.ok(Grep, in{"pattern": "hello"}), "in\n[1 match in 1 file; 2 files searched, 1 ignored by ignore files and passed by]"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if err := syscall.Mkfifo(filepath.Join(f.dir, ".ignore"), 0o644); err != nil {
		t.Fatal(err)
	}
	f.ok(Grep, in{"pattern": "hello"}) // does not hang
}

// TestUnreadableDirectories are named, and make an answer incomplete.
func TestUnreadableDirectories(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root reads everything")
	}
	f := newFixture(t, nil)
	f.file("shut/x", "hello\n")
	f.file("open/x", "hello\n")
	if err := os.Chmod(filepath.Join(f.dir, "shut"), 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(f.dir, "shut"), 0o755) })
	wants(t, f.ok(Grep, in{"pattern": "hello"}), "open/x\n", "incomplete: 1 unreadable (shut)")
	wants(t, f.fails(Grep, in{"pattern": "absent"}), "incomplete: no match so far", "1 unreadable (shut)")
	wants(t, f.fails(Glob, in{"pattern": "*.go"}), "incomplete", "1 unreadable (shut)")
}

// TestOrderOfManyFiles: the answer does not depend on who was faster.
func TestOrderOfManyFiles(t *testing.T) {
	f := newFixture(t, nil).withoutRipgrep()
	var want []string
	for i := range 3000 {
		name := fmt.Sprintf("d%02d/e%d/f%04d", i/100, i/50%2, i)
		f.file(name, "hello\n")
		want = append(want, name)
	}
	lines := strings.Split(f.ok(Grep, in{"pattern": "hello", "head_limit": 0}), "\n")
	if got := lines[:len(lines)-1]; !slices.Equal(got, want) {
		t.Errorf("%d files in another order", len(got))
	}
	if got := lines[len(lines)-1]; got != "[3000 matches in 3000 files; 3000 files searched]" {
		t.Errorf("status %q", got)
	}
	wants(t, f.ok(Grep, in{"pattern": "hello", "head_limit": 1, "offset": 2998}), "d29/e1/f2998\n[the first 1 entries after offset 2998")
	wants(t, f.ok(Grep, in{"pattern": "hello", "head_limit": 1, "offset": 2999}), "d29/e1/f2999\n[3000 matches")
}

// TestWhatSearchesLeaveOut is in their answers, and nothing is called absent that was not looked at.
func TestWhatSearchesLeaveOut(t *testing.T) {
	for _, tt := range []struct {
		name  string
		files map[string]string
		links map[string]string // names to targets
		tool  string
		input in
		want  string
		fails bool
	}{
		{name: "a link to a file", files: map[string]string{"f": "hello\n"}, links: map[string]string{"ln.txt": "f"}, tool: Grep,
			input: in{"pattern": "hello", "glob": "ln.txt"}, want: "[no file searched: below . none fits glob and type apart from what was left out: 1 symbolic link not followed]"},
		{name: "a link that is named", files: map[string]string{"f": "hello\n"}, links: map[string]string{"ln.txt": "f"}, tool: Grep,
			input: in{"pattern": "hello", "path": "ln.txt"}, want: "f\n[1 match in 1 file; 1 file searched]"},
		{name: "nothing", files: map[string]string{"f": "hello\n"}, tool: Grep,
			input: in{"pattern": "hello", "glob": "*.zzz"}, want: "[no file to search: none below . fits glob and type]"},
		{name: "a directory that is not the person's work", files: map[string]string{"f": "x\n", "node_modules/m.js": "hello\n", "a/node_modules/m.js": "hello\n"}, tool: Grep,
			input: in{"pattern": "hello"}, want: `[no match for "hello" in .: 1 file searched, 2 directories passed by (node_modules)]`},
		{name: "braces in glob", files: map[string]string{"src/f.js": "x\n", "node_modules/m.js": "hello\n"}, tool: Grep,
			input: in{"pattern": "hello", "glob": "{node_modules,src}/*.js"}, want: "node_modules/m.js\n[1 match in 1 file; 2 files searched]"},
		{name: "what is excluded is not asked for", files: map[string]string{"f": "x\n", "node_modules/m.js": "hello\n"}, tool: Grep,
			input: in{"pattern": "hello", "glob": "!x/node_modules"}, want: `[no match for "hello" in .: 1 file searched, 1 directory passed by (node_modules)]`},
		{name: "links of Glob", files: map[string]string{"d/f": "", "g": ""}, links: map[string]string{"to": "d", "ln": "g", "none": "nowhere"}, tool: Glob,
			input: in{"pattern": "f"}, want: "d/f\n[1 match; 1 symbolic link not followed]"},
		{name: "a binary file among others", files: map[string]string{"a": "x\n", "b": "hello\x00\n", "c": "\x00"}, tool: Grep,
			input: in{"pattern": "hello"}, want: `[no match for "hello" in .: 1 file searched, 2 binary files not searched]`},
		{name: "a binary file by its name", files: map[string]string{"a": "x\n", "b": "hello\x00\n"}, tool: Grep,
			input: in{"pattern": "hello", "path": "b"}, want: "[incomplete: b is a binary file and was not searched. Use a command that knows its format]", fails: true},
		{name: "a binary file by a glob", files: map[string]string{"a": "x\n", "b": "hello\x00\n"}, tool: Grep,
			input: in{"pattern": "hello", "glob": "b"}, want: "[no file searched: below . none fits glob and type apart from what was left out: 1 binary file not searched]"},
		{name: "half a pair of UTF-16", files: map[string]string{"a": "\xFF\xFEh\x00\x00\xD8"}, tool: Grep,
			input: in{"pattern": "[h]|z"}, want: "[no file searched: below . none fits glob and type apart from what was left out: 1 binary file not searched]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFixture(t, nil)
			for name, content := range tt.files {
				f.file(name, content)
			}
			for name, target := range tt.links {
				if err := os.Symlink(target, filepath.Join(f.dir, name)); err != nil {
					t.Fatal(err)
				}
			}
			r := f.result(tt.tool, tt.input)
			if got := textOf(r); got != tt.want || r.IsError != tt.fails {
				t.Errorf("got\n%s\n(error: %v) want\n%s", got, r.IsError, tt.want)
			}
			if _, ok := ReadFound(lastLine(tt.want)); !ok {
				t.Errorf("%q is not read as the outcome of a search", lastLine(tt.want))
			}
		})
	}
}

// FuzzSpelledOut: taking braces apart ends, within bounds.
func FuzzSpelledOut(f *testing.F) {
	for _, p := range []string{"{a,b}/*.js", "{a,{b,c/d}}/x", `\{a,b\}`, "[{]a,b}", "{a", "a}", "{}", "{,a}", strings.Repeat("{a,b}", 40), "!a/b"} {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, pattern string) {
		all := withoutBraces(pattern, mostSpellings)
		if len(all) == 0 || len(all) > mostSpellings {
			t.Fatalf("%d patterns of %q", len(all), pattern)
		}
		for _, p := range all {
			if len(p) > len(pattern) {
				t.Errorf("%q of %q", p, pattern)
			}
		}
		spelledOut(pattern)
	})
}
