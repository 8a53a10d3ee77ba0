package cli

import (
	"context"
	"fmt"
	"os"
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

// supervise does work until it is done or a signal ends it.
func (a *app) supervise(work func(context.Context, *watch) error) error {
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
		select {
		case <-done:
			return failed
		case sig := <-a.Signals:
			stop := w.signal(sig)
			if stop == nil {
				continue
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
	if rt != nil {
		rt.Rescue()
	}
	switch sig {
	case os.Interrupt:
		return &stopError{exitInterrupt}
	case syscall.SIGHUP:
		return &stopError{exitHangup}
	}
	return &stopError{exitTerm}
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
