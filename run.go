package flower

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"flower/agent"
)

// Run works through the steps on rt and returns how it went, also when it failed: the outcome is never nil. Errors:
// *StepError around what stopped a step (*Abort if its gate did, ErrInterrupted, ErrLeaseLost, ctx's cause), what Begin
// returned, *InUse if another flower works in the run directory and the workflow is not Fresh, a mistake in the workflow,
// or a store that cannot be read.
func (w *Workflow) Run(ctx context.Context, rt *Runtime) (*Outcome, error) {
	r := &runner{
		workflow: w, rt: rt, book: newLineageBook(rt.opts.RunDir, rt.workspace, rt.opts.Now),
		state: &State{
			Runtime: rt, Woke: 1, Sessions: make(map[string]string),
			Results: make(map[string]StepResult), Values: make(map[string]any),
		},
		inherited: make(map[string]bool), refused: make(map[string]refusal),
	}
	before := len(rt.rows())
	rt.edit(func() { rt.inboxed = slices.ContainsFunc(w.Steps, func(s Step) bool { return s.Inbox }) })
	defer rt.edit(func() { rt.inboxed = false })
	err := w.check()
	if err == nil {
		err = r.alone(ctx)
	}
	cost, unpriced := rt.Spent()
	return &Outcome{
		Woke: r.state.Woke, Sessions: r.state.Sessions, Results: rt.rows()[before:], CostUSD: cost, Unpriced: unpriced,
	}, err
}

// runner is one pass over a workflow's steps. One goroutine owns it.
type runner struct {
	workflow  *Workflow
	rt        *Runtime
	book      *lineageBook
	state     *State
	inherited map[string]bool    // steps whose session comes from an earlier run
	refused   map[string]refusal // steps whose session does, and cannot be used
}

// alone runs where no other flower does. What the caller has claimed stays claimed.
func (r *runner) alone(ctx context.Context) error {
	if !r.workflow.Fresh && !r.rt.claimed() {
		if err := r.rt.Claim(); err != nil {
			return err
		}
		defer r.rt.Release()
	}
	defer r.rt.listLeft(ctx)
	return r.run(ctx)
}

func (r *runner) run(ctx context.Context) error {
	misfit, err := r.remember(ctx)
	if err != nil {
		return err
	}
	r.rt.emit(WorkflowStarted{Run: r.rt.opts.RunID, Woke: r.state.Woke, Steps: len(r.workflow.Steps)})
	if r.workflow.Begin != nil {
		if err := r.workflow.Begin(ctx, r.state); err != nil {
			return err
		}
	}
	r.count(ctx, misfit)
	for i := range r.workflow.Steps {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := r.step(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// remember takes over what earlier runs have left. It returns what of the file as a whole does not fit.
func (r *runner) remember(ctx context.Context) (misfit []refusal, err error) {
	if r.workflow.Fresh {
		return nil, nil
	}
	if err := r.rt.finishArchive(ctx); err != nil {
		return nil, err
	}
	var lookup error
	l := r.book.load(func(id string) bool {
		there, err := r.rt.HasSession(ctx, id)
		if err != nil {
			lookup = err
		}
		return there
	})
	if lookup != nil {
		return nil, lookup
	}
	for name, id := range l.steps {
		r.state.Sessions[name] = id
		r.inherited[name] = true
	}
	for _, refused := range l.refused {
		if refused.step == "" {
			misfit = append(misfit, refused)
		} else {
			r.refused[refused.step] = refused // said when the step begins, if it does
		}
	}
	r.state.Woke = l.woke + 1
	return misfit, nil
}

// count writes down that this run has begun.
func (r *runner) count(ctx context.Context, misfit []refusal) {
	if r.workflow.Fresh {
		return
	}
	woke, kept, err := r.book.wake(context.WithoutCancel(ctx))
	r.state.Woke = woke
	for _, refused := range misfit {
		said := refused.said(r.rt.workspace)
		said.Kept = kept
		r.rt.emit(said)
	}
	r.rt.booksFailed(r.book.path(), err)
}

// step works through one step.
func (r *runner) step(ctx context.Context, i int) error {
	s := &r.workflow.Steps[i]
	total := len(r.workflow.Steps)
	if s.When != nil && !s.When(r.state) {
		r.rt.emit(StepSkipped{Name: s.Name, Index: i + 1, Total: total})
		return nil
	}
	r.state.Round = 1
	first, err := r.first(s)
	continued := r.continues(s)
	r.rt.emit(StepStarted{Name: s.Name, Index: i + 1, Total: total, Resumed: continued, Woke: r.state.Woke})
	if refused, ok := r.refused[s.Name]; ok && s.ResumeFrom == "" {
		r.rt.emit(refused.said(r.rt.workspace))
	}
	result := StepResult{Step: s.Name, Run: r.rt.opts.RunID}
	if err == nil {
		result, err = r.tries(ctx, s, first)
	}
	finished := StepFinished{Name: s.Name, OK: err == nil}
	if err != nil {
		finished.Reason, finished.Err = err.Error(), err
	}
	r.rt.emit(finished)
	var abort *Abort
	if err != nil && (s.OnFail == Stop || errors.As(err, &abort) || stopped(ctx, err)) {
		return &StepError{Step: s.Name, Err: err}
	}
	if err == nil || s.OnFail == Continue {
		r.keep(s, result)
	}
	return nil
}

// stopped says whether the run as a whole was stopped: no later step may start. A session that is another's is not
// retried: that would be a new one. When the money of the run is spent, nothing else can be done either.
func stopped(ctx context.Context, err error) bool {
	var busy *InUse
	var limit *agent.LimitError
	var outage *agent.OutageError // starting again would wait as long again, and lose the session
	return errors.As(err, &limit) && limit.WholeRun() || errors.As(err, &outage) || ctx.Err() != nil || errors.Is(err, ErrInterrupted) || errors.Is(err, ErrLeaseLost) || errors.As(err, &busy)
}

func (r *runner) keep(s *Step, result StepResult) {
	r.state.Results[s.Name] = result
	if s.Reduce != nil {
		s.Reduce(r.state, result)
		return
	}
	r.state.Values[s.Name] = result.Text
}

// continues says whether a step goes on in its own session of an earlier run.
func (r *runner) continues(s *Step) bool { return s.ResumeFrom == "" && r.inherited[s.Name] }

// first is the attempt with which a step begins: in which session and with which words.
func (r *runner) first(s *Step) (Attempt, error) {
	a := r.new(s, s.Name)
	a.Fork = s.Fork
	switch {
	case s.ResumeFrom != "":
		id, ok := r.state.Sessions[s.ResumeFrom]
		if !ok {
			return a, fmt.Errorf("resume from step %s: it has no session", s.ResumeFrom)
		}
		a.SessionID = id
	case r.continues(s):
		a.SessionID, a.Same = r.state.Sessions[s.Name], true
		if s.ResumePrompt != nil {
			a.Prompt = s.ResumePrompt(r.state)
		}
	}
	if a.Prompt == "" {
		a.Prompt = s.Prompt(r.state)
	}
	return a, nil
}

// new is an attempt at a step without words.
func (r *runner) new(s *Step, label string) Attempt {
	a := Attempt{Step: s.Name, Label: label, Agent: s.Agent, Index: s.Index, Inbox: s.Inbox}
	if s.Standing != nil {
		a.Standing = func() string { return s.Standing(r.state) }
	}
	return a
}

// tries runs a step's attempts: rounds in the same session while its gate sends it back, retries from scratch when it
// fails.
func (r *runner) tries(ctx context.Context, s *Step, a Attempt) (StepResult, error) {
	retries := 0
	for {
		result, err := r.attempt(ctx, s, a)
		var decision Decision
		if err == nil {
			decision, err = r.judge(ctx, s, result)
		}
		var abort *Abort
		switch {
		case err == nil && decision.Pass:
			return result, nil
		case err != nil && (errors.As(err, &abort) || stopped(ctx, err)):
			return result, err
		case err == nil:
			if words := r.sendBack(s, decision); words != "" {
				r.state.Round++
				a = r.new(s, fmt.Sprintf("%s#round%d", s.Name, r.state.Round))
				a.Prompt, a.SessionID = words, result.SessionID
				continue
			}
			err = &RejectedError{Reason: decision.Reason, Missing: decision.missing}
		}
		if retries >= s.Retries {
			return result, err
		}
		retries++
		r.state.Round = 1
		a = r.new(s, fmt.Sprintf("%s#retry%d", s.Name, retries))
		a.Prompt = s.Prompt(r.state)
		if s.ResumeFrom != "" {
			a.SessionID, a.Fork = r.state.Sessions[s.ResumeFrom], s.Fork
		}
	}
}

func (r *runner) sendBack(s *Step, d Decision) string {
	if s.OnReject == nil {
		return ""
	}
	return s.OnReject(r.state, d)
}

// attempt runs one attempt. Only here is the session written into lineage: what a gate runs is never part of it.
func (r *runner) attempt(ctx context.Context, s *Step, a Attempt) (StepResult, error) {
	unwritten := ""
	remember := func(id string) {
		err := r.rt.opts.Room.Keep(ctx, func() error {
			_, err := r.book.remember(context.WithoutCancel(ctx), s.Name, id)
			return err
		})
		r.rt.booksFailed(r.book.path(), err)
		if unwritten = ""; err != nil {
			unwritten = id
		}
	}
	a.OnSession = func(id string) {
		r.state.Sessions[s.Name] = id
		if !r.workflow.Fresh {
			remember(id)
		}
	}
	result, err := r.rt.Run(ctx, a)
	if unwritten != "" {
		remember(unwritten) // the last step has no next write
	}
	return result, err
}

func (r *runner) judge(ctx context.Context, s *Step, result StepResult) (Decision, error) {
	if s.Gate == nil {
		return Accept(), nil
	}
	return s.Gate(ctx, r.state, result)
}
