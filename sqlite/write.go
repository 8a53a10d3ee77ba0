package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"flower/internal/failpoint"

	lib "modernc.org/sqlite/lib"
)

const (
	// lockWait is how long a lock is waited for. Transactions take milliseconds, so a lock held this long is held by a
	// process that is stopped, and a person has to know.
	lockWait = 30 * time.Second
	// lockPause is the longest pause between two attempts. Each is random, or waiting writers would meet again and again.
	lockPause = 10 * time.Millisecond
)

// retry runs f until it does something else than find the database locked. When ctx ends or lockWait is over it
// returns what f said last.
func retry(ctx context.Context, f func() error) error {
	var deadline time.Time
	for {
		err := f()
		if !isBusy(err) {
			return err
		}
		now := time.Now()
		if deadline.IsZero() {
			deadline = now.Add(lockWait)
		}
		if now.After(deadline) {
			return fmt.Errorf("wait for lock: %w", err)
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(time.Millisecond + rand.N(lockPause)):
		}
	}
}

// isBusy says whether an error is about a lock that somebody else holds; SQLITE_PROTOCOL is what a race while the
// write-ahead log is set up looks like.
func isBusy(err error) bool {
	switch resultCode(err) {
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED, lib.SQLITE_PROTOCOL:
		return true
	}
	return false
}

// write runs f in one transaction, several times if the database is locked. ctx ends the waiting, not the transaction:
// it takes milliseconds, and whoever gets an error can then be sure that nothing was written unless the disk failed. A full
// disk is agent.ErrNoSpace. The name is that of its fail points.
func (s *Store) write(ctx context.Context, name string, f func(context.Context, *sql.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if s.closed {
		return errClosed
	}
	uncut := context.WithoutCancel(ctx)
	return noRoom(s.path, retry(ctx, func() error {
		tx, err := s.writer.BeginTx(uncut, nil)
		if err != nil {
			return err
		}
		reach(name, "before")
		if err := f(uncut, tx); err != nil {
			return errors.Join(err, tx.Rollback())
		}
		reach(name, "inside")
		err = tx.Commit()
		reach(name, "after")
		return err
	}))
}

// reach is a fail point of a write: before anything is written, inside the transaction, after the commit.
func reach(name, when string) {
	if failpoint.On {
		failpoint.At(name + "." + when)
	}
}

// stamp returns the present in milliseconds, but later than prev and than every stamp before: mtime is strictly
// increasing even when the clock is not. It is called by f of write.
func (s *Store) stamp(prev int64) int64 {
	s.last = max(s.now().UnixMilli(), s.last+1, prev+1)
	return s.last
}
