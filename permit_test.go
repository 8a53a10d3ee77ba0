package flower

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"flower/internal/workbench"
)

func callQuestion() Question {
	return Question{ID: "call", Text: "May it?", Options: []string{"Allow", "Refuse"}, Permission: &Permission{
		Tool: "Bash", Input: []byte(`{"command":"true"}`), Yes: []string{"y", "ja"}, No: []string{"n"},
	}}
}

// TestPermit: one answer allows, everything else does not.
func TestPermit(t *testing.T) {
	for _, test := range []struct {
		said    string
		allowed bool
		how     AnswerKind
		answer  string
	}{
		{"1", true, Given, "Allow"},
		{"Allow", true, Given, "Allow"},
		{"Y", true, Given, "Y"},
		{" ja ", true, Given, "ja"},
		{"2", false, Skipped, ""},
		{"refuse", false, Skipped, ""},
		{"N", false, Skipped, ""},
		{"", false, Skipped, ""},
		{"3", false, Given, "3"},
		{"1,2", false, Given, "Allow\nRefuse"},
		{"yes, but in blue", false, Given, "yes, but in blue"},
		{"al\u200blow", false, Given, "al\u200blow"},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			p := newPerson(t, w, HumanOptions{MaxQuestions: -1}) // the quota is that of agents
			go p.answer(t, test.said)
			got, err := p.Permit(t.Context(), callQuestion())
			if err != nil || got.Allowed != test.allowed || got.How != test.how || got.Answer != test.answer {
				t.Errorf("%q: %+v, %v", test.said, got, err)
			}
			if s := p.settled(); len(s) != 1 || s[0].Allowed != test.allowed || s[0].Question.Permission == nil {
				t.Errorf("%q: told %+v", test.said, s)
			}
			if _, kept, _ := w.store.Answer(t.Context(), "call"); kept {
				t.Errorf("%q is kept for the next time", test.said)
			}
			if log := w.note(workbench.QuestionLog); log == "" {
				t.Errorf("%q is not in the log", test.said)
			}
			synctest.Wait()
		})
	}
}

// TestPermitWithoutAnswer: time that runs out, nobody, and a run that ends are no yes; who asks again is asked anew.
func TestPermitWithoutAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		p := newPerson(t, w, HumanOptions{Timeout: 5 * time.Minute, NoLog: true})
		began := time.Now()
		got, err := p.Permit(t.Context(), callQuestion())
		if err != nil || got.Allowed || got.How != TimedOut || time.Since(began) != 5*time.Minute {
			t.Errorf("%+v, %v after %v", got, err, time.Since(began))
		}
		if p.Answer("call", "1") {
			t.Error("an answer that comes too late is taken")
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() { synctest.Wait(); cancel(errBroken) }()
		if got, err := p.Permit(ctx, callQuestion()); !errors.Is(err, errBroken) || got.Allowed {
			t.Errorf("%+v, %v", got, err)
		}
		go p.answer(t, "1")
		if got, err := p.Permit(t.Context(), callQuestion()); err != nil || !got.Allowed {
			t.Errorf("asked again: %+v, %v", got, err)
		}
		p.Leave()
		if got, err := p.Permit(t.Context(), callQuestion()); err != nil || got.Allowed || got.How != Nobody {
			t.Errorf("nobody: %+v, %v", got, err)
		}
		if log := w.note(workbench.QuestionLog); log != "" {
			t.Errorf("the log has %q", log)
		}
		synctest.Wait()
	})
}
