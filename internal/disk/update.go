package disk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
)

// MaxDocument is the largest document, in bytes, that UpdateJSON reads: far
// more than years of manifest rows, far less than memory.
const MaxDocument = 64 << 20

// UpdateJSON changes the JSON document at path by read, merge and write under
// the lock "<dir>/.<name>.lock", so that no concurrent update is lost. The
// directory is made (0700) when missing; the document gets mode 0600.
//
// update receives the present content, nil when there is no file, and returns
// the new one; nil leaves the file as it is. It runs with the lock held: it
// must be quick and must not call UpdateJSON on the same path. What it makes
// of content it cannot parse is its decision; [Quarantine] is safe to call
// there. That it makes JSON is its duty.
//
// ctx bounds the wait for the lock.
func UpdateJSON(ctx context.Context, path string, update func(old []byte) ([]byte, error)) (err error) {
	if err := PrivateDir(filepath.Dir(path)); err != nil {
		return fmt.Errorf("update %s: %w", path, err)
	}
	target, err := resolve(path) // two names of one file must share one lock
	if err != nil {
		return fmt.Errorf("update %s: %w", path, err)
	}
	lock, err := AcquireLock(ctx, lockPath(target))
	if err != nil {
		return fmt.Errorf("update %s: %w", path, err)
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()

	old, err := ReadRegular(target, MaxDocument)
	if errors.Is(err, fs.ErrNotExist) {
		old, err = nil, nil
	}
	if err != nil {
		return fmt.Errorf("update document: %w", err)
	}
	data, err := update(old)
	if err != nil {
		return fmt.Errorf("update %s: %w", path, err)
	}
	if data == nil {
		return nil
	}
	return WriteFile(target, data, PrivateMode)
}

func lockPath(path string) string {
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".lock")
}
