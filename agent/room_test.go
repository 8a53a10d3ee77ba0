package agent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"flower"
	"flower/agent"
	"flower/transcript"
)

// full is a Log on a disk that can be full: every kind of write fails then, and none that failed has left anything.
type full struct {
	agent.Log
	err atomic.Pointer[error]
}

func (l *full) fill(err error) { l.err.Store(&err) }
func (l *full) clear()         { l.err.Store(nil) }

func (l *full) check(what string) error {
	if err := l.err.Load(); err != nil {
		return fmt.Errorf("%s: %w", what, *err)
	}
	return nil
}

func (l *full) Append(ctx context.Context, k agent.Key, entries ...transcript.Entry) error {
	if err := l.check("append"); err != nil {
		return err
	}
	return l.Log.Append(ctx, k, entries...)
}

func (l *full) SetPrefix(ctx context.Context, k agent.Key, p agent.Prefix) error {
	if err := l.check("prefix"); err != nil {
		return err
	}
	return l.Log.SetPrefix(ctx, k, p)
}

func (l *full) Begin(ctx context.Context, k agent.Key, id string) error {
	if err := l.check("begin"); err != nil {
		return err
	}
	return l.Log.Begin(ctx, k, id)
}

// told is what an observer of a Room was told.
type told struct {
	mu   sync.Mutex
	said []string
}

func (s *told) observe(c agent.RoomChange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	word := "again"
	if c.Full {
		word = "full"
	}
	s.said = append(s.said, word)
}

func (s *told) all() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.said, " ")
}

func roomEngine(t *testing.T, m agent.Model, log agent.Log, room *agent.Room, b box) *agent.Engine {
	t.Helper()
	e, err := agent.New(agent.Options{Model: m, Log: log, Room: room, Toolbox: b, ModelName: "m", CWD: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestFullDiskWhileAtWork fills the disk at one point of a run, for two minutes. Whatever could not be stored is not acted
// on, nothing is asked twice, and the history is what it would have been.
func TestFullDiskWhileAtWork(t *testing.T) {
	points := []string{"prefix", "prompt", "answer", "begin", "result", "last answer"}
	for _, err := range []error{agent.ErrNoSpace, syscall.EDQUOT} {
		for _, point := range points {
			t.Run(fmt.Sprintf("%s/%v", point, err), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { fullDisk(t, point, err) })
			})
		}
	}
}

func fullDisk(t *testing.T, point string, cause error) {
	store := flower.NewMemoryStore("/w")
	log := &full{Log: store}
	var notices told
	room := agent.NewRoom(agent.RoomOptions{Observe: notices.observe})
	at := func(p string) {
		if p == point {
			log.fill(cause)
		}
	}
	ran := 0
	var done atomic.Bool
	tools := box{"work": tool("work", false, func(context.Context, agent.Call) (agent.ToolResult, error) {
		if n := len(stored(t, store, key)); n != 2 || log.err.Load() != nil {
			t.Errorf("a tool runs with %d entries stored", n)
		}
		ran++
		at("result")
		return agent.TextResult("worked"), nil
	})}
	m := &script{}
	m.reply = func(req *agent.ModelRequest) (*agent.Response, error) {
		if log.err.Load() != nil {
			t.Error("a request is sent while something waits to be stored")
		}
		if len(req.Messages) == 1 {
			at("answer")
			return calls(call("t1", "work", `{}`)), nil
		}
		at("last answer")
		return text("done"), nil
	}
	began := time.Now()
	if point == "prefix" {
		log.fill(cause)
	}
	wrapped := &pointed{full: log, at: at}
	e := roomEngine(t, m, wrapped, room, tools)
	var result agent.Result
	var err error
	go func() {
		_, result, err = run(t, e, agent.Request{Key: key, Spec: agent.Spec{Instructions: "sys", Tools: []string{"work"}}, Prompt: "go"})
		done.Store(true)
	}()
	time.Sleep(2 * time.Minute)
	if done.Load() || notices.all() != "full" {
		t.Errorf("while the disk is full: over %v, told %q", done.Load(), notices.all())
	}
	log.clear()
	time.Sleep(agent.DefaultRoomMax)
	synctest.Wait()
	if !done.Load() || err != nil || result.Text != "done" {
		t.Fatalf("after %v: %+v, %v", time.Since(began), result, err)
	}
	if notices.all() != "full again" || ran != 1 || len(m.sent) != 2 || len(stored(t, store, key)) != 4 {
		t.Errorf("told %q, %d runs, %d requests, %d entries", notices.all(), ran, len(m.sent), len(stored(t, store, key)))
	}
}

// pointed fills the disk just before a write.
type pointed struct {
	*full
	at           func(string)
	first, begun sync.Once
}

func (p *pointed) Append(ctx context.Context, k agent.Key, entries ...transcript.Entry) error {
	p.first.Do(func() { p.at("prompt") })
	return p.full.Append(ctx, k, entries...)
}

func (p *pointed) Begin(ctx context.Context, k agent.Key, id string) error {
	p.begun.Do(func() { p.at("begin") })
	return p.full.Begin(ctx, k, id)
}

// TestNoRequestWithoutRoom: with too little room nothing is sent; the pauses grow to their limit.
func TestNoRequestWithoutRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var free atomic.Int64
		free.Store(agent.DefaultRoom - 1)
		var looked []time.Duration
		began := time.Now()
		var notices told
		room := agent.NewRoom(agent.RoomOptions{
			Free: func() (int64, error) { looked = append(looked, time.Since(began)); return free.Load(), nil }, Observe: notices.observe,
		})
		m := &script{reply: func(*agent.ModelRequest) (*agent.Response, error) { return text("done"), nil }}
		var err error
		go func() {
			_, _, err = run(t, roomEngine(t, m, flower.NewMemoryStore("/w"), room, nil), agent.Request{Key: key, Prompt: "go"})
		}()
		time.Sleep(100 * time.Second)
		if len(m.sent) != 0 || notices.all() != "full" {
			t.Errorf("%d requests, told %q", len(m.sent), notices.all())
		}
		free.Store(agent.DefaultRoom)
		time.Sleep(30 * time.Second)
		synctest.Wait()
		if err != nil || len(m.sent) != 1 || notices.all() != "full again" {
			t.Errorf("with room: %d requests, told %q, %v", len(m.sent), notices.all(), err)
		}
		var at []int
		for _, d := range looked {
			at = append(at, int(d/time.Second))
		}
		if want := []int{0, 1, 3, 7, 15, 31, 61, 91, 121}; !slices.Equal(at, want) {
			t.Errorf("looked after %v seconds, want %v", at, want)
		}
	})
}

// TestWaitForRoomIsInterrupted: a cancelled run ends at once, before a request and with an answer in its hands; what can
// be stored at that moment still is.
func TestWaitForRoomIsInterrupted(t *testing.T) {
	stop := errors.New("stop")
	for _, test := range []struct {
		name    string
		answers bool // the disk is full once the answer is there
		room    bool // there is room again when the run is cancelled
		entries int
	}{
		{"before a request", false, false, 1},
		{"with an answer", true, false, 1},
		{"with an answer and room", true, true, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := flower.NewMemoryStore("/w")
				log := &full{Log: store}
				free := int64(0)
				if test.answers {
					free = agent.DefaultRoom
				}
				room := agent.NewRoom(agent.RoomOptions{Free: func() (int64, error) { return free, nil }})
				m := &script{reply: func(*agent.ModelRequest) (*agent.Response, error) {
					log.fill(agent.ErrNoSpace)
					return text("done"), nil
				}}
				ctx, cancel := context.WithCancelCause(t.Context())
				var err error
				var over atomic.Bool
				go func() {
					_, _, err = runContext(ctx, roomEngine(t, m, log, room, nil), agent.Request{Key: key, Prompt: "go"})
					over.Store(true)
				}()
				time.Sleep(100 * time.Second)
				if test.room {
					log.clear()
				}
				cancel(stop)
				synctest.Wait()
				if !over.Load() {
					t.Fatal("the run does not end")
				}
				switch {
				case test.answers && !test.room:
					if !agent.NoSpace(err) {
						t.Errorf("an answer that is lost ends in %v", err)
					}
				case test.answers: // it was done at that moment
					if err != nil {
						t.Errorf("err = %v", err)
					}
				case !errors.Is(err, stop):
					t.Errorf("err = %v", err)
				}
				if n := len(stored(t, store, key)); n != test.entries {
					t.Errorf("%d entries", n)
				}
			})
		})
	}
}

// TestOtherFailuresAreNotWaitedFor: a store that may not be written, and an engine without a Room, fail at once.
func TestOtherFailuresAreNotWaitedFor(t *testing.T) {
	for _, test := range []struct {
		err  error
		room *agent.Room
	}{
		{syscall.EROFS, agent.NewRoom(agent.RoomOptions{})},
		{syscall.EIO, agent.NewRoom(agent.RoomOptions{})},
		{agent.ErrNoSpace, nil},
	} {
		log := &full{Log: flower.NewMemoryStore("/w")}
		log.fill(test.err)
		_, _, err := run(t, roomEngine(t, &script{}, log, test.room, nil), agent.Request{Key: key, Prompt: "go"})
		if !errors.Is(err, test.err) {
			t.Errorf("%v: run ended with %v", test.err, err)
		}
	}
}

// TestFullDiskIsToldOnce: many who meet the full disk at the same time are one notice, and while the write of one waits
// nobody sends a request.
func TestFullDiskIsToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var notices told
		var full, awaited atomic.Bool
		full.Store(true)
		room := agent.NewRoom(agent.RoomOptions{Observe: notices.observe, Free: func() (int64, error) { return 1 << 40, nil }})
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() {
				err := room.Keep(t.Context(), func() error {
					if full.Load() {
						return syscall.EDQUOT
					}
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		all.Go(func() {
			if err := room.Await(t.Context()); err != nil {
				t.Error(err)
			}
			awaited.Store(true)
		})
		time.Sleep(time.Hour)
		if awaited.Load() || notices.all() != "full" {
			t.Errorf("awaited %v, told %q", awaited.Load(), notices.all())
		}
		full.Store(false)
		all.Wait()
		if notices.all() != "full again" {
			t.Errorf("told %q", notices.all())
		}
	})
}

// TestHungObserverHoldsUpNobody: the observer writes to a terminal that has been stopped. Whoever waits for room can still
// be stopped, others are not held up, and the observer is told the rest in order once it goes on.
func TestHungObserverHoldsUpNobody(t *testing.T) {
	stop := errors.New("stop")
	for name, wait := range map[string]func(context.Context, *agent.Room) error{
		"before a request": func(ctx context.Context, room *agent.Room) error { return room.Await(ctx) },
		"with a write": func(ctx context.Context, room *agent.Room) error {
			if err := room.Keep(ctx, func() error { return agent.ErrNoSpace }); !agent.NoSpace(err) {
				return err
			}
			return context.Cause(ctx)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var notices told
				var free atomic.Int64
				goOn := make(chan struct{})
				room := agent.NewRoom(agent.RoomOptions{
					Free:    func() (int64, error) { return free.Load(), nil },
					Observe: func(c agent.RoomChange) { <-goOn; notices.observe(c) },
				})
				ctx, cancel := context.WithCancelCause(t.Context())
				var first, second error
				var all sync.WaitGroup
				all.Go(func() { first = wait(ctx, room) })
				synctest.Wait() // it hangs in the observer
				all.Go(func() { second = wait(ctx, room) })
				time.Sleep(time.Hour)
				cancel(stop)
				all.Wait()
				if !errors.Is(first, stop) || !errors.Is(second, stop) {
					t.Errorf("ended with %v and %v", first, second)
				}
				free.Store(1 << 40)
				all.Go(func() {
					if err := room.Await(t.Context()); err != nil {
						t.Error(err)
					}
				})
				synctest.Wait()
				close(goOn)
				all.Wait()
				synctest.Wait()
				if got := notices.all(); got != "full again" {
					t.Errorf("told %q", got)
				}
			})
		})
	}
}
