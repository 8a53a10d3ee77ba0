package flower

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"flower/internal/disk"
)

// bookWait bounds the wait for another process that writes the same book, as long as the book does not change meanwhile. A
// write needs milliseconds; a process that hangs with the lock must not hold up a run, and least of all a signal handler.
// When many processes write, each in its turn, it is waited bookTries times as long.
const (
	bookWait  = 5 * time.Second
	bookTries = 12
)

// maxBook bounds what is read of lineage and manifest; a larger file is not ours.
const maxBook = disk.MaxDocument

// errUnusable says that a book's content is not what it must be.
var errUnusable = errors.New("not usable")

// updateBook changes lineage or manifest by read, change and write under the book's lock. What cannot be used is renamed
// beside itself, and kept says where: content that change calls errUnusable, and whatever is there that is no
// readable file. change is then called with nothing to start from.
func updateBook(
	ctx context.Context, path string, now time.Time, change func(old []byte) ([]byte, error),
) (kept string, err error) {
	update := func() error {
		return inTurn(ctx, path, func(ctx context.Context) error {
			return disk.UpdateJSON(ctx, path, func(old []byte) ([]byte, error) {
				data, err := change(old)
				if !errors.Is(err, errUnusable) {
					return data, err
				}
				if kept, err = disk.Quarantine(realPath(path), now); err != nil {
					return nil, err
				}
				return change(nil)
			})
		})
	}
	if err = update(); err == nil || readable(path) {
		return kept, err
	}
	var aside string
	asideErr := inTurn(ctx, path, func(ctx context.Context) (err error) {
		aside, err = putAside(ctx, path, now)
		return err
	})
	if asideErr != nil {
		return kept, errors.Join(err, asideErr)
	}
	if aside != "" {
		kept = aside
	}
	return kept, update()
}

// inTurn runs f, which waits for the lock of the book at path until its context ends, and waits on while others are seen to
// write.
func inTurn(ctx context.Context, path string, f func(context.Context) error) error {
	for try := 1; ; try++ {
		before, _ := os.Stat(path) // one that is not there is as good as any other state
		err := within(ctx, bookWait, f)
		after, _ := os.Stat(path)
		if !errors.Is(err, disk.ErrLocked) || ctx.Err() != nil || try == bookTries || unchanged(before, after) {
			return err
		}
	}
}

func within(ctx context.Context, d time.Duration, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	return f(ctx)
}

// unchanged says whether two looks at a name saw the same file in the same state.
func unchanged(before, after fs.FileInfo) bool {
	if before == nil || after == nil {
		return before == after
	}
	return os.SameFile(before, after) && before.ModTime().Equal(after.ModTime())
}

// putAside moves a book away that is no readable file. Another process may have done so at the same moment: what it has
// written since stays.
func putAside(ctx context.Context, path string, now time.Time) (kept string, err error) {
	target := realPath(path)
	lock, err := disk.AcquireLock(ctx, filepath.Join(filepath.Dir(target), "."+filepath.Base(target)+".lock")) // UpdateJSON's
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	if readable(path) {
		return "", nil
	}
	return disk.Quarantine(target, now)
}

// readable says whether a book can be read or is simply not there.
func readable(path string) bool {
	_, err := disk.ReadRegular(path, maxBook)
	return err == nil || absent(err)
}

// absent says of an error of reading that nothing is there to read: no file, or no directory that could hold one.
func absent(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) }

// realPath is where a symbolic link leads, so that it is the content that moves and not the link to it. Both names of a
// link that leads nowhere are as good.
func realPath(path string) string {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		return target
	}
	return path
}
