package flower

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"flower/agent"
	"flower/document"
	"flower/internal/workbench"
)

// Handing over: a session that is nearly full is asked for a document that says what its successor must know, and a new
// session begins with that document. It is no retry and no failure.

// HandoffCause says why a session is left.
type HandoffCause int

const (
	// Full is a context that has reached the line.
	Full HandoffCause = iota
	// Overflow is an endpoint that takes no more.
	Overflow
	// Redefined is an agent whose role or tools are no longer those the session began with.
	Redefined
)

// The brakes: handing over again and again costs money and leads nowhere.
const (
	maxGenerations = 8
	maxDegraded    = 2 // in a row
)

// HandoffError stops a step that handing over does not help.
type HandoffError struct {
	Step        string
	Generations int    // how often the step was handed over in this run
	Degraded    bool   // the last documents were not written by the model
	Path        string // of the last document
}

// Error implements error.
func (e *HandoffError) Error() string {
	if e.Degraded {
		return fmt.Sprintf("the session could not write a usable handoff document %d times in a row (the last one was put together "+
			"from what is stored: %s): use a model with a larger window, or correct --window, and run flower again", maxDegraded, e.Path)
	}
	return fmt.Sprintf("the step filled its context window %d times in this run: divide the work into smaller parts, or use a model "+
		"with a larger window, and run flower again to go on from %s", e.Generations, e.Path)
}

// generations counts how often a step was handed over in this run.
type generations struct{ all, degraded int }

// leaves says whether a failed run of a session means that it is to be handed over, and why. Only this run's error counts.
func (rt *Runtime) leaves(err error) (cause HandoffCause, leave bool) {
	var line *agent.LineError
	var changed *agent.ChangedError
	var failure *agent.ModelError
	switch {
	case errors.As(err, &changed):
		return Redefined, true
	case rt.opts.NoHandoff:
		return 0, false
	case errors.As(err, &line):
		return Full, true
	case errors.As(err, &failure) && failure.Kind == agent.Overflow:
		return Overflow, true
	}
	return 0, false
}

// goOnElsewhere hands a session over that failed with why. An overflow that happened without a window in sight teaches us
// one.
func (rt *Runtime) goOnElsewhere(
	ctx context.Context, a Attempt, req agent.Request, row *StepResult, g gauge, cause HandoffCause, answered bool, why error,
) (agent.Request, gauge, *reply, error) {
	var failure *agent.ModelError
	if errors.As(why, &failure) {
		rt.edit(func() { row.Errors = append(row.Errors, why.Error()) })
		rt.overflowed(a.Agent.Model, row.Context, failure)
	}
	next, said, err := rt.handOver(ctx, a, req, row, cause, !answered)
	if err != nil || said != nil {
		if said != nil && err == nil {
			err = ErrInterrupted // there was something to stop
		}
		return req, g, said, err
	}
	if g, err = rt.gauge(ctx, a.Agent); err != nil {
		return req, g, nil, err
	}
	next.Line, next.Spec = g.line, fit(a.Agent, g.window)
	return next, g, nil, nil
}

// handOver ends the session of req and returns the request with which its successor begins. pending says that the prompt
// of req was not answered. What the person said is nil unless they have interrupted it; the session is then not left.
func (rt *Runtime) handOver(
	ctx context.Context, a Attempt, req agent.Request, row *StepResult, cause HandoffCause, pending bool,
) (next agent.Request, said *reply, err error) {
	name, _, _ := strings.Cut(a.Label, "#")
	count := rt.generation(name)
	note := workbench.HandoffNote(name)
	if count.all >= maxGenerations {
		return req, nil, &HandoffError{Step: a.Step, Generations: count.all, Path: rt.bench.NotePath(note)}
	}
	rt.emit(HandingOver{Label: a.Label, Cause: cause, Context: row.Context})
	asked := rt.opts.NewID()
	doc, written, said, err := rt.lastWord(ctx, a, req, row, cause, asked)
	if err != nil || said != nil {
		return req, said, err
	}
	count.all++
	if count.degraded++; written {
		count.degraded = 0
	} else if doc, err = rt.assemble(ctx, name, req, pending, asked); err != nil {
		return req, nil, err
	}
	path, err := rt.keepHandoff(ctx, name, doc)
	if err != nil {
		return req, nil, err
	}
	if count.degraded >= maxDegraded {
		return req, nil, &HandoffError{Step: a.Step, Generations: count.all, Degraded: true, Path: path}
	}
	unanswered := ""
	if pending {
		unanswered = req.Prompt
	}
	next, err = rt.succeed(ctx, a, req, row, rt.text("handoff.start", map[string]any{
		"Standing": a.standing(), "Document": doc.PromptBlock(), "Path": path, "Written": written, "Pending": unanswered,
	}))
	if err != nil {
		return req, nil, err
	}
	rt.emit(HandedOver{
		Label: a.Label, From: req.Key.Session, To: next.Key.Session, Path: path, Degraded: !written, Generation: count.all,
	})
	return next, nil, nil
}

func (rt *Runtime) generation(name string) *generations {
	count, ok := rt.handed[name]
	if !ok {
		count = new(generations)
		rt.handed[name] = count
	}
	return count
}

// standing is what holds for every session of the step.
func (a Attempt) standing() string {
	if a.Standing == nil {
		return ""
	}
	return a.Standing()
}

// succeed names the successor of a session and makes it the row's.
func (rt *Runtime) succeed(ctx context.Context, a Attempt, req agent.Request, row *StepResult, prompt string) (agent.Request, error) {
	old := req.Key.Session
	next := agent.Request{
		Key:  agent.Key{Project: ProjectKey(rt.workspace), Session: rt.opts.NewID()},
		Spec: req.Spec, Prompt: prompt, PromptID: rt.opts.NewID(), Inbox: req.Inbox, Meter: req.Meter,
	}
	if a.Index {
		next.Prompt = rt.withIndex(prompt)
	}
	rt.leave()
	if err := rt.enter(ctx, next.Key.Session, a.Label); err != nil {
		return next, err
	}
	// Until the successor holds the document, it is the old session that goes on after a crash.
	next.Ready = func() {
		if row.SessionID == old {
			rt.edit(func() {
				row.Retired = append(row.Retired, old)
				row.SessionID = next.Key.Session
			})
		}
		rt.name(a, row)
	}
	return next, nil
}

// lastWord asks a session for its handoff document; promptID is that of the question. written is false if it could not be
// had, for reasons that would be the same another time.
func (rt *Runtime) lastWord(
	ctx context.Context, a Attempt, req agent.Request, row *StepResult, cause HandoffCause, promptID string,
) (doc document.Handoff, written bool, said *reply, err error) {
	ask := rt.text("handoff.ask", map[string]any{"Redefined": cause == Redefined})
	for range 2 {
		closing := agent.Request{
			Key: req.Key, Spec: req.Spec, Prompt: ask, PromptID: promptID, Meter: req.Meter,
			Closing: true, Shrink: cause == Overflow,
		}
		var answered bool
		rt.edit(func() { row.Text = "" })
		answered, said, err = rt.once(ctx, a, closing, row, &gauge{})
		if said != nil || ctx.Err() != nil {
			return doc, false, said, err
		}
		if err != nil {
			return doc, false, nil, unlessUseless(err)
		}
		if doc = document.ParseHandoff(row.Text); answered && doc.Complete() {
			return doc, true, nil, nil
		}
		promptID = rt.opts.NewID()
		ask = rt.text("handoff.incomplete", map[string]any{"Missing": rt.sectionNames(doc.Missing())})
	}
	return doc, false, nil, nil
}

// unlessUseless returns nil for a failure that asking again would meet again: the document is then made without the model.
func unlessUseless(err error) error {
	var limit *agent.LimitError
	var refusal *agent.RefusalError
	var failure *agent.ModelError
	if errors.As(err, &limit) || errors.As(err, &refusal) || errors.As(err, &failure) && failure.Kind == agent.Overflow {
		return nil
	}
	return err
}

func (rt *Runtime) sectionNames(keys []string) string {
	names := make([]string, len(keys))
	for i, key := range keys {
		names[i] = rt.text("section."+key, nil)
	}
	return strings.Join(names, ", ")
}

// keepHandoff writes a handoff document; an older one of the same name goes into the archive.
func (rt *Runtime) keepHandoff(ctx context.Context, name string, doc document.Handoff) (path string, err error) {
	err = rt.opts.Room.Keep(ctx, func() error {
		if err := rt.bench.Create(); err != nil {
			return err
		}
		path, err = rt.bench.WriteHandoff(name, doc.Markdown(name), rt.opts.Now())
		return err
	})
	if err != nil {
		return "", fmt.Errorf("write the handoff of %s: %w", name, err)
	}
	return path, nil
}
