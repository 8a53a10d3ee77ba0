package sqlite

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"

	"flower"
	"flower/agent"
	"flower/internal/storetest"
)

// crowd holds the store's turn until n writes wait for it.
type crowd struct {
	s    *Store
	wait sync.WaitGroup
}

func gather(s *Store) *crowd {
	s.turn <- struct{}{}
	return &crowd{s: s}
}

// add starts a write that waits.
func (c *crowd) add(write func()) {
	before := c.waiting()
	c.wait.Go(write)
	for c.waiting() == before {
		runtime.Gosched()
	}
}

func (c *crowd) waiting() int {
	c.s.queue.mu.Lock()
	defer c.s.queue.mu.Unlock()
	return len(c.s.queue.waiting)
}

// release lets them go and waits for them.
func (c *crowd) release() {
	<-c.s.turn
	c.wait.Wait()
}

// commits counts the transactions in a log.
func commits(t testing.TB, path string) (n int) {
	t.Helper()
	data, err := os.ReadFile(path + "-wal")
	noErr(t, err)
	for at := walHeaderSize; at+walFrameSize <= len(data); at += walFrameSize + 8192 {
		if binary.BigEndian.Uint32(data[at+4:]) != 0 {
			n++
		}
	}
	return n
}

// TestCommitTogether: what is asked for during a commit is committed at once, in the order in which it was asked for.
func TestCommitTogether(t *testing.T) {
	s, path := openNew(t)
	ctx := context.Background()
	noErr(t, s.Append(ctx, shared, storetest.Entry("first", "")))
	before, crowd := commits(t, path), gather(s)
	want := []string{"first"}
	for i := range 10 {
		e := storetest.Entry(fmt.Sprint("e", i), "")
		want = append(want, e.UUID)
		crowd.add(func() {
			if err := s.Append(ctx, shared, e); err != nil {
				t.Error(err)
			}
		})
	}
	crowd.release()
	if got := loadIDs(t, s, shared); strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("stored %q, want %q", got, want)
	}
	if n := commits(t, path) - before; n != 1 {
		t.Errorf("%d commits, want 1", n)
	}
	wantSound(t, s)
}

// TestCommitApart: one that is refused does not take those with it that are committed at the same time.
func TestCommitApart(t *testing.T) {
	s, _ := openNew(t)
	ctx := context.Background()
	noErr(t, s.SetPrefix(ctx, shared, agent.Prefix{System: "first"}))
	crowd := gather(s)
	for i := range 6 {
		crowd.add(func() {
			if i == 3 {
				if err := s.SetPrefix(ctx, shared, agent.Prefix{System: "other"}); !errors.Is(err, flower.ErrPrefixDiffers) {
					t.Errorf("another prefix: %v", err)
				}
			} else if err := s.Append(ctx, shared, storetest.Entry(fmt.Sprint("e", i), "")); err != nil {
				t.Error(err)
			}
		})
	}
	crowd.release()
	if got := strings.Join(loadIDs(t, s, shared), " "); got != "e0 e1 e2 e4 e5" {
		t.Errorf("stored %s", got)
	}
	wantSound(t, s)
}

// TestCommitCancelled: who stops waiting has written nothing, and whoever waits beside it is not held up: one waits for
// its turn, the other has it and waits for the lock of another process.
func TestCommitCancelled(t *testing.T) {
	for _, who := range []string{"waits", "leads"} {
		t.Run(who, func(t *testing.T) {
			s, path := openNew(t)
			ctx, cancel := context.WithCancel(context.Background())
			crowd, cancelled := gather(s), make(chan struct{})
			crowd.add(func() {
				defer close(cancelled)
				if err := s.Append(ctx, shared, storetest.Entry("gone", "")); !errors.Is(err, context.Canceled) {
					t.Errorf("cancelled: %v", err)
				}
			})
			release := func() { <-s.turn }
			if who == "leads" {
				unlock := lock(t, path)
				release()
				for len(s.turn) == 0 {
					runtime.Gosched()
				}
				release = unlock
			}
			crowd.add(func() {
				if err := s.Append(context.Background(), shared, storetest.Entry("stays", "")); err != nil {
					t.Error(err)
				}
			})
			cancel()
			<-cancelled
			release()
			crowd.wait.Wait()
			if got := strings.Join(loadIDs(t, s, shared), " "); got != "stays" {
				t.Errorf("stored %s", got)
			}
		})
	}
}

// lock locks a database as another process does that writes to it.
func lock(t *testing.T, path string) (unlock func()) {
	db, err := sql.Open("sqlite", path)
	noErr(t, err)
	db.SetMaxOpenConns(1)
	_, err = db.Exec("BEGIN IMMEDIATE")
	noErr(t, err)
	return func() {
		_, err := db.Exec("ROLLBACK")
		noErr(t, errors.Join(err, db.Close()))
	}
}

// TestCommitLocked: a transaction that meets a lock in its middle is made again, with all that was in it, once.
func TestCommitLocked(t *testing.T) {
	s, path := openNew(t)
	ctx := context.Background()
	other, err := sql.Open("sqlite", path)
	noErr(t, err)
	defer func() { noErr(t, other.Close()) }()
	crowd, tries := gather(s), 0
	for i := range 3 {
		crowd.add(func() {
			if err := s.Append(ctx, shared, storetest.Entry(fmt.Sprint("e", i), "")); err != nil {
				t.Error(err)
			}
		})
	}
	crowd.add(func() {
		err := s.write(ctx, "test", func(ctx context.Context, _ *sql.Tx) error {
			if tries++; tries > 1 {
				return nil
			}
			_, err := other.ExecContext(ctx, "BEGIN IMMEDIATE") // our own transaction is in the way
			return err
		})
		if err != nil {
			t.Error(err)
		}
	})
	crowd.release()
	if got := strings.Join(loadIDs(t, s, shared), " "); got != "e0 e1 e2" || tries != 2 {
		t.Errorf("stored %s in %d tries", got, tries)
	}
	wantSound(t, s)
}

// TestCommitClosed: those who wait for a store that is closed meanwhile learn it.
func TestCommitClosed(t *testing.T) {
	s, path := openNew(t)
	crowd := gather(s)
	for i := range 4 {
		crowd.add(func() {
			if err := s.Append(context.Background(), shared, storetest.Entry(fmt.Sprint("e", i), "")); !errors.Is(err, errClosed) {
				t.Errorf("append: %v", err)
			}
		})
	}
	s.closed = true // this test has the turn
	crowd.release()
	s.closed = false
	noErr(t, s.Close())
	s = openAt(t, path, "/w")
	if got := loadIDs(t, s, shared); len(got) > 0 {
		t.Errorf("stored %q", got)
	}
	noErr(t, s.Close())
}
