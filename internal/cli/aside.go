package cli

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"flower"
	"flower/internal/text"
)

// Bounds of side questions.
const (
	asideEvents = 60                // what the oracle is told of what happened last
	asideText   = 400               // characters of one event
	asideGrace  = 120 * time.Second // an answer on its way is waited for when the work is done
	asideQueue  = 8                 // questions that may wait
)

// asides answers questions beside the work. It has books of its own below the run directory, so that nothing of the work
// can be touched; what it costs counts in the run's budget.
type asides struct {
	run     *goRun
	main    *rig // of the work
	tell    asideTeller
	render  *printer // writes events into shown
	shown   *strings.Builder
	pending chan sideQuestion
	done    chan struct{}

	mu     sync.Mutex
	events []string
	open   int // questions that have no answer yet
}

// sideQuestion is a question beside the work.
type sideQuestion struct {
	id   string // for who keeps several apart; people do not
	text string
}

// asideTeller says what becomes of side questions: to a person, or to a program.
type asideTeller interface {
	asideAsked(q sideQuestion)
	asideDone(q sideQuestion, row flower.StepResult, err error)
	// asideWaits says that the work is done and an answer on its way is waited for.
	asideWaits()
}

// newAsides keeps what happens from now on.
func (g *goRun) newAsides() *asides {
	shown := &strings.Builder{}
	a := &asides{
		run: g, tell: asideLines{g}, shown: shown, pending: make(chan sideQuestion, asideQueue), done: make(chan struct{}),
		render: newPrinter(g.Printer, printOptions{
			screen: newScreen(shown, false), width: func() int { return 200 }, now: g.Now, workspace: g.place.workspace,
		}),
	}
	a.render.opts.screen.hide(g.redactor.Redact)
	if g.events != nil {
		a.tell = g.events
	}
	return a
}

// begin answers questions from now on; whoever calls it calls the function it returns when the work is done.
func (a *asides) begin(ctx context.Context, main *rig) (finish func()) {
	ctx, cancel := context.WithCancel(ctx)
	a.main = main
	go func() {
		defer close(a.done)
		a.serve(ctx)
	}()
	return func() { a.finish(cancel) }
}

// asideDir holds, in the run directory, the books of side questions.
const asideDir = "aside"

// asideRig is a rig for the oracle: the same endpoint, books in <run dir>/aside, nothing shown.
func (g *goRun) asideRig(ctx context.Context, main *rig) (*rig, error) {
	where := g.place
	where.runDir = filepath.Join(where.runDir, asideDir)
	silent := newPrinter(g.Printer, printOptions{
		screen: newScreen(io.Discard, false), width: func() int { return defaultWidth }, now: g.Now, workspace: where.workspace,
	})
	return g.newRig(ctx, g.cfg, g.redactor, rigOptions{
		place: where, human: flower.HumanOptions{Timeout: -1}, confine: g.confine, trim: true, window: g.window, print: silent,
		observe: func(flower.Event) {}, retry: g.retry, meter: main.rt.Meter(), private: []string{g.place.runDir},
	})
}

// event keeps what happened, as people read it.
func (a *asides) event(ev flower.Event) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.shown.Reset()
	a.render.Event(ev)
	said := strings.TrimSpace(a.shown.String())
	if said == "" {
		return
	}
	if runes := []rune(said); len(runes) > asideText {
		said = string(runes[:asideText]) + "…"
	}
	a.events = append(a.events, a.run.Now().Format(time.TimeOnly)+" "+said)
	a.events = a.events[max(0, len(a.events)-asideEvents):]
}

func (a *asides) recent() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]string(nil), a.events...)
}

// ask takes a question; false: too many wait already.
func (a *asides) ask(q sideQuestion) bool {
	// It is told before it can be answered.
	if len(a.pending) == cap(a.pending) { // nobody else sends
		return false
	}
	a.tell.asideAsked(q)
	a.count(1)
	a.pending <- q
	return true
}

// count adds to the questions that have no answer yet, and returns how many there are.
func (a *asides) count(n int) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.open += n
	return a.open
}

// serve answers one question after the other, in one conversation.
func (a *asides) serve(ctx context.Context) {
	var r *rig
	defer func() {
		if r != nil {
			_ = r.close() // its books are nobody's work
		}
	}()
	session := ""
	for question := range a.pending {
		row, err := flower.StepResult{}, context.Cause(ctx)
		if r == nil && err == nil {
			r, err = a.run.asideRig(ctx, a.main)
		}
		if err == nil {
			row, err = r.rt.Consult(ctx, session, question.text, a.recent())
			session = firstOf(row.SessionID, session)
		}
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		a.tell.asideDone(question, row, err)
		a.count(-1)
	}
}

// finish waits for an answer that is on its way, not for ever, and then ends what still runs.
func (a *asides) finish(cancel context.CancelFunc) {
	close(a.pending)
	if a.count(0) > 0 {
		a.tell.asideWaits()
	}
	grace := time.NewTimer(asideGrace)
	defer grace.Stop()
	select {
	case <-a.done:
	case <-grace.C:
	}
	cancel()
	<-a.done
}

// asideLines tells a person.
type asideLines struct{ *goRun }

func (a asideLines) asideAsked(q sideQuestion) {
	a.marked(a.err, "+ ", a.Say("aside.asked", text.Data{"Text": oneLine(q.text)}))
}

func (a asideLines) asideDone(q sideQuestion, row flower.StepResult, err error) {
	switch {
	case errors.Is(err, context.Canceled), stopped(err): // nobody waits for it any more
	case err != nil:
		a.printer.Aside("! ", a.Say("aside.failed", text.Data{"Err": a.explainer().explain(err)}), "")
	default:
		a.printer.Aside("< ", a.Say("aside.answer", text.Data{"Text": oneLine(q.text), "Cost": text.Dollars(row.CostUSD, row.Unpriced)}), row.Text)
	}
}

func (a asideLines) asideWaits() {
	a.marked(a.err, ". ", a.Say("aside.waits", text.Data{"Time": text.Span(asideGrace)}))
}

// side takes a side question from the terminal.
func (a asideLines) side(question string) {
	switch question = strings.TrimSpace(question); {
	case question == "":
		a.marked(a.err, "! ", a.Say("aside.empty"))
	case !a.asides.ask(sideQuestion{text: question}):
		a.marked(a.err, "! ", a.Say("aside.full", text.Data{"N": asideQueue}))
	}
}
