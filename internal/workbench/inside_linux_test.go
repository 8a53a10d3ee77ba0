package workbench

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"flower/internal/sandbox"
)

// A link that an agent has made in the bench, in place of a file or of a directory, leads nobody out of it.
func TestLinksLeadNowhere(t *testing.T) {
	probe, err := sandbox.New(sandbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if probe.Level() == sandbox.None {
		t.Skip("this kernel has no Landlock")
	}
	stamp := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, tt := range map[string]struct {
		link  string // below the bench
		to    string // below outside
		write func(b *Bench) error
	}{
		"index":      {"INDEX.md", "file", func(b *Bench) error { return b.WriteIndex() }},
		"new index":  {"INDEX.md", "new", func(b *Bench) error { return b.WriteIndex() }},
		"brief":      {"notes/" + Brief, "file", func(b *Bench) error { return b.WriteNote(Brief, "x") }},
		"questions":  {"notes/" + QuestionLog, "file", func(b *Bench) error { return b.AppendNote(QuestionLog, "x") }},
		"notes":      {"notes", ".", func(b *Bench) error { return b.WriteNote(Goal, "x") }},
		"archive":    {"notes/archive", ".", func(b *Bench) error { _, err := b.ArchiveDir(stamp); return err }},
		"spill":      {"spill", ".", func(b *Bench) error { _, err := b.Spill("text"); return err }},
		"scripts":    {"scripts", "missing", func(b *Bench) error { return b.Create() }},
		"ignoring":   {"spill/.gitignore", "new", func(b *Bench) error { _ = os.Remove(b.SpillDir() + "/.gitignore"); return b.Create() }},
		"old report": {"notes/archive", ".", func(b *Bench) error { return twice(b, stamp) }},
		"stream": {"spill", ".", func(b *Bench) error {
			s := b.NewStream()
			defer s.Drop()
			_, err := s.Write(make([]byte, 2*spillHeld))
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			outside, ws := filepath.Join(dir, "outside"), filepath.Join(dir, "ws")
			b := OpenAt(ws, filepath.Join(ws, ".flower"))
			if err := b.Create(); err != nil {
				t.Fatal(err)
			}
			if err := b.WriteNote(QuestionLog, "asked\n"); err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(outside, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(outside+"/file", []byte("precious\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			link := filepath.Join(b.Dir(), tt.link)
			if err := os.RemoveAll(link); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(filepath.Join(outside, tt.to), link); err != nil {
				t.Fatal(err)
			}
			err := tt.write(b)
			left, readErr := os.ReadDir(outside)
			if readErr != nil || len(left) != 1 {
				t.Errorf("outside there are %v, %v; the write: %v", left, readErr, err)
			}
			if data, _ := os.ReadFile(outside + "/file"); string(data) != "precious\n" {
				t.Errorf("the file outside is %q; the write: %v", data, err)
			}
			if err == nil && name != "ignoring" {
				t.Error("no error is told")
			}
		})
	}
}

// twice writes a handoff document, and another one, for which the first goes into the archive.
func twice(b *Bench, now time.Time) error {
	if _, err := b.WriteHandoff("step", "one", now); err != nil {
		return err
	}
	_, err := b.WriteHandoff("step", "two", now)
	return err
}

// A bench that the person keeps elsewhere is followed.
func TestBenchIsALink(t *testing.T) {
	dir := t.TempDir()
	ws, elsewhere := filepath.Join(dir, "ws"), filepath.Join(dir, "elsewhere")
	for _, d := range []string{ws, elsewhere} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(elsewhere, filepath.Join(ws, ".flower")); err != nil {
		t.Fatal(err)
	}
	b := Open(ws)
	if err := b.Create(); err != nil {
		t.Fatal(err)
	}
	if err := b.WriteNote(Brief, "x"); err != nil {
		t.Fatal(err)
	}
	if err := b.WriteIndex(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"notes/" + Brief, "INDEX.md", "spill/.gitignore"} {
		if _, err := os.Stat(filepath.Join(elsewhere, name)); err != nil {
			t.Error(err)
		}
	}
}
