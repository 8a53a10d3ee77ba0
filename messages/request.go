package messages

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"flower/agent"
	"flower/transcript"
)

// The API takes four marks a request; one is at the end of the system text.
const maxMarks = 3

const cacheControl = `"cache_control":{"type":"ephemeral"}`

// encodeRequest writes the body of a request. The same request gives the same bytes. Blocks are copied as they stand;
// the only thing ever put into one is a mark, behind its last member.
func encodeRequest(req *agent.ModelRequest) ([]byte, error) {
	var out bytes.Buffer
	out.Grow(4096 + len(req.System))
	out.WriteString(`{"model":`)
	writeString(&out, wireModel(req.Model))
	fmt.Fprintf(&out, `,"max_tokens":%d,"stream":true`, req.MaxTokens)
	if req.Thinking {
		out.WriteString(`,"thinking":{"type":"adaptive"}`)
	}
	if req.Effort != "" {
		out.WriteString(`,"output_config":{"effort":`)
		writeString(&out, req.Effort)
		out.WriteByte('}')
	}
	if req.SessionID != "" {
		out.WriteString(`,"metadata":{"user_id":`)
		writeString(&out, req.SessionID)
		out.WriteByte('}')
	}
	if req.System != "" {
		out.WriteString(`,"system":[{"type":"text","text":`)
		writeString(&out, req.System)
		out.WriteString("," + cacheControl + "}]")
	}
	if err := writeTools(&out, req.Tools); err != nil {
		return nil, err
	}
	if err := writeMessages(&out, req.Messages, places(req.Messages, req.Marks)); err != nil {
		return nil, err
	}
	out.WriteByte('}')
	if body := out.Bytes(); utf8.Valid(body) {
		return body, nil
	}
	// A broken byte can come from a damaged transcript. The API refuses the whole request for it, every time.
	return bytes.ToValidUTF8(out.Bytes(), []byte("\uFFFD")), nil
}

func writeTools(out *bytes.Buffer, tools []agent.ToolSpec) error {
	if len(tools) == 0 {
		return nil
	}
	out.WriteString(`,"tools":[`)
	for i, tool := range tools {
		if i > 0 {
			out.WriteByte(',')
		}
		if len(tool.Hosted) > 0 {
			if !isObject(tool.Hosted) {
				return fmt.Errorf("encode tool %s: its definition is not a JSON object", tool.Name)
			}
			out.Write(tool.Hosted)
			continue
		}
		out.WriteString(`{"name":`)
		writeString(out, tool.Name)
		if tool.Description != "" {
			out.WriteString(`,"description":`)
			writeString(out, tool.Description)
		}
		schema := tool.InputSchema
		if len(schema) == 0 {
			schema = json.RawMessage(`{"type":"object"}`)
		}
		if !json.Valid(schema) {
			return fmt.Errorf("encode tool %s: its schema is not JSON", tool.Name)
		}
		out.WriteString(`,"input_schema":`)
		out.Write(schema)
		out.WriteByte('}')
	}
	out.WriteByte(']')
	return nil
}

func writeMessages(out *bytes.Buffer, messages []transcript.Message, marks []agent.Mark) error {
	out.WriteString(`,"messages":[`)
	for i, m := range messages {
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteString(`{"role":`)
		writeString(out, m.Role)
		out.WriteString(`,"content":[`)
		for j, b := range m.Content {
			if j > 0 {
				out.WriteByte(',')
			}
			raw, err := b.MarshalJSON()
			if err != nil {
				return fmt.Errorf("encode block %d of message %d: %w", j, i, err)
			}
			if err := writeBlock(out, raw, slices.Contains(marks, agent.Mark{Message: i, Block: j})); err != nil {
				return fmt.Errorf("encode block %d of message %d: %w", j, i, err)
			}
		}
		out.WriteString("]}")
	}
	out.WriteByte(']')
	return nil
}

// writeBlock copies a block, without a mark that was stored with it (it would count against the four) and with one of
// ours if it is due.
func writeBlock(out *bytes.Buffer, raw []byte, mark bool) error {
	raw = bytes.TrimSpace(raw)
	if len(raw) < 2 || raw[0] != '{' || raw[len(raw)-1] != '}' {
		return fmt.Errorf("it is not a JSON object")
	}
	if bytes.Contains(raw, []byte(`"cache_control"`)) {
		raw = dropMember(raw, "cache_control")
	}
	if !mark {
		out.Write(raw)
		return nil
	}
	inside := raw[:len(raw)-1]
	out.Write(inside)
	if len(bytes.TrimSpace(inside)) > 1 {
		out.WriteByte(',')
	}
	out.WriteString(cacheControl + "}")
	return nil
}

// dropMember removes the members called name from a JSON object, without touching any other byte but a comma. What
// cannot be read stays as it is.
func dropMember(object []byte, name string) []byte {
	dec := json.NewDecoder(bytes.NewReader(object))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return object
	}
	out := []byte{'{'}
	for end := int(dec.InputOffset()); ; {
		start := end
		if !dec.More() {
			return append(out, object[start:]...)
		}
		key, err := dec.Token()
		if err != nil {
			return object
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return object
		}
		end = int(dec.InputOffset())
		if key == name {
			continue
		}
		member := object[start:end]
		if len(out) == 1 {
			member = bytes.TrimPrefix(bytes.TrimSpace(member), []byte(","))
		}
		out = append(out, member...)
	}
}

// places finds where the marks can stand: the API takes none on thinking and none on an empty text, there the nearest
// block before takes it. Of too many marks the last ones stay, they cover the most.
func places(messages []transcript.Message, marks []agent.Mark) []agent.Mark {
	var found []agent.Mark
	for _, m := range marks {
		if at, ok := place(messages, m); ok && !slices.Contains(found, at) {
			found = append(found, at)
		}
	}
	slices.SortFunc(found, func(a, b agent.Mark) int {
		if a.Message != b.Message {
			return a.Message - b.Message
		}
		return a.Block - b.Block
	})
	return found[max(0, len(found)-maxMarks):]
}

func place(messages []transcript.Message, m agent.Mark) (agent.Mark, bool) {
	if m.Message < 0 || m.Message >= len(messages) || m.Block < 0 || m.Block >= len(messages[m.Message].Content) {
		return m, false
	}
	for {
		for ; m.Block >= 0; m.Block-- {
			if b := messages[m.Message].Content[m.Block]; !b.IsThinking() && (b.Type != transcript.TypeText || b.Text != "") {
				return m, true
			}
		}
		m.Message--
		if m.Message < 0 {
			return m, false
		}
		m.Block = len(messages[m.Message].Content) - 1
	}
}

// wireModel is the id as endpoints know it: the ending [1m] is a note among clients about the window.
func wireModel(id string) string {
	id = strings.TrimSpace(id)
	if n := len(id) - len("[1m]"); n >= 0 && strings.EqualFold(id[n:], "[1m]") {
		return id[:n]
	}
	return id
}

// writeString writes a JSON string without the escaping of HTML characters.
func writeString(out *bytes.Buffer, s string) {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s)           // a string and a buffer do not fail
	out.Truncate(out.Len() - 1) // the line feed the encoder adds
}
