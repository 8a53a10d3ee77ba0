package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
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

// change is one write that somebody waits for.
type change struct {
	name string // of its fail points
	ctx  context.Context
	do   func(context.Context, *sql.Tx) error
	done chan error // takes one: how it went
}

// queue holds the changes that nobody has begun to make, the oldest first. It is safe for concurrent use.
type queue struct {
	mu      sync.Mutex
	waiting []*change
}

func (q *queue) add(c *change) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, c)
}

// remove takes one change out; false if it is not there any more: its outcome is on the way.
func (q *queue) remove(c *change) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.waiting, c)
	if i < 0 {
		return false
	}
	q.waiting = slices.Delete(q.waiting, i, i+1)
	return true
}

// take empties the queue.
func (q *queue) take() []*change {
	q.mu.Lock()
	defer q.mu.Unlock()
	all := q.waiting
	q.waiting = nil
	return all
}

// putBack undoes take.
func (q *queue) putBack(changes []*change) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(changes, q.waiting...)
}

// write makes a change: it returns nil once what f does is durable. Changes that are asked for while another is being
// committed are made together, in one transaction, by whichever of their callers gets the turn first; what is waited for
// is the disk, and it takes as long for many as for one. f may run several times, and on the goroutine of another caller.
//
// ctx ends the waiting, not the transaction: it takes milliseconds, and whoever gets an error can then be sure that
// nothing was written unless the disk failed. A full disk is agent.ErrNoSpace. The name is that of the fail points.
func (s *Store) write(ctx context.Context, name string, f func(context.Context, *sql.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c := &change{name: name, ctx: context.WithoutCancel(ctx), do: f, done: make(chan error, 1)}
	s.queue.add(c)
	cancelled := ctx.Done()
	for {
		select {
		case err := <-c.done:
			return err
		case <-cancelled:
			if s.queue.remove(c) {
				return ctx.Err()
			}
			cancelled = nil // it is being made
		case s.turn <- struct{}{}:
			err := s.lead(ctx, c)
			<-s.turn
			if err != nil && s.queue.remove(c) {
				return err // whoever waits beside it tries for itself
			}
		}
	}
}

// lead makes all changes that wait, unless own is made by now. The error says why the database was not to be had; they
// wait on then. The caller has the turn.
func (s *Store) lead(ctx context.Context, own *change) error {
	if len(own.done) > 0 {
		return nil
	}
	if s.closed {
		return errClosed
	}
	return s.told(retry(ctx, func() error {
		tx, err := s.writer.BeginTx(context.WithoutCancel(ctx), nil)
		if err != nil {
			return err
		}
		changes := s.queue.take()
		err = commit(tx, changes)
		switch {
		case isBusy(err):
			s.queue.putBack(changes)
			return err
		case err != nil && len(changes) > 1:
			s.apart(changes)
			return nil
		}
		tell(changes, s.told(err))
		return nil
	}))
}

// apart makes changes one by one because together they have failed: each gets an answer of its own, and none fails for
// another's fault. Of a disk that is almost full the small ones may still fit.
func (s *Store) apart(changes []*change) {
	for _, c := range changes {
		c.done <- s.told(retry(c.ctx, func() error {
			tx, err := s.writer.BeginTx(c.ctx, nil)
			if err != nil {
				return err
			}
			return commit(tx, []*change{c})
		}))
	}
}

// tell gives all changes the same outcome.
func tell(changes []*change, err error) {
	for _, c := range changes {
		c.done <- err
	}
}

// commit makes changes in a transaction and ends it. All of them are made, or none.
func commit(tx *sql.Tx, changes []*change) error {
	for _, c := range changes {
		reach(c.name, "before")
		if err := c.do(c.ctx, tx); err != nil {
			return errors.Join(err, tx.Rollback())
		}
		reach(c.name, "inside")
	}
	err := tx.Commit()
	for _, c := range changes {
		reach(c.name, "after")
	}
	return err
}

// told is what callers are told of an error of a write.
func (s *Store) told(err error) error { return s.damaged(noRoom(s.path, err)) }

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
