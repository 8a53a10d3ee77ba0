package disk

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"flower/internal/failpoint"
)

// WriteFile replaces the content of path atomically and durably: a temporary
// file in the same directory is written, synced and renamed over it, then the
// directory is synced. On an error the old content is untouched.
//
// A new file gets mode less the umask; a file that exists keeps its permission
// bits and, where the system allows it, its owner, extended attributes and
// access control list. Through a symbolic link the
// file it names is replaced. A hard link to the old content keeps the old
// content. Anything but a regular file gives a [NotRegularError].
func WriteFile(path string, data []byte, mode fs.FileMode) error {
	if err := writeFile(path, data, mode); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

func writeFile(path string, data []byte, mode fs.FileMode) error {
	target, err := resolve(path)
	if err != nil {
		return err
	}
	old, err := os.Lstat(target)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		old = nil
	case err != nil:
		return err
	case !old.Mode().IsRegular():
		return &NotRegularError{Path: path, Mode: old.Mode()}
	}
	reach(target, "before")
	if old != nil {
		mode &= old.Mode() // at no time may more people read the new content than the old one
	}
	tmp, err := createTemp(filepath.Dir(target), mode.Perm())
	if err != nil {
		return err
	}
	if err := fill(tmp, data, target, old); err != nil {
		return errors.Join(err, os.Remove(tmp.Name()))
	}
	reach(target, "inside")
	if err := os.Rename(tmp.Name(), target); err != nil {
		return errors.Join(err, os.Remove(tmp.Name()))
	}
	reach(target, "after")
	return SyncDir(filepath.Dir(target))
}

// reach is a fail point of a file that is written or taken: its name and when.
func reach(path, when string) {
	if failpoint.On {
		failpoint.At(filepath.Base(path) + "." + when)
	}
}

// fill writes, syncs and closes tmp, and gives it what old, the file at target, had.
func fill(tmp *os.File, data []byte, target string, old fs.FileInfo) error {
	_, err := tmp.Write(data)
	if err == nil && old != nil {
		if st, ok := old.Sys().(*syscall.Stat_t); ok {
			// Best effort: only root may give a file away, and it should,
			// or a root flower would take the person's files from them.
			_ = tmp.Chown(int(st.Uid), int(st.Gid))
		}
		if err = tmp.Chmod(old.Mode().Perm()); err == nil {
			keepAttributes(tmp, target) // after chmod, which would change the list
		}
	}
	if err == nil {
		err = tmp.Sync()
	}
	return errors.Join(err, tmp.Close())
}

// createTemp makes a file with a fresh name in dir. Unlike os.CreateTemp it
// lets the kernel apply the umask to mode; unlike a name made from the
// target's, this one never becomes too long.
func createTemp(dir string, mode fs.FileMode) (*os.File, error) {
	for {
		name := filepath.Join(dir, ".flower-"+rand.Text()+".tmp")
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
}
