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

	answer func(ctx context.Context, question string) (flower.StepResult, error)

	taking sync.Mutex // held while a question is told and queued
	over   bool       // none is taken any more

	mu     sync.Mutex
	events []string
	open   int        // questions that have no answer yet
	spent  asideState // by those that have been dealt with
}

// Why a side question is not taken.
var (
	errAsidesFull = errors.New("too many side questions wait already")
	errAsidesOver = errors.New("the work is done")
)

// errGrace is why an answer is not waited for any longer.
var errGrace = errors.New("the work is done, and the answer did not come in time")

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
	ctx, cancel := context.WithCancelCause(ctx)
	a.main = main
	oracle := &oracle{asides: a}
	a.answer = oracle.answer
	go func() {
		defer close(a.done)
		defer oracle.close()
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

// ask takes a question, or says why not: errAsidesFull, errAsidesOver.
func (a *asides) ask(q sideQuestion) error {
	a.taking.Lock()
	defer a.taking.Unlock()
	switch {
	case a.over:
		return errAsidesOver
	case len(a.pending) == cap(a.pending): // nobody else sends
		return errAsidesFull
	}
	a.tell.asideAsked(q) // before it can be answered
	a.count(1)
	a.pending <- q
	return nil
}

// count adds to the questions that have no answer yet, and returns how many there are.
func (a *asides) count(n int) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.open += n
	return a.open
}

// serve answers one question after the other.
func (a *asides) serve(ctx context.Context) {
	for question := range a.pending {
		row, err := flower.StepResult{}, context.Cause(ctx)
		if err == nil {
			row, err = a.answer(ctx, question.text)
		}
		if ctx.Err() != nil && err != nil {
			err = context.Cause(ctx)
		}
		a.spend(row)
		a.tell.asideDone(question, row, err)
		a.count(-1)
	}
}

func (a *asides) spend(row flower.StepResult) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.spent.Questions++
	a.spent.CostUSD += row.CostUSD
	a.spent.Unpriced = a.spent.Unpriced || row.Unpriced
	a.spent.Usage = a.spent.Usage.Add(row.Usage)
}

// cost is what side questions have cost; nil if there were none.
func (a *asides) cost() *asideState {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.spent.Questions == 0 {
		return nil
	}
	spent := a.spent
	return &spent
}

// finish waits for an answer that is on its way, not for ever, and then ends what still runs.
func (a *asides) finish(cancel context.CancelCauseFunc) {
	a.taking.Lock()
	a.over = true
	close(a.pending)
	a.taking.Unlock()
	if a.count(0) > 0 {
		a.tell.asideWaits()
	}
	grace := time.NewTimer(asideGrace)
	defer grace.Stop()
	select {
	case <-a.done:
	case <-grace.C:
	}
	cancel(errGrace)
	<-a.done
}

// oracle answers side questions in one conversation. Its rig is made for the first one.
type oracle struct {
	*asides
	rig     *rig
	session string
}

func (o *oracle) answer(ctx context.Context, question string) (flower.StepResult, error) {
	if o.rig == nil {
		r, err := o.run.asideRig(ctx, o.main)
		if err != nil {
			return flower.StepResult{}, err
		}
		o.rig = r
	}
	row, err := o.rig.rt.Consult(ctx, o.session, question, o.recent())
	o.session = firstOf(row.SessionID, o.session)
	return row, err
}

func (o *oracle) close() {
	if o.rig != nil {
		_ = o.rig.close() // its books are nobody's work
	}
}

// asideLines tells a person.
type asideLines struct{ *goRun }

func (a asideLines) asideAsked(q sideQuestion) {
	a.marked(a.err, "+ ", a.Say("aside.asked", text.Data{"Text": oneLine(q.text)}))
}

func (a asideLines) asideDone(q sideQuestion, row flower.StepResult, err error) {
	switch {
	case errors.Is(err, errGrace):
		a.printer.Aside("! ", a.Say("aside.cut", text.Data{"Text": oneLine(q.text)}), "")
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
	if question == "" {
		a.marked(a.err, "! ", a.Say("aside.empty"))
		return
	}
	switch err := a.asides.ask(sideQuestion{text: question}); {
	case errors.Is(err, errAsidesOver):
		a.input.refuse("?"+question, a.Say("aside.over"))
	case err != nil:
		a.input.refuse("?"+question, a.Say("aside.full", text.Data{"N": asideQueue}))
	}
}
