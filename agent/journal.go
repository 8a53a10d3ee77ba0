package agent

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"flower/transcript"
)

// The journal says of every call how far it has come: it is made with the answer that holds the call, begun before a
// tool with effects runs, and done with the entry of its result. After a crash a call that was made and not begun has
// done nothing and can be run; of one that was begun nobody knows. Calls that another program has written are not in the
// journal, and nobody knows of them either.

// OpenCall is what a Log's journal says of a call that has no result yet.
type OpenCall struct {
	Input string // InputHash of the input the call was made with
	Begun bool   // its tool may have run
}

// InputHash identifies the input of a call: ids of calls are not always what they should be. Space between tokens does
// not count, because storing an entry may remove it.
func InputHash(input json.RawMessage) string {
	var compact bytes.Buffer
	if json.Compact(&compact, input) == nil {
		input = compact.Bytes()
	}
	sum := sha256.Sum256(input)
	return hex.EncodeToString(sum[:16])
}

// JournalOf returns what the journal of a Log keeps of an entry: the calls it makes and the ids of those it answers.
func JournalOf(e transcript.Entry) (made []transcript.Block, done []string) {
	if e.Message == nil {
		return nil, nil
	}
	for _, b := range e.Message.Content {
		switch {
		case b.Type == transcript.TypeToolUse && e.Message.Role == transcript.RoleAssistant && b.ID != "":
			made = append(made, b)
		case b.Type == transcript.TypeToolResult:
			done = append(done, b.ToolUseID)
		}
	}
	return made, done
}

// readJournal reads what is known of the calls that an earlier process has left open.
func (c *conversation) readJournal(ctx context.Context) error {
	calls, err := c.engine.opts.Log.OpenCalls(ctx, c.key)
	if err != nil {
		return fmt.Errorf("read calls of session %s: %w", c.key.Session, err)
	}
	c.journal = calls
	return nil
}

// untouched says of a call of an earlier process that its tool has certainly not run.
func (c *conversation) untouched(call transcript.Block) bool {
	known, ok := c.journal[call.ID]
	return ok && !known.Begun && known.Input == InputHash(call.Input)
}

// begin records that a call with effects is about to run. Like an entry it is written even if ctx has just ended.
func (c *conversation) begin(ctx context.Context, call transcript.Block) error {
	o := &c.engine.opts
	write := func() error { return o.Log.Begin(context.WithoutCancel(ctx), c.key, call.ID) }
	if err := o.Room.Keep(ctx, write); err != nil {
		return &StoreError{Session: c.key.Session, Err: err}
	}
	return nil
}
