package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"flower"
	"flower/agent"
	"flower/internal/config"
	"flower/internal/disk"
	"flower/internal/text"
	"flower/tools"
)

// Permission modes of a single agent.
const (
	modeDefault = "default"           // nothing is changed
	modePlan    = "plan"              // the same: look and plan
	modeEdits   = "acceptEdits"       // files may be written
	modeBypass  = "bypassPermissions" // everything
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
	budget       float64
	resume       string
	fork         bool
	wait         waitOptions
	confine      confineFlags
	reach        reachFlags
}

// onceCommand runs one agent once: no workflow, no lineage, no questions.
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
	f.StringVarP(&o.permission, "permission", "p", modeDefault, a.Say("flag.permission"))
	f.Float64VarP(&o.budget, "budget", "b", 0, a.Say("flag.budget"))
	f.StringVar(&o.resume, "resume", "", a.Say("flag.resume"))
	f.BoolVar(&o.fork, "fork", false, a.Say("flag.fork"))
	o.wait.add(f, a)
	a.addConfine(f, &o.confine)
	a.addReach(f, &o.reach)
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
	case !slices.Contains([]string{modeDefault, modePlan, modeEdits, modeBypass}, o.permission):
		return bad("permission", o.permission, "value.permission")
	case math.IsNaN(o.budget) || math.IsInf(o.budget, 0) || o.budget < 0:
		return bad("budget", o.budget, "value.budget")
	case o.fork && o.resume == "":
		return &usageError{spoken(a.Say("value.fork"))}
	}
	return nil
}

func (a *app) runOnce(o onceOptions, ask string) error {
	a.startEvents("once", 0, o.budget)
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
	r := &onceRun{app: a, onceOptions: o, ask: strings.TrimSpace(a.withoutKeys(ask)), place: where, cfg: cfg, redactor: redactor, retry: retry}
	return a.supervise(r.run)
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
}

func (o *onceRun) run(ctx context.Context, w *watch) (err error) {
	if o.ask == "" && o.resume == "" {
		said, _, err := o.newInput().prompt(ctx, "prompt.new")
		if err != nil {
			return err
		}
		if o.ask = said; said == "" {
			return &usageError{spoken(o.Say("request.none"))}
		}
	}
	if o.resume != "" && !disk.Exists(filepath.Join(o.place.runDir, storeFile)) {
		return o.noSession(o.resume) // before the rig makes a store
	}
	show := o.reporter()
	done := &tally{workspace: o.place.workspace}
	r, err := o.newRig(ctx, o.cfg, o.redactor, rigOptions{
		place: o.place, human: flower.HumanOptions{Timeout: -1}, bench: o.global.workbench, confine: o.confine, reach: o.reach, trim: o.global.trim,
		noHandoff: true, print: show, observe: func(ev flower.Event) { done.Event(ev); show.Event(ev) }, budget: o.budget, retry: o.retry, hurry: w.hurry,
		guard: func(box agent.Toolbox) agent.Toolbox { return permitted{box, o.permission} },
	})
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
	result, err := r.rt.Run(ctx, flower.Attempt{
		Step: stepOnce, Prompt: o.ask, SessionID: o.resume, Fork: o.fork, Index: o.global.workbench,
		Agent: agent.Spec{Name: stepOnce, Instructions: o.instructions, Tools: o.tools},
	})
	err = withMore(err, o.again("once", "--resume", result.SessionID, "--budget"))
	if o.events != nil {
		o.ending(done, result, err)
		return err
	}
	if err != nil {
		return err
	}
	o.out.Line(strings.TrimRight(result.Text, "\n"))
	if err := o.out.Err(); err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	// On one line whatever the width: it is there to be copied.
	o.err.Line("== " + o.Say("once.closing", text.Data{
		"Cost": cost(o.Printer, result.CostUSD, result.Unpriced, result.Usage), "Time": text.Elapsed(result.EndedAt.Sub(result.StartedAt)), "Flower": o.again("once", "--resume", result.SessionID),
	}))
	for _, line := range done.done(o.Printer) {
		o.marked(o.err, "   ", line)
	}
	return nil
}

// reporter tells what happens on the error stream, or programs on the output.
func (o *onceRun) reporter() reporter {
	if o.events != nil {
		o.events.prices = tilde(o.cfg.Prices.Path, o.place.home)
		return o.events
	}
	return newPrinter(o.Printer, printOptions{
		screen: o.err, width: func() int { return o.lineWidth(o.stdio.Err) }, now: o.Now,
		workspace: o.place.workspace, verbose: o.global.verbose, lastWords: true,
		budget: o.budget, prices: tilde(o.cfg.Prices.Path, o.place.home),
	})
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

// permitted is a toolbox under a permission mode. Commands that are allowed at all are held to reading in every mode
// but the last.
type permitted struct {
	agent.Toolbox
	mode string
}

// Tools implements agent.Toolbox.
func (p permitted) Tools(spec agent.Spec, env agent.Env) ([]agent.Tool, error) {
	spec.EphemeralShell = spec.EphemeralShell || p.mode != modeBypass
	list, err := p.Toolbox.Tools(spec, env)
	if err != nil {
		return nil, err
	}
	for i, t := range list {
		files := t.Name == tools.Write || t.Name == tools.Edit || t.Name == tools.NotebookEdit
		if files && (p.mode == modeDefault || p.mode == modePlan) {
			list[i].Run = refuse
		}
		if tools.FromServer(t.Name) && !t.Looks && p.mode != modeBypass {
			list[i].Run = refuseServer
		}
	}
	return list, nil
}

// refuse answers a call that would change a file.
func refuse(context.Context, agent.Call) (agent.ToolResult, error) {
	return agent.DeniedResult("Refused: this run must not change any file, and that is intended. Say in your answer what you would change."), nil
}

// refuseServer answers a call to a server that may change something.
func refuseServer(context.Context, agent.Call) (agent.ToolResult, error) {
	return agent.DeniedResult("Refused: this run uses only those tools of servers that are marked as reading, and that is intended. Say in your answer what you would do."), nil
}
