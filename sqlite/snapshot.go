package sqlite

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"

	"flower/internal/disk"

	"modernc.org/sqlite/vfs"
)

const (
	// tick is how long a file system may take to give a change another time than the change before: the clock of a kernel
	// that counts 100 ticks a second, twice.
	tick = 20 * time.Millisecond

	snapshotName = "sessions.db" // of the database inside a snapshot

	// Of the database's header: the versions of format for writing and for reading, the size of a page.
	versionsAt, versionsEnd = 18, 20
	pageSizeAt              = 16
	headerSize              = 100
)

// snapshot is one state of a database, read without SQLite's own access to the files, which would make files beside it
// and take locks. SQLite is shown a single file instead: the database with the pages of its write-ahead log laid over.
//
// Nothing keeps a writer from changing the database meanwhile. A change matters only if it reaches the database file
// itself, because the log only grows; so a snapshot is good as long as that file has the size and time it had, and the
// log the same beginning. Whoever has read asks moved before it believes what it has read.
type snapshot struct {
	path string
	main *os.File
	info fs.FileInfo // of main when the snapshot was taken
	log  *wal        // nil: none
	tail fs.FileInfo // of the log, nil: none
	page int64
	size int64

	fs      *vfs.FS
	db      *sql.DB
	version int  // of the schema
	empty   bool // there is no table of entries
}

// takeSnapshot returns nil if there is no database. Its errors are errMoved, ErrNotDatabase, ErrNewer or those of the
// file system.
func takeSnapshot(ctx context.Context, path string) (_ *snapshot, err error) {
	s := &snapshot{path: path}
	s.main, s.info, err = disk.OpenRegular(path)
	var irregular *disk.NotRegularError
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return nil, nil
	case errors.As(err, &irregular):
		return nil, fmt.Errorf("%w: %w", ErrNotDatabase, err)
	case err != nil:
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	if s.info.Size() == 0 {
		return nil, s.close() // SQLite takes an empty file for a new database, whatever lies beside it
	}
	if time.Since(s.info.ModTime()).Abs() < tick {
		return nil, errMoved // another change would not be noticed
	}
	if s.journal() {
		return nil, errMoved
	}
	if err := s.readLog(); err != nil {
		return nil, err
	}
	if err := s.open(ctx); err != nil {
		if s.moved() {
			return nil, errMoved
		}
		return nil, refuse(err)
	}
	return s, nil
}

// journal says whether a transaction of the older kind is under way, or was cut: the database holds a part of it then,
// and the journal what was there before.
func (s *snapshot) journal() bool {
	f, err := os.Open(s.path + "-journal")
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }() // only read from
	var magic [8]byte
	n, _ := io.ReadFull(f, magic[:])
	return n == len(magic) && magic != [8]byte{}
}

// readLog opens the write-ahead log, and says how big the database is with it.
func (s *snapshot) readLog() error {
	var header [headerSize]byte
	if _, err := s.main.ReadAt(header[:], 0); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	s.size = s.info.Size()
	s.page = int64(binary.BigEndian.Uint16(header[pageSizeAt:]))
	if s.page == 1 {
		s.page = maxPage
	}
	f, info, err := disk.OpenRegular(s.path + "-wal")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	s.tail = info
	if s.log, err = scanWAL(f); err != nil {
		return errors.Join(err, f.Close())
	}
	if s.log.count == 0 {
		return nil
	}
	if s.page != int64(s.log.page) {
		return fmt.Errorf("%w: its write-ahead log is of another database", ErrNotDatabase)
	}
	s.size = int64(s.log.count) * s.page
	return nil
}

func (s *snapshot) open(ctx context.Context) error {
	driverSettings()
	name, fsys, err := vfs.New(s)
	if err != nil {
		return err
	}
	s.fs = fsys
	s.db, err = connect(ctx, "file:"+snapshotName+"?mode=ro&immutable=1&_dqs=0&_query_only=1&vfs="+name, 1)
	if err != nil {
		return err
	}
	if s.version, err = readSchema(ctx, s.db); err != nil {
		return err
	}
	if s.version > len(migrations) {
		return fmt.Errorf("%w: version %d, this one knows %d", ErrNewer, s.version, len(migrations))
	}
	return s.db.QueryRowContext(ctx, `SELECT NOT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'entries')`).Scan(&s.empty)
}

// moved says that what was read may be of more than one state.
func (s *snapshot) moved() bool {
	now, err := os.Stat(s.path)
	if err != nil || !sameState(now, s.info) || s.journal() {
		return true
	}
	return s.log != nil && s.log.restarted()
}

// fresh says that the snapshot is still the newest state.
func (s *snapshot) fresh() bool {
	tail, err := os.Stat(s.path + "-wal")
	if err != nil {
		tail = nil
	}
	return sameState(tail, s.tail) && !s.moved()
}

func sameState(a, b fs.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

func (s *snapshot) close() error {
	var errs []error
	if s.db != nil {
		errs = append(errs, s.db.Close())
	}
	if s.fs != nil {
		errs = append(errs, s.fs.Close())
	}
	if s.log != nil {
		errs = append(errs, s.log.file.Close())
	}
	return errors.Join(append(errs, s.main.Close())...)
}

// Open implements fs.FS: one file and nothing beside it.
func (s *snapshot) Open(name string) (fs.File, error) {
	if name != snapshotName {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return &image{snapshot: s}, nil
}

// image is the database as one file. Each is used by one connection.
type image struct {
	*snapshot
	at int64
}

// Stat implements fs.File.
func (f *image) Stat() (fs.FileInfo, error) { return sized{f.info, f.size}, nil }

// Close implements fs.File; the snapshot owns the files.
func (f *image) Close() error { return nil }

// Seek implements io.Seeker, as far as it is used.
func (f *image) Seek(offset int64, whence int) (int64, error) {
	if whence != io.SeekStart || offset < 0 {
		return 0, syscall.EINVAL
	}
	f.at = offset
	return offset, nil
}

// Read implements fs.File: at most up to the end of a page.
func (f *image) Read(p []byte) (n int, err error) {
	if f.at >= f.size {
		return 0, io.EOF
	}
	from, at := f.main, f.at
	if f.log != nil && f.log.count > 0 {
		number, inside := at/f.page, at%f.page
		p = p[:min(int64(len(p)), f.page-inside)]
		if place, ok := f.log.pages[uint32(number+1)]; ok {
			from, at = f.log.file, place+inside
		}
	}
	n, err = from.ReadAt(p, at)
	if n > 0 && errors.Is(err, io.EOF) {
		err = nil
	}
	// It is said to be of the older kind, or SQLite would look for a log.
	for i := max(f.at, versionsAt); i < min(f.at+int64(n), versionsEnd); i++ {
		p[i-f.at] = 1
	}
	f.at += int64(n)
	return n, err
}

// sized is a FileInfo with another size.
type sized struct {
	fs.FileInfo
	size int64
}

// Size implements fs.FileInfo.
func (s sized) Size() int64 { return s.size }
