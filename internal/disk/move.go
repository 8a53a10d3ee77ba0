package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"flower/internal/failpoint"
)

// StampLayout is the time.Format layout of times in file names:
// YYYYmmdd-HHMMSS.
const StampLayout = "20060102-150405"

// Quarantine renames what is at path to "<name>.bad-<YYYYmmdd-HHMMSS>", in
// now's time zone, and returns the new path. An earlier one of the same second
// is never overwritten: -2, -3 … is added.
func Quarantine(path string, now time.Time) (kept string, err error) {
	base := path + ".bad-" + now.Format(StampLayout)
	const most = 1000 // in one second; more is a loop somewhere
	err = fs.ErrExist
	for n := 1; n <= most && errors.Is(err, fs.ErrExist); n++ {
		kept = base
		if n > 1 {
			kept = fmt.Sprintf("%s-%d", base, n)
		}
		err = renameNew(path, kept)
	}
	if err != nil {
		return "", fmt.Errorf("move aside: %w", err)
	}
	return kept, SyncDir(filepath.Dir(path))
}

// Move is one rename of a [MoveAll].
type Move struct {
	From string
	To   string // must not exist; its directory must
}

// MoveAll renames all or nothing: when a move cannot be made, those already
// made are undone and the error is returned, joined with any error of the
// undoing. Regular files may go to another file system. A source that does not
// exist is an error, and so is a target that does.
func MoveAll(moves []Move) error {
	var undo []func() error
	fail := func(err error) error {
		for i := len(undo) - 1; i >= 0; i-- {
			if e := undo[i](); e != nil {
				err = errors.Join(err, fmt.Errorf("undo move: %w", e))
			}
		}
		return err
	}
	var copied []Move
	failpoint.At("move.before")
	defer failpoint.At("move.after")
	for _, m := range moves {
		err := renameNew(m.From, m.To)
		failpoint.At("move.inside")
		if err == nil {
			undo = append(undo, func() error { return renameNew(m.To, m.From) })
			continue
		}
		if errors.Is(err, syscall.EXDEV) {
			if err = copyNew(m.From, m.To); err == nil {
				copied = append(copied, m)
				undo = append(undo, func() error { return os.Remove(m.To) })
				continue
			}
		}
		return fail(fmt.Errorf("move %s: %w", filepath.Base(m.From), err))
	}
	// Sources of copies go last, when nothing but this can fail any more.
	for _, m := range copied {
		if err := os.Remove(m.From); err != nil {
			return fail(fmt.Errorf("move %s: %w", filepath.Base(m.From), err))
		}
		undo = append(undo, func() error { return copyNew(m.To, m.From) })
	}
	return syncMoves(moves)
}

func syncMoves(moves []Move) error {
	seen := map[string]bool{}
	for _, m := range moves {
		for _, dir := range []string{filepath.Dir(m.To), filepath.Dir(m.From)} {
			if seen[dir] {
				continue
			}
			seen[dir] = true
			if err := SyncDir(dir); err != nil {
				return fmt.Errorf("sync moved files: %w", err)
			}
		}
	}
	return nil
}

// renameNew is a rename that never replaces anything: it first takes the new
// name with an empty placeholder, then renames over that.
func renameNew(from, to string) error {
	info, err := os.Lstat(from)
	if err != nil {
		return err
	}
	if info.IsDir() {
		err = os.Mkdir(to, 0o700)
	} else {
		var f *os.File
		if f, err = os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, PrivateMode); err == nil {
			err = f.Close()
		}
	}
	if err != nil {
		return err
	}
	// Not os.Rename: that refuses an existing directory, even an empty one.
	if err := syscall.Rename(from, to); err != nil {
		err = &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
		return errors.Join(err, os.Remove(to))
	}
	return nil
}

// copyNew copies a regular file, with its permissions, to a name that must be
// free.
func copyNew(from, to string) error {
	if _, err := os.Lstat(to); err == nil {
		return &fs.PathError{Op: "copy", Path: to, Err: fs.ErrExist}
	}
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	data, err := ReadRegular(from, 0)
	if err != nil {
		return err
	}
	if err := WriteFile(to, data, info.Mode()); err != nil {
		return err
	}
	return os.Chmod(to, info.Mode().Perm())
}
