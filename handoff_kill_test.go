package flower

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"flower/agent"
	"flower/transcript"
)

var errDead = errors.New("the process is gone")

// mortal is a store whose process dies with its nth write: that one is made or not, and nothing works any more after it.
type mortal struct {
	Store
	left int
	torn bool // the last write is not made
	dead bool
}

func (m *mortal) write(do func() error) error {
	switch {
	case m.dead:
		return errDead
	case m.left > 0:
		m.left--
		return do()
	}
	m.dead = true
	if !m.torn {
		_ = do()
	}
	return errDead
}

func (m *mortal) Append(ctx context.Context, key agent.Key, entries ...transcript.Entry) error {
	return m.write(func() error { return m.Store.Append(ctx, key, entries...) })
}

func (m *mortal) SetPrefix(ctx context.Context, key agent.Key, p agent.Prefix) error {
	return m.write(func() error { return m.Store.SetPrefix(ctx, key, p) })
}

func (m *mortal) MarkDelivered(ctx context.Context, project string, ids []string) error {
	return m.write(func() error { return m.Store.MarkDelivered(ctx, project, ids) })
}

// TestHandoffKilledAtEveryWrite kills a run with two handoffs, one at the line and one after an overflow, at each of its
// writes. The next process comes to the end: nothing is refused, the remark is heard once, what was only said is handed on.
func TestHandoffKilledAtEveryWrite(t *testing.T) {
	for n := 0; ; n++ {
		finished := false
		for _, torn := range []bool{true, false} {
			t.Run(fmt.Sprintf("write %d torn %v", n, torn), func(t *testing.T) {
				w := newHandoffWorld(t)
				kept := w.store
				dying := &mortal{Store: kept, left: n, torn: torn}
				w.store = dying
				_, err := w.run(handoffWorkflow())
				if finished = err == nil; finished {
					w.checkHandedOver()
					return
				}
				if !errors.Is(err, errDead) {
					t.Fatalf("ended with %v", err)
				}
				w.store = kept
				w.must(handoffWorkflow())
				w.checkHandedOver()
			})
		}
		if finished || t.Failed() {
			if n < 8 {
				t.Errorf("only %d writes", n)
			}
			return
		}
	}
}

// newHandoffWorld is a world whose agent knows a fact only from what it was told, and must still know it at the end.
func newHandoffWorld(t *testing.T) *world {
	w := newWorld(t)
	w.opts = func(o *RuntimeOptions) { o.Windows = &shelf{window: 100_000} }
	remark := agent.Note{ID: "99999999-0000-4000-8000-000000000000", Text: "and in blue", At: time.Unix(1, 0)}
	if err := w.store.AddNote(t.Context(), ProjectKey(w.dir), remark); err != nil {
		t.Fatal(err)
	}
	w.weigh = func(a ask) int {
		if strings.Contains(a.Text(), "round 2") {
			return 60_000
		}
		return 41_000
	}
	w.play["work"] = func(a ask) (string, error) {
		switch {
		case asksHandoff(a):
			return handoffText("fact: blue"), nil
		case strings.Contains(a.Text(), "round 4") && a.Turn > 1:
			return "", &agent.ModelError{Kind: agent.Overflow, Status: 400, Message: "prompt is too long"}
		case strings.Contains(a.Text(), "round 4"), strings.Contains(a.Text(), "round 5"):
			return "DONE", nil
		}
		return "work", nil
	}
	return w
}

func handoffWorkflow() *Workflow {
	wf := rounds()
	wf.Steps[0].Inbox = true
	return wf
}

func (w *world) checkHandedOver() {
	w.t.Helper()
	sessions, err := w.store.Sessions(w.t.Context(), ProjectKey(w.dir))
	if err != nil {
		w.t.Fatal(err)
	}
	heard, successors := 0, 0
	for _, s := range sessions {
		if w.rt.ContextOf(w.t.Context(), s.ID) == 0 {
			continue // it died before it was named, nobody has answered in it
		}
		for i, text := range w.texts(s.ID) {
			if strings.Contains(text, "and in blue") {
				heard++
			}
			if i == 0 && strings.Contains(text, "take over") {
				successors++
				if !strings.Contains(text, "STANDING WORDS") || !strings.Contains(text, "fact: blue") {
					w.t.Errorf("a successor was told %s", text)
				}
			}
			if strings.Contains(text, "prompt is too long") {
				w.t.Errorf("the error is in session %s: %s", s.ID, text)
			}
		}
	}
	if heard != 1 {
		w.t.Errorf("the remark was heard %d times", heard)
	}
	if successors == 0 {
		w.t.Error("nothing was handed over")
	}
	id := w.lineage().steps["work"]
	if first := w.texts(id); len(first) == 0 || !strings.Contains(first[0], "take over") {
		w.t.Errorf("lineage names %s, which begins with %q", id, first)
	}
	if waiting, err := w.store.PendingNotes(w.t.Context(), ProjectKey(w.dir)); err != nil || len(waiting) != 0 {
		w.t.Errorf("%d remarks wait, %v", len(waiting), err)
	}
}
