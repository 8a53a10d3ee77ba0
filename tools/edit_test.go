package tools

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
)

func TestEdit(t *testing.T) {
	tests := []struct {
		name, content string
		old, new      string
		all           bool
		want          string // content afterwards; unchanged if fault is set
		fault         string
	}{
		{name: "one place", content: "a b c", old: "b", new: "x", want: "a x c"},
		{name: "remove", content: "a b c", old: " b", new: "", want: "a c"},
		{name: "many places", content: "a\nb\na\n", old: "a", new: "x", fault: "at line 1, 3. Add text around it"},
		{name: "all places", content: "a\nb\na\n", old: "a", new: "aa", all: true, want: "aa\nb\naa\n"},
		{name: "overlapping", content: "aaa", old: "aa", new: "b", fault: "more than once"},
		{name: "overlapping, all", content: "aaaaa", old: "aa", new: "b", all: true, want: "bba"},
		{name: "empty old", content: "a", old: "", new: "b", fault: "use Write"},
		{name: "same", content: "a", old: "a", new: "a", fault: "are the same"},
		{name: "whole file", content: "a", old: "a", new: "", want: ""},
		{name: "meta characters", content: "f(x) = $1 .* \\n", old: "$1 .* \\n", new: "${0}\\1", want: "f(x) = ${0}\\1"},
		{name: "CRLF", content: "a\r\nb\r\nc\r\n", old: "a\nb", new: "x\ny\nz", want: "x\r\ny\r\nz\r\nc\r\n"},
		{name: "CRLF given as such", content: "a\r\nb\r\n", old: "a\r\nb", new: "x\r\ny", want: "x\r\ny\r\n"},
		{name: "CRLF, inserted lines", content: "a\r\nb\r\n", old: "b", new: "b\nc", want: "a\r\nb\r\nc\r\n"},
		{name: "CRLF, last line", content: "a\r\nb", old: "b", new: "b\nc", want: "a\r\nb\r\nc"},
		{name: "CRLF, the ending itself", content: "a\r\nb\r\n", old: "a\n", new: "", want: "b\r\n"},
		{name: "CRLF, up to the ending", content: "a\r\nb\r\n", old: "\nb", new: "", want: "a\r\n"},
		{name: "CRLF, all", content: "a\r\nx\r\na\r\n", old: "a\n", new: "b\n", all: true, want: "b\r\nx\r\nb\r\n"},
		{name: "mixed, each keeps its own", content: "a\nb\nc\r\nd\r\n", old: "b", new: "1\n2", want: "a\n1\n2\nc\r\nd\r\n"},
		{name: "mixed, other place", content: "a\nb\nc\r\nd\r\n", old: "d", new: "1\n2", want: "a\nb\nc\r\n1\r\n2\r\n"},
		{name: "only the ending differs", content: "a\r\nb\n", old: "a\n", new: "a\r\n", fault: "line endings"},
		{name: "lone CR stays", content: "a\rb\nc\n", old: "c", new: "x", want: "a\rb\nx\n"},
		{name: "byte order mark", content: "\xEF\xBB\xBFa\nb\n", old: "a", new: "x", want: "\xEF\xBB\xBFx\nb\n"},
		{name: "UTF-16", content: "\xFF\xFEa\x00-N", old: "a", new: "b中", want: "\xFF\xFEb\x00-N-N"},
		{name: "UTF-16 does not match across units", content: "\xFE\xFF\x61\x62\x61\x62", old: "戡", new: "x", fault: "not found"},
		{name: "Latin-1 elsewhere", content: "caf\xE9 a\n", old: " a", new: " b", want: "caf\xE9 b\n"},
		{name: "Latin-1 and beyond ASCII", content: "caf\xE9 a\n", old: "a\n", new: "ä\n", fault: "mix two encodings"},
		{name: "Latin-1 as shown", content: "caf\xE9 a\n", old: `caf\xE9`, new: "cafe", fault: "they can be given neither so"},
		{name: "binary", content: "a\x00b", old: "a", new: "b", fault: "not a text file"},
		{name: "unicode", content: "naïve 日本 👍\n", old: "日本", new: "中国", want: "naïve 中国 👍\n"},
		{name: "indentation", content: "func f() {\n\treturn 1\n}\n", old: "func f() {\n    return 1\n}", new: "x", fault: `Line 2 of the file is "\treturn 1" where old_string has "    return 1"`},
		{name: "quotes", content: "say “hi”\n", old: "say \"hi\"", new: "x", fault: "except for blanks, quotes, case or the like"},
		{name: "trailing blank", content: "a \nb\n", old: "a\nb", new: "x", fault: `Line 1 of the file is "a " where`},
		{name: "too many line feeds", content: "a\nb\n", old: "a\nb\n\n", new: "x", fault: "at its ends"},
		{name: "goes on differently", content: "a\nb\nc\n", old: "a\nb\nd", new: "x", fault: `the same up to line 2, then it goes on with "c" where old_string has "d"`},
		{name: "past the end", content: "a\nb", old: "a\nb\nc", new: "x", fault: "the end of the file"},
		{name: "line numbers", content: "a\nb\n", old: "     1\ta\n     2\tb", new: "x", fault: "line numbers"},
		{name: "nothing like it", content: "a\nb\n", old: "zzz", new: "x", fault: "nothing close to it"},
		{name: "NFD in the file", content: "a\ncafe\u0301 noir\n", old: "caf\u00e9 noir", new: "x", fault: "composed differently from column 4 on: the file has U+0065 U+0301, old_string has U+00E9"},
		{name: "NFC in the file", content: "caf\u00e9\n", old: "cafe\u0301", new: "x", fault: "the file has U+00E9, old_string has U+0065 U+0301"},
		{name: "NFD found as it is", content: "cafe\u0301\n", old: "e\u0301", new: "e", want: "cafe\n"},
		{name: "no-break space", content: "a\u00a0b\n", old: "a b", new: "x", fault: "they differ at column 2: U+00A0, not U+0020"},
		{name: "zero width space", content: "a\u200bb c\n", old: "ab c", new: "x", fault: "they differ at column 2: U+200B, not U+0062"},
		{name: "a typing error", content: "one\nfunc handleRequest(w http.ResponseWriter)\ntwo\n", old: "func handelRequest(w http.ResponseWriter)", new: "x", fault: "is line 2: \"func handleRequest(w http.ResponseWriter)\""},
		{name: "tabs and blanks", content: "\tif x {\n\t\ty()\n\t}\n", old: "    if x {\n        y()\n    }", new: "x", fault: `Line 1 of the file is "\tif x {" where old_string has "    if x {"`},
		{name: "Latin-1 as characters", content: "caf\xE9 a\n", old: "café", new: "cafe", fault: "can be given neither so nor as characters"},
		{name: "UTF-16, CRLF", content: "\xFF\xFEa\x00\r\x00\n\x00b\x00", old: "a\nb", new: "c\nd", want: "\xFF\xFEc\x00\r\x00\n\x00d\x00"},
		{name: "UTF-16 beyond the first plane", content: "\xFE\xFF\xD8\x3D\xDC\x4D\x00a", old: "a", new: "👍", want: "\xFE\xFF\xD8\x3D\xDC\x4D\xD8\x3D\xDC\x4D"},
		{name: "the last line without its line feed", content: "a\nb", old: "b", new: "c", want: "a\nc"},
		{name: "a line feed at the end stays", content: "a\nb\n", old: "b", new: "c", want: "a\nc\n"},
		{name: "a mark is no text", content: "\xEF\xBB\xBFa\n", old: "\uFEFFa", new: "x", fault: "except for blanks"},
		{name: "empty file", content: "", old: "a", new: "b", fault: "not found"},
	}
	f := newFixture(t, nil)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := *f
			f.t = t
			path := f.file("f", test.content)
			if err := os.Chmod(path, 0o700); err != nil {
				t.Fatal(err)
			}
			f.box.session(f.env.Key).saw(path, []byte(test.content))
			input := in{"file_path": "f", "old_string": test.old, "new_string": test.new, "replace_all": test.all}
			if test.fault != "" {
				wants(t, f.fails(Edit, input), test.fault, "was not changed")
				test.want = test.content
			} else {
				f.ok(Edit, input)
			}
			if got := f.content("f"); got != test.want {
				t.Errorf("content is %q, want %q", got, test.want)
			}
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o700 {
				t.Errorf("mode is %v", info.Mode())
			}
		})
	}
}

func TestEditNeedsTheVersionRead(t *testing.T) {
	f := newFixture(t, nil)
	f.file("f", "a\nb\n")
	edit := in{"file_path": "f", "old_string": "a", "new_string": "x"}
	wants(t, f.fails(Edit, edit), "have not read it")
	f.ok(Read, in{"file_path": f.dir + "/./f", "limit": 1})
	f.file("f", "a\nc\n")
	wants(t, f.fails(Edit, edit), "changed since you last read it:\n--- file\n+++ file\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n", "This is all that changed")
	wants(t, f.as("other").fails(Edit, edit), "have not read it")
	r := f.result(Edit, edit)
	wants(t, textOf(r), "replaced 1 occurrence, at line 1")
	if want := "--- f\n+++ f\n@@ -1,2 +1,2 @@\n-a\n+x\n c"; r.Display != want {
		t.Errorf("Display is %q, want %q", r.Display, want)
	}
	f.ok(Edit, in{"file_path": "f", "old_string": "x", "new_string": "y"})
	wants(t, f.fails(Edit, in{"file_path": "missing", "old_string": "x", "new_string": "y"}), "does not exist")
}

// TestWhatHasChanged: what a session is told about a file that is not as it was read, and what it knows then.
func TestWhatHasChanged(t *testing.T) {
	f := newFixture(t, nil)
	lines := func(from, to int) string {
		var out strings.Builder
		for i := from; i < to; i++ {
			fmt.Fprintf(&out, "line %d\n", i)
		}
		return out.String()
	}
	for _, row := range []struct {
		name, old, new string
		want           []string
		known          bool // the same call succeeds the second time
	}{
		{"far apart", lines(0, 300) + "here\n", "top\n" + lines(0, 299) + "here\n", []string{"+top", "@@ -297,5 +298,4 @@", "-line 299\n here"}, true},
		{"too much to show", "here\n" + lines(0, 100), "here\n" + lines(500, 600), []string{"+", "more lines: +", "Read it again"}, false},
		{"a long line", "here\nx\n", "here\n" + strings.Repeat("y", 3000) + "\n", []string{"yyy…", "Read it again"}, false},
		{"large", "here\n" + strings.Repeat("x", keptFile), "here\n", []string{"changed since you last read it. Read it again"}, false},
		{"now large", "here\n", "here\n" + strings.Repeat("x", keptFile), []string{"changed since you last read it. Read it again"}, false},
		{"now binary", "here\n", "here\x00\n", []string{"changed since you last read it. Read it again"}, false},
		{"only a mark", "here\n", "\xEF\xBB\xBFhere\n", []string{"changed since you last read it. Read it again"}, false},
		{"foreign bytes", "here\ncaf\xE9\n", "here\ncaf\xE8\n", []string{`-caf\xE9`, `+caf\xE8`}, true},
		{"the end", "here\nx", "here\nx\n", []string{"No newline at end of file"}, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			f := *f
			f.t = t
			path := f.file("f", row.new)
			f.box.session(f.env.Key).saw(path, []byte(row.old))
			edit := in{"file_path": "f", "old_string": "here", "new_string": "there"}
			wants(t, f.fails(Edit, edit), append(row.want, "f was not changed: this file has changed since")...)
			if f.content("f") != row.new {
				t.Error("a refused edit changed the file")
			}
			if r := f.result(Edit, edit); r.IsError == row.known {
				t.Errorf("the second time: %s", textOf(r))
			}
		})
	}
	s := f.box.session(f.env.Key)
	for i := range 2 * keptSession / keptFile {
		s.saw(fmt.Sprint(i), make([]byte, keptFile))
	}
	if s.kept > keptSession {
		t.Errorf("%d bytes are kept", s.kept)
	}
}

// TestReplaceable: files that may not be replaced, or whose replacement has more to say.
func TestReplaceable(t *testing.T) {
	f := newFixture(t, nil)
	edit := func(name string) in { return in{"file_path": name, "old_string": "a", "new_string": "b"} }
	path := f.file("shut", "a\n")
	if err := os.Chmod(path, 0o444); err != nil {
		t.Fatal(err)
	}
	f.ok(Read, in{"file_path": "shut"})
	wants(t, f.fails(Edit, edit("shut")), "read-only")
	wants(t, f.fails(Write, in{"file_path": "shut", "content": "x"}), "read-only")
	if f.content("shut") != "a\n" {
		t.Error("a read-only file was changed")
	}

	if err := os.Link(f.file("one", "a\n"), filepath.Join(f.dir, "two")); err != nil {
		t.Fatal(err)
	}
	f.ok(Read, in{"file_path": "one"})
	wants(t, f.ok(Edit, edit("one")), "had 2 names (hard links); the others keep the old content")
	if f.content("one") != "b\n" || f.content("two") != "a\n" {
		t.Error("hard links")
	}

	f.file("Readme.md", "a\n")
	wants(t, f.fails(Read, in{"file_path": "README.md"}), "does not exist", `There is "Readme.md"`)
	wants(t, f.ok(Write, in{"file_path": "README.md", "content": "x"}), "Created", `there is "Readme.md"`)
	f.file("cafe\u0301", "a\n")
	wants(t, f.fails(Edit, edit("caf\u00e9")), "does not exist", "how its characters are composed")

	f.file("crlf", "\xEF\xBB\xBFa\r\nb\r\n")
	f.ok(Read, in{"file_path": "crlf"})
	wants(t, f.ok(Write, in{"file_path": "crlf", "content": "a\nb\n"}), "began with a byte order mark and had CRLF line endings; the new one is as you gave it")

	// A link to a file inside is followed, also by the lock and by what was read; one that leads out is not.
	f.file("target", "a\n")
	for name, to := range map[string]string{"in": "target", "out": "/etc/hostname"} {
		if err := os.Symlink(to, filepath.Join(f.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	f.ok(Read, in{"file_path": "target"})
	f.ok(Edit, edit("in"))
	if f.content("target") != "b\n" {
		t.Error("the target of the link was not changed")
	}
	wants(t, f.denied(Edit, edit("out")), "which is /etc/hostname", "This is intended")
}

// TestPathsOfNoFile: what is wrong with a path is said at once, in a short message, and nothing is made.
func TestPathsOfNoFile(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	f := newFixture(t, nil)
	listener, err := net.Listen("unix", filepath.Join(os.Getenv("TMPDIR"), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	f.file("file", "x\n")
	if err := syscall.Mkfifo(filepath.Join(f.dir, "fifo"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/zero", filepath.Join(f.dir, "zero")); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct{ path, want string }{
		{"", "is empty"},
		{"  ", "is empty"},
		{"a\x00b", "NUL"},
		{"~", "not expanded"},
		{"~/x", "not expanded"},
		{"fifo", "not a regular file"},
		{"fifo/x", "part of this path"},
		{listener.Addr().String(), "not a regular file"},
		{"zero", ""},
		{"/dev/tty", ""},
		{"/dev/fd/0", ""},
		{"/dev/null", ""},
		{"/proc/self/environ", "kernel"},
		{"..", ""},
		{strings.Repeat("x", 256), "too long"},
		{strings.Repeat("x/", 5000), "too long"},
		{strings.Repeat("../", 100_000) + "dev/zero", ""},
		{strings.Repeat("y", 1<<20), "too long"},
	} {
		for _, call := range []struct {
			tool  string
			input in
		}{
			{Read, in{"file_path": row.path}},
			{Write, in{"file_path": row.path, "content": "x"}},
			{Edit, in{"file_path": row.path, "old_string": "x", "new_string": "y"}},
		} {
			r := f.result(call.tool, call.input)
			switch said := textOf(r); {
			case !r.IsError:
				t.Errorf("%s of %q: %s", call.tool, clip(row.path, 40), said)
			case len(said) > 1500:
				t.Errorf("%s of %q says %d bytes", call.tool, clip(row.path, 40), len(said))
			case call.tool == Read:
				wants(t, said, row.want)
			}
		}
	}
	if entries, err := os.ReadDir(f.dir); err != nil || len(entries) != 3 {
		t.Errorf("the workspace holds %v", entries)
	}
}

func TestConcurrentEditsOfOnePath(t *testing.T) {
	const n = 40
	f := newFixture(t, nil)
	var content strings.Builder
	for i := range n {
		fmt.Fprintf(&content, "<%d>\n", i)
	}
	f.file("f", content.String())
	if err := os.Symlink("f", filepath.Join(f.dir, "alias")); err != nil {
		t.Fatal(err)
	}
	f.ok(Read, in{"file_path": "f"})
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			name := []string{"f", "alias"}[i%2]
			r, err := f.run(context.Background(), Edit, in{"file_path": name, "old_string": fmt.Sprintf("<%d>", i), "new_string": fmt.Sprintf("[%d]", i)})
			if err != nil || r.IsError {
				t.Errorf("edit %d: %s, %v", i, textOf(r), err)
			}
		})
	}
	all.Wait()
	if got := f.content("f"); strings.Contains(got, "<") || strings.Count(got, "[") != n {
		t.Errorf("edits were lost:\n%s", got)
	}
	if len(f.box.paths.held) != 0 {
		t.Errorf("%d locks are left", len(f.box.paths.held))
	}
}

// TestTwoSubagentsEditOneFile: each is told what the other has changed and makes its call again; nothing is lost.
func TestTwoSubagentsEditOneFile(t *testing.T) {
	const n = 20
	f := newFixture(t, nil)
	var content strings.Builder
	for i := range 2 * n {
		fmt.Fprintf(&content, "<%d>\n", i)
	}
	f.file("f", content.String())
	var all sync.WaitGroup
	for who := range 2 {
		g := f.as(fmt.Sprint(who))
		g.ok(Read, in{"file_path": "f"})
		all.Go(func() {
			for i := who; i < 2*n; i += 2 {
				input := in{"file_path": "f", "old_string": fmt.Sprintf("<%d>", i), "new_string": fmt.Sprintf("[%d]", i)}
				r, err := g.run(context.Background(), Edit, input)
				for err == nil && r.IsError && strings.Contains(textOf(r), "has changed since") {
					if strings.Contains(textOf(r), "Read it again") { // too much to be shown
						if _, err := g.run(context.Background(), Read, in{"file_path": "f"}); err != nil {
							t.Error(err)
						}
					}
					r, err = g.run(context.Background(), Edit, input)
				}
				if err != nil || r.IsError {
					t.Errorf("edit %d: %s, %v", i, textOf(r), err)
				}
			}
		})
	}
	all.Wait()
	if got := f.content("f"); strings.Contains(got, "<") || strings.Count(got, "[") != 2*n {
		t.Errorf("edits were lost:\n%s", got)
	}
}

func TestLargeEdit(t *testing.T) {
	f := newFixture(t, nil)
	f.file("f", strings.Repeat("some line of text\r\n", 10<<20/19)+"here\r\n")
	f.ok(Read, in{"file_path": "f", "limit": 1})
	f.ok(Edit, in{"file_path": "f", "old_string": "here\n", "new_string": "there\n"})
	if !strings.HasSuffix(f.content("f"), "text\r\nthere\r\n") {
		t.Error("wrong end")
	}
}

// FuzzChangeable checks that no path leads a write out of the roots, and that what comes out names no link.
func FuzzChangeable(f *testing.F) {
	base, err := filepath.EvalSymlinks(f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	dir := filepath.Join(base, "w")
	if err := os.MkdirAll(filepath.Join(dir, "sub/inner"), 0o755); err != nil {
		f.Fatal(err)
	}
	f.Setenv("TMPDIR", dir)
	for name, target := range map[string]string{"out": "..", "root": "/", "in": "sub/inner", "next": "in/../../..", "self": "self", "new": "sub/new"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			f.Fatal(err)
		}
	}
	box, err := New(Options{Workspace: dir})
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range []string{"a", "../a", "out/w/a", "in/../x", "next/a", "self", "new", "new/../../x", "root/" + dir, "/", "//", "a//b/./..", "sub/../../w/x"} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		real, err := box.changeable(path)
		if err != nil {
			return
		}
		if !strings.HasPrefix(real, dir+"/") || filepath.Clean(real) != real {
			t.Fatalf("%q leads to %q", path, real)
		}
		for p := real; p != dir; p = filepath.Dir(p) {
			if info, err := os.Lstat(p); err == nil && info.Mode()&os.ModeSymlink != 0 {
				t.Fatalf("%q leads to %q, where %q is a link", path, real, p)
			}
		}
	})
}

// FuzzEdit checks that a change does what a plain replacement of the text with unified endings does, and that nothing
// outside of the places changes.
func FuzzEdit(f *testing.F) {
	for _, s := range [][3]string{
		{"a\r\nb\r\n", "a\nb", "x\ny"}, {"aaa", "aa", "b"}, {"a\nb\r\nc", "b", "1\n2"}, {"\r\r\n\n", "\r", ""}, {"b\r\r\n", "b", "0"}, {"caf\xE9\r\n", "f", "g"},
	} {
		f.Add(s[0], s[1], s[2], true)
		f.Add(s[0], s[1], s[2], false)
	}
	f.Fuzz(func(t *testing.T, body, old, new string, all bool) {
		if old == "" {
			return
		}
		changed, lines, why := change{old, new, all}.apply(body)
		if (why == "") != (len(lines) > 0) {
			t.Fatalf("lines %v, reason %q", lines, why)
		}
		if why != "" {
			return
		}
		if strings.Contains(body, "\r\n") {
			unify := func(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }
			// How many carriage returns stand before a line feed is left out: taking text out between them makes new pairs.
			bare := func(s string) string { return regexp.MustCompile(`\r+\n`).ReplaceAllString(s, "\n") }
			want := bare(strings.ReplaceAll(unify(body), unify(old), unify(new)))
			if bare(changed) != want {
				t.Fatalf("got %q, want %q with unified endings", changed, want)
			}
			return
		}
		if want := strings.ReplaceAll(body, old, new); changed != want {
			t.Fatalf("got %q, want %q", changed, want)
		}
	})
}

// FuzzParseText checks that every file that counts as text comes back byte for byte.
func FuzzParseText(f *testing.F) {
	for _, s := range []string{"", "a", "\xFF\xFEa\x00", "\xFE\xFF\x00a", "\xFF\xFE\x00\xD8", "\xEF\xBB\xBFx", "caf\xE9", "a\x00"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if text, ok := parseText(data); ok && !bytes.Equal(text.bytes(), data) {
			t.Fatalf("%q came back as %q", data, text.bytes())
		}
	})
}
