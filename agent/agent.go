// Package agent is the engine: the loop that asks a model, commits what it says, runs the tools it calls, commits their
// results, and asks again, until the model is done or a limit is reached.
//
// Terms. A session is one conversation, named by a Key; a turn is one answer of the model together with the tools it
// calls; a subagent is a conversation started by a call of the Agent tool, with its own transcript below its parent's.
//
// Durability. Every entry is committed through Log before it is acted on: the prompt before the request, the answer
// before its tools run, the results before the next request. A tool with effects runs when its beginning is recorded.
// After the process is killed at any instant the log holds a valid prefix, and Run with the same Key goes on from there.
//
// Trust. What a model says is data: tool inputs are checked against the tool's schema, unknown tools are refused with a
// result the model can act on. A tool's failure is a result; only a failure of the engine itself ends a run.
package agent

import (
	"context"
	"encoding/json"
	"time"

	"flower/transcript"
)

// Key names a session in a Log. The zero SubPath is the session's main thread.
type Key struct {
	Project string // the workspace, as formats.md spells it
	Session string // UUID
	SubPath string // "subagents/agent-<id>" for a subagent
}

// String is the key as it is stored: project/session[/subpath].
func (k Key) String() string {
	s := k.Project + "/" + k.Session
	if k.SubPath != "" {
		s += "/" + k.SubPath
	}
	return s
}

// Sub returns the key of the subagent id of the same session.
func (k Key) Sub(id string) Key {
	return Key{Project: k.Project, Session: k.Session, SubPath: "subagents/agent-" + id}
}

// Log is where sessions are kept. Implementations are safe for concurrent use.
type Log interface {
	// Load returns all entries of a session in stored order, each as its stored JSON; none and no error if there is
	// no such session.
	Load(ctx context.Context, key Key) ([]json.RawMessage, error)
	// Append commits entries at the end of a session: when it returns nil they survive a crash of the machine. An entry
	// whose uuid the session already holds is skipped, so that a repeated Append changes nothing.
	Append(ctx context.Context, key Key, entries ...transcript.Entry) error
	// Begin records that the tool of a call is about to run, durable like Append; again changes nothing.
	Begin(ctx context.Context, key Key, callID string) error
	// OpenCalls returns, by id, the calls in entries that were appended through a Log (as JournalOf finds them) and have
	// no result there yet. Entries that came in another way are not known to it.
	OpenCalls(ctx context.Context, key Key) (map[string]OpenCall, error)
	// Prefix returns the system text and the tools a session was started with, and false for a session that has none.
	Prefix(ctx context.Context, key Key) (Prefix, bool, error)
	// SetPrefix stores the prefix of a new session, durable like Append. The first one stays: a second call with
	// another prefix is an error.
	SetPrefix(ctx context.Context, key Key, p Prefix) error
}

// Prefix is the part of every request of a session that never changes: caching and the signatures of thinking blocks
// depend on it byte for byte.
type Prefix struct {
	System string     `json:"system"`
	Tools  []ToolSpec `json:"tools"`
	// Definition is the Spec.Fingerprint of the agent that began the session; empty if that is not known.
	Definition string `json:"definition,omitempty"`
}

// Spec defines an agent: what it is told, what it may use, how far it may go.
type Spec struct {
	Name         string // "worker"; also the subagent_type by which a parent starts it
	Description  string // one sentence for the model that may start it
	Instructions string // the system prompt
	// Edition names what Instructions say independently of their wording and language: sessions of an older wording go
	// on as long as it stays the same. Empty: every change of Instructions is another role.
	Edition string

	// Tools is the exclusive list of tools offered; a name the Toolbox does not know is an error at start.
	Tools []string
	// EphemeralShell lets Bash run only commands that read and are stale by tomorrow.
	EphemeralShell bool
	// Permission is the mode that says which calls need the person's word; the Toolbox knows the modes. Empty: none do. A
	// subagent without a mode of its own has its parent's.
	Permission string
	// Subagents are the agents that the Agent tool may start.
	Subagents []Spec

	// Search bounds the endpoint's search of the web, for agents whose Tools name it.
	Search SearchLimits

	Model     string // "" is the engine's default
	MaxTokens int    // of one answer; 0 is the engine's default
	Thinking  bool   // ask for adaptive thinking
	Effort    string // "" or low … max

	Limits Limits
}

// Limits bound one run of an agent; zero fields do not limit. CostUSD includes the agent's subagents.
type Limits struct {
	Turns   int
	CostUSD float64
}

// SearchLimits bound searches of the web that the endpoint makes; zero fields are the toolbox's to choose. At most one of the
// lists may be set.
type SearchLimits struct {
	MaxUses        int      // searches in one answer
	AllowedDomains []string // nothing else is found: example.com, with those below it, or example.com/docs
	BlockedDomains []string // these are not
}

// Request is one run of an agent in a session. A session that the log already knows goes on; its stored prefix is
// sent unchanged and Spec.Instructions is not used.
type Request struct {
	Key  Key
	Spec Spec

	// Prompt is the user's text, committed as one entry. Without one the session goes on with what is there; if the
	// model has nothing left to answer, the run ends at once with its last answer.
	Prompt string
	// PromptID is the uuid of the prompt's entry: a prompt the session already holds is not added again, so that a run
	// can be repeated after a crash. Empty: a new one.
	PromptID string

	// Ready is called once, when the prompt is durable, before the first request is sent and before a remark is taken out of
	// the inbox: whatever it writes down about the session is true from then on, and nothing has been spent yet. It is
	// called from the run's own goroutine, and not at all if the session has nothing to do. Nil does nothing.
	Ready func()

	// Boundary, once it is done, ends the run at its next message boundary, with Boundary's cause: tools in flight are
	// stopped at once and keep what they have, an answer of the main thread that is on its way is finished and committed,
	// its calls are not run, and nothing more is sent. The run's own context ends it sooner. Nil: never.
	Boundary context.Context

	// Abandon says that the run before was interrupted by the person: calls it left open are not run again, the model
	// is told that they were interrupted. By default open calls of tools with Again are run again.
	Abandon bool

	// Inbox is asked at every turn boundary for what the person said meanwhile; nil never says anything. Each note's
	// entry gets the note's ID as its uuid.
	Inbox Inbox

	// Line is the context of the main thread, in tokens, at which the run ends with *LineError: before the next request,
	// when the calls of the last answer have their results. An answer that ends the run counts as its end. 0 is none.
	Line int
	// Same makes a session whose stored prefix is not what Spec would begin one with now (another role, other tools) end
	// with *ChangedError before anything is stored. By default it goes on with the prefix it has.
	Same bool
	// Closing asks for a last word in a session that is about to be left: calls are refused, and neither Line nor limits
	// nor the meter's budget stop it.
	Closing bool
	// Shrink moves every text result that can be moved into files when the session is loaded, for one that does not fit its
	// window as it is. It needs Options.Spill.
	Shrink bool

	// Meter is shared by everything that spends the same money; its limit stops this run too. Nil is a new one without a limit.
	Meter *Meter
}

// Inbox hands over what a person said while an agent worked.
type Inbox interface {
	// Take returns notes not delivered yet, oldest first.
	Take(ctx context.Context) ([]Note, error)
	// Delivered marks notes as committed to a transcript.
	Delivered(ctx context.Context, notes []Note) error
}

// Note is one remark of a person.
type Note struct {
	ID   string // UUID
	Text string
	At   time.Time
}

// Result is how a run ended.
type Result struct {
	Text       string           // the text of the last answer
	StopReason string           // of the last answer
	Turns      int              // answers of the main thread in this run
	Usage      transcript.Usage // of this run, subagents included
	CostUSD    float64          // of this run, subagents included
	Unpriced   bool             // some answer came from a model without a known price: CostUSD is too low
	Context    int              // tokens in the window of the main thread after its last answer
	Model      string           // the model that answered last
	Resumed    bool             // the session existed before this run
}
