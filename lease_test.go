package flower

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"flower/agent"
	"flower/internal/disk"
)

// hold takes a lease as another flower would.
func hold(t *testing.T, path string, o Owner) *disk.Lease {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o700))
	lease, err := disk.TakeLease(path, o.note())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lease.Release() }) // a test may have released it
	return lease
}

var somebody = Owner{
	PID: 4711, Host: "elsewhere", Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.Local), Run: "20260102-030405-abcdef",
	Workspace: "/there", Step: "干活#round2", CostUSD: 1.25, Unpriced: true,
	Waiting: agent.Busy, Since: time.Unix(1_767_323_999, 0),
}

// A second workflow in a run directory does nothing at all; another run directory and a fresh workflow are free.
func TestOneFlowerARunDirectory(t *testing.T) {
	w := newWorld(t)
	outer := step("one")
	outer.Gate = func(ctx context.Context, s *State, _ StepResult) (Decision, error) {
		owner, running := Running(w.runs)
		if !running || owner.PID != os.Getpid() || owner.Run != s.Runtime.RunID() || owner.Workspace != w.dir ||
			owner.Step != "one" || owner.CostUSD != 0.25 || owner.Unpriced || time.Since(owner.Started) > time.Minute {
			t.Errorf("running %v, owner %+v", running, owner)
		}
		began := false
		second := &Workflow{Steps: []Step{step("two")}, Begin: func(context.Context, *State) error { began = true; return nil }}
		outcome, err := second.Run(ctx, w.start())
		var busy *InUse
		if !errors.As(err, &busy) || busy.Session != "" || busy.Owner != owner {
			t.Errorf("the second one: %v", err)
		}
		if began || len(w.asked) != 0 || outcome == nil || len(outcome.Results) != 0 {
			t.Errorf("it has begun: %v, %v, %+v", began, w.asked, outcome)
		}
		if _, err := (&Workflow{Fresh: true, Steps: second.Steps}).Run(ctx, w.start()); err != nil {
			t.Errorf("fresh: %v", err)
		}
		runs := w.runs
		w.runs += "2"
		_, err = second.Run(ctx, w.start())
		w.runs = runs
		if err != nil || !began {
			t.Errorf("another run directory: %v", err)
		}
		return Accept(), nil
	}
	w.must(&Workflow{Steps: []Step{outer, step("three")}})
	if _, running := Running(w.runs); running {
		t.Error("it is not released")
	}
	if state := WakeState(w.dir, w.runs); state.Woke != 1 || len(state.Steps) != 2 {
		t.Errorf("%+v", state)
	}
	leases, err := os.ReadDir(filepath.Join(w.runs, leasesDir))
	if err != nil || len(leases) != 0 || disk.Exists(filepath.Join(w.runs, runLeaseFile)) {
		t.Errorf("left: %v, %v", leases, err)
	}
}

// What was claimed before the workflow stays claimed behind it.
func TestClaim(t *testing.T) {
	w := newWorld(t)
	rt := w.start()
	must(t, rt.Claim(), rt.Claim())
	if _, err := (&Workflow{Steps: []Step{step("one")}}).Run(t.Context(), rt); err != nil {
		t.Fatal(err)
	}
	var busy *InUse
	if _, running := Running(w.runs); !running {
		t.Error("the workflow has released it")
	} else if err := w.start().Claim(); !errors.As(err, &busy) {
		t.Errorf("another one: %v", err)
	}
	must(t, rt.Close())
	if _, running := Running(w.runs); running {
		t.Error("closing has not released it")
	}
	must(t, w.start().Claim())
}

// Nobody appends to a session in which somebody else works: nothing is sent, told or booked. A copy is free.
func TestOneWriterASession(t *testing.T) {
	w := newWorld(t)
	ran := false
	w.play["one"] = func(a ask) (string, error) {
		w.play["one"] = nil
		ran = true
		rt := w.start()
		told := false
		try := Attempt{Step: "beside", Agent: named("one"), Prompt: "me too", SessionID: a.Session, OnSession: func(string) { told = true }}
		result, err := rt.Run(t.Context(), try)
		var busy *InUse
		if !errors.As(err, &busy) || busy.Session != a.Session || busy.Owner.PID != os.Getpid() || busy.Owner.Step != "one" {
			t.Errorf("in use: %v", err)
		}
		if told || len(w.asked) != 0 || result.OK || !errors.Is(result.Err(), err) {
			t.Errorf("it has begun: %v %v %+v", told, w.asked, result)
		}
		equal(t, "rows", w.rows(), nil)
		try.Fork = true
		if _, err := rt.Run(t.Context(), try); err != nil {
			t.Errorf("a copy: %v", err)
		}
		return "done", nil
	}
	o := w.must(&Workflow{Steps: []Step{step("one")}})
	if !ran {
		t.Fatal("the session was not tried")
	}
	again := Attempt{Step: "after", Agent: named("one"), Prompt: "now me", SessionID: o.Sessions["one"]}
	if _, err := w.start().Run(t.Context(), again); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// A step whose session is another's stops the workflow whatever its rules for failures: trying again would be a new
// session, and lineage would forget this one.
func TestSessionInUseStopsTheWorkflow(t *testing.T) {
	w := newWorld(t)
	s := step("one")
	s.Retries, s.OnFail = 3, Continue
	wf := &Workflow{Steps: []Step{s, step("two")}}
	id := w.must(wf).Sessions["one"]
	hold(t, filepath.Join(w.runs, leasesDir, leaseName(id)), somebody)
	_, err := w.run(wf)
	var busy *InUse
	var failed *StepError
	if !errors.As(err, &busy) || busy.Session != id || busy.Owner != somebody || !errors.As(err, &failed) || failed.Step != "one" {
		t.Errorf("%v", err)
	}
	in(t, "error", err.Error(), id, "pid 4711 on elsewhere, since 2026-01-02 03:04:05")
	if len(w.asked) != 0 || WakeState(w.dir, w.runs).Steps["one"] != id {
		t.Errorf("asked %v, steps %v", w.asked, WakeState(w.dir, w.runs).Steps)
	}
}

// A lease whose file is gone keeps nobody out: the work ends at the next answer, which is kept, and nothing follows.
func TestLostLeaseEndsTheWork(t *testing.T) {
	for name, lose := range map[string]func(w *world, session string) string{
		"of the session":       func(w *world, session string) string { return filepath.Join(w.runs, leasesDir, leaseName(session)) },
		"of the run directory": func(w *world, _ string) string { return filepath.Join(w.runs, runLeaseFile) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			var session string
			w.play["one"] = func(a ask) (string, error) {
				session = a.Session
				must(t, os.Remove(lose(w, session)))
				return "so far", nil
			}
			s := step("one")
			s.Retries, s.OnFail = 3, Continue
			_, err := w.run(&Workflow{Steps: []Step{s, step("two")}})
			if !errors.Is(err, ErrLeaseLost) {
				t.Errorf("%v", err)
			}
			equal(t, "agents", w.agents(), []string{"one"})
			equal(t, "rows", w.rows(), []string{"one: " + ErrLeaseLost.Error()})
			lines, err := w.store.Load(t.Context(), agent.Key{Project: ProjectKey(w.dir), Session: session})
			if err != nil || len(lines) != 2 {
				t.Errorf("%d entries, %v", len(lines), err)
			}
		})
	}
}

// Where leases do not work the run goes on, and one line says that nothing keeps others out.
func TestUnguarded(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, w *world){
		"sessions":      func(t *testing.T, w *world) { put(t, filepath.Join(w.runs, leasesDir), "a file") },
		"run directory": func(t *testing.T, w *world) { must(t, os.MkdirAll(filepath.Join(w.runs, runLeaseFile), 0o700)) },
		"both": func(t *testing.T, w *world) {
			put(t, filepath.Join(w.runs, leasesDir), "a file")
			must(t, os.Symlink("away", filepath.Join(w.runs, runLeaseFile)))
		},
		"no run directory": func(t *testing.T, w *world) { put(t, w.runs, "a file") },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			spoil(t, w)
			w.must(&Workflow{Steps: []Step{step("one"), step("two")}})
			if said := seen[Unguarded](w); len(said) != 1 || said[0].Err == nil {
				t.Errorf("said %v", said)
			}
			equal(t, "agents", w.agents(), []string{"one", "two"})
		})
	}
}

func TestRunning(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, runLeaseFile)
	none := func(what string) {
		t.Helper()
		if o, running := Running(dir); running || o != (Owner{}) {
			t.Errorf("%s: %+v", what, o)
		}
	}
	none("nothing")
	if _, running := Running(filepath.Join(dir, "none", "at", "all")); running || disk.Exists(filepath.Join(dir, "none")) || disk.Exists(path) {
		t.Error("looking has made something")
	}
	put(t, path, string(somebody.note()))
	none("what a dead one has left")
	lease := hold(t, path, somebody)
	if o, running := Running(dir); !running || o != somebody {
		t.Errorf("%v, %+v", running, o)
	}
	must(t, lease.SetNote([]byte("torn {")))
	if o, running := Running(dir); !running || o != (Owner{}) {
		t.Errorf("without a name: %v, %+v", running, o)
	}
	must(t, lease.Release())
	none("released")
}

func TestOwnerNote(t *testing.T) {
	long := somebody
	long.Workspace = "/" + strings.Repeat("long/", 1000)
	if o, ok := parseOwner(long.note()); !ok || o.Workspace != "" || o.Step != long.Step {
		t.Errorf("too long: %+v", o)
	}
	for _, bad := range []string{"", "{}", "[]", "null", `{"pid":0}`, `{"pid":-1}`, `{"pid":"1"}`, `{"pid":1`, "\x00\x00"} {
		if o, ok := parseOwner([]byte(bad)); ok {
			t.Errorf("%q is %+v", bad, o)
		}
	}
}

// events is an engine that only tells what happens.
type events []agent.Event

func (e events) Run(context.Context, agent.Request) iter.Seq2[agent.Event, error] {
	return func(yield func(agent.Event, error) bool) {
		for _, ev := range e {
			if !yield(ev, nil) {
				return
			}
		}
	}
}

// While requests wait, others can see for what and since when.
func TestOwnerSaysThatItWaits(t *testing.T) {
	dir, since := t.TempDir(), time.Unix(1_767_323_045, 0)
	progress := func(d agent.Delta) agent.Event { return agent.Progress{Delta: d} }
	var seen []agent.Outage
	rt, err := NewRuntime(RuntimeOptions{
		Workspace: dir, RunDir: filepath.Join(dir, "runs"), Store: NewMemoryStore(dir),
		Engine: events{
			agent.Started{},
			progress(agent.Waiting{Outage: agent.Offline, Since: since, Err: errors.New("gone")}),
			progress(agent.Waiting{Outage: agent.Busy, Since: since.Add(time.Hour), Err: errors.New("gone too"), Known: true}),
			progress(agent.OutageOver{Outage: agent.Offline}),
			agent.Finished{},
		},
		Observe: func(ev Event) {
			if _, ok := ev.(AgentEvent); !ok {
				return
			}
			o, runs := Running(filepath.Join(dir, "runs"))
			if !runs || o.Waiting != agent.NoOutage && !o.Since.Equal(since) {
				t.Errorf("while %T: %+v, %v", ev.(AgentEvent).Event, o, runs)
			}
			seen = append(seen, o.Waiting)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rt.Close() }()
	if err := rt.Claim(); err != nil {
		t.Fatal(err)
	}
	if _, err := rt.Run(t.Context(), Attempt{Step: "one", Prompt: "go", Agent: agent.Spec{Name: "a"}}); err != nil {
		t.Fatal(err)
	}
	// An event is seen before what it says is written down.
	want := []agent.Outage{agent.NoOutage, agent.NoOutage, agent.Offline, agent.Offline, agent.NoOutage}
	if !slices.Equal(seen, want) {
		t.Errorf("seen %v, want %v", seen, want)
	}
}

// FuzzOwner: whatever stands in a lease's file, reading it ends well, and an owner that was read is written as it was.
func FuzzOwner(f *testing.F) {
	for _, seed := range []string{"", "{}", `{"pid":1}`, `{"pid":1,"started_at":1e308}`, string(somebody.note())} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, note []byte) {
		o, ok := parseOwner(note)
		if !ok {
			return
		}
		if written := o.note(); written != nil {
			if again, ok := parseOwner(written); !ok || again.PID != o.PID || again.Run != o.Run || again.Step != o.Step {
				t.Errorf("%+v became %+v", o, again)
			}
		}
	})
}

// Two sessions never share a lease, and no id leads out of the directory.
func TestLeaseName(t *testing.T) {
	names := map[string]string{}
	for _, id := range []string{
		"0d5b8f0e-6a6d-4e55-9d53-0b5d6f8f3c11", "a", "", ".", "..", "../../x", "a/b", "a\x00b", "é", "a.lock", strings.Repeat("a", 300),
		strings.Repeat("a", 301), "-x",
	} {
		name := leaseName(id)
		if !filepath.IsLocal(name) || filepath.Base(name) != name || len(name) > 200 {
			t.Errorf("%q: %q", id, name)
		}
		if other, taken := names[name]; taken {
			t.Errorf("%q and %q share %q", id, other, name)
		}
		names[name] = id
	}
}

// A lease that is held only because a child of a killed process is not quite started is waited for.
func TestLeaseOfTheDead(t *testing.T) {
	dead := exec.Command("true")
	must(t, dead.Run())
	host, err := os.Hostname()
	must(t, err)
	o := somebody
	o.PID, o.Host = dead.Process.Pid, host
	path := filepath.Join(t.TempDir(), "l.lock")
	ghost := hold(t, path, o)
	time.AfterFunc(30*time.Millisecond, func() { _ = ghost.Release() })
	lease, err := takeLease(path, "", somebody)
	if err != nil {
		t.Fatalf("the lease of a dead process: %v", err)
	}
	must(t, lease.Release())

	o.PID = os.Getpid()
	hold(t, path, o)
	var busy *InUse
	if _, err := takeLease(path, "", somebody); !errors.As(err, &busy) || busy.Owner != o {
		t.Errorf("the lease of a living one: %v", err)
	}
}

// TestExhausted: what passes or breaks is not taken for a file system without locks, where a run would go on unguarded.
func TestExhausted(t *testing.T) {
	for err, want := range map[error]bool{
		syscall.ENOSPC: true, syscall.EDQUOT: true, syscall.EMFILE: true, syscall.ENFILE: true, syscall.EIO: true,
		syscall.ENOMEM: true, agent.ErrNoSpace: true,
		syscall.ENOLCK: false, syscall.ENOTSUP: false, syscall.ENOSYS: false, syscall.EROFS: false, syscall.EISDIR: false,
	} {
		if got := exhausted(fmt.Errorf("take lease: %w", err)); got != want {
			t.Errorf("%v: %v, want %v", err, got, want)
		}
	}
}

// TestHold: nobody works in a session that is held, and none is held in which somebody works.
func TestHold(t *testing.T) {
	w := newWorld(t)
	var busy *InUse
	w.play["one"] = func(a ask) (string, error) {
		if _, err := Hold(w.runs, a.Session); !errors.As(err, &busy) || busy.Session != a.Session || busy.Owner.Step != "one" {
			t.Errorf("held: %v", err)
		}
		return "done", nil
	}
	o := w.must(&Workflow{Steps: []Step{step("one")}})
	w.play["one"] = nil
	release, err := Hold(w.runs, o.Sessions["one"])
	must(t, err)
	again := Attempt{Step: "after", Agent: named("one"), Prompt: "now me", SessionID: o.Sessions["one"]}
	if _, err := w.start().Run(t.Context(), again); !errors.As(err, &busy) || busy.Owner.PID != os.Getpid() {
		t.Errorf("in a held session: %v", err)
	}
	release()
	if _, err := w.start().Run(t.Context(), again); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// TestBusy: any lease counts, of whatever session.
func TestBusy(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{runLeaseFile, leasesDir + "/a.lock", leasesDir + "/" + leaseName("../odd")} {
		if _, busy := Busy(w.runs); busy {
			t.Fatal("nobody has anything, and it is busy")
		}
		lease := hold(t, filepath.Join(w.runs, name), somebody)
		if owner, busy := Busy(w.runs); !busy || owner != somebody {
			t.Errorf("%s: %v, %+v", name, busy, owner)
		}
		must(t, lease.Release())
	}
}
