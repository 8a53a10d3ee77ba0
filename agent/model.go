package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"flower/transcript"
)

// Model answers requests. Implementations are safe for concurrent use and do not retry; retrying is a decorator
// (WithRetry) around them.
type Model interface {
	// Generate sends one request and returns the whole answer. While the answer arrives, sink (which may be nil) is
	// called in order from the calling goroutine. An answer that breaks off is an error: nothing of it is returned.
	// Errors of the endpoint and of the network are *ModelError; a cancelled ctx is ctx's own error.
	Generate(ctx context.Context, req *ModelRequest, sink func(Delta)) (*Response, error)
}

// ModelRequest is one request in our own terms. Nothing in it may be changed while Generate runs.
type ModelRequest struct {
	Model     string
	MaxTokens int
	System    string
	Tools     []ToolSpec
	Messages  []transcript.Message
	Marks     []Mark // places behind which the endpoint caches, at most 3: one more is set at the end of System
	Thinking  bool   // adaptive thinking
	Effort    string
	SessionID string // opaque id for the endpoint's own books; may be empty
}

// Mark is the place of a cache mark: block Block of message Message.
type Mark struct{ Message, Block int }

// ToolSpec is a tool as a model sees it.
type ToolSpec struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"input_schema"` // JSON Schema of an object
	// Hosted is the definition of a tool that the endpoint runs itself, within its answers, as it is sent; the API knows it by
	// the name in there. Such a tool has neither a description nor a schema of ours, and is never called here. Nil: an
	// ordinary tool.
	Hosted json.RawMessage `json:"hosted,omitempty"`
}

// Response is one complete answer.
type Response struct {
	Message transcript.Message // role assistant, with id, model, stop reason and usage
	// Cut is the number of blocks at the end that were left out because they were not complete (max_tokens in the middle
	// of a tool call).
	Cut         int
	CostUSD     float64
	Unpriced    bool   // no price is known for Message.Model
	StopDetails string // what the endpoint says of a refusal, for a person
	RequestID   string
}

// Stop reasons of the API.
const (
	StopEndTurn       = "end_turn"
	StopToolUse       = "tool_use"
	StopMaxTokens     = "max_tokens"
	StopSequence      = "stop_sequence"
	StopPauseTurn     = "pause_turn"
	StopRefusal       = "refusal"
	StopContextWindow = "model_context_window_exceeded"
)

// Delta is a piece of an answer on its way, or a word about the request itself: Begun, TextDelta, ThinkingDelta,
// ToolDelta, Retrying, Waiting or OutageOver.
type Delta interface{ delta() }

// Begun says that an answer begins: from here on it is paid for, also if it never comes to its end. A Model that does not
// know says nothing.
type Begun struct {
	Model string
	Usage transcript.Usage // so far: what was read, and hardly anything of what will be written
}

// TextDelta is a piece of text.
type TextDelta struct{ Text string }

// ThinkingDelta is a piece of thinking.
type ThinkingDelta struct{ Text string }

// ToolDelta says that a call of the named tool is being written; Bytes is how much of its input has come.
type ToolDelta struct {
	Name  string
	Bytes int
}

// Retrying says that a request failed and will be sent again after Wait. Everything said of the answer before it is
// void.
type Retrying struct {
	Attempt int // the attempt that is used up by it, from 1
	Wait    time.Duration
	Err     error
}

func (Begun) delta()         {}
func (TextDelta) delta()     {}
func (ThinkingDelta) delta() {}
func (ToolDelta) delta()     {}
func (Retrying) delta()      {}

// ErrorKind says what can be done about a failed request.
type ErrorKind int

// The kinds. Unknown is retried like Transient.
const (
	Unknown ErrorKind = iota
	Transient
	Fatal
	Overflow // the history does not fit the window
)

// String is the kind's name in lower case.
func (k ErrorKind) String() string {
	switch k {
	case Transient:
		return "transient"
	case Fatal:
		return "fatal"
	case Overflow:
		return "overflow"
	default:
		return "unknown"
	}
}

// ModelError is a request that failed. Its text is for people and logs, never for a model.
type ModelError struct {
	Kind       ErrorKind
	Outage     Outage        // what a transient failure is a sign of
	Status     int           // HTTP status, 0 if there was no answer
	Type       string        // the API's error type, may be empty
	Message    string        // what the endpoint or the network said, one line
	RetryAfter time.Duration // asked for by the endpoint; 0 is not asked for
	Window     int           // of an Overflow: the most tokens the endpoint takes, if it says so
	NoRetry    bool          // the endpoint says that trying again is useless
	RequestID  string
	Err        error // the cause, if there was no answer
}

// Error implements error.
func (e *ModelError) Error() string {
	var large *TooLargeError
	switch {
	case errors.As(e.Err, &large):
		return large.Error()
	case e.Status != 0 && e.Type != "":
		return fmt.Sprintf("endpoint answered %d %s: %s", e.Status, e.Type, e.Message)
	case e.Status != 0:
		return fmt.Sprintf("endpoint answered %d: %s", e.Status, e.Message)
	case e.Type != "":
		return fmt.Sprintf("endpoint said %s: %s", e.Type, e.Message)
	}
	return "endpoint not reached: " + e.Message
}

// Unwrap returns the cause.
func (e *ModelError) Unwrap() error { return e.Err }
