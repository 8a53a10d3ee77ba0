package workbench_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"flower/internal/workbench"
)

// tree lists every file and directory below dir.
func tree(t *testing.T, dir string) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && path != dir {
			rel, _ := filepath.Rel(dir, path)
			if e.IsDir() {
				rel += "/"
			}
			all = append(all, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestReadingWritesNothing(t *testing.T) {
	ws := t.TempDir()
	b := workbench.Open(ws)
	if text, there, err := b.ReadNote(workbench.Brief); text != "" || there || err != nil {
		t.Errorf("note: %q %v %v", text, there, err)
	}
	if index, err := b.Index(); index != "" || err != nil {
		t.Errorf("index: %q %v", index, err)
	}
	if err := b.WriteIndex(); err != nil { // nothing to say
		t.Error(err)
	}
	if got := tree(t, ws); len(got) != 0 {
		t.Errorf("written: %q", got)
	}
}

func TestCreate(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o022))
	ws := t.TempDir()
	b := workbench.Open(ws)
	for range 2 {
		if err := b.Create(); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{".flower/", ".flower/artifacts/", ".flower/notes/", ".flower/scripts/", ".flower/spill/", ".flower/spill/.gitignore"}
	if got := tree(t, ws); !slices.Equal(got, want) {
		t.Errorf("made %q", got)
	}
	if got := get(t, b.SpillDir()+"/.gitignore"); got != "*\n" {
		t.Errorf("ignore file %q", got)
	}
	if info, err := os.Stat(b.Notes()); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("mode %v %v", info, err)
	}
}

func TestOutside(t *testing.T) {
	parent := t.TempDir()
	ws := filepath.Join(parent, "proj")
	dir := workbench.OutsideDir(ws + "/")
	if want := filepath.Join(parent, ".flower-proj"); dir != want {
		t.Errorf("dir %s, want %s", dir, want)
	}
	rel, err := workbench.OpenAt(ws, dir).Spill("text")
	if err != nil || rel != "../.flower-proj/spill/982d9e3eb996f559.txt" {
		t.Errorf("spill %q, %v", rel, err)
	}
	if got := get(t, filepath.Join(ws, rel)); got != "text" {
		t.Errorf("spilled %q", got)
	}
}

func TestSpill(t *testing.T) {
	ws := t.TempDir()
	b := workbench.Open(ws)
	const want = ".flower/spill/2cf24dba5fb0a30e.txt" // sha256("hello") = 2cf24dba5fb0a30e26e8…
	for range 2 {
		rel, err := b.Spill("hello")
		if err != nil || rel != want {
			t.Fatalf("got %q, %v", rel, err)
		}
	}
	file := filepath.Join(ws, want)
	put(t, file, "hell")
	if _, err := b.Spill("hello"); err != nil || get(t, file) != "hello" {
		t.Errorf("a truncated file was not written again: %q, %v", get(t, file), err)
	}
	if got := tree(t, b.SpillDir()); len(got) != 2 {
		t.Errorf("left %q", got)
	}
	put(t, ws+"/file", "")
	if _, err := workbench.Open(ws + "/file").Spill("x"); err == nil {
		t.Error("no error below a file")
	}
}

func TestNotes(t *testing.T) {
	b := workbench.Open(t.TempDir())
	if err := b.WriteNote(workbench.Brief, "one"); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"two\n", "three", "", "four"} {
		if err := b.AppendNote(workbench.Brief, text); err != nil {
			t.Fatal(err)
		}
	}
	if text, there, err := b.ReadNote(workbench.Brief); text != "one\ntwo\nthree\nfour" || !there || err != nil {
		t.Errorf("got %q %v %v", text, there, err)
	}
	if err := b.UpdateNote(workbench.Goal, func(old string, there bool) (string, bool) {
		return "never", there || old != ""
	}); err != nil {
		t.Error(err)
	}
	if _, there, _ := b.ReadNote(workbench.Goal); there {
		t.Error("a note was made though nothing changed")
	}
	if err := b.WriteNote(workbench.HandoffArchive("干活", time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)), "old"); err != nil {
		t.Error(err)
	}
	if got, want := tree(t, b.Notes()), []string{"archive/", "archive/交接/", "archive/交接/干活-20260102-030405.md", "需求.md"}; !slices.Equal(got, want) {
		t.Errorf("notes %q, want %q", got, want)
	}
	for _, name := range []string{"", ".", "..", "../x", "/etc/x", "a/../../x"} {
		if _, _, err := b.ReadNote(name); err == nil {
			t.Errorf("read %q: no error", name)
		}
		if err := b.WriteNote(name, "x"); err == nil {
			t.Errorf("write %q: no error", name)
		}
	}
	if err := os.Mkdir(b.NotePath(workbench.Goal), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, there, err := b.ReadNote(workbench.Goal); there || err == nil {
		t.Errorf("a directory as note: %v %v", there, err)
	}
}

func TestAppendNoteConcurrently(t *testing.T) {
	ws := t.TempDir()
	const writers, each = 4, 10
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			b := workbench.Open(ws)
			for i := range each {
				if err := b.AppendNote(workbench.QuestionLog, fmt.Sprintf("%d %d\n", w, i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	lines := strings.Split(strings.TrimSpace(get(t, workbench.Open(ws).NotePath(workbench.QuestionLog))), "\n")
	slices.Sort(lines)
	if n := len(slices.Compact(lines)); n != writers*each {
		t.Errorf("%d different lines, want %d", n, writers*each)
	}
}

func TestHandoffNote(t *testing.T) {
	long := strings.Repeat("字", 60)
	for _, tt := range []struct{ step, want string }{
		{"干活", "交接-干活.md"},
		{"a b.c", "交接-a b.c.md"},
		{"..", "交接-...md"},
		{"a/b", "交接-a_b-c14cddc0.md"},
		{"a_b", "交接-a_b.md"},
		{"a\\b", "交接-a_b-c62016d0.md"},
		{"", "交接--e3b0c442.md"},
		{long, "交接-" + strings.Repeat("字", 50) + "-1d3d3513.md"},
	} {
		got := workbench.HandoffNote(tt.step)
		if got != tt.want {
			t.Errorf("%q: %q, want %q", tt.step, got, tt.want)
		}
		if len(got) > 255 || strings.ContainsAny(got, "/\\\n\x00") {
			t.Errorf("%q: %q is no file name", tt.step, got)
		}
	}
}

func TestArchiveDir(t *testing.T) {
	b := workbench.Open(t.TempDir())
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, want := range []string{"20260102-030405", "20260102-030405-2", "20260102-030405-3"} {
		dir, err := b.ArchiveDir(now)
		if err != nil || dir != filepath.Join(b.Notes(), "archive", want) {
			t.Errorf("got %s, %v, want %s", dir, err, want)
		}
	}
}
