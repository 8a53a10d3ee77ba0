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
)

// stopGrace is how long a run that was stopped may take to stop its children and close its books: commands get two
// seconds between SIGTERM and SIGKILL, the rest is room.
const stopGrace = 5 * time.Second

// watch is what signals act on. The first Ctrl-C interrupts the agent and the person is asked; the second ends the
// program, and so does any other signal.
type watch struct {
	app *app

	mu          sync.Mutex
	rt          *flower.Runtime // nil until there is a run
	interrupted bool
}

// supervise does work until it is done, a signal ends it, or nobody reads its output any more.
func (a *app) supervise(work func(context.Context, *watch) error) error {
	// Whoever asks for SIGPIPE gets an error of the write instead of being killed by it, with books open and commands
	// running. The signal itself says nothing: it comes for connections as well.
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	defer signal.Stop(pipe)
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	w := &watch{app: a}
	done := make(chan struct{})
	var failed error
	go func() {
		defer close(done)
		defer func() {
			if v := recover(); v != nil {
				failed = fmt.Errorf("internal error: %v", v)
			}
		}()
		failed = work(ctx, w)
	}()
	for {
		var stop error
		select {
		case <-done:
			return failed
		case <-a.out.unread:
			stop = w.end(exitUnread)
		case sig := <-a.Signals:
			if stop = w.signal(sig); stop == nil {
				continue
			}
		}
		cancel(stop)
		select {
		case <-done:
		case <-time.After(stopGrace): // something does not stop: the books are written, the process ends
		case <-a.Signals:
		}
		return stop
	}
}

// signal acts on one signal; it returns an error if the program is to end.
func (w *watch) signal(sig os.Signal) error {
	w.mu.Lock()
	rt, again := w.rt, w.interrupted
	w.mu.Unlock()
	if sig == os.Interrupt && rt != nil && !again {
		// The mark comes first: what the interrupt sets off may take it back.
		w.mark(true)
		if rt.Interrupt() {
			w.app.out.Line("")
			w.app.out.Line("! " + w.app.Say("interrupting"))
			return nil
		}
	}
	switch sig {
	case os.Interrupt:
		return w.end(exitInterrupt)
	case syscall.SIGHUP:
		return w.end(exitHangup)
	}
	return w.end(exitTerm)
}

// end writes the attempt in flight into the books and returns the error that ends the program.
func (w *watch) end(code int) error {
	w.mu.Lock()
	rt := w.rt
	w.mu.Unlock()
	if rt != nil {
		rt.Rescue()
	}
	return &stopError{code}
}

func (w *watch) mark(interrupted bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.interrupted = interrupted
}

// running says which run signals act on.
func (w *watch) running(rt *flower.Runtime) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rt = rt
}
