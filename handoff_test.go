package flower

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"flower/agent"
	"flower/document"
	"flower/internal/workbench"
)

// shelf is a Windows with one window for all models.
type shelf struct {
	window int
	noted  []int // overflows
}

func (s *shelf) Window(context.Context, string) (int, string) { return s.window, "test" }

func (s *shelf) Overflowed(_ string, tokens int) error {
	s.noted = append(s.noted, tokens)
	s.window = min(s.window, tokens)
	return nil
}

func (s *shelf) Same(asked, answered string) bool { return asked == answered }

// asksHandoff says whether a request asks for a handoff document.
func asksHandoff(a ask) bool { return strings.Contains(a.Text(), "## Dead ends") }

// handoffText is a document as models write them.
func handoffText(fact string) string {
	return "Here it is.\n\n## Doing now\nCounting words.\n\n## Decided\n" + fact + "\n\n## Dead ends\nawk\n\n## Next step\nWrite the test.\n\n## Scene\nmain.go\n"
}

// rounds is a workflow of one step that is sent back until its result says DONE.
func rounds() *Workflow {
	s := step("work")
	s.Standing = func(*State) string { return "STANDING WORDS" }
	s.Gate = func(_ context.Context, _ *State, r StepResult) (Decision, error) {
		if strings.Contains(r.Text, "DONE") {
			return Accept(), nil
		}
		return Reject("not yet"), nil
	}
	s.OnReject = func(st *State, _ Decision) string { return fmt.Sprintf("round %d please", st.Round+1) }
	return &Workflow{Steps: []Step{s}}
}

func TestFullSessionHandsOver(t *testing.T) {
	w := newWorld(t)
	windows := &shelf{window: 100_000} // the line is at 50,000, the notice at 30,000
	w.opts = func(o *RuntimeOptions) { o.Windows = windows }
	contexts := map[string]int{"go on": 20_000, "round 2 please": 35_000, "round 3 please": 50_000}
	w.weigh = func(a ask) int {
		for said, n := range contexts {
			if strings.Contains(a.Text(), said) && a.Turn > 1 {
				return n
			}
		}
		return 1_000
	}
	handed := 0
	w.play["work"] = func(a ask) (string, error) {
		switch {
		case asksHandoff(a):
			handed++
			return handoffText("The person likes blue."), nil
		case strings.Contains(a.Text(), "take over"):
			return "all DONE", nil
		}
		return "some work", nil
	}
	o := w.must(rounds())

	if handed != 1 {
		t.Fatalf("asked %d times for a document", handed)
	}
	near, over := seen[WindowNear](w), seen[HandedOver](w)
	if len(near) != 1 || near[0].Context != 35_000 || near[0].Line != 50_000 {
		t.Errorf("notices %+v", near)
	}
	if len(over) != 1 || over[0].Degraded || over[0].Generation != 1 {
		t.Fatalf("handoffs %+v", over)
	}
	last := o.Results[len(o.Results)-1]
	if last.Step != "work#round4" || last.SessionID != over[0].To || !slices.Equal(last.Retired, []string{over[0].From}) || last.Attempts != 1 {
		t.Errorf("row %+v", last)
	}
	if last.CostUSD != 0.5 || last.Turns != 2 {
		t.Errorf("the row counts $%g and %d turns, want those of both sessions", last.CostUSD, last.Turns)
	}
	if got := w.lineage().steps["work"]; got != over[0].To {
		t.Errorf("lineage names %s, want the successor %s", got, over[0].To)
	}
	first := w.texts(over[0].To)[0]
	in(t, "first prompt of the successor", first, "STANDING WORDS", "The person likes blue.", "Write the test.", "round 4 please")
	in(t, "document", w.note(workbench.HandoffNote("work")), "The person likes blue.")
	// The next process goes on with the successor.
	w.play["work"] = func(ask) (string, error) { return "DONE", nil }
	again := w.must(rounds())
	if again.Sessions["work"] != over[0].To {
		t.Errorf("the next run goes on in %s", again.Sessions["work"])
	}
}

func TestOlderHandoffsAreArchived(t *testing.T) {
	w := newWorld(t)
	w.opts = func(o *RuntimeOptions) { o.Windows = &shelf{window: 100_000} }
	w.weigh = func(ask) int { return 60_000 }
	n := 0
	w.play["work"] = func(a ask) (string, error) {
		if asksHandoff(a) {
			n++
			return handoffText(fmt.Sprint("fact ", n)), nil
		}
		if n == 3 {
			return "DONE", nil
		}
		return "work", nil
	}
	w.must(rounds())
	in(t, "document", w.note(workbench.HandoffNote("work")), "fact 3")
	old, err := filepath.Glob(filepath.Join(w.dir, ".flower/notes/archive/交接/work-*.md"))
	if err != nil || len(old) != 2 {
		t.Fatalf("archive: %v, %v", old, err)
	}
	var texts []string
	for _, path := range old {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(data))
	}
	in(t, "archive", strings.Join(texts, ""), "fact 1", "fact 2")
}

func TestDegradedHandoffs(t *testing.T) {
	tests := map[string]func(n int) (string, error){ // what the model makes of being asked for a document
		"no document": func(int) (string, error) { return "I would rather go on working.", nil },
		"overflow":    func(int) (string, error) { return "", &agent.ModelError{Kind: agent.Overflow, Message: "too long"} },
	}
	for name, document := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.opts = func(o *RuntimeOptions) { o.Windows = &shelf{window: 100_000} }
			long := strings.Repeat("字", 50_000)
			w.weigh = func(ask) int { return 60_000 }
			asked := 0
			w.play["work"] = func(a ask) (string, error) {
				if asksHandoff(a) {
					asked++
					return document(asked)
				}
				return long, nil
			}
			_, err := w.run(rounds())
			var stop *HandoffError
			if !errors.As(err, &stop) || !stop.Degraded || stop.Generations != 2 {
				t.Fatalf("ended with %v", err)
			}
			in(t, "advice", err.Error(), "--window", stop.Path)
			over := seen[HandedOver](w)
			if len(over) != 1 || !over[0].Degraded {
				t.Fatalf("handoffs %+v", over)
			}
			text := w.note(workbench.HandoffNote("work"))
			if n := utf8.RuneCountInString(text); n > 12_000 {
				t.Errorf("a document of %d characters", n)
			}
			in(t, "document", text, "Put together by the program", "round 3 please")
			if first := w.texts(over[0].To)[0]; !strings.Contains(first, "may miss things") || !strings.Contains(first, "round 2 please") {
				t.Errorf("first prompt: %.2000s", first)
			}
		})
	}
}

func TestTooManyHandoffs(t *testing.T) {
	w := newWorld(t)
	w.opts = func(o *RuntimeOptions) { o.Windows = &shelf{window: 100_000} }
	w.weigh = func(ask) int { return 60_000 }
	w.play["work"] = func(a ask) (string, error) {
		if asksHandoff(a) {
			return handoffText("x"), nil
		}
		return "work", nil
	}
	_, err := w.run(rounds())
	var stop *HandoffError
	if !errors.As(err, &stop) || stop.Degraded || stop.Generations != 8 || len(seen[HandedOver](w)) != 8 {
		t.Fatalf("ended with %v after %d handoffs", err, len(seen[HandedOver](w)))
	}
}

func TestWindowBelowTheFloor(t *testing.T) {
	w := newWorld(t)
	w.opts = func(o *RuntimeOptions) { o.Windows = &shelf{window: 12_000} }
	_, err := w.run(&Workflow{Steps: []Step{step("work")}})
	var small *WindowError
	if !errors.As(err, &small) || small.Window != 12_000 || small.Floor <= 12_000 || len(w.asked) != 0 {
		t.Fatalf("ended with %v after %d requests", err, len(w.asked))
	}
	in(t, "advice", err.Error(), "--window", "12000")
}

func TestOverflowHandsOverAndTeachesTheWindow(t *testing.T) {
	w := newWorld(t)
	windows := &shelf{window: 200_000}
	w.opts = func(o *RuntimeOptions) { o.Windows = windows }
	w.weigh = func(a ask) int {
		if strings.Contains(a.Text(), "take over") {
			return 5_000
		}
		return 41_000
	}
	w.play["work"] = func(a ask) (string, error) {
		switch {
		case asksHandoff(a):
			return handoffText("a fact"), nil
		case strings.Contains(a.Text(), "take over"):
			return "DONE", nil
		case a.Turn > 1:
			return "", &agent.ModelError{Kind: agent.Overflow, Status: 400, Message: "prompt is too long"}
		}
		return "work", nil
	}
	o := w.must(rounds())
	if !slices.Equal(windows.noted, []int{41_000}) {
		t.Errorf("noted %v", windows.noted)
	}
	over := seen[HandedOver](w)
	if len(over) != 1 || over[0].Degraded {
		t.Fatalf("handoffs %+v", over)
	}
	last := o.Results[len(o.Results)-1]
	if !last.OK || last.Attempts != 1 || len(last.Errors) != 1 || last.SessionID != over[0].To {
		t.Errorf("row %+v", last)
	}
	for _, text := range w.texts(over[0].To) {
		if strings.Contains(text, "prompt is too long") {
			t.Errorf("the error is in the conversation: %s", text)
		}
	}
}

func TestOverflowTeachesOnlyWhatItShows(t *testing.T) {
	for _, tt := range []struct{ context, said, want int }{
		{41_000, 0, 41_000},
		{41_000, 200_000, 41_000},
		{41_000, 32_000, 32_000},
		{1_000, 0, 0}, // what was added last was too large, the window may be any
		{1_000, 200_000, 200_000},
		{0, 0, 0},
	} {
		w := newWorld(t)
		windows := &shelf{window: 1_000_000}
		w.opts = func(o *RuntimeOptions) { o.Windows = windows }
		w.start().overflowed("m", tt.context, &agent.ModelError{Kind: agent.Overflow, Window: tt.said})
		if got := append(windows.noted, 0)[0]; got != tt.want {
			t.Errorf("context %d, %d said: noted %d, want %d", tt.context, tt.said, got, tt.want)
		}
	}
}

func TestHandoffSurvivesTheProcess(t *testing.T) {
	w := newWorld(t)
	w.opts = func(o *RuntimeOptions) { o.Windows = &shelf{window: 100_000} }
	w.weigh = func(a ask) int {
		if strings.Contains(a.Text(), "take over") {
			return 5_000
		}
		return 60_000
	}
	dies := true
	w.play["work"] = func(a ask) (string, error) {
		switch {
		case asksHandoff(a) && dies:
			return "", &agent.ModelError{Kind: agent.Fatal, Status: 401, Message: "revoked"}
		case asksHandoff(a):
			return handoffText("a fact"), nil
		case strings.Contains(a.Text(), "take over"):
			return "DONE", nil
		}
		return "work", nil
	}
	o, err := w.run(rounds())
	var failure *agent.ModelError
	if !errors.As(err, &failure) || failure.Status != 401 {
		t.Fatalf("ended with %v", err)
	}
	old := o.Sessions["work"]
	if got := w.lineage().steps["work"]; got != old {
		t.Fatalf("lineage names %s, the session is %s", got, old)
	}
	dies = false
	o = w.must(rounds())
	if last := o.Results[len(o.Results)-1]; !slices.Equal(last.Retired, []string{old}) || w.lineage().steps["work"] != last.SessionID {
		t.Errorf("row %+v", last)
	}
}

func TestRedefinedStepBeginsAnew(t *testing.T) {
	w := newWorld(t)
	w.play["work"] = func(a ask) (string, error) {
		if asksHandoff(a) {
			return handoffText("a fact"), nil
		}
		return "DONE", nil
	}
	w.play["other"] = func(ask) (string, error) { return "DONE", nil }
	old := w.must(rounds()).Sessions["work"]
	changed := rounds()
	changed.Steps[0].Agent.Instructions = "other"
	o := w.must(changed)
	begun := seen[HandingOver](w)
	if len(begun) != 1 || begun[0].Cause != Redefined {
		t.Fatalf("handoffs %+v", begun)
	}
	row := o.Results[0]
	if row.SessionID == old || !slices.Equal(row.Retired, []string{old}) || w.lineage().steps["work"] != row.SessionID {
		t.Errorf("row %+v", row)
	}
	if !slices.Equal(w.agents(), []string{"work", "other"}) {
		t.Errorf("asked %v: the old role writes the document, the new one goes on", w.agents())
	}
	in(t, "first prompt", w.texts(row.SessionID)[0], "STANDING WORDS", "a fact")
	rows, err := ReadManifest(w.runs)
	if err != nil || rows[0].Definition == "" || rows[0].Definition == rows[1].Definition {
		t.Errorf("definitions in the manifest: %+v, %v", rows, err)
	}
	if w.must(changed); len(seen[HandingOver](w)) != 0 {
		t.Error("a definition that stays is handed over again")
	}
}

func TestOtherModelIsSaidOnce(t *testing.T) {
	w := newWorld(t)
	w.opts = func(o *RuntimeOptions) { o.Windows = &shelf{window: 100_000} }
	s := step("work")
	s.Agent.Model = "asked-for"
	w.must(&Workflow{Steps: []Step{s, step("more")}})
	if said := seen[ModelDiffers](w); len(said) != 1 || said[0] != (ModelDiffers{Asked: "asked-for", Answered: "m"}) {
		t.Errorf("said %+v", said)
	}
}

func TestHandoffLine(t *testing.T) {
	for window, want := range map[int]int{
		1_000_000: 750_000, 200_000: 150_000, 100_000: 50_000, 60_000: 10_000, 41_000: 10_000, 0: 10_000,
	} {
		if got := handoffLine(window); got != want {
			t.Errorf("line of %d: %d, want %d", window, got, want)
		}
	}
}

func TestAnswersFitSmallWindows(t *testing.T) {
	spec := agent.Spec{Subagents: []agent.Spec{{MaxTokens: 9_000}}}
	if got := fit(spec, 200_000); got.MaxTokens != 0 || got.Subagents[0].MaxTokens != 9_000 {
		t.Errorf("large window: %+v", got)
	}
	if got := fit(spec, 32_000); got.MaxTokens != 8_000 || got.Subagents[0].MaxTokens != 8_000 || spec.Subagents[0].MaxTokens != 9_000 {
		t.Errorf("small window: %+v", got)
	}
}

func TestAssembledDocumentCannotBeMistaken(t *testing.T) {
	doc := document.Handoff{Doing: quote("## Next step\nlies\n" + strings.Repeat("x", 9_999)), Next: "truth"}
	again := document.ParseHandoff(doc.Markdown("s"))
	if again.Next != "truth" || !strings.Contains(again.Doing, "lies") {
		t.Errorf("read back: %+v", again)
	}
}

// A remark that was delivered into the session that had to be left is in the document; what the session was asked for at
// its end is not.
func TestAssembledDocumentQuotesThePerson(t *testing.T) {
	w := newWorld(t)
	w.opts = func(o *RuntimeOptions) { o.Windows = &shelf{window: 1_000_000} }
	wf := rounds()
	wf.Steps[0].Inbox = true
	w.play["work"] = func(a ask) (string, error) {
		switch {
		case strings.Contains(a.Text(), "take over"):
			return "DONE", nil
		case a.Turn > 1:
			return "", &agent.ModelError{Kind: agent.Overflow, Status: 400, Message: "prompt is too long"}
		}
		note := agent.Note{ID: "11111111-1111-4111-8111-111111111111", Text: "make it blue", At: w.now()}
		return "I count words", w.store.AddNote(t.Context(), ProjectKey(w.dir), note)
	}
	w.must(wf)
	over := seen[HandedOver](w)
	if len(over) != 1 || !over[0].Degraded {
		t.Fatalf("handoffs %+v", over)
	}
	first := w.texts(over[0].To)[0]
	in(t, "first prompt of the successor", first, "make it blue", "I count words")
	if strings.Contains(first, "what you do not write down is lost") {
		t.Errorf("the successor is told what its predecessor was asked for:\n%s", first)
	}
}

// An interrupt while the document is written does not lose what the session had been told last and had not answered.
func TestInterruptedHandoffKeepsWhatWasNotAnswered(t *testing.T) {
	w := newWorld(t)
	w.opts = func(o *RuntimeOptions) {
		o.Windows = &shelf{window: 100_000}
		o.OnInterrupt = func(context.Context) (string, bool) { return "", true }
	}
	w.weigh = func(ask) int { return 60_000 }
	asked := 0
	w.play["work"] = func(a ask) (string, error) {
		switch {
		case asksHandoff(a):
			if asked++; asked == 1 && !w.rt.Interrupt() {
				t.Error("nothing to interrupt")
			}
			return handoffText("a fact"), nil
		case strings.Contains(a.Text(), "take over"):
			return "DONE", nil
		}
		return "work", nil
	}
	w.must(rounds())
	over := seen[HandedOver](w)
	if len(over) != 1 || asked != 2 {
		t.Fatalf("asked %d times, handoffs %+v", asked, over)
	}
	in(t, "first prompt of the successor", w.texts(over[0].To)[0], "round 2 please", "side effect")
}
