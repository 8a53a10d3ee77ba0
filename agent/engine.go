package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/google/uuid"

	"flower/transcript"
)

// Defaults of Options.
const (
	// DefaultMaxTokens bounds one answer: half of the smallest output limit among current models (64K), room for a long file.
	DefaultMaxTokens = 32_000
	// DefaultParallel is how many calls of one answer run at once.
	DefaultParallel = 8
)

// Options configure an Engine.
type Options struct {
	Model   Model   // required
	Log     Log     // required
	Toolbox Toolbox // required if any agent has tools
	// Room makes the engine wait while the disk is full: for room before a request, and with what it has to commit. Nil: a
	// commit that finds no room fails the run.
	Room *Room

	ModelName string // model of agents that name none; required unless every agent does
	MaxTokens int    // of answers of agents that set none; 0 is DefaultMaxTokens
	// Price is what an answer of a model costs in USD, and false if that is not known. It is needed to tell what a request
	// will cost at least, and what an answer that broke off has cost. Nil knows no price; a limit then stops a run only after
	// it is passed.
	Price func(model string, u transcript.Usage) (usd float64, known bool)

	Parallel int // calls of one answer that run at once; 0 is DefaultParallel

	// Window is how many tokens fit the window of a model; what enters a conversation is bounded by it. Nil:
	// DefaultWindow for every model.
	Window func(model string) int

	// Trim moves old, big tool results to files when a session is loaded; it needs Spill. Off by default.
	Trim bool
	// Spill writes a text that was moved out of a history, or was too long to enter it; it is called before anything is
	// sent. Nil: of a text that is too long only the beginning is kept.
	Spill func(transcript.Spill) error

	CWD       string        // stamped on entries
	GitBranch func() string // stamped on entries; nil is none
	Version   string        // stamped on entries; empty is "flower"

	Now   func() time.Time // nil is time.Now
	NewID func() string    // makes UUIDs; nil is random ones
}

// Engine runs agents. It is safe for concurrent use; one session must not be run twice at the same time.
type Engine struct {
	opts Options

	mu     sync.Mutex
	hosted map[string]bool // models and tools that the endpoint has refused to run; mu guards it
}

// New checks the options and returns an engine.
func New(opts Options) (*Engine, error) {
	switch {
	case opts.Model == nil:
		return nil, errors.New("make engine: no Model")
	case opts.Log == nil:
		return nil, errors.New("make engine: no Log")
	case opts.Trim && opts.Spill == nil:
		return nil, errors.New("make engine: Trim needs Spill")
	}
	if opts.MaxTokens == 0 {
		opts.MaxTokens = DefaultMaxTokens
	}
	if opts.Parallel == 0 {
		opts.Parallel = DefaultParallel
	}
	if opts.Price == nil {
		opts.Price = func(string, transcript.Usage) (float64, bool) { return 0, false }
	}
	if opts.GitBranch == nil {
		opts.GitBranch = func() string { return "" }
	}
	if opts.Version == "" {
		opts.Version = "flower"
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.NewID == nil {
		opts.NewID = uuid.NewString
	}
	return &Engine{opts: opts}, nil
}

// Run runs an agent in a session and yields what happens, Finished last; a run that failed then yields its error.
// Breaking the loop, or cancelling ctx, stops the model and the tools, commits the results there are, and returns when
// everything has stopped. Errors: *ModelError, *LimitError, *LineError, *ChangedError, *StuckError, *RefusalError,
// *TooLargeError of the prompt, ctx's cause, or a failure of the log.
func (e *Engine) Run(ctx context.Context, req Request) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		events := make(chan Event)
		defer func() { // also when the loop's body panics
			cancel()
			for range events { // until the run has stopped
			}
		}()
		failed := make(chan error, 1)
		go func() {
			defer close(events)
			failed <- e.run(ctx, req, func(ev Event) { events <- ev })
		}()
		for ev := range events {
			if !yield(ev, nil) {
				return
			}
		}
		if err := <-failed; err != nil {
			yield(nil, err)
		}
	}
}

func (e *Engine) run(ctx context.Context, req Request, emit func(Event)) error {
	if req.Key.Project == "" || req.Key.Session == "" {
		return errors.New("run agent: the request names no session")
	}
	c := &conversation{
		engine: e, key: req.Key, spec: req.Spec, emit: emit, inbox: req.Inbox,
		meter: req.Meter.ofAgent(req.Spec, req.Closing), abandon: req.Abandon, ready: req.Ready, answering: ctx,
		line: req.Line, same: req.Same, closing: req.Closing, shrink: req.Shrink,
	}
	c.top = c.meter
	if req.Boundary != nil {
		bounded, cancel := context.WithCancelCause(req.Boundary) // so that it is done when Boundary is, not soon after
		defer cancel(nil)
		defer context.AfterFunc(c.answering, func() { cancel(context.Cause(c.answering)) })()
		ctx = bounded
	}
	_, err := c.run(ctx, req.Prompt, req.PromptID, "")
	return err
}

// SubagentID is the id of the subagent that a call of the Agent tool starts: derived from the call, so that the call
// finds the same transcript when it is run again, also after the workspace was moved and its sessions were adopted.
func SubagentID(parent Key, callID string) string {
	sum := sha256.Sum256([]byte(parent.Session + "/" + parent.SubPath + "\x00" + callID))
	return "a" + hex.EncodeToString(sum[:8])
}

// spawn runs a subagent of c and returns what its caller is told. Only a failure that would hit the parent as well is
// an error.
func (c *conversation) spawn(ctx context.Context, s Spawn) (ToolResult, error) {
	spec, ok := findSubagent(c.spec.Subagents, s.Agent)
	if !ok {
		return ErrorResult(fmt.Sprintf("There is no agent of the type %q. Known types: %s.", s.Agent, subagentNames(c.spec.Subagents))), nil
	}
	if spec.Permission == "" {
		spec.Permission = c.spec.Permission
	}
	id := SubagentID(c.key, s.CallID)
	child := &conversation{
		engine: c.engine, key: c.key.Sub(id), path: id, spec: spec, emit: c.emit,
		meter: c.meter.ofAgent(spec, false), top: c.top, answering: ctx,
	}
	if err := child.checkPrompt(s.Prompt); err != nil {
		return ErrorResult("The agent was not started: " + err.Error() + ". Write what it needs to a file and name that file in the prompt."), nil
	}
	promptID := uuid.NewSHA1(uuid.NameSpaceOID, []byte(child.key.String())).String()
	result, err := child.run(ctx, s.Prompt, promptID, s.Title)
	var limit *LimitError
	var refusal *RefusalError
	var stuck *StuckError
	var model *ModelError
	switch {
	case err == nil && result.Text == "":
		return TextResult("(the agent ended without a word)"), nil
	case err == nil:
		return TextResult(result.Text), nil
	case errors.As(err, &limit) && child.owns(limit):
		return ErrorResult(lastWords("The agent was stopped: "+limit.Error()+".", result.Text)), nil
	case errors.As(err, &stuck):
		return ErrorResult(lastWords("The agent was stopped: it repeated itself. "+stuck.Error()+".", result.Text)), nil
	case errors.As(err, &refusal):
		return ErrorResult(lastWords("The agent's model declined to go on.", result.Text)), nil
	case errors.As(err, &model) && model.Kind == Overflow:
		return ErrorResult(lastWords("The agent's context window is full. Give the rest of the task to a new agent, in smaller parts.", result.Text)), nil
	}
	return ToolResult{}, err
}

func lastWords(what, text string) string {
	if text == "" {
		return what
	}
	return what + " Its last words:\n\n" + text
}

func findSubagent(specs []Spec, name string) (Spec, bool) {
	if name == "" && len(specs) == 1 {
		return specs[0], true
	}
	for _, s := range specs {
		if s.Name == name {
			return s, true
		}
	}
	return Spec{}, false
}

func subagentNames(specs []Spec) string {
	names := ""
	for i, s := range specs {
		if i > 0 {
			names += ", "
		}
		names += s.Name
	}
	return names
}

// CutOffError is an answer that broke off at its limit of length again and again.
type CutOffError struct {
	Stop  string // the API's stop reason
	Times int    // in a row
}

// Error implements error.
func (e *CutOffError) Error() string {
	return fmt.Sprintf("the answer was cut off (%s) %d times in a row", e.Stop, e.Times)
}

// RefusalError is an answer that the model declined to give.
type RefusalError struct {
	Details string // what the endpoint says of it; may be empty
}

// Error implements error.
func (e *RefusalError) Error() string {
	if e.Details == "" {
		return "the model declined to answer"
	}
	return "the model declined to answer: " + e.Details
}
