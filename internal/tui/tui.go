// Package tui is the terminal a person lives in: output above, and below it a row that says what is going on and a line
// to type on. It is not a screen of its own: what was written stays in the terminal's scrollback.
//
// Terms. The region is what stands below the output. A line is what the person enters; it may have several rows. A
// frame is one write: output, and the region below it.
//
// Trust. Output comes from a screen that has cleaned it. What the region shows of others (tools, titles, questions)
// passes Options.Clean and text.Plain here. What is typed or pasted is the person's, but terminals are asked to
// paste what others have written, so control characters are taken out of it as well.
package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/muesli/cancelreader"

	"flower"
	"flower/internal/text"
)

// DefaultPatience is how long a question waits before the terminal rings.
const DefaultPatience = time.Minute

// maxWrite is how much output goes into one frame, in bytes: a key that is pressed meanwhile waits for no more.
const maxWrite = 16 << 10

// Options configure a Terminal.
type Options struct {
	In, Out *os.File            // required: the terminal
	Say     *text.Printer       // required
	Getenv  func(string) string // nil knows no variables

	// Clean is what may be shown of a text of others; nil is all that text.Plain leaves.
	Clean func(string) string
	// StepName is a step as people read it; nil is its name.
	StepName func(string) string
	// Patience is how long a question waits before the terminal rings; 0 is DefaultPatience, below 0 never.
	Patience time.Duration
	// Notify is written to ring; "" is BEL.
	Notify string

	Now func() time.Time // nil is time.Now
}

// Run is what a terminal asks of the run it shows. Both functions may be called at any time, and may be nil.
type Run struct {
	// Pending is the question that waits. It must not wait for the terminal.
	Pending func() (flower.Question, bool)
	// Fold is told that the person folds subagents or unfolds them; folded is the beginning.
	Fold func(folded bool)
}

// Line is what the person has entered.
type Line struct {
	Text     string // may have several rows
	Question string // id of the question it answers; "" is none
	End      bool   // Ctrl-D on an empty line: nothing more is to be expected, though it may come
	Unsent   bool   // it was being typed and Enter was not pressed; only Close gives such lines
}

// Terminal shows output and takes lines. Its methods are safe for concurrent use.
type Terminal struct {
	opts   Options
	tty    *tty
	reader cancelreader.CancelReader

	output chan string
	events chan flower.Event
	orders chan func(*ui)
	lines  chan Line
	stop   chan struct{}
	done   chan struct{} // the loop has ended
	read   chan struct{} // the reader has ended
	once   sync.Once
	beside sync.WaitGroup

	mu   sync.Mutex
	rest string // of Write: a line that is not complete yet
}

// Usable says whether a terminal of this kind can do what is needed. Dumb ones cannot move their cursor.
func Usable(getenv func(string) string) bool {
	kind := getenv("TERM")
	return kind != "" && kind != "dumb" && kind != "unknown"
}

// ErrTaken says that another flower has the terminal already.
var ErrTaken = errors.New("open terminal: another flower uses it")

// Open takes the terminal over; the caller closes it. Keys that stand for signals become signals of this process.
func Open(opts Options) (*Terminal, error) {
	if opts.Getenv == nil {
		opts.Getenv = func(string) string { return "" }
	}
	t := &Terminal{
		opts: opts, tty: &tty{in: opts.In, out: opts.Out},
		output: make(chan string), events: make(chan flower.Event, 256), orders: make(chan func(*ui)), lines: make(chan Line),
		stop: make(chan struct{}), done: make(chan struct{}), read: make(chan struct{}),
	}
	if !t.tty.claim() {
		return nil, ErrTaken
	}
	var err error
	if t.reader, err = cancelreader.NewReader(opts.In); err != nil {
		return nil, fmt.Errorf("open terminal: %w", err)
	}
	if err := t.tty.enter(); err != nil {
		return nil, errors.Join(err, t.reader.Close())
	}
	input := make(chan []byte, 64)
	go t.pump(input)
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGWINCH, syscall.SIGCONT)
	go func() {
		defer close(t.done)
		defer signal.Stop(signals)
		u := newUI(opts, t.tty, opts.Out)
		u.input, u.output, u.events, u.orders = input, t.output, t.events, t.orders
		u.signals, u.stop, u.lines, u.later = signals, t.stop, t.lines, t.beside.Go
		u.run()
	}()
	return t, nil
}

// pump reads until the terminal is closed or Close stops it.
func (t *Terminal) pump(input chan<- []byte) {
	defer close(t.read)
	defer close(input)
	for {
		buf := make([]byte, 4096)
		n, err := t.reader.Read(buf)
		if n > 0 {
			select {
			case input <- buf[:n]:
			case <-t.done:
				return
			}
		}
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil || n == 0 {
			return
		}
	}
}

// Write writes output above the region, whole lines of it; the rest waits for its line feed. It waits while the terminal
// is slow. It implements io.Writer.
func (t *Terminal) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := t.rest + string(p)
	end := strings.LastIndexByte(all, '\n') + 1
	t.rest = all[end:]
	for part := all[:end]; part != ""; {
		var head string
		head, part = chunk(part)
		select {
		case t.output <- head:
		case <-t.done: // the loop has ended, the terminal is as it was
			if _, err := io.WriteString(t.opts.Out, head); err != nil {
				return 0, fmt.Errorf("write to terminal: %w", err)
			}
		}
	}
	return len(p), nil
}

// chunk cuts whole lines of at most maxWrite bytes from a text of whole lines, but one line at least.
func chunk(s string) (head, rest string) {
	if len(s) <= maxWrite {
		return s, ""
	}
	end := strings.LastIndexByte(s[:maxWrite], '\n') + 1
	if end == 0 {
		end = strings.IndexByte(s, '\n') + 1
	}
	return s[:end], s[end:]
}

// Event follows what happens in a run.
func (t *Terminal) Event(ev flower.Event) {
	select {
	case t.events <- ev:
	case <-t.done:
	}
}

// Attend says which run is shown from now on; the zero value is none.
func (t *Terminal) Attend(run Run) { t.order(func(u *ui) { u.attend = run }) }

// Window says how large the context window is, in tokens, for the share that is used; 0 is unknown.
func (t *Terminal) Window(tokens int) { t.order(func(u *ui) { u.act.window = tokens }) }

// PutBack gives a line back to the person because it could not be used, and says why beside it; "" says nothing. If something else is being typed
// meanwhile, it is left to the history.
func (t *Terminal) PutBack(line, why string) {
	t.order(func(u *ui) { u.putBack(line, why) })
}

// Lines gives what the person enters. It is closed when the terminal is gone.
func (t *Terminal) Lines() <-chan Line { return t.lines }

func (t *Terminal) order(f func(*ui)) {
	select {
	case t.orders <- f:
	case <-t.done:
	}
}

// Width is the number of cells of a line now; 0 is unknown.
func (t *Terminal) Width() int {
	w, _ := t.tty.size()
	return w
}

// closeGrace is how long a terminal that takes no output is waited for.
const closeGrace = time.Second

// Close takes the region away and leaves the terminal as it was, at every end of the program. It returns what was
// entered and taken by nobody, and behind it what was still being typed, if it is more than blanks. It may be called more
// than once; only the first call returns anything.
func (t *Terminal) Close() (left []Line) {
	t.once.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), closeGrace)
		defer cancel()
		close(t.stop)
		for open := true; open; {
			select {
			case l, ok := <-t.lines:
				if open = ok; ok {
					left = append(left, l)
				}
			case <-ctx.Done():
				open = false
			}
		}
		t.flush()
		_ = t.tty.leave() // the loop has done so unless it hangs in a write
		t.reader.Cancel()
		select {
		case <-t.read:
			_ = t.reader.Close() // nothing is lost: it was read only
		case <-ctx.Done():
		}
	})
	return left
}

// flush writes what waits for a line feed.
func (t *Terminal) flush() {
	if !t.mu.TryLock() {
		return // somebody hangs in a write
	}
	defer t.mu.Unlock()
	if t.rest != "" {
		_, _ = io.WriteString(t.opts.Out, t.rest+"\n") // nobody is left to tell
		t.rest = ""
	}
}
