package cli

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os/signal"
	"strings"
	"sync"
	"syscall"

	"flower"
	"flower/internal/text"
)

// input is the person's side of a run: lines come in from one stream and go to whoever waits for one.
//
// On a terminal a line answers the question that waits, or is a remark if none does. Elsewhere lines are answers, kept
// until their question comes.
type input struct {
	app      *app
	terminal bool
	lines    <-chan inputLine

	mu      sync.Mutex
	capture chan string // takes the next line, if somebody asked for it
	ended   bool

	asked chan struct{} // wakes serve up when a question comes
}

type inputLine struct {
	text    string
	tooLong bool
}

// newInput begins to read. The goroutine that reads hangs in the system until a line or the end comes: it is left
// behind when the program ends, nothing waits for it.
func (a *app) newInput() *input {
	lines := make(chan inputLine)
	in := &input{app: a, terminal: isTerminal(a.stdio.In), lines: lines, asked: make(chan struct{}, 1)}
	if a.stdio.In == nil {
		close(lines)
		return in
	}
	terminal := in.terminal
	go func() {
		readLines(a.stdio.In, lines)
		// A terminal that is gone is like SIGHUP, also where that has not come. Nobody has said then that they leave: the
		// lines do not end. Who ignores SIGHUP goes on without one.
		if terminal && !isTerminal(a.stdio.In) && !signal.Ignored(syscall.SIGHUP) {
			close(a.hungUp)
			return
		}
		close(lines)
	}()
	return in
}

// readLines sends line after line until the end. An error is an end: a terminal that was closed gives EIO.
func readLines(r io.Reader, lines chan<- inputLine) {
	in := bufio.NewReaderSize(r, 64<<10)
	for {
		line, err := readLine(in)
		if err != nil && line.text == "" && !line.tooLong {
			return
		}
		lines <- line
		if err != nil {
			return
		}
	}
}

// readLine reads up to a line feed; of a line that is too long the rest is thrown away.
func readLine(in *bufio.Reader) (inputLine, error) {
	var line inputLine
	for {
		part, err := in.ReadSlice('\n')
		if len(line.text)+len(part) > maxRequest+len("\r\n") {
			line.tooLong = true
		} else if !line.tooLong {
			line.text += string(part)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			line.text = strings.TrimSuffix(strings.TrimSuffix(line.text, "\n"), "\r")
			return line, err
		}
	}
}

// next waits for a line. It returns false at the end, and the error of ctx or of a line that cannot be used.
func (in *input) next(ctx context.Context) (string, bool, error) {
	select {
	case <-ctx.Done():
		return "", false, context.Cause(ctx)
	case line, ok := <-in.lines:
		if line.tooLong {
			line.text = strings.Repeat("x", maxRequest+1)
		}
		if err := in.app.checkRequest(line.text); err != nil {
			return "", false, err
		}
		return strings.TrimSpace(line.text), ok, nil
	}
}

// prompt asks for a line on a terminal; elsewhere it only reads.
func (in *input) prompt(ctx context.Context, id string) (string, bool, error) {
	if in.terminal {
		in.app.out.Line(in.app.Say(id))
		in.app.out.Text("> ")
	}
	return in.next(ctx)
}

// serve hands lines over until ctx is done or the input ends; whoever starts it waits for it. patient says that
// questions wait for an answer.
func (in *input) serve(ctx context.Context, human *flower.Human, patient bool) {
	for first := true; ; first = false {
		var line inputLine
		var ok bool
		select {
		case <-ctx.Done():
			return
		case line, ok = <-in.lines:
		}
		if !ok {
			in.end(human, patient && (first || in.terminal))
			return
		}
		said := strings.ToValidUTF8(line.text, "\uFFFD")
		switch {
		case line.tooLong:
			in.app.err.Line("! " + in.app.Say("request.long", text.Data{"KiB": maxRequest >> 10}))
		case in.terminal:
			in.fromTerminal(ctx, human, said)
		case !in.fromPipe(ctx, human, said):
			return
		}
	}
}

// end is the end of the input: nobody is there any more. It says so on a terminal, where Ctrl-D is typed easily, and
// where nobody was there from the beginning; who has answered through a pipe sees what becomes of the next question.
func (in *input) end(human *flower.Human, warn bool) {
	in.mu.Lock()
	in.ended = true
	if in.capture != nil {
		close(in.capture)
		in.capture = nil
	}
	in.mu.Unlock()
	human.Leave()
	if warn {
		in.app.err.Line("! " + in.app.Say("input.end"))
	}
}

func (in *input) fromTerminal(ctx context.Context, human *flower.Human, said string) {
	in.mu.Lock()
	capture := in.capture
	in.capture = nil
	in.mu.Unlock()
	if capture != nil {
		capture <- said // buffered
		return
	}
	if q, waits := human.Pending(); waits && human.Answer(q.ID, said) {
		return
	}
	if err := human.Say(ctx, said); err != nil && ctx.Err() == nil {
		in.app.err.Line("! " + in.app.Say("note.lost", text.Data{"Text": oneLine(said), "Err": oneLine(err.Error())}))
	}
}

// fromPipe keeps a line until a question waits for it; false if none comes any more.
func (in *input) fromPipe(ctx context.Context, human *flower.Human, said string) bool {
	for {
		if q, waits := human.Pending(); waits && human.Answer(q.ID, said) {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-in.asked:
		}
	}
}

// questionAsked wakes serve up.
func (in *input) questionAsked() {
	select {
	case in.asked <- struct{}{}:
	default:
	}
}

// ask takes the next line for itself while serve runs; false if there is none. The line is claimed before the prompt is
// shown: people type fast.
func (in *input) ask(ctx context.Context, prompt string) (string, bool) {
	answer := make(chan string, 1)
	in.mu.Lock()
	ended := in.ended
	in.capture = answer
	in.mu.Unlock()
	if ended {
		return "", false
	}
	in.app.out.Text(prompt + "\n> ")
	select {
	case said, ok := <-answer:
		return said, ok
	case <-ctx.Done():
		in.mu.Lock()
		defer in.mu.Unlock()
		if in.capture == answer {
			in.capture = nil // the next line is for somebody else
		}
		return "", false
	}
}
