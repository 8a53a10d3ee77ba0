package disk_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"flower/internal/disk"
)

func TestFree(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{dir, filepath.Join(dir, "not", "yet")} {
		if free, err := disk.Free(path); err != nil || free <= 0 {
			t.Errorf("Free(%s): %d, %v", path, free, err)
		}
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := disk.Free(filepath.Join(file, "below")); !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("Free below a file: %v", err)
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
