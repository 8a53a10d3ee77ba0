package cli

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"flower/agent"
	"flower/tools"
	"flower/transcript"
)

// conversation is a stored session as a whole.
type conversation struct {
	key       agent.Key
	main      *thread
	subagents map[string]*thread // by id

	started map[string]string // id of the call of the Agent tool → id of the subagent it started
	lost    []string          // subagents whose call is not there
}

// thread is one conversation with a model.
type thread struct {
	entries []transcript.Entry
	damaged int // stored lines that could not be read
}

func (s *shelf) load(ctx context.Context, key agent.Key) (*thread, error) {
	lines, err := s.Load(ctx, key)
	if err != nil {
		return nil, err
	}
	t := &thread{}
	t.entries, t.damaged = transcript.ParseHistory(lines)
	return t, nil
}

// place finds out which call started which of the subagents. An id is made of the session's key and the call's id; in a
// copy of a session, or one that another program has written, it says nothing, and the words handed over tell.
func (c *conversation) place(ids []string) {
	c.started = map[string]string{}
	take := func(call transcript.Block, id string) {
		if i := slices.Index(ids, id); i >= 0 {
			ids = slices.Delete(ids, i, i+1)
			c.started[call.ID] = id
		}
	}
	calls := handedOut(c.main.entries)
	for _, call := range calls {
		take(call, agent.SubagentID(c.key, call.ID))
	}
	for _, call := range calls {
		if _, done := c.started[call.ID]; done {
			continue
		}
		var in struct {
			Prompt string `json:"prompt"`
		}
		_ = json.Unmarshal(call.Input, &in) // what is no input has no words
		for _, id := range ids {
			if in.Prompt != "" && strings.HasPrefix(firstWords(c.subagents[id].entries), in.Prompt) {
				take(call, id)
				break
			}
		}
	}
	c.lost = ids
}

// handedOut are the calls that start subagents. "Task" is what Claude Code has called the tool.
func handedOut(entries []transcript.Entry) []transcript.Block {
	var calls []transcript.Block
	for _, e := range entries {
		if e.Message == nil {
			continue
		}
		for _, call := range e.Message.ToolUses() {
			if call.Name == tools.Agent || call.Name == "Task" {
				calls = append(calls, call)
			}
		}
	}
	return calls
}

// firstWords are the first that a conversation's person, or agent, has said.
func firstWords(entries []transcript.Entry) string {
	for _, e := range entries {
		if e.Message != nil && e.Message.Role == transcript.RoleUser {
			return e.Message.PlainText()
		}
	}
	return ""
}
