package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"flower"
	"flower/agent"
	"flower/internal/config"
	"flower/internal/disk"
	"flower/internal/text"
	"flower/internal/tui"
	"flower/tools"
)

// stepOnce is the name under which a single agent's rows stand in the manifest.
const stepOnce = "once"

// onceTools are the tools a single agent may have.
var onceTools = []string{tools.Read, tools.Glob, tools.Grep, tools.Write, tools.Edit, tools.NotebookEdit, tools.Bash, tools.TodoWrite, tools.WebFetch, tools.WebSearch}

// onceOptions are the flags of once.
type onceOptions struct {
	instructions string
	tools        []string
	permission   string
	timeout      int // seconds
	budget       float64
	resume       string
	fork         bool
	wait         waitOptions
	confine      confineFlags
	reach        reachFlags
}

// looking are those of them that no mode asks about.
var looking = []string{tools.Read, tools.Glob, tools.Grep, tools.TodoWrite, tools.WebFetch}

// onceCommand runs one agent once: no workflow, no lineage, no questions but those about what it may do.
func (a *app) onceCommand() *cobra.Command {
	var o onceOptions
	c := &cobra.Command{
		Use: "once " + a.Say("usage.request"), Short: a.Say("cmd.once"), Long: a.Say("cmd.once.long"), Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			if o.resume == "" && c.Flags().Changed("resume") { // an empty variable of a script, for one
				return a.noSession(`""`)
			}
			return a.runOnce(o, strings.Join(args, " "))
		},
	}
	f := c.Flags()
	f.SortFlags = false
	f.StringVarP(&o.instructions, "instructions", "i", "", a.Say("flag.instructions"))
	f.StringSliceVarP(&o.tools, "tools", "t", []string{tools.Read, tools.Glob, tools.Grep}, a.Say("flag.tools", text.Data{"All": strings.Join(onceTools, ",")}))
	f.StringVarP(&o.permission, "permission", "p", tools.ModeDefault, a.Say("flag.permission"))
	f.IntVar(&o.timeout, "timeout", int(permitTimeout/time.Second), a.Say("flag.timeout"))
	f.Float64VarP(&o.budget, "budget", "b", 0, a.Say("flag.budget"))
	f.StringVar(&o.resume, "resume", "", a.Say("flag.resume"))
	f.BoolVar(&o.fork, "fork", false, a.Say("flag.fork"))
	o.wait.add(f, a)
	a.addConfine(f, &o.confine)
	a.addReach(f, &o.reach)
	a.addPartial(f)
	return c
}

func (o onceOptions) check(a *app) error {
	bad := func(flag string, value any, id string, data ...text.Data) error {
		return &usageError{spoken(fmt.Sprintf("--%s %v: %s", flag, value, a.Say(id, data...)))}
	}
	for _, name := range o.tools {
		if !slices.Contains(onceTools, name) && !o.reach.offers(name) {
			return bad("tools", name, "value.tools", text.Data{"All": strings.Join(onceTools, ", ")})
		}
	}
	switch {
	case !slices.Contains(tools.Modes, o.permission):
		return bad("permission", o.permission, "value.permission")
	case o.timeout < 0 || o.timeout > maxSeconds:
		return bad("timeout", o.timeout, "value.timeout")
	case math.IsNaN(o.budget) || math.IsInf(o.budget, 0) || o.budget < 0:
		return bad("budget", o.budget, "value.budget")
	case a.global.partial && !a.global.json:
		return &usageError{spoken(a.Say("value.partial"))}
	case o.fork && o.resume == "":
		return &usageError{spoken(a.Say("value.fork"))}
	}
	return nil
}

func (a *app) runOnce(o onceOptions, ask string) error {
	a.startEvents("once", o.patience(), o.budget)
	if err := errors.Join(o.reach.check(a), o.check(a), o.confine.check(a)); err != nil {
		return err
	}
	o.reach.only(o.tools)
	retry, err := o.wait.retry(a)
	if err != nil {
		return err
	}
	if err := a.checkRequest(ask + o.instructions); err != nil {
		return err
	}
	where, err := a.findPlace()
	if err != nil {
		return err
	}
	cfg, redactor, err := a.configure()
	if err != nil {
		return err
	}
	o.instructions = a.withoutKeys(o.instructions)
	wanted, err := a.wish(a.withoutKeys(ask))
	if err != nil {
		return err
	}
	r := &onceRun{app: a, onceOptions: o, ask: wanted.text, place: where, cfg: cfg, redactor: redactor, retry: retry}
	if r.asks() && a.events == nil {
		if err := a.openTerminal(redactor); err != nil {
			return err
		}
		defer a.closeTerminal()
	}
	return a.supervise(r.run)
}

// patience is how long a question about a call waits.
func (o onceOptions) patience() time.Duration { return time.Duration(o.timeout) * time.Second }

// asks says whether the mode has anything to ask about and somebody can be asked: on a terminal that shows what is asked,
// or by a program.
func (o *onceRun) asks() bool {
	mode := o.permission == tools.ModeDefault || o.permission == tools.ModeAcceptEdits
	changes := slices.ContainsFunc(o.tools, func(name string) bool { return !slices.Contains(looking, name) })
	there := o.events != nil || isTerminal(o.stdio.In) && isTerminal(o.stdio.Err)
	return mode && changes && there && o.timeout > 0
}

// noSession says that there is no such session to go on in.
func (a *app) noSession(id string) error {
	return &usageError{spoken(a.Say("value.resume", text.Data{"Session": id}))}
}

// onceRun is one run of once. What happens goes to the error stream, the answer alone to the output.
type onceRun struct {
	*app
	onceOptions
	ask      string
	place    place
	cfg      config.Config
	redactor *config.Redactor
	retry    agent.Retry
	input    *input // nil: nothing is read
}

func (o *onceRun) run(ctx context.Context, w *watch) (err error) {
	begins := o.ask == "" && o.resume == ""
	if begins || o.asks() || o.events != nil {
		o.input = o.newInput()
		o.input.deaf = true
		if o.input.orders != nil {
			o.input.orders.deaf = true
		}
	}
	if begins {
		said, _, err := o.input.prompt(ctx, "prompt.new")
		if err != nil {
			return err
		}
		if o.ask = said.text; o.ask == "" {
			return &usageError{spoken(o.Say("request.none"))}
		}
	}
	if o.resume != "" && !disk.Exists(filepath.Join(o.place.runDir, storeFile)) {
		return o.noSession(o.resume) // before the rig makes a store
	}
	show := o.reporter()
	done := &tally{workspace: o.place.workspace}
	r, err := o.newRig(ctx, o.cfg, o.redactor, o.rigOptions(w, show, done))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	if o.resume != "" {
		if there, err := r.rt.HasSession(ctx, o.resume); err != nil {
			return err
		} else if !there {
			return o.noSession(o.resume)
		}
	}
	if slices.Contains(o.tools, tools.WebSearch) && !o.cfg.Searches(o.reach.search) {
		show.Notice("! ", "search.missing", nil)
	}
	w.running(r.rt)
	result, err := o.work(ctx, r)
	err = withMore(err, o.again("once", "--resume", result.SessionID, "--budget"))
	if o.events != nil {
		o.ending(done, result, err)
		return err
	}
	if err != nil {
		return err
	}
	o.out.Line(strings.TrimRight(result.Text, "\n"))
	o.marked(o.err, "== ", o.Say("once.closing", text.Data{
		"Cost": cost(o.Printer, result.CostUSD, result.Unpriced, result.Usage), "Time": text.Elapsed(result.EndedAt.Sub(result.StartedAt)), "Flower": o.again("once", "--resume", result.SessionID),
	}))
	for _, line := range done.done(o.Printer) {
		o.marked(o.err, "   ", line)
	}
	return nil
}

func (o *onceRun) rigOptions(w *watch, show reporter, done *tally) rigOptions {
	opts := rigOptions{
		place: o.place, human: flower.HumanOptions{Timeout: -1, NoLog: !o.global.workbench}, bench: o.global.workbench, confine: o.confine, reach: o.reach,
		trim: o.global.trim, noHandoff: true, print: show, budget: o.budget, retry: o.retry, hurry: w.hurry, permits: o.asks(),
		observe: func(ev flower.Event) {
			done.Event(ev)
			o.input.follow(ev)
			show.Event(ev)
			o.input.shown(ev)
			if o.tty != nil {
				o.tty.Event(ev)
			}
		},
	}
	if o.timeout > 0 {
		opts.human.Timeout = o.patience()
	}
	switch {
	case o.input == nil:
	case o.input.orders != nil:
		o.input.orders.interrupt, opts.interrupt = w.interrupt, o.input.orders.goOn
	case o.asks():
		opts.interrupt = func(ctx context.Context) (string, bool) { return o.input.ask(ctx, o.Say("prompt.interrupt")) }
	}
	return opts
}

// work runs the agent while whoever is there is heard.
func (o *onceRun) work(ctx context.Context, r *rig) (flower.StepResult, error) {
	if o.asks() || o.events != nil {
		if o.tty != nil {
			o.tty.Attend(tui.Run{Pending: r.human.Pending})
			defer o.tty.Attend(tui.Run{})
		}
		serving, stop := context.WithCancel(ctx)
		served := make(chan struct{})
		go func() {
			defer close(served)
			o.input.serve(serving, r.human, false)
		}()
		defer func() { stop(); <-served }()
	}
	return r.rt.Run(ctx, flower.Attempt{
		Step: stepOnce, Prompt: o.ask, SessionID: o.resume, Fork: o.fork, Index: o.global.workbench,
		Agent: agent.Spec{Name: stepOnce, Instructions: o.instructions, Tools: o.tools, Permission: o.permission},
	})
}

// reporter tells what happens on the error stream, or programs on the output.
func (o *onceRun) reporter() reporter {
	if o.events != nil {
		o.events.prices = tilde(o.cfg.Prices.Path, o.place.home)
		return o.events
	}
	return newPrinter(o.Printer, printOptions{
		screen: o.err, width: func() int { return o.lineWidth(o.stdio.Err) }, now: o.Now,
		workspace: o.place.workspace, verbose: o.global.verbose, lastWords: true, hint: o.questionHint, styles: o.styled(),
		budget: o.budget, prices: tilde(o.cfg.Prices.Path, o.place.home),
	})
}

// questionHint says under a question about a call how to answer it.
func (o *onceRun) questionHint(flower.Question) string {
	return o.Say("hint.permit", text.Data{"Time": text.Span(o.patience())})
}

// ending says to programs how the run has ended.
func (o *onceRun) ending(done *tally, result flower.StepResult, err error) {
	next, manifest := o.again("once", "--resume", result.SessionID), o.place.manifest()
	var budget *budgetError
	if errors.As(err, &budget) {
		next = budget.next()
	}
	o.events.ends(func(e *endEvent) {
		done.fill(e)
		e.Manifest = &manifest
		if result.SessionID != "" {
			e.Session, e.Next = &result.SessionID, &next
		}
		if err == nil {
			e.Answer = &result.Text
		}
	})
}
