package tools

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestChangedUnderneath: what was read is gone, or something else has taken its place.
func TestChangedUnderneath(t *testing.T) {
	for _, row := range []struct {
		name          string
		replace       func(path string) error
		edit, written string // what Edit and then Write say
		fails         bool   // whether Write does
	}{
		{"deleted", func(string) error { return nil }, "does not exist", "Created", false},
		{"a directory", func(p string) error { return os.Mkdir(p, 0o755) }, "is a directory", "is a directory", true},
		{"a pipe", func(p string) error { return syscall.Mkfifo(p, 0o644) }, "not a regular file", "not a regular file", true},
		{"a link to itself", func(p string) error { return os.Symlink(p, p) }, "circle", "circle", true},
		{"a link out", func(p string) error { return os.Symlink("/etc/hostname", p) }, "outside", "outside", true},
		{"another file", func(p string) error { return os.WriteFile(p, []byte("a\nmore\n"), 0o644) }, "+more", "", true},
	} {
		t.Run(row.name, func(t *testing.T) {
			f := newFixture(t, nil)
			path := f.file("f", "a\n")
			f.ok(Read, in{"file_path": "f"})
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			if err := row.replace(path); err != nil {
				t.Fatal(err)
			}
			r := f.result(Edit, in{"file_path": "f", "old_string": "a", "new_string": "b"})
			if !r.IsError {
				t.Error("the file was edited")
			}
			wants(t, textOf(r), row.edit)
			if row.name == "another file" {
				return // the session has been told and may go on
			}
			r = f.result(Write, in{"file_path": "f", "content": "c\n"})
			if r.IsError != row.fails {
				t.Error("writing it")
			}
			wants(t, textOf(r), row.written)
		})
	}
}

// TestNotTheSameText: nothing that only looks like old_string is replaced.
func TestNotTheSameText(t *testing.T) {
	f := newFixture(t, nil)
	for _, row := range []struct{ file, old, why string }{
		{"a\u200bb = 1\n", "ab = 1", "U+200B"},
		{"ab = 1\n", "a\u200bb = 1", "U+200B"},
		{"ab\n", "\ufeffab", "U+FEFF"},
		{"x\u2010y\n", "x-y", "U+2010"},
		{"x\u2212y\n", "x-y", "U+2212"},
		{"q\u00a0r\n", "q r", "U+00A0"},
		{"\u0440assword\n", "password", "U+0440"},
		{"\uff41bcdef\n", "abcdef", "U+FF41"},
		{"wait…\n", "wait...", "U+2026"},
		{"one\rtwo\n", "one\ntwo", "not found"},
		{"tab\there\n", "tab here", `"tab\there"`},
		{"if x {\n    y\n}\n", "if x {\n\ty\n}", "Line 2"},
		{"A\n", "a", "not found"},
	} {
		f.file("f", row.file)
		f.ok(Read, in{"file_path": "f"})
		wants(t, f.fails(Edit, in{"file_path": "f", "old_string": row.old, "new_string": "z"}), row.why)
		wants(t, f.fails(Edit, in{"file_path": "f", "old_string": row.old, "new_string": "z", "replace_all": true}), "was not changed")
		if f.content("f") != row.file {
			t.Errorf("%q was changed", row.file)
		}
	}
	f.file("f", "ab\n")
	f.ok(Read, in{"file_path": "f"})
	wants(t, f.fails(Edit, in{"file_path": "f", "old_string": "b", "new_string": "\x00"}), "NUL")
}

// TestRoughFiles: odd content and odd names are said to be what they are.
func TestRoughFiles(t *testing.T) {
	f := newFixture(t, nil)
	f.file("cr", "one\rtwo\r\nthree\n")
	wants(t, f.ok(Read, in{"file_path": "cr"}), "1 carriage return without a line feed", "     2\tthree")
	f.ok(Edit, in{"file_path": "cr", "old_string": "two", "new_string": "2"})
	if got := f.content("cr"); got != "one\r2\r\nthree\n" {
		t.Errorf("%q", got)
	}
	f.file("utf16", "a\x00b\x00\n\x00") // no mark says so
	wants(t, f.fails(Read, in{"file_path": "utf16"}), "not a text file")
	f.file("new\nline", "a\n")
	f.ok(Read, in{"file_path": "new\nline"})
	wants(t, f.ok(Edit, in{"file_path": "new\nline", "old_string": "a", "new_string": "b"}), `"new\nline"`)
	for _, name := range []string{"cr/", "none/", "cr//"} {
		wants(t, f.fails(Read, in{"file_path": name}), "ends with a slash")
		wants(t, f.fails(Write, in{"file_path": name, "content": "x"}), "ends with a slash")
	}
	if _, err := os.Stat(filepath.Join(f.dir, "none")); err == nil {
		t.Error("a file was made where a directory was named")
	}
	wants(t, f.ok(Grep, in{"pattern": "three", "output_mode": modeContent, "context": 1}), "cr-1-one", "cr:2:three")
}

// TestReadBeforeAHole: a text that goes on with a terabyte of nothing is shown, and looking for its end does not last.
func TestReadBeforeAHole(t *testing.T) {
	f := newFixture(t, nil)
	path := f.file("f", strings.Repeat("line\n", 3000))
	if err := os.Truncate(path, 1<<40); err != nil {
		t.Skip("the file system has no sparse files of this size")
	}
	wants(t, f.ok(Read, in{"file_path": "f", "limit": 2}), "     2\tline\n[lines 1-2 of at least 300")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r, err := f.run(ctx, Read, in{"file_path": "f", "offset": 4000})
	if err != nil || !r.IsError {
		t.Errorf("%v, %v", textOf(r), err)
	}
	wants(t, f.fails(Read, in{"file_path": "f", "offset": 4000}), "line 4000 lies too far")
	wants(t, f.fails(Grep, in{"pattern": "line"}), "incomplete", "1 file too large; 0 files searched")
}
