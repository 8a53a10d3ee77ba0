package flower

import (
	"context"
	"errors"
	"strings"
	"testing"

	"flower/internal/workbench"
)

// interrupted is a job whose person interrupts an agent at its first request and says something.
func interrupted(t *testing.T, who, remark string) *world {
	t.Helper()
	w := newJob(t)
	w.human = newPerson(t, w, HumanOptions{Timeout: -1}).Human
	w.opts = func(o *RuntimeOptions) { o.OnInterrupt = func(context.Context) (string, bool) { return remark, true } }
	play, first := w.play[who], true
	w.play[who] = func(a ask) (string, error) {
		if first {
			first = false
			w.rt.Interrupt()
			return "", errBroken // cut off
		}
		return play(a)
	}
	return w
}

// TestRemarkAtAnInterrupt: what is said at an interrupt is a remark like any other, and the agent that was interrupted
// hears it whoever it is.
func TestRemarkAtAnInterrupt(t *testing.T) {
	for _, test := range []struct {
		who  string
		left int // remarks that no agent at work has heard when the run ends
	}{
		{clarifier, 0},
		{goalSetter, 0},
		{coordinator, 0},
		{judge, 1},
	} {
		t.Run(test.who, func(t *testing.T) {
			w := interrupted(t, test.who, " in green\n")
			w.mustJob("a clock")
			if n := strings.Count(w.note(workbench.Brief), "in green"); n != 1 {
				t.Errorf("%d times in the brief", n)
			}
			in(t, "brief", w.note(workbench.Brief), "## 运行中补充(")
			in(t, test.who, w.toldTo(test.who), "interrupted you", "in green")
			if n := strings.Count(w.toldTo(test.who), "side effect"); n != 1 {
				t.Errorf("told %d times that failures are a side effect", n)
			}
			notes, err := w.store.PendingNotes(t.Context(), ProjectKey(w.dir))
			if err != nil || len(notes) != test.left {
				t.Errorf("%d remarks wait, %v", len(notes), err)
			}
			w.mustJob("") // what was left is heard now, what was heard is not said again
			if n := w.heard(); n != 1 {
				t.Errorf("said %d times to the coordinator", n)
			}
			if n := strings.Count(w.note(workbench.Brief), "in green"); n != 1 {
				t.Errorf("%d times in the brief", n)
			}
		})
	}
}

// heard counts how often the person says "in green" in the work step's session.
func (w *world) heard() int {
	w.t.Helper()
	n := 0
	for _, text := range w.texts(WakeState(w.dir, w.runs).Steps[StepWork]) {
		if strings.HasPrefix(text, "The person says") && strings.Contains(text, "in green") {
			n++
		}
	}
	return n
}

// TestRemarkAtAnInterruptOutlivesTheProcess: the process ends between Enter and delivery.
func TestRemarkAtAnInterruptOutlivesTheProcess(t *testing.T) {
	for _, who := range []string{clarifier, goalSetter, coordinator, judge} {
		t.Run(who, func(t *testing.T) {
			w := interrupted(t, who, "in green")
			ctx, cancel := context.WithCancelCause(t.Context())
			opts := w.opts
			w.opts = func(o *RuntimeOptions) {
				opts(o)
				o.Observe = func(ev Event) {
					w.observe(ev)
					if _, ok := ev.(NoteTaken); ok {
						cancel(errBroken)
					}
				}
			}
			if _, err := Starter(StarterOptions{Ask: "a clock", Lang: English}).Run(ctx, w.start()); !errors.Is(err, errBroken) {
				t.Fatal(err)
			}
			w.opts = opts
			for range 2 {
				w.mustJob("")
			}
			if n := w.heard(); n != 1 {
				t.Errorf("said %d times to the coordinator", n)
			}
			if n := strings.Count(w.note(workbench.Brief), "in green"); n != 1 {
				t.Errorf("%d times in the brief", n)
			}
		})
	}
}

// TestRemarkAtAnInterruptThatCannotBeKept: it cannot be, and nothing goes on as if it were.
func TestRemarkAtAnInterruptThatCannotBeKept(t *testing.T) {
	w := interrupted(t, coordinator, "in green")
	w.store = failingInbox{w.store, errBroken}
	if _, err := w.job("a clock"); !errors.Is(err, errBroken) {
		t.Errorf("ended with %v", err)
	}
	notIn(t, "coordinator", w.toldTo(coordinator), "in green")
}

// TestRemarkAfterTheLastTurn: it comes when the agent has nothing left to do, and is kept for the next round or, if there
// is none, for the next run.
func TestRemarkAfterTheLastTurn(t *testing.T) {
	for name, verdicts := range map[string][]string{
		"another round": {notYet, achieved},
		"the last":      {achieved},
	} {
		t.Run(name, func(t *testing.T) {
			w := newJob(t)
			p := newPerson(t, w, HumanOptions{Timeout: -1})
			w.human = p.Human
			said := false
			play := inOrder(verdicts...)
			w.play[judge] = func(a ask) (string, error) {
				if !said {
					said = true
					if err := p.Say(t.Context(), "in green"); err != nil {
						return "", err
					}
				}
				return play(a)
			}
			w.mustJob("a clock")
			if want := len(verdicts) - 1; w.heard() != want {
				t.Errorf("heard %d times in the run, want %d", w.heard(), want)
			}
			w.play[judge] = inOrder(achieved)
			w.mustJob("")
			w.mustJob("")
			if n := w.heard(); n != 1 {
				t.Errorf("heard %d times in the end", n)
			}
		})
	}
}
