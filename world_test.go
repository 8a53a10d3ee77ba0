package flower

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"flower/agent"
	"flower/internal/workbench"
	"flower/transcript"
)

func TestMain(m *testing.M) {
	if os.Getenv(booksDir) != "" {
		os.Exit(booksMain())
	}
	goleak.VerifyTestMain(m)
}

// world is a workspace with its run directory and store: what outlives a process. Every run in it is a new process with
// the real engine in front of a scripted model.
type world struct {
	t     *testing.T
	dir   string // workspace, resolved
	runs  string
	store Store
	now   func() time.Time

	// play answers for an agent, by its instructions; ask.Agent without an entry gets "done".
	play map[string]func(ask) (string, error)
	// weigh is the context in tokens after an answer; nil: 100 for each message of the request.
	weigh func(ask) int
	// before is called when the engine gets a request, before anything is done with it.
	before func(agent.Request)
	human  *Human
	opts   func(*RuntimeOptions)

	mu     sync.Mutex
	rt     *Runtime // of the run that goes on
	asked  []ask
	events []Event
}

// ask is one request to the model.
type ask struct {
	Agent   string   // the first line of the system prompt
	Session string   // id
	Said    []string // the texts of the last message
	Turn    int      // messages in the request
}

// Text is everything said last.
func (a ask) Text() string { return strings.Join(a.Said, "\n\n") }

func newWorld(t *testing.T) *world {
	t.Helper()
	dir, err := ResolveWorkspace(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &world{
		t: t, dir: dir, runs: filepath.Join(dir, "runs"), store: NewMemoryStore(dir), now: time.Now,
		play: map[string]func(ask) (string, error){},
	}
}

// Generate implements agent.Model.
func (w *world) Generate(ctx context.Context, req *agent.ModelRequest, _ func(agent.Delta)) (*agent.Response, error) {
	if err := transcript.Validate(req.Messages); err != nil {
		w.t.Errorf("a request the endpoint would refuse: %v", err)
	}
	name, _, _ := strings.Cut(req.System, "\n")
	a := ask{Agent: strings.TrimSpace(name), Session: req.SessionID, Turn: len(req.Messages)}
	for _, b := range req.Messages[len(req.Messages)-1].Content {
		a.Said = append(a.Said, b.PlainText())
	}
	w.mu.Lock()
	w.asked = append(w.asked, a)
	n := len(w.asked)
	play := w.play[a.Agent]
	w.mu.Unlock()
	text := "done"
	if play != nil {
		var err error
		if text, err = play(a); err != nil {
			return nil, err
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	weight := 100 * a.Turn
	if w.weigh != nil {
		weight = w.weigh(a)
	}
	return &agent.Response{
		Message: transcript.Message{
			Role: transcript.RoleAssistant, ID: fmt.Sprint("msg_", n), Model: "m", StopReason: agent.StopEndTurn,
			Content: []transcript.Block{transcript.Text(text)}, Usage: transcript.Usage{Input: weight, Output: 10},
		},
		CostUSD: 0.25,
	}, nil
}

// Tools implements agent.Toolbox: nothing is offered.
func (w *world) Tools(agent.Spec, agent.Env) ([]agent.Tool, error) { return nil, nil }

// engine is the real engine, watched.
type engine struct {
	w     *world
	inner *agent.Engine
}

func (e engine) Run(ctx context.Context, req agent.Request) iter.Seq2[agent.Event, error] {
	if e.w.before != nil {
		e.w.before(req)
	}
	return e.inner.Run(ctx, req)
}

// start begins a process.
func (w *world) start() *Runtime {
	w.t.Helper()
	retry := agent.Retry{Sleep: func(context.Context, time.Duration) error { return nil }}
	inner, err := agent.New(agent.Options{
		Model: agent.WithRetry(w, retry), Log: w.store, Toolbox: w, ModelName: "m", CWD: w.dir, Now: w.now,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	opts := RuntimeOptions{
		Workspace: w.dir, RunDir: w.runs, Engine: engine{w, inner}, Store: w.store, Human: w.human, Now: w.now,
		Observe: w.observe, Lang: English,
	}
	if w.opts != nil {
		w.opts(&opts)
	}
	rt, err := NewRuntime(opts)
	if err != nil {
		w.t.Fatal(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rt, w.events, w.asked = rt, nil, nil
	return rt
}

func (w *world) observe(ev Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, ev)
}

// run is one process that works through a workflow.
func (w *world) run(wf *Workflow) (*Outcome, error) {
	w.t.Helper()
	return wf.Run(w.t.Context(), w.start())
}

// must is run where nothing may go wrong.
func (w *world) must(wf *Workflow) *Outcome {
	w.t.Helper()
	o, err := w.run(wf)
	if err != nil {
		w.t.Fatal(err)
	}
	return o
}

// seen returns the events of one kind of the last run.
func seen[E Event](w *world) []E {
	w.mu.Lock()
	defer w.mu.Unlock()
	var list []E
	for _, ev := range w.events {
		if e, ok := ev.(E); ok {
			list = append(list, e)
		}
	}
	return list
}

// agents are the agents that were asked in the last run, in order.
func (w *world) agents() []string {
	var names []string
	for _, a := range w.asked {
		names = append(names, a.Agent)
	}
	return names
}

// rows are the labels of the manifest, each with what went wrong.
func (w *world) rows() []string {
	w.t.Helper()
	rows, err := ReadManifest(w.runs)
	if err != nil {
		w.t.Fatal(err)
	}
	var labels []string
	for _, r := range rows {
		label := r.Step
		if !r.OK {
			label += ": " + r.Error
		}
		labels = append(labels, label)
	}
	return labels
}

// lineage is what lineage.json says.
func (w *world) lineage() lineage {
	return readLineage(filepath.Join(w.runs, lineageFile), w.dir, func(string) bool { return true })
}

// texts are the person's side of a session as the store has it.
func (w *world) texts(session string) []string {
	w.t.Helper()
	lines, err := w.store.Load(w.t.Context(), agent.Key{Project: ProjectKey(w.dir), Session: session})
	if err != nil {
		w.t.Fatal(err)
	}
	entries, _ := transcript.ParseHistory(lines)
	var texts []string
	for _, e := range entries {
		if e.Message.Role == transcript.RoleUser {
			texts = append(texts, e.Message.PlainText())
		}
	}
	return texts
}

func (w *world) note(name string) string {
	text, _ := readNote(workbench.Open(w.dir).NotePath(name))
	return text
}

func (w *world) writeNote(name, text string) {
	w.t.Helper()
	if err := workbench.Open(w.dir).WriteNote(name, text); err != nil {
		w.t.Fatal(err)
	}
}

// archived are the files in the archive, without the names of their directories.
func (w *world) archived() []string {
	w.t.Helper()
	files, err := filepath.Glob(filepath.Join(w.dir, ".flower/notes/archive/*/*"))
	if err != nil {
		w.t.Fatal(err)
	}
	for i := range files {
		files[i] = filepath.Base(files[i])
	}
	slices.Sort(files)
	return files
}

// named is an agent of a test: its instructions are its name.
func named(name string) agent.Spec { return agent.Spec{Name: name, Instructions: name} }

// step is a step whose agent has the step's name.
func step(name string) Step {
	return Step{Name: name, Agent: named(name), Prompt: Say("start " + name)}
}

func equal[T comparable](t *testing.T, what string, got, want []T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n got %q\nwant %q", what, fmt.Sprint(got), fmt.Sprint(want))
	}
}

// in checks that a text holds all parts.
func in(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%s lacks %q:\n%s", what, p, text)
		}
	}
}

// notIn checks that a text holds none of the parts.
func notIn(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if strings.Contains(text, p) {
			t.Errorf("%s holds %q:\n%s", what, p, text)
		}
	}
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

var errBroken = errors.New("broken")

// inOrder plays answers one after the other; the last one stays.
func inOrder(answers ...string) func(ask) (string, error) {
	n := 0
	return func(ask) (string, error) {
		n++
		return answers[min(n, len(answers))-1], nil
	}
}

// failing fails the first n times.
func failing(n int) func(ask) (string, error) {
	return func(ask) (string, error) {
		if n--; n >= 0 {
			return "", &agent.ModelError{Kind: agent.Fatal, Message: "broken"}
		}
		return "done", nil
	}
}
