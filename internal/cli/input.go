package cli

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"

	"flower"
	"flower/internal/text"
	"flower/internal/tui"
)

// input is the person's side of a run: lines come in from one stream and go to whoever waits for one.
//
// On a terminal a line answers the question that waits if it was begun when that had been asked; else it is a remark. Elsewhere lines are answers, kept
// until their question comes.
type input struct {
	app      *app
	terminal bool
	lines    <-chan tui.Line
	keys     *keyboard // where a terminal is read as lines come; else nil
	orders   *orders   // what a program says instead of lines; nil: a person says them
	// side takes a question beside the work; nil: there are none, and "?" begins a remark like any other.
	side func(question string)
	deaf bool // nobody hears remarks: what answers no question is given back

	mu      sync.Mutex
	capture chan string // takes the next line, if somebody asked for it
	asking  string      // what was asked then
	ended   bool
	order   map[string]int // of questions, as they were asked
	half    string         // what was half typed when the newest came

	asked chan struct{} // wakes serve up when a question comes
}

// newInput begins to read, or takes what the terminal reads. The goroutine that reads hangs in the system until a line or the end comes: it is left
// behind when the program ends, nothing waits for it.
func (a *app) newInput() *input {
	if a.tty != nil {
		return &input{app: a, terminal: true, lines: a.tty.Lines(), asked: make(chan struct{}, 1)}
	}
	if a.events != nil {
		return &input{app: a, asked: make(chan struct{}, 1), orders: newOrders(a)}
	}
	lines := make(chan tui.Line)
	in := &input{app: a, terminal: isTerminal(a.stdio.In), lines: lines, asked: make(chan struct{}, 1)}
	if a.stdio.In == nil {
		close(lines)
		return in
	}
	if in.terminal {
		in.keys = newKeyboard(a.stdio.In.(*os.File))
	}
	go func() {
		if in.keys == nil {
			readLines(a.stdio.In, lines)
			close(lines)
			return
		}
		in.keys.run(lines)
		// A terminal that is gone is like SIGHUP, also where that has not come. Nobody has said then that they leave: the
		// lines do not end. Who ignores SIGHUP goes on without one.
		if hungUp(a.stdio.In) && !signal.Ignored(syscall.SIGHUP) {
			close(a.hungUp)
			return
		}
		close(lines)
	}()
	return in
}

// readLines sends line after line until the end. An error is an end: a terminal that was closed gives EIO.
func readLines(r io.Reader, lines chan<- tui.Line) {
	in := bufio.NewReaderSize(r, 64<<10)
	for {
		line, err := readLine(in, maxRequest)
		if err != nil && line == "" {
			return
		}
		lines <- tui.Line{Text: line}
		if err != nil {
			return
		}
	}
}

// readLine reads up to a line feed; of a line that is longer than limit only so much is kept that it shows.
func readLine(in *bufio.Reader, limit int) (string, error) {
	line := ""
	for {
		part, err := in.ReadSlice('\n')
		if len(line) <= limit+len("\r\n") {
			line += string(part)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r"), err
		}
	}
}

// next waits for a line. It returns false at the end, and the error of ctx or of a line that cannot be used.
func (in *input) next(ctx context.Context) (string, bool, error) {
	if in.orders != nil {
		said, ok, err := in.orders.request(ctx, "remark")
		return said.text, ok, err
	}
	for {
		select {
		case <-ctx.Done():
			return "", false, context.Cause(ctx)
		case line, ok := <-in.lines:
			err := in.app.checkRequest(line.Text)
			switch {
			case err == nil:
				return strings.TrimSpace(in.app.withoutKeys(line.Text)), ok && !line.End, nil
			case in.app.tty == nil:
				return "", false, err
			}
			in.app.tty.PutBack(line.Text, in.app.explainer().explain(err))
		}
	}
}

// prompt asks what is wanted on a terminal; elsewhere it only reads.
func (in *input) prompt(ctx context.Context, id string) (wish, bool, error) {
	if in.orders != nil {
		return in.orders.request(ctx, promptNames[id])
	}
	for {
		if in.terminal {
			in.show("", in.app.Say(id))
		}
		said, ok, err := in.next(ctx)
		if err != nil {
			return wish{}, false, err
		}
		if !in.terminal {
			w, err := in.app.wish(said)
			return w, ok, err
		}
		if in.app.tty != nil && said != "" {
			in.app.marked(in.app.out, "> ", said)
		}
		switch e := parseEntry(said); {
		case e.command == commandNew:
			return wish{e.text, true}, ok, nil
		case !in.command(ctx, e, said):
			return wish{text: strings.TrimSpace(textOf(e, said))}, ok, nil
		}
	}
}

// show writes what is asked under a mark; the line to type on follows.
func (in *input) show(mark, prompt string) {
	in.app.marked(in.app.out, mark, prompt)
	if in.app.tty == nil {
		in.app.out.Text("> ")
	}
}

// serve hands lines over until ctx is done or the input ends; whoever starts it waits for it. patient says that
// questions wait for an answer.
func (in *input) serve(ctx context.Context, human *flower.Human, patient bool) {
	if in.orders != nil {
		in.orders.serve(ctx, human)
		return
	}
	for first := true; ; first = false {
		var line tui.Line
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
		line.Text = in.app.withoutKeys(strings.ToValidUTF8(line.Text, "\uFFFD"))
		switch {
		case line.End:
			in.end(human, patient)
		case len(line.Text) > maxRequest:
			in.refuse(line.Text, in.app.Say("request.long", text.Data{"KiB": maxRequest >> 10}))
		case in.terminal:
			in.fromTerminal(ctx, human, line)
		case !in.fromPipe(ctx, human, line.Text):
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
		in.app.marked(in.app.err, "! ", in.app.Say("input.end"))
	}
}

// refuse gives a line back with the reason why it was not taken.
func (in *input) refuse(said, why string) {
	if in.app.tty != nil {
		in.app.tty.PutBack(said, "")
	}
	in.app.marked(in.app.err, "! ", why)
}

func (in *input) fromTerminal(ctx context.Context, human *flower.Human, line tui.Line) {
	e := parseEntry(line.Text)
	if in.command(ctx, e, line.Text) {
		in.askAgain()
		return
	}
	said := textOf(e, line.Text)
	in.mu.Lock()
	capture := in.capture
	in.capture = nil
	in.mu.Unlock()
	if capture != nil {
		capture <- said // buffered
		return
	}
	switch q, waits := human.Pending(); {
	case in.app.tty != nil && line.Question != "":
		// It answers the question it was typed for, and no other.
		if !human.Answer(line.Question, said) && strings.TrimSpace(said) != "" {
			in.refuse(said, in.app.Say("answer.late"))
		}
		return
	case in.app.tty == nil && waits && in.typedFor(line, q) && human.Answer(q.ID, said):
		return
	case in.deaf && strings.TrimSpace(said) == "":
		return
	case in.deaf && waits && in.keys != nil:
		in.refuse(said, in.app.Say("input.begun", text.Data{"Text": oneLine(said)}))
		return
	case in.deaf:
		in.refuse(said, in.app.Say("note.once"))
		return
	}
	// The line was taken out of the terminal: that the work ends at this moment must not lose it.
	if err := human.Say(context.WithoutCancel(ctx), said); err != nil {
		in.refuse(said, in.app.Say("note.lost", text.Data{"Text": oneLine(said), "Err": in.app.explainer().explain(err)}))
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

// typedFor says whether a line was begun when the question had been asked. Where that cannot be known it was.
func (in *input) typedFor(line tui.Line, q flower.Question) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.keys == nil || in.order[q.ID] <= in.order[line.Question]
}

// follow is told what happens, before anybody is shown it.
func (in *input) follow(ev flower.Event) {
	if in == nil {
		return
	}
	if in.orders != nil {
		in.orders.follow(ev)
	}
	switch ev := ev.(type) {
	case flower.Asked:
		in.asks(ev.Question)
	case flower.Settled:
		if in.keys != nil && ev.How != flower.Given && ev.How != flower.Skipped {
			in.keys.givenUp()
		}
	}
}

// asks notes that a question comes, and wakes serve up.
func (in *input) asks(q flower.Question) {
	if in.keys != nil {
		half := in.keys.asked(q.ID)
		in.mu.Lock()
		if in.order == nil {
			in.order = map[string]int{}
		}
		in.order[q.ID] = len(in.order) + 1
		in.half = half
		in.mu.Unlock()
	}
	select {
	case in.asked <- struct{}{}:
	default:
	}
}

// shown is told what happens, when it has been shown. It says under a question that what was half typed does not answer it.
func (in *input) shown(ev flower.Event) {
	if _, asked := ev.(flower.Asked); !asked || in == nil {
		return
	}
	in.mu.Lock()
	half := oneLine(in.half)
	in.half = ""
	in.mu.Unlock()
	if half != "" {
		in.app.marked(in.app.err, "! ", in.app.Say("input.begun", text.Data{"Text": in.app.withoutKeys(half)}))
	}
}

// ask takes the next line for itself while serve runs; false if there is none. The line is claimed before the prompt is
// shown: people type fast.
func (in *input) ask(ctx context.Context, prompt string) (string, bool) {
	answer := make(chan string, 1)
	in.mu.Lock()
	ended := in.ended
	in.capture, in.asking = answer, prompt
	in.mu.Unlock()
	if ended {
		return "", false
	}
	if in.keys != nil {
		in.keys.restart()
	}
	if in.app.tty == nil {
		in.app.out.Line("") // the terminal has shown ^C on the line
	}
	in.show("! ", prompt)
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

// askAgain shows once more what a line is waited for, if it is for ask.
func (in *input) askAgain() {
	in.mu.Lock()
	asks, prompt := in.capture != nil, in.asking
	in.mu.Unlock()
	if asks {
		in.show("! ", prompt)
	}
}
