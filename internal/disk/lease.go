package disk

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"flower/internal/failpoint"
)

// MaxNote is how many bytes a lease's note may have. Note and padding fit into
// one page, which is written and read as one.
const MaxNote = 4095

// leaseTries bounds how often a lease is tried while others only look at it, or
// remove it, in the very moment; each try takes milliseconds.
const leaseTries = 200

// Lease is a lock that is held for as long as some work goes on, with a note
// that tells others who holds it. They read it without taking the lock. The
// file is removed when the lease is released; one that a dead process has left
// behind is free, whatever its note says.
type Lease struct {
	path string
	lock *flock.Flock
	file *os.File // the locked file, for the note
}

// TakeLease takes the lease at path, whose directory must exist. When another
// holder has it, in this process or another, the error is [ErrLocked]; any other
// error says that leases do not work there. A note that cannot be written, on a
// full disk for instance, is left out: keeping others away matters more.
func TakeLease(path string, note []byte) (*Lease, error) {
	for try := 1; ; try++ {
		lease, free, err := tryLease(path)
		if lease != nil {
			failpoint.At("lease.before")
			// First emptied, which works on a full disk too: what a dead holder
			// has written must not be taken for ours.
			if lease.file.Truncate(0) == nil {
				_ = lease.SetNote(note)
			}
			failpoint.At("lease.after")
			return lease, nil
		}
		if err == nil && (!free || try == leaseTries) {
			err = ErrLocked
		}
		if err != nil {
			return nil, fmt.Errorf("take lease %s: %w", path, err)
		}
		time.Sleep(firstWait/2 + rand.N(firstWait))
	}
}

// leaseFlags keep a pipe of this name from blocking, and a link from making us
// write into what it leads to.
const leaseFlags = syscall.O_NONBLOCK | syscall.O_NOFOLLOW

// tryLease tries once. free says of no lease and no error that nobody holds it
// either: it was only looked at, or removed, at this moment.
func tryLease(path string) (lease *Lease, free bool, err error) {
	lock := flock.New(path, flock.SetPermissions(PrivateMode), flock.SetFlag(os.O_CREATE|os.O_RDONLY|leaseFlags))
	ok, err := lock.TryLock()
	if err != nil {
		return nil, false, err
	}
	if !ok {
		held, err := isHeld(path)
		return nil, !held, err
	}
	// Not through the lock's own descriptor, which cannot write.
	file, err := os.OpenFile(path, os.O_WRONLY|leaseFlags, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, true, lock.Unlock()
	}
	if err != nil {
		return nil, false, errors.Join(err, lock.Unlock())
	}
	lease = &Lease{path: path, lock: lock, file: file}
	opened, err := file.Stat()
	if err == nil && !opened.Mode().IsRegular() {
		err = &NotRegularError{Path: path, Mode: opened.Mode()}
	}
	locked, statErr := lock.Stat()
	if err = errors.Join(err, statErr); err != nil {
		return nil, false, errors.Join(err, lease.drop())
	}
	// The one before may have removed the file between our opening it and our
	// locking it: then it is the new one of this name that counts.
	if !os.SameFile(opened, locked) || lease.Lost() {
		return nil, true, lease.drop()
	}
	return lease, false, nil
}

// isHeld says whether somebody holds the lease: a shared lock is refused only
// then. For the moment it takes, the lease cannot be taken.
func isHeld(path string) (bool, error) {
	lock := flock.New(path, flock.SetFlag(os.O_RDONLY|leaseFlags))
	ok, err := lock.TryRLock()
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return false, nil
	case err != nil:
		return false, err
	case ok:
		return false, lock.Unlock()
	}
	return true, nil
}

// SetNote replaces the note. A reader sees the old or the new one.
func (l *Lease) SetNote(note []byte) error {
	if len(note) > MaxNote {
		return fmt.Errorf("write note of %s: %d bytes are too many", l.path, len(note))
	}
	// One write of always the same length, in place: another file under this
	// name would be another lock.
	page := append(bytes.Repeat([]byte(" "), MaxNote), '\n')
	copy(page, note)
	if _, err := l.file.WriteAt(page, 0); err != nil {
		return fmt.Errorf("write note: %w", err)
	}
	return nil
}

// Lost says that the lease's file was removed or replaced, so that it keeps
// nobody out any more. It costs two calls of stat.
func (l *Lease) Lost() bool {
	there, err := os.Lstat(l.path)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
	}
	ours, err := l.file.Stat()
	return err != nil || !os.SameFile(ours, there)
}

// Release frees the lease and removes its file.
func (l *Lease) Release() error {
	var err error
	if !l.Lost() {
		err = os.Remove(l.path) // while it is locked: nobody else holds this one
	}
	failpoint.At("lease.released")
	if err = errors.Join(err, l.drop()); err != nil {
		return fmt.Errorf("release lease: %w", err)
	}
	return nil
}

func (l *Lease) drop() error { return errors.Join(l.file.Close(), l.lock.Unlock()) }

// PeekLease says whether somebody holds the lease at path, and returns the note,
// which is empty for a moment after the lease was taken. It writes nothing and
// makes no file.
func PeekLease(path string) (note []byte, held bool, err error) {
	if held, err = isHeld(path); err != nil || !held {
		return nil, false, err
	}
	note, err = ReadRegular(path, MaxNote+1)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil // released in between
	}
	return bytes.TrimRight(note, " \n"), true, err
}
