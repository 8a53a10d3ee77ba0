// Package sqlite keeps sessions in one SQLite file, runs/sessions.db.
//
// Terms. The shared tables (entries, meta, summaries) belong to the file format: other programs read and write them
// too, and a file that one of them made is opened and continued. flower's own tables have names that begin with
// "flower_". A store key is agent.Key in its stored form, project/session[/subpath].
//
// Durability. The file is in WAL mode with synchronous=FULL: a write that returned nil survives a crash of the machine.
// Every write is made in an immediate transaction, alone or with others: those that come while one is being committed
// wait for the disk together (Store.write). Between processes SQLite's lock decides, and a writer that finds it taken
// tries again at random intervals, because SQLite's own waiting can starve a writer for seconds.
//
// Trust. The path is trusted, what is found there is not: anything but a sessions database is refused and left as it
// is, and stored text is returned as it was found, for the reader to judge. Keys are checked before they are used.
//
// Locks. On Linux the database file itself is locked by open file description, so that other code of this process may
// open and close it. The locks beside it (-shm) are of the older kind: nothing else in the process may open that file.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"flower"

	driver "modernc.org/sqlite"
)

// ErrNotDatabase says that what is at the path is no sessions database: a directory, a pipe, some other file, a
// database with other tables, or one too damaged to be read. It was not changed.
var ErrNotDatabase = errors.New("not a sessions database")

// ErrForeign says that the database is whole and belongs to another program: it has other tables. It is an ErrNotDatabase.
var ErrForeign = errors.New("it has the tables of another program")

// ErrNewer says that a later version of flower has changed the database. It was not changed.
var ErrNewer = errors.New("database was written by a newer flower")

var errClosed = errors.New("store is closed")

var _ flower.Store = (*Store)(nil)

// Options say how to open a store.
type Options struct {
	// Workspace is the absolute, resolved path of the workspace the store is used for. It is recorded with every session
	// started, and sessions recorded for another one are hidden. Empty records nothing and hides nothing.
	Workspace string
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

// Store is a flower.Store in a file. It is safe for concurrent use by goroutines, and any number of processes may have
// the same file open.
type Store struct {
	path      string
	workspace string
	now       func() time.Time
	copied    string // before its schema was changed

	writer *sql.DB // one connection
	reader *sql.DB // a pool of connections that cannot write
	stmts  statements

	queue  queue
	turn   chan struct{} // holds one element while a write is going on; its holder owns the fields below
	last   int64         // the latest mtime given, in milliseconds
	closed bool
}

// driverSettings are the ones the driver has for the whole process.
var driverSettings = sync.OnceFunc(func() {
	// Without this a close of any descriptor of the file, by whatever part of the process, would drop SQLite's locks on
	// it. Where there are no such locks the older ones still serve.
	_, _ = driver.OFDLocking(true)
	// As durable as fsync, without waiting for the timestamps: what SQLite does by itself when it is built for Linux.
	_, _ = driver.Fdatasync(true)
})

// Open opens the database at path and makes it first if it is missing or an empty file: the directory with mode 0700,
// the file, like those SQLite puts beside it, with mode 0600 whatever the umask is. A file that exists keeps its mode.
// One of another program or an older flower is copied before its schema is changed (Copied). Errors are ErrNotDatabase,
// ErrNewer, agent.ErrNoSpace or those of the file system.
func Open(ctx context.Context, path string, opts Options) (*Store, error) {
	s, err := open(ctx, path, opts)
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", path, noRoom(path, err))
	}
	return s, nil
}

func open(ctx context.Context, path string, opts Options) (_ *Store, err error) {
	driverSettings()
	if path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	if err := prepareFile(path); err != nil {
		return nil, err
	}
	version, tables, err := inspect(ctx, path)
	if err != nil {
		return nil, err
	}
	if marked(path) { // it was read as a whole just now
		if err := unmark(path); err != nil {
			return nil, err
		}
	}
	s := &Store{workspace: opts.Workspace, now: opts.Now, turn: make(chan struct{}, 1)}
	if s.now == nil {
		s.now = time.Now
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	s.path = path
	if version < len(migrations) && tables > 0 {
		if err = s.keepOld(ctx, path); err != nil {
			return nil, fmt.Errorf("copy it before its schema changes: %w", err)
		}
	}
	if s.writer, err = connect(ctx, dsn(path, writerSettings), 1); err != nil {
		return nil, err
	}
	if version < len(migrations) {
		if err = s.migrate(ctx); err != nil {
			return nil, err
		}
	}
	if s.reader, err = connect(ctx, dsn(path, readerSettings), readers); err != nil {
		return nil, err
	}
	return s, s.stmts.prepare(ctx, s.writer, s.reader)
}

// Close waits for the write that is going on and closes the file. A second call does nothing.
func (s *Store) Close() error {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	if s.closed {
		return nil
	}
	s.closed = true
	var errs []error
	// The writer goes last: the last connection folds the write-ahead log into the file, and only it may write.
	for _, db := range []*sql.DB{s.reader, s.writer} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close store: %w", err)
	}
	return nil
}
