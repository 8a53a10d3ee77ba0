package storetest

import (
	"context"
	"encoding/json"
	"maps"
	"testing"
	"time"

	"flower"
	"flower/agent"
	"flower/transcript"
)

func testCalls(t *testing.T, b Backend, s flower.Store) {
	ctx := context.Background()
	const odd = `{ "a" : "<&> \u2028", "b":1.0 }`
	said := func(uuid, role string, blocks ...transcript.Block) transcript.Entry {
		m := transcript.Message{Role: role, ID: "msg_" + uuid, Content: blocks}
		return transcript.NewEntry(transcript.Stamp{SessionID: main.Session}, uuid, "", time.Now(), m)
	}
	use := func(id, input string) transcript.Block { return transcript.ToolUse(id, "Bash", json.RawMessage(input)) }
	done := func(id string) transcript.Block { return transcript.ToolResult(id, false, transcript.Text("x")) }
	state := func(input string, begun bool) agent.OpenCall {
		return agent.OpenCall{Input: agent.InputHash(json.RawMessage(input)), Begun: begun}
	}
	wantCalls(t, s, main, nil)

	first := said("1", transcript.RoleAssistant, transcript.Text("hm"), use("a", odd), use("b", `{}`), use("c", `{}`))
	noErr(t, s.Append(ctx, main, first))
	noErr(t, s.Append(ctx, main.Sub("1"), said("1", transcript.RoleAssistant, use("a", `{"sub":1}`))))
	noErr(t, s.Append(ctx, main, said("2", transcript.RoleUser, use("d", `{}`)))) // no answer, no call
	noErr(t, s.Begin(ctx, main, "a"))
	noErr(t, s.Begin(ctx, main, "a"))
	noErr(t, s.Begin(ctx, main, "unheard of"))
	noErr(t, s.Begin(ctx, main, "b"))
	noErr(t, s.Append(ctx, main, said("3", transcript.RoleUser, done("b"))))
	open := map[string]agent.OpenCall{"a": state(odd, true), "c": state(`{}`, false), "unheard of": {Begun: true}}
	sub := map[string]agent.OpenCall{"a": state(`{"sub":1}`, false)}
	again := b.View(t, s, here)
	t.Cleanup(func() { noErr(t, again.Close()) })
	wantCalls(t, again, main, open)
	wantCalls(t, again, main.Sub("1"), sub)
	wantCalls(t, again, main.Sub("2"), nil)

	// What is written twice, and a second call of the same id, change nothing.
	noErr(t, s.Append(ctx, main, first, said("4", transcript.RoleAssistant, use("b", `{}`), use("a", `{"other":1}`))))
	noErr(t, s.Begin(ctx, main, "b"))
	wantCalls(t, again, main, open)

	to := agent.Key{Project: project, Session: "fork"}
	noErr(t, s.Fork(ctx, main, to))
	wantCalls(t, s, to, nil) // the original may be about to run them
	noErr(t, s.Begin(ctx, to, "c"))
	wantCalls(t, s, main, open)
	noErr(t, s.Delete(ctx, main))
	wantCalls(t, s, main, nil)
	wantCalls(t, s, main.Sub("1"), nil)
	wantCalls(t, s, to, map[string]agent.OpenCall{"c": {Begun: true}})
	wantCalls(t, s, to.Sub("1"), nil)

	for _, key := range []agent.Key{{}, {Project: "a/b", Session: "s"}} {
		if err := s.Begin(ctx, key, "a"); err == nil {
			t.Errorf("begin in %q: no error", key)
		}
		wantCalls(t, s, key, nil)
	}
}

func wantCalls(t *testing.T, s flower.Store, key agent.Key, want map[string]agent.OpenCall) {
	t.Helper()
	got, err := s.OpenCalls(context.Background(), key)
	noErr(t, err)
	if !maps.Equal(got, want) {
		t.Errorf("open calls of %s: %v, want %v", key, got, want)
	}
}
