package agent

import (
	"context"
	"errors"
	"sync"
	"syscall"
	"time"
)

// ErrNoSpace is wrapped by what a Log returns when a write found no room: nothing was written, and the same write can
// succeed later.
var ErrNoSpace = errors.New("no space left")

// NoSpace says whether an error is about room: ErrNoSpace, or what systems say of a full disk, a used-up quota, and a
// file that has reached the largest size allowed.
func NoSpace(err error) bool {
	return errors.Is(err, ErrNoSpace) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) ||
		errors.Is(err, syscall.EFBIG)
}

// Defaults of RoomOptions.
const (
	// DefaultRoom is the room there must be before a request is sent, in bytes: the answers of eight agents at once with
	// the results of their calls, of which the largest take about 1 MB each, twice, because SQLite keeps them in its
	// write-ahead log until they are folded into the database, and the log itself, which grows to 4 MB in between.
	DefaultRoom = 32 << 20
	// DefaultRoomBase and DefaultRoomMax bound the pause between two looks: soon enough for somebody who waits, seldom
	// enough for a night.
	DefaultRoomBase = time.Second
	DefaultRoomMax  = 30 * time.Second
)

// RoomOptions configure a Room.
type RoomOptions struct {
	// Free returns how many bytes can still be written where the sessions are kept. Nil, or an error: it is not known, and
	// only a write that fails shows that the disk is full.
	Free func() (int64, error)
	Need int64         // bytes that must be free before a request; 0 is DefaultRoom
	Base time.Duration // pause before the second look, doubled each time; 0 is DefaultRoomBase
	Max  time.Duration // longest pause; 0 is DefaultRoomMax

	Sleep func(context.Context, time.Duration) error // nil waits
	// Observe is told when a wait for room begins and when work goes on, one change at a time and in their order, from a
	// goroutine of its own. Who has met the change waits until it is told, or its context ends: an observer that hangs, as
	// one that writes to a stopped terminal does, keeps nobody from being stopped. Nil: nobody is told.
	Observe func(RoomChange)
}

// RoomChange says that the disk became full for us, or has room again.
type RoomChange struct {
	Full bool
	Free int64 // bytes; -1 if not known
	Need int64 // bytes that must be free
	Err  error // of the write that failed; nil if it was noticed before one
}

// Room waits for room on the disk, so that nothing is paid for that cannot be kept. All parts of a run share one: it
// tells of a full disk once, whoever meets it. A nil *Room never waits. It is safe for concurrent use.
type Room struct {
	opts RoomOptions

	mu     sync.Mutex
	full   bool // said, and not yet taken back
	kept   int  // writes that wait
	untold []RoomChange
	told   chan struct{} // closed when nothing is untold; nil while nobody tells
}

// NewRoom returns a Room.
func NewRoom(opts RoomOptions) *Room {
	if opts.Free == nil {
		opts.Free = func() (int64, error) { return 0, errors.ErrUnsupported }
	}
	if opts.Need == 0 {
		opts.Need = DefaultRoom
	}
	if opts.Base == 0 {
		opts.Base = DefaultRoomBase
	}
	if opts.Max == 0 {
		opts.Max = DefaultRoomMax
	}
	if opts.Sleep == nil {
		opts.Sleep = sleep
	}
	if opts.Observe == nil {
		opts.Observe = func(RoomChange) {}
	}
	return &Room{opts: opts}
}

// Await returns when there is room for what a request brings: enough is free, and no write waits. Its error is ctx's cause.
func (r *Room) Await(ctx context.Context) error {
	if r == nil {
		return nil
	}
	for wait := r.opts.Base; !r.look(ctx, nil, 0); wait = min(2*wait, r.opts.Max) {
		if err := r.opts.Sleep(ctx, wait); err != nil {
			return err
		}
	}
	return nil
}

// Keep does a write, again and again as long as there is no room for it. When ctx ends the write is tried once more, and
// what it says then is returned; other errors are returned at once. write has to be one that changes nothing when it
// fails, or that can be repeated.
func (r *Room) Keep(ctx context.Context, write func() error) error {
	err := write()
	if r == nil || !NoSpace(err) {
		return err
	}
	r.look(ctx, err, +1)
	for wait := r.opts.Base; NoSpace(err) && ctx.Err() == nil; wait = min(2*wait, r.opts.Max) {
		_ = r.opts.Sleep(ctx, wait) // cut short by ctx: one more try
		err = write()
	}
	r.look(ctx, err, -1)
	return err
}

// look finds out whether there is room, and tells of a change. waits is added to the number of writes that wait; err is
// what such a write said.
func (r *Room) look(ctx context.Context, err error, waits int) bool {
	free, unknown := r.opts.Free() // not under the lock: a disk that hangs holds up whoever asks it, not all
	if unknown != nil {
		free = -1
	}
	room, told := r.count(free, err, waits)
	if told != nil {
		select {
		case <-told:
		case <-ctx.Done():
		}
	}
	return room
}

// count is look with the free bytes known. told is nil if nothing has changed, and else closed when that has been told.
func (r *Room) count(free int64, err error, waits int) (room bool, told <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept += waits
	room = r.kept == 0 && (free < 0 || free >= r.opts.Need)
	began := !room && !r.full && waits >= 0               // a write that is over says nothing new of a full disk
	ended := room && r.full && (waits >= 0 || err == nil) // nor of room, if it was given up
	if !began && !ended {
		return room, nil
	}
	r.full = began
	r.untold = append(r.untold, RoomChange{Full: began, Free: free, Need: r.opts.Need, Err: err})
	if r.told == nil {
		r.told = make(chan struct{})
		go r.tell(r.told)
	}
	return room, r.told
}

// tell tells of the changes there are, in their order, and closes told when there are none left.
func (r *Room) tell(told chan struct{}) {
	defer close(told)
	for {
		r.mu.Lock()
		if len(r.untold) == 0 {
			r.told = nil
			r.mu.Unlock()
			return
		}
		next := r.untold[0]
		r.untold = r.untold[1:]
		r.mu.Unlock()
		r.opts.Observe(next)
	}
}
