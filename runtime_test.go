package flower

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"

	"flower/agent"
	"flower/internal/disk"
	"flower/internal/workbench"
)

func TestNewRuntimeChecks(t *testing.T) {
	w := newWorld(t)
	good := RuntimeOptions{Workspace: w.dir, Engine: engine{}, Store: w.store}
	file := filepath.Join(w.dir, "file")
	put(t, file, "")
	for name, change := range map[string]func(*RuntimeOptions){
		"Engine":          func(o *RuntimeOptions) { o.Engine = nil },
		"Store":           func(o *RuntimeOptions) { o.Store = nil },
		"no such file":    func(o *RuntimeOptions) { o.Workspace = filepath.Join(w.dir, "missing") },
		"not a directory": func(o *RuntimeOptions) { o.Workspace = file },
	} {
		opts := good
		change(&opts)
		if _, err := NewRuntime(opts); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	rt, err := NewRuntime(good)
	if err != nil || rt.Workspace() != w.dir || rt.RunID() == "" {
		t.Errorf("%v", err)
	}
	if files, _ := os.ReadDir(w.dir); len(files) != 1 {
		t.Errorf("written: %v", files)
	}
	if rt.Interrupt() {
		t.Error("interrupted nothing")
	}
	rt.Rescue()
	if rows := w.rows(); len(rows) != 0 {
		t.Errorf("rescued nothing into %v", rows)
	}
}

func TestRescue(t *testing.T) {
	w := newWorld(t)
	one := step("one")
	w.play["two"] = func(ask) (string, error) {
		w.rt.Rescue()
		w.rt.Rescue()
		return "", errBroken
	}
	_, err := w.run(&Workflow{Steps: []Step{one, step("two")}})
	if err == nil {
		t.Error("no error")
	}
	equal(t, "rows", w.rows(), []string{"one", "two: " + KilledBySignal})
	rows, err := ReadManifest(w.runs)
	if err != nil || rows[1].SessionID != WakeState(w.dir, w.runs).Steps["two"] || rows[1].EndedAt.Before(rows[1].StartedAt) {
		t.Errorf("row %+v, %v", rows[1], err)
	}
}

// TestRescueBesideEvents calls Rescue from another goroutine while the row is being filled; the race detector looks on.
func TestRescueBesideEvents(t *testing.T) {
	w := newWorld(t)
	s := step("one")
	s.Gate = func(_ context.Context, st *State, _ StepResult) (Decision, error) {
		return Decision{Pass: st.Round == 30}, nil
	}
	s.OnReject = func(*State, Decision) string { return "again" }
	rt := w.start()
	var rescuer sync.WaitGroup
	stop := make(chan struct{})
	rescuer.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				rt.Rescue()
			}
		}
	})
	o, err := (&Workflow{Steps: []Step{s}}).Run(t.Context(), rt)
	close(stop)
	rescuer.Wait()
	if err != nil || len(o.Results) != 30 || len(w.rows()) != 30 {
		t.Errorf("%d results, %d rows, %v; want 30, each written once", len(o.Results), len(w.rows()), err)
	}
}

func TestInterruptGoesOnInTheSameSession(t *testing.T) {
	for _, remark := range []string{"use tabs", ""} {
		w := newWorld(t)
		w.opts = func(o *RuntimeOptions) { o.OnInterrupt = func(context.Context) (string, bool) { return remark, true } }
		var requests []agent.Request
		w.before = func(r agent.Request) { requests = append(requests, r) }
		w.play["one"] = func(a ask) (string, error) {
			if a.Turn == 1 && len(w.asked) == 1 {
				w.rt.Interrupt()
				return "", errBroken // cut off
			}
			return "done", nil
		}
		o := w.must(&Workflow{Steps: []Step{step("one")}})
		row := o.Results[0]
		if len(o.Results) != 1 || row.Attempts != 1 || len(row.Errors) != 0 || !row.OK || row.Text != "done" {
			t.Errorf("results %+v", o.Results)
		}
		if len(requests) != 2 || requests[0].Abandon || requests[1].Abandon != (remark != "") || requests[0].Key != requests[1].Key {
			t.Fatalf("requests %+v", requests)
		}
		texts := w.texts(row.SessionID)
		if len(texts) != 2 || texts[0] != "start one" {
			t.Fatalf("said %q", texts)
		}
		in(t, "second prompt", texts[1], "interrupted you", remark)
		notIn(t, "second prompt", texts[1], "start one")
		if n := len(seen[Interrupted](w)); n != 1 {
			t.Errorf("said %d times", n)
		}
	}
}

// TestInterruptBeforeThePromptIsKept: the interrupt comes before the engine has stored anything. What was to be done is
// not lost.
func TestInterruptBeforeThePromptIsKept(t *testing.T) {
	w := newWorld(t)
	w.opts = func(o *RuntimeOptions) {
		o.OnInterrupt = func(context.Context) (string, bool) { return "use tabs", true }
	}
	first := true
	w.before = func(agent.Request) {
		if first {
			first = false
			w.rt.Interrupt()
		}
	}
	o := w.must(&Workflow{Steps: []Step{step("one")}})
	texts := strings.Join(w.texts(o.Sessions["one"]), "\n")
	in(t, "conversation", texts, "start one", "use tabs")
	if strings.Count(texts, "start one") != 1 {
		t.Errorf("said twice: %s", texts)
	}
}

func TestInterruptThatComesTooLate(t *testing.T) {
	for _, test := range []struct {
		remark string
		goOn   bool
		asked  int
		err    error
	}{
		{"", true, 1, nil},
		{"one more thing", true, 2, nil},
		{"", false, 1, ErrInterrupted},
	} {
		w := newWorld(t)
		calls := 0
		w.opts = func(o *RuntimeOptions) {
			o.OnInterrupt = func(context.Context) (string, bool) { calls++; return test.remark, test.goOn }
			o.Observe = func(ev Event) {
				w.observe(ev)
				if e, ok := ev.(AgentEvent); ok {
					if _, ended := e.Event.(agent.Finished); ended && calls == 0 {
						w.rt.Interrupt()
					}
				}
			}
		}
		_, err := w.run(&Workflow{Steps: []Step{step("one")}})
		if !errors.Is(err, test.err) || calls != 1 || len(w.asked) != test.asked {
			t.Errorf("%+v: %v, asked %d times, %d requests", test, err, calls, len(w.asked))
		}
	}
}

// TestInterruptThatStops: nobody says how to go on. No step follows, whatever the failure means.
func TestInterruptThatStops(t *testing.T) {
	w := newWorld(t)
	w.play["one"] = func(ask) (string, error) { w.rt.Interrupt(); return "", nil }
	one := step("one")
	one.OnFail, one.Retries = Continue, 2
	_, err := w.run(&Workflow{Steps: []Step{one, step("two")}})
	if !errors.Is(err, ErrInterrupted) {
		t.Error(err)
	}
	equal(t, "rows", w.rows(), []string{"one: interrupted"})
	rows, _ := ReadManifest(w.runs)
	if len(rows[0].Errors) != 0 {
		t.Errorf("an interrupt is no failure: %q", rows[0].Errors)
	}
}

// TestInterruptThenCancelled: the run is stopped while the interrupt is under way. What the person says does not count
// any more.
func TestInterruptThenCancelled(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	w.opts = func(o *RuntimeOptions) {
		o.OnInterrupt = func(ctx context.Context) (string, bool) { <-ctx.Done(); return "go on", true }
	}
	w.play["one"] = func(ask) (string, error) { w.rt.Interrupt(); cancel(errBroken); return "", nil }
	if _, err := (&Workflow{Steps: []Step{step("one")}}).Run(ctx, w.start()); !errors.Is(err, errBroken) {
		t.Error(err)
	}
	equal(t, "rows", w.rows(), []string{"one: broken"})
}

func TestCancelledRunIsWritten(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	w.play["one"] = func(ask) (string, error) { cancel(errBroken); return "", nil }
	one := step("one")
	one.OnFail, one.Retries = Skip, 3
	_, err := (&Workflow{Steps: []Step{one, step("two")}}).Run(ctx, w.start())
	if !errors.Is(err, errBroken) {
		t.Error(err)
	}
	equal(t, "rows", w.rows(), []string{"one: broken"})
}

// TestCancelledLookup: a store that is asked with a dead context is no reason to tell anything but the cause.
func TestCancelledLookup(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errBroken)
	r, err := w.start().Run(ctx, Attempt{Step: "one", Agent: named("one"), Prompt: "p", SessionID: "11111111-1111-4111-8111-111111111111"})
	if !errors.Is(err, errBroken) || !errors.Is(r.Err(), errBroken) {
		t.Errorf("%v", err)
	}
	equal(t, "rows", w.rows(), []string{"one: broken"})
}

func TestRepeatedRequestsAreInTheRow(t *testing.T) {
	w := newWorld(t)
	n := 0
	w.play["one"] = func(ask) (string, error) {
		if n++; n < 3 {
			return "", &agent.ModelError{Kind: agent.Transient, Status: 529, Message: "overloaded"}
		}
		return "done", nil
	}
	row := w.must(&Workflow{Steps: []Step{step("one")}}).Results[0]
	if row.Attempts != 3 || len(row.Errors) != 2 || !row.OK || row.Turns != 1 || row.CostUSD != 0.25 || row.Context != 100 || row.Model != "m" {
		t.Errorf("row %+v", row)
	}
	in(t, "errors", row.Errors[0], "529", "overloaded")
	notIn(t, "conversation", strings.Join(w.texts(row.SessionID), ""), "overloaded")
	if got := w.rt.ContextOf(t.Context(), row.SessionID); got != 100 {
		t.Errorf("context %d", got)
	}
	if got := w.rt.ContextOf(t.Context(), "unknown"); got != 0 {
		t.Errorf("context of nothing %d", got)
	}
}

func TestFullWindowIsAFailureWithAName(t *testing.T) {
	w := newWorld(t)
	w.opts = func(o *RuntimeOptions) { o.NoHandoff = true }
	w.play["one"] = func(ask) (string, error) { return "", &agent.ModelError{Kind: agent.Overflow, Message: "too long"} }
	o, err := w.run(&Workflow{Steps: []Step{step("one")}})
	if err == nil || len(o.Results[0].Errors) != 1 {
		t.Fatalf("%v, %+v", err, o.Results)
	}
	in(t, "error", err.Error(), "the context window is full", "too long")
}

func TestForkOfNothing(t *testing.T) {
	w := newWorld(t)
	_, err := w.start().Run(t.Context(), Attempt{Step: "one", Agent: named("one"), Prompt: "p", SessionID: "gone", Fork: true})
	if !errors.Is(err, ErrNoSession) {
		t.Error(err)
	}
	if rows := w.rows(); len(rows) != 1 || !strings.HasPrefix(rows[0], "one: fork session gone") {
		t.Errorf("rows %q", rows)
	}
}

// TestSessionNamedButNeverUsed: an id that a process gave out before it died is used, not replaced.
func TestSessionNamedButNeverUsed(t *testing.T) {
	w := newWorld(t)
	const id = "11111111-1111-4111-8111-111111111111"
	r, err := w.start().Run(t.Context(), Attempt{Step: "one", Agent: named("one"), Prompt: "p", SessionID: id})
	if err != nil || r.SessionID != id || r.Resumed {
		t.Errorf("%+v, %v", r, err)
	}
	equal(t, "said", w.texts(id), []string{"p"})
}

// TestSessionUnderTheOldKey: a session that the Python program stored under its own spelling of the path is found.
func TestSessionUnderTheOldKey(t *testing.T) {
	parent := newWorld(t)
	dir := filepath.Join(parent.dir, "a b")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	w := parent
	w.dir, w.runs, w.store = dir, filepath.Join(dir, "runs"), NewMemoryStore(dir)
	keys := projectKeys(dir)
	if len(keys) != 2 || !strings.HasSuffix(keys[1], "a b") {
		t.Fatalf("keys %q", keys)
	}
	first := w.must(&Workflow{Steps: []Step{step("one")}})
	from := agent.Key{Project: keys[0], Session: first.Sessions["one"]}
	to := agent.Key{Project: keys[1], Session: "22222222-2222-4222-8222-222222222222"}
	if err := w.store.Fork(t.Context(), from, to); err != nil {
		t.Fatal(err)
	}
	r, err := w.start().Run(t.Context(), Attempt{Step: "one", Agent: named("one"), Prompt: "p", SessionID: to.Session})
	if err != nil || !r.Resumed || w.asked[0].Turn != 3 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestIndexOpensNewSessionsOnly(t *testing.T) {
	w := newWorld(t)
	put(t, filepath.Join(w.dir, ".flower/scripts/build.sh"), "# desc: builds it all\n")
	s := step("one")
	s.Index = true
	wf := &Workflow{Steps: []Step{s}}
	w.must(wf)
	in(t, "first prompt", w.asked[0].Text(), "builds it all", "start one")
	w.must(wf)
	if got := w.asked[0].Text(); got != "start one" {
		t.Errorf("second prompt %q", got)
	}
}

func TestBudgetStopsTheRun(t *testing.T) {
	w := newWorld(t)
	w.opts = func(o *RuntimeOptions) { o.BudgetUSD = 0.5 }
	_, err := w.run(&Workflow{Steps: []Step{step("one"), step("two"), step("three")}})
	var limit *agent.LimitError
	if !errors.As(err, &limit) || len(w.asked) != 2 {
		t.Errorf("%v after %d requests", err, len(w.asked))
	}
}

// TestTwoWorkflowsOnOneRuntime: each reports its own attempts.
func TestTwoWorkflowsOnOneRuntime(t *testing.T) {
	w := newWorld(t)
	rt := w.start()
	for _, name := range []string{"one", "two"} {
		o, err := (&Workflow{Steps: []Step{step(name)}}).Run(t.Context(), rt)
		if err != nil || len(o.Results) != 1 || o.Results[0].Step != name {
			t.Errorf("%s: %+v, %v", name, o.Results, err)
		}
	}
	equal(t, "rows", w.rows(), []string{"one", "two"})
}

// TestBooksOfTheWrongKind: what stands in place of lineage and manifest is put aside, never waited for.
func TestBooksOfTheWrongKind(t *testing.T) {
	for name, build := range map[string]func(path string) error{
		"directory": func(p string) error { return os.MkdirAll(filepath.Join(p, "full"), 0o755) },
		"pipe":      func(p string) error { return syscall.Mkfifo(p, 0o600) },
		"loop":      func(p string) error { return os.Symlink(p, p) },
	} {
		w := newWorld(t)
		if err := os.MkdirAll(w.runs, 0o700); err != nil {
			t.Fatal(err)
		}
		for _, file := range []string{lineageFile, manifestFile} {
			if err := build(filepath.Join(w.runs, file)); err != nil {
				t.Fatal(err)
			}
		}
		o := w.must(&Workflow{Steps: []Step{step("one")}})
		equal(t, name+": rows", w.rows(), []string{"one"})
		if got := WakeState(w.dir, w.runs); got.Woke != 1 || got.Steps["one"] != o.Sessions["one"] || len(got.Problems) != 0 {
			t.Errorf("%s: %+v", name, got)
		}
		if said := seen[NotContinued](w); len(said) != 2 || !disk.Exists(said[0].Kept) || !disk.Exists(said[1].Kept) {
			t.Errorf("%s: said %+v", name, said)
		}
		if failed := seen[BooksFailed](w); len(failed) != 0 {
			t.Errorf("%s: %+v", name, failed)
		}
	}
}

// TestBookBehindALink: the link stays and leads to the new file, the old content is kept.
func TestBookBehindALink(t *testing.T) {
	dir := t.TempDir()
	real := filepath.Join(dir, "real.json")
	put(t, real, "torn")
	m := &manifest{dir: filepath.Join(dir, "runs"), run: "r", now: newWorld(t).now}
	if err := os.Mkdir(m.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, m.path()); err != nil {
		t.Fatal(err)
	}
	kept, err := m.add(t.Context(), StepResult{Step: "one"})
	if err != nil || string(read(t, kept)) != "torn" {
		t.Fatalf("kept %q, %v", kept, err)
	}
	if rows, err := ReadManifest(m.dir); err != nil || len(rows) != 1 {
		t.Errorf("rows %v, %v", rows, err)
	}
	in(t, "the real file", string(read(t, real)), `"one"`)
}

// TestHeldLock: another process hangs with the lock. The run waits its time, goes on, and the row comes with the next
// write.
func TestHeldLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		m := &manifest{dir: dir, run: "r", now: newWorld(t).now}
		lock, err := disk.TryLock(filepath.Join(dir, "."+manifestFile+".lock"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.add(context.WithoutCancel(t.Context()), StepResult{Step: "one"}); !errors.Is(err, disk.ErrLocked) {
			t.Errorf("%v", err)
		}
		if err := lock.Unlock(); err != nil {
			t.Fatal(err)
		}
		if _, err := m.add(t.Context(), StepResult{Step: "two"}); err != nil {
			t.Error(err)
		}
		if rows, err := ReadManifest(dir); err != nil || len(rows) != 2 {
			t.Errorf("rows %v, %v", rows, err)
		}
	})
}

// TestHeldLockOfLineage: the wake is counted from what could be read, and written later.
func TestHeldLockOfLineage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		put(t, filepath.Join(w.runs, lineageFile), fmt.Sprintf(`{"workspace":%q,"woke":3}`, w.dir))
		lock, err := disk.TryLock(filepath.Join(w.runs, "."+lineageFile+".lock"))
		if err != nil {
			t.Fatal(err)
		}
		book := newLineageBook(w.runs, w.dir, w.now)
		book.load(func(string) bool { return true })
		if woke, _, err := book.wake(context.WithoutCancel(t.Context())); woke != 4 || !errors.Is(err, disk.ErrLocked) {
			t.Errorf("wake %d, %v", woke, err)
		}
		if err := lock.Unlock(); err != nil {
			t.Fatal(err)
		}
		if _, err := book.remember(t.Context(), "one", "id"); err != nil {
			t.Fatal(err)
		}
		if got := WakeState(w.dir, w.runs); got.Woke != 4 || got.Steps["one"] != "id" {
			t.Errorf("%+v", got)
		}
	})
}

func TestWorkbenchNotesStay(t *testing.T) {
	w := newWorld(t)
	w.writeNote(workbench.Brief, "half a brief")
	w.must(&Workflow{Steps: []Step{step("one")}})
	if got := w.note(workbench.Brief); got != "half a brief" {
		t.Errorf("a workflow of one's own changed the brief: %q", got)
	}
}
