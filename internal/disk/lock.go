package disk

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"syscall"
	"time"

	"github.com/gofrs/flock"
)

// ErrLocked says that another process or goroutine holds the lock.
var ErrLocked = errors.New("locked by another process")

// Lock is an exclusive advisory lock on a file. The kernel frees it when the
// process dies; the file stays, because removing it would let two holders lock
// two files of the same name.
type Lock struct{ file *flock.Flock }

// Waits between attempts grow from the first to the second figure. A lock is
// held for one small file's write, a few milliseconds; flock has no queue, so
// the jitter is what keeps waiters from starving each other.
const (
	firstWait = time.Millisecond
	maxWait   = 20 * time.Millisecond
)

// TryLock takes the lock on path, creating the file with mode 0600. When it is
// held, by this process or another, the error is [ErrLocked].
func TryLock(path string) (*Lock, error) {
	// Non-blocking, so that a pipe of this name is an error and not a hang.
	file := flock.New(path, flock.SetPermissions(PrivateMode),
		flock.SetFlag(os.O_CREATE|os.O_RDONLY|syscall.O_NONBLOCK))
	ok, err := file.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	if !ok {
		return nil, fmt.Errorf("lock %s: %w", path, ErrLocked)
	}
	return &Lock{file: file}, nil
}

// AcquireLock is TryLock that waits while the lock is held, until ctx is done;
// then the error is both [ErrLocked] and the context's. A lock that is free is
// taken whatever ctx says: ctx bounds the wait, nothing else.
func AcquireLock(ctx context.Context, path string) (*Lock, error) {
	wait := firstWait
	for {
		lock, err := TryLock(path)
		if !errors.Is(err, ErrLocked) {
			return lock, err
		}
		timer := time.NewTimer(wait/2 + rand.N(wait))
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil, fmt.Errorf("%w: %w", err, ctx.Err())
		case <-timer.C:
		}
		wait = min(2*wait, maxWait)
	}
}

// Unlock frees the lock. A second call does nothing.
func (l *Lock) Unlock() error {
	if err := l.file.Unlock(); err != nil {
		return fmt.Errorf("unlock %s: %w", l.file.Path(), err)
	}
	return nil
}
