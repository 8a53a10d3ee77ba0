package modeltest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"flower/transcript"
)

// Request is a request for a message as a Player sees it. It is never changed after the Player has got it.
type Request struct {
	Seq    int       // from 1, in the order of arrival
	At     time.Time // arrival, by Options.Now
	Header http.Header
	Body   []byte // as it came

	// Attempt is how many accepted requests with the very same body came before: 0 for the first, more for retries.
	// With Seq it is the only thing here that the request itself does not say; use it for faults that pass.
	Attempt int

	Model     string
	MaxTokens int
	Stream    bool
	Thinking  string   // adaptive, enabled, disabled or ""
	Effort    string   // of output_config
	Session   string   // metadata.user_id
	System    string   // the system text, pieces joined by line feeds
	Tools     []string // names, in the order of the request
	Messages  []transcript.Message
	Tokens    int // the server's estimate of the whole input

	role Role
}

// newRequest completes a request with what parse has accepted.
func newRequest(from *Request, t *tree) (*Request, error) {
	done := *from
	r := &done
	var body struct {
		Model     string               `json:"model"`
		MaxTokens int                  `json:"max_tokens"`
		Stream    bool                 `json:"stream"`
		Messages  []transcript.Message `json:"messages"`
		Metadata  struct {
			UserID string `json:"user_id"`
		} `json:"metadata"`
		Thinking struct {
			Type string `json:"type"`
		} `json:"thinking"`
		Output struct {
			Effort string `json:"effort"`
		} `json:"output_config"`
	}
	if err := json.Unmarshal(r.Body, &body); err != nil {
		return nil, invalid("%v", err)
	}
	r.Model, r.MaxTokens, r.Stream, r.Messages = body.Model, body.MaxTokens, body.Stream, body.Messages
	r.Session, r.Thinking, r.Effort = body.Metadata.UserID, body.Thinking.Type, body.Output.Effort
	for i := range t.tools {
		r.Tools = append(r.Tools, t.tools[i].keys.text("name"))
	}
	var system []string
	for i := range t.system {
		system = append(system, t.system[i].text())
	}
	r.System = strings.Join(system, "\n")
	return r, nil
}

// Offers says whether all of the named tools are offered.
func (r *Request) Offers(tools ...string) bool {
	for _, name := range tools {
		if !slices.Contains(r.Tools, name) {
			return false
		}
	}
	return true
}

// LastUser returns the text of the last message, results of tools left out.
func (r *Request) LastUser() string {
	if len(r.Messages) == 0 {
		return ""
	}
	return r.Messages[len(r.Messages)-1].PlainText()
}

// Prompt returns the text of the last user message that answers no call: what the current turns are about. Text that
// came together with results is not a prompt.
func (r *Request) Prompt() string {
	if i := r.lastPrompt(); i >= 0 {
		return r.Messages[i].PlainText()
	}
	return ""
}

// FirstUser returns the text of the first message.
func (r *Request) FirstUser() string {
	if len(r.Messages) == 0 {
		return ""
	}
	return r.Messages[0].PlainText()
}

// Says says whether any text of the user's messages, results of tools included, contains s.
func (r *Request) Says(s string) bool {
	for _, m := range r.Messages {
		if m.Role != transcript.RoleUser {
			continue
		}
		for _, b := range m.Content {
			if strings.Contains(b.PlainText(), s) {
				return true
			}
		}
	}
	return false
}

// Turn is the number of answers since the last prompt.
func (r *Request) Turn() int { return answers(r.Messages[r.lastPrompt()+1:]) }

// Answers is the number of answers in the whole conversation.
func (r *Request) Answers() int { return answers(r.Messages) }

// Prompts is the number of user messages that answer no call.
func (r *Request) Prompts() int {
	n := 0
	for _, m := range r.Messages {
		if isPrompt(m) {
			n++
		}
	}
	return n
}

func (r *Request) lastPrompt() int {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		if isPrompt(r.Messages[i]) {
			return i
		}
	}
	return -1
}

func isPrompt(m transcript.Message) bool {
	return m.Role == transcript.RoleUser && len(results(m)) == 0
}

func answers(messages []transcript.Message) int {
	n := 0
	for i, m := range messages {
		if m.Role == transcript.RoleAssistant && (i == 0 || messages[i-1].Role != transcript.RoleAssistant) {
			n++
		}
	}
	return n
}

func results(m transcript.Message) []transcript.Block {
	var out []transcript.Block
	for _, b := range m.Content {
		if b.Type == transcript.TypeToolResult {
			out = append(out, b)
		}
	}
	return out
}

// Results returns the results of tools in the last message.
func (r *Request) Results() []transcript.Block {
	if len(r.Messages) == 0 {
		return nil
	}
	return results(r.Messages[len(r.Messages)-1])
}

// Outcome is a call and its result.
type Outcome struct {
	Call   transcript.Block
	Result transcript.Block
}

// Calls returns all calls of the conversation with their results, in order.
func (r *Request) Calls() []Outcome {
	byID := map[string]transcript.Block{}
	for _, m := range r.Messages {
		for _, b := range results(m) {
			byID[b.ToolUseID] = b
		}
	}
	var out []Outcome
	for _, m := range r.Messages {
		for _, call := range m.ToolUses() {
			out = append(out, Outcome{call, byID[call.ID]})
		}
	}
	return out
}

// Answered returns the calls of one tool with their results, in order.
func (r *Request) Answered(tool string) []Outcome {
	return slices.DeleteFunc(r.Calls(), func(o Outcome) bool { return o.Call.Name != tool })
}

// Conversation names the conversation by its system text and the first block of its first message: all requests of one
// conversation, over retries and restarts of the client, have the same name. It is "" for a request that could not be
// read.
func (r *Request) Conversation() string {
	if len(r.Messages) == 0 || len(r.Messages[0].Content) == 0 {
		return ""
	}
	first, _ := canonical(encode(r.Messages[0].Content[0])) // without its cache mark, which moves
	sum := sha256.Sum256(encode([]string{r.System, string(first)}))
	return hex.EncodeToString(sum[:8])
}

// Record is a request and what it was answered with.
type Record struct {
	*Request

	Status  int    // the HTTP status sent; 0 while none was
	Refused string // the text of the refusal, if the server refused the request by itself
	Reply   Reply  // what the Player answered
	// Message is the message that Reply stands for, with ids, signatures and usage; its Role is "" for a failure.
	Message transcript.Message
	Events  int  // events written; of an answer that is not streamed, bodies
	Bytes   int  // bytes of body written
	Ended   bool // nothing more will come
	Whole   bool // everything of Reply was written
}
