package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"flower"
	"flower/agent"
	"flower/transcript"
)

// killedAfter leaves a session in the store as a process does that is killed after n commits.
func killedAfter(t *testing.T, n int, m agent.Model, tools box, req agent.Request) flower.Store {
	t.Helper()
	store := flower.NewMemoryStore("/w")
	if _, _, err := run(t, newEngine(t, m, &dying{Store: store, left: n}, tools), req); !errors.Is(err, errKilled) {
		t.Fatalf("the process to be killed: %v", err)
	}
	return store
}

// TestOpenCallsOfAResumedSession kills a process right after an answer with one call and lets the next one find it.
func TestOpenCallsOfAResumedSession(t *testing.T) {
	tests := []struct {
		name   string
		stop   string
		call   transcript.Block
		tools  []string // of the second process
		told   string
		denied bool
	}{
		{"can be run again", agent.StopToolUse, call("t1", "look", `{"n":1}`), []string{"look"}, "seen", false},
		{"has effects", agent.StopToolUse, call("t1", "write", `{"n": 1}`), []string{"look", "write"}, "written", false},
		{"has effects and began", agent.StopToolUse, call("t1", "write", `{"n":1}`), []string{"look", "write"}, "outcome of this call is unknown", false},
		{"of a tool that is gone", agent.StopToolUse, call("t1", "write", `{"n":1}`), []string{"look"}, "Not run", false},
		{"of a tool that is gone and began", agent.StopToolUse, call("t1", "write", `{"n":1}`), []string{"look"}, "outcome of this call is unknown", false},
		{"of a tool that never was", agent.StopToolUse, call("t1", "Nothing", `{"n":1}`), []string{"look"}, "no tool", true},
		{"could not be read", agent.StopToolUse, call("t1", "look", `{"n":1`), []string{"look"}, `not a JSON object. You sent: {"n":1`, false},
		{"of a cut answer", agent.StopMaxTokens, call("t1", "look", `{"n":1}`), []string{"look"}, "not complete", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := &script{}
			m.reply = func(req *agent.ModelRequest) (*agent.Response, error) {
				if len(req.Messages) == 1 {
					return answer(tt.stop, tt.call), nil
				}
				return text("done"), nil
			}
			tools := box{"look": tool("look", true, say("seen")), "write": tool("write", false, say("written"))}
			req := agent.Request{Key: key, Spec: agent.Spec{Tools: []string{"look", "write"}}, Prompt: "go", PromptID: "p"}
			commits := 2 // the prompt and the answer
			if strings.Contains(tt.name, "began") {
				commits++
			}
			store := killedAfter(t, commits, m, tools, req)
			req.Spec.Tools = tt.tools
			if _, result, err := run(t, newEngine(t, m, store, tools), req); err != nil || result.Text != "done" {
				t.Fatalf("%q, %v", result.Text, err)
			}
			got := lastUser(&m.sent[len(m.sent)-1]).Content[0]
			if got.ToolUseID != "t1" || !strings.Contains(got.PlainText(), tt.told) {
				t.Errorf("told: %s, want %q", mustJSON(got), tt.told)
			}
			if denied := stored(t, store, key)[2].ToolDenialKind != ""; denied != tt.denied {
				t.Errorf("denied = %v", denied)
			}
		})
	}
}

// TestStoredToolsAreOffered resumes a session with another list of tools: what is sent stays, what is gone is refused,
// what is new is not offered.
func TestStoredToolsAreOffered(t *testing.T) {
	tools := box{"old": tool("old", true, say("x")), "new": tool("new", true, say("y"))}
	m := &script{}
	m.reply = func(req *agent.ModelRequest) (*agent.Response, error) {
		if len(req.Messages) == 3 {
			return calls(call("t1", "old", `{}`)), nil
		}
		return text("done"), nil
	}
	store := flower.NewMemoryStore("/w")
	for i, names := range [][]string{{"old"}, {"new"}} {
		req := agent.Request{Key: key, Spec: agent.Spec{Tools: names}, Prompt: fmt.Sprint(i)}
		if _, _, err := run(t, newEngine(t, m, store, tools), req); err != nil {
			t.Fatal(err)
		}
	}
	for i, req := range m.sent {
		if len(req.Tools) != 1 || req.Tools[0].Name != "old" {
			t.Errorf("request %d offers %s", i, mustJSON(req.Tools))
		}
	}
	if got := lastUser(&m.sent[2]).Content[0]; !got.IsError || !strings.Contains(got.PlainText(), "no tool") {
		t.Errorf("told of a tool that is gone: %s", mustJSON(got))
	}
}

func TestCrashOfAToolIsAResult(t *testing.T) {
	tools := box{
		"boom": tool("boom", false, func(context.Context, agent.Call) (agent.ToolResult, error) { panic("SECRET-MARK") }),
		"look": tool("look", true, say("seen")),
	}
	m := &script{}
	m.reply = func(req *agent.ModelRequest) (*agent.Response, error) {
		if len(req.Messages) == 1 {
			return calls(call("t1", "boom", `{}`), call("t2", "look", `{}`)), nil
		}
		return text("done"), nil
	}
	events, _, err := run(t, newEngine(t, m, flower.NewMemoryStore("/w"), tools),
		agent.Request{Key: key, Spec: agent.Spec{Tools: []string{"boom", "look"}}, Prompt: "go"})
	if err != nil {
		t.Fatal(err)
	}
	got := lastUser(&m.sent[1]).Content
	if !got[0].IsError || !strings.Contains(got[0].PlainText(), "crashed") || got[1].PlainText() != "seen" {
		t.Errorf("told: %s", mustJSON(got))
	}
	shown := false
	for _, ev := range events {
		if f, ok := ev.(agent.ToolFinished); ok && strings.Contains(f.Result.Display, "SECRET-MARK") {
			shown = true
		}
	}
	if !shown || strings.Contains(mustJSON(got), "SECRET-MARK") {
		t.Errorf("what a tool crashed with is for people, not for the model")
	}
}

func TestToolThatEndsItsGoroutineEndsTheRun(t *testing.T) {
	tools := box{"exit": tool("exit", false, func(context.Context, agent.Call) (agent.ToolResult, error) {
		runtime.Goexit()
		return agent.ToolResult{}, nil
	})}
	m := &script{reply: func(*agent.ModelRequest) (*agent.Response, error) { return calls(call("t1", "exit", `{}`)), nil }}
	_, _, err := run(t, newEngine(t, m, flower.NewMemoryStore("/w"), tools), agent.Request{Key: key, Spec: agent.Spec{Tools: []string{"exit"}}, Prompt: "go"})
	if err == nil || len(m.sent) != 1 {
		t.Errorf("%d requests, error %v", len(m.sent), err)
	}
}

// TestPanicInTheLoopStopsTheRun: the check for leaked goroutines at the end of all tests is part of it.
func TestPanicInTheLoopStopsTheRun(t *testing.T) {
	m := &script{reply: func(*agent.ModelRequest) (*agent.Response, error) { return text("done"), nil }}
	e := newEngine(t, m, flower.NewMemoryStore("/w"), nil)
	defer func() {
		if p := recover(); p != "in the loop" {
			t.Errorf("the panic was lost: %v", p)
		}
	}()
	for _, err := range e.Run(t.Context(), agent.Request{Key: key, Prompt: "go"}) {
		if err != nil {
			t.Fatal(err)
		}
		panic("in the loop")
	}
}

// TestWhatIsNotWrittenDownIsReported: a disk that fails while a run is stopped must not pass for a clean stop.
func TestWhatIsNotWrittenDownIsReported(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	tools := box{"write": tool("write", false, func(context.Context, agent.Call) (agent.ToolResult, error) {
		cancel()
		return agent.TextResult("written"), nil
	})}
	m := &script{reply: func(*agent.ModelRequest) (*agent.Response, error) { return calls(call("t1", "write", `{}`)), nil }}
	e := newEngine(t, m, &dying{Store: flower.NewMemoryStore("/w"), left: 2}, tools)
	_, _, err := runContext(ctx, e, agent.Request{Key: key, Spec: agent.Spec{Tools: []string{"write"}}, Prompt: "go"})
	if !errors.Is(err, errKilled) {
		t.Errorf("error = %v", err)
	}
}

func TestPauseWithoutAWordDoesNotLoop(t *testing.T) {
	m := &script{reply: func(*agent.ModelRequest) (*agent.Response, error) { return answer(agent.StopPauseTurn), nil }}
	_, _, err := run(t, newEngine(t, m, flower.NewMemoryStore("/w"), nil), agent.Request{Key: key, Prompt: "go"})
	if err == nil || len(m.sent) != 4 {
		t.Errorf("%d requests, error %v", len(m.sent), err)
	}
}

// TestCallIDsAreUniqueInASession: endpoints that count calls from 0 in every answer must not make one subagent out of two.
func TestCallIDsAreUniqueInASession(t *testing.T) {
	worker := agent.Spec{Name: "worker", Instructions: "worker"}
	lead := agent.Spec{Name: "lead", Instructions: "lead", Tools: []string{"Agent"}, Subagents: []agent.Spec{worker}}
	m := &script{}
	var written atomic.Int64
	m.reply = func(req *agent.ModelRequest) (*agent.Response, error) {
		switch {
		case req.System == "worker":
			return text(fmt.Sprintf("report %d", written.Add(1))), nil
		case len(req.Messages) < 5:
			return calls(call("call_0", "Agent", `{}`), call("call_0", "Agent", `{}`)), nil
		}
		return text("done"), nil
	}
	if _, _, err := run(t, newEngine(t, m, flower.NewMemoryStore("/w"), box{"Agent": delegate}), agent.Request{Key: key, Spec: lead, Prompt: "go"}); err != nil {
		t.Fatal(err)
	}
	reports := map[string]bool{}
	for _, msg := range m.sent[len(m.sent)-1].Messages {
		for _, b := range msg.Content {
			if b.Type == transcript.TypeToolResult {
				reports[b.PlainText()] = true
			}
		}
	}
	if len(reports) != 4 {
		t.Errorf("four subagents reported %v", reports)
	}
}

// TestBudgetOfEverybodyStopsInsideASubagent: the limit of the whole run is no failure of the subagent.
func TestBudgetOfEverybodyStopsInsideASubagent(t *testing.T) {
	worker := agent.Spec{Name: "worker", Instructions: "worker", Tools: []string{"look"}}
	lead := agent.Spec{Name: "lead", Instructions: "lead", Tools: []string{"Agent"}, Subagents: []agent.Spec{worker}}
	m := &script{}
	m.reply = func(req *agent.ModelRequest) (*agent.Response, error) {
		switch {
		case req.System == "worker" && len(req.Messages) < 8:
			return calls(call(fmt.Sprintf("w%d", len(req.Messages)), "look", `{}`)), nil
		case req.System == "worker":
			return text("report"), nil
		case len(req.Messages) == 1:
			return calls(call("a1", "Agent", `{}`), call("a2", "Agent", `{}`), call("a3", "Agent", `{}`)), nil
		}
		return text("done"), nil
	}
	store := flower.NewMemoryStore("/w")
	e := newEngine(t, m, store, box{"look": tool("look", true, say("x")), "Agent": delegate})
	req := agent.Request{Key: key, Spec: lead, Prompt: "go", PromptID: "p", Meter: agent.NewMeter(1)}
	_, result, err := run(t, e, req)
	var limit *agent.LimitError
	if !errors.As(err, &limit) || limit.CostUSD != 1 {
		t.Fatalf("error = %v", err)
	}
	_, spent, _ := req.Meter.Spent()
	if spent < 1 || spent != result.CostUSD || spent != 0.25*float64(len(m.sent)) {
		t.Errorf("spent %v, result says %v, %d answers", spent, result.CostUSD, len(m.sent))
	}
	req.Meter = agent.NewMeter(0)
	if _, result, err = run(t, e, req); err != nil || result.Text != "done" {
		t.Fatalf("with more money: %q, %v", result.Text, err)
	}
	for _, b := range lastUser(&m.sent[len(m.sent)-1]).Content {
		if b.PlainText() != "report" {
			t.Errorf("told: %s", mustJSON(b))
		}
	}
}

// TestForeignSession continues a session that another program has written: one line for each block, results that hang
// on their own calls, no stored prefix.
func TestForeignSession(t *testing.T) {
	store := flower.NewMemoryStore("/w")
	parent := map[string]string{"2": "1", "3": "2", "4": "3", "5": "3"}
	for i, message := range []string{
		`{"role":"user","content":"do it"}`,
		`{"role":"assistant","id":"msg_x","model":"m","content":[{"type":"text","text":"well"}],"usage":{"input_tokens":3,"output_tokens":1}}`,
		`{"role":"assistant","id":"msg_x","model":"m","content":[{"type":"tool_use","id":"t1","name":"look","input":{}}],"usage":{"input_tokens":3,"output_tokens":1}}`,
		`{"role":"assistant","id":"msg_x","model":"m","content":[{"type":"tool_use","id":"t2","name":"look","input":{}}],"stop_reason":"tool_use","usage":{"input_tokens":3,"output_tokens":9}}`,
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"one"}]}`,
	} {
		id := fmt.Sprint(i + 1)
		var m transcript.Message
		if err := json.Unmarshal([]byte(message), &m); err != nil {
			t.Fatal(err)
		}
		e := transcript.NewEntry(transcript.Stamp{SessionID: key.Session}, id, parent[id], time.Unix(0, 0), m)
		if err := store.Append(t.Context(), key, e); err != nil {
			t.Fatal(err)
		}
	}
	m := &script{reply: func(*agent.ModelRequest) (*agent.Response, error) { return text("done"), nil }}
	e := newEngine(t, m, store, box{"look": tool("look", true, say("two"))})
	for _, prompt := range []string{"", "again"} {
		req := agent.Request{Key: key, Spec: agent.Spec{Instructions: "sys", Tools: []string{"look"}}, Prompt: prompt}
		if _, result, err := run(t, e, req); err != nil || !result.Resumed || result.Text != "done" {
			t.Fatalf("%+v, %v", result, err)
		}
	}
	first, second := flat(m.sent[0].Messages), flat(m.sent[1].Messages)
	if len(m.sent[0].Messages) != 3 || len(first) != 6 || !strings.Contains(first[5], "two") {
		t.Errorf("sent: %s", mustJSON(m.sent[0].Messages))
	}
	if i, ok := beginsWith(second, first); !ok {
		t.Errorf("block %d of the second request differs: %s", i, mustJSON(m.sent[1].Messages))
	}
}

// TestReady is called once, with the prompt in the store and nothing sent, and not for a session that has nothing to send.
func TestReady(t *testing.T) {
	store := flower.NewMemoryStore("/w")
	m := &script{reply: func(*agent.ModelRequest) (*agent.Response, error) { return text("done"), nil }}
	e := newEngine(t, m, store, nil)
	called := 0
	req := agent.Request{Key: key, Prompt: "go", PromptID: "p", Ready: func() {
		called++
		if len(stored(t, store, key)) != 1 || len(m.sent) != 0 {
			t.Errorf("%d entries stored and %d requests sent", len(stored(t, store, key)), len(m.sent))
		}
	}}
	for range 2 {
		if _, _, err := run(t, e, req); err != nil {
			t.Fatal(err)
		}
	}
	if called != 1 {
		t.Errorf("called %d times", called)
	}
}

// TestCallsAtOnceAreBounded: no more calls of one answer run at once than the engine was told.
func TestCallsAtOnceAreBounded(t *testing.T) {
	const bound, all = 3, 10
	var mu sync.Mutex
	running, most := 0, 0
	full := make(chan struct{})
	m := &script{}
	m.reply = func(req *agent.ModelRequest) (*agent.Response, error) {
		if len(req.Messages) > 1 {
			return text("done"), nil
		}
		var blocks []transcript.Block
		for i := range all {
			blocks = append(blocks, call(fmt.Sprintf("t%d", i), "look", `{}`))
		}
		return calls(blocks...), nil
	}
	tools := box{"look": tool("look", true, func(context.Context, agent.Call) (agent.ToolResult, error) {
		mu.Lock()
		running++
		most = max(most, running)
		if running == bound {
			select {
			case <-full:
			default:
				close(full)
			}
		}
		mu.Unlock()
		<-full // nobody ends before as many run as may
		mu.Lock()
		running--
		mu.Unlock()
		return agent.TextResult("seen"), nil
	})}
	e, err := agent.New(agent.Options{Model: m, Log: flower.NewMemoryStore("/w"), Toolbox: tools, ModelName: "m", Parallel: bound})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := run(t, e, agent.Request{Key: key, Spec: agent.Spec{Tools: []string{"look"}}, Prompt: "go"}); err != nil {
		t.Fatal(err)
	}
	if most != bound {
		t.Errorf("%d calls ran at once, want %d", most, bound)
	}
}

// receipts is an Inbox that says when it was emptied.
type receipts struct {
	notes
	delivered func()
}

func (r *receipts) Delivered(ctx context.Context, done []agent.Note) error {
	r.delivered()
	return r.notes.Delivered(ctx, done)
}

// TestRemarkStaysUntilTheSessionIsNamed: a remark leaves the inbox only for a session that Ready has named, also when nothing
// can be sent any more.
func TestRemarkStaysUntilTheSessionIsNamed(t *testing.T) {
	m := &script{reply: func(*agent.ModelRequest) (*agent.Response, error) { return text("done"), nil }}
	spent := agent.NewMeter(1)
	spent.Add(transcript.Usage{}, 2, false)
	named := false
	in := &receipts{notes: notes{waiting: []agent.Note{{ID: "n1", Text: "in green"}}}, delivered: func() {
		if !named {
			t.Error("the remark left the inbox for a session without a name")
		}
	}}
	req := agent.Request{Key: key, Meter: spent, Inbox: in, Ready: func() { named = true }}
	_, _, err := run(t, newEngine(t, m, flower.NewMemoryStore("/w"), nil), req)
	var limit *agent.LimitError
	if !errors.As(err, &limit) || len(m.sent) != 0 {
		t.Fatalf("%d requests, %v", len(m.sent), err)
	}
	if len(in.waiting) != 0 {
		t.Errorf("%d remarks wait", len(in.waiting))
	}
}
