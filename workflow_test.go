package flower

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"flower/agent"
)

func TestStepsRunInOrder(t *testing.T) {
	w := newWorld(t)
	w.play["one"] = inOrder("first words")
	one, two, three, four := step("one"), step("two"), step("three"), step("four")
	two.When = func(*State) bool { return false }
	three.Reduce = func(s *State, r StepResult) { s.Values["kept"] = strings.ToUpper(r.Text) }
	four.Prompt = func(s *State) string { return fmt.Sprint(s.Values["one"], "+", s.Values["kept"]) }
	o := w.must(&Workflow{Steps: []Step{one, two, three, four}})
	equal(t, "agents", w.agents(), []string{"one", "three", "four"})
	equal(t, "rows", w.rows(), []string{"one", "three", "four"})
	if got := w.asked[2].Text(); got != "first words+DONE" {
		t.Errorf("the last step was told %q", got)
	}
	if len(o.Results) != 3 || o.CostUSD != 0.75 || o.Woke != 1 {
		t.Errorf("outcome %+v", o)
	}
	var story []string
	for _, ev := range w.events {
		switch ev := ev.(type) {
		case WorkflowStarted:
			story = append(story, fmt.Sprint("begin ", ev.Woke, ev.Steps))
		case StepStarted:
			story = append(story, fmt.Sprint("+", ev.Name, ev.Index, ev.Total))
		case StepSkipped:
			story = append(story, fmt.Sprint("~", ev.Name, ev.Index, ev.Total))
		case AttemptStarted:
			story = append(story, "attempt")
		case AttemptFinished:
			story = append(story, "done")
		case StepFinished:
			story = append(story, fmt.Sprint("-", ev.Name, ev.OK))
		}
	}
	equal(t, "events", story, []string{
		"begin 1 4", "+one1 4", "attempt", "done", "-onetrue", "~two2 4", "+three3 4", "attempt", "done", "-threetrue",
		"+four4 4", "attempt", "done", "-fourtrue",
	})
}

func TestRetriesStartFromScratch(t *testing.T) {
	w := newWorld(t)
	w.play["one"] = failing(2)
	s := step("one")
	s.Retries = 2
	o := w.must(&Workflow{Steps: []Step{s}})
	equal(t, "rows", w.rows(), []string{
		"one: endpoint not reached: broken", "one#retry1: endpoint not reached: broken", "one#retry2",
	})
	ids := map[string]bool{}
	for _, a := range w.asked {
		ids[a.Session] = true
		if a.Text() != "start one" || a.Turn != 1 {
			t.Errorf("a retry was told %q in turn %d", a.Text(), a.Turn)
		}
	}
	if len(ids) != 3 || o.Sessions["one"] != w.asked[2].Session {
		t.Errorf("sessions %v, remembered %s", ids, o.Sessions["one"])
	}
	w.play["one"] = failing(9)
	if _, err := w.run(&Workflow{Steps: []Step{s}}); err == nil || len(w.asked) != 3 {
		t.Errorf("%d attempts, %v", len(w.asked), err)
	}
}

func TestRejectedResultsAreSentBack(t *testing.T) {
	w := newWorld(t)
	w.play["one"] = inOrder("bad", "worse", "good")
	s := step("one")
	s.Gate = func(_ context.Context, _ *State, r StepResult) (Decision, error) {
		if r.Text == "good" {
			return Accept(), nil
		}
		return Reject(r.Text), nil
	}
	s.OnReject = func(st *State, d Decision) string { return fmt.Sprintf("round %d: %s", st.Round, d.Reason) }
	w.must(&Workflow{Steps: []Step{s}})
	equal(t, "rows", w.rows(), []string{"one", "one#round2", "one#round3"})
	equal(t, "conversation", w.texts(w.asked[0].Session), []string{"start one", "round 1: bad", "round 2: worse"})
}

// TestGates covers how a gate ends a step, for each meaning of failure.
func TestGates(t *testing.T) {
	gate := func(d Decision, err error) Gate {
		return func(context.Context, *State, StepResult) (Decision, error) { return d, err }
	}
	for _, test := range []struct {
		name    string
		gate    Gate
		onFail  OnFail
		stopped string   // text of the error
		ran     []string // agents
		values  []string
	}{
		{"accept", gate(Accept(), nil), Stop, "", []string{"one", "two"}, []string{"one", "two"}},
		{"reject, stop", gate(Reject("thin"), nil), Stop, "step one: not accepted: thin", []string{"one"}, nil},
		{"reject, skip", gate(Reject("thin"), nil), Skip, "", []string{"one", "two"}, []string{"two"}},
		{"reject, continue", gate(Reject("thin"), nil), Continue, "", []string{"one", "two"}, []string{"one", "two"}},
		{"error, stop", gate(Decision{}, errBroken), Stop, "step one: broken", []string{"one"}, nil},
		{"error, skip", gate(Decision{}, errBroken), Skip, "", []string{"one", "two"}, []string{"two"}},
		{"abort, stop", gate(Decision{}, &Abort{Reason: "enough"}), Stop, "step one: enough", []string{"one"}, nil},
		{"abort, skip", gate(Decision{}, &Abort{Reason: "enough"}), Skip, "step one: enough", []string{"one"}, nil},
		{"abort, continue", gate(Decision{}, fmt.Errorf("so: %w", &Abort{Reason: "enough"})), Continue, "step one: so: enough", []string{"one"}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			one := step("one")
			one.Gate, one.OnFail = test.gate, test.onFail
			one.OnReject = func(*State, Decision) string { return "" }
			var st *State
			wf := &Workflow{Steps: []Step{one, step("two")}, Begin: func(_ context.Context, s *State) error { st = s; return nil }}
			_, err := w.run(wf)
			if got := fmt.Sprint(err); err == nil && test.stopped != "" || err != nil && got != test.stopped {
				t.Errorf("error %v, want %q", err, test.stopped)
			}
			equal(t, "agents", w.agents(), test.ran)
			equal(t, "values", slices.Sorted(maps.Keys(st.Values)), test.values)
			equal(t, "results", slices.Sorted(maps.Keys(st.Results)), test.values)
			if finished := seen[StepFinished](w); finished[0].OK != (test.name == "accept") {
				t.Errorf("finished %+v", finished[0])
			}
			var step *StepError
			if err != nil && (!errors.As(err, &step) || step.Step != "one") {
				t.Errorf("%T does not name the step", err)
			}
		})
	}
}

// TestAbortUsesNoRetry: a gate that ends the workflow is not asked again.
func TestAbortUsesNoRetry(t *testing.T) {
	w := newWorld(t)
	s := step("one")
	s.Retries = 3
	s.Gate = func(context.Context, *State, StepResult) (Decision, error) {
		return Decision{}, &Abort{Reason: "no", ForPerson: true}
	}
	_, err := w.run(&Workflow{Steps: []Step{s}})
	var abort *Abort
	if !errors.As(err, &abort) || !abort.ForPerson || len(w.asked) != 1 {
		t.Errorf("%v after %d attempts", err, len(w.asked))
	}
}

func TestFailedAgentAndOnFail(t *testing.T) {
	for onFail, want := range map[OnFail]string{Stop: "", Skip: "two", Continue: "one two"} {
		w := newWorld(t)
		w.play["one"] = failing(9)
		one := step("one")
		one.OnFail = onFail
		var kept []string
		one.Reduce = func(*State, StepResult) { kept = append(kept, "one") }
		two := step("two")
		two.Reduce = func(*State, StepResult) { kept = append(kept, "two") }
		_, err := w.run(&Workflow{Steps: []Step{one, two}})
		if got := strings.Join(kept, " "); got != want || (err != nil) != (onFail == Stop) {
			t.Errorf("on fail %d: kept %q, %v", onFail, got, err)
		}
	}
}

func TestResumeFromAndFork(t *testing.T) {
	w := newWorld(t)
	same, branch := step("same"), step("branch")
	same.ResumeFrom, branch.ResumeFrom, branch.Fork = "one", "one", true
	o := w.must(&Workflow{Steps: []Step{step("one"), same, branch}})
	one := o.Sessions["one"]
	if o.Sessions["same"] != one || o.Sessions["branch"] == one {
		t.Errorf("sessions %v", o.Sessions)
	}
	equal(t, "the original", w.texts(one), []string{"start one", "start same"})
	equal(t, "the branch", w.texts(o.Sessions["branch"]), []string{"start one", "start same", "start branch"})
	rows, err := ReadManifest(w.runs)
	if err != nil || rows[1].ResumedFrom != "" || !rows[1].Resumed || rows[2].ResumedFrom != one {
		t.Errorf("rows %+v, %v", rows, err)
	}

	// A second run: the explicit session wins over the branch's own of the run before.
	branched := o.Sessions["branch"]
	branch.ResumePrompt = Say("never said")
	o = w.must(&Workflow{Steps: []Step{step("one"), same, branch}})
	if o.Sessions["branch"] == branched || o.Sessions["one"] != one {
		t.Errorf("sessions of the second run %v", o.Sessions)
	}
	equal(t, "the old branch", w.texts(branched), []string{"start one", "start same", "start branch"})
	if got := w.asked[2].Text(); got != "start branch" {
		t.Errorf("the second branch was told %q", got)
	}
}

func TestForkIsRetriedFromTheOriginal(t *testing.T) {
	w := newWorld(t)
	first := true
	branch := step("branch")
	branch.ResumeFrom, branch.Fork, branch.Retries = "one", true, 1
	w.play["one"] = func(a ask) (string, error) {
		if a.Text() == "start branch" && first {
			first = false
			return "", &agent.ModelError{Kind: agent.Fatal, Message: "broken"}
		}
		return "done", nil
	}
	o := w.must(&Workflow{Steps: []Step{step("one"), branch}})
	equal(t, "the branch", w.texts(o.Sessions["branch"]), []string{"start one", "start branch"})
	equal(t, "the original", w.texts(o.Sessions["one"]), []string{"start one"})
}

func TestResumeFromAStepWithoutSession(t *testing.T) {
	for _, onFail := range []OnFail{Stop, Skip} {
		w := newWorld(t)
		one, two := step("one"), step("two")
		one.When = func(*State) bool { return false }
		two.ResumeFrom, two.OnFail = "one", onFail
		_, err := w.run(&Workflow{Steps: []Step{one, two, step("three")}})
		if (err != nil) != (onFail == Stop) {
			t.Errorf("on fail %d: %v", onFail, err)
		}
		if err != nil {
			in(t, "error", err.Error(), "two", "one", "no session")
		}
		if f := seen[StepFinished](w); f[0].OK || f[0].Name != "two" {
			t.Errorf("finished %+v", f)
		}
	}
}

func TestWorkflowMistakes(t *testing.T) {
	with := func(change func(*Step)) []Step {
		s := step("two")
		change(&s)
		return []Step{step("one"), s}
	}
	for name, steps := range map[string][]Step{
		"no steps":         nil,
		"no name":          with(func(s *Step) { s.Name = "" }),
		"a suffix":         with(func(s *Step) { s.Name = "a#b" }),
		"a judge's suffix": with(func(s *Step) { s.Name = "a·b" }),
		"a line break":     with(func(s *Step) { s.Name = "a\nb" }),
		"no text":          with(func(s *Step) { s.Name = "a\xff" }),
		"twice":            with(func(s *Step) { s.Name = "one" }),
		"no prompt":        with(func(s *Step) { s.Prompt = nil }),
		"fork of nothing":  with(func(s *Step) { s.Fork = true }),
		"unknown step":     with(func(s *Step) { s.ResumeFrom = "three" }),
	} {
		w := newWorld(t)
		o, err := w.run(&Workflow{Steps: steps})
		if err == nil || o == nil || len(w.asked) != 0 || len(seen[WorkflowStarted](w)) != 0 {
			t.Errorf("%s: %v, %d requests", name, err, len(w.asked))
		}
		if entries, _ := filepath.Glob(filepath.Join(w.runs, "*")); len(entries) != 0 {
			t.Errorf("%s: wrote %v", name, entries)
		}
	}
}

func TestSecondRunGoesOn(t *testing.T) {
	w := newWorld(t)
	one, two := step("one"), step("two")
	one.ResumePrompt = func(s *State) string { return fmt.Sprint("go on ", s.Woke) }
	two.ResumePrompt = Say("") // an empty text sends the prompt again
	wf := &Workflow{Steps: []Step{one, two}}
	first := w.must(wf)
	second := w.must(wf)
	if !maps.Equal(first.Sessions, second.Sessions) || second.Woke != 2 {
		t.Errorf("sessions %v and %v, wake %d", first.Sessions, second.Sessions, second.Woke)
	}
	equal(t, "said", []string{w.asked[0].Text(), w.asked[1].Text()}, []string{"go on 2", "start two"})
	for _, s := range seen[StepStarted](w) {
		if !s.Resumed || s.Woke != 2 {
			t.Errorf("%+v", s)
		}
	}
	if o := w.must(wf); o.Woke != 3 || len(o.Results) != 2 {
		t.Errorf("third run: %+v", o)
	}
	if state := WakeState(w.dir, w.runs); state.Woke != 3 || !maps.Equal(state.Steps, first.Sessions) {
		t.Errorf("state %+v", state)
	}
}

func TestFresh(t *testing.T) {
	w := newWorld(t)
	first := w.must(&Workflow{Steps: []Step{step("one")}})
	before := string(read(t, filepath.Join(w.runs, lineageFile)))
	o := w.must(&Workflow{Steps: []Step{step("one")}, Fresh: true})
	if o.Woke != 1 || o.Sessions["one"] == first.Sessions["one"] || w.asked[0].Turn != 1 {
		t.Errorf("wake %d, sessions %v", o.Woke, o.Sessions)
	}
	if after := string(read(t, filepath.Join(w.runs, lineageFile))); after != before {
		t.Errorf("lineage changed:\n%s", after)
	}
	if o := w.must(&Workflow{Steps: []Step{step("one")}}); o.Sessions["one"] != first.Sessions["one"] {
		t.Error("the lineage of before is lost")
	}
}

func TestRenamedAndDeadSteps(t *testing.T) {
	w := newWorld(t)
	first := w.must(&Workflow{Steps: []Step{step("one"), step("two")}})
	if err := w.store.Delete(t.Context(), agent.Key{Project: ProjectKey(w.dir), Session: first.Sessions["two"]}); err != nil {
		t.Fatal(err)
	}
	second := w.must(&Workflow{Steps: []Step{step("uno"), step("two")}})
	if second.Sessions["uno"] == first.Sessions["one"] || second.Sessions["one"] != first.Sessions["one"] {
		t.Errorf("renamed: %v, before %v", second.Sessions, first.Sessions)
	}
	if second.Sessions["two"] == first.Sessions["two"] || w.asked[1].Text() != "start two" {
		t.Errorf("dead: %v, before %v", second.Sessions, first.Sessions)
	}
	said := seen[NotContinued](w)
	if len(said) != 1 || said[0].Step != "two" || said[0].Reason != SessionNotInStore || said[0].Detail != first.Sessions["two"] {
		t.Errorf("said %+v", said)
	}
	w.must(&Workflow{Steps: []Step{step("two")}})
	if said := seen[NotContinued](w); len(said) != 0 || w.asked[0].Session != second.Sessions["two"] {
		t.Errorf("the new session is not the one that goes on: %+v", said)
	}
}

// TestCopiedDirectory: lineage of another path is said, kept beside, and not used.
func TestCopiedDirectory(t *testing.T) {
	w := newWorld(t)
	put(t, filepath.Join(w.runs, lineageFile), `{"workspace":"/elsewhere","woke":7,"steps":{"one":"x"}}`)
	o := w.must(&Workflow{Steps: []Step{step("one")}})
	said := seen[NotContinued](w)
	if len(said) != 1 || said[0].Reason != WorkspaceDiffers || said[0].Detail != "/elsewhere" || o.Woke != 1 {
		t.Fatalf("wake %d, said %+v", o.Woke, said)
	}
	in(t, "kept file", string(read(t, said[0].Kept)), "/elsewhere")
}

// TestLineageHoldsNamesOnly: labels with a suffix and the sessions of gates never get in.
func TestLineageHoldsNamesOnly(t *testing.T) {
	w := newWorld(t)
	w.play["one"] = failing(1)
	s := step("one")
	s.Retries = 1
	s.Gate = func(ctx context.Context, st *State, _ StepResult) (Decision, error) {
		judged, err := st.Runtime.Run(ctx, Attempt{Step: "one", Label: JudgeLabel("one", st.Round), Agent: named("judge"), Prompt: "judge"})
		if err != nil {
			return Decision{}, err
		}
		if st.Sessions["one"] == judged.SessionID {
			t.Error("the judge's session is remembered")
		}
		return Decision{Pass: st.Round == 2, Reason: "no"}, nil
	}
	s.OnReject = func(*State, Decision) string { return "again" }
	o := w.must(&Workflow{Steps: []Step{s}})
	equal(t, "rows", w.rows(), []string{
		"one: endpoint not reached: broken", "one#retry1", "one·判定#1", "one#round2", "one·判定#2",
	})
	steps := WakeState(w.dir, w.runs).Steps
	if len(steps) != 1 || steps["one"] != o.Results[1].SessionID || o.Results[3].SessionID != steps["one"] {
		t.Errorf("lineage %v", steps)
	}
}

// TestLineageIsWrittenFirst looks at disk and store from where the first request arrives, also when the first attempt fails:
// the session is named, and what it was named for is in it.
func TestLineageIsWrittenFirst(t *testing.T) {
	w := newWorld(t)
	looked := 0
	fail := failing(1)
	w.play["one"] = func(a ask) (string, error) {
		looked++
		if got := WakeState(w.dir, w.runs); got.Steps["one"] != a.Session || got.Woke != 1 {
			t.Errorf("lineage %+v when session %s is asked", got, a.Session)
		}
		lines, err := w.store.Load(t.Context(), agent.Key{Project: ProjectKey(w.dir), Session: a.Session})
		if err != nil || len(lines) == 0 {
			t.Errorf("%d entries in the session, %v", len(lines), err)
		}
		return fail(a)
	}
	s := step("one")
	s.Retries = 1
	w.must(&Workflow{Steps: []Step{s}})
	if looked != 2 {
		t.Errorf("looked %d times", looked)
	}
}

// TestSessionIsNamedWhenItHoldsSomething: a process that dies before the prompt is stored leaves no name behind, so that no
// later run misses a session.
func TestSessionIsNamedWhenItHoldsSomething(t *testing.T) {
	w := newWorld(t)
	w.before = func(req agent.Request) {
		if got := WakeState(w.dir, w.runs); got.Steps["one"] != "" {
			t.Errorf("lineage %+v before session %s holds anything", got, req.Key.Session)
		}
	}
	o := w.must(&Workflow{Steps: []Step{step("one")}})
	if got := WakeState(w.dir, w.runs); got.Steps["one"] != o.Sessions["one"] || got.Steps["one"] == "" {
		t.Errorf("lineage %+v after", got)
	}
}

// TestUnwritableBooks: a file stands where the run directory should be. The run goes on and says so once a book.
func TestUnwritableBooks(t *testing.T) {
	w := newWorld(t)
	put(t, w.runs, "")
	o, err := w.run(&Workflow{Steps: []Step{step("one"), step("two")}})
	if err != nil || len(o.Results) != 2 || o.Woke != 1 {
		t.Fatalf("%+v, %v", o, err)
	}
	var paths []string
	for _, f := range seen[BooksFailed](w) {
		paths = append(paths, filepath.Base(f.Path))
	}
	equal(t, "said", paths, []string{lineageFile, manifestFile})
	if n := len(seen[NotContinued](w)); n != 0 {
		t.Errorf("%d times not continued: nothing was there", n)
	}
}

func TestBeginThatFailsCountsNoWake(t *testing.T) {
	w := newWorld(t)
	wf := &Workflow{Steps: []Step{step("one")}, Begin: func(context.Context, *State) error { return errBroken }}
	if _, err := w.run(wf); !errors.Is(err, errBroken) {
		t.Fatal(err)
	}
	if state := WakeState(w.dir, w.runs); state.Woke != 0 {
		t.Errorf("wakes %d", state.Woke)
	}
}

// TestStoppedBetweenSteps: no step begins on a context that is done, and the cause is what is told.
func TestStoppedBetweenSteps(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	one := step("one")
	one.Reduce = func(*State, StepResult) { cancel(errBroken) }
	_, err := (&Workflow{Steps: []Step{one, step("two")}}).Run(ctx, w.start())
	if !errors.Is(err, errBroken) || len(w.asked) != 1 || len(seen[StepStarted](w)) != 1 {
		t.Errorf("%v, agents %v", err, w.agents())
	}
}

// TestLineageIsWrittenAgainAtTheEnd: where the name of a session could not be written when it was made, it is when the
// attempt is over; the last step has no later write.
func TestLineageIsWrittenAgainAtTheEnd(t *testing.T) {
	w := newWorld(t)
	put(t, w.runs, "") // a file in place of the run directory
	w.play["one"] = func(ask) (string, error) {
		return "done", os.Remove(w.runs)
	}
	o := w.must(&Workflow{Steps: []Step{step("one")}})
	if got := WakeState(w.dir, w.runs).Steps["one"]; got == "" || got != o.Sessions["one"] {
		t.Errorf("lineage names %q, the session is %q", got, o.Sessions["one"])
	}
}
