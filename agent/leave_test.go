package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"flower"
	"flower/agent"
	"flower/transcript"
)

// weighing answers by a script and reports a context that grows by 1000 tokens an answer.
func weighing(replies ...*agent.Response) *script {
	n := 0
	return &script{reply: func(*agent.ModelRequest) (*agent.Response, error) {
		r := *replies[n]
		n++
		r.Message.Usage = transcript.Usage{CacheRead: 1000 * n, Output: 10}
		return &r, nil
	}}
}

func TestLineEndsARunBetweenTwoTurns(t *testing.T) {
	ran := 0
	count := func(context.Context, agent.Call) (agent.ToolResult, error) {
		ran++
		return agent.TextResult("counted"), nil
	}
	tools := box{"count": tool("count", false, count)}
	spec := agent.Spec{Name: "a", Tools: []string{"count"}}
	model := weighing(
		calls(call("c1", "count", `{}`)), calls(call("c2", "count", `{}`)), // 2000 reached
		calls(call("c3", "count", `{}`)), text("the document"),
	)
	store := flower.NewMemoryStore("/w")
	inbox := &notes{waiting: []agent.Note{}}
	e := newEngine(t, model, store, tools)
	_, result, err := run(t, e, agent.Request{Key: key, Spec: spec, Prompt: "go", Line: 2000, Inbox: inbox})
	var line *agent.LineError
	if !errors.As(err, &line) || line.Context != 2000 || line.Line != 2000 || result.Context != 2000 {
		t.Fatalf("ended with %v at %d, want a LineError at 2000", err, result.Context)
	}
	if ran != 2 || len(model.sent) != 2 {
		t.Fatalf("%d calls and %d requests, want 2 and 2: the calls in flight are done first", ran, len(model.sent))
	}

	// What the person says now is for the session that follows.
	inbox.waiting = []agent.Note{{ID: "11111111-0000-4000-8000-000000000000", Text: "also this"}}
	_, _, err = run(t, e, agent.Request{Key: key, Spec: spec, Prompt: "go on", Line: 2000, Inbox: inbox})
	if !errors.As(err, &line) || len(inbox.waiting) != 1 || len(model.sent) != 2 {
		t.Fatalf("ended with %v, %d remarks left, %d requests", err, len(inbox.waiting), len(model.sent))
	}

	// The last word: no limit, no line, no call.
	spec.Limits = agent.Limits{Turns: 1, CostUSD: 0.01}
	_, result, err = run(t, e, agent.Request{
		Key: key, Spec: spec, Prompt: "write the document", Line: 2000, Closing: true, Meter: agent.NewMeter(0.01),
	})
	if err != nil || result.Text != "the document" || ran != 2 {
		t.Fatalf("closing ended with %v, %q, %d calls", err, result.Text, ran)
	}
	if refused := lastUserTexts(model); !strings.Contains(refused, "only the written answer") {
		t.Errorf("the call was not refused: %s", refused)
	}
}

func TestAnswerThatEndsTheRunWinsOverTheLine(t *testing.T) {
	store := flower.NewMemoryStore("/w")
	inbox := &notes{}
	e := newEngine(t, weighing(text("done"), text("never")), store, nil)
	if _, result, err := run(t, e, agent.Request{Key: key, Spec: agent.Spec{Name: "a"}, Prompt: "go", Line: 500, Inbox: inbox}); err != nil || result.Text != "done" {
		t.Fatalf("ended with %v, %q", err, result.Text)
	}
	inbox.waiting = []agent.Note{{ID: "11111111-0000-4000-8000-000000000000", Text: "also this"}}
	_, _, err := run(t, e, agent.Request{Key: key, Spec: agent.Spec{Name: "a"}, Line: 500, Inbox: inbox})
	var line *agent.LineError
	if !errors.As(err, &line) {
		t.Fatalf("a remark that waits needs a session with room, the run ended with %v", err)
	}
}

func TestClosingThatOnlyCallsEnds(t *testing.T) {
	var replies []*agent.Response
	for range 10 {
		replies = append(replies, calls(call("c", "count", `{}`)))
	}
	e := newEngine(t, weighing(replies...), flower.NewMemoryStore("/w"), box{"count": tool("count", false, say("x"))})
	_, result, err := run(t, e, agent.Request{Key: key, Spec: agent.Spec{Name: "a", Tools: []string{"count"}}, Prompt: "p", Closing: true})
	var limit *agent.LimitError
	if !errors.As(err, &limit) || result.Turns != 3 {
		t.Fatalf("ended with %v after %d answers", err, result.Turns)
	}
}

// The journal holds nothing of tools that are run again, such as a subagent: of a call of one that was cut off, a session
// that is left cannot say that it never began.
func TestClosingDoesNotKnowWhetherCutCallsBegan(t *testing.T) {
	begun := agent.Spec{Name: "a", Tools: []string{"delegate"}}
	for name, spec := range map[string]agent.Spec{"still there": begun, "taken away": {Name: "a"}} {
		t.Run(name, func(t *testing.T) {
			store := flower.NewMemoryStore("/w")
			ctx, cancel := context.WithCancel(t.Context())
			tools := box{"delegate": tool("delegate", true, func(ctx context.Context, _ agent.Call) (agent.ToolResult, error) {
				cancel()
				return agent.ToolResult{}, context.Cause(ctx)
			})}
			e := newEngine(t, weighing(calls(call("c1", "delegate", `{}`))), store, tools)
			if _, _, err := runContext(ctx, e, agent.Request{Key: key, Spec: begun, Prompt: "go"}); !errors.Is(err, context.Canceled) {
				t.Fatalf("ended with %v", err)
			}
			model := weighing(text("the document"))
			if _, _, err := run(t, newEngine(t, model, store, tools), agent.Request{Key: key, Spec: spec, Prompt: "write", Closing: true}); err != nil {
				t.Fatal(err)
			}
			if told := lastUserTexts(model); !strings.Contains(told, "outcome of this call is unknown") {
				t.Errorf("told: %s", told)
			}
		})
	}
}

func TestChangedDefinitionIsNoticed(t *testing.T) {
	other := func(agent.Env) agent.Tool {
		return agent.Tool{ToolSpec: agent.ToolSpec{Name: "count", Description: "x", InputSchema: json.RawMessage(`{"type":"object"}`)}, Run: say("x")}
	}
	reworded := func(agent.Env) agent.Tool {
		return agent.Tool{ToolSpec: agent.ToolSpec{Name: "count", Description: "other words", InputSchema: json.RawMessage(
			`{"additionalProperties":false,"properties":{"n":{"description":"how many","type":"integer"}},"type":"object"}`)}, Run: say("x")}
	}
	plain := agent.Spec{Name: "a", Instructions: "be", Tools: []string{"count"}}
	with := func(change func(*agent.Spec)) agent.Spec { s := plain; change(&s); return s }
	edition := with(func(s *agent.Spec) { s.Edition = "1" })
	tests := map[string]struct {
		before, after agent.Spec
		box           box
		role          bool
		tools         []string
	}{
		"nothing":             {before: plain, after: plain},
		"limits and model":    {before: plain, after: with(func(s *agent.Spec) { s.Limits.Turns, s.Model = 9, "x" })},
		"words":               {before: plain, after: with(func(s *agent.Spec) { s.Instructions = "do" }), role: true},
		"name":                {before: plain, after: with(func(s *agent.Spec) { s.Name = "b" }), role: true},
		"words of an edition": {before: edition, after: with(func(s *agent.Spec) { s.Instructions, s.Edition = "do", "1" })},
		"edition":             {before: edition, after: with(func(s *agent.Spec) { s.Edition = "2" }), role: true},
		"tool gone":           {before: plain, after: with(func(s *agent.Spec) { s.Tools = nil }), role: true, tools: []string{"count"}},
		"tool new":            {before: plain, after: with(func(s *agent.Spec) { s.Tools = []string{"more", "count"} }), role: true, tools: []string{"more"}},
		"input":               {before: plain, after: plain, box: box{"count": other}, tools: []string{"count"}},
		"description":         {before: plain, after: plain, box: box{"count": reworded}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tools := box{"count": tool("count", false, say("x")), "more": tool("more", false, say("x"))}
			store := flower.NewMemoryStore("/w")
			if _, _, err := run(t, newEngine(t, weighing(text("ok")), store, tools), agent.Request{Key: key, Spec: tt.before, Prompt: "p"}); err != nil {
				t.Fatal(err)
			}
			if tt.box != nil {
				tools = tt.box
			}
			model := weighing(text("again"))
			e := newEngine(t, model, store, tools)
			before := len(stored(t, store, key))
			_, _, err := run(t, e, agent.Request{Key: key, Spec: tt.after, Prompt: "q", Same: true})
			var changed *agent.ChangedError
			if want := tt.role || tt.tools != nil; errors.As(err, &changed) != want {
				t.Fatalf("ended with %v, noticed should be %v", err, want)
			} else if !want {
				return
			}
			if changed.Role != tt.role || !slices.Equal(changed.Tools, tt.tools) {
				t.Errorf("noticed %+v, want role %v, tools %v", changed, tt.role, tt.tools)
			}
			if got := len(stored(t, store, key)); got != before || len(model.sent) != 0 {
				t.Errorf("%d entries, were %d; %d requests", got, before, len(model.sent))
			}
			if _, _, err := run(t, e, agent.Request{Key: key, Spec: tt.after, Prompt: "q"}); err != nil {
				t.Errorf("by default it goes on as it was: %v", err)
			}
		})
	}
}

// TestShrinkMakesRoomForTheLastWord: a history that no longer fits is asked for its document without its large results.
func TestShrinkMakesRoomForTheLastWord(t *testing.T) {
	big := strings.Repeat("a long line\n", 500)
	store := flower.NewMemoryStore("/w")
	model := weighing(calls(call("c1", "count", `{}`)), text("done"), text("the document"))
	spilled := 0
	e, err := agent.New(agent.Options{
		Model: model, Log: store, Toolbox: box{"count": tool("count", false, say(big))}, ModelName: "m", CWD: "/w",
		Spill: func(transcript.Spill) error { spilled++; return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	spec := agent.Spec{Name: "a", Tools: []string{"count"}}
	if _, _, err := run(t, e, agent.Request{Key: key, Spec: spec, Prompt: "go"}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(lastUserTexts(model), "a long line") || spilled != 0 {
		t.Fatal("the result was moved before it had to be")
	}
	_, result, err := run(t, e, agent.Request{Key: key, Spec: spec, Prompt: "write", Closing: true, Shrink: true})
	if err != nil || result.Text != "the document" || spilled != 1 {
		t.Fatalf("%q, %v, %d moved", result.Text, err, spilled)
	}
	if sent := lastUserTexts(model); strings.Contains(sent, "a long line") || !strings.Contains(sent, ".txt") {
		t.Errorf("sent: %.500s", sent)
	}
}
