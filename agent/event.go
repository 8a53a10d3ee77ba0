package agent

import (
	"encoding/json"
	"time"

	"flower/transcript"
)

// Event is something that happened in a run. The set is closed; a printer switches over it. Path is empty for the
// main thread and the subagent's id for everything inside a subagent.
type Event interface{ event() }

// Started says that the session is known and durable; nothing has been sent yet.
type Started struct {
	Path    string
	Key     Key
	Agent   string // Spec.Name
	Title   string // of a subagent
	Resumed bool
	Report  transcript.Report // what loading the history changed
}

// Progress is a piece of an answer on its way.
type Progress struct {
	Path  string
	Delta Delta
}

// Answered says that a whole answer is committed.
type Answered struct {
	Path     string
	Message  transcript.Message
	Asked    string              // the model that was asked; Message.Model is the one that answered
	Turn     int                 // from 1
	Searches []transcript.Search // of the web, by the endpoint, in this answer
	CostUSD  float64
	Unpriced bool
	Total    float64 // cost of the run so far, subagents included
}

// BudgetLow says, once for each limit of money, that four fifths of it are spent.
type BudgetLow struct {
	Path               string
	SpentUSD, LimitUSD float64
	Agent              string // Spec.Name of the agent whose limit it is; "" is the limit of the whole run
}

// Wasted says that something was paid for that is not part of the session: an answer that broke off or was stopped, or
// one that could not be stored. It counts in the sums like an answer.
type Wasted struct {
	Path    string
	Usage   transcript.Usage // as far as it is known
	CostUSD float64
	Low     bool // it was more than that: the answer has not come to its end, or has no known price
	Whole   bool // the whole answer came and could not be stored; else it broke off
}

// CacheMissed says that the first request of a resumed session did not find in the endpoint's cache what the last one
// before had left there. It is said once, with the answer.
type CacheMissed struct {
	Path     string
	Tokens   int           // that had been in the cache and were sent in full again
	ExtraUSD float64       // what that cost above reading them from the cache; 0 if no price is known
	Age      time.Duration // since the last answer; caches live for five minutes, or an hour where that is asked for
}

// ToolStarted says that a call is about to run, or that it is asked whether it may. Calls that no tool is asked about (unknown tool, bad input) have no
// events; one that is stopped and can be run again has no ToolFinished.
type ToolStarted struct {
	Path  string
	ID    string
	Name  string
	Input json.RawMessage
}

// ToolFinished says that a call has its result, and that it is committed.
type ToolFinished struct {
	Path    string
	ID      string
	Name    string
	Input   json.RawMessage
	Result  ToolResult
	Elapsed time.Duration
}

// Repeating says that the model was told that it repeats a call without getting anywhere.
type Repeating struct {
	Path  string
	Name  string
	Input json.RawMessage
	Times int
}

// Delivered says that remarks of the person have been handed to the model.
type Delivered struct {
	Path  string
	Notes []Note
}

// Amended says that what is sent of the history was changed in the middle of the run: it had become too large, or the
// endpoint refused thinking in it.
type Amended struct {
	Path   string
	Report transcript.Report
}

// Withdrawn says that the endpoint does not have a tool that it was to run itself, and that the work goes on without. It
// is said once for each model and tool; sessions remember it.
type Withdrawn struct {
	Path   string
	Tool   string // ToolSpec.Name
	Reason string // what the endpoint said
}

// Finished is the last event of a conversation, however it ends: what was spent is known even when it failed.
type Finished struct {
	Path   string
	Result Result
	Err    error // nil if it ended well; for the run itself also the iterator's error
}

func (Started) event()      {}
func (Progress) event()     {}
func (Answered) event()     {}
func (BudgetLow) event()    {}
func (Wasted) event()       {}
func (CacheMissed) event()  {}
func (ToolStarted) event()  {}
func (ToolFinished) event() {}
func (Repeating) event()    {}
func (Delivered) event()    {}
func (Amended) event()      {}
func (Withdrawn) event()    {}
func (Finished) event()     {}
