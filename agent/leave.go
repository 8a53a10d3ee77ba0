package agent

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
)

// What stands here is how a session is left for another one: when its context has reached the line, when its agent is no
// longer the one it began with, and how the last word is asked for.

// closingTurns is how many answers a closing run may take: the document, and two for a model that first calls tools.
const closingTurns = 3

const closingRefusal = "Not run: only the written answer that was asked for is wanted now. This is intended."

// LineError ends a run whose context has reached Request.Line. Nothing is in flight: the history ends with an answer, the
// results of its calls, or a prompt.
type LineError struct{ Context, Line int } // tokens

// Error implements error.
func (e *LineError) Error() string {
	return fmt.Sprintf("the context has reached %d tokens, the line is at %d", e.Context, e.Line)
}

// ChangedError says that a session was begun by another definition of its agent.
type ChangedError struct {
	Role  bool     // another role
	Tools []string // names of tools that were added, taken away or take another input, sorted
}

// Error implements error.
func (e *ChangedError) Error() string {
	switch {
	case len(e.Tools) == 0:
		return "the session was begun in another role"
	case e.Role:
		return fmt.Sprintf("the session was begun in another role and with other tools: %v", e.Tools)
	}
	return fmt.Sprintf("the session was begun with other tools: %v", e.Tools)
}

// Fingerprint identifies what the agent is for the model: 16 hex digits that change when its role, its tools, or the
// agents it may start do. Order of tools, wording of an Edition, limits and model do not count.
func (s Spec) Fingerprint() string {
	type definition struct {
		Name, Edition string
		Tools         []string
		Ephemeral     bool
		Subagents     []definition
	}
	var define func(Spec) definition
	define = func(s Spec) definition {
		d := definition{Name: s.Name, Edition: firstOf(s.Edition, s.Instructions), Tools: slices.Sorted(slices.Values(s.Tools)), Ephemeral: s.EphemeralShell}
		for _, sub := range s.Subagents {
			d.Subagents = append(d.Subagents, define(sub))
		}
		return d
	}
	data, _ := json.Marshal(define(s)) // strings and bools always encode
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}

// changes compares the prefix of a session with the one it would be begun with now; nil if nothing that matters differs.
// Descriptions do not matter: what the model was told then still holds. Nor do tools that the endpoint runs: they come and go
// with it.
func (p Prefix) changes(now Prefix) error {
	changed := &ChangedError{Role: p.Definition != "" && p.Definition != now.Definition}
	schemas := make(map[string]json.RawMessage)
	for _, t := range p.Tools {
		if len(t.Hosted) == 0 {
			schemas[t.Name] = t.InputSchema
		}
	}
	for _, t := range now.Tools {
		if len(t.Hosted) > 0 {
			continue
		}
		if old, there := schemas[t.Name]; !there || !sameInput(old, t.InputSchema) {
			changed.Tools = append(changed.Tools, t.Name)
		}
		delete(schemas, t.Name)
	}
	for name := range schemas {
		changed.Tools = append(changed.Tools, name)
	}
	if !changed.Role && len(changed.Tools) == 0 {
		return nil
	}
	slices.Sort(changed.Tools)
	return changed
}

// sameInput compares schemas by what they accept: a store may have written them in another form, and descriptions are
// reworded.
func sameInput(a, b json.RawMessage) bool {
	canonical := func(raw json.RawMessage) []byte {
		var v any
		if json.Unmarshal(raw, &v) != nil {
			return raw
		}
		out, err := json.Marshal(undescribed(v))
		if err != nil {
			return raw
		}
		return out
	}
	return bytes.Equal(a, b) || bytes.Equal(canonical(a), canonical(b))
}

// undescribed is a schema without its descriptions. A property of that name is no text, and stays.
func undescribed(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if _, text := v["description"].(string); text {
			delete(v, "description")
		}
		for key, inner := range v {
			v[key] = undescribed(inner)
		}
	case []any:
		for i, inner := range v {
			v[i] = undescribed(inner)
		}
	}
	return v
}

// full says whether the context has reached the line.
func (c *conversation) full() bool { return c.line > 0 && !c.closing && c.result.Context >= c.line }
