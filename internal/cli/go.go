package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"flower"
	"flower/agent"
	"flower/internal/config"
	"flower/internal/text"
	"flower/internal/workbench"
)

// maxSeconds is the longest timeout, a year: more is a typing error.
const maxSeconds = 365 * 24 * 60 * 60

// goOptions are the flags of the main command.
type goOptions struct {
	asks        int
	rounds      int
	noGoal      bool
	judgeCanRun bool
	timeout     int // seconds
	fresh       bool
	clarifyOnly bool
	noTrim      bool
	window      int // tokens; 0 is found out
	noHandoff   bool
	noEvidence  bool
	isolated    bool // workers in worktrees of their own
	budget      float64
	wait        waitOptions
	confine     confineFlags
	reach       reachFlags
}

// goCommand works on a request from the first question to the last verdict.
func (a *app) goCommand(use string) *cobra.Command {
	var o goOptions
	c := &cobra.Command{
		Use: use, Short: a.Say("cmd.go"), Args: cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, args []string) error { return a.runGo(o, strings.Join(args, " ")) },
	}
	f := c.Flags()
	f.SortFlags = false
	f.IntVar(&o.asks, "asks", -1, a.Say("flag.asks"))
	f.IntVar(&o.rounds, "rounds", flower.DefaultRounds, a.Say("flag.rounds"))
	f.BoolVar(&o.noGoal, "no-goal", false, a.Say("flag.nogoal"))
	f.BoolVar(&o.judgeCanRun, "judge-can-run", false, a.Say("flag.judgecanrun"))
	f.IntVar(&o.timeout, "timeout", int(flower.DefaultAnswerTimeout/time.Second), a.Say("flag.timeout"))
	f.BoolVar(&o.fresh, "new", false, a.Say("flag.new"))
	f.BoolVar(&o.clarifyOnly, "clarify-only", false, a.Say("flag.clarifyonly"))
	f.BoolVar(&o.noTrim, "no-trim", false, a.Say("flag.notrim"))
	f.IntVar(&o.window, "window", 0, a.Say("flag.window"))
	f.BoolVar(&o.noHandoff, "no-handoff", false, a.Say("flag.nohandoff"))
	f.BoolVar(&o.noEvidence, "no-evidence", false, a.Say("flag.noevidence"))
	f.BoolVar(&o.isolated, "isolate", false, a.Say("flag.isolate"))
	f.Float64Var(&o.budget, "budget", 0, a.Say("flag.budget"))
	o.wait.add(f, a)
	a.addConfine(f, &o.confine)
	a.addReach(f, &o.reach)
	a.addPartial(f)
	return c
}

// check refuses values that mean nothing.
func (o goOptions) check(a *app) error {
	bad := func(flag string, value any, id string) error {
		return &usageError{spoken(fmt.Sprintf("--%s %v: %s", flag, value, a.Say(id)))}
	}
	switch {
	case o.asks < -1:
		return bad("asks", o.asks, "value.asks")
	case o.rounds < 1:
		return bad("rounds", o.rounds, "value.rounds")
	case o.timeout < 0 || o.timeout > maxSeconds:
		return bad("timeout", o.timeout, "value.timeout")
	case math.IsNaN(o.budget) || math.IsInf(o.budget, 0) || o.budget < 0:
		return bad("budget", o.budget, "value.budget")
	case o.window < 0:
		return bad("window", o.window, "value.window")
	case a.global.partial && !a.global.json:
		return &usageError{spoken(a.Say("value.partial"))}
	case o.noTrim && a.global.trim:
		return &usageError{spoken(a.Say("value.trim"))}
	}
	return nil
}

// human turns the flags about questions into what Human takes.
func (o goOptions) human() flower.HumanOptions {
	h := flower.HumanOptions{Timeout: time.Duration(o.timeout) * time.Second, MaxQuestions: o.asks}
	if o.timeout == 0 {
		h.Timeout = -1
	}
	switch o.asks {
	case -1:
		h.MaxQuestions = 0
	case 0:
		h.MaxQuestions = -1
	}
	return h
}

// runGo checks everything that can be checked before anything is written or spent, and then works under supervision.
func (a *app) runGo(o goOptions, ask string) error {
	a.startEvents("go", time.Duration(o.timeout)*time.Second, o.budget)
	if err := errors.Join(o.check(a), o.confine.check(a), o.reach.check(a)); err != nil {
		return err
	}
	retry, err := o.wait.retry(a)
	if err != nil {
		return err
	}
	if err := a.checkRequest(ask); err != nil {
		return err
	}
	where, err := a.findPlace()
	if err != nil {
		return err
	}
	// Talking to a flower that runs already needs no credentials: run says if they are missed.
	load := a.configure
	if where.runs() {
		load = a.loadConfig
	}
	cfg, redactor, cfgErr := load()
	var stop *stopError
	if errors.As(cfgErr, &stop) {
		return cfgErr
	}
	wanted, err := a.wish(a.withoutKeys(ask)) // as it is typed at the prompt
	if err != nil {
		return err
	}
	o.fresh = o.fresh || wanted.fresh
	g := &goRun{app: a, goOptions: o, ask: wanted.text, place: where, cfg: cfg, cfgErr: cfgErr, redactor: redactor, retry: retry}
	if err := a.openTerminal(redactor); err != nil {
		return err
	}
	defer a.closeTerminal()
	g.input = a.newInput()
	return a.supervise(g.run)
}

// goRun is one run of the main command.
type goRun struct {
	*app
	goOptions
	ask      string
	place    place
	cfg      config.Config
	cfgErr   error
	redactor *config.Redactor
	retry    agent.Retry
	input    *input
	heard    bool              // the person was asked for a line
	receipt  *flower.NoteTaken // of a request that was put into another flower's inbox
	note     agent.Note        // the same, as it stands there
	print    reporter
	printer  *printer // the same, where it is one
	tally    *tally
	trees    *isolation
	windows  *windows // known once there is a rig
	asides   *asides  // nil: nobody is there to ask
}

func (g *goRun) run(ctx context.Context, w *watch) (err error) {
	g.tally = &tally{workspace: g.place.workspace}
	if owner, runs := flower.Running(g.place.runDir); runs {
		if done, err := g.beside(ctx, owner); done || err != nil {
			return err
		}
	}
	if g.cfgErr != nil {
		return g.cfgErr
	}
	g.report()
	if g.input.terminal || g.events != nil {
		g.asides = g.newAsides()
	}
	if err := g.isolate(ctx); err != nil {
		return err
	}
	began := g.Now()
	wake := flower.WakeState(g.place.workspace, g.place.runDir)
	waking := wake.Waking || wake.Steps[flower.StepClarify] != ""
	if g.ask == "" && g.input.terminal && !g.fresh {
		g.sayMoved(wake)
	}
	if g.ask == "" && (g.fresh || !waking) {
		if err := g.request(ctx); err != nil {
			return err
		}
	}
	if err := g.moveBench(); err != nil {
		return err
	}
	r, err := g.newRig(ctx, g.cfg, g.redactor, g.rigOptions(w))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	if done, err := g.begin(ctx, r, wake, waking); done || err != nil {
		return err
	}
	g.windows = r.windows
	defer g.attend(r)()
	w.running(r.rt)
	g.ending("")
	finish := func() {}
	if g.asides != nil {
		finish = g.asides.begin(ctx, r)
		g.input.side = asideLines{g}.side
		if orders := g.input.orders; orders != nil {
			orders.side = g.asides.ask
		}
	}
	hush := g.listen(ctx, r)
	defer hush()
	_, err = g.work(ctx, r)
	finish()
	hush() // a remark that was made while an answer was waited for is kept
	g.close(err, g.Now().Sub(began))
	g.unheard(ctx, r)
	return withMore(err, g.again("--budget"))
}

// report decides who tells what happens.
func (g *goRun) report() {
	if g.events != nil {
		g.events.prices = tilde(g.cfg.Prices.Path, g.place.home)
		g.print = g.events
		return
	}
	g.printer = newPrinter(g.Printer, printOptions{
		screen: g.out, width: func() int { return g.lineWidth(g.stdio.Out) }, now: g.Now,
		workspace: g.place.workspace, verbose: g.global.verbose, hint: g.questionHint,
		fold: g.tty != nil && !g.global.verbose, styles: g.styled(), asks: g.input.terminal,
		budget: g.budget, prices: tilde(g.cfg.Prices.Path, g.place.home),
	})
	g.print = g.printer
}

// sayMoved says that the directory was moved while something can still be done about it.
func (g *goRun) sayMoved(wake flower.Wake) {
	for _, problem := range wake.Problems {
		if problem.Moved {
			g.print.Event(problem)
		}
	}
}

// begin says what is remembered, asks what is wanted, makes the run directory ours, and puts the history aside if
// something new begins. Nobody who has not decided yet keeps others from running: the asking comes first.
func (g *goRun) begin(ctx context.Context, r *rig, wake flower.Wake, waking bool) (done bool, err error) {
	remember := func() {
		g.print.Wake(tilde(g.place.workspace, g.place.home), wake, r.rt.ContextOf(ctx, wake.Steps[flower.StepWork]))
	}
	goesOn := waking && !g.fresh
	asks := goesOn && g.ask == ""
	if asks {
		remember()
		if err := g.askAgain(ctx); err != nil {
			return false, err
		}
	}
	if done, err := g.claim(ctx, r); done || err != nil {
		return done, err
	}
	if goesOn && !asks {
		remember()
	}
	if !g.fresh {
		return false, nil
	}
	dir, err := r.rt.Archive(ctx)
	if err == nil && dir != "" {
		g.print.Notice("+ ", "archived", text.Data{"Path": g.place.short(dir)})
	}
	return false, err
}

func (g *goRun) rigOptions(w *watch) rigOptions {
	opts := rigOptions{
		place: g.place, human: g.human(), bench: true, confine: g.confine, reach: g.reach, trim: !g.noTrim, window: g.window, noHandoff: g.noHandoff, evidence: !g.noEvidence,
		trees: g.trees, print: g.print, budget: g.budget, retry: g.retry, hurry: w.hurry,
		observe: func(ev flower.Event) {
			g.tally.Event(ev)
			g.input.follow(ev)
			g.print.Event(ev)
			g.input.shown(ev)
			g.asides.event(ev)
			g.follow(ev)
		},
	}
	if orders := g.input.orders; orders != nil {
		orders.interrupt = w.interrupt
		opts.interrupt = orders.goOn
	}
	if g.input.terminal {
		opts.interrupt = func(ctx context.Context) (string, bool) {
			return g.input.ask(ctx, g.Say("prompt.interrupt"))
		}
	}
	return opts
}

// request asks what is wanted.
func (g *goRun) request(ctx context.Context) error {
	g.heard = true
	for {
		said, ok, err := g.input.prompt(ctx, "prompt.new")
		if err != nil {
			return err
		}
		if g.ask = said.text; g.ask != "" {
			return nil
		}
		switch {
		case said.fresh: // that much is clear already
		case !ok && g.input.terminal:
			return &stopError{exitOK} // left with Ctrl-D: nothing has begun
		case !g.input.terminal:
			return &usageError{spoken(g.Say("request.none"))}
		}
	}
}

// askAgain asks at wake whether there is anything new to say.
func (g *goRun) askAgain(ctx context.Context) error {
	g.heard = true
	said, ok, err := g.input.prompt(ctx, "prompt.wake")
	switch {
	case err != nil:
		return err
	case !ok && g.input.terminal:
		return &stopError{exitOK} // left with Ctrl-D: nothing has begun
	case said.fresh && said.text == "":
		g.fresh = true
		return g.request(ctx)
	}
	g.fresh, g.ask = g.fresh || said.fresh, said.text
	return nil
}

// questionHint says under a question how to answer it.
func (g *goRun) questionHint(q flower.Question) string {
	switch {
	case g.timeout == 0, !g.input.terminal:
		return ""
	case len(q.Options) > 0:
		return g.Say("hint.options", text.Data{"Time": text.Span(time.Duration(g.timeout) * time.Second)})
	}
	return g.Say("hint.question", text.Data{"Time": text.Span(time.Duration(g.timeout) * time.Second)})
}

// listen hands the person's lines over until hush is called.
func (g *goRun) listen(ctx context.Context, r *rig) (hush func()) {
	serving, stop := context.WithCancel(ctx)
	served := make(chan struct{})
	go func() {
		defer close(served)
		g.input.serve(serving, r.human, g.timeout != 0)
	}()
	return func() { stop(); <-served }
}

// work runs the workflow.
func (g *goRun) work(ctx context.Context, r *rig) (*flower.Outcome, error) {
	workflow := flower.Starter(flower.StarterOptions{
		Ask: g.ask, ClarifyOnly: g.clarifyOnly, NoGoal: g.noGoal, Rounds: g.rounds, JudgeCanRun: g.judgeCanRun, Lang: g.promptLang(),
	})
	return workflow.Run(ctx, r.rt)
}

// unheard says how many remarks have come too late for this run: they were taken, and people may count on them.
func (g *goRun) unheard(ctx context.Context, r *rig) {
	waiting, err := r.store.PendingNotes(context.WithoutCancel(ctx), flower.ProjectKey(g.place.workspace))
	if err == nil && len(waiting) > 0 {
		g.print.Notice("! ", "note.waiting", text.Data{"N": len(waiting)})
	}
}

// ending says to programs, while it is not known how the run will end, where things are and how to go on.
func (g *goRun) ending(next string) {
	if g.events == nil {
		return
	}
	if next == "" {
		next = g.again()
	}
	manifest := g.place.manifest()
	g.events.ends(func(e *endEvent) {
		g.tally.fill(e)
		e.Asides = g.asides.cost()
		e.Manifest, e.Next = &manifest, &next
	})
}

// spent says what the run has cost: the work, as the row below the output and programs have it, and side questions, whenever
// they were answered, by their own name.
func (g *goRun) spent() string {
	said := g.printer.spent(g.tally.spent())
	if a := g.asides.cost(); a != nil {
		said += " · " + g.Say("closing.asides", text.Data{"Cost": cost(g.Printer, a.CostUSD, a.Unpriced, a.Usage)})
	}
	return said
}

// close writes the last lines: how it ended, what it cost, how long it took and where the books are; what was done; what
// to type next.
func (g *goRun) close(err error, took time.Duration) {
	if g.events != nil {
		next := ""
		var budget *budgetError
		if errors.As(withMore(err, g.again("--budget")), &budget) {
			next = budget.next()
		}
		g.ending(next)
		return
	}
	g.out.Line("")
	id := "closing.done"
	if err != nil {
		id = "closing.stopped"
	}
	books, relErr := filepath.Rel(g.Dir, g.place.manifest())
	if relErr != nil || strings.HasPrefix(books, "..") {
		books = g.place.manifest()
	}
	p := g.printer
	p.block("== ", g.Say(id, text.Data{"Cost": g.spent(), "Time": text.Elapsed(took), "Path": books}))
	for _, line := range g.tally.done(g.Printer) {
		p.block("   ", line)
	}
	p.block("   ", g.Say("closing.where", text.Data{"Notes": g.place.short(workbench.Open(g.place.workspace).Notes()), "Flower": g.again()}))
	next := "next.done"
	if err != nil {
		next = "next.stopped"
	} else if g.clarifyOnly {
		next = "next.clarified"
	}
	p.block("   ", g.Say(next, text.Data{"Flower": g.again()}))
}
