package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"flower"
	"flower/agent"
	"flower/transcript"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// script is a Model that answers from a function of the request and keeps what it was sent.
type script struct {
	reply func(req *agent.ModelRequest) (*agent.Response, error)

	mu   sync.Mutex
	sent []agent.ModelRequest
}

func (s *script) Generate(ctx context.Context, req *agent.ModelRequest, _ func(agent.Delta)) (*agent.Response, error) {
	s.mu.Lock()
	copied := *req
	copied.Messages = append([]transcript.Message(nil), req.Messages...)
	copied.Marks = append([]agent.Mark(nil), req.Marks...)
	s.sent = append(s.sent, copied)
	s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := transcript.Validate(req.Messages); err != nil && !endsInPause(req.Messages) {
		return nil, &agent.ModelError{Kind: agent.Fatal, Status: 400, Message: err.Error()}
	}
	return s.reply(req)
}

func endsInPause(m []transcript.Message) bool { return m[len(m)-1].Role == transcript.RoleAssistant }

var answers atomic.Int64

func answer(stop string, blocks ...transcript.Block) *agent.Response {
	return &agent.Response{
		Message: transcript.Message{
			Role: transcript.RoleAssistant, ID: fmt.Sprintf("msg_%d", answers.Add(1)), Model: "m", StopReason: stop,
			Content: blocks, Usage: transcript.Usage{Input: 100, Output: 10},
		},
		CostUSD: 0.25,
	}
}

func text(s string) *agent.Response { return answer(agent.StopEndTurn, transcript.Text(s)) }

func call(id, name, input string) transcript.Block {
	return transcript.ToolUse(id, name, json.RawMessage(input))
}

func calls(blocks ...transcript.Block) *agent.Response { return answer(agent.StopToolUse, blocks...) }

// box is a Toolbox over a fixed set of tools.
type box map[string]func(env agent.Env) agent.Tool

func (b box) Tools(spec agent.Spec, env agent.Env) ([]agent.Tool, error) {
	var tools []agent.Tool
	for _, name := range spec.Tools {
		build, ok := b[name]
		if !ok {
			return nil, fmt.Errorf("no tool %s", name)
		}
		tools = append(tools, build(env))
	}
	return tools, nil
}

func tool(name string, again bool, run agent.Handler) func(agent.Env) agent.Tool {
	return func(agent.Env) agent.Tool {
		return agent.Tool{
			ToolSpec: agent.ToolSpec{Name: name, Description: name, InputSchema: json.RawMessage(
				`{"type":"object","properties":{"n":{"type":"integer"}},"additionalProperties":false}`)},
			Again: again, Run: run,
		}
	}
}

func say(s string) agent.Handler {
	return func(context.Context, agent.Call) (agent.ToolResult, error) { return agent.TextResult(s), nil }
}

var key = agent.Key{Project: "-w", Session: "5a11ce00-0000-4000-8000-000000000001"}

func newEngine(t *testing.T, m agent.Model, log agent.Log, b box) *agent.Engine {
	t.Helper()
	e, err := agent.New(agent.Options{Model: m, Log: log, Toolbox: b, ModelName: "m", CWD: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// run runs a request to its end.
func run(t *testing.T, e *agent.Engine, req agent.Request) ([]agent.Event, agent.Result, error) {
	t.Helper()
	return runContext(t.Context(), e, req)
}

func runContext(ctx context.Context, e *agent.Engine, req agent.Request) (events []agent.Event, result agent.Result, err error) {
	for ev, failed := range e.Run(ctx, req) {
		if failed != nil {
			err = failed
			continue
		}
		events = append(events, ev)
		if f, ok := ev.(agent.Finished); ok && f.Path == "" {
			result = f.Result
		}
	}
	return events, result, err
}

// stored returns the entries of a session.
func stored(t *testing.T, log agent.Log, k agent.Key) []transcript.Entry {
	t.Helper()
	lines, err := log.Load(t.Context(), k)
	if err != nil {
		t.Fatal(err)
	}
	entries, damaged := transcript.ParseHistory(lines)
	if damaged != 0 {
		t.Fatalf("%d damaged entries", damaged)
	}
	return entries
}

func lastUser(req *agent.ModelRequest) transcript.Message { return req.Messages[len(req.Messages)-1] }

func TestParallelCallsAreToldInCallOrder(t *testing.T) {
	second := make(chan struct{})
	tools := box{
		"slow": tool("slow", false, func(context.Context, agent.Call) (agent.ToolResult, error) {
			<-second // finishes after its sibling
			return agent.TextResult("slow"), nil
		}),
		"fast": tool("fast", false, func(context.Context, agent.Call) (agent.ToolResult, error) {
			close(second)
			return agent.ErrorResult("fast failed"), nil
		}),
	}
	m := &script{}
	m.reply = func(req *agent.ModelRequest) (*agent.Response, error) {
		if len(req.Messages) == 1 {
			return calls(call("t1", "slow", `{}`), call("t2", "fast", `{"n":1}`)), nil
		}
		return text("done"), nil
	}
	log := flower.NewMemoryStore("/w")
	_, result, err := run(t, newEngine(t, m, log, tools), agent.Request{
		Key: key, Spec: agent.Spec{Instructions: "sys", Tools: []string{"slow", "fast"}}, Prompt: "go",
	})
	if err != nil {
		t.Fatal(err)
	}
	got := lastUser(&m.sent[1]).Content
	if len(got) != 2 || got[0].ToolUseID != "t1" || got[1].ToolUseID != "t2" || !got[1].IsError || got[0].IsError {
		t.Errorf("results told: %+v", got)
	}
	if result.Text != "done" || result.Turns != 2 || result.CostUSD != 0.5 || result.Usage.Input != 200 {
		t.Errorf("result = %+v", result)
	}
	if n := len(stored(t, log, key)); n != 5 {
		t.Errorf("%d entries stored, want prompt, answer, two results, answer", n)
	}
}

// TestEveryEntryIsCommittedBeforeItIsActedOn watches the store from inside the model and the tools.
func TestEveryEntryIsCommittedBeforeItIsActedOn(t *testing.T) {
	log := flower.NewMemoryStore("/w")
	var seen []int
	count := func() { seen = append(seen, len(stored(t, log, key))) }
	tools := box{"look": tool("look", false, func(context.Context, agent.Call) (agent.ToolResult, error) {
		count()
		return agent.TextResult("x"), nil
	})}
	m := &script{}
	m.reply = func(req *agent.ModelRequest) (*agent.Response, error) {
		count()
		if len(req.Messages) == 1 {
			return calls(call("t1", "look", `{}`)), nil
		}
		return text("done"), nil
	}
	if _, _, err := run(t, newEngine(t, m, log, tools), agent.Request{Key: key, Spec: agent.Spec{Tools: []string{"look"}}, Prompt: "go"}); err != nil {
		t.Fatal(err)
	}
	if want := []int{1, 2, 3}; fmt.Sprint(seen) != fmt.Sprint(want) {
		t.Errorf("entries in the store at request, tool, request: %v, want %v", seen, want)
	}
}

// TestRequestsOnlyGrow checks that within a run each request begins with the one before, and that a resumed session
// sends the same prefix and history again.
func TestRequestsOnlyGrow(t *testing.T) {
	log := flower.NewMemoryStore("/w")
	tools := box{"look": tool("look", true, say("seen"))}
	m := &script{}
	turns := 0
	m.reply = func(*agent.ModelRequest) (*agent.Response, error) {
		if turns++; turns%3 == 0 {
			return text("done"), nil
		}
		return calls(call(fmt.Sprintf("t%d", turns), "look", `{}`)), nil
	}
	spec := agent.Spec{Instructions: "first words", Tools: []string{"look"}}
	for _, prompt := range []string{"one", "two"} {
		if _, _, err := run(t, newEngine(t, m, log, tools), agent.Request{Key: key, Spec: spec, Prompt: prompt}); err != nil {
			t.Fatal(err)
		}
		spec.Instructions = "other words" // must not reach a session that exists
	}
	for i := 1; i < len(m.sent); i++ {
		before, now := m.sent[i-1], m.sent[i]
		if now.System != "first words" {
			t.Errorf("request %d: system text %q", i, now.System)
		}
		for j, msg := range before.Messages {
			a, _ := json.Marshal(msg)
			b, _ := json.Marshal(now.Messages[j])
			if string(a) != string(b) {
				t.Errorf("request %d, message %d changed:\n%s\n%s", i, j, a, b)
			}
		}
		if last := now.Marks[len(now.Marks)-1]; last.Message != len(now.Messages)-1 {
			t.Errorf("request %d: last mark at %v of %d messages", i, last, len(now.Messages))
		}
		if len(now.Marks) != 2 || now.Marks[0].Message != len(before.Messages)-1 {
			t.Errorf("request %d: marks %v, want one at the end of the request before", i, now.Marks)
		}
	}
}

func TestStopReasons(t *testing.T) {
	thinking := transcript.Thinking("hm", "sig")
	tests := []struct {
		name    string
		first   *agent.Response
		want    string // text of the result
		err     any    // pointer to the error type expected
		second  string // text of what the second request ends with
		entries int
	}{
		{name: "end_turn", first: text("fine"), want: "fine", entries: 2},
		{name: "end_turn without content", first: answer(agent.StopEndTurn), want: "", entries: 2},
		{name: "stop_sequence", first: answer(agent.StopSequence, transcript.Text("fine")), want: "fine", entries: 2},
		{name: "tool_use without a call", first: answer(agent.StopToolUse, transcript.Text("odd")), want: "odd", entries: 2},
		{name: "max_tokens in text", first: answer(agent.StopMaxTokens, transcript.Text("the best ")), want: "the best rest", second: "output limit", entries: 4},
		{name: "max_tokens with nothing", first: answer(agent.StopMaxTokens), want: "rest", second: "output limit", entries: 4},
		{name: "max_tokens in thinking", first: answer(agent.StopMaxTokens, thinking), want: "rest", second: "output limit", entries: 4},
		{name: "max_tokens after a call", first: answer(agent.StopMaxTokens, call("t1", "look", `{}`)), want: "rest", second: "output limit", entries: 5},
		{name: "end_turn in thinking", first: answer(agent.StopEndTurn, thinking), want: "", entries: 2},
		{name: "pause_turn", first: answer(agent.StopPauseTurn, transcript.Text("wait")), want: "wait\n\nrest", second: "wait", entries: 3},
		{name: "refusal", first: answer(agent.StopRefusal, transcript.Text("no"), call("t1", "look", `{}`)), err: new(*agent.RefusalError), entries: 2},
		{name: "window exceeded", first: answer(agent.StopContextWindow, transcript.Text("ha")), err: new(*agent.ModelError), entries: 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			log := flower.NewMemoryStore("/w")
			ran := false
			tools := box{"look": tool("look", true, func(context.Context, agent.Call) (agent.ToolResult, error) {
				ran = true
				return agent.TextResult("x"), nil
			})}
			m := &script{}
			n := 0
			m.reply = func(*agent.ModelRequest) (*agent.Response, error) {
				if n++; n == 1 {
					return tt.first, nil
				}
				return text("rest"), nil
			}
			_, result, err := run(t, newEngine(t, m, log, tools), agent.Request{Key: key, Spec: agent.Spec{Tools: []string{"look"}}, Prompt: "go"})
			if tt.err == nil && err != nil || tt.err != nil && !errors.As(err, tt.err) {
				t.Fatalf("error = %v", err)
			}
			if tt.err == nil && result.Text != tt.want {
				t.Errorf("text = %q, want %q", result.Text, tt.want)
			}
			if tt.second != "" {
				if len(m.sent) != 2 || !strings.Contains(mustJSON(m.sent[1].Messages), tt.second) {
					t.Errorf("second request: %s", mustJSON(m.sent))
				}
			}
			if ran {
				t.Error("a call of a cut or refused answer was run")
			}
			if got := len(stored(t, log, key)); got != tt.entries {
				t.Errorf("%d entries stored, want %d", got, tt.entries)
			}
		})
	}
}

func mustJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func TestOutputLimitDoesNotLoop(t *testing.T) {
	for _, blocks := range [][]transcript.Block{{transcript.Text("again")}, {call("t1", "look", `{}`)}, nil} {
		m := &script{}
		n := 0
		m.reply = func(*agent.ModelRequest) (*agent.Response, error) {
			n++
			out := make([]transcript.Block, len(blocks))
			copy(out, blocks)
			for i, b := range out {
				if b.Type == transcript.TypeToolUse {
					out[i] = call(fmt.Sprintf("t%d", n), b.Name, `{}`)
				}
			}
			return answer(agent.StopMaxTokens, out...), nil
		}
		_, _, err := run(t, newEngine(t, m, flower.NewMemoryStore("/w"), box{"look": tool("look", true, say("x"))}),
			agent.Request{Key: key, Spec: agent.Spec{Tools: []string{"look"}}, Prompt: "go"})
		if err == nil || n != 4 {
			t.Errorf("%d requests, error %v; want 4 and an error", n, err)
		}
	}
}

func TestBadCallsGetResultsTheModelCanActOn(t *testing.T) {
	tools := box{"look": tool("look", true, say("x"))}
	tests := []struct{ name, tool, input, has string }{
		{"unknown tool", "Write", `{}`, "no tool"},
		{"unknown key", "look", `{"m":1}`, "does not fit"},
		{"wrong type", "look", `{"n":"one"}`, "does not fit"},
		{"not an object", "look", `[1]`, "not a JSON object"},
		{"a string", "look", `"n"`, "not a JSON object"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := &script{}
			m.reply = func(req *agent.ModelRequest) (*agent.Response, error) {
				if len(req.Messages) == 1 {
					return calls(call("t1", tt.tool, tt.input)), nil
				}
				return text("ok"), nil
			}
			log := flower.NewMemoryStore("/w")
			if _, _, err := run(t, newEngine(t, m, log, tools), agent.Request{Key: key, Spec: agent.Spec{Tools: []string{"look"}}, Prompt: "go"}); err != nil {
				t.Fatal(err)
			}
			got := lastUser(&m.sent[1]).Content[0]
			if !got.IsError || !strings.Contains(got.PlainText(), tt.has) {
				t.Errorf("told: %+v", got)
			}
			denied := stored(t, log, key)[2].ToolDenialKind
			if want := map[bool]string{true: transcript.DeniedByRule}[tt.name == "unknown tool"]; denied != want {
				t.Errorf("toolDenialKind = %q, want %q", denied, want)
			}
		})
	}
}

func TestLimits(t *testing.T) {
	endless := func() *script {
		m := &script{}
		n := 0
		m.reply = func(*agent.ModelRequest) (*agent.Response, error) {
			n++
			return calls(call(fmt.Sprintf("t%d", n), "look", `{}`)), nil
		}
		return m
	}
	tests := []struct {
		name     string
		limits   agent.Limits
		meter    *agent.Meter
		requests int
	}{
		{"turns", agent.Limits{Turns: 3}, nil, 3},
		{"money of the agent", agent.Limits{CostUSD: 0.5}, nil, 2},
		{"money of everybody", agent.Limits{}, agent.NewMeter(1), 4},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := endless()
			_, result, err := run(t, newEngine(t, m, flower.NewMemoryStore("/w"), box{"look": tool("look", true, say("x"))}),
				agent.Request{Key: key, Spec: agent.Spec{Tools: []string{"look"}, Limits: tt.limits}, Prompt: "go", Meter: tt.meter})
			var limit *agent.LimitError
			if !errors.As(err, &limit) || len(m.sent) != tt.requests {
				t.Errorf("%d requests, error %v; want %d and a LimitError", len(m.sent), err, tt.requests)
			}
			if result.Turns != tt.requests {
				t.Errorf("result of a stopped run says %d turns", result.Turns)
			}
		})
	}
}

func TestRetry(t *testing.T) {
	transient := &agent.ModelError{Kind: agent.Transient, Status: 529, Type: "overloaded_error", Message: "busy"}
	tests := []struct {
		name  string
		err   error
		times int
		want  int // requests
		ok    bool
		total time.Duration // slept, with Rand 0.5
	}{
		{"overcome", transient, 2, 3, true, 12 * time.Second},
		{"given up", transient, 99, 6, false, (4 + 8 + 16 + 32 + 64) * time.Second},
		{"unknown is tried again", &agent.ModelError{Message: "?"}, 1, 2, true, 4 * time.Second},
		{"no failure of the endpoint", errors.New("cannot be encoded"), 9, 1, false, 0},
		{"fatal", &agent.ModelError{Kind: agent.Fatal, Status: 401}, 9, 1, false, 0},
		{"overflow", &agent.ModelError{Kind: agent.Overflow, Status: 400}, 9, 1, false, 0},
		{"told not to", &agent.ModelError{Kind: agent.Transient, Status: 500, NoRetry: true}, 9, 1, false, 0},
		{"retry-after is honoured", &agent.ModelError{Kind: agent.Transient, Status: 429, RetryAfter: time.Hour}, 1, 2, true, time.Hour + 15*time.Second},
		{"short retry-after has a floor", &agent.ModelError{Kind: agent.Transient, Status: 429, RetryAfter: time.Second}, 1, 2, true, 4 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &script{}
				n := 0
				m.reply = func(*agent.ModelRequest) (*agent.Response, error) {
					if n++; n <= tt.times {
						return nil, tt.err
					}
					return text("ok"), nil
				}
				began := time.Now()
				retry := agent.WithRetry(m, agent.Retry{Rand: func() float64 { return 0.5 }})
				events, _, err := runContext(t.Context(), newEngine(t, retry, flower.NewMemoryStore("/w"), nil), agent.Request{Key: key, Prompt: "go"})
				if (err == nil) != tt.ok || n != tt.want || time.Since(began) != tt.total {
					t.Errorf("%d requests in %v, error %v; want %d in %v", n, time.Since(began), err, tt.want, tt.total)
				}
				said := 0
				for _, ev := range events {
					if p, ok := ev.(agent.Progress); ok {
						switch p.Delta.(type) {
						case agent.Retrying, agent.Waiting:
							said++
						}
					}
				}
				if said != tt.want-1 {
					t.Errorf("%d retries said, want %d", said, tt.want-1)
				}
				for i := range m.sent {
					if len(m.sent[i].Messages) != 1 {
						t.Errorf("request %d holds more than the prompt: %s", i, mustJSON(m.sent[i].Messages))
					}
				}
			})
		})
	}
}

func TestErrorIsNowhereInTheConversation(t *testing.T) {
	m := &script{}
	n := 0
	m.reply = func(*agent.ModelRequest) (*agent.Response, error) {
		if n++; n == 1 {
			return nil, &agent.ModelError{Kind: agent.Fatal, Status: 401, Message: "SECRET-MARK"}
		}
		return text("ok"), nil
	}
	log := flower.NewMemoryStore("/w")
	e := newEngine(t, m, log, nil)
	if _, _, err := run(t, e, agent.Request{Key: key, Prompt: "go"}); err == nil {
		t.Fatal("no error")
	}
	if _, _, err := run(t, e, agent.Request{Key: key, Prompt: "go on"}); err != nil {
		t.Fatal(err)
	}
	if got := mustJSON(m.sent) + mustJSON(stored(t, log, key)); strings.Contains(got, "SECRET-MARK") {
		t.Errorf("the error reached the conversation: %s", got)
	}
}
