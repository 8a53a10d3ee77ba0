package modeltest

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"flower/transcript"
)

// Player decides what requests are answered with. Play is called from several goroutines at once; it should depend on
// the request's content alone, so that a client that repeats a request, in another process even, gets the same answer.
type Player interface {
	Play(r *Request) Reply
}

// PlayerFunc is a Player made of a function.
type PlayerFunc func(r *Request) Reply

// Play implements Player.
func (f PlayerFunc) Play(r *Request) Reply { return f(r) }

// Reply is an answer. The zero value is an empty message that ends the turn. Replies are values: the methods return
// changed copies.
type Reply struct {
	// Content is the message. Calls without an id and thinking without a signature get one.
	Content []transcript.Block
	// Stop is the stop reason. "" is tool_use if there are calls and end_turn if not.
	Stop         string
	StopSequence string
	StopDetails  string // what is said of a refusal, for a person
	// Model is the model that says it answered. "" is the one that was asked.
	Model string
	// Usage replaces what the server would count.
	Usage *transcript.Usage

	// Status, Body and Header make an answer that is no message: a Status other than 0 sends Body as it is. Header is
	// added to messages too.
	Status int
	Header http.Header
	Body   []byte

	// Chunk is how many characters an event of a stream carries, 24 by default.
	Chunk int
	// Pace is the time between two events; 0, the default, waits for nothing. For demonstrations: tests use gates.
	Pace time.Duration
	// Holds stop the answer until their gates open.
	Holds []Hold
	// Break ends the answer before its time.
	Break *Break

	pass bool
}

// Play makes a Reply the Player that always answers so.
func (r Reply) Play(*Request) Reply { return r }

// Hold is a gate in the way of an answer.
type Hold struct {
	At   Point
	Gate *Gate
}

// Break is where an answer ends and how.
type Break struct {
	At  Point
	How Way
	// Gate is reached when a Silence begins, and ends it with a hang-up when it opens. May be nil.
	Gate *Gate
	// Type and Message are the error of ErrorEvent; no Type is overloaded_error.
	Type, Message string
}

// Way is how an answer breaks off.
type Way int

// The ways.
const (
	HangUp     Way = iota // the connection closes in the middle of the body
	Reset                 // the connection is reset (TCP RST)
	End                   // the body ends in good order, the message does not
	ErrorEvent            // an error event, then the end
	Silence               // nothing more comes until the client leaves or Break.Gate opens
)

// Point is a place in an answer. The zero value is before the first byte of the response, status included.
type Point struct {
	Events int    // behind so many events
	Bytes  int    // or behind so many bytes of the body, in the middle of an event if need be
	Inside string // or in the middle of the first block of this type
}

// AfterEvents is the point behind n events.
func AfterEvents(n int) Point { return Point{Events: n} }

// AfterBytes is the point behind n bytes of the body.
func AfterBytes(n int) Point { return Point{Bytes: n} }

// Inside is the point in the middle of the first block of a type: text, thinking, or tool_use for half a call's input.
// An answer without such a block is not stopped.
func Inside(blockType string) Point { return Point{Inside: blockType} }

// Answer returns a message of the blocks, in order.
func Answer(blocks ...transcript.Block) Reply { return Reply{Content: blocks} }

// Say returns a message of one text.
func Say(text string) Reply { return Answer(Text(text)) }

// Text returns a text block.
func Text(text string) transcript.Block { return transcript.Text(text) }

// Think returns a thinking block; the server signs it.
func Think(text string) transcript.Block { return transcript.Thinking(text, "") }

// Redacted returns a redacted_thinking block; the server makes its data.
func Redacted() transcript.Block { return transcript.RedactedThinking("") }

// Call returns a call of a tool; input is anything that encodes as a JSON object, nil an empty one. The id is made of
// the request's content, so two conversations that say the same get the same ids: give parallel subagents different
// prompts. An input that does not encode panics: the script is wrong.
func Call(tool string, input any) transcript.Block {
	if input == nil {
		input = struct{}{}
	}
	return transcript.ToolUse("", tool, encode(input))
}

// Fail returns an error of the API. The error types by status are in the API's documentation; "" takes the usual one.
func Fail(status int, errorType, message string) Reply {
	if errorType == "" {
		errorType = errorTypes[status]
	}
	if errorType == "" {
		errorType = "api_error"
	}
	return Reply{
		Status: status, Header: http.Header{"Content-Type": {"application/json"}},
		Body: errorBody(errorType, message, "req_modeltest_scripted"),
	}
}

var errorTypes = map[int]string{
	400: "invalid_request_error", 401: "authentication_error", 402: "billing_error", 403: "permission_error",
	404: "not_found_error", 409: "conflict_error", 413: "request_too_large", 429: "rate_limit_error",
	500: "api_error", 504: "timeout_error", 529: "overloaded_error",
}

// Overloaded returns a 529.
func Overloaded() Reply { return Fail(529, "", "Overloaded") }

// RateLimited returns a 429 with a retry-after, in seconds or as a date; "" leaves it out.
func RateLimited(retryAfter string) Reply {
	r := Fail(429, "", "This request would exceed your account's rate limit. Please try again later.")
	if retryAfter != "" {
		r.Header.Set("Retry-After", retryAfter)
	}
	return r
}

// SpendLimit returns the 429 of a spend cap: waiting does not help.
func SpendLimit() Reply {
	r := Fail(429, "", "")
	r.Body = encode(map[string]any{"type": "error", "request_id": "req_modeltest_scripted", "error": map[string]any{
		"type": "rate_limit_error", "message": "Your organization has reached its spend limit.",
		"details": map[string]string{"error_code": "enforced_spend_limit_reached"},
	}})
	return r
}

// TooLong returns the 400 of a prompt that does not fit the window.
func TooLong(tokens, maximum int) Reply { return Fail(400, "", tooLong(tokens, maximum)) }

func tooLong(tokens, maximum int) string {
	return fmt.Sprintf("prompt is too long: %d tokens > %d maximum", tokens, maximum)
}

// HTML returns a page where JSON was due, as captive portals and proxies send it.
func HTML(status int, page string) Reply {
	return Reply{Status: status, Header: http.Header{"Content-Type": {"text/html; charset=utf-8"}}, Body: []byte(page)}
}

// Pass is the answer of a Player that has none: a Script tries its next rule, the server books a Problem.
func Pass() Reply { return Reply{pass: true} }

// Stopping returns the reply with another stop reason.
func (r Reply) Stopping(reason string) Reply { r.Stop = reason; return r }

// Spending returns the reply with another usage.
func (r Reply) Spending(u transcript.Usage) Reply { r.Usage = &u; return r }

// From returns the reply with another model's name on it.
func (r Reply) From(model string) Reply { r.Model = model; return r }

// Paced returns the reply with a time between events.
func (r Reply) Paced(d time.Duration) Reply { r.Pace = d; return r }

// With returns the reply with one more header.
func (r Reply) With(key, value string) Reply {
	r.Header = r.Header.Clone()
	if r.Header == nil {
		r.Header = http.Header{}
	}
	r.Header.Set(key, value)
	return r
}

// Held returns the reply with one more gate in its way.
func (r Reply) Held(at Point, g *Gate) Reply {
	r.Holds = append(slices.Clone(r.Holds), Hold{at, g})
	return r
}

// Broken returns the reply breaking off.
func (r Reply) Broken(at Point, how Way) Reply { r.Break = &Break{At: at, How: how}; return r }

// Silent returns the reply falling silent with the connection open. The gate, which may be nil, is reached then.
func (r Reply) Silent(at Point, g *Gate) Reply {
	r.Break = &Break{At: at, How: Silence, Gate: g}
	return r
}

// Failing returns the reply with an error event in its stream, after which the stream ends.
func (r Reply) Failing(at Point, errorType, message string) Reply {
	r.Break = &Break{At: at, How: ErrorEvent, Type: errorType, Message: message}
	return r
}

// message makes the message of the reply, ids included. The ids depend on the request's content only.
func (r Reply) message(req *Request, base string) transcript.Message {
	m := transcript.Message{
		Role: transcript.RoleAssistant, ID: "msg_" + base[:16] + strconv.Itoa(req.Seq),
		Model: r.Model, StopReason: r.Stop,
	}
	if m.Model == "" {
		m.Model = req.Model
	}
	calls := 0
	for _, b := range nameSearches(r.Content, base) {
		if b.Type == transcript.TypeToolUse {
			calls++
			if b.ID == "" {
				b = transcript.ToolUse(fmt.Sprintf("toolu_%s%02d", base[:20], calls), b.Name, b.Input)
			}
		}
		m.Content = append(m.Content, b)
	}
	if m.StopReason == "" && calls > 0 {
		m.StopReason = "tool_use"
	} else if m.StopReason == "" {
		m.StopReason = "end_turn"
	}
	return m
}

// outputTokens estimates what a message costs.
func outputTokens(m transcript.Message, bytesPerToken int) int {
	sum := 1
	for _, b := range m.Content {
		size := len(b.Text) + len(b.Thinking) + len(b.Name) + len(b.Input)
		sum += (size + bytesPerToken - 1) / bytesPerToken
	}
	return sum
}
