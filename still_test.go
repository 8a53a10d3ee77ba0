package flower

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLookSeesChanges(t *testing.T) {
	w := newWorld(t)
	rt := w.start()
	put := func(name, text string) func() {
		return func() {
			path := filepath.Join(w.dir, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	before := rt.look()
	if before == "" {
		t.Fatal("nothing seen")
	}
	for _, step := range []struct {
		name    string
		change  func()
		noticed bool
	}{
		{"a file", put("a/b.txt", "x"), true},
		{"its content", put("a/b.txt", "xy"), true},
		{"its mode", func() { _ = os.Chmod(filepath.Join(w.dir, "a/b.txt"), 0o700) }, true},
		{"its name", func() { _ = os.Rename(filepath.Join(w.dir, "a/b.txt"), filepath.Join(w.dir, "a/c.txt")) }, true},
		{"a link", func() { _ = os.Symlink("c.txt", filepath.Join(w.dir, "a/l")) }, true},
		{"an artifact", put(".flower/artifacts/r.txt", "x"), true},
		{"the books", put("runs/manifest.json", "[]"), false},
		{"a note", put(".flower/notes/n.md", "x"), false},
		{"the index", put(".flower/INDEX.md", "x"), false},
		{"git's index", put(".git/index", "x"), false},
		{"an object", put(".git/objects/00/11", "x"), false},
		{"a cache", put("a/__pycache__/x.pyc", "x"), false},
		{"what a test tool keeps", put(".pytest_cache/v/x", "x"), false},
		{"what is built", put("dist/app.js", "x"), true},
		{"a commit", put(".git/refs/heads/main", "x"), true},
		{"another head", put(".git/HEAD", "ref: refs/heads/x"), true},
		{"removal", func() { _ = os.RemoveAll(filepath.Join(w.dir, "a")) }, true},
	} {
		step.change()
		now := rt.look()
		if noticed := now != before; noticed != step.noticed {
			t.Errorf("%s: noticed %v, want %v", step.name, noticed, step.noticed)
		}
		before = now
	}
}

func TestRoundsThatChangeNothingStop(t *testing.T) {
	for name, tt := range map[string]struct {
		changes map[int]bool // rounds in which the agent writes a file
		stuck   bool
		told    int // rounds that begin with being told
	}{
		"never":             {stuck: true, told: 1},
		"every round":       {changes: map[int]bool{1: true, 2: true, 3: true, 4: true, 5: true}},
		"one still":         {changes: map[int]bool{1: true, 3: true, 4: true, 5: true}, told: 1},
		"two, not in a row": {changes: map[int]bool{1: true, 3: true, 5: true}, told: 2},
	} {
		t.Run(name, func(t *testing.T) {
			w := newJob(t)
			w.play[judge] = inOrder(notYet)
			round := 0
			w.play[coordinator] = func(ask) (string, error) {
				if round++; tt.changes[round] {
					if err := os.WriteFile(filepath.Join(w.dir, fmt.Sprint("made", round)), nil, 0o666); err != nil {
						t.Error(err)
					}
				}
				return "work done", nil
			}
			_, err := w.run(Starter(StarterOptions{Ask: "x", Lang: English, Rounds: 5}))
			var abort *Abort
			if !errors.As(err, &abort) || strings.Contains(abort.Reason, "stuck") != tt.stuck {
				t.Fatalf("ended with %v", err)
			}
			if told := strings.Count(w.toldTo(coordinator), "has changed nothing"); told != tt.told {
				t.Errorf("told %d times, want %d:\n%s", told, tt.told, w.toldTo(coordinator))
			}
		})
	}
}

// The books of a run directory that was reached by a symbolic link are no change either.
func TestLookKnowsTheRunDirectoryByAnotherName(t *testing.T) {
	w := newWorld(t)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(w.dir, link); err != nil {
		t.Fatal(err)
	}
	w.opts = func(o *RuntimeOptions) { o.RunDir = filepath.Join(link, "runs") }
	if err := os.Mkdir(w.runs, 0o700); err != nil {
		t.Fatal(err)
	}
	rt := w.start()
	before := rt.look()
	if err := os.WriteFile(filepath.Join(w.runs, "manifest.json"), []byte("[]"), 0o600); err != nil {
		t.Fatal(err)
	}
	if before == "" || rt.look() != before {
		t.Error("the books count as a change of the workspace")
	}
}
