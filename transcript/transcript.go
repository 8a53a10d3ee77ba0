// Package transcript holds a conversation with a model: its stored entries, the messages made of them, the rules
// the Messages API sets for those messages, and the pure pipeline that makes any stored history acceptable to it.
//
// Terms. An entry is one stored JSON object (the Claude Code format); a message is what the API sees: a role and a
// list of blocks; a block is a piece of content: text, thinking, a tool call (tool_use) or its result (tool_result).
// A history is the list of entries of one conversation in stored order.
//
// Trust. Entries come from disk and may have been written by another program, cut by a power loss or edited by hand:
// nothing here panics on them, and what cannot be read is dropped and counted. The package does no I/O and reads no
// clock. Values may be shared between goroutines as long as nobody changes them.
package transcript

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Roles of a message.
const (
	RoleUser      = "user"
	RoleAssistant = "assistant"
)

// Block types that flower reads or writes itself; others pass through untouched.
const (
	TypeText             = "text"
	TypeThinking         = "thinking"
	TypeRedactedThinking = "redacted_thinking"
	TypeToolUse          = "tool_use"
	TypeToolResult       = "tool_result"
	TypeImage            = "image"
	TypeDocument         = "document"
)

// Block is one content block. The exported fields are a view of the block; the JSON it was read from is kept and
// written again as it was, so that keys unknown to flower and the exact bytes of thinking survive. To change a block,
// make a new one with a constructor: a Block with changed fields but old JSON would write the old JSON.
type Block struct {
	Type string

	Text string // text

	Thinking  string // thinking
	Signature string // thinking
	Data      string // redacted_thinking

	ID    string          // tool_use
	Name  string          // tool_use
	Input json.RawMessage // tool_use: a JSON object

	ToolUseID string  // tool_result
	Content   []Block // tool_result; a string is read as one text block
	IsError   bool    // tool_result

	raw json.RawMessage
}

// Text returns a text block.
func Text(s string) Block { return Block{Type: TypeText, Text: s} }

// Thinking returns a thinking block as the API sent it.
func Thinking(text, signature string) Block {
	return Block{Type: TypeThinking, Thinking: text, Signature: signature}
}

// RedactedThinking returns a redacted_thinking block as the API sent it.
func RedactedThinking(data string) Block { return Block{Type: TypeRedactedThinking, Data: data} }

// ToolUse returns a tool call. A nil input is an empty object.
func ToolUse(id, name string, input json.RawMessage) Block {
	if len(input) == 0 {
		input = json.RawMessage("{}")
	}
	return Block{Type: TypeToolUse, ID: id, Name: name, Input: input}
}

// ToolResult returns the result of the call with the id toolUseID.
func ToolResult(toolUseID string, isError bool, content ...Block) Block {
	return Block{Type: TypeToolResult, ToolUseID: toolUseID, IsError: isError, Content: content}
}

// Image returns an image block with its data in base 64; mediaType is image/png, image/jpeg, image/gif or image/webp.
func Image(mediaType, base64Data string) Block {
	raw, _ := encode(map[string]any{"type": TypeImage, "source": map[string]string{"type": "base64", "media_type": mediaType, "data": base64Data}})
	return Block{Type: TypeImage, raw: raw}
}

// IsThinking says whether the block is bound to what stands before it by a signature.
func (b Block) IsThinking() bool { return b.Type == TypeThinking || b.Type == TypeRedactedThinking }

// PlainText joins the text of a block: of a text block its text, of a tool result the texts inside it.
func (b Block) PlainText() string {
	switch {
	case b.Type != TypeToolResult:
		return b.Text
	case len(b.Content) == 1:
		return b.Content[0].Text
	}
	var out strings.Builder
	for _, c := range b.Content {
		out.WriteString(c.Text)
	}
	return out.String()
}

// MarshalJSON writes the block as it was read, or from its fields if it was made here. HTML characters are not escaped.
func (b Block) MarshalJSON() ([]byte, error) {
	if b.raw != nil {
		return b.raw, nil
	}
	switch b.Type {
	case TypeText:
		return encode(struct {
			Type string `json:"type"`
			Text string `json:"text"`
		}{b.Type, b.Text})
	case TypeThinking:
		return encode(struct {
			Type      string `json:"type"`
			Thinking  string `json:"thinking"`
			Signature string `json:"signature"`
		}{b.Type, b.Thinking, b.Signature})
	case TypeRedactedThinking:
		return encode(struct {
			Type string `json:"type"`
			Data string `json:"data"`
		}{b.Type, b.Data})
	case TypeToolUse:
		return encode(struct {
			Type  string          `json:"type"`
			ID    string          `json:"id"`
			Name  string          `json:"name"`
			Input json.RawMessage `json:"input"`
		}{b.Type, b.ID, b.Name, b.Input})
	case TypeToolResult:
		return encode(struct {
			Type      string `json:"type"`
			ToolUseID string `json:"tool_use_id"`
			Content   any    `json:"content,omitempty"`
			IsError   bool   `json:"is_error,omitempty"`
		}{b.Type, b.ToolUseID, resultContent(b.Content), b.IsError})
	}
	return nil, fmt.Errorf("encode block: type %q has no fields of its own", b.Type)
}

// resultContent writes a lone text as a string, the form Claude Code writes, and anything else as blocks.
func resultContent(blocks []Block) any {
	switch {
	case len(blocks) == 0:
		return nil
	case len(blocks) == 1 && blocks[0].Type == TypeText && blocks[0].raw == nil:
		return blocks[0].Text
	}
	return blocks
}

// UnmarshalJSON reads a block of any type and keeps its bytes.
func (b *Block) UnmarshalJSON(data []byte) error {
	r := reader{text: bytes.Clone(data)}
	v := r.block()
	if err := r.end(); err != nil {
		return fmt.Errorf("read block: %w", err)
	}
	*b = v
	return nil
}

// block reads a block. Of one that flower does not know it does not mind what the keys mean. What a result holds is read
// once it is clear that it is one; inside of one there is no other.
func (r *reader) block() Block {
	r.peek()
	start := r.at
	var b Block
	wrong := ""   // a key with another type than it has in the blocks that flower knows
	content := -1 // where it stands
	for more := r.enter('{'); more; more = r.another('{') {
		key := r.key()
		if string(key) == "content" {
			content = r.at
		}
		if ok := r.blockMember(&b, key); !ok && wrong == "" {
			wrong = string(key)
		}
	}
	end := r.at
	if b.Type == TypeToolResult && content >= 0 && r.err == nil && !r.inside {
		var ok bool
		r.at, r.inside = content, true
		if b.Content, ok = r.content(); !ok {
			wrong = "content"
		}
		r.inside = false
	}
	if wrong != "" && (b.Type == "" || ours(b.Type)) {
		r.fail(fmt.Errorf("%s of a %s block has the wrong type", wrong, b.Type))
	}
	if r.err != nil {
		return Block{}
	}
	r.at = end
	b.raw = r.text[start:end:end]
	return b
}

// ours says whether a block of the type has fields in Block.
func ours(blockType string) bool {
	switch blockType {
	case TypeText, TypeThinking, TypeRedactedThinking, TypeToolUse, TypeToolResult:
		return true
	}
	return false
}

// blockMember reads the value of a key; ok is false if it has the wrong type.
func (r *reader) blockMember(b *Block, key []byte) (ok bool) {
	ok = true
	switch string(key) {
	case "type":
		b.Type, ok = r.name()
	case "text":
		b.Text, ok = r.string()
	case "thinking":
		b.Thinking, ok = r.string()
	case "signature":
		b.Signature, ok = r.string()
	case "data":
		b.Data, _ = r.string() // not a string: the block stays as it is and has no data to show
	case "id":
		b.ID, ok = r.string()
	case "name":
		b.Name, ok = r.name()
	case "input":
		b.Input = r.raw()
	case "tool_use_id":
		b.ToolUseID, ok = r.string()
	case "is_error":
		b.IsError, ok = r.bool()
	default:
		r.skip()
	}
	return ok
}

// content reads a string or a list of blocks; ok is false for a value of another type, which is skipped.
func (r *reader) content() (blocks []Block, ok bool) {
	switch r.peek() {
	case '"':
		s, ok := r.string()
		return []Block{Text(s)}, ok
	case '[':
		ok = true
		first := len(r.blocks)
		for more := r.enter('['); more; more = r.another('[') {
			var b Block
			if r.peek() == '{' {
				b = r.block()
			} else { // it is no block and goes like one without a type
				b.raw = r.raw()
				ok = ok && string(b.raw) == "null"
			}
			r.blocks = append(r.blocks, b)
		}
		blocks = slices.Clone(r.blocks[first:])
		clear(r.blocks[first:])
		r.blocks = r.blocks[:first]
		return blocks, ok
	}
	return nil, string(r.raw()) == "null"
}

// Message is one message of the API.
type Message struct {
	Role    string
	Content []Block

	// Of an assistant message only.
	ID         string
	Model      string
	StopReason string
	Usage      Usage
}

// Usage counts the tokens of one response in the four classes that are priced apart, and its searches. Total input is the sum of
// Input, CacheRead and CacheWrite (the API's own definition).
type Usage struct {
	Input        int `json:"input_tokens"`
	Output       int `json:"output_tokens"`
	CacheRead    int `json:"cache_read_input_tokens"`
	CacheWrite   int `json:"cache_creation_input_tokens"`
	CacheWrite1h int `json:"cache_creation_1h_input_tokens,omitempty"` // the part of CacheWrite that lives an hour
	Searches     int `json:"web_search_requests,omitempty"`            // of the web, made by the endpoint and priced each
}

// Add returns the sum of two counts.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		Input: u.Input + v.Input, Output: u.Output + v.Output, CacheRead: u.CacheRead + v.CacheRead,
		CacheWrite: u.CacheWrite + v.CacheWrite, CacheWrite1h: u.CacheWrite1h + v.CacheWrite1h,
		Searches: u.Searches + v.Searches,
	}
}

// Context is the number of tokens the response's request filled of the window: input, cache read and cache creation.
// The endpoint reads the context anew behind every search and counts all of it, so of a response with searches it is
// the mean of those readings; the response after it says what they have really added.
func (u Usage) Context() int {
	return (u.Input + u.CacheRead + u.CacheWrite) / (1 + max(0, u.Searches))
}

// MarshalJSON writes the message in the API's form, content always a list.
func (m Message) MarshalJSON() ([]byte, error) {
	content := m.Content
	if content == nil {
		content = []Block{}
	}
	if m.Role != RoleAssistant || m.ID == "" {
		return encode(struct {
			Role    string  `json:"role"`
			Content []Block `json:"content"`
		}{m.Role, content})
	}
	return encode(struct {
		ID           string  `json:"id"`
		Type         string  `json:"type"`
		Role         string  `json:"role"`
		Model        string  `json:"model"`
		Content      []Block `json:"content"`
		StopReason   *string `json:"stop_reason"`
		StopSequence *string `json:"stop_sequence"`
		Usage        Usage   `json:"usage"`
	}{m.ID, "message", m.Role, m.Model, content, optional(m.StopReason), nil, m.Usage})
}

// UnmarshalJSON reads a message whose content is a string or a list of blocks.
func (m *Message) UnmarshalJSON(data []byte) error {
	r := reader{text: bytes.Clone(data)}
	v := r.message()
	if err := r.end(); err != nil {
		return fmt.Errorf("read message: %w", err)
	}
	*m = v
	return nil
}

func (r *reader) message() Message {
	var m Message
	for more := r.enter('{'); more; more = r.another('{') {
		key := r.key()
		if ok := r.messageMember(&m, key); !ok {
			r.fail(fmt.Errorf("%s of the message has the wrong type", key))
		}
	}
	return m
}

// messageMember reads the value of a key; ok is false if it has the wrong type.
func (r *reader) messageMember(m *Message, key []byte) (ok bool) {
	ok = true
	switch string(key) {
	case "id":
		m.ID, ok = r.string()
	case "role":
		m.Role, ok = r.name()
	case "model":
		m.Model, ok = r.name()
	case "content":
		m.Content, ok = r.content()
	case "stop_reason":
		m.StopReason, ok = r.name()
	case "usage":
		m.Usage = r.usage()
	default:
		r.skip()
	}
	return ok
}

// usage reads a count. A gateway's own way to count is no reason to lose the message: it is read as no count at all.
func (r *reader) usage() Usage {
	if r.peek() != '{' {
		r.skip()
		return Usage{}
	}
	var u Usage
	all := true
	for more := r.enter('{'); more; more = r.another('{') {
		ok := true
		switch string(r.key()) {
		case "input_tokens":
			u.Input, ok = r.int()
		case "output_tokens":
			u.Output, ok = r.int()
		case "cache_read_input_tokens":
			u.CacheRead, ok = r.int()
		case "cache_creation_input_tokens":
			u.CacheWrite, ok = r.int()
		case "cache_creation_1h_input_tokens":
			u.CacheWrite1h, ok = r.int()
		case "web_search_requests":
			u.Searches, ok = r.int()
		case "server_tool_use": // where the API, and Claude Code, have it
			if n, is := r.searches(); is {
				u.Searches = n
			}
		default:
			r.skip()
		}
		all = all && ok
	}
	if !all {
		return Usage{}
	}
	return u
}

// searches reads the count of what the endpoint's own tools did; is is false if it says nothing of searches.
func (r *reader) searches() (n int, is bool) {
	if r.peek() != '{' {
		r.skip()
		return 0, false
	}
	for more := r.enter('{'); more; more = r.another('{') {
		if string(r.key()) == "web_search_requests" {
			n, is = r.int()
		} else {
			r.skip()
		}
	}
	return n, is
}

// ToolUses returns the message's calls in order.
func (m Message) ToolUses() []Block {
	var calls []Block
	for _, b := range m.Content {
		if b.Type == TypeToolUse {
			calls = append(calls, b)
		}
	}
	return calls
}

// PlainText joins the message's text blocks with blank lines. A sentence that cites something comes in several blocks, one
// behind the other, which are joined as they are.
func (m Message) PlainText() string {
	var out strings.Builder
	var before *Block // the one before, if it is a text
	for i := range m.Content {
		b := &m.Content[i]
		if b.Type != TypeText {
			before = nil
			continue
		}
		if blank(b.Text) && (before == nil || !before.cites()) {
			continue
		}
		if out.Len() > 0 && (before == nil || !before.cites() && !b.cites()) {
			out.WriteString("\n\n")
		}
		out.WriteString(b.Text)
		before = b
	}
	return out.String()
}

// encode is json.Marshal without the escaping of HTML characters: transcripts are read by people and by other programs.
func encode(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
