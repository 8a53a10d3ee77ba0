package transcript

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"time"
)

// Portable returns the entries of one conversation as a program can resume them that knows nothing of the store they
// were in: every message says whose it is, where and when it was written and what it hangs on, whatever program has
// written it. What says so already stays byte for byte, except the session's id, which becomes that of s: a copy of a
// session still names the original. A parent that is not there is replaced by the entry before.
//
// Of s the rest fills in what entries lack; at is the time of entries before the first that has one.
func Portable(entries []Entry, s Stamp, at time.Time) []Entry {
	known := make(map[string]bool, len(entries))
	for _, e := range entries {
		known[e.UUID] = e.UUID != ""
	}
	out := make([]Entry, 0, len(entries))
	last := "" // uuid of the entry before
	when := timestamp(at)
	for i, e := range entries {
		if !e.placed() {
			out = append(out, e.WithSession(s.SessionID))
			continue
		}
		if e.UUID == "" {
			e.UUID = madeUUID(s, i, e)
			e = e.withMember("uuid", e.UUID)
		}
		if e.ParentUUID != "" && !known[e.ParentUUID] || e.ParentUUID == "" && !e.keys()["parentUuid"] {
			e = e.WithParent(last)
		}
		if e.Timestamp == "" {
			e.Timestamp = when
			e = e.withMember("timestamp", when)
		}
		out = append(out, e.stamped(s))
		last, when = e.UUID, e.Timestamp
	}
	return out
}

// placed says whether an entry has a place in the conversation; others are notes about the whole of it.
func (e Entry) placed() bool { return e.UUID != "" || e.Message != nil }

// stamped fills in what the entry does not say of where it was written.
func (e Entry) stamped(s Stamp) Entry {
	has := e.keys()
	e = e.WithSession(s.SessionID)
	if e.Type == "" && e.Message != nil {
		e.Type = e.Message.Role
		e = e.withMember("type", e.Type)
	}
	if !has["isSidechain"] {
		e.IsSidechain = s.AgentID != ""
		e = e.withMember("isSidechain", e.IsSidechain)
	}
	if e.AgentID == "" && s.AgentID != "" {
		e.AgentID = s.AgentID
		e = e.withMember("agentId", s.AgentID)
	}
	for _, m := range []struct {
		key   string
		field *string
		value string
	}{
		{"userType", &e.UserType, "external"}, {"cwd", &e.CWD, s.CWD}, {"version", &e.Version, s.Version}, {"gitBranch", &e.GitBranch, s.GitBranch},
	} {
		// An empty branch is one, too: there was none.
		if !has[m.key] || *m.field == "" && m.key != "gitBranch" {
			*m.field = m.value
			e = e.withMember(m.key, m.value)
		}
	}
	return e
}

// WithSession returns the entry as one of another session, if it says of which it is or has a place in one.
func (e Entry) WithSession(id string) Entry {
	if e.SessionID == id || e.SessionID == "" && !e.placed() {
		return e
	}
	e.SessionID = id
	return e.withMember("sessionId", id)
}

// WithAgent returns the entry as one of another subagent.
func (e Entry) WithAgent(id string) Entry {
	e.AgentID = id
	return e.withMember("agentId", id)
}

// keys returns the top-level keys of an entry's JSON.
func (e Entry) keys() map[string]bool {
	raw, err := e.MarshalJSON()
	if err != nil {
		return nil
	}
	list, _ := members(raw)
	keys := make(map[string]bool, len(list))
	for _, m := range list {
		keys[m.key] = true
	}
	return keys
}

// madeUUID is the id of an entry that has none: the same whenever it is made anew.
func madeUUID(s Stamp, at int, e Entry) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%d\x00%s", s.SessionID, s.AgentID, at, e.written()))
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80 // RFC 9562: version 8, made by a rule of one's own
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}

func timestamp(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000Z") }

// WithoutThinking returns the entries without the thinking blocks, and how many there were: in a session with another
// system text or other tools their signatures do not hold. What hung on an entry of nothing else hangs on that one's
// parent.
func WithoutThinking(entries []Entry) (out []Entry, removed int) {
	instead := map[string]string{} // uuid of an entry that is gone → what stands for it
	for _, e := range entries {
		parent, moved := instead[e.ParentUUID]
		if moved {
			e = e.WithParent(parent)
		}
		if e.Message != nil {
			rest := slices.DeleteFunc(slices.Clone(e.Message.Content), Block.IsThinking)
			n := len(e.Message.Content) - len(rest)
			if removed += n; n > 0 && len(rest) == 0 {
				instead[e.UUID] = e.ParentUUID
				continue
			}
			if n > 0 {
				m := *e.Message
				m.Content = rest
				e = e.WithMessage(m)
			}
		}
		out = append(out, e)
	}
	return out, removed
}
