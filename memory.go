package flower

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"flower/agent"
	"flower/transcript"
)

// Errors that every Store uses, wrapped.
var (
	// ErrNoSession says that there is no such session in this workspace.
	ErrNoSession = errors.New("no such session")
	// ErrSessionExists says that a new session's id is taken.
	ErrSessionExists = errors.New("session exists already")
	// ErrPrefixDiffers says that a session was started with another prefix.
	ErrPrefixDiffers = errors.New("session has another prefix")
)

var (
	errStoreClosed = errors.New("store is closed")
	errStoreNoID   = errors.New("empty id")
)

// NewMemoryStore returns a store that forgets everything when the process ends: for tests, and for runs that are not to
// leave anything behind. The workspace is the one whose sessions it keeps; empty hides nothing.
//
// The result has a method In(workspace string) Store, the same data as seen from another workspace.
func NewMemoryStore(workspace string) Store {
	return &memoryStore{
		workspace: workspace,
		data:      &memoryData{sessions: map[string]*memorySession{}, answers: map[string]string{}},
	}
}

// memoryStore is a view of memoryData.
type memoryStore struct {
	workspace string
	data      *memoryData
	closed    bool // guarded by data.mu
}

// memoryData is what several views share. Its lock guards everything in it.
type memoryData struct {
	mu       sync.Mutex
	sessions map[string]*memorySession // by stored key
	inbox    []memoryNote
	answers  map[string]string // by call id
	last     int64             // the latest time given to a session, in milliseconds
}

type memorySession struct {
	key       agent.Key
	workspace string
	entries   []json.RawMessage
	uuids     map[string]bool
	prefix    *agent.Prefix
	calls     map[string]*memoryCall // by call id
	changed   int64                  // milliseconds
}

type memoryCall struct {
	agent.OpenCall
	done bool
}

type memoryNote struct {
	agent.Note
	project   string
	delivered bool
}

// In returns the same data as seen from another workspace.
func (m *memoryStore) In(workspace string) Store {
	return &memoryStore{workspace: workspace, data: m.data}
}

// do runs f under the lock.
func (m *memoryStore) do(ctx context.Context, f func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.data.mu.Lock()
	defer m.data.mu.Unlock()
	if m.closed {
		return errStoreClosed
	}
	return f()
}

// find returns the session of a key, nil if there is none. A key that cannot name one has none.
func (m *memoryStore) find(key agent.Key) *memorySession {
	if key.Check() != nil {
		return nil
	}
	return m.data.sessions[key.String()]
}

// make returns the session of a key and starts it if there is none.
func (m *memoryStore) make(key agent.Key) *memorySession {
	s := m.data.sessions[key.String()]
	if s == nil {
		s = &memorySession{key: key, workspace: m.workspace, uuids: map[string]bool{}, calls: map[string]*memoryCall{}}
		m.data.sessions[key.String()] = s
	}
	return s
}

func (m *memoryStore) hides(s *memorySession) bool {
	return m.workspace != "" && s.workspace != "" && s.workspace != m.workspace
}

// stamp is the present, but later than every stamp before.
func (d *memoryData) stamp() int64 {
	d.last = max(time.Now().UnixMilli(), d.last+1)
	return d.last
}

// Load implements agent.Log.
func (m *memoryStore) Load(ctx context.Context, key agent.Key) (entries []json.RawMessage, err error) {
	err = m.do(ctx, func() error {
		if s := m.find(key); s != nil {
			entries = cloneEntries(s.entries)
		}
		return nil
	})
	return entries, err
}

// Tail implements Store.
func (m *memoryStore) Tail(ctx context.Context, key agent.Key, n int) (entries []json.RawMessage, err error) {
	err = m.do(ctx, func() error {
		if s := m.find(key); s != nil {
			entries = cloneEntries(s.entries[len(s.entries)-min(max(n, 0), len(s.entries)):])
		}
		return nil
	})
	return entries, err
}

func cloneEntries(entries []json.RawMessage) []json.RawMessage {
	var out []json.RawMessage
	for _, e := range entries {
		out = append(out, bytes.Clone(e))
	}
	return out
}

// Append implements agent.Log.
func (m *memoryStore) Append(ctx context.Context, key agent.Key, entries ...transcript.Entry) error {
	if err := key.Check(); err != nil {
		return fmt.Errorf("append to session %s: %w", key, err)
	}
	texts := make([]json.RawMessage, len(entries))
	for i, e := range entries {
		data, err := e.MarshalJSON()
		if err != nil {
			return fmt.Errorf("append to session %s: encode entry %s: %w", key, e.UUID, err)
		}
		texts[i] = bytes.ToValidUTF8(data, []byte("\uFFFD")) // always a copy
	}
	return m.do(ctx, func() error {
		for i, e := range entries {
			s := m.make(key)
			if e.UUID != "" && s.uuids[e.UUID] {
				continue
			}
			s.uuids[e.UUID] = true
			s.entries = append(s.entries, texts[i])
			s.record(e)
			s.changed = m.data.stamp()
		}
		return nil
	})
}

// record brings the journal up to date with an entry.
func (s *memorySession) record(e transcript.Entry) {
	made, done := agent.JournalOf(e)
	for _, call := range made {
		if s.calls[call.ID] == nil {
			s.calls[call.ID] = &memoryCall{OpenCall: agent.OpenCall{Input: agent.InputHash(call.Input)}}
		}
	}
	for _, id := range done {
		if call := s.calls[id]; call != nil {
			call.done = true
		}
	}
}

// Begin implements agent.Log.
func (m *memoryStore) Begin(ctx context.Context, key agent.Key, callID string) error {
	err := key.Check()
	if err == nil {
		err = m.do(ctx, func() error {
			s := m.make(key)
			if s.calls[callID] == nil {
				s.calls[callID] = &memoryCall{}
			}
			s.calls[callID].Begun = true
			return nil
		})
	}
	if err != nil {
		return fmt.Errorf("begin call of session %s: %w", key, err)
	}
	return nil
}

// OpenCalls implements agent.Log.
func (m *memoryStore) OpenCalls(ctx context.Context, key agent.Key) (map[string]agent.OpenCall, error) {
	open := map[string]agent.OpenCall{}
	err := m.do(ctx, func() error {
		if s := m.find(key); s != nil {
			for id, call := range s.calls {
				if !call.done {
					open[id] = call.OpenCall
				}
			}
		}
		return nil
	})
	return open, err
}

// Has implements Store.
func (m *memoryStore) Has(ctx context.Context, key agent.Key) (has bool, err error) {
	err = m.do(ctx, func() error {
		s := m.find(key)
		has = s != nil && len(s.entries) > 0 && !m.hides(s)
		return nil
	})
	return has, err
}

// Prefix implements agent.Log.
func (m *memoryStore) Prefix(ctx context.Context, key agent.Key) (p agent.Prefix, ok bool, err error) {
	err = m.do(ctx, func() error {
		if s := m.find(key); s != nil && s.prefix != nil {
			p, ok = clonePrefix(*s.prefix), true
		}
		return nil
	})
	return p, ok, err
}

// SetPrefix implements agent.Log; another prefix than the first is ErrPrefixDiffers.
func (m *memoryStore) SetPrefix(ctx context.Context, key agent.Key, p agent.Prefix) error {
	err := key.Check()
	if err == nil {
		err = m.do(ctx, func() error {
			s := m.make(key)
			if s.prefix == nil {
				p = clonePrefix(p)
				s.prefix = &p
			}
			if !samePrefix(*s.prefix, p) {
				return ErrPrefixDiffers
			}
			return nil
		})
	}
	if err != nil {
		return fmt.Errorf("set prefix of session %s: %w", key, err)
	}
	return nil
}

func clonePrefix(p agent.Prefix) agent.Prefix {
	var tools []agent.ToolSpec
	for _, t := range p.Tools {
		t.InputSchema, t.Hosted = bytes.Clone(t.InputSchema), bytes.Clone(t.Hosted)
		tools = append(tools, t)
	}
	return agent.Prefix{System: p.System, Tools: tools, Definition: p.Definition}
}

func samePrefix(a, b agent.Prefix) bool {
	return a.System == b.System && slices.EqualFunc(a.Tools, b.Tools, func(x, y agent.ToolSpec) bool {
		return x.Name == y.Name && x.Description == y.Description && bytes.Equal(x.InputSchema, y.InputSchema) && bytes.Equal(x.Hosted, y.Hosted)
	})
}

// family calls f for the session and its subagents.
func (d *memoryData) family(key agent.Key, f func(stored string, s *memorySession)) {
	for stored, s := range d.sessions {
		if stored == key.String() || strings.HasPrefix(stored, key.String()+"/") {
			f(stored, s)
		}
	}
}

// Fork implements Store. Its errors are ErrNoSession and ErrSessionExists.
func (m *memoryStore) Fork(ctx context.Context, from, to agent.Key) error {
	err := errors.Join(from.Check(), to.Check())
	if err == nil {
		err = m.do(ctx, func() error { return m.fork(from, to) })
	}
	if err != nil {
		return fmt.Errorf("fork session %s to %s: %w", from, to, err)
	}
	return nil
}

func (m *memoryStore) fork(from, to agent.Key) error {
	if s := m.find(from); s == nil || len(s.entries) == 0 || m.hides(s) {
		return ErrNoSession
	}
	taken := false
	m.data.family(to, func(string, *memorySession) { taken = true })
	if taken {
		return ErrSessionExists
	}
	copies := map[string]*memorySession{}
	m.data.family(from, func(_ string, s *memorySession) {
		c := &memorySession{
			key:       to,
			workspace: m.workspace, entries: slices.Clone(s.entries), uuids: map[string]bool{}, prefix: s.prefix,
			calls: map[string]*memoryCall{},
		}
		c.key.SubPath = strings.TrimPrefix(to.SubPath+s.key.SubPath[len(from.SubPath):], "/")
		for id := range s.uuids {
			c.uuids[id] = true
		}
		for id, call := range s.calls {
			if !call.done {
				continue // the original may be about to run it: a call without a row is never run again
			}
			twin := *call
			c.calls[id] = &twin
		}
		copies[c.key.String()] = c
	})
	now := m.data.stamp()
	for stored, c := range copies {
		c.changed = now
		m.data.sessions[stored] = c
	}
	return nil
}

// Delete implements Store. A session of another workspace is not there.
func (m *memoryStore) Delete(ctx context.Context, key agent.Key) error {
	return m.do(ctx, func() error {
		if s := m.find(key); key.Check() == nil && (s == nil || !m.hides(s)) {
			m.data.family(key, func(stored string, _ *memorySession) { delete(m.data.sessions, stored) })
		}
		return nil
	})
}

// Sessions implements Store.
func (m *memoryStore) Sessions(ctx context.Context, project string) (list []SessionInfo, err error) {
	err = m.do(ctx, func() error {
		for _, s := range m.data.sessions {
			if s.key.Project == project && s.key.SubPath == "" && len(s.entries) > 0 && !m.hides(s) {
				list = append(list, SessionInfo{s.key.Session, len(s.entries), time.UnixMilli(s.changed)})
			}
		}
		slices.SortFunc(list, func(a, b SessionInfo) int { return b.Changed.Compare(a.Changed) })
		return nil
	})
	return list, err
}

// AddNote implements Store. A note whose id is known, delivered or not, changes nothing.
func (m *memoryStore) AddNote(ctx context.Context, project string, note agent.Note) error {
	return m.do(ctx, func() error {
		if note.ID == "" {
			return fmt.Errorf("add note: %w", errStoreNoID)
		}
		if slices.ContainsFunc(m.data.inbox, func(n memoryNote) bool { return n.ID == note.ID }) {
			return nil
		}
		note.Text = strings.ToValidUTF8(note.Text, "\uFFFD")
		note.At = time.UnixMilli(note.At.UnixMilli())
		m.data.inbox = append(m.data.inbox, memoryNote{Note: note, project: project})
		return nil
	})
}

// PendingNotes implements Store.
func (m *memoryStore) PendingNotes(ctx context.Context, project string) (notes []agent.Note, err error) {
	err = m.do(ctx, func() error {
		for _, n := range m.data.inbox {
			if n.project == project && !n.delivered {
				notes = append(notes, n.Note)
			}
		}
		return nil
	})
	return notes, err
}

// MarkDelivered implements Store. Ids that are not pending in the project are ignored.
func (m *memoryStore) MarkDelivered(ctx context.Context, project string, ids []string) error {
	return m.do(ctx, func() error {
		for i, n := range m.data.inbox {
			if n.project == project && slices.Contains(ids, n.ID) {
				m.data.inbox[i].delivered = true
			}
		}
		return nil
	})
}

// Answer implements Store.
func (m *memoryStore) Answer(ctx context.Context, callID string) (answer string, ok bool, err error) {
	err = m.do(ctx, func() error {
		answer, ok = m.data.answers[callID]
		return nil
	})
	return answer, ok, err
}

// SetAnswer implements Store.
func (m *memoryStore) SetAnswer(ctx context.Context, callID, answer string) error {
	return m.do(ctx, func() error {
		if callID == "" {
			return fmt.Errorf("record answer: %w", errStoreNoID)
		}
		if _, ok := m.data.answers[callID]; !ok {
			m.data.answers[callID] = strings.ToValidUTF8(answer, "\uFFFD")
		}
		return nil
	})
}

// Close implements Store.
func (m *memoryStore) Close() error {
	m.data.mu.Lock()
	defer m.data.mu.Unlock()
	m.closed = true
	return nil
}
