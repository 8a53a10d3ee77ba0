package worktree

import (
	"os"
	"strings"
	"syscall"
	"testing"
)

// TestFullDisk: a tree for which there is no room is an error that leaves nothing, and work stays when the disk is full.
func TestFullDisk(t *testing.T) {
	r := newRepo(t)
	big := strings.Repeat("0123456789abcde\n", 1<<17) // 2 MiB, in the checkout
	r.write("p/big.txt", big)
	r.git(r.dir, "add", ".")
	r.git(r.dir, "commit", "-q", "-m", "big")
	before := r.state()
	dir := r.set.opts.Dir
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	mountSmall(t, dir, "size=5m")
	one := r.make("a1", "One")
	r.write(one.Path+"/work.txt", "work")
	two := r.make("a2", "Two")
	if tree, err := r.set.Open(t.Context(), "a3", "Three"); err == nil {
		t.Fatalf("there was room for %+v", tree)
	}
	if got := r.git(r.dir, "branch", "--list", "flower/*"); strings.Contains(got, "three") {
		t.Errorf("branches %q", got)
	}
	fill, err := os.Create(dir + "/fill")
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = fill.WriteString(big)
	}
	_ = fill.Close()
	left, err := r.set.Leave(t.Context(), "a1")
	if left.Removed {
		t.Errorf("left %+v, %v", left, err)
	}
	if text, err := os.ReadFile(one.Path + "/work.txt"); err != nil || string(text) != "work" {
		t.Errorf("the work is %q, %v", text, err)
	}
	if list, err := r.set.List(t.Context()); err != nil || len(list) != 2 {
		t.Errorf("list %+v, %v", list, err)
	}
	if err := os.Remove(dir + "/fill"); err != nil {
		t.Fatal(err)
	}
	if left, err := r.set.Leave(t.Context(), two.ID); err != nil || !left.Removed {
		t.Errorf("idle: left %+v, %v", left, err)
	}
	if tree := r.make("a3", "Three"); r.git(tree.Path, "status", "--porcelain") != "" {
		t.Error("the new tree is not complete")
	}
	if after := r.state(); after != before {
		t.Errorf("the checkout was\n%s\nand is\n%s", before, after)
	}
}

// mountSmall makes dir a small file system.
func mountSmall(t *testing.T, dir, options string) {
	t.Helper()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, options); err != nil {
		t.Skipf("no file system can be mounted here: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
}
