package flower

import (
	"errors"
	"path/filepath"
	"testing"

	"flower/agent"
)

func TestSideQuestions(t *testing.T) {
	w := newWorld(t)
	w.play["# Role: oracle"] = func(ask) (string, error) { return "It counts.", nil }
	main := w.start()
	beside := newWorld(t)
	beside.dir, beside.runs, beside.play = w.dir, filepath.Join(w.runs, "aside"), w.play
	beside.store = NewMemoryStore(w.dir)
	beside.opts = func(o *RuntimeOptions) { o.Meter = main.Meter() }
	rt := beside.start()
	first, err := rt.Consult(t.Context(), "", "what now?", []string{"12:00:00 + settled"})
	if err != nil || first.Text != "It counts." {
		t.Fatalf("%+v, %v", first, err)
	}
	in(t, "the oracle was told", beside.asked[0].Text(), "what now?", "12:00:00 + settled")
	second, err := rt.Consult(t.Context(), first.SessionID, "and then?", nil)
	if err != nil || second.SessionID != first.SessionID || len(beside.texts(first.SessionID)) != 2 {
		t.Errorf("a second question goes to %s, the first went to %s: %v", second.SessionID, first.SessionID, err)
	}
	if _, usd, _ := main.Meter().Spent(); usd != 0.5 {
		t.Errorf("the budget has $%g, want the two answers", usd)
	}
	if usd, _ := main.Spent(); usd != 0 {
		t.Errorf("the work has spent $%g; the answers stand in other books", usd)
	}
	if rows, err := ReadManifest(w.runs); err != nil || len(rows) != 0 {
		t.Errorf("the work's books: %+v, %v", rows, err)
	}
	if rows, err := ReadManifest(beside.runs); err != nil || len(rows) != 2 || rows[0].Step != StepAside {
		t.Errorf("books of its own: %+v, %v", rows, err)
	}
}

func TestSideQuestionsCostLittle(t *testing.T) {
	w := newWorld(t)
	w.play["# Role: oracle"] = func(ask) (string, error) { return "", &agent.ModelError{Kind: agent.Overflow} }
	w.opts = func(o *RuntimeOptions) { o.NoHandoff = true }
	var failure *agent.ModelError
	if _, err := w.start().Consult(t.Context(), "", "x", nil); !errors.As(err, &failure) {
		t.Errorf("ended with %v", err)
	}
	limits := Oracle(English).Limits
	if limits.Turns != 12 || limits.CostUSD != 0.5 {
		t.Errorf("limits %+v", limits)
	}
}
