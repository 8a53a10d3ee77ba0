package flower

import (
	"context"
	"fmt"

	"flower/agent"
)

// Windows knows how much models take in. Implementations are safe for concurrent use.
type Windows interface {
	// Window is the context window of a model in tokens ("" is the engine's default model), and where the figure comes
	// from, for a person to read. It may ask the endpoint the first time; a failure of that is no error.
	Window(ctx context.Context, model string) (tokens int, source string)
	// Overflowed records that a context of so many tokens was too much: from now on the window is no larger.
	Overflowed(model string, tokens int) error
	// Same says whether two names, one asked for and one that answered, mean the same model.
	Same(asked, answered string) bool
}

// Room that is kept free at the end of a window: for the answer, the results of tools in flight, and the handoff itself.
const (
	handoffRoom = 50_000 // tokens; a quarter of the window if that is more
	handoffMin  = 10_000 // the line is never lower
	// nearRoom is how far before the line a person is told.
	nearRoom = 20_000
)

// handoffLine is the context in tokens at which a session is handed over.
func handoffLine(window int) int { return max(handoffMin, window-max(handoffRoom, window/4)) }

// floorOf is the least window in which an agent gets anything done between two handoffs: the lowest line, and above it
// the results of one round of calls (8 at once, each cut to 4000 characters, about 1000 tokens) and the handoff document.
// Agents that read only have short results and need less.
func floorOf(spec agent.Spec) int {
	const document, call = 4_000, 1_000
	calls := 2
	if len(spec.Subagents) > 0 {
		calls = agent.DefaultParallel
	}
	return handoffMin + document + (calls+2)*call
}

// WindowError says that a model's window is too small for the role it is to play. Nothing was sent.
type WindowError struct {
	Agent  string
	Window int // tokens
	Floor  int // the least that is needed
	Source string
}

// Error implements error.
func (e *WindowError) Error() string {
	return fmt.Sprintf("a context window of %d tokens (%s) is too small for the %s, which needs %d: name a model with a larger window, "+
		"or correct the figure with --window", e.Window, e.Source, e.Agent, e.Floor)
}

// smallWindow is a window in which the usual limit of an answer leaves too little for everything before it.
const smallWindow = 4 * agent.DefaultMaxTokens

// fit bounds the answers of an agent, and of those it may start, in a small window: endpoints refuse a request whose
// history and longest answer do not fit together.
func fit(spec agent.Spec, window int) agent.Spec {
	if window <= 0 || window >= smallWindow {
		return spec
	}
	if spec.MaxTokens == 0 || spec.MaxTokens > window/4 {
		spec.MaxTokens = window / 4
	}
	subagents := make([]agent.Spec, len(spec.Subagents))
	for i, s := range spec.Subagents {
		subagents[i] = fit(s, window)
	}
	spec.Subagents = subagents
	return spec
}

// gauge watches the window of one session.
type gauge struct {
	window int // 0 is not known: only the endpoint says when it is full
	line   int
	said   bool // that the line is near
}

// gauge finds the window for an agent.
func (rt *Runtime) gauge(ctx context.Context, spec agent.Spec) (gauge, error) {
	if rt.opts.Windows == nil {
		return gauge{}, nil
	}
	window, source := rt.opts.Windows.Window(ctx, spec.Model)
	if window <= 0 {
		return gauge{}, nil
	}
	if floor := floorOf(spec); window < floor {
		return gauge{}, &WindowError{Agent: spec.Name, Window: window, Floor: floor, Source: source}
	}
	g := gauge{window: window}
	if !rt.opts.NoHandoff {
		g.line = handoffLine(window)
	}
	return g, nil
}

// watch tells the person, once for each session, that it is nearly full, and, once for each pair of names, that another
// model answers than was asked.
func (rt *Runtime) watch(g *gauge, label string, ev agent.Event) {
	answered, ok := ev.(agent.Answered)
	if !ok || answered.Path != "" {
		return
	}
	context := answered.Message.Usage.Context()
	if !g.said && g.line > 0 && context >= g.line-nearRoom && context < g.line {
		g.said = true
		rt.emit(WindowNear{Label: label, Context: context, Line: g.line, Window: g.window})
	}
	names := [2]string{answered.Asked, answered.Message.Model}
	if rt.opts.Windows != nil && !rt.saidModels[names] && !rt.opts.Windows.Same(names[0], names[1]) {
		rt.saidModels[names] = true
		rt.emit(ModelDiffers{Asked: names[0], Answered: names[1]})
	}
}

// leastOverflow is the smallest context, in tokens, whose overflow says something about the window: the floor of the roles
// that need most. Below it, it was the last thing added that was too large.
const leastOverflow = 24_000

// overflowed records an overflow. What the endpoint says of its window counts, and the size of the context it happened
// at; the smaller.
func (rt *Runtime) overflowed(model string, context int, e *agent.ModelError) {
	tokens := context
	if tokens < leastOverflow {
		tokens = 0
	}
	if e.Window > 0 && (tokens == 0 || e.Window < tokens) {
		tokens = e.Window
	}
	if rt.opts.Windows == nil || tokens == 0 {
		return
	}
	rt.booksFailed("windows.json", rt.opts.Windows.Overflowed(model, tokens))
}
