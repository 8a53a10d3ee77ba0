package tools

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestFilesReplacedWhileSearching: what has become a link, a pipe or nothing since the walk has seen a file is not read, and
// is kept as unreadable.
func TestFilesReplacedWhileSearching(t *testing.T) {
	f := newFixture(t, nil)
	secret := f.file("secret", "hello\n")
	b := &batch{done: make(chan struct{})}
	q, bad := newQuery([]byte(`{"pattern":"hello"}`))
	if bad != nil {
		t.Fatal(textOf(*bad))
	}
	b.hits.query = q
	become := map[string]func(path string) error{
		"link": func(path string) error { return os.Symlink(secret, path) },
		"pipe": func(path string) error { return syscall.Mkfifo(path, 0o644) },
		"gone": func(string) error { return nil },
		"dir":  func(path string) error { return os.Mkdir(path, 0o755) },
		"file": func(path string) error { return os.WriteFile(path, []byte("hello\n"), 0o644) },
	}
	for name, replace := range become {
		path := f.file(name, "hello\n")
		info, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		b.files = append(b.files, file{path: path, rel: name, entry: fs.FileInfoToDirEntry(info)})
		if err := errors.Join(os.Remove(path), replace(path)); err != nil {
			t.Fatal(err)
		}
	}
	s := f.box.newSearch(f.dir)
	s.searchBatch(context.Background(), q, nil, b)
	if b.crash != nil || b.hits.files != 1 {
		t.Errorf("crash %v, %d files with a match, want 1", b.crash, b.hits.files)
	}
	for name := range become {
		if err := b.unreadable[filepath.Join(f.dir, name)]; (err != nil) != (name != "file") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := b.unreadable[filepath.Join(f.dir, "link")]; !errors.Is(err, syscall.ELOOP) {
		t.Errorf("the link ends with %v", err)
	}
}

// TestSearchesOfAnother runs the tests of what cannot be read as a user who is not root.
func TestSearchesOfAnother(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("the tests themselves run as such a user")
	}
	dir, err := os.MkdirTemp("/tmp", "another") // the parents of TempDir are closed to others
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	const nobody = 65534
	names := []string{"TestUnreadableDirectories", "TestSearchesThatAreIncomplete"}
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.v", "-test.run=^("+strings.Join(names, "|")+")$")
	cmd.Dir, cmd.Env = "/", []string{"HOME=" + dir, "TMPDIR=" + dir, "PATH=" + os.Getenv("PATH")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	for _, name := range names {
		if err != nil || !strings.Contains(string(out), fmt.Sprintf("--- PASS: %s ", name)) {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
	}
}
