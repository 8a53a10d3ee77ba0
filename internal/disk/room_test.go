package disk_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"flower/internal/disk"
)

func TestFree(t *testing.T) {
	free, err := disk.Free(t.TempDir())
	if err != nil || free <= 0 {
		t.Errorf("Free: %d, %v", free, err)
	}
	if _, err := disk.Free(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Free of nothing: %v", err)
	}
}

// TestProbe lets a file grow where it can, where the limit of a file's size forbids it, and leaves nothing behind.
func TestProbe(t *testing.T) {
	dir := t.TempDir()
	if err := disk.Probe(dir, 10<<20); err != nil {
		t.Errorf("Probe: %v", err)
	}
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
		t.Fatal(err)
	}
	limit := old
	limit.Cur = 1 << 20
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	big, small := disk.Probe(dir, 1<<20), disk.Probe(dir, 1<<10)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(big, syscall.EFBIG) || small != nil {
		t.Errorf("Probe of a file that may not grow: %v, of one that may: %v", big, small)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestSize(t *testing.T) {
	dir := t.TempDir()
	for name, size := range map[string]int{"a": 3, "b": 7} {
		if err := os.WriteFile(filepath.Join(dir, name), make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := disk.Size(filepath.Join(dir, "a"), filepath.Join(dir, "b"), filepath.Join(dir, "none")); got != 7 {
		t.Errorf("Size: %d", got)
	}
}
