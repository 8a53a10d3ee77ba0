package agent

import (
	"context"
	"encoding/json"

	"flower/transcript"
)

// Tool is something a model can call. Run is called from several goroutines at once, also for the same tool.
type Tool struct {
	ToolSpec

	// Again says that an interrupted call may simply be run once more when the session goes on: it reads, or it finds
	// what it has already done by the call's id. Calls of other tools whose outcome is not known are never run again;
	// the model is told to look first.
	Again bool
	// Looks says that a call only looks and is never a step forward, however new its result: a run that does nothing else
	// and sees the same again and again is stuck.
	Looks bool

	// Permit says whether a call may be made: nil is yes, anything else is the call's result. It is asked when the input has
	// been checked and before the call is recorded as begun, so that a call that was cut off while it was asked about has
	// certainly done nothing, and is asked about again when the session goes on. Its error ends the run; a crash is a no.
	// Nil permits every call.
	Permit func(ctx context.Context, call Call) (*ToolResult, error)

	Run Handler // nil of a Hosted one
}

// Handler runs one call. A failure the model can act on is a ToolResult with IsError; an error ends the run. When ctx is
// done it returns soon, with what it has so far.
type Handler func(ctx context.Context, call Call) (ToolResult, error)

// Middleware wraps a handler: guards, spilling, redaction. It fails closed.
type Middleware func(next Handler) Handler

// Call is one call of a tool.
type Call struct {
	ID    string
	Name  string
	Input json.RawMessage // valid JSON object, checked against the schema
	Key   Key             // the session that calls
}

// ToolResult is what a model is told about a call.
type ToolResult struct {
	Content []transcript.Block // text, image or document; empty is sent as "(no output)"
	IsError bool
	Denied  bool // a guard refused the call: stored with toolDenialKind
	// Essence is the result without what differs each time, such as how long it took: two results with the same one are the
	// same. Empty: Content.
	Essence string
	Display string // for people, one or a few lines; empty: made from Content
}

// TextResult is a result of one text.
func TextResult(s string) ToolResult {
	return ToolResult{Content: []transcript.Block{transcript.Text(s)}}
}

// ErrorResult is a failure that the model is told.
func ErrorResult(s string) ToolResult {
	r := TextResult(s)
	r.IsError = true
	return r
}

// DeniedResult is a refusal by a guard.
func DeniedResult(s string) ToolResult {
	r := ErrorResult(s)
	r.Denied = true
	return r
}

// Toolbox makes the tools of an agent. Implementations are safe for concurrent use.
type Toolbox interface {
	// Tools returns the tools that spec names, in spec's order, with the guards that spec asks for. A name it does not
	// know is an error.
	Tools(spec Spec, env Env) ([]Tool, error)
}

// Env is what a tool can reach of the run it belongs to.
type Env struct {
	Key Key
	// Spawn runs a subagent and returns when it is done. Nil where the agent has none.
	Spawn func(ctx context.Context, s Spawn) (ToolResult, error)
}

// Spawn asks for a subagent.
type Spawn struct {
	CallID string // the call that asks; the subagent's id is made from it, so that the same call finds its work again
	Agent  string // name of one of the parent's Subagents; "" if it has only one
	Title  string // a few words for people
	Prompt string
}
