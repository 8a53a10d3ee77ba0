package cli

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"flower"
	"flower/agent"
	"flower/transcript"
)

// deadStore takes no entries, as if the process had died before it could.
type deadStore struct{ flower.Store }

func (deadStore) Append(context.Context, agent.Key, ...transcript.Entry) error {
	return errors.New("dead")
}

// A call that is stored otherwise than it was made is known as begun before it is stored: in between a process may die.
func TestRedactedCallCountsAsBegunFirst(t *testing.T) {
	store := flower.NewMemoryStore("/w")
	key := agent.Key{Project: "-w", Session: "5a11ce00-0000-4000-8000-000000000001"}
	hide := func(s string) string { return strings.ReplaceAll(s, "sesame", "[secret]") }
	m := transcript.Message{Role: transcript.RoleAssistant, ID: "msg_1", Model: "m", Content: []transcript.Block{
		transcript.ToolUse("c1", "Bash", json.RawMessage(`{"command":"open sesame"}`)),
	}}
	entry := transcript.NewEntry(transcript.Stamp{SessionID: key.Session}, "11111111-0000-4000-8000-000000000000", "", time.Unix(0, 0), m)
	if err := (redacting{deadStore{store}, hide}).Append(t.Context(), key, entry); err == nil {
		t.Fatal("a dead store has taken an entry")
	}
	open, err := store.OpenCalls(t.Context(), key)
	if err != nil || !open["c1"].Begun {
		t.Errorf("journal %+v, %v", open, err)
	}
}
