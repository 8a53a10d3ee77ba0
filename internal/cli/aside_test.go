package cli

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"flower"
)

// heardAsides keeps what becomes of side questions.
type heardAsides struct{ said []string }

func (h *heardAsides) asideAsked(q sideQuestion) { h.said = append(h.said, "asked "+q.text) }
func (h *heardAsides) asideWaits()               { h.said = append(h.said, "waits") }
func (h *heardAsides) asideDone(q sideQuestion, row flower.StepResult, err error) {
	h.said = append(h.said, fmt.Sprintf("%s: %s %v", q.text, row.Text, err))
}

// When the work is done an answer on its way is waited for, not for ever; whoever asked is told what became of each question,
// no new one is taken, and what they have cost counts whenever they were answered.
func TestAsidesAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		heard := &heardAsides{}
		a := &asides{tell: heard, pending: make(chan sideQuestion, asideQueue), done: make(chan struct{})}
		slow := make(chan struct{})
		a.answer = func(ctx context.Context, question string) (flower.StepResult, error) {
			row := flower.StepResult{CostUSD: 0.25}
			if question == "slow" {
				select {
				case <-slow:
				case <-ctx.Done():
					return row, ctx.Err()
				}
			}
			row.Text = "so"
			return row, nil
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() { defer close(a.done); a.serve(ctx) }()
		if a.cost() != nil {
			t.Error("no question has a cost")
		}
		for _, q := range []string{"quick", "slow", "later"} {
			if err := a.ask(sideQuestion{text: q}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		began, ended := time.Now(), make(chan struct{})
		go func() { defer close(ended); a.finish(cancel) }()
		synctest.Wait()
		if err := a.ask(sideQuestion{text: "too late"}); !errors.Is(err, errAsidesOver) {
			t.Errorf("a question after the work: %v", err)
		}
		<-ended
		if took := time.Since(began); took != asideGrace {
			t.Errorf("waited for %v", took)
		}
		want := []string{
			"asked quick", "quick: so <nil>", "asked slow", "asked later", "waits",
			fmt.Sprintf("slow:  %v", errGrace), fmt.Sprintf("later:  %v", errGrace),
		}
		if fmt.Sprint(heard.said) != fmt.Sprint(want) {
			t.Errorf("told\n%q, want\n%q", heard.said, want)
		}
		if c := a.cost(); c == nil || c.Questions != 3 || c.CostUSD != 0.5 {
			t.Errorf("cost %+v", c)
		}
	})
}
