package messages

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

// Causes with which a request is given up: the Err of an [agent.ModelError].
var (
	ErrStalled = errors.New("the endpoint said nothing for too long")
	ErrAsleep  = errors.New("the computer was asleep, and the endpoint said nothing afterwards")
)

const (
	watchTick = 15 * time.Second // how often the clock on the wall is looked at
	// watchJump is how far that clock must get ahead of the time that passed for the computer to have been asleep.
	watchJump = time.Minute
	// watchGrace is how long a connection may be silent after a sleep. Most are dead then, and nothing tells so; but the
	// clock may only have been set, and an answer that is on its way is not to be thrown away.
	watchGrace = 30 * time.Second
)

// watchdog cancels a request that gets no byte for a while. The clock runs only while something is awaited from the
// endpoint, so a slow reader of the answer does not count against it. It belongs to the goroutine of its request; only
// look runs elsewhere.
type watchdog struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	limit  time.Duration
	now    func() time.Time // on the wall
	body   io.ReadCloser
	left   int64 // bytes the body may still have

	mu       sync.Mutex // guards what follows, and the timer
	timer    *time.Timer
	awaits   bool
	began    time.Time // of the wait
	wall     time.Time // the same by the clock on the wall
	deadline time.Time
	cause    error
}

// watch starts a watchdog with the clock running; stop must be called.
func watch(ctx context.Context, limit time.Duration, now func() time.Time) *watchdog {
	w := &watchdog{limit: limit, now: now}
	w.ctx, w.cancel = context.WithCancelCause(ctx)
	w.start()
	return w
}

// start lets the clock run.
func (w *watchdog) start() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.awaits, w.began, w.wall, w.cause = true, time.Now(), w.now().Round(0), ErrStalled
	w.deadline = w.began.Add(w.limit)
	next := min(w.limit, watchTick)
	if w.timer == nil {
		w.timer = time.AfterFunc(next, w.look)
	} else {
		w.timer.Reset(next)
	}
}

// pause stops the clock.
func (w *watchdog) pause() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.awaits = false
	w.timer.Stop()
}

// look ends the request if its time is up. It runs in the timer's goroutine.
func (w *watchdog) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.awaits {
		return
	}
	now := time.Now()
	ahead := w.now().Round(0).Sub(w.wall) - now.Sub(w.began)
	if ahead > watchJump && errors.Is(w.cause, ErrStalled) && now.Add(watchGrace).Before(w.deadline) {
		w.deadline, w.cause = now.Add(watchGrace), ErrAsleep
	}
	if left := w.deadline.Sub(now); left > 0 {
		w.timer.Reset(min(left, watchTick))
		return
	}
	w.cancel(w.cause)
}

// stop ends the request, whatever has become of it.
func (w *watchdog) stop() {
	w.pause()
	w.cancel(nil)
	if w.body != nil {
		_ = w.body.Close() // everything of use has been read
	}
}

// gaveUp is why the watchdog itself ended the request, for people and for programs; nil if it did not.
func (w *watchdog) gaveUp() (why string, cause error) {
	switch cause = context.Cause(w.ctx); {
	case errors.Is(cause, ErrStalled):
		return fmt.Sprintf("nothing came for %v, the request was given up", w.limit), cause
	case errors.Is(cause, ErrAsleep):
		return fmt.Sprintf("the computer was asleep and nothing came for %v after, the request was given up", watchGrace), cause
	}
	return "", nil
}

// middleware puts the watchdog around the body of a response.
func (w *watchdog) middleware(req *http.Request, next func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	res, err := next(req)
	w.pause()
	if res == nil || res.Body == nil {
		return res, err
	}
	w.left = maxErrorBody
	if res.StatusCode/100 == 2 && req.Method == http.MethodPost {
		w.left = maxAnswerBody
	}
	w.body, res.Body = res.Body, w
	return res, err
}

// Read implements io.Reader. Beyond the bound of the body it reports its end.
func (w *watchdog) Read(p []byte) (int, error) {
	if w.left <= 0 {
		return 0, io.EOF
	}
	if int64(len(p)) > w.left {
		p = p[:w.left]
	}
	w.start()
	n, err := w.body.Read(p)
	w.pause()
	w.left -= int64(n)
	return n, err
}

// Close implements io.Closer.
func (w *watchdog) Close() error { return w.body.Close() }

// drain reads what little comes after the end of an answer, so that the connection can be used again. An endpoint that
// keeps the stream open is not waited for.
func (w *watchdog) drain() {
	w.limit = min(w.limit, drainTimeout)
	w.left = min(w.left, maxErrorBody)
	_, _ = io.Copy(io.Discard, w) // its only use is the connection
}
