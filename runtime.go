package flower

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"flower/agent"
	"flower/internal/disk"
	"flower/internal/workbench"
	"flower/transcript"
)

// Engine runs an agent's turns; *agent.Engine is one.
type Engine interface {
	Run(ctx context.Context, req agent.Request) iter.Seq2[agent.Event, error]
}

// RuntimeOptions configure a Runtime.
type RuntimeOptions struct {
	Workspace string // "" is the current directory
	RunDir    string // "" is DefaultRunDir
	Engine    Engine // required
	Store     Store  // required; must be of the same workspace
	// Room, best the engine's own, makes documents and forks wait for room on a full disk; nil makes them fail.
	Room *agent.Room

	// Human answers and remarks; nil: nobody is there.
	Human *Human
	// OnInterrupt is asked at once after Interrupt what to do: go on in the same session, with a remark or without, or
	// stop. An answer on its way may still be finished meanwhile. It returns soon when its context is done. Nil stops.
	OnInterrupt func(context.Context) (remark string, goOn bool)
	// Observe is told what happens, one event at a time. It must not block for long: the run waits for it.
	Observe func(Event)

	// Checker runs the checks of a goal that are commands before a judge is asked; nil: the judge gets no evidence.
	Checker Checker

	// Isolation tells of the workers' own worktrees; nil: there are none.
	Isolation Isolation

	// Windows knows the models' context windows; nil: a session is handed over only when the endpoint says that it is full.
	Windows Windows
	// NoHandoff makes a full window end the step instead.
	NoHandoff bool

	// Redact takes secrets out of what is written into the manifest and the workbench's notes; nil takes out nothing. What
	// goes into the store is the store's business.
	Redact func(string) string

	Lang      Lang    // of what flower says to models; zero is English
	BudgetUSD float64 // of the whole run; 0 does not limit
	// Meter is one in which this run's spending counts as well; nil: it counts alone.
	Meter *agent.Meter

	Now   func() time.Time // nil is time.Now
	NewID func() string    // makes session ids; nil is random UUIDs
	RunID string           // "" is a new one
}

// Runtime runs agents for the steps of a workflow and keeps the run's books. One workflow at a time runs on it;
// Interrupt and Rescue may be called from anywhere.
type Runtime struct {
	opts      RuntimeOptions
	workspace string
	bench     *workbench.Bench
	manifest  *manifest
	shared    *agent.Meter // has the budget, and what others spend of it
	meter     *agent.Meter // of what this run spends itself; below shared

	named      string                  // session that was named last
	handed     map[string]*generations // by step; of the goroutine that runs the workflow, like the next
	saidModels map[[2]string]bool      // asked and answered

	mu        sync.Mutex
	interrupt context.CancelCauseFunc // of the engine that runs
	inboxed   bool                    // a step of the workflow that runs reads the inbox
	inFlight  *StepResult             // row of the attempt in flight; its fields change under mu as long as it stands here
	results   []StepResult
	saidBooks map[string]bool

	claim      *disk.Lease // of the run directory; nil: not claimed
	claimant   Owner       // what claim says
	madeDir    bool        // for claim
	lease      *disk.Lease // of the session of the attempt in flight
	saidLeases bool

	observing sync.Mutex // held while Observe runs
}

// KilledBySignal is the error of a manifest row that a signal handler has written.
const KilledBySignal = "killed-by-signal"

// NewRuntime checks the options. It writes nothing.
func NewRuntime(opts RuntimeOptions) (*Runtime, error) {
	switch {
	case opts.Engine == nil:
		return nil, errors.New("make runtime: no Engine")
	case opts.Store == nil:
		return nil, errors.New("make runtime: no Store")
	}
	if opts.Workspace == "" {
		opts.Workspace = "."
	}
	workspace, err := ResolveWorkspace(opts.Workspace)
	if err != nil {
		return nil, fmt.Errorf("find workspace: %w", err)
	}
	if info, err := os.Stat(workspace); err != nil {
		return nil, fmt.Errorf("find workspace: %w", err)
	} else if !info.IsDir() {
		return nil, fmt.Errorf("find workspace: %s is not a directory", workspace)
	}
	if opts.RunDir == "" {
		opts.RunDir = DefaultRunDir
	}
	if opts.RunDir, err = filepath.Abs(opts.RunDir); err != nil {
		return nil, fmt.Errorf("find run directory: %w", err)
	}
	if opts.Observe == nil {
		opts.Observe = func(Event) {}
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.NewID == nil {
		opts.NewID = uuid.NewString
	}
	if opts.RunID == "" {
		opts.RunID = NewRunID(opts.Now())
	}
	shared := opts.Meter.Child(opts.BudgetUSD)
	return &Runtime{
		opts: opts, workspace: workspace, bench: workbench.Open(workspace).Redacting(opts.Redact),
		manifest:  &manifest{dir: opts.RunDir, run: opts.RunID, now: opts.Now, redact: opts.Redact},
		shared:    shared,
		meter:     shared.Child(0),
		saidBooks: make(map[string]bool), handed: make(map[string]*generations), saidModels: make(map[[2]string]bool),
	}, nil
}

// Close releases the run directory and closes the store.
func (rt *Runtime) Close() error {
	rt.Release()
	return rt.opts.Store.Close()
}

// Workspace is the resolved path of the workspace.
func (rt *Runtime) Workspace() string { return rt.workspace }

// RunID is the id under which this run's rows stand in the manifest.
func (rt *Runtime) RunID() string { return rt.opts.RunID }

// Meter is the budget that this run spends from, for another one that spends the same money.
func (rt *Runtime) Meter() *agent.Meter { return rt.shared }

// Spent is the cost of this run so far in USD, without what others have spent on Meter: that stands in their books.
// unpriced says that some of it is not known.
func (rt *Runtime) Spent() (usd float64, unpriced bool) {
	_, usd, unpriced = rt.meter.Spent()
	return usd, unpriced
}

// rescueWait bounds Rescue: whoever sent the signal does not wait for long.
const rescueWait = 2 * time.Second

// Rescue writes the attempt in flight to the manifest, marked as killed by a signal; the attempt then writes no row of
// its own. It is for signal handlers: it tells no observer, and the process is expected to end right after.
func (rt *Runtime) Rescue() {
	rt.mu.Lock()
	if rt.inFlight == nil {
		rt.mu.Unlock()
		return
	}
	row := *rt.inFlight
	rt.inFlight = nil
	row.OK, row.Error, row.EndedAt = false, KilledBySignal, rt.opts.Now()
	rt.results = append(rt.results, row)
	rt.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), rescueWait)
	defer cancel()
	_, _ = rt.manifest.add(ctx, row) // nobody is left to be told
}

// Attempt is one run of an agent for a step.
type Attempt struct {
	Step  string // name of the step
	Label string // of the manifest row; "" is Step
	Agent agent.Spec
	// Prompt is the text to send.
	Prompt string
	// SessionID is the session to go on in; "" starts a new one.
	SessionID string
	// Fork goes on in a copy of SessionID.
	Fork bool
	// Index puts the workbench's index before the prompt of a new session.
	Index bool
	// Same hands a session over that was begun by another definition of Agent: another role, other tools. By default it
	// goes on with the role and the tools it has.
	Same bool
	// Standing makes the text that every session of the step must know word for word; a successor begins with it. Nil is
	// none.
	Standing func() string
	// Inbox delivers the person's remarks.
	Inbox bool
	// OnSession is told the session's id when its prompt is durable and before anything is sent, from the engine's
	// goroutine while Run waits; nil tells nobody.
	OnSession func(id string)
	// Annotate may change the row before it is written; nil leaves it.
	Annotate func(*StepResult)
}

// Run runs an attempt to its end and writes its row. The error is the result's Err: nil only if the agent ended well. It
// is *InUse, and there is no row, if the session is another flower's at the moment.
func (rt *Runtime) Run(ctx context.Context, a Attempt) (StepResult, error) {
	if a.Label == "" {
		a.Label = a.Step
	}
	row := &StepResult{
		Step: a.Label, Run: rt.opts.RunID, StartedAt: rt.opts.Now(), Attempts: 1, Definition: a.Agent.Fingerprint(),
	}
	rt.fly(row)
	rt.named = ""
	key, err := rt.session(ctx, a, row)
	if err == nil {
		err = rt.enter(ctx, key.Session, a.Label)
	}
	var busy *InUse
	if errors.As(err, &busy) {
		rt.land()
		row.Error, row.err = err.Error(), err
		return *row, err
	}
	if err == nil {
		defer rt.leave()
		rt.emit(AttemptStarted{Step: a.Step, Label: a.Label, Agent: a.Agent.Name, SessionID: key.Session, Resumed: row.Resumed})
		if err = rt.attempts(ctx, a, key, row); err == nil {
			rt.name(a, row) // nothing had to be sent
		}
	}
	if ctx.Err() != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, ErrInterrupted)) {
		err = context.Cause(ctx) // stores know only that they were stopped, not why
	}
	mine := rt.land() // from here on nobody else sees the row
	row.EndedAt = rt.opts.Now()
	row.OK, row.err = err == nil, err
	if err != nil {
		row.Error = err.Error()
	}
	if a.Annotate != nil {
		a.Annotate(row)
	}
	if mine {
		rt.book(context.WithoutCancel(ctx), *row)
		rt.booksFailed(filepath.Join(rt.bench.Dir(), "INDEX.md"), rt.bench.WriteIndex())
	}
	rt.emit(AttemptFinished{Result: *row})
	return *row, err
}

// session finds or names the session of an attempt and writes it into the row.
func (rt *Runtime) session(ctx context.Context, a Attempt, row *StepResult) (agent.Key, error) {
	key := agent.Key{Project: ProjectKey(rt.workspace), Session: a.SessionID}
	if a.SessionID == "" {
		key.Session = rt.opts.NewID()
		rt.edit(func() { row.SessionID = key.Session })
		return key, nil
	}
	// An id that the store does not know is one that the caller has chosen for a new session.
	old, there, err := rt.find(ctx, a.SessionID)
	if err != nil {
		return agent.Key{}, err
	}
	from := ""
	switch {
	case a.Fork && !there:
		return agent.Key{}, fmt.Errorf("fork session %s: %w", a.SessionID, ErrNoSession)
	case a.Fork:
		key.Session, from = rt.opts.NewID(), a.SessionID
		if err := rt.opts.Room.Keep(ctx, func() error { return rt.opts.Store.Fork(ctx, old, key) }); err != nil {
			return agent.Key{}, err
		}
	case there:
		key = old
	}
	rt.edit(func() { row.SessionID, row.Resumed, row.ResumedFrom = key.Session, there, from })
	return key, nil
}

// find looks a session up under every spelling of the workspace's key.
func (rt *Runtime) find(ctx context.Context, id string) (agent.Key, bool, error) {
	for _, project := range projectKeys(rt.workspace) {
		key := agent.Key{Project: project, Session: id}
		ok, err := rt.opts.Store.Has(ctx, key)
		if err != nil {
			return agent.Key{}, false, fmt.Errorf("look up session %s: %w", id, err)
		}
		if ok {
			return key, true, nil
		}
	}
	return agent.Key{}, false, nil
}

// HasSession says whether the store knows a session of this workspace.
func (rt *Runtime) HasSession(ctx context.Context, id string) (bool, error) {
	_, ok, err := rt.find(ctx, id)
	return ok, err
}

// attempts is the loop around an attempt's sessions: success, failure, an interrupt after which the same session goes on,
// or a handoff after which another one does.
func (rt *Runtime) attempts(ctx context.Context, a Attempt, key agent.Key, row *StepResult) error {
	g, err := rt.gauge(ctx, a.Agent)
	if err != nil {
		return err
	}
	req := agent.Request{
		Key: key, Spec: fit(a.Agent, g.window), Prompt: a.Prompt, PromptID: rt.opts.NewID(), Same: a.Same, Line: g.line,
		Meter: rt.meter, Ready: func() { rt.name(a, row) },
	}
	if a.Index && !row.Resumed {
		req.Prompt = rt.withIndex(req.Prompt)
	}
	if a.Inbox {
		req.Inbox = inbox{rt.opts.Store, ProjectKey(rt.workspace), rt.opts.Lang}
	}
	owed := "" // what was said since the last answer
	for {
		if err := rt.report(a.Label); err != nil {
			return err
		}
		answered, reply, err := rt.once(ctx, a, req, row, &g)
		if owed = together(owed, req.Prompt); answered {
			owed = ""
		}
		if cause, leave := rt.leaves(err); leave && reply == nil {
			if !answered {
				req.Prompt = owed
			}
			if req, g, reply, err = rt.goOnElsewhere(ctx, a, req, row, g, cause, answered, err); err == nil && reply == nil {
				owed = "" // the successor's prompt has it
				continue
			}
		}
		if reply == nil {
			return rt.failed(ctx, row, err)
		}
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case reply.err != nil:
			return reply.err
		case !reply.goOn:
			return ErrInterrupted
		case err == nil && reply.remark == "" && !(a.Inbox && rt.hasRemarks()):
			return nil // the interrupt came too late to stop anything
		}
		// No attempt is used up: the person wanted a word, the session goes on.
		if req, err = rt.afterInterrupt(ctx, req, *reply); err != nil {
			return err
		}
	}
}

// failed writes into the row why an attempt ended, if it was no success.
func (rt *Runtime) failed(ctx context.Context, row *StepResult, err error) error {
	if err == nil {
		return nil
	}
	if isOverflow(err) {
		err = &FullError{err}
	}
	if ctx.Err() == nil {
		rt.edit(func() { row.Errors = append(row.Errors, err.Error()) })
	}
	return err
}

// name says once whose session the step's is. The prompt is durable before that: a process that dies in between leaves a
// session that nobody knows, not the name of one that holds nothing.
func (rt *Runtime) name(a Attempt, row *StepResult) {
	if rt.named == row.SessionID {
		return
	}
	rt.named = row.SessionID
	if a.OnSession != nil {
		a.OnSession(row.SessionID)
	}
}

func isOverflow(err error) bool {
	var m *agent.ModelError
	return errors.As(err, &m) && m.Kind == agent.Overflow
}

// once runs the engine once and adds what it did to the row. answered says that the main thread got an answer. What the
// person said is nil unless Interrupt was called meanwhile, also when the agent was done by then.
func (rt *Runtime) once(
	ctx context.Context, a Attempt, req agent.Request, row *StepResult, g *gauge,
) (answered bool, said *reply, err error) {
	running, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	boundary, interrupt := context.WithCancelCause(running)
	req.Boundary = boundary
	asked := make(chan reply, 1)
	context.AfterFunc(boundary, func() {
		defer close(asked)
		if errors.Is(context.Cause(boundary), ErrInterrupted) {
			asked <- rt.askPerson(ctx, a)
			cancel(ErrInterrupted) // what is not complete by now is not waited for
		}
	})
	rt.interruptible(interrupt)
	for ev, failed := range rt.opts.Engine.Run(running, req) {
		if failed != nil {
			err = failed
			continue
		}
		rt.edit(func() { note(ev, row) })
		rt.emit(AgentEvent{Label: a.Label, Event: ev})
		rt.watch(g, a.Label, ev)
		rt.waits(a.Label, ev)
		if ev, ok := ev.(agent.Answered); ok {
			answered = answered || ev.Path == ""
			if lost := rt.report(a.Label); lost != nil {
				cancel(lost)
			}
		}
	}
	rt.interruptible(nil)
	if errors.Is(context.Cause(running), ErrLeaseLost) {
		err = ErrLeaseLost
	}
	interrupt(nil)
	if r, interrupted := <-asked; interrupted {
		said = &r
	}
	return answered, said, err
}

// note keeps of an event what belongs into the row.
func note(ev agent.Event, row *StepResult) {
	switch ev := ev.(type) {
	case agent.Progress:
		switch d := ev.Delta.(type) {
		case agent.Retrying:
			row.Errors = append(row.Errors, d.Err.Error())
			row.Attempts = max(row.Attempts, d.Attempt+1)
		case agent.Waiting: // an outage of hours says the same hundreds of times
			if said := d.Err.Error(); !slices.Contains(row.Errors, said) {
				row.Errors = append(row.Errors, said)
			}
		}
	case agent.Answered:
		row.CostUSD += ev.CostUSD
		row.Unpriced = row.Unpriced || ev.Unpriced
		row.Usage = row.Usage.Add(ev.Message.Usage)
		if ev.Path == "" {
			row.Turns++
			row.Context = ev.Message.Usage.Context()
			row.Model = ev.Message.Model
		}
	case agent.Wasted:
		row.CostUSD += ev.CostUSD
		row.Unpriced = row.Unpriced || ev.Low
		row.Usage = row.Usage.Add(ev.Usage)
	case agent.Finished:
		if ev.Path == "" {
			row.Text = ev.Result.Text
			row.Context = ev.Result.Context
		}
	}
}

// withIndex puts the workbench's index before a prompt, if there is anything on the bench.
func (rt *Runtime) withIndex(prompt string) string {
	index, err := rt.bench.Index()
	if err != nil || index == "" {
		return prompt
	}
	return rt.text("index", map[string]any{"Index": index, "Bench": rt.benchName()}) + "\n\n" + prompt
}

// benchName is the workbench as models are told of it.
func (rt *Runtime) benchName() string {
	if rt.bench.Outside() {
		return rt.bench.Dir() + "/"
	}
	return ".flower/"
}

// edit changes the row in flight.
func (rt *Runtime) edit(change func()) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	change()
}

// fly makes the row known to Rescue; land takes it back and says whether it was still there.
func (rt *Runtime) fly(row *StepResult) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	rt.inFlight = row
}

func (rt *Runtime) land() bool {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if rt.inFlight == nil {
		return false
	}
	rt.inFlight = nil
	return true
}

// rows are the rows written so far.
func (rt *Runtime) rows() []StepResult {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	return slices.Clone(rt.results)
}

// book writes a row.
func (rt *Runtime) book(ctx context.Context, row StepResult) {
	rt.mu.Lock()
	rt.results = append(rt.results, row)
	rt.mu.Unlock()
	kept, err := rt.manifest.add(ctx, row)
	if kept != "" {
		rt.emit(NotContinued{Reason: Unreadable, Detail: manifestFile, Kept: kept})
	}
	rt.booksFailed(rt.manifest.path(), err)
}

// booksFailed says once for each file that it cannot be written.
func (rt *Runtime) booksFailed(path string, err error) {
	if err == nil {
		return
	}
	rt.mu.Lock()
	said := rt.saidBooks[path]
	rt.saidBooks[path] = true
	rt.mu.Unlock()
	if !said {
		rt.emit(BooksFailed{Path: path, Err: err})
	}
}

func (rt *Runtime) emit(ev Event) {
	rt.observing.Lock()
	defer rt.observing.Unlock()
	rt.opts.Observe(ev)
}

// ContextOf is the size in tokens that a session had after its last answer; 0 if it is not known.
func (rt *Runtime) ContextOf(ctx context.Context, id string) int {
	key, ok, err := rt.find(ctx, id)
	if err != nil || !ok {
		return 0
	}
	const enough = 64 // a last answer with many parallel results is still among these
	lines, err := rt.opts.Store.Tail(ctx, key, enough)
	if err != nil {
		return 0
	}
	return contextOf(lines)
}

func contextOf(lines []json.RawMessage) int {
	entries, _ := transcript.ParseHistory(lines)
	return transcript.Context(entries)
}

// text renders one of the things flower says to models.
func (rt *Runtime) text(name string, data map[string]any) string {
	return say(rt.opts.Lang, name, data)
}
