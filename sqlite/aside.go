package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"flower/internal/disk"
	"flower/internal/failpoint"
)

// besides are the endings of the files that SQLite keeps beside a database.
var besides = []string{"-wal", "-shm", "-journal"}

// lockName is the file whose lock is held while a database is put aside or copied.
func lockName(path string) string {
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".lock")
}

// PutAside renames what is at path and cannot be used to "<name>.bad-<YYYYmmdd-HHMMSS>" and returns the new path. The
// write-ahead log and its index go with it, so that what can be saved still can be. It looks again under a lock: "" says
// that the file can be used by now, because another process was first. A log without a database goes alone, to
// "<name>-wal.bad-<YYYYmmdd-HHMMSS>". A healthy database of another program is not moved
// (ErrForeign), nor one of a newer flower (ErrNewer).
//
// No process may have the file open.
func PutAside(ctx context.Context, path string, now time.Time) (kept string, err error) {
	lock, err := disk.AcquireLock(ctx, lockName(path))
	if err != nil {
		return "", fmt.Errorf("put store aside: %w", err)
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	driverSettings()
	// What lies beside the database and is no file keeps it from being opened, whatever is in it.
	for _, ending := range besides {
		if info, err := os.Lstat(path + ending); err == nil && !info.Mode().IsRegular() {
			if kept, err = disk.Quarantine(path+ending, now); err != nil {
				return "", fmt.Errorf("put store aside: %w", err)
			}
		}
	}
	switch err := examine(ctx, path); {
	case err == nil:
		return kept, nil
	case !errors.Is(err, ErrNotDatabase) || errors.Is(err, ErrForeign):
		return "", fmt.Errorf("put store aside: %w", err)
	}
	if !disk.Exists(path) { // a process that was killed right below has left the log
		if kept, err = disk.Quarantine(path+"-wal", now); err != nil {
			return "", fmt.Errorf("put store aside: %w", err)
		}
		return kept, nil
	}
	if kept, err = disk.Quarantine(path, now); err != nil {
		return "", fmt.Errorf("put store aside: %w", err)
	}
	failpoint.At("aside.inside")
	if err := unmark(path); err != nil {
		return "", fmt.Errorf("put store aside: %w", err)
	}
	for _, ending := range besides {
		if err := os.Rename(path+ending, kept+ending); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("put store aside: %w", err)
		}
	}
	return kept, nil
}

// examine says why the file at path cannot be used; one that is missing or empty can.
func examine(ctx context.Context, path string) error {
	if err := checkFile(path); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	_, _, err := inspect(ctx, path)
	return err
}

// checkFile looks at a file and what lies beside it before SQLite does.
func checkFile(path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, syscall.ELOOP) {
		return fmt.Errorf("%w: %w", ErrNotDatabase, err)
	}
	if errors.Is(err, fs.ErrNotExist) && logged(path) {
		return fmt.Errorf("%w: it is missing, and its log is not", ErrNotDatabase)
	}
	if err != nil {
		return err
	}
	for _, ending := range besides {
		if beside, err := os.Lstat(path + ending); err == nil && !beside.Mode().IsRegular() {
			return fmt.Errorf("%w: %w", ErrNotDatabase, &disk.NotRegularError{Path: path + ending, Mode: beside.Mode()})
		}
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%w: %w", ErrNotDatabase, &disk.NotRegularError{Path: path, Mode: info.Mode()})
	}
	return checkStart(path, info.Size())
}

const (
	magic     = "SQLite format 3\x00" // how every database begins
	leastPage = 512                   // bytes: no database is shorter
)

// logged says that there is something in the write-ahead log beside path. SQLite deletes it beside a new database.
func logged(path string) bool {
	log, err := os.Stat(path + "-wal")
	return err == nil && log.Mode().IsRegular() && log.Size() > 0
}

// checkStart refuses what SQLite would take for a new database, deleting the log beside it.
func checkStart(path string, size int64) error {
	if size == 0 {
		if logged(path) {
			return fmt.Errorf("%w: it is empty, and its log is not", ErrNotDatabase)
		}
		return nil
	}
	if runtime.GOOS != "linux" && size >= leastPage {
		return nil // there closing the file would drop the locks that SQLite has on it
	}
	f, _, err := disk.OpenRegular(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // only read from
	begin := make([]byte, len(magic))
	_, err = io.ReadFull(f, begin)
	switch {
	case err == nil && string(begin) == magic:
		return nil
	case err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
		return err
	}
	return fmt.Errorf("%w: it does not begin like one", ErrNotDatabase)
}

// copyBefore copies the database at path to "<name>.before-<what>-<YYYYmmdd-HHMMSS>" and returns the copy's path. The copy
// is complete, without files beside it, and durable; on an error there is none. The caller holds the lock of lockName.
func copyBefore(ctx context.Context, path, what string, now time.Time) (kept string, err error) {
	db, err := connect(ctx, dsn(path, "mode=rw&_dqs=0&_busy_timeout=20"), 1)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	failpoint.At("copy.before")
	defer failpoint.At("copy.after")
	part := path + ".part"
	if err := os.Remove(part); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err // of one that was cut
	}
	f, err := os.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, disk.PrivateMode)
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(part)
		}
	}()
	err = retry(ctx, func() error {
		_, err := db.ExecContext(ctx, `VACUUM INTO ?`, part) // it takes an empty file, and keeps its mode
		return err
	})
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return "", err
	}
	failpoint.At("copy.inside")
	base := path + ".before-" + what + "-" + now.Format(disk.StampLayout)
	kept = base
	for n := 2; disk.Exists(kept); n++ { // nobody else makes such names: the lock is held
		kept = fmt.Sprintf("%s-%d", base, n)
	}
	if err := os.Rename(part, kept); err != nil {
		return "", err
	}
	return kept, disk.SyncDir(filepath.Dir(path))
}

// keepOld copies a database that is about to get another schema, unless there is such a copy: a process that died between
// the copy and the change leaves one.
func (s *Store) keepOld(ctx context.Context, path string) (err error) {
	lock, err := disk.AcquireLock(ctx, lockName(path))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	version, tables, err := inspect(ctx, path)
	if err != nil || version == len(migrations) || tables == 0 {
		return err
	}
	what := fmt.Sprint(len(migrations))
	names, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return err
	}
	for _, e := range names {
		if strings.HasPrefix(e.Name(), filepath.Base(path)+".before-"+what+"-") {
			return nil
		}
	}
	s.copied, err = copyBefore(ctx, path, what, s.now())
	return err
}

// Copied is where the copy is that Open has made of a database of another program, or of an older flower, before it changed
// the schema; "" if it has made none.
func (s *Store) Copied() string { return s.copied }

// checkMost is the size in bytes up to which a database is read as a whole when it is opened: some milliseconds. Of a larger
// one damage shows when it is met (ErrDamaged).
const checkMost = 16 << 20

// checkWhole finds damage that the schema does not show.
func checkWhole(ctx context.Context, db querier, path string) error {
	log, logErr := os.Stat(path + "-wal") // first: what is in the log may be on its way into the file
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	var page int64
	if err := db.QueryRowContext(ctx, `PRAGMA page_size`).Scan(&page); err != nil {
		return err
	}
	if (logErr != nil || log.Size() == 0) && info.Size()%page != 0 {
		return fmt.Errorf("%w: its last page is cut", ErrNotDatabase)
	}
	if info.Size() > checkMost && !marked(path) {
		return nil
	}
	var said string
	if err := db.QueryRowContext(ctx, `PRAGMA quick_check(1)`).Scan(&said); err != nil {
		return err
	}
	if said != "ok" {
		return fmt.Errorf("%w: %s", ErrNotDatabase, said)
	}
	return nil
}
