package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"flower"
	"flower/internal/text"
)

const (
	// stopGrace is how long a run that was stopped may take to stop its children and close its books: commands get two
	// seconds between SIGTERM and SIGKILL, the rest is room.
	stopGrace = 5 * time.Second
	// hurryGrace is how long it may take when a person does not want to wait: commands are killed, which takes
	// milliseconds, and the books are written.
	hurryGrace = time.Second
)

// watch is what signals act on. The first Ctrl-C interrupts the agent and the person is asked; one that finds nothing to
// interrupt, as the second does, ends the program, and so does any other signal. Nothing here writes to the terminal,
// which may be a stopped one.
type watch struct {
	app   *app
	hurry chan struct{} // closed when commands are to be killed

	mu sync.Mutex
	rt *flower.Runtime // nil until there is a run
}

// supervise does work until it is done, a signal ends it, the terminal is closed, or nobody reads its output any more.
func (a *app) supervise(work func(context.Context, *watch) error) error {
	// Whoever asks for SIGPIPE gets an error of the write instead of being killed by it, with books open and commands
	// running. The signal itself says nothing: it comes for connections as well.
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	defer signal.Stop(pipe)
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	w := &watch{app: a, hurry: make(chan struct{})}
	done := make(chan struct{})
	var failed error
	go func() {
		defer close(done)
		defer func() {
			if v := recover(); v != nil {
				failed = spoken(w.app.Say("error.crash", text.Data{"What": oneLine(fmt.Sprint(v))}))
			}
		}()
		failed = work(ctx, w)
	}()
	for {
		var code int
		select {
		case <-done:
			return failed
		case <-a.unread():
			code = exitUnread
		case <-a.hungUp:
			code = exitHangup
		case sig := <-a.Signals:
			code = w.signal(sig)
		}
		if code != 0 {
			stop := &stopError{code}
			w.end(stop, cancel, done)
			return stop
		}
	}
}

// signal acts on one signal; it returns an exit code if the program is to end.
func (w *watch) signal(sig os.Signal) int {
	switch sig {
	case os.Interrupt:
		if rt := w.runtime(); rt != nil && rt.Interrupt() {
			return 0
		}
		return exitInterrupt
	case syscall.SIGHUP:
		return exitHangup
	}
	return exitTerm
}

// interrupt stops the agent at work; false if there is none.
func (w *watch) interrupt() bool {
	rt := w.runtime()
	return rt != nil && rt.Interrupt()
}

// end writes the attempt in flight into the books, stops the work and waits for it, not for ever: something may not
// stop. Whoever types Ctrl-C, or sends a second signal, does not want to wait; a third leaves everything as it is.
func (w *watch) end(stop *stopError, cancel context.CancelCauseFunc, done <-chan struct{}) {
	rescued := make(chan struct{})
	go func() {
		defer close(rescued)
		if rt := w.runtime(); rt != nil {
			rt.Rescue()
		}
	}()
	books := (<-chan struct{})(rescued)
	limit := time.After(stopGrace)
	hurried := false
	hurry := func() {
		hurried = true
		limit = time.After(hurryGrace)
		close(w.hurry)
	}
	if stop.code == exitInterrupt {
		hurry()
	}
	for books != nil || done != nil {
		select {
		case <-books: // the row is marked before the attempt can write its own
			books = nil
			cancel(stop)
		case <-done:
			done = nil
		case <-limit:
			return
		case <-w.app.Signals:
			if hurried {
				return
			}
			hurry()
			cancel(stop)
		}
	}
}

func (w *watch) runtime() *flower.Runtime {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rt
}

// running says which run signals act on.
func (w *watch) running(rt *flower.Runtime) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rt = rt
}
