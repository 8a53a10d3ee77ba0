package messages

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"flower/agent"
	"flower/transcript"
)

const maxBadInput = 2000 // bytes kept of an input that cannot be read: enough for the model to see its mistake

// protocolError is an answer that breaks the rules of the stream. Trying again may give a whole one.
type protocolError string

func (e protocolError) Error() string { return string(e) }

// reportedError is an error that the endpoint reports in place of an answer, although the status is 200.
type reportedError struct {
	name string // the API's error type
	raw  []byte
}

func (e *reportedError) Error() string { return "the endpoint reported " + e.name }

// answer is a message on its way. It is made of decoded events alone: no clock, no network.
type answer struct {
	id, model   string
	stopReason  string
	stopDetails string
	usage       transcript.Usage
	blocks      []*part
	byIndex     map[int]*part
	done        bool
}

// part is a content block on its way.
type part struct {
	kind      string
	name      string                     // tool_use
	start     map[string]json.RawMessage // the block as it began
	text      strings.Builder
	thinking  strings.Builder
	signature string
	input     strings.Builder
	citations []json.RawMessage // of a text
	raw       json.RawMessage   // the block as it began, with all its bytes
}

type wireEvent struct {
	Type         string          `json:"type"`
	Index        int             `json:"index"`
	Message      json.RawMessage `json:"message"`
	ContentBlock json.RawMessage `json:"content_block"`
	Delta        json.RawMessage `json:"delta"`
	Usage        json.RawMessage `json:"usage"`
	Error        json.RawMessage `json:"error"`
}

// take adds one event. name is the name the stream gave it, for events that do not say their type.
func (a *answer) take(name string, data []byte, sink func(agent.Delta)) error {
	data = bytes.TrimSpace(data)
	if len(data) == 0 || name == "ping" || string(data) == "[DONE]" {
		return nil
	}
	var e wireEvent
	if err := json.Unmarshal(data, &e); err != nil {
		if name == "error" {
			return &reportedError{raw: data}
		}
		return protocolError("an event cannot be read: " + err.Error())
	}
	if e.Type == "" {
		e.Type = name
	}
	switch {
	case e.Type == "error" || name == "error" || len(e.Error) > 0 && string(e.Error) != "null":
		return reported(data)
	case e.Type == "message_start":
		if err := a.begin(e.Message); err != nil {
			return err
		}
		sink(agent.Begun{Model: a.model, Usage: a.usage})
		return nil
	case e.Type == "content_block_start":
		return a.open(e.Index, e.ContentBlock, sink)
	case e.Type == "content_block_delta":
		return a.grow(e.Index, e.Delta, sink)
	case e.Type == "message_delta":
		return a.close(e)
	case e.Type == "message_stop":
		return a.end()
	}
	return nil // content_block_stop says nothing that is not known at the end; other types are not ours
}

// begin reads the head of a message.
func (a *answer) begin(data []byte) error {
	if a.byIndex != nil {
		return protocolError("a second message begins in the same answer")
	}
	var m struct {
		ID    string          `json:"id"`
		Model string          `json:"model"`
		Usage json.RawMessage `json:"usage"`
	}
	if err := json.Unmarshal(data, &m); err != nil || m.ID == "" {
		return protocolError("the message has no id")
	}
	a.id, a.model, a.byIndex = m.ID, m.Model, make(map[int]*part)
	addUsage(&a.usage, m.Usage)
	return nil
}

// open starts a block. What it holds already is the beginning of its text.
func (a *answer) open(index int, data []byte, sink func(agent.Delta)) error {
	if a.byIndex == nil || a.byIndex[index] != nil {
		return protocolError("a content block begins out of order")
	}
	p := &part{raw: data}
	if err := json.Unmarshal(data, &p.start); err != nil || p.start == nil {
		return protocolError("a content block is not an object")
	}
	p.kind = p.member("type")
	a.blocks, a.byIndex[index] = append(a.blocks, p), p
	switch p.kind {
	case "":
		return protocolError("a content block has no type")
	case transcript.TypeText:
		_ = json.Unmarshal(p.start["citations"], &p.citations) // null, or not a list: none
		p.grow("text_delta", p.member("text"), sink)
	case transcript.TypeThinking:
		p.signature = p.member("signature")
		p.grow("thinking_delta", p.member("thinking"), sink)
	case transcript.TypeToolUse:
		p.name = p.member("name")
		if p.name == "" || p.member("id") == "" {
			return protocolError("a tool call has no id or no name")
		}
		sink(agent.ToolDelta{Name: p.name})
	case transcript.TypeServerToolUse:
		p.name = p.member("name")
		sink(agent.ToolDelta{Name: p.name})
	}
	return nil
}

// grow adds to a block.
func (a *answer) grow(index int, data []byte, sink func(agent.Delta)) error {
	var d struct {
		Type      string `json:"type"`
		Text      string `json:"text"`
		Thinking  string `json:"thinking"`
		Signature string `json:"signature"`
		Input     string `json:"partial_json"`

		Citation json.RawMessage `json:"citation"`
	}
	p := a.byIndex[index]
	if p == nil {
		return protocolError("a piece of a content block comes before its beginning")
	}
	err := json.Unmarshal(data, &d) // the fields that fit are set, whatever the others are
	var piece string
	switch d.Type {
	case "text_delta":
		piece = d.Text
	case "thinking_delta":
		piece = d.Thinking
	case "signature_delta":
		piece = d.Signature
	case "input_json_delta":
		piece = d.Input
	case "citations_delta":
		if isObject(d.Citation) {
			p.citations = append(p.citations, d.Citation)
		}
		return nil
	case "":
		return protocolError("a piece of a content block has no type")
	default:
		return nil // kinds that did not exist when this was written
	}
	if err != nil {
		return protocolError("a piece of a content block cannot be read: " + err.Error())
	}
	p.grow(d.Type, piece, sink)
	return nil
}

func (p *part) grow(kind, piece string, sink func(agent.Delta)) {
	if piece == "" {
		return
	}
	switch kind {
	case "text_delta":
		p.text.WriteString(piece)
		sink(agent.TextDelta{Text: piece})
	case "thinking_delta":
		p.thinking.WriteString(piece)
		sink(agent.ThinkingDelta{Text: piece})
	case "signature_delta":
		p.signature += piece
	case "input_json_delta":
		p.input.WriteString(piece)
		if p.kind == transcript.TypeToolUse || p.kind == transcript.TypeServerToolUse {
			sink(agent.ToolDelta{Name: p.name, Bytes: p.input.Len()})
		}
	}
}

// close reads why the answer ends and what it used.
func (a *answer) close(e wireEvent) error {
	var d struct {
		StopReason  string          `json:"stop_reason"`
		StopDetails json.RawMessage `json:"stop_details"`
	}
	if len(e.Delta) > 0 {
		if err := json.Unmarshal(e.Delta, &d); err != nil {
			return protocolError("the stop reason cannot be read")
		}
	}
	if d.StopReason != "" {
		a.stopReason = d.StopReason
	}
	if s := explain(d.StopDetails); s != "" {
		a.stopDetails = s
	}
	addUsage(&a.usage, e.Usage)
	return nil
}

func (a *answer) end() error {
	switch {
	case a.byIndex == nil:
		return protocolError("the answer ends before it begins")
	case a.stopReason == "":
		return protocolError("the answer ends without a stop reason")
	}
	a.done = true
	return nil
}

// whole reads an answer that came as one JSON document.
func (a *answer) whole(data []byte, sink func(agent.Delta)) error {
	var m struct {
		Type        string            `json:"type"`
		Role        string            `json:"role"`
		Content     []json.RawMessage `json:"content"`
		StopReason  string            `json:"stop_reason"`
		StopDetails json.RawMessage   `json:"stop_details"`
		Usage       json.RawMessage   `json:"usage"`
	}
	if !json.Valid(data) {
		return protocolError("the JSON answer is cut off or damaged")
	}
	if err := json.Unmarshal(data, &m); err != nil || m.Type != "message" || m.Role != transcript.RoleAssistant {
		return reported(data)
	}
	if err := a.begin(data); err != nil {
		return err
	}
	for i, raw := range m.Content {
		if err := a.open(i, raw, sink); err != nil {
			return err
		}
	}
	a.stopReason, a.stopDetails = m.StopReason, explain(m.StopDetails)
	return a.end()
}

// content is the finished blocks and how many at the end were left out because they are not finished. A text without a
// character is left out and not counted: the API never takes one back.
func (a *answer) content() (blocks []transcript.Block, cut int) {
	parts := a.blocks
	if truncates(a.stopReason) {
		for len(parts) > 0 && !parts[len(parts)-1].finished() {
			parts = parts[:len(parts)-1]
			cut++
		}
	}
	for _, p := range parts {
		if p.kind == transcript.TypeText && p.text.Len() == 0 {
			continue
		}
		blocks = append(blocks, p.block())
	}
	return blocks, cut
}

// truncates says whether an answer may end in the middle of a block.
func truncates(stopReason string) bool {
	switch stopReason {
	case agent.StopMaxTokens, agent.StopContextWindow, agent.StopRefusal:
		return true
	}
	return false
}

// finished says whether the last block of a truncated answer is whole: a call needs its input, thinking its signature, a
// call of the endpoint's own tools its result, which would stand behind it.
func (p *part) finished() bool {
	switch p.kind {
	case transcript.TypeServerToolUse:
		return false
	case transcript.TypeToolUse:
		if p.input.Len() == 0 {
			return len(p.start["input"]) > len("{}") && isObject(p.start["input"])
		}
		return isObject([]byte(p.input.String()))
	case transcript.TypeThinking:
		return p.signature != ""
	}
	return true
}

// members that a constructor of transcript writes, by type.
var plain = map[string][]string{
	transcript.TypeText:             {"text"},
	transcript.TypeThinking:         {"thinking", "signature"},
	transcript.TypeRedactedThinking: {"data"},
	transcript.TypeToolUse:          {"id", "name", "input"},
}

// block is the finished block. One with members that are not ours keeps them: it has to go back as it came.
func (p *part) block() transcript.Block {
	if delete(p.start, "citations"); len(p.citations) > 0 {
		p.start["citations"] = listOf(p.citations)
	}
	if _, ours := plain[p.kind]; !ours && p.text.Len()+p.thinking.Len()+p.input.Len()+len(p.signature)+len(p.citations) == 0 {
		var b transcript.Block // nothing was added: all its bytes stay
		if b.UnmarshalJSON(p.raw) == nil {
			return b
		}
	}
	extra := len(p.start) - 1
	for _, name := range plain[p.kind] {
		if _, ok := p.start[name]; ok {
			extra--
		}
	}
	if extra == 0 {
		switch p.kind {
		case transcript.TypeText:
			return transcript.Text(p.text.String())
		case transcript.TypeThinking:
			return transcript.Thinking(p.thinking.String(), p.signature)
		case transcript.TypeRedactedThinking:
			return transcript.RedactedThinking(p.member("data"))
		case transcript.TypeToolUse:
			return transcript.ToolUse(p.member("id"), p.name, p.call())
		}
	}
	return p.merged()
}

// merged is the block as it began, with what has been added since.
func (p *part) merged() transcript.Block {
	if p.text.Len() > 0 {
		p.start["text"] = quote(p.text.String())
	}
	if p.thinking.Len() > 0 {
		p.start["thinking"] = quote(p.thinking.String())
	}
	if p.signature != "" {
		p.start["signature"] = quote(p.signature)
	}
	if p.input.Len() > 0 || p.kind == transcript.TypeToolUse || p.kind == transcript.TypeServerToolUse {
		p.start["input"] = p.call()
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	var b transcript.Block
	if err := enc.Encode(p.start); err == nil {
		err = b.UnmarshalJSON(bytes.TrimSpace(out.Bytes()))
		if err == nil {
			return b
		}
	}
	// A member of ours has a strange type, a number as a signature for one. What can be shown of it is shown.
	return transcript.Text(fmt.Sprintf("[%s block that cannot be read]", p.kind))
}

// listOf is a JSON list of values.
func listOf(values []json.RawMessage) json.RawMessage {
	list := []byte{'['}
	for i, v := range values {
		if i > 0 {
			list = append(list, ',')
		}
		list = append(list, v...)
	}
	return append(list, ']')
}

// call is the input of a call: always a JSON object.
func (p *part) call() json.RawMessage {
	input := []byte(p.input.String())
	if len(bytes.TrimSpace(input)) == 0 {
		input = p.start["input"]
	}
	switch {
	case isObject(input):
		return wholeCharacters(input)
	case len(input) == 0 || string(input) == "null" || string(input) == `""`:
		return json.RawMessage("{}")
	}
	text := string(input[:min(len(input), maxBadInput)])
	return json.RawMessage(`{"` + agent.BadInputKey + `":` + string(quote(strings.ToValidUTF8(text, ""))) + `}`)
}

func (p *part) member(name string) string {
	var s string
	_ = json.Unmarshal(p.start[name], &s) // not a string is as good as absent
	return s
}

func isObject(data []byte) bool {
	data = bytes.TrimSpace(data)
	return len(data) > 1 && data[0] == '{' && json.Valid(data)
}

// wholeCharacters replaces escaped halves of a surrogate pair that stand alone. Models write them now and then, and the
// API refuses every later request of the session for them.
func wholeCharacters(data []byte) []byte {
	if !bytes.Contains(data, []byte(`\ud`)) && !bytes.Contains(data, []byte(`\uD`)) {
		return data
	}
	out := bytes.Clone(data)
	for i := 0; i+1 < len(out); i++ {
		if out[i] != '\\' {
			continue
		}
		switch unit := escapedUnit(out[i:]); {
		case unit < 0xD800 || unit > 0xDFFF:
			i++ // whatever is escaped, it is not the beginning of the next escape
		case unit < 0xDC00 && escapedUnit(out[i+6:])>>10 == 0xDC00>>10:
			i += 11
		default:
			copy(out[i:], `\ufffd`)
			i += 5
		}
	}
	return out
}

// escapedUnit is the UTF-16 unit that \uXXXX at the beginning of data stands for, or -1.
func escapedUnit(data []byte) int {
	if len(data) < 6 || data[0] != '\\' || data[1] != 'u' {
		return -1
	}
	unit := 0
	for _, c := range data[2:6] {
		digit := strings.IndexByte("0123456789abcdef", c|0x20)
		if c < '0' || digit < 0 {
			return -1
		}
		unit = unit<<4 | digit
	}
	return unit
}

// quote is a JSON string.
func quote(s string) json.RawMessage {
	var out bytes.Buffer
	writeString(&out, s)
	return out.Bytes()
}

// explain is what the details of a stop say to a person.
func explain(data []byte) string {
	var d struct {
		Category    string `json:"category"`
		Explanation string `json:"explanation"`
	}
	if len(data) == 0 || string(data) == "null" {
		return ""
	}
	switch err := json.Unmarshal(data, &d); {
	case err != nil || d.Explanation == "" && d.Category == "":
		return string(data)
	case d.Category == "":
		return d.Explanation
	case d.Explanation == "":
		return d.Category
	}
	return d.Explanation + " (" + d.Category + ")"
}

// addUsage takes the counts that data has: of each class the last one said counts, they are running totals.
func addUsage(u *transcript.Usage, data []byte) {
	var v struct {
		Input      count `json:"input_tokens"`
		Output     count `json:"output_tokens"`
		CacheRead  count `json:"cache_read_input_tokens"`
		CacheWrite count `json:"cache_creation_input_tokens"`
		Creation   *struct {
			FiveMinutes count `json:"ephemeral_5m_input_tokens"`
			Hour        count `json:"ephemeral_1h_input_tokens"`
		} `json:"cache_creation"`
		Hosted *struct {
			Searches count `json:"web_search_requests"`
		} `json:"server_tool_use"`
	}
	if len(data) == 0 || json.Unmarshal(data, &v) != nil {
		return // counts are not worth an answer
	}
	v.Input.put(&u.Input)
	v.Output.put(&u.Output)
	v.CacheRead.put(&u.CacheRead)
	v.CacheWrite.put(&u.CacheWrite)
	if v.Creation != nil {
		v.Creation.Hour.put(&u.CacheWrite1h)
		if !v.CacheWrite.said {
			u.CacheWrite = max(u.CacheWrite, v.Creation.FiveMinutes.n+v.Creation.Hour.n)
		}
	}
	u.CacheWrite1h = min(u.CacheWrite1h, u.CacheWrite)
	if v.Hosted != nil {
		v.Hosted.Searches.put(&u.Searches)
	}
}

// count is a number of tokens, if it is one.
type count struct {
	n    int
	said bool
}

func (c *count) UnmarshalJSON(data []byte) error {
	var f *float64 // nil: null
	if json.Unmarshal(data, &f) == nil && f != nil && *f >= 0 && *f <= math.MaxInt32 {
		c.n, c.said = int(*f), true
	}
	return nil
}

func (c count) put(into *int) {
	if c.said {
		*into = c.n
	}
}
