package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"flower/internal/disk"

	lib "modernc.org/sqlite/lib"
)

// ErrDamaged says that damage was met while the store was in use. A large store is not read as a whole when it is opened,
// so damage deep in it shows only there. The file is left as it is and marked: the next Open reads all of it, and
// says ErrNotDatabase if it cannot be used.
var ErrDamaged = errors.New("the store is damaged")

// markName is the file that says that a store is to be read as a whole before it is used again.
func markName(path string) string {
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".damaged")
}

// read runs f, which only reads, until the database is not locked.
func (s *Store) read(ctx context.Context, f func() error) error { return s.damaged(retry(ctx, f)) }

// damaged gives SQLite's word for damage its type, and marks the store.
func (s *Store) damaged(err error) error {
	if code := resultCode(err); code != lib.SQLITE_CORRUPT && code != lib.SQLITE_NOTADB {
		return err
	}
	// On a disk that cannot be written the damage is met again.
	_ = disk.WriteFile(markName(s.path), []byte(err.Error()+"\n"), disk.PrivateMode)
	return fmt.Errorf("%w: %w", ErrDamaged, err)
}

// marked says whether damage was met in a store.
func marked(path string) bool { return disk.Exists(markName(path)) }

// unmark is called when a store was found to be whole, or is not there any more.
func unmark(path string) error {
	if err := os.Remove(markName(path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
