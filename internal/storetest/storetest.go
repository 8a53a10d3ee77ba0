// Package storetest is the contract of flower.Store as tests: every implementation runs it.
package storetest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"flower"
	"flower/agent"
	"flower/transcript"
)

// Backend makes the stores under test.
type Backend struct {
	// New returns an empty store for a workspace. The suite closes it.
	New func(t *testing.T, workspace string) flower.Store
	// View returns another store on the same data as s, used from another workspace. The suite closes it.
	View func(t *testing.T, s flower.Store, workspace string) flower.Store
}

const (
	here    = "/home/ada/garden"
	there   = "/home/ada-garden" // has the same project key as here
	project = "-home-ada-garden"
)

var main = agent.Key{Project: project, Session: "6f1c2a34-0b1d-4c5e-8f90-a1b2c3d4e5f6"}

// Run runs the whole contract.
func Run(t *testing.T, b Backend) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T, b Backend, s flower.Store)
	}{
		{"append and load", testAppend},
		{"bytes are kept", testBytes},
		{"append is idempotent", testIdempotent},
		{"nothing to append", testAppendNothing},
		{"bad keys", testBadKeys},
		{"tail", testTail},
		{"has", testHas},
		{"workspaces", testWorkspaces},
		{"prefix", testPrefix},
		{"calls", testCalls},
		{"fork", testFork},
		{"fork refuses", testForkRefuses},
		{"delete", testDelete},
		{"sessions", testSessions},
		{"notes", testNotes},
		{"answers", testAnswers},
		{"concurrent use", testConcurrent},
		{"each its own outcome", testOutcomes},
		{"cancelled", testCancelled},
		{"closed", testClosed},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := b.New(t, here)
			t.Cleanup(func() { noErr(t, s.Close()) })
			test.run(t, b, s)
		})
	}
}

// Entry returns an entry with the given uuid and text, as the engine makes them.
func Entry(uuid, text string) transcript.Entry {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	return transcript.NewEntry(transcript.Stamp{SessionID: main.Session, CWD: here, Version: "1"}, uuid, "", at,
		transcript.Message{Role: transcript.RoleUser, Content: []transcript.Block{transcript.Text(text)}})
}

// Entries returns n entries with the uuids prefix0, prefix1, ….
func Entries(prefix string, n int) []transcript.Entry {
	var out []transcript.Entry
	for i := range n {
		out = append(out, Entry(fmt.Sprint(prefix, i), fmt.Sprint("text ", i)))
	}
	return out
}

// UUIDs returns the uuids of stored entries in order.
func UUIDs(t testing.TB, stored []json.RawMessage) []string {
	t.Helper()
	var ids []string
	for _, raw := range stored {
		e, err := transcript.ParseEntry(raw)
		noErr(t, err)
		ids = append(ids, e.UUID)
	}
	return ids
}

func noErr(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wantIDs checks what is stored under a key.
func wantIDs(t testing.TB, s flower.Store, key agent.Key, want ...string) {
	t.Helper()
	stored, err := s.Load(context.Background(), key)
	noErr(t, err)
	if got := UUIDs(t, stored); !slices.Equal(got, want) {
		t.Errorf("session %s holds %q, want %q", key, got, want)
	}
}

func wantHas(t testing.TB, s flower.Store, key agent.Key, want bool) {
	t.Helper()
	got, err := s.Has(context.Background(), key)
	noErr(t, err)
	if got != want {
		t.Errorf("Has(%s) = %v, want %v", key, got, want)
	}
}
