// Package disk holds the few file operations on which continuing after a
// crash depends.
//
// Terms: an atomic write is one that a reader, or a crash at any instant, sees
// either not at all or in full. A lock is an advisory lock that the kernel
// frees when its holder dies, so there are no stale locks to clear. To
// quarantine a file is to rename it beside itself, so that it is neither used
// nor lost.
//
// Trust model: paths come from flower or from the person and are trusted; what
// is found under them is not. A directory, pipe or device in place of a file
// is refused instead of being blocked on, and symbolic links are followed so
// that the file they name is written, not the link. Whoever can write to the
// directory itself can do worse than this package could prevent.
//
// All functions are safe for concurrent use by goroutines and processes.
package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// PrivateMode is the permission of files that belong to flower rather than to
// the workspace: they may hold conversations and credentials.
const PrivateMode fs.FileMode = 0o600

// NotRegularError says that something other than a regular file is where a
// file was expected.
type NotRegularError struct {
	Path string
	Mode fs.FileMode // type bits of what is there
}

func (e *NotRegularError) Error() string {
	return fmt.Sprintf("%s is %s, not a regular file", e.Path, kind(e.Mode))
}

func kind(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "a directory"
	case m&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case m&fs.ModeSocket != 0:
		return "a socket"
	case m&fs.ModeDevice != 0:
		return "a device"
	}
	return "something special"
}

// TooLargeError says that a file is larger than the reader allows.
type TooLargeError struct {
	Path string
	Size int64 // bytes; at least this many
	Max  int64 // bytes allowed
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("%s has %d bytes, more than the %d allowed", e.Path, e.Size, e.Max)
}

// PrivateDir makes the directory path and its missing parents with mode 0700
// and makes their names durable. A directory that exists is left as it is.
func PrivateDir(path string) error { return makeDir(path, 0o700) }

// SharedDir is PrivateDir for directories that belong to the workspace: their
// mode follows the umask.
func SharedDir(path string) error { return makeDir(path, 0o777) }

func makeDir(path string, mode fs.FileMode) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil
	}
	// A new name is durable once the directory that holds it is, so every
	// directory from the first existing one down to the parent is synced.
	var holders []string
	for dir := filepath.Dir(filepath.Clean(path)); ; dir = filepath.Dir(dir) {
		holders = append(holders, dir)
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			break
		}
	}
	if err := os.MkdirAll(path, mode); err != nil {
		return fmt.Errorf("make directory: %w", err)
	}
	for _, dir := range holders {
		if err := SyncDir(dir); err != nil {
			return fmt.Errorf("make directory %s: %w", path, err)
		}
	}
	return nil
}

// SyncDir makes renames and new names in dir durable.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if errors.Is(err, fs.ErrPermission) {
		return nil // writable but not readable: nothing more can be promised
	}
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	// Some file systems have no fsync for directories and say so in one of
	// these ways; there a rename is as durable as it gets.
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		return nil
	}
	return err
}

// resolve follows symbolic links to the name where the file is or would be,
// so that a link whose target is missing still names a place to write to. The
// directory must exist.
func resolve(path string) (string, error) {
	const maxLinks = 40 // what Linux allows on one path
	for range maxLinks {
		dir, err := filepath.EvalSymlinks(filepath.Dir(path))
		if err != nil {
			return "", err
		}
		path = filepath.Join(dir, filepath.Base(path))
		info, err := os.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			return path, nil
		}
		if err != nil {
			return "", err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			return path, nil
		}
		target, err := os.Readlink(path)
		if err != nil {
			return "", err
		}
		if !filepath.IsAbs(target) {
			// Not Join: it would fold "link/.." before the link is followed.
			target = dir + string(filepath.Separator) + target
		}
		path = target
	}
	return "", &fs.PathError{Op: "resolve", Path: path, Err: syscall.ELOOP}
}

// Exists reports whether there is something at path, be it a dangling link. A
// path that cannot be looked at counts as existing: whoever asks is about to
// create something, or will meet the error when using it.
func Exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
