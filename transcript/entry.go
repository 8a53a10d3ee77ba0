package transcript

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"
)

// Entry is one stored JSON object. The exported fields are a view; JSON writes the object as it was read, with only
// the changed fields replaced, so that keys unknown to flower are kept byte for byte.
type Entry struct {
	Type       string // user, assistant, system, …
	UUID       string
	ParentUUID string // "" is null: the root
	SessionID  string
	AgentID    string // of a subagent's entry
	Timestamp  string // RFC 3339, UTC, milliseconds
	CWD        string
	GitBranch  string
	Version    string
	UserType   string

	IsSidechain      bool
	IsMeta           bool   // protected: a note of the harness
	IsCompactSummary bool   // protected: a summary
	IsAPIError       bool   // isApiErrorMessage: a failure shown as a message, never fed back
	ToolDenialKind   string // DeniedByRule on a call that a guard refused

	// Message is nil for entries that carry none (system notes and the like).
	Message *Message

	raw      json.RawMessage // as it was read; nil of one that was made here
	edits    []edit          // what has changed since: written only when somebody asks for the JSON
	repaired bool            // bytes of it could not be read and were replaced
}

// edit is a change of an entry's JSON. The bytes it is given stay as they are.
type edit func(raw json.RawMessage) json.RawMessage

// DeniedByRule is the ToolDenialKind of a call that a guard refused.
const DeniedByRule = "permission-rule"

// SyntheticModel is the model name on entries that a harness, not a model, has written.
const SyntheticModel = "<synthetic>"

var errNotObject = errors.New("read entry: not a JSON object")

// ParseEntry reads one stored line. It fails on anything that is not a JSON object or whose known keys have the wrong
// types; invalid UTF-8 and escapes of half a character are read as U+FFFD, NUL bytes around the object are skipped. Keys
// match exactly; of keys that are there twice the last one counts.
func ParseEntry(line []byte) (Entry, error) {
	return new(reader).entry(bytes.Clone(line))
}

// entry reads an entry that keeps the line.
func (r *reader) entry(line []byte) (Entry, error) {
	line = bytes.Trim(line, "\x00 \t\r\n")
	if len(line) == 0 || line[0] != '{' {
		return Entry{}, errNotObject
	}
	e := Entry{raw: line}
	if !utf8.Valid(line) {
		e.raw, e.repaired = cleanJSON(line)
	}
	err := r.members(&e)
	if err == nil && r.halves && !e.repaired {
		e = Entry{}
		e.raw, e.repaired = cleanJSON(line)
		err = r.members(&e)
	}
	if err != nil {
		return Entry{}, fmt.Errorf("read entry %s: %w", e.UUID, err)
	}
	return e, nil
}

func (r *reader) members(e *Entry) error {
	*r = reader{text: e.raw, valid: true, names: r.names, blocks: r.blocks[:0]}
	for more := r.enter('{'); more; more = r.another('{') {
		key := r.key()
		if ok := r.entryMember(e, key); !ok {
			r.fail(fmt.Errorf("%s has the wrong type", key))
		}
	}
	return r.end()
}

// entryMember reads the value of a key; ok is false if it has the wrong type.
func (r *reader) entryMember(e *Entry, key []byte) (ok bool) {
	ok = true
	switch string(key) {
	case "type":
		e.Type, ok = r.name()
	case "uuid":
		e.UUID, ok = r.string()
	case "parentUuid":
		e.ParentUUID, ok = r.string()
	case "sessionId":
		e.SessionID, ok = r.name()
	case "agentId":
		e.AgentID, ok = r.name()
	case "timestamp":
		e.Timestamp, ok = r.string()
	case "cwd":
		e.CWD, ok = r.name()
	case "gitBranch":
		e.GitBranch, ok = r.name()
	case "version":
		e.Version, ok = r.name()
	case "userType":
		e.UserType, ok = r.name()
	case "isSidechain":
		e.IsSidechain, ok = r.bool()
	case "isMeta":
		e.IsMeta, ok = r.bool()
	case "isCompactSummary":
		e.IsCompactSummary, ok = r.bool()
	case "isApiErrorMessage":
		e.IsAPIError, ok = r.bool()
	case "toolDenialKind":
		e.ToolDenialKind, ok = r.name()
	case "message":
		e.Message = nil
		if r.peek() != '{' {
			r.skip()
			break
		}
		m := r.message()
		e.Message = &m
	default:
		r.skip()
	}
	return ok
}

// Stamp is what every entry of one conversation says of where it was written.
type Stamp struct {
	SessionID string
	AgentID   string // of a subagent; makes the entry a side chain
	CWD       string // absolute
	GitBranch string // may be empty
	Version   string // of the program that writes
}

// NewEntry returns the entry of a message, complete enough for Claude Code to resume from it.
func NewEntry(s Stamp, uuid, parent string, at time.Time, m Message) Entry {
	return Entry{
		Type: m.Role, UUID: uuid, ParentUUID: parent, SessionID: s.SessionID, AgentID: s.AgentID,
		IsSidechain: s.AgentID != "", Timestamp: at.UTC().Format("2006-01-02T15:04:05.000Z"),
		CWD: s.CWD, GitBranch: s.GitBranch, Version: s.Version, UserType: "external", Message: &m,
	}
}

// MarshalJSON writes the entry as it was read; one made here is written in the key order Claude Code uses.
func (e Entry) MarshalJSON() ([]byte, error) {
	if e.raw != nil {
		return e.written(), nil
	}
	return encode(struct {
		ParentUUID       *string  `json:"parentUuid"`
		IsSidechain      bool     `json:"isSidechain"`
		AgentID          string   `json:"agentId,omitempty"`
		Type             string   `json:"type"`
		Message          *Message `json:"message,omitempty"`
		UUID             string   `json:"uuid"`
		Timestamp        string   `json:"timestamp"`
		UserType         string   `json:"userType"`
		CWD              string   `json:"cwd"`
		SessionID        string   `json:"sessionId"`
		Version          string   `json:"version"`
		GitBranch        string   `json:"gitBranch"`
		IsMeta           bool     `json:"isMeta,omitempty"`
		IsCompactSummary bool     `json:"isCompactSummary,omitempty"`
		IsAPIError       bool     `json:"isApiErrorMessage,omitempty"`
		ToolDenialKind   string   `json:"toolDenialKind,omitempty"`
	}{
		optional(e.ParentUUID), e.IsSidechain, e.AgentID, e.Type, e.Message, e.UUID, e.Timestamp, e.UserType, e.CWD,
		e.SessionID, e.Version, e.GitBranch, e.IsMeta, e.IsCompactSummary, e.IsAPIError, e.ToolDenialKind,
	})
}

// UnmarshalJSON is ParseEntry.
func (e *Entry) UnmarshalJSON(data []byte) error {
	v, err := ParseEntry(data)
	if err != nil {
		return err
	}
	*e = v
	return nil
}

// written is the JSON of an entry that was read, with all that has changed.
func (e Entry) written() json.RawMessage {
	raw := e.raw
	for _, change := range e.edits {
		raw = change(raw)
	}
	return raw
}

// edited returns the entry with one more change; one that was made here is written from its fields and needs none.
func (e Entry) edited(change edit) Entry {
	if e.raw != nil {
		e.edits = append(e.edits[:len(e.edits):len(e.edits)], change)
	}
	return e
}

// withMember sets a top-level key of an entry that was read.
func (e Entry) withMember(key string, value any) Entry {
	return e.edited(func(raw json.RawMessage) json.RawMessage { return setMember(raw, key, mustEncode(value)) })
}

// withoutMember drops a top-level key of an entry that was read.
func (e Entry) withoutMember(key string) Entry {
	return e.edited(func(raw json.RawMessage) json.RawMessage { return deleteMember(raw, key) })
}

// WithParent returns the entry hung on another one; "" makes it a root. All other bytes of an entry that was read stay.
func (e Entry) WithParent(uuid string) Entry {
	e.ParentUUID = uuid
	return e.withMember("parentUuid", optional(uuid))
}

// WithMessage returns the entry with another message. Of an entry that was read only what differs is written anew: the
// content, and those of the message's other known keys that have another value; all other bytes stay.
func (e Entry) WithMessage(m Message) Entry { return e.withMessage(&m) }

func (e Entry) withMessage(m *Message) Entry {
	old := e.Message
	e.Message = m
	return e.edited(func(raw json.RawMessage) json.RawMessage {
		list, _ := members(raw)
		for _, k := range slices.Backward(list) {
			if k.key == "message" && old != nil {
				return splice(raw, k.value, k.to, m.over(old, raw[k.value:k.to]))
			}
		}
		return setMember(raw, "message", mustEncode(m))
	})
}

// over writes the message over the JSON of another one.
func (m *Message) over(old *Message, raw json.RawMessage) json.RawMessage {
	raw = setMember(raw, "content", encodeBlocks(m.Content))
	set := func(key string, changed bool, value any) {
		if changed {
			raw = setMember(raw, key, mustEncode(value))
		}
	}
	set("role", m.Role != old.Role, m.Role)
	set("id", m.ID != old.ID, m.ID)
	set("model", m.Model != old.Model, m.Model)
	set("stop_reason", m.StopReason != old.StopReason, optional(m.StopReason))
	set("usage", m.Usage != old.Usage, m.Usage)
	return raw
}

// encodeBlocks writes a list of blocks with the bytes they were read from.
func encodeBlocks(blocks []Block) json.RawMessage {
	out := json.RawMessage{'['}
	for i, b := range blocks {
		if i > 0 {
			out = append(out, ',')
		}
		if b.raw != nil {
			out = append(out, b.raw...)
		} else {
			out = append(out, mustEncode(b)...)
		}
	}
	return append(out, ']')
}

// mustEncode encodes values of this package, which were read from JSON or made of strings and numbers.
func mustEncode(v any) json.RawMessage {
	raw, err := encode(v)
	if err != nil {
		return json.RawMessage("null")
	}
	return raw
}
