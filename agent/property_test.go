package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"flower"
	"flower/agent"
	"flower/sqlite"
	"flower/transcript"
)

// world is what stays when a process of TestAnyRunGoesOn is killed: the store, the effects on the outside, and what the
// endpoint has been sent.
type world struct {
	t     *testing.T
	seed  uint64
	store flower.Store

	mu       sync.Mutex
	cancel   context.CancelFunc // of the present process
	process  int
	requests int
	next     int                          // makes inputs of calls unique
	cut      map[int]bool                 // inputs of calls in answers that are not complete
	effects  map[int]int                  // how often the effect of a call happened, by its input
	begun    map[string]bool              // calls of which the journal was told that they begin, by session and id
	sent     map[string][]string          // by conversation: the blocks of the last request
	reports  map[string]transcript.Report // by conversation: what its last load changed
	prefixes map[string]string            // by conversation: system text and tools
	paths    map[string]string            // of the workers' conversations
	notes    []string                     // texts of the remarks
	first    map[string]int               // by conversation: the process of the last request
}

// wantSettled is the number of requests after which the model only says goodbye.
const wantSettled = 30

// flat is a request's messages as blocks, each with its role: how they are cut into messages does not matter, since
// messages of the same role are joined.
func flat(messages []transcript.Message) []string {
	var out []string
	for _, m := range messages {
		for _, b := range m.Content {
			raw, err := b.MarshalJSON()
			if err != nil {
				raw = []byte(err.Error())
			}
			out = append(out, m.Role+string(raw))
		}
	}
	return out
}

func beginsWith(all, begin []string) (int, bool) {
	for i, b := range begin {
		if i >= len(all) || all[i] != b {
			return i, false
		}
	}
	return 0, true
}

// Generate implements agent.Model: it checks the request and answers anything an endpoint might.
func (w *world) Generate(ctx context.Context, req *agent.ModelRequest, sink func(agent.Delta)) (*agent.Response, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	sink(agent.TextDelta{Text: "…"})
	w.mu.Lock()
	defer w.mu.Unlock()
	w.requests++
	who := req.System
	if who != "lead" {
		who = req.Messages[0].Content[0].PlainText()
	}
	w.check(who, req)
	sum := fnv.New64()
	for _, b := range flat(req.Messages) {
		sum.Write([]byte(b))
	}
	rnd := rand.New(rand.NewPCG(w.seed, sum.Sum64()+uint64(w.process)))
	if rnd.IntN(12) == 0 && who == "lead" {
		text := fmt.Sprintf("remark %d", len(w.notes))
		w.notes = append(w.notes, text)
		if err := w.store.AddNote(context.WithoutCancel(ctx), key.Project, agent.Note{ID: uuid.NewString(), Text: text}); err != nil {
			w.t.Errorf("add note: %v", err)
		}
	}
	if rnd.IntN(25) == 0 {
		w.cancel()
	}
	if rnd.IntN(25) == 0 {
		return nil, &agent.ModelError{Kind: agent.Fatal, Status: 500, Message: "SECRET-MARK"}
	}
	return w.answer(rnd, who), nil
}

// check is called with every request.
func (w *world) check(who string, req *agent.ModelRequest) {
	now := flat(req.Messages)
	if err := transcript.Validate(req.Messages); err != nil {
		if paused := req.Messages[len(req.Messages)-1].Role == transcript.RoleAssistant; !paused {
			w.t.Errorf("seed %d, %s: request %d: %v\n%s", w.seed, who, w.requests, err, mustJSON(req.Messages))
		} else if err := transcript.Validate(append(req.Messages[:len(req.Messages):len(req.Messages)], transcript.Message{
			Role: transcript.RoleUser, Content: []transcript.Block{transcript.Text("x")},
		})); err != nil {
			w.t.Errorf("seed %d, %s: paused request %d: %v", w.seed, who, w.requests, err)
		}
	}
	if strings.Contains(strings.Join(now, ""), "SECRET-MARK") {
		w.t.Errorf("seed %d: the text of an error reached the model", w.seed)
	}
	if prefix := mustJSON(agent.Prefix{System: req.System, Tools: req.Tools}); w.prefixes[who] == "" {
		w.prefixes[who] = prefix
	} else if w.prefixes[who] != prefix {
		w.t.Errorf("seed %d, %s: the prefix changed", w.seed, who)
	}
	report := w.reports[w.paths[who]]
	loaded := w.first[who] != w.process
	edited := loaded && report.Denials+report.Interrupted+report.Expired > 0
	if i, ok := beginsWith(now, w.sent[who]); !ok && !edited {
		was, is := w.sent[who][i], "(nothing)"
		if i < len(now) {
			is = now[i]
		}
		w.t.Errorf("seed %d, %s: request %d (loaded: %v) does not begin with the one before; block %d of %d:\n%s\n%s",
			w.seed, who, w.requests, loaded, i, len(w.sent[who]), was, is)
	}
	if loaded && report.Denials == 0 && (report.Thinking != 0 || len(report.Inserted) != 0 || len(report.Repaired) != 0 || report.Damaged != 0) {
		w.t.Errorf("seed %d, %s: loading changed our own history: %+v", w.seed, who, report)
	}
	if len(req.Marks) == 0 || len(req.Marks) > 3 {
		w.t.Errorf("seed %d: marks %v", w.seed, req.Marks)
	}
	w.sent[who], w.first[who] = now, w.process
}

// answer makes up an answer.
func (w *world) answer(rnd *rand.Rand, who string) *agent.Response {
	said := fmt.Sprintf("words of %s, %d", who, w.requests)
	if w.requests > wantSettled {
		return w.respond(rnd, agent.StopEndTurn, transcript.Text(said))
	}
	var blocks []transcript.Block
	switch rnd.IntN(4) {
	case 0:
		blocks = append(blocks, transcript.Thinking(fmt.Sprintf("hm <%d>", w.requests), "sig=="))
	case 1:
		blocks = append(blocks, transcript.RedactedThinking("data"))
	}
	switch rnd.IntN(5) {
	case 0, 1:
		blocks = append(blocks, transcript.Text(said))
	case 2:
		var odd transcript.Block
		if err := json.Unmarshal([]byte(`{"type":"text","text":"odd \u003c \u2028","citations":null}`), &odd); err != nil {
			w.t.Error(err)
		}
		blocks = append(blocks, odd, transcript.Text(" \n"))
	}
	stops := []string{
		agent.StopEndTurn, agent.StopToolUse, agent.StopToolUse, agent.StopToolUse, agent.StopToolUse, agent.StopToolUse,
		agent.StopMaxTokens, agent.StopPauseTurn, agent.StopRefusal, agent.StopContextWindow, agent.StopSequence, "",
	}
	stop := stops[rnd.IntN(len(stops))]
	if stop == agent.StopToolUse || stop == agent.StopMaxTokens && rnd.IntN(2) == 0 || stop == agent.StopRefusal {
		for range rnd.IntN(5) {
			blocks = append(blocks, w.call(rnd, who))
			w.cut[w.next] = stop != agent.StopToolUse
		}
	}
	if rnd.IntN(8) == 0 {
		blocks = append(blocks, transcript.Thinking("afterthought", "sig2"))
	}
	return w.respond(rnd, stop, blocks...)
}

func (w *world) call(rnd *rand.Rand, who string) transcript.Block {
	names := []string{"look", "look", "write", "write", "fail", "boom", "stop", "stopwrite", "Agent", "Agent", "Nothing"}
	if who != "lead" {
		names = names[:8]
	}
	w.next++
	id, input := fmt.Sprintf("t%d", w.next), fmt.Sprintf(`{ "n": %d }`, w.next)
	switch rnd.IntN(20) {
	case 0:
		input = `{"n":"one"}`
	case 1:
		input = `{"n":1`
	case 2:
		input = "" // as a call without parameters is written
	case 3:
		id = "t1" // a gateway that does not count
	case 4:
		id = ""
	}
	return call(id, names[rnd.IntN(len(names))], input)
}

func (w *world) respond(rnd *rand.Rand, stop string, blocks ...transcript.Block) *agent.Response {
	id := fmt.Sprintf("msg_%d", w.requests)
	switch rnd.IntN(10) {
	case 0:
		id = ""
	case 1:
		id = "msg_same"
	}
	return &agent.Response{
		Message: transcript.Message{
			Role: transcript.RoleAssistant, ID: id, Model: "m", StopReason: stop, Content: blocks,
			Usage: transcript.Usage{Input: 100, Output: 10},
		},
		CostUSD: 0.25,
	}
}

// tools are the tools of one process.
func (w *world) tools() box {
	number := func(c agent.Call) int {
		var in struct{ N int }
		if err := json.Unmarshal(c.Input, &in); err != nil {
			w.t.Errorf("seed %d: input %s reached a tool", w.seed, c.Input)
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.cut[in.N] {
			w.t.Errorf("seed %d: call %d of an answer that is not complete was run", w.seed, in.N)
		}
		return in.N
	}
	effect := func(c agent.Call) {
		n := number(c)
		w.mu.Lock()
		defer w.mu.Unlock()
		if !w.begun[c.Key.String()+" "+c.ID] {
			w.t.Errorf("seed %d: %s was run and is not in the journal", w.seed, c.ID)
		}
		if w.effects[n]++; n != 0 && w.effects[n] > 1 {
			w.t.Errorf("seed %d: the effect of call %d happened twice", w.seed, n)
		}
	}
	stop := func(ctx context.Context) {
		w.mu.Lock()
		w.cancel()
		w.mu.Unlock()
		<-ctx.Done()
	}
	return box{
		"look": tool("look", true, func(_ context.Context, c agent.Call) (agent.ToolResult, error) {
			number(c)
			return agent.TextResult("seen <&> \u2028 \xff"), nil
		}),
		"write": tool("write", false, func(_ context.Context, c agent.Call) (agent.ToolResult, error) {
			effect(c)
			return agent.ToolResult{Content: []transcript.Block{transcript.Text("written"), transcript.Text(" "), transcript.Image("image/png", "QQ==")}}, nil
		}),
		"fail": tool("fail", true, func(context.Context, agent.Call) (agent.ToolResult, error) {
			return agent.ErrorResult("it failed"), nil
		}),
		"boom": tool("boom", false, func(_ context.Context, c agent.Call) (agent.ToolResult, error) {
			effect(c)
			panic("boom")
		}),
		"stop": tool("stop", true, func(ctx context.Context, c agent.Call) (agent.ToolResult, error) {
			if number(c)%3 == 0 {
				return agent.TextResult(""), nil
			}
			stop(ctx)
			return agent.ToolResult{}, ctx.Err()
		}),
		"stopwrite": tool("stopwrite", false, func(ctx context.Context, c agent.Call) (agent.ToolResult, error) {
			effect(c)
			stop(ctx)
			if number(c)%2 == 0 {
				return agent.ErrorResult("half of it"), nil
			}
			return agent.ToolResult{}, ctx.Err()
		}),
		"Agent": func(env agent.Env) agent.Tool {
			return tool("Agent", true, func(ctx context.Context, c agent.Call) (agent.ToolResult, error) {
				prompt := fmt.Sprintf("part <%d> of %s", number(c), c.ID)
				w.mu.Lock()
				w.paths[prompt] = agent.SubagentID(env.Key, c.ID)
				w.mu.Unlock()
				return env.Spawn(ctx, agent.Spawn{CallID: c.ID, Prompt: prompt})
			})(env)
		},
	}
}

// mortal is the store as one process sees it until it is killed: after left writes nothing is written any more.
type mortal struct {
	flower.Store
	world *world
	mu    sync.Mutex
	left  int
}

func (m *mortal) write(f func() error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.left == 0 {
		return errKilled
	}
	m.left--
	return f()
}

func (m *mortal) Append(ctx context.Context, k agent.Key, entries ...transcript.Entry) error {
	return m.write(func() error { return m.Store.Append(ctx, k, entries...) })
}

func (m *mortal) Begin(ctx context.Context, k agent.Key, callID string) error {
	return m.write(func() error {
		m.world.mu.Lock()
		m.world.begun[k.String()+" "+callID] = true
		m.world.mu.Unlock()
		return m.Store.Begin(ctx, k, callID)
	})
}

func (m *mortal) SetPrefix(ctx context.Context, k agent.Key, p agent.Prefix) error {
	return m.write(func() error { return m.Store.SetPrefix(ctx, k, p) })
}

func (m *mortal) Take(ctx context.Context) ([]agent.Note, error) {
	return m.PendingNotes(ctx, key.Project)
}

func (m *mortal) Delivered(ctx context.Context, notes []agent.Note) error {
	return m.write(func() error {
		var ids []string
		for _, n := range notes {
			ids = append(ids, n.ID)
		}
		return m.MarkDelivered(ctx, key.Project, ids)
	})
}

// live is one process: it returns how the run ended.
func (w *world) live(rnd *rand.Rand, prompt string) error {
	ctx, cancel := context.WithCancel(w.t.Context())
	defer cancel()
	log := &mortal{Store: w.store, world: w, left: -1}
	w.mu.Lock()
	w.process++
	w.cancel = cancel
	if w.requests <= wantSettled && rnd.IntN(3) > 0 {
		log.left = rnd.IntN(12)
	}
	w.mu.Unlock()
	e, err := agent.New(agent.Options{Model: w, Log: log, Toolbox: w.tools(), ModelName: "m", CWD: "/w", Parallel: 2})
	if err != nil {
		w.t.Fatal(err)
	}
	names := []string{"look", "write", "fail", "boom", "stop", "stopwrite"}
	worker := agent.Spec{Name: "worker", Instructions: "worker", Tools: names, Limits: agent.Limits{Turns: 9}}
	lead := agent.Spec{Name: "lead", Instructions: "lead", Tools: append([]string{"Agent"}, names...), Subagents: []agent.Spec{worker}}
	request := agent.Request{
		Key: key, Spec: lead, Prompt: prompt, PromptID: uuid.NewSHA1(uuid.NameSpaceOID, []byte(prompt)).String(),
		Inbox: log, Abandon: rnd.IntN(5) == 0,
	}
	before := w.requests
	broken := rnd.IntN(10) == 0
	var last agent.Event
	told := 0.0 // by events
	for ev, failed := range e.Run(ctx, request) {
		switch ev := ev.(type) {
		case agent.Started:
			w.mu.Lock()
			w.reports[ev.Path] = ev.Report
			w.mu.Unlock()
		case agent.ToolStarted:
			if broken {
				return errors.New("the loop was left")
			}
		case agent.Answered:
			told += ev.CostUSD
		case agent.Wasted:
			told += ev.CostUSD
		case agent.Finished:
			if ev.Path == "" && (ev.Result.CostUSD != 0.25*float64(ev.Result.Usage.Output/10) || ev.Result.CostUSD != told) {
				w.t.Errorf("seed %d: cost %v of %v", w.seed, ev.Result.CostUSD, ev.Result.Usage)
			}
		}
		if failed != nil {
			err = failed
		} else {
			last = ev
		}
	}
	if f, ok := last.(agent.Finished); !ok || f.Path != "" || f.Result.Usage.Output/10 > w.requests-before {
		w.t.Errorf("seed %d: the last event is %#v", w.seed, last)
	}
	return err
}

func (w *world) run() {
	rnd := rand.New(rand.NewPCG(w.seed, 0))
	prompt := "go"
	for n := 0; ; n++ {
		if n > 400 {
			w.t.Fatalf("seed %d: does not come to an end", w.seed)
		}
		err := w.live(rnd, prompt)
		if err == nil && w.requests > wantSettled {
			break
		}
		var refused *agent.RefusalError
		var model *agent.ModelError
		if err == nil || errors.As(err, &refused) || errors.As(err, &model) && model.Kind == agent.Overflow || strings.Contains(err.Error(), "in a row") {
			prompt = fmt.Sprintf("go on %d", n)
		}
		if w.t.Failed() {
			return
		}
	}
	w.finalCheck(prompt)
}

// finalCheck looks at what is stored in the end.
func (w *world) finalCheck(prompt string) {
	p := transcript.Prepare(stored(w.t, w.store, key), transcript.Options{KeepOpenCalls: true})
	all := strings.Join(flat(p.Messages), "\n")
	for _, words := range append(w.notes, prompt) {
		if n := strings.Count(all, `"text":"`+words+`"`); n != 1 {
			w.t.Errorf("seed %d: %q is in the transcript %d times", w.seed, words, n)
		}
	}
	if len(p.Open) != 0 {
		w.t.Errorf("seed %d: open calls at the end: %s", w.seed, mustJSON(p.Open))
	}
	inputs := map[string]string{}
	for _, m := range p.Messages {
		for _, b := range m.Content {
			unknown := strings.Contains(b.PlainText(), "outcome of this call is unknown")
			if b.Type == transcript.TypeToolResult && unknown && !w.begun[key.String()+" "+b.ToolUseID] {
				w.t.Errorf("seed %d: the outcome of %s, which did not begin, is said to be unknown", w.seed, b.ToolUseID)
			}
			if b.Type == transcript.TypeToolUse && b.Name == "Agent" {
				var in struct{ N int }
				_ = json.Unmarshal(b.Input, &in)
				inputs[b.ID] = fmt.Sprintf("part <%d> of %s", in.N, b.ID)
			}
			want, report := inputs[b.ToolUseID], b.PlainText()
			if b.Type == transcript.TypeToolResult && strings.HasPrefix(report, "words of ") && !strings.Contains(report, want) {
				w.t.Errorf("seed %d: the report on %q is %q", w.seed, want, report)
			}
		}
	}
}

// TestAnyRunGoesOn lets a model answer anything and kills, cancels and leaves the run at random places until it comes to
// an end. No request may be one the API refuses; each begins with the one before, also across processes; nothing
// happens twice and no word is lost.
func TestAnyRunGoesOn(t *testing.T) {
	stores := []struct {
		name  string
		seeds uint64
		open  func(t *testing.T) flower.Store
	}{
		{"memory", 60, func(*testing.T) flower.Store { return flower.NewMemoryStore("/w") }},
		{"sqlite", 6, func(t *testing.T) flower.Store {
			s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "sessions.db"), sqlite.Options{Workspace: "/w"})
			if err != nil {
				t.Fatal(err)
			}
			return s
		}},
	}
	for _, s := range stores {
		for seed := range s.seeds {
			t.Run(fmt.Sprintf("%s/%d", s.name, seed), func(t *testing.T) {
				store := s.open(t)
				defer func() {
					if err := store.Close(); err != nil {
						t.Error(err)
					}
				}()
				w := &world{
					t: t, seed: seed, store: store, effects: map[int]int{}, begun: map[string]bool{}, cut: map[int]bool{}, sent: map[string][]string{},
					reports: map[string]transcript.Report{}, prefixes: map[string]string{}, paths: map[string]string{}, first: map[string]int{},
				}
				w.run()
			})
		}
	}
}
