package sqlite

import (
	"errors"
	"fmt"
	"path/filepath"

	"flower/agent"
	"flower/internal/disk"

	lib "modernc.org/sqlite/lib"
)

// noRoom gives an error of a write its type, agent.ErrNoSpace, if it is about room. SQLite says so itself of a full disk.
// Of a used-up quota, of a file that has reached the largest size allowed, and of a file beside the database that cannot
// grow it says only that a write failed, as of a broken disk: whether it was that is tried out.
func noRoom(path string, err error) error {
	switch {
	case err == nil || agent.NoSpace(err):
		return err
	case resultCode(err) == lib.SQLITE_FULL:
	case resultCode(err) == lib.SQLITE_IOERR || resultCode(err) == lib.SQLITE_CANTOPEN:
		why := disk.Probe(filepath.Dir(path), disk.Size(path, path+"-wal", path+"-shm"))
		if !agent.NoSpace(why) {
			return err
		}
		err = errors.Join(err, why)
	default:
		return err
	}
	return fmt.Errorf("%w: %w", agent.ErrNoSpace, err)
}
