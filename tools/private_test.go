package tools

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"flower/internal/workbench"
)

// TestPrivateDirectories: nobody lists, searches, reads or changes flower's books, by whatever name.
func TestPrivateDirectories(t *testing.T) {
	f := newFixture(t, func(o *Options) { o.Private = []string{filepath.Join(o.Workspace, "runs")} })
	f.file("a.txt", "needle\n")
	f.file("runs/b.txt", "needle\n")
	if err := os.Symlink("runs", filepath.Join(f.dir, "link")); err != nil {
		t.Fatal(err)
	}
	for _, got := range []string{f.ok(Glob, in{"pattern": "**/*"}), f.ok(Grep, in{"pattern": "needle"})} {
		if !strings.Contains(got, "a.txt") || strings.Contains(got, "b.txt") {
			t.Errorf("found: %s", got)
		}
	}
	for _, path := range []string{"runs/b.txt", "./runs/../runs/b.txt", "link/b.txt", filepath.Join(f.dir, "runs", "new.txt")} {
		f.denied(Read, in{"file_path": path})
		f.denied(Write, in{"file_path": path, "content": "x"})
		f.denied(Edit, in{"file_path": path, "old_string": "needle", "new_string": "x"})
	}
	f.denied(Glob, in{"pattern": "*", "path": "runs"})
	f.denied(Grep, in{"pattern": "needle", "path": "link"})
	if got := f.content("runs/b.txt"); got != "needle\n" {
		t.Errorf("changed to %q", got)
	}
}

// TestFrozenDocuments: agents read what was agreed, and do not change it.
func TestFrozenDocuments(t *testing.T) {
	f := newFixture(t, func(o *Options) { o.Bench = workbench.Open(o.Workspace) })
	f.file(".flower/notes/目标.md", "# 目标\n")
	if got := f.ok(Read, in{"file_path": ".flower/notes/目标.md"}); !strings.Contains(got, "# 目标") {
		t.Errorf("read: %s", got)
	}
	f.denied(Write, in{"file_path": ".flower/notes/目标.md", "content": "# nothing\n"})
	f.denied(Write, in{"file_path": ".flower/notes/new.md", "content": "x"})
	f.denied(Edit, in{"file_path": ".flower/notes/目标.md", "old_string": "目标", "new_string": "x"})
	f.ok(Write, in{"file_path": ".flower/artifacts/new.md", "content": "x"})
}
