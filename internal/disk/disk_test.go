package disk_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"flower/internal/disk"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func content(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// names lists dir, so that a test can say that nothing else was left there.
func names(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return strings.Join(all, " ")
}

func TestWriteFile(t *testing.T) {
	tests := []struct {
		name     string
		prepare  func(t *testing.T, dir string)
		path     string // below dir
		lands    string // file that must hold the new text; default path
		mode     fs.FileMode
		wantMode fs.FileMode
		left     string // names in dir afterwards
	}{
		{name: "new", path: "a", mode: 0o600, wantMode: 0o600, left: "a"},
		{name: "new, umask applies", path: "a", mode: 0o666, wantMode: 0o640, left: "a"},
		{
			name: "old keeps its mode", path: "a", mode: 0o600, wantMode: 0o755, left: "a",
			prepare: func(t *testing.T, dir string) {
				write(t, dir+"/a", "old")
				if err := os.Chmod(dir+"/a", 0o755); err != nil {
					t.Fatal(err)
				}
			},
		},
		{
			name: "through a link", path: "link", lands: "sub/a", mode: 0o600, wantMode: 0o600, left: "link sub",
			prepare: func(t *testing.T, dir string) {
				mkdir(t, dir+"/sub")
				symlink(t, "sub/a", dir+"/link")
				write(t, dir+"/sub/a", "old")
				if err := os.Chmod(dir+"/sub/a", 0o600); err != nil {
					t.Fatal(err)
				}
			},
		},
		{
			name: "through a link to nothing yet", path: "link", lands: "sub/a", mode: 0o600, wantMode: 0o600, left: "link sub",
			prepare: func(t *testing.T, dir string) {
				mkdir(t, dir+"/sub")
				symlink(t, "sub/a", dir+"/link")
			},
		},
		{
			name: "link through a linked directory and up", path: "d/link", lands: "real/a", mode: 0o600, wantMode: 0o600, left: "d real",
			prepare: func(t *testing.T, dir string) {
				mkdir(t, dir+"/real/deep")
				symlink(t, "real/deep", dir+"/d")
				symlink(t, "../a", dir+"/real/deep/link")
			},
		},
		{name: "longest name", path: strings.Repeat("n", 255), mode: 0o600, wantMode: 0o600, left: strings.Repeat("n", 255)},
	}
	defer syscall.Umask(syscall.Umask(0o027))
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			if tt.prepare != nil {
				tt.prepare(t, dir)
			}
			if err := disk.WriteFile(filepath.Join(dir, tt.path), []byte("new"), tt.mode); err != nil {
				t.Fatal(err)
			}
			lands := filepath.Join(dir, tt.path)
			if tt.lands != "" {
				lands = filepath.Join(dir, tt.lands)
				if info, err := os.Lstat(filepath.Join(dir, tt.path)); err != nil || info.Mode()&fs.ModeSymlink == 0 {
					t.Errorf("the link is gone: %v %v", info, err)
				}
			}
			if got := content(t, lands); got != "new" {
				t.Errorf("content %q", got)
			}
			info, err := os.Lstat(lands)
			if err != nil {
				t.Fatal(err)
			}
			if info.Mode() != tt.wantMode {
				t.Errorf("mode %v, want %v", info.Mode(), tt.wantMode)
			}
			if got := names(t, dir); got != tt.left {
				t.Errorf("left %q, want %q", got, tt.left)
			}
		})
	}
}

func mkdir(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(path, 0o755); err != nil {
		t.Fatal(err)
	}
}

func symlink(t *testing.T, to, name string) {
	t.Helper()
	if err := os.Symlink(to, name); err != nil {
		t.Fatal(err)
	}
}

// odd makes one of each thing that is not a regular file.
func odd(t *testing.T) (dir string, kinds map[string]string) {
	t.Helper()
	dir = t.TempDir()
	mkdir(t, dir+"/dir")
	if err := syscall.Mkfifo(dir+"/pipe", 0o600); err != nil {
		t.Fatal(err)
	}
	symlink(t, "dir", dir+"/dirlink")
	symlink(t, "pipe", dir+"/pipelink")
	symlink(t, "/dev/null", dir+"/devlink")
	return dir, map[string]string{
		dir + "/dir": "a directory", dir + "/pipe": "a named pipe", dir + "/dirlink": "a directory",
		dir + "/pipelink": "a named pipe", dir + "/devlink": "a device", "/dev/null": "a device",
	}
}

func TestOddTargetsAreRefused(t *testing.T) {
	dir, kinds := odd(t)
	before := names(t, dir)
	for path, kind := range kinds {
		_, rerr := disk.ReadRegular(path, 10)
		for what, err := range map[string]error{"write": disk.WriteFile(path, []byte("x"), 0o600), "read": rerr} {
			var odd *disk.NotRegularError
			if !errors.As(err, &odd) {
				t.Errorf("%s %s: %v", what, path, err)
				continue
			}
			if !strings.Contains(err.Error(), kind) {
				t.Errorf("%s %s: %q does not say %q", what, path, err, kind)
			}
		}
	}
	if after := names(t, dir); after != before {
		t.Errorf("left %q, want %q", after, before)
	}
}

func TestWriteFileErrorsLeaveNothing(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/file", "x")
	symlink(t, "loop", dir+"/loop")
	for _, path := range []string{dir + "/none/a", dir + "/file/a", dir + "/loop", dir + "/" + strings.Repeat("n", 256)} {
		if err := disk.WriteFile(path, nil, 0o600); err == nil {
			t.Errorf("%s: no error", path)
		}
	}
	if got := names(t, dir); got != "file loop" {
		t.Errorf("left %q", got)
	}
}

func TestReadRegular(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/five", "12345")
	write(t, dir+"/empty", "")
	for _, tt := range []struct {
		path string
		max  int64
		want string
		big  bool
	}{
		{dir + "/five", 5, "12345", false},
		{dir + "/five", 4, "", true},
		{dir + "/five", 0, "12345", false},
		{dir + "/empty", 1, "", false},
	} {
		data, err := disk.ReadRegular(tt.path, tt.max)
		var big *disk.TooLargeError
		if got := errors.As(err, &big); got != tt.big || (err != nil) != tt.big || string(data) != tt.want {
			t.Errorf("%s max %d: %q, %v", tt.path, tt.max, data, err)
		}
	}
	if _, err := disk.ReadRegular(dir+"/none", 1); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
}

func TestPrivateDir(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o022))
	dir := t.TempDir()
	if err := disk.PrivateDir(dir + "/a/b"); err != nil {
		t.Fatal(err)
	}
	if err := disk.PrivateDir(dir + "/a/b"); err != nil {
		t.Errorf("again: %v", err)
	}
	if err := disk.SharedDir(dir + "/s"); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]fs.FileMode{"a": 0o700, "a/b": 0o700, "s": 0o755} {
		info, err := os.Stat(filepath.Join(dir, path))
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v %v", path, info, err)
		}
	}
	write(t, dir+"/file", "")
	if err := disk.PrivateDir(dir + "/file"); !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("over a file: %v", err)
	}
}

func TestLock(t *testing.T) {
	path := t.TempDir() + "/l"
	held, err := disk.TryLock(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := disk.TryLock(path); !errors.Is(err, disk.ErrLocked) {
		t.Errorf("second: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Millisecond)
	defer cancel()
	if _, err := disk.AcquireLock(ctx, path); !errors.Is(err, disk.ErrLocked) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("waiting: %v", err)
	}
	got := make(chan error)
	go func() {
		l, err := disk.AcquireLock(context.Background(), path)
		if err == nil {
			err = l.Unlock()
		}
		got <- err
	}()
	if err := held.Unlock(); err != nil {
		t.Error(err)
	}
	if err := <-got; err != nil {
		t.Errorf("after unlock: %v", err)
	}
	if err := held.Unlock(); err != nil {
		t.Errorf("second unlock: %v", err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("lock file: %v %v", info, err)
	}
	dir, kinds := odd(t)
	for _, name := range []string{"dir", "dirlink"} {
		if _, err := disk.TryLock(filepath.Join(dir, name)); err == nil || errors.Is(err, disk.ErrLocked) {
			t.Errorf("%s: %v", kinds[dir+"/"+name], err)
		}
	}
}
