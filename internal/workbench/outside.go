package workbench

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"flower/internal/disk"
)

// Outside says that the bench is not in the workspace.
func (b *Bench) Outside() bool { return b.dir == OutsideDir(b.workspace) }

// Places are the directories that agents may write in.
func (b *Bench) Places() []string { return []string{b.Scripts(), b.Artifacts(), b.SpillDir()} }

// MoveOut makes the bench of a workspace outside of it, if it is not there yet, and returns it. What is in the workspace
// is copied, spilled results left out, and stays where it is: it may be part of the repository. From then on Open
// returns the bench outside. Either all of it is there afterwards or nothing.
func MoveOut(workspace string) (*Bench, error) {
	b := OpenAt(workspace, OutsideDir(workspace))
	if ours(b.Notes()) {
		return b, b.Create()
	}
	if disk.Exists(b.dir) {
		return nil, fmt.Errorf("move workbench: %s is there and is no workbench of this user", b.dir)
	}
	draft := OpenAt(workspace, b.dir+".new")
	if err := draft.fillFrom(OpenAt(workspace, filepath.Join(workspace, dirName))); err != nil {
		return nil, fmt.Errorf("move workbench: %w", err)
	}
	if err := os.Rename(draft.dir, b.dir); err != nil {
		return nil, fmt.Errorf("move workbench: %w", err)
	}
	return b, disk.SyncDir(filepath.Dir(b.dir))
}

// fillFrom makes the bench anew, with what is on another one.
func (b *Bench) fillFrom(old *Bench) error {
	if err := os.RemoveAll(b.dir); err != nil {
		return err
	}
	for _, pair := range [][2]string{{old.Scripts(), b.Scripts()}, {old.Artifacts(), b.Artifacts()}, {old.Notes(), b.Notes()}} {
		if there, err := isDir(pair[0]); err != nil {
			return err
		} else if !there {
			continue
		}
		if err := os.CopyFS(pair[1], os.DirFS(pair[0])); err != nil {
			return err
		}
	}
	return b.Create()
}

func isDir(path string) (bool, error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && info.IsDir(), err
}

// ours says that there is a directory that belongs to this user: its parent may be one in which others write, too.
func ours(dir string) bool {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() {
		return false
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(owner.Uid) == os.Geteuid()
}
