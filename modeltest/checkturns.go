package modeltest

import (
	"encoding/json"
	"slices"
	"strings"
)

// maxMarks is how many cache marks a request may have.
const maxMarks = 4

func (t *tree) parseTurns() error {
	list, _ := parseList("messages", t.top["messages"])
	if len(list) == 0 {
		return invalid("messages: at least one message is required")
	}
	for i, raw := range list {
		path := index("messages", i)
		keys, err := parseObject(path, raw)
		if err != nil {
			return err
		}
		if err := keys.require(path, "role", "content"); err != nil {
			return err
		}
		if err := keys.only(path, "role", "content"); err != nil {
			return err
		}
		tn := turn{path: path, role: keys.text("role")}
		if tn.role != "user" && tn.role != "assistant" {
			return invalid("%s.role: Input should be 'user' or 'assistant'", path)
		}
		if tn.blocks, err = parseContent(path, tn.role, keys["content"]); err != nil {
			return err
		}
		t.turns = append(t.turns, tn)
	}
	return nil
}

func parseContent(path, role string, raw json.RawMessage) ([]block, error) {
	if kindOf(raw) == '"' {
		var text string
		_ = json.Unmarshal(raw, &text)
		if text == "" {
			raw = json.RawMessage("[]")
		} else {
			raw = encode([]any{map[string]string{"type": "text", "text": text}})
		}
	}
	list, err := parseList(path+".content", raw)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, invalid("%s: all messages must have non-empty content except for the optional final assistant message", path)
	}
	blocks := make([]block, len(list))
	for i, raw := range list {
		if blocks[i], err = parseBlock(index(path+".content", i), raw); err != nil {
			return nil, err
		}
		if err := checkBlock(&blocks[i], role); err != nil {
			return nil, err
		}
	}
	return blocks, nil
}

// checkOrder checks the roles. The real endpoint joins neighbours of one role silently; a client that sends them has
// lost count of its history, so here it is refused. Neighbours of the assistant may follow a paused answer: that is
// checked where paused answers are remembered.
func (t *tree) checkOrder() error {
	if t.turns[0].role != "user" {
		return invalid("messages: first message must use the \"user\" role")
	}
	for i := 1; i < len(t.turns); i++ {
		if t.turns[i].role == "user" && t.turns[i-1].role == "user" {
			return invalid("%s: roles must alternate between \"user\" and \"assistant\", but found multiple \"user\" roles in a row", t.turns[i].path)
		}
	}
	return nil
}

// checkPairs checks that calls and results belong together.
func (t *tree) checkPairs() error {
	seen := map[string]bool{}
	var open []string // calls of the message before
	for i := range t.turns {
		tn := &t.turns[i]
		if tn.role == "assistant" {
			if len(open) > 0 {
				return unanswered(t.turns[i-1].path, open)
			}
			for _, b := range tn.blocks {
				if b.typ != "tool_use" {
					continue
				}
				if seen[b.id()] {
					return invalid("%s: `tool_use` ids must be unique", b.path)
				}
				seen[b.id()] = true
				open = append(open, b.id())
			}
			continue
		}
		if err := checkAnswers(tn, open, i); err != nil {
			return err
		}
		open = nil
	}
	if len(open) > 0 {
		return unanswered(t.turns[len(t.turns)-1].path, open)
	}
	return nil
}

func unanswered(path string, ids []string) error {
	return invalid("%s: `tool_use` ids were found without `tool_result` blocks immediately after: %s. Each `tool_use` block must have a corresponding `tool_result` block in the next message.", path, strings.Join(ids, ", "))
}

func checkAnswers(tn *turn, calls []string, i int) error {
	var answered []string
	var other *block
	for k := range tn.blocks {
		b := &tn.blocks[k]
		if b.typ != "tool_result" {
			other = b
			continue
		}
		id := b.toolUseID()
		switch {
		case !slices.Contains(calls, id):
			return invalid("%s: unexpected `tool_use_id` found in `tool_result` blocks: %s. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.", b.path, id)
		case slices.Contains(answered, id):
			return invalid("%s.content: each tool_use must have a single result. Found multiple `tool_result` blocks with id: %s", tn.path, id)
		case other != nil:
			return invalid("%s: `tool_result` blocks must come first in the message, before `%s`", b.path, other.typ)
		}
		answered = append(answered, id)
	}
	if len(answered) < len(calls) {
		var missing []string
		for _, id := range calls {
			if !slices.Contains(answered, id) {
				missing = append(missing, id)
			}
		}
		return unanswered(index("messages", i-1), missing)
	}
	if !slices.Equal(answered, calls) {
		return invalid("%s: `tool_result` blocks must be in the order of their `tool_use` blocks", tn.path)
	}
	return nil
}

// checkTexts checks what may stand at the end of assistant messages. Where no prefill is allowed at all, only a paused
// answer can stand at the end of a request, and that comes back as it was.
func (t *tree) checkTexts() error {
	for i := range t.turns {
		tn := &t.turns[i]
		if tn.role != "assistant" {
			continue
		}
		last := &tn.blocks[len(tn.blocks)-1]
		if last.thinking() {
			return invalid("%s: The final block in an assistant message cannot be `thinking`.", tn.path)
		}
		if t.model.Prefill && i == len(t.turns)-1 && last.typ == "text" && strings.TrimRight(last.text(), " \t\r\n") != last.text() {
			return invalid("messages: final assistant content cannot end with trailing whitespace")
		}
	}
	return nil
}

// checkMarks checks number and order of the cache marks. A mark on a block that may have none was refused before as an
// unknown key.
func (t *tree) checkMarks() error {
	count, short := 0, false
	if raw, ok := t.top["cache_control"]; ok && string(raw) != "null" {
		m, err := parseMark("cache_control", raw)
		if err != nil {
			return err
		}
		t.markLast(m)
	}
	var err error
	t.each(func(b *block) {
		if b.mark == nil || err != nil {
			return
		}
		count++
		if b.mark.hour && short {
			err = invalid("%s.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. Note that blocks are processed in the following order: `tools`, `system`, `messages`.", b.path)
		}
		short = short || !b.mark.hour
	})
	if err != nil {
		return err
	}
	if count > maxMarks {
		return invalid("A maximum of %d blocks with cache_control may be provided. Found %d.", maxMarks, count)
	}
	return nil
}

// markLast puts the mark of the whole request on the last block that can have one.
func (t *tree) markLast(m *mark) {
	tn := &t.turns[len(t.turns)-1]
	for i := len(tn.blocks) - 1; i >= 0; i-- {
		if b := &tn.blocks[i]; !b.thinking() {
			if b.mark == nil {
				b.mark = m
			}
			return
		}
	}
}

// each visits tools, system and messages in the order the endpoint reads them.
func (t *tree) each(visit func(*block)) {
	for i := range t.tools {
		visit(&t.tools[i])
	}
	for i := range t.system {
		visit(&t.system[i])
	}
	for i := range t.turns {
		for k := range t.turns[i].blocks {
			visit(&t.turns[i].blocks[k])
		}
	}
}
