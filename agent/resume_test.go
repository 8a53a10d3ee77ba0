package agent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"flower"
	"flower/agent"
	"flower/transcript"
)

// dying is a log that fails from the nth write on, as if the process had been killed there.
type dying struct {
	flower.Store
	mu      sync.Mutex
	left    int
	entries int
	begun   []string
}

var errKilled = errors.New("killed")

func (d *dying) Append(ctx context.Context, k agent.Key, entries ...transcript.Entry) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.left == 0 {
		return errKilled
	}
	d.left--
	d.entries += len(entries)
	return d.Store.Append(ctx, k, entries...)
}

func (d *dying) Begin(ctx context.Context, k agent.Key, callID string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.left == 0 {
		return errKilled
	}
	d.left--
	d.begun = append(d.begun, callID)
	return d.Store.Begin(ctx, k, callID)
}

// TestResumeAfterEveryCommit stops a run after each of its commits and runs it again: the history stays valid, effects
// are done once or reported as unknown, and what can be run again, or has not begun, is.
func TestResumeAfterEveryCommit(t *testing.T) {
	const all = 10 // prompt, answer, two beginnings, three results, answer, result, answer
	for at := 0; at < all; at++ {
		t.Run(fmt.Sprintf("after %d", at), func(t *testing.T) {
			var mu sync.Mutex
			effects := map[string]int{}
			tools := box{
				"write": tool("write", false, func(_ context.Context, c agent.Call) (agent.ToolResult, error) {
					mu.Lock()
					defer mu.Unlock()
					effects[c.ID]++
					return agent.TextResult("written"), nil
				}),
				"look": tool("look", true, say("seen")),
			}
			m := &script{}
			m.reply = func(req *agent.ModelRequest) (*agent.Response, error) {
				history := mustJSON(req.Messages)
				switch {
				case !strings.Contains(history, `"t1"`):
					return calls(call("t1", "write", `{}`), call("t2", "look", `{}`), call("t3", "write", `{}`)), nil
				case !strings.Contains(history, `"t4"`):
					return calls(call("t4", "look", `{}`)), nil
				}
				return text("done"), nil
			}
			store := flower.NewMemoryStore("/w")
			spec := agent.Spec{Tools: []string{"write", "look"}}
			req := agent.Request{Key: key, Spec: spec, Prompt: "go", PromptID: "11111111-1111-4111-8111-111111111111"}
			first := &dying{Store: store, left: at}
			_, _, err := run(t, newEngine(t, m, first, tools), req)
			if !errors.Is(err, errKilled) {
				t.Fatalf("first run: %v", err)
			}
			before := stored(t, store, key)
			if len(before) != first.entries || len(before)+len(first.begun) != at {
				t.Fatalf("%d entries survived and %q began, of %d commits", len(before), first.begun, at)
			}
			survived := "" // the ids of the calls that have a result
			for _, e := range before {
				for _, b := range e.Message.Content {
					survived += b.ToolUseID + " "
				}
			}
			_, result, err := run(t, newEngine(t, m, store, tools), req)
			if err != nil || result.Text != "done" {
				t.Fatalf("second run: %q, %v", result.Text, err)
			}
			if result.Resumed != (at > 0) {
				t.Errorf("Resumed = %v after %d entries", result.Resumed, at)
			}
			last := lastUserTexts(m)
			prompts := strings.Count(last, `"text":"go"`)
			if prompts != 1 {
				t.Errorf("the prompt is there %d times", prompts)
			}
			unknown := strings.Count(last, "outcome of this call is unknown")
			unanswered := 0 // of the writes that began
			for _, id := range []string{"t1", "t3"} {
				if effects[id] != 1 {
					t.Errorf("effect %s done %d times", id, effects[id])
				}
				if slices.Contains(first.begun, id) && !strings.Contains(survived, id) {
					unanswered++
				}
			}
			if unknown != unanswered {
				t.Errorf("%d outcomes said to be unknown, want %d", unknown, unanswered)
			}
		})
	}
}

func lastUserTexts(m *script) string { return mustJSON(m.sent[len(m.sent)-1].Messages) }

func TestFinishedSessionAnswersWithoutARequest(t *testing.T) {
	m := &script{reply: func(*agent.ModelRequest) (*agent.Response, error) { return text("once"), nil }}
	e := newEngine(t, m, flower.NewMemoryStore("/w"), nil)
	req := agent.Request{Key: key, Prompt: "go", PromptID: "p1"}
	for range 2 {
		_, result, err := run(t, e, req)
		if err != nil || result.Text != "once" {
			t.Fatalf("%q, %v", result.Text, err)
		}
	}
	if len(m.sent) != 1 {
		t.Errorf("%d requests for one prompt", len(m.sent))
	}
}

// TestInterruptKeepsWhatIsDone cancels a run while two tools run: the one with effects is answered, the one that may be
// run again stays open and is run again by the next run, unless that one abandons it.
func TestInterruptKeepsWhatIsDone(t *testing.T) {
	for _, abandon := range []bool{false, true} {
		t.Run(fmt.Sprintf("abandon %v", abandon), func(t *testing.T) {
			started := make(chan struct{}, 3)
			cut := func(ctx context.Context, partial string) (agent.ToolResult, error) {
				started <- struct{}{}
				<-ctx.Done()
				if partial == "" {
					return agent.ToolResult{}, ctx.Err()
				}
				return agent.ErrorResult(partial), nil
			}
			first := true
			tools := box{
				"write": tool("write", false, func(ctx context.Context, _ agent.Call) (agent.ToolResult, error) {
					return cut(ctx, "half of it")
				}),
				"look": tool("look", true, func(ctx context.Context, _ agent.Call) (agent.ToolResult, error) {
					if first {
						return cut(ctx, "")
					}
					return agent.TextResult("seen at last"), nil
				}),
			}
			m := &script{}
			m.reply = func(req *agent.ModelRequest) (*agent.Response, error) {
				if len(req.Messages) == 1 {
					return calls(call("t1", "look", `{}`), call("t2", "write", `{}`)), nil
				}
				return text("done"), nil
			}
			store := flower.NewMemoryStore("/w")
			e := newEngine(t, m, store, tools)
			spec := agent.Spec{Tools: []string{"write", "look"}}
			ctx, cancel := context.WithCancelCause(t.Context())
			stop := errors.New("the person said stop")
			go func() { <-started; <-started; cancel(stop) }()
			_, _, err := runContext(ctx, e, agent.Request{Key: key, Spec: spec, Prompt: "go"})
			if !errors.Is(err, stop) {
				t.Fatalf("error = %v, want the cause", err)
			}
			first = false
			if _, _, err := run(t, e, agent.Request{Key: key, Spec: spec, Prompt: "and now", Abandon: abandon}); err != nil {
				t.Fatal(err)
			}
			got := lastUser(&m.sent[len(m.sent)-1]).Content
			if len(got) != 3 || got[0].ToolUseID != "t1" || got[1].ToolUseID != "t2" || got[2].Text != "and now" {
				t.Fatalf("told after the interrupt: %s", mustJSON(got))
			}
			want := "seen at last"
			if abandon {
				want = "Interrupted by the person"
			}
			if !strings.Contains(got[0].PlainText(), want) || got[1].PlainText() != "half of it" {
				t.Errorf("told: %s", mustJSON(got))
			}
		})
	}
}

// TestBoundary interrupts a run: a tool is stopped at once and keeps what it has, an answer on its way is finished and
// stored with its calls not run, and nothing more is sent.
func TestBoundary(t *testing.T) {
	stop := errors.New("a word, please")
	for _, test := range []struct {
		name    string
		answer  *agent.Response // that is on its way; nil: a tool runs
		results string          // of the calls, as stored
		err     error
	}{
		{"tool", nil, "half of it", stop},
		{"calls", calls(call("t2", "write", `{}`), call("t3", "look", `{}`)), "Not run", stop},
		{"last answer", text("that was all"), "", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			boundary, interrupt := context.WithCancelCause(t.Context())
			ran := 0
			write := tool("write", false, func(ctx context.Context, _ agent.Call) (agent.ToolResult, error) {
				ran++
				interrupt(stop)
				<-ctx.Done()
				return agent.ErrorResult("half of it"), nil
			})
			look := tool("look", true, func(context.Context, agent.Call) (agent.ToolResult, error) {
				ran++
				return agent.TextResult("seen"), nil
			})
			m := &script{reply: func(*agent.ModelRequest) (*agent.Response, error) {
				if test.answer == nil {
					return calls(call("t1", "write", `{}`)), nil
				}
				interrupt(stop)
				return test.answer, nil
			}}
			store := flower.NewMemoryStore("/w")
			e := newEngine(t, m, store, box{"write": write, "look": look})
			spec := agent.Spec{Tools: []string{"write", "look"}}
			_, _, err := run(t, e, agent.Request{Key: key, Spec: spec, Prompt: "go", Boundary: boundary})
			if !errors.Is(err, test.err) || len(m.sent) != 1 {
				t.Errorf("%d requests, %v", len(m.sent), err)
			}
			entries := stored(t, store, key)
			if last := mustJSON(entries[len(entries)-1].Message); !strings.Contains(last, test.results) || len(entries) < 2 {
				t.Errorf("stored last: %s", last)
			}
			if want := map[string]int{"tool": 1}[test.name]; ran != want {
				t.Errorf("%d tools ran", ran)
			}
		})
	}
}

// TestBoundaryWhileAnAnswerIsAskedForAgain: there is no answer on its way, and none is asked for.
func TestBoundaryWhileAnAnswerIsAskedForAgain(t *testing.T) {
	stop := errors.New("a word, please")
	for name, late := range map[string]bool{"before it fails": false, "in the pause": true} {
		t.Run(name, func(t *testing.T) {
			boundary, interrupt := context.WithCancelCause(t.Context())
			m := &script{reply: func(*agent.ModelRequest) (*agent.Response, error) {
				if !late {
					interrupt(stop)
				}
				return nil, &agent.ModelError{Kind: agent.Transient}
			}}
			pause := func(ctx context.Context, _ time.Duration) error {
				if late {
					interrupt(stop)
				}
				<-ctx.Done()
				return context.Cause(ctx)
			}
			e := newEngine(t, agent.WithRetry(m, agent.Retry{Sleep: pause}), flower.NewMemoryStore("/w"), nil)
			if _, _, err := run(t, e, agent.Request{Key: key, Prompt: "go", Boundary: boundary}); !errors.Is(err, stop) || len(m.sent) != 1 {
				t.Errorf("%d requests, %v", len(m.sent), err)
			}
		})
	}
}

func TestBreakingTheLoopStopsEverything(t *testing.T) {
	stopped := make(chan struct{})
	tools := box{"wait": tool("wait", true, func(ctx context.Context, _ agent.Call) (agent.ToolResult, error) {
		<-ctx.Done()
		close(stopped)
		return agent.ToolResult{}, ctx.Err()
	})}
	m := &script{reply: func(*agent.ModelRequest) (*agent.Response, error) { return calls(call("t1", "wait", `{}`)), nil }}
	e := newEngine(t, m, flower.NewMemoryStore("/w"), tools)
	for ev, err := range e.Run(t.Context(), agent.Request{Key: key, Spec: agent.Spec{Tools: []string{"wait"}}, Prompt: "go"}) {
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := ev.(agent.ToolStarted); ok {
			break
		}
	}
	select {
	case <-stopped:
	default:
		t.Error("Run returned to its caller before the tool had stopped")
	}
}

// delegate is the Agent tool in its simplest form.
func delegate(env agent.Env) agent.Tool {
	t := tool("Agent", true, func(ctx context.Context, c agent.Call) (agent.ToolResult, error) {
		return env.Spawn(ctx, agent.Spawn{CallID: c.ID, Prompt: "part " + c.ID})
	})(env)
	return t
}

// TestSubagentsGoOnFromTheirOwnTranscript kills a run at every commit while two subagents work side by side.
func TestSubagentsGoOnFromTheirOwnTranscript(t *testing.T) {
	worker := agent.Spec{Name: "worker", Instructions: "worker", Tools: []string{"look"}}
	lead := agent.Spec{Name: "lead", Instructions: "lead", Tools: []string{"Agent"}, Subagents: []agent.Spec{worker}}
	const all = 13 // of the lead: prompt, answer, 2 results, answer; of each worker: prompt, answer, result, answer
	for at := 0; at < all; at++ {
		t.Run(fmt.Sprintf("after %d", at), func(t *testing.T) {
			m := &script{}
			m.reply = func(req *agent.ModelRequest) (*agent.Response, error) {
				switch {
				case req.System == "lead" && len(req.Messages) == 1:
					return calls(call("a1", "Agent", `{}`), call("a2", "Agent", `{}`)), nil
				case req.System == "lead":
					return text("all done"), nil
				case len(req.Messages) == 1:
					return calls(call("w1", "look", `{}`)), nil
				}
				return text("report on " + req.Messages[0].PlainText()), nil
			}
			store := flower.NewMemoryStore("/w")
			tools := box{"look": tool("look", true, say("seen")), "Agent": delegate}
			req := agent.Request{Key: key, Spec: lead, Prompt: "go", PromptID: "p"}
			if _, _, err := run(t, newEngine(t, m, &dying{Store: store, left: at}, tools), req); !errors.Is(err, errKilled) {
				t.Fatalf("first run: %v", err)
			}
			_, result, err := run(t, newEngine(t, m, store, tools), req)
			if err != nil || result.Text != "all done" {
				t.Fatalf("second run: %q, %v", result.Text, err)
			}
			got := lastUser(&m.sent[len(m.sent)-1]).Content
			if len(got) != 2 || got[0].PlainText() != "report on part a1" || got[1].PlainText() != "report on part a2" {
				t.Errorf("reports: %s", mustJSON(got))
			}
			if n := len(stored(t, store, key)); n != 5 {
				t.Errorf("the lead has %d entries, want 5", n)
			}
			total := 0
			for _, ev := range workers(t, store) {
				total++
				if len(ev) != 4 || !ev[0].IsSidechain || ev[0].AgentID == "" {
					t.Errorf("a worker's transcript: %s", mustJSON(ev))
				}
			}
			if total != 2 {
				t.Errorf("%d workers' transcripts", total)
			}
		})
	}
}

// workers returns the transcripts of the subagents of calls a1 and a2.
func workers(t *testing.T, store flower.Store) [][]transcript.Entry {
	t.Helper()
	var all [][]transcript.Entry
	for _, id := range []string{"a1", "a2"} {
		if e := stored(t, store, key.Sub(agent.SubagentID(key, id))); len(e) > 0 {
			all = append(all, e)
		}
	}
	return all
}

func TestSubagentsCostAndLimitsCountUpward(t *testing.T) {
	worker := agent.Spec{Name: "worker", Instructions: "worker", Tools: []string{"look"}, Limits: agent.Limits{Turns: 2}}
	lead := agent.Spec{Name: "lead", Instructions: "lead", Tools: []string{"Agent"}, Subagents: []agent.Spec{worker}}
	m := &script{}
	n := 0
	m.reply = func(req *agent.ModelRequest) (*agent.Response, error) {
		switch {
		case req.System == "worker":
			n++
			return calls(call(fmt.Sprintf("w%d", n), "look", `{}`)), nil
		case len(req.Messages) == 1:
			return calls(call("a1", "Agent", `{}`)), nil
		}
		return text("done"), nil
	}
	events, result, err := run(t, newEngine(t, m, flower.NewMemoryStore("/w"), box{"look": tool("look", true, say("x")), "Agent": delegate}),
		agent.Request{Key: key, Spec: lead, Prompt: "go"})
	if err != nil {
		t.Fatal(err)
	}
	if result.CostUSD != 1 || result.Turns != 2 || result.Usage.Output != 40 {
		t.Errorf("result = %+v, want 2 turns and the cost of 4 answers", result)
	}
	told := lastUser(&m.sent[len(m.sent)-1]).Content[0]
	if !told.IsError || !strings.Contains(told.PlainText(), "2 turns") {
		t.Errorf("told of a stopped worker: %s", mustJSON(told))
	}
	finished := 0
	for _, ev := range events {
		if f, ok := ev.(agent.Finished); ok && f.Path != "" {
			finished++
			if f.Err == nil || f.Result.Turns != 2 {
				t.Errorf("the worker's end: %+v", f)
			}
		}
	}
	if finished != 1 {
		t.Errorf("%d workers finished", finished)
	}
}

// notes is an Inbox in memory.
type notes struct {
	waiting []agent.Note
}

func (n *notes) Take(context.Context) ([]agent.Note, error) { return n.waiting, nil }
func (n *notes) Delivered(_ context.Context, done []agent.Note) error {
	n.waiting = n.waiting[len(done):]
	return nil
}

func TestRemarksAreDeliveredOnceAndInOrder(t *testing.T) {
	in := &notes{}
	m := &script{}
	m.reply = func(req *agent.ModelRequest) (*agent.Response, error) {
		switch len(req.Messages) {
		case 1: // said while the model thinks: delivered behind the results of its calls
			in.waiting = append(in.waiting, agent.Note{ID: "n1", Text: "first"}, agent.Note{ID: "n2", Text: "second"})
			return calls(call("t1", "look", `{}`)), nil
		case 3: // said while the model gives its last answer: the run goes on
			in.waiting = append(in.waiting, agent.Note{ID: "n3", Text: "third"})
			return text("done?"), nil
		}
		return text("done"), nil
	}
	store := flower.NewMemoryStore("/w")
	e := newEngine(t, m, store, box{"look": tool("look", true, say("x"))})
	req := agent.Request{Key: key, Spec: agent.Spec{Tools: []string{"look"}}, Prompt: "go", PromptID: "p", Inbox: in}
	if _, result, err := run(t, e, req); err != nil || result.Text != "done" {
		t.Fatalf("%q, %v", result.Text, err)
	}
	second := m.sent[1].Messages[2].Content
	if len(second) != 3 || second[1].Text != "first" || second[2].Text != "second" {
		t.Errorf("behind the result: %s", mustJSON(second))
	}
	if got := lastUser(&m.sent[2]).PlainText(); got != "third" {
		t.Errorf("after the last answer: %q", got)
	}
	// A crash between the commit and the receipt hands the same remark over again: it is not said twice.
	in.waiting = []agent.Note{{ID: "n3", Text: "third"}}
	before := len(stored(t, store, key))
	if _, _, err := run(t, e, req); err != nil {
		t.Fatal(err)
	}
	if after := len(stored(t, store, key)); after != before || len(in.waiting) != 0 {
		t.Errorf("%d entries became %d, %d remarks wait", before, after, len(in.waiting))
	}
}

// foreign hides the journal, as it is of calls that another program has written.
type foreign struct{ flower.Store }

func (foreign) OpenCalls(context.Context, agent.Key) (map[string]agent.OpenCall, error) {
	return nil, nil
}

// TestOpenCallsOfAnEarlierProcess resumes a session whose last answer calls a tool with effects: it is run only if the
// journal knows this very call and says that it did not begin.
func TestOpenCallsOfAnEarlierProcess(t *testing.T) {
	for _, test := range []struct {
		name    string
		prepare func(t *testing.T, s flower.Store) flower.Store
		input   string // of the call in the journal
		abandon bool
		runs    int
		told    string
	}{
		{"not begun", nil, `{"n": 1}`, false, 1, "written"},
		{"begun", func(t *testing.T, s flower.Store) flower.Store {
			for range 2 {
				if err := s.Begin(t.Context(), key, "t1"); err != nil {
					t.Fatal(err)
				}
			}
			return s
		}, `{"n": 1}`, false, 0, "outcome of this call is unknown"},
		{"of another program", func(_ *testing.T, s flower.Store) flower.Store { return foreign{s} }, `{"n": 1}`, false, 0, "outcome of this call is unknown"},
		{"interrupted", nil, `{"n": 1}`, true, 0, "Interrupted by the person"},
	} {
		t.Run(test.name, func(t *testing.T) {
			store := flower.NewMemoryStore("/w")
			stamp := transcript.Stamp{SessionID: key.Session, CWD: "/w", Version: "1"}
			if err := store.SetPrefix(t.Context(), key, agent.Prefix{Tools: []agent.ToolSpec{{Name: "write"}}}); err != nil {
				t.Fatal(err)
			}
			prompt := transcript.Message{Role: transcript.RoleUser, Content: []transcript.Block{transcript.Text("go")}}
			answer := transcript.Message{
				Role: transcript.RoleAssistant, ID: "msg_1", Model: "m", StopReason: agent.StopToolUse,
				Content: []transcript.Block{call("t1", "write", test.input)},
			}
			now := time.Now()
			if err := store.Append(t.Context(), key, transcript.NewEntry(stamp, "u1", "", now, prompt), transcript.NewEntry(stamp, "u2", "u1", now, answer)); err != nil {
				t.Fatal(err)
			}
			if test.prepare != nil {
				store = test.prepare(t, store)
			}
			runs := 0
			tools := box{"write": tool("write", false, func(context.Context, agent.Call) (agent.ToolResult, error) {
				runs++
				return agent.TextResult("written"), nil
			})}
			m := &script{reply: func(*agent.ModelRequest) (*agent.Response, error) { return text("done"), nil }}
			if _, _, err := run(t, newEngine(t, m, store, tools), agent.Request{Key: key, Spec: agent.Spec{Tools: []string{"write"}}, Abandon: test.abandon}); err != nil {
				t.Fatal(err)
			}
			if last := lastUserTexts(m); runs != test.runs || !strings.Contains(last, test.told) {
				t.Errorf("%d runs, the model was told %s", runs, last)
			}
		})
	}
}
