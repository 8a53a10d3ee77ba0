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
	if b.Type != TypeToolResult {
		return b.Text
	}
	var out bytes.Buffer
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
	var v struct {
		Type      string          `json:"type"`
		Text      string          `json:"text"`
		Thinking  string          `json:"thinking"`
		Signature string          `json:"signature"`
		Data      json.RawMessage `json:"data"`
		ID        string          `json:"id"`
		Name      string          `json:"name"`
		Input     json.RawMessage `json:"input"`
		ToolUseID string          `json:"tool_use_id"`
		Content   json.RawMessage `json:"content"`
		IsError   bool            `json:"is_error"`
	}
	if err := json.Unmarshal(data, &v); err != nil {
		return fmt.Errorf("read block: %w", err)
	}
	*b = Block{
		Type: v.Type, Text: v.Text, Thinking: v.Thinking, Signature: v.Signature,
		ID: v.ID, Name: v.Name, Input: v.Input, ToolUseID: v.ToolUseID, IsError: v.IsError,
		raw: append(json.RawMessage(nil), data...),
	}
	if v.Type == TypeRedactedThinking {
		_ = json.Unmarshal(v.Data, &b.Data) // not a string: the block stays as it is and has no data to show
	}
	if v.Type == TypeToolResult && len(v.Content) > 0 {
		content, err := readContent(v.Content)
		if err != nil {
			return fmt.Errorf("read result of %s: %w", v.ToolUseID, err)
		}
		b.Content = content
	}
	return nil
}

// readContent reads a string or a list of blocks.
func readContent(data json.RawMessage) ([]Block, error) {
	data = bytes.TrimSpace(data)
	if len(data) == 0 || bytes.Equal(data, []byte("null")) {
		return nil, nil
	}
	if data[0] == '"' {
		var s string
		if err := json.Unmarshal(data, &s); err != nil {
			return nil, err
		}
		return []Block{Text(s)}, nil
	}
	var blocks []Block
	if err := json.Unmarshal(data, &blocks); err != nil {
		return nil, err
	}
	return blocks, nil
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

// Usage counts the tokens of one response in the four classes that are priced apart. Total input is the sum of
// Input, CacheRead and CacheWrite (the API's own definition).
type Usage struct {
	Input        int `json:"input_tokens"`
	Output       int `json:"output_tokens"`
	CacheRead    int `json:"cache_read_input_tokens"`
	CacheWrite   int `json:"cache_creation_input_tokens"`
	CacheWrite1h int `json:"cache_creation_1h_input_tokens,omitempty"` // the part of CacheWrite that lives an hour
}

// Add returns the sum of two counts.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		Input: u.Input + v.Input, Output: u.Output + v.Output, CacheRead: u.CacheRead + v.CacheRead,
		CacheWrite: u.CacheWrite + v.CacheWrite, CacheWrite1h: u.CacheWrite1h + v.CacheWrite1h,
	}
}

// Context is the number of tokens the response's request filled of the window: input, cache read and cache creation.
func (u Usage) Context() int { return u.Input + u.CacheRead + u.CacheWrite }

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
	var v struct {
		ID         string          `json:"id"`
		Role       string          `json:"role"`
		Model      string          `json:"model"`
		Content    json.RawMessage `json:"content"`
		StopReason string          `json:"stop_reason"`
		Usage      json.RawMessage `json:"usage"`
	}
	if err := json.Unmarshal(data, &v); err != nil {
		return fmt.Errorf("read message: %w", err)
	}
	content, err := readContent(v.Content)
	if err != nil {
		return fmt.Errorf("read content: %w", err)
	}
	*m = Message{Role: v.Role, Content: content, ID: v.ID, Model: v.Model, StopReason: v.StopReason}
	if len(v.Usage) > 0 && json.Unmarshal(v.Usage, &m.Usage) != nil {
		m.Usage = Usage{} // a gateway's own way to count: no reason to lose the message
	}
	return nil
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

// PlainText joins the message's text blocks with blank lines.
func (m Message) PlainText() string {
	var out bytes.Buffer
	for _, b := range m.Content {
		if b.Type != TypeText || b.Text == "" {
			continue
		}
		if out.Len() > 0 {
			out.WriteString("\n\n")
		}
		out.WriteString(b.Text)
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
