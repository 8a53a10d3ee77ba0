package flower

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestLineageCases reads the files of testdata/lineage, each beside the answer it must give.
func TestLineageCases(t *testing.T) {
	files, err := filepath.Glob("testdata/lineage/*.lineage")
	if err != nil || len(files) < 18 {
		t.Fatalf("%d cases, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data := read(t, file)
			var want struct {
				Workspace string
				Store     []string
				Accepted  map[string]string
				Reason    []Reason
			}
			if err := json.Unmarshal(read(t, strings.TrimSuffix(file, "lineage")+"json"), &want); err != nil {
				t.Fatal(err)
			}
			l := parseLineage(data, want.Workspace, func(id string) bool { return slices.Contains(want.Store, id) })
			if len(l.steps) != len(want.Accepted) {
				t.Errorf("accepted %v, want %v", l.steps, want.Accepted)
			}
			for step, id := range want.Accepted {
				if l.steps[step] != id {
					t.Errorf("step %s: %q, want %q", step, l.steps[step], id)
				}
			}
			reason := Reason("ok")
			if len(l.refused) > 0 {
				reason = l.refused[0].reason
			}
			if !slices.Contains(want.Reason, reason) {
				t.Errorf("reason %q, want one of %q", reason, want.Reason)
			}
		})
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestLineageCutAnywhere cuts a good file at every byte: nothing panics, a cut file is put aside unharmed, and the next
// write starts a new one.
func TestLineageCutAnywhere(t *testing.T) {
	whole := read(t, "testdata/lineage/l01-good.lineage")
	for n := range whole {
		dir := t.TempDir()
		path := filepath.Join(dir, lineageFile)
		if err := os.WriteFile(path, whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		book := newLineageBook(dir, "/home/ada/shop", func() time.Time { return time.Unix(1e9, 0) })
		if l := book.load(func(string) bool { return true }); len(l.steps) != 0 || !l.aside {
			t.Fatalf("cut at %d: steps %v", n, l.steps)
		}
		woke, kept, err := book.wake(t.Context())
		if err != nil || woke != 1 {
			t.Fatalf("cut at %d: wake %d, %v", n, woke, err)
		}
		if kept == "" || !bytes.Equal(read(t, kept), whole[:n]) {
			t.Fatalf("cut at %d: the old bytes are not in %q", n, kept)
		}
	}
}

func TestLineageFileForm(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, lineageFile)
	book := newLineageBook(dir, "/home/ada/shop", time.Now)
	if _, _, err := book.wake(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := book.remember(t.Context(), "干活", "11111111-1111-4111-8111-111111111111"); err != nil {
		t.Fatal(err)
	}
	want := `{
  "workspace": "/home/ada/shop",
  "woke": 1,
  "steps": {
    "干活": "11111111-1111-4111-8111-111111111111"
  }
}`
	if got := string(read(t, path)); got != want {
		t.Errorf("file:\n%s\nwant:\n%s", got, want)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

// TestLineageCount: a number of wakes that is none costs the count alone. The steps go on, and the file stays beside.
func TestLineageCount(t *testing.T) {
	for _, bad := range []string{`"3"`, `-1`, `1.5`, `[]`, `{"n": 3}`, `1e300`} {
		dir := t.TempDir()
		old := `{"workspace": "/home/ada/shop", "woke": ` + bad + `, "steps": {"干活": "11111111-1111-4111-8111-111111111111"}, "more": 7}`
		if err := os.WriteFile(filepath.Join(dir, lineageFile), []byte(old), 0o600); err != nil {
			t.Fatal(err)
		}
		book := newLineageBook(dir, "/home/ada/shop", time.Now)
		l := book.load(func(string) bool { return true })
		if len(l.refused) != 1 || l.refused[0].reason != WrongCount || len(l.steps) != 1 {
			t.Errorf("%s: refused %+v", bad, l.refused)
		}
		woke, kept, err := book.wake(t.Context())
		if err != nil || woke != 1 || kept == "" || string(read(t, kept)) != old {
			t.Errorf("%s: wake %d, kept %q, %v", bad, woke, kept, err)
		}
		l = book.load(func(string) bool { return true })
		if l.woke != 1 || len(l.refused) > 0 || l.steps["干活"] != "11111111-1111-4111-8111-111111111111" || string(l.rest.values["more"]) != "7" {
			t.Errorf("%s: afterwards %+v", bad, l)
		}
	}
}

// TestLineageMerge lets two processes write in turn: each keeps the other's steps and the keys neither knows.
func TestLineageMerge(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, lineageFile)
	if err := os.WriteFile(path, read(t, "testdata/lineage/l02-unknown-keys.lineage"), 0o600); err != nil {
		t.Fatal(err)
	}
	a := newLineageBook(dir, "/home/ada/shop", time.Now)
	b := newLineageBook(dir, "/home/ada/shop", time.Now)
	for _, book := range []*lineageBook{a, b} {
		if _, _, err := book.wake(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for _, w := range []struct {
		book     *lineageBook
		step, id string
	}{{a, "one", "a1"}, {b, "two", "b1"}, {a, "one", "a2"}, {b, "干活", "b2"}} {
		if _, err := w.book.remember(t.Context(), w.step, w.id); err != nil {
			t.Fatal(err)
		}
	}
	l := a.load(func(string) bool { return true })
	if l.woke != 4 || l.steps["one"] != "a2" || l.steps["two"] != "b1" || l.steps["干活"] != "b2" {
		t.Errorf("woke %d, steps %v", l.woke, l.steps)
	}
	if !bytes.Contains(read(t, path), []byte(`"x": [`)) {
		t.Errorf("an unknown key was lost:\n%s", read(t, path))
	}
}

func FuzzParseLineage(f *testing.F) {
	files, _ := filepath.Glob("testdata/lineage/*.lineage")
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		l := parseLineage(data, "/home/ada/shop", func(id string) bool { return len(id) == 36 })
		for step, id := range l.steps {
			if len(id) != 36 {
				t.Errorf("step %q got a dead id %q", step, id)
			}
		}
		if l.aside && len(l.steps) > 0 && l.refused[0].reason != WrongCount {
			t.Errorf("steps from a file that is not usable: %v", l.steps)
		}
		book := newLineageBook("", "/home/ada/shop", time.Now)
		if !l.aside {
			if _, err := book.merge(l); err != nil {
				t.Errorf("a usable file cannot be written again: %v", err)
			}
		}
	})
}
