package workbench

import (
	"os"
	"path/filepath"
	"testing"
)

// TestMoveOut: the bench moves once, with what was on it, and is found from then on.
func TestMoveOut(t *testing.T) {
	workspace := filepath.Join(t.TempDir(), "p")
	inside := Open(workspace)
	if inside.Outside() {
		t.Fatal("a new workspace has its bench outside")
	}
	if err := inside.WriteNote(Brief, "the brief"); err != nil {
		t.Fatal(err)
	}
	if _, err := inside.Spill("long"); err != nil {
		t.Fatal(err)
	}
	half := OutsideDir(workspace) + ".new" // of a process that was killed
	if err := os.MkdirAll(filepath.Join(half, "notes", "junk"), 0o700); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		b, err := MoveOut(workspace)
		if err != nil {
			t.Fatal(err)
		}
		if !b.Outside() || b.Dir() != OutsideDir(workspace) || Open(workspace).Dir() != b.Dir() {
			t.Errorf("the bench is %s, opened %s", b.Dir(), Open(workspace).Dir())
		}
		if text, _, err := b.ReadNote(Brief); err != nil || text != "the brief" {
			t.Errorf("brief %q, %v", text, err)
		}
		if text, _, err := inside.ReadNote(Brief); err != nil || text != "the brief" {
			t.Errorf("the old brief is %q, %v", text, err)
		}
		for _, gone := range []string{half, filepath.Join(b.Notes(), "junk")} {
			if _, err := os.Lstat(gone); err == nil {
				t.Errorf("%s is there", gone)
			}
		}
		for _, dir := range b.Places() {
			if info, err := os.Stat(dir); err != nil || !info.IsDir() {
				t.Errorf("place %s: %v", dir, err)
			}
		}
	}
}

// TestMoveOutTaken: what others have put there is left alone.
func TestMoveOutTaken(t *testing.T) {
	workspace := filepath.Join(t.TempDir(), "p")
	if err := os.MkdirAll(OutsideDir(workspace), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := MoveOut(workspace); err == nil {
		t.Error("took a directory that is no workbench")
	}
	if err := os.Symlink(t.TempDir(), filepath.Join(OutsideDir(workspace), "notes")); err != nil {
		t.Fatal(err)
	}
	if Open(workspace).Outside() {
		t.Error("followed a link")
	}
}
