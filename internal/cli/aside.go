package cli

import (
	"context"
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
	main    *rig     // of the work
	render  *printer // writes events into shown
	shown   *strings.Builder
	pending chan string
	done    chan struct{}

	mu     sync.Mutex
	events []string
	open   int // questions that have no answer yet
}

// newAsides keeps what happens from now on.
func (g *goRun) newAsides() *asides {
	shown := &strings.Builder{}
	a := &asides{
		run: g, shown: shown, pending: make(chan string, asideQueue), done: make(chan struct{}),
		render: newPrinter(g.Printer, printOptions{
			screen: newScreen(shown, false), width: func() int { return 200 }, now: g.Now, workspace: g.place.workspace,
		}),
	}
	a.render.opts.screen.hide(g.redactor.Redact)
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

// ask takes a question; what cannot wait any more is said.
func (a *asides) ask(_ context.Context, question string) {
	question = strings.TrimSpace(question)
	if question == "" {
		a.run.marked(a.run.err, "! ", a.run.Say("aside.empty"))
		return
	}
	a.count(1)
	select {
	case a.pending <- question:
		a.run.marked(a.run.err, "+ ", a.run.Say("aside.asked", text.Data{"Text": oneLine(question)}))
	default:
		a.count(-1)
		a.run.marked(a.run.err, "! ", a.run.Say("aside.full", text.Data{"N": asideQueue}))
	}
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
		if ctx.Err() != nil {
			continue // nobody waits for it any more
		}
		var err error
		if r == nil {
			r, err = a.run.asideRig(ctx, a.main)
		}
		var row flower.StepResult
		if err == nil {
			row, err = r.rt.Consult(ctx, session, question, a.recent())
			session = firstOf(row.SessionID, session)
		}
		switch {
		case ctx.Err() != nil:
		case err != nil:
			a.run.printer.Aside("! ", a.run.Say("aside.failed", text.Data{"Err": a.run.explainer().explain(err)}), "")
		default:
			a.run.printer.Aside("< ", a.run.Say("aside.answer", text.Data{
				"Text": oneLine(question), "Cost": text.Dollars(row.CostUSD, row.Unpriced),
			}), row.Text)
		}
		a.count(-1)
	}
}

// finish waits for an answer that is on its way, not for ever, and then ends what still runs.
func (a *asides) finish(cancel context.CancelFunc) {
	close(a.pending)
	if a.count(0) > 0 {
		a.run.marked(a.run.err, ". ", a.run.Say("aside.waits", text.Data{"Time": text.Span(asideGrace)}))
		grace := time.NewTimer(asideGrace)
		defer grace.Stop()
		select {
		case <-a.done:
		case <-grace.C:
		}
	}
	cancel()
	<-a.done
}
