package disk_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"flower/internal/disk"
)

func peek(t *testing.T, path string) (note string, held bool) {
	t.Helper()
	data, held, err := disk.PeekLease(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data), held
}

func TestLease(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "l")
	if note, held := peek(t, path); held || note != "" {
		t.Errorf("nothing there: %q, held %v", note, held)
	}
	if left := names(t, dir); left != "" {
		t.Errorf("looking has left %q", left)
	}
	write(t, path, `{"what a dead holder has left":1}`)
	if note, held := peek(t, path); held || note != "" {
		t.Errorf("left behind: %q, held %v", note, held)
	}
	lease, err := disk.TakeLease(path, []byte("one"))
	if err != nil {
		t.Fatal(err)
	}
	for _, note := range []string{"one", "two, which is longer", "3"} {
		if err := lease.SetNote([]byte(note)); err != nil {
			t.Fatal(err)
		}
		if got, held := peek(t, path); !held || got != note {
			t.Errorf("note %q, held %v, want %q", got, held, note)
		}
		if _, err := disk.TakeLease(path, nil); !errors.Is(err, disk.ErrLocked) {
			t.Errorf("second holder: %v", err)
		}
	}
	if err := lease.SetNote(make([]byte, disk.MaxNote+1)); err == nil {
		t.Error("a note that is too long was taken")
	}
	if lease.Lost() {
		t.Error("lost")
	}
	if err := lease.Release(); err != nil {
		t.Error(err)
	}
	if left := names(t, dir); left != "" {
		t.Errorf("releasing has left %q", left)
	}
}

func TestLeaseIsLost(t *testing.T) {
	for name, lose := range map[string]func(t *testing.T, path string){
		"removed":  func(t *testing.T, path string) { remove(t, path) },
		"replaced": func(t *testing.T, path string) { remove(t, path); write(t, path, "other") },
		"replaced by a link": func(t *testing.T, path string) {
			if err := os.Rename(path, path+"2"); err != nil {
				t.Fatal(err)
			}
			symlink(t, path+"2", path)
		},
		"its directory is gone": func(t *testing.T, path string) {
			if err := os.RemoveAll(filepath.Dir(path)); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "leases", "l")
			mkdir(t, filepath.Dir(path))
			lease, err := disk.TakeLease(path, nil)
			if err != nil {
				t.Fatal(err)
			}
			lose(t, path)
			if !lease.Lost() {
				t.Error("not noticed")
			}
			other := disk.Exists(path)
			if err := lease.Release(); err != nil {
				t.Error(err)
			}
			if disk.Exists(path) != other {
				t.Error("another's file was removed")
			}
		})
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

// What is no file is neither changed nor removed, and it is not said to be held by somebody.
func TestLeaseOverSomethingElse(t *testing.T) {
	dir, kinds := odd(t)
	write(t, dir+"/file", "mine")
	symlink(t, "file", dir+"/filelink")
	symlink(t, "nothing", dir+"/dangling")
	kinds[dir+"/filelink"], kinds[dir+"/dangling"] = "a link", "a link to nothing"
	kinds[dir+"/file/below"], kinds[dir+"/none/below"] = "below a file", "below nothing"
	delete(kinds, "/dev/null")
	before := names(t, dir)
	for path, kind := range kinds {
		if _, err := disk.TakeLease(path, nil); err == nil || errors.Is(err, disk.ErrLocked) {
			t.Errorf("%s: %v", kind, err)
		}
		if _, held, _ := disk.PeekLease(path); held {
			t.Errorf("%s is held", kind)
		}
	}
	if after := names(t, dir); after != before {
		t.Errorf("left %q, want %q", after, before)
	}
	if got := content(t, dir+"/file"); got != "mine" {
		t.Errorf("content %q", got)
	}
}

// A lease can be read where nothing can be written.
func TestPeekLeaseReadOnly(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "l")
	lease, err := disk.TakeLease(path, []byte("me"))
	if err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]os.FileMode{path: 0o400, dir: 0o500} {
		if err := os.Chmod(name, mode); err != nil {
			t.Fatal(err)
		}
	}
	if note, held := peek(t, path); !held || note != "me" {
		t.Errorf("note %q, held %v", note, held)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := lease.Release(); err != nil {
		t.Error(err)
	}
}

// Many take, look at and release a lease at once. There is never more than one holder, a note is never a mixture, and
// looking keeps nobody from taking what is free.
func TestLeaseRace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l")
	const takers, rounds = 8, 50
	var holders, taken atomic.Int32
	var work sync.WaitGroup
	for n := range takers {
		work.Go(func() {
			note := []byte(strings.Repeat(fmt.Sprint(n), 2000))
			for range rounds {
				lease, err := disk.TakeLease(path, note)
				if errors.Is(err, disk.ErrLocked) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				if holders.Add(1) != 1 {
					t.Error("two holders")
				}
				taken.Add(1)
				holders.Add(-1)
				if err := lease.Release(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	stop := make(chan struct{})
	var looking sync.WaitGroup
	for range 2 {
		looking.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				note, _, err := disk.PeekLease(path)
				if err != nil {
					t.Error(err)
				}
				if len(note) > 0 && string(note) != strings.Repeat(string(note[:1]), 2000) {
					t.Errorf("a note of %d bytes: %.20q", len(note), note)
				}
			}
		})
	}
	work.Wait()
	for range 50 { // nobody else holds it now, only some look
		lease, err := disk.TakeLease(path, nil)
		if err != nil {
			t.Fatalf("looking kept a free lease from being taken: %v", err)
		}
		if err := lease.Release(); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	looking.Wait()
	if taken.Load() == 0 {
		t.Error("nobody ever got it")
	}
}
