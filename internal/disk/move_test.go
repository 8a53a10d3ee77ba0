package disk_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"flower/internal/disk"
)

func TestQuarantine(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "lineage.json")
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for i, want := range []string{"lineage.json.bad-20260102-030405", "lineage.json.bad-20260102-030405-2", "lineage.json.bad-20260102-030405-3"} {
		if i < 2 {
			write(t, path, want)
		} else {
			mkdir(t, path+"/sub") // a directory in place of the file goes too
		}
		kept, err := disk.Quarantine(path, now)
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Base(kept) != want {
			t.Errorf("kept %s, want %s", kept, want)
		}
		if i < 2 && content(t, kept) != want {
			t.Errorf("%s holds %q", kept, content(t, kept))
		}
	}
	if _, err := disk.Quarantine(path, now); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nothing there: %v", err)
	}
	if got := names(t, dir); got != "lineage.json.bad-20260102-030405 lineage.json.bad-20260102-030405-2 lineage.json.bad-20260102-030405-3" {
		t.Errorf("left %q", got)
	}
}

func TestMoveAll(t *testing.T) {
	dir := t.TempDir()
	src, dst := dir+"/src", dir+"/dst"
	mkdir(t, src)
	mkdir(t, dst)
	write(t, src+"/a", "A")
	write(t, src+"/b", "B")
	write(t, dst+"/taken", "T")
	for name, last := range map[string]disk.Move{
		"source missing":  {From: src + "/none", To: dst + "/none"},
		"target exists":   {From: src + "/b", To: dst + "/taken"},
		"no directory":    {From: src + "/b", To: dst + "/no/b"},
		"source is a dir": {From: src, To: src + "/b/x"},
	} {
		err := disk.MoveAll([]disk.Move{{From: src + "/a", To: dst + "/a"}, last})
		if err == nil {
			t.Errorf("%s: no error", name)
		}
		if names(t, src) != "a b" || names(t, dst) != "taken" || content(t, src+"/a") != "A" || content(t, dst+"/taken") != "T" {
			t.Errorf("%s: half moved: %s | %s", name, names(t, src), names(t, dst))
		}
	}
	if err := disk.MoveAll([]disk.Move{{src + "/a", dst + "/a"}, {src + "/b", dst + "/b"}}); err != nil {
		t.Fatal(err)
	}
	if names(t, src) != "" || names(t, dst) != "a b taken" || content(t, dst+"/b") != "B" {
		t.Errorf("moved: %s | %s", names(t, src), names(t, dst))
	}
	if err := disk.MoveAll(nil); err != nil {
		t.Errorf("nothing to do: %v", err)
	}
}

func TestMoveAllAcrossFileSystems(t *testing.T) {
	other, err := os.MkdirTemp("/dev/shm", "move")
	if err != nil {
		t.Skip("no second file system here")
	}
	t.Cleanup(func() { _ = os.RemoveAll(other) })
	dir := t.TempDir()
	write(t, dir+"/a", "A")
	write(t, dir+"/b", "B")
	if err := os.Chmod(dir+"/a", 0o640); err != nil {
		t.Fatal(err)
	}
	moves := []disk.Move{{dir + "/a", other + "/a"}, {dir + "/b", other + "/no/b"}}
	if err := disk.MoveAll(moves); err == nil {
		t.Error("no error")
	}
	if names(t, dir) != "a b" || names(t, other) != "" {
		t.Errorf("half moved: %s | %s", names(t, dir), names(t, other))
	}
	moves[1].To = other + "/b"
	if err := disk.MoveAll(moves); err != nil {
		t.Fatal(err)
	}
	if names(t, dir) != "" || content(t, other+"/a") != "A" || content(t, other+"/b") != "B" {
		t.Errorf("moved: %s | %s", names(t, dir), names(t, other))
	}
	if info, err := os.Stat(other + "/a"); err != nil || info.Mode() != 0o640 {
		t.Errorf("mode: %v %v", info, err)
	}
}
