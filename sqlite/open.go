package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"flower/internal/disk"

	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// readers is how many loads may go on at once. There are rarely more: a step and its subagents.
const readers = 4

// The settings of a connection go into its name, because a PRAGMA statement would reach only one of a pool.
//
// page_size has to come before WAL mode, which fixes it; the driver sorts the values of _pragma among themselves but
// runs them before _journal_mode. The 20 ms are SQLite's share of waiting for a lock (see retry).
const (
	writerSettings = "mode=rw&_txlock=immediate&_dqs=0&_busy_timeout=20&_pragma=page_size(8192)&_journal_mode=WAL&_synchronous=FULL"
	readerSettings = "mode=rw&_dqs=0&_busy_timeout=20&_query_only=1"
)

// dsn is the driver's name for the file at an absolute path.
func dsn(path, settings string) string {
	return (&url.URL{Scheme: "file", Path: path, RawQuery: settings}).String()
}

// connect opens a pool of up to n connections, and the first of them.
func connect(ctx context.Context, dsn string, n int) (*sql.DB, error) {
	connector, err := driver.NewConnector(dsn)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(n)
	db.SetMaxIdleConns(n)
	if err := retry(ctx, func() error { return db.PingContext(ctx) }); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// prepareFile makes an empty file at path, or checks that there is a regular one. SQLite is never left to make the
// file: it would do so with the umask's mode. It gives the files beside it the mode of this one.
func prepareFile(path string) error {
	if err := checkFile(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	dir := filepath.Dir(path)
	if err := disk.PrivateDir(dir); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, disk.PrivateMode)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Chmod(disk.PrivateMode), f.Close()); err != nil {
		return err
	}
	return disk.SyncDir(dir)
}

// sharedColumns are the columns that the shared tables must have, if they are there.
var sharedColumns = map[string]string{
	"entries":   "store_key,seq,uid,payload",
	"meta":      "store_key,mtime,next_seq",
	"summaries": "project_key,session_id,mtime,data",
}

// inspect looks at a file before anything in it is changed (switching to WAL mode would already be a change) and
// returns the number of migrations it has seen, and of tables it has.
func inspect(ctx context.Context, path string) (version, tables int, err error) {
	db, err := connect(ctx, dsn(path, readerSettings), 1)
	if err != nil {
		return 0, 0, refuse(err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	err = retry(ctx, func() (err error) {
		// In one transaction: nobody is half way through making the file meanwhile.
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, tx.Rollback()) }()
		if version, err = readSchema(ctx, tx); err != nil || version > len(migrations) {
			return err
		}
		if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_schema WHERE type = 'table'`).Scan(&tables); err != nil {
			return err
		}
		return checkWhole(ctx, tx, path)
	})
	if err != nil {
		return 0, 0, refuse(err)
	}
	if version > len(migrations) {
		return 0, 0, fmt.Errorf("%w: version %d, this one knows %d", ErrNewer, version, len(migrations))
	}
	return version, tables, nil
}

// querier is a database, or a transaction in it.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func readSchema(ctx context.Context, db querier) (version int, err error) {
	rows, err := db.QueryContext(ctx, `
		SELECT t.name, group_concat(c.name) FROM sqlite_schema t, pragma_table_info(t.name) c
		WHERE t.type = 'table' GROUP BY t.name`)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	tables := map[string]string{}
	for rows.Next() {
		var name, columns string
		if err := rows.Scan(&name, &columns); err != nil {
			return 0, err
		}
		tables[name] = columns
	}
	if err := rows.Err(); err != nil {
		return 0, err
	}
	if err := checkTables(tables); err != nil {
		return 0, err
	}
	if tables["flower_schema"] == "" {
		return 0, nil
	}
	err = db.QueryRowContext(ctx, `SELECT coalesce(max(version), 0) FROM flower_schema`).Scan(&version)
	return version, err
}

// checkTables refuses a database that belongs to something else.
func checkTables(tables map[string]string) error {
	for name, want := range sharedColumns {
		if got := tables[name]; got != "" && got != want {
			return fmt.Errorf("%w: %w: table %s has columns %s", ErrNotDatabase, ErrForeign, name, got)
		}
	}
	if len(tables) > 0 && tables["entries"] == "" && tables["flower_schema"] == "" {
		return fmt.Errorf("%w: %w", ErrNotDatabase, ErrForeign)
	}
	return nil
}

// refuse gives SQLite's words for an unusable file their type.
func refuse(err error) error {
	if code := resultCode(err); code == lib.SQLITE_NOTADB || code == lib.SQLITE_CORRUPT {
		return fmt.Errorf("%w: %w", ErrNotDatabase, err)
	}
	return err
}

// resultCode is the primary result code of an error of the driver, 0 for any other error.
func resultCode(err error) int {
	var e *driver.Error
	if !errors.As(err, &e) {
		return 0
	}
	return e.Code() & 0xff
}
