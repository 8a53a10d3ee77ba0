package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"flower"
	"flower/agent"
	"flower/messages"
	"flower/modeltest"
	"flower/sqlite"
	"flower/transcript"
)

// What stands here runs the engine with the real client against a server that is as strict as the real endpoint.

// process is one process: a server that remembers nothing of earlier ones, an engine, and the store as it is on disk.
type process struct {
	server *modeltest.Server
	engine *agent.Engine
	store  flower.Store
	spills map[string]string
}

type processOptions struct {
	server modeltest.Options
	engine agent.Options // Model, Log and ModelName are filled in
	path   string        // of the store; "" is in memory
	store  flower.Store  // instead of path
	on     *process      // goes on against the server and the store of that one, with its cache
}

// dirty allows the server to be sent thinking that does not hold; everything else fails the test.
func dirty(p modeltest.Problem) bool { return p.Kind == modeltest.KindThinking }

func startProcess(t *testing.T, o processOptions) *process {
	t.Helper()
	p := &process{spills: map[string]string{}, store: o.store}
	if o.on != nil {
		p.server = o.on.server
		if p.store == nil {
			p.store = o.on.store
		}
	}
	switch {
	case p.store != nil:
	case o.path != "":
		s, err := sqlite.Open(t.Context(), o.path, sqlite.Options{Workspace: "/w"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		p.store = s
	default:
		p.store = flower.NewMemoryStore("/w")
	}
	if p.server == nil {
		p.server = modeltest.Start(t, o.server)
	}
	client, err := messages.New(messages.Options{BaseURL: p.server.URL, APIKey: p.server.Key})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	opts := o.engine
	opts.Model, opts.ModelName, opts.CWD = agent.WithRetry(client, agent.Retry{Sleep: func(context.Context, time.Duration) error { return nil }}), "claude-opus-5-5", "/w"
	if opts.Log == nil {
		opts.Log = p.store
	}
	opts.Spill = func(s transcript.Spill) error { p.spills[s.Name] = s.Text; return nil }
	if p.engine, err = agent.New(opts); err != nil {
		t.Fatal(err)
	}
	return p
}

// thinkingProblems is how often thinking was refused.
func (p *process) thinkingProblems() int {
	n := 0
	for _, x := range p.server.Problems() {
		if x.Kind == modeltest.KindThinking {
			n++
		}
	}
	return n
}

func (p *process) sent() modeltest.Record {
	all := p.server.Requests()
	return all[len(all)-1]
}

// blockCount counts the blocks of a request that fit.
func blockCount(r modeltest.Record, fits func(transcript.Block) bool) int {
	n := 0
	for _, m := range r.Messages {
		for _, b := range m.Content {
			if fits(b) {
				n++
			}
		}
	}
	return n
}

// mixed thinks, looks at small things and reads large ones: the prompt "work N" is N calls, after
// "read N" it only reads.
var mixed = modeltest.PlayerFunc(func(r *modeltest.Request) modeltest.Reply {
	todo, reads := 0, false
	for _, m := range r.Messages {
		for _, b := range m.Content {
			var kind string
			if n := 0; b.Type == transcript.TypeText {
				if _, err := fmt.Sscanf(b.Text, "%s %d", &kind, &n); err == nil && (kind == "work" || kind == "read") {
					todo += n
					reads = reads || kind == "read"
				}
			}
		}
	}
	did := len(r.Calls())
	thought := modeltest.Think(fmt.Sprintf("thought %d", did))
	switch {
	case did >= todo:
		return modeltest.Answer(thought, modeltest.Text("done"))
	case did%3 == 0 && !reads:
		return modeltest.Answer(thought, modeltest.Call("Bash", map[string]string{"command": "ls"}))
	}
	return modeltest.Answer(thought, modeltest.Text("reading on"), modeltest.Call("look", map[string]int{"n": did}))
})

// shellTool takes a command, which expiring looks at.
func shellTool(name string, run agent.Handler) func(agent.Env) agent.Tool {
	return func(agent.Env) agent.Tool {
		return agent.Tool{ToolSpec: agent.ToolSpec{Name: name, Description: name, InputSchema: json.RawMessage(
			`{"type":"object","properties":{"command":{"type":"string"}}}`)}, Again: true, Run: run}
	}
}

var mixedTools = box{
	"Bash": shellTool("Bash", say("a.go b.go")),
	"look": tool("look", true, func(_ context.Context, c agent.Call) (agent.ToolResult, error) {
		return agent.TextResult(string(c.Input) + strings.Repeat(" line of a file\n", 200)), nil
	}),
}

var mixedSpec = agent.Spec{Name: "worker", Instructions: strings.Repeat("Work well. ", 50), Tools: []string{"Bash", "look"}, Thinking: true}

// TestThinkingSurvivesResumes is a session with thinking, expired results and trimmed ones, through resumes, a kill,
// another process, a fork, and changes of what is trimmed. The endpoint binds thinking to all that stands before it.
func TestThinkingSurvivesResumes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	now := key
	steps := []struct {
		name    string
		prompt  string
		noTrim  bool
		kill    bool // after two requests
		fork    bool
		expired bool
		trimmed bool
	}{
		{name: "first", prompt: "work 45"},
		{name: "resume", prompt: "work 6", expired: true, trimmed: true},
		{name: "killed", prompt: "work 9", kill: true, expired: true, trimmed: true},
		{name: "after the kill", prompt: "work 1", expired: true, trimmed: true},
		{name: "fork", prompt: "work 3", fork: true, expired: true, trimmed: true},
		{name: "without trimming", prompt: "work 3", noTrim: true, expired: true},
		{name: "with trimming again", prompt: "work 3", expired: true, trimmed: true},
		{name: "nothing new", prompt: "work 0", expired: true, trimmed: true},
		{name: "and again", prompt: "work 0", expired: true, trimmed: true},
	}
	for i, step := range steps {
		p := startProcess(t, processOptions{
			path: path, server: modeltest.Options{BindThinking: true, Player: mixed, Allow: dirty},
			engine: agent.Options{Toolbox: mixedTools, Trim: !step.noTrim},
		})
		if step.fork {
			forked := now
			forked.Session = "5a11ce00-0000-4000-8000-00000000000f"
			if err := p.store.Fork(t.Context(), now, forked); err != nil {
				t.Fatal(err)
			}
			now = forked
		}
		ctx, cancel := context.WithCancel(t.Context())
		turns := 0
		var report transcript.Report
		for ev, err := range p.engine.Run(ctx, agent.Request{Key: now, Spec: mixedSpec, Prompt: step.prompt}) {
			switch ev := ev.(type) {
			case agent.Started:
				report = ev.Report
			case agent.Answered:
				if turns++; step.kill && turns == 2 {
					cancel()
				}
			}
			if err != nil && !step.kill {
				t.Fatalf("%s: %v", step.name, err)
			}
		}
		cancel()
		if (report.Expired > 0) != step.expired || (report.Trimmed > 0) != step.trimmed {
			t.Errorf("%s: %+v", step.name, report)
		}
		if n := p.thinkingProblems(); n > 0 {
			t.Errorf("%s: thinking refused %d times: %v", step.name, n, p.server.Problems())
		}
		if n := blockCount(p.sent(), transcript.Block.IsThinking); n == 0 && turns > 1 {
			t.Errorf("%s: no thinking is sent any more", step.name)
		}
		t.Logf("%d %s: %d requests, %d refused, loading changed %+v", i, step.name, len(p.server.Requests()), p.thinkingProblems(), report)
		if t.Failed() {
			return
		}
		if err := p.store.(*sqlite.Store).Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRefusedThinkingIsForgottenOnce goes on with sessions in which something has changed that nobody here has seen: one
// request is refused, none of it is told to the model, and the next process is not refused again.
func TestRefusedThinkingIsForgottenOnce(t *testing.T) {
	foreign := func(id, parent, signature string) []transcript.Entry {
		stamp := transcript.Stamp{SessionID: key.Session}
		return []transcript.Entry{
			transcript.NewEntry(stamp, id+"1", parent, time.Unix(0, 0), transcript.Message{Role: "user", Content: []transcript.Block{transcript.Text("work 0")}}),
			transcript.NewEntry(stamp, id+"2", id+"1", time.Unix(0, 0), transcript.Message{Role: "assistant", ID: "msg_" + id, Model: "m", StopReason: "end_turn", Content: []transcript.Block{
				transcript.Thinking("hm", signature), transcript.Text("said elsewhere"),
			}}),
		}
	}
	appendAll := func(t *testing.T, p *process, entries ...transcript.Entry) {
		if err := p.store.Append(t.Context(), key, entries...); err != nil {
			t.Fatal(err)
		}
	}
	leaf := func(t *testing.T, p *process) string {
		return transcript.Prepare(stored(t, p.store, key), transcript.Options{}).Leaf
	}
	work := func(t *testing.T, p *process, prompt string) {
		if _, _, err := run(t, p.engine, agent.Request{Key: key, Spec: mixedSpec, Prompt: prompt}); err != nil {
			t.Fatal(err)
		}
	}
	rows := []struct {
		name    string
		begin   func(t *testing.T, p *process) // a history
		noTrim  bool                           // of the second process
		refused int                            // requests of the second process
		lost    int                            // blocks, as the engine tells it
	}{
		{"trimming is switched off", func(t *testing.T, p *process) {
			work(t, p, "read 25")
			q := startProcess(t, processOptions{store: p.store, server: modeltest.Options{BindThinking: true, Player: mixed}, engine: agent.Options{Toolbox: mixedTools, Trim: true}})
			work(t, q, "read 2")
		}, true, 1, 3},
		{"another program went on", func(t *testing.T, p *process) {
			work(t, p, "work 3")
			appendAll(t, p, foreign("f", leaf(t, p), "c2lnbmF0dXJl")...)
		}, false, 1, 1},
		{"another program has begun", func(t *testing.T, p *process) {
			appendAll(t, p, foreign("f", "", "c2lnbmF0dXJl")...)
		}, false, 0, 0},
		{"an entry was taken out by hand", func(t *testing.T, p *process) {
			q := startProcess(t, processOptions{server: modeltest.Options{BindThinking: true, Player: mixed}, engine: agent.Options{Toolbox: mixedTools}})
			work(t, q, "work 3")
			entries := stored(t, q.store, key)
			entries[2] = entries[2].WithMessage(transcript.Message{Role: "user", Content: []transcript.Block{
				transcript.ToolResult(entries[2].Message.Content[0].ToolUseID, false, transcript.Text("edited")),
			}})
			appendAll(t, p, entries...)
			prefix, _, err := q.store.Prefix(t.Context(), key)
			if err == nil {
				err = p.store.SetPrefix(t.Context(), key, prefix)
			}
			if err != nil {
				t.Fatal(err)
			}
		}, false, 1, 3},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			first := startProcess(t, processOptions{server: modeltest.Options{BindThinking: true, Player: mixed}, engine: agent.Options{Toolbox: mixedTools, Trim: true}})
			row.begin(t, first)
			for n, refused := range []int{row.refused, 0, 0} {
				p := startProcess(t, processOptions{
					store: first.store, server: modeltest.Options{BindThinking: true, Player: mixed, Allow: dirty},
					engine: agent.Options{Toolbox: mixedTools, Trim: !row.noTrim},
				})
				lost := 0
				events, _, err := run(t, p.engine, agent.Request{Key: key, Spec: mixedSpec, Prompt: fmt.Sprint("go on ", n)})
				if err != nil {
					t.Fatal(err)
				}
				for _, ev := range events {
					if ev, ok := ev.(agent.Amended); ok {
						lost += ev.Report.Thinking
					}
				}
				if got := p.thinkingProblems(); got != refused {
					t.Errorf("process %d: refused %d times, want %d: %v", n, got, refused, p.server.Problems())
				}
				for _, r := range p.server.Requests() {
					if body := string(r.Body); strings.Contains(body, "Invalid `signature`") || strings.Contains(body, "flower_thinking") {
						t.Errorf("process %d: the model is told of it", n)
					}
				}
				if n > 0 {
					continue
				}
				if lost != row.lost {
					t.Errorf("%d blocks are said to be lost, want %d", lost, row.lost)
				}
			}
			p := transcript.Prepare(stored(t, first.store, key), transcript.Options{Trim: !row.noTrim})
			if err := transcript.Validate(append(p.Messages, transcript.Message{Role: "user", Content: []transcript.Block{transcript.Text("x")}})); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestRefusedTwiceFails: one recovery a request, and it is none of the attempts.
func TestRefusedTwiceFails(t *testing.T) {
	const words = "messages.%d.content.0: Invalid `signature` in `thinking` block"
	for _, row := range []struct {
		name     string
		messages []string // of the refusals, in order
		thinks   bool
		requests int
		ok       bool
		left     int // thinking blocks in the last request
	}{
		{"once", []string{fmt.Sprintf(words, 3)}, true, 2, true, 1},
		{"no place named", []string{"Invalid `signature` in `thinking` block"}, true, 2, true, 0},
		{"a place that is not there", []string{fmt.Sprintf(words, 99)}, true, 2, true, 0},
		{"a place with no thinking", []string{fmt.Sprintf(words, 2)}, true, 2, true, 1},
		{"other words", []string{"messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response."}, true, 2, true, 0},
		{"through a gateway", []string{`upstream: {"message":"messages.5.content.0: Invalid ` + "`signature` in `thinking`" + ` block"}`}, true, 2, true, 2},
		{"twice", []string{fmt.Sprintf(words, 3), fmt.Sprintf(words, 1)}, true, 2, false, 1},
		{"no thinking to remove", []string{fmt.Sprintf(words, 1)}, false, 1, false, 0},
		{"another fault", []string{"messages.3.content.0: something else"}, true, 1, false, 3},
	} {
		t.Run(row.name, func(t *testing.T) {
			var sent []*modeltest.Request
			player := modeltest.PlayerFunc(func(r *modeltest.Request) modeltest.Reply {
				if strings.HasPrefix(r.Prompt(), "second") {
					sent = append(sent, r)
					if n := len(sent); n <= len(row.messages) {
						return modeltest.Fail(400, "", row.messages[n-1])
					}
				}
				return mixed(r)
			})
			if !row.thinks {
				player = func(r *modeltest.Request) modeltest.Reply {
					if strings.HasPrefix(r.Prompt(), "second") {
						sent = append(sent, r)
						return modeltest.Fail(400, "", row.messages[0])
					}
					return modeltest.Say("ok")
				}
			}
			p := startProcess(t, processOptions{server: modeltest.Options{BindThinking: true, Player: player}, engine: agent.Options{Toolbox: mixedTools}})
			if _, _, err := run(t, p.engine, agent.Request{Key: key, Spec: mixedSpec, Prompt: "work 2"}); err != nil {
				t.Fatal(err)
			}
			events, _, err := run(t, p.engine, agent.Request{Key: key, Spec: mixedSpec, Prompt: "second"})
			if (err == nil) != row.ok || len(sent) != row.requests {
				t.Fatalf("%d requests, %v", len(sent), err)
			}
			if n := blockCount(modeltest.Record{Request: sent[len(sent)-1]}, transcript.Block.IsThinking); n != row.left {
				t.Errorf("%d thinking blocks in the last request, want %d", n, row.left)
			}
			if slices.ContainsFunc(events, func(ev agent.Event) bool {
				progress, ok := ev.(agent.Progress)
				_, retry := progress.Delta.(agent.Retrying)
				return ok && retry
			}) {
				t.Error("it was told as an attempt")
			}
			// What was decided holds for whoever comes next.
			next := transcript.Prepare(stored(t, p.store, key), transcript.Options{})
			if n := blockCount(modeltest.Record{Request: &modeltest.Request{Messages: next.Messages}}, transcript.Block.IsThinking); !row.ok && n != row.left {
				t.Errorf("%d thinking blocks are loaded, want %d", n, row.left)
			}
		})
	}
}
