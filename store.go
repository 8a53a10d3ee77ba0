package flower

import (
	"context"
	"encoding/json"
	"time"

	"flower/agent"
)

// Store keeps everything that must survive the process, for one workspace. Implementations are safe for concurrent use by
// goroutines and by processes; every method that writes is durable when it returns nil, and doing the same write
// twice is doing it once. They do not retry beyond waiting for a lock.
//
// Package sqlite has the one on disk; NewMemoryStore is the same in memory.
type Store interface {
	agent.Log

	// Has says whether the session has entries and was made in this workspace. (Two paths can share a project key;
	// the store remembers the exact path of the sessions it started and hides those of other paths.)
	Has(ctx context.Context, key agent.Key) (bool, error)
	// Tail returns the last n entries of a session, oldest first, as stored.
	Tail(ctx context.Context, key agent.Key, n int) ([]json.RawMessage, error)
	// Fork copies the entries (uuids included), the prefix, the subagents and the journal of finished calls of a session to a
	// new session id. Open calls are not copied, so that they count as begun: the original may be about to run them. It is
	// an error if the original is missing or the new one exists.
	Fork(ctx context.Context, from, to agent.Key) error
	// Delete removes a session with its subagents; one that is not there is no error.
	Delete(ctx context.Context, key agent.Key) error
	// Sessions lists the main threads of a project, the one written last first.
	Sessions(ctx context.Context, project string) ([]SessionInfo, error)

	// AddNote puts a person's remark into the inbox of a run directory's project.
	AddNote(ctx context.Context, project string, note agent.Note) error
	// PendingNotes returns the remarks nobody has read yet, oldest first.
	PendingNotes(ctx context.Context, project string) ([]agent.Note, error)
	// MarkDelivered takes remarks out of the inbox.
	MarkDelivered(ctx context.Context, project string, ids []string) error

	// Answer returns what was answered to a question, by the id of the call that asked; false if nothing was.
	Answer(ctx context.Context, callID string) (string, bool, error)
	// SetAnswer records an answer; the first one stays.
	SetAnswer(ctx context.Context, callID, answer string) error

	Close() error
}

// SessionInfo describes a stored session.
type SessionInfo struct {
	ID      string
	Entries int
	Changed time.Time
}
