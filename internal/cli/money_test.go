package cli

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"flower"
	"flower/agent"
	"flower/internal/config"
	"flower/internal/text"
	"flower/transcript"
)

func TestPrices(t *testing.T) {
	table, err := prices(config.File{Path: "/p"})
	if err != nil || len(table) != 0 {
		t.Errorf("no file: %v, %v", table, err)
	}
	table, err = prices(config.File{Path: "/p", Data: []byte(`{"GLM-5": {"input": 2, "output": 8}}`)})
	if err != nil || len(table) != 1 {
		t.Fatalf("%v, %v", table, err)
	}
	if usd, known := table.Cost("glm-5", transcript.Usage{Input: 1e6, Output: 1e6}); !known || usd != 10 {
		t.Errorf("costs %v, %v", usd, known)
	}
	for _, data := range []string{"", "{}}", `{"m": {"input": -1}}`} {
		var bad *config.FileError
		if _, err := prices(config.File{Path: "/p", Data: []byte(data)}); !errors.As(err, &bad) || bad.Path != "/p" || bad.Line != 1 {
			t.Errorf("%q: %v", data, err)
		}
	}
}

func TestCostInTokens(t *testing.T) {
	p := text.NewPrinter("en")
	u := transcript.Usage{Input: 1200, CacheRead: 80_000, Output: 300}
	for _, tt := range []struct {
		usd      float64
		unpriced bool
		u        transcript.Usage
		want     string
	}{
		{1.5, false, u, "$1.50"},
		{0, true, u, "81.2K tokens in, 300 out"},
		{1.5, true, u, ">=$1.50 (81.2K tokens in, 300 out)"},
		{1.5, true, transcript.Usage{}, ">=$1.50"},
	} {
		if got := cost(p, tt.usd, tt.unpriced, tt.u); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}

// TestOutOfMoney: what is typed next is enough for what could not be done.
func TestOutOfMoney(t *testing.T) {
	for _, tt := range []struct {
		limit agent.LimitError
		want  string // "" is not the run's budget
	}{
		{agent.LimitError{CostUSD: 10, SpentUSD: 10.02, NextUSD: 0.1}, "the budget of $10 is used up: $10.02 spent. Nothing is lost, go on with: flower --budget 20"},
		{agent.LimitError{CostUSD: 10, SpentUSD: 9.95, NextUSD: 0.1}, "stopped before the budget of $10 is passed: $9.95 spent, and going on costs at least $0.1000. Nothing is lost, go on with: flower --budget 20"},
		{agent.LimitError{CostUSD: 0.1, NextUSD: 0.554}, "stopped before the budget of $0.1 is passed: $0.00 spent, and going on costs at least $0.5540. Nothing is lost, go on with: flower --budget 1.11"},
		{agent.LimitError{CostUSD: 1, SpentUSD: 1, Agent: "oracle"}, ""},
		{agent.LimitError{Turns: 12, Agent: "oracle"}, ""},
	} {
		for _, lang := range text.Languages() {
			a := &app{Printer: text.NewPrinter(lang)}
			limit := tt.limit
			err := withMore(&flower.StepError{Step: "x", Err: fmt.Errorf("judge: %w", &limit)}, "flower --budget")
			var budget *budgetError
			if errors.As(err, &budget) != (tt.want != "") {
				t.Fatalf("%v is %T", err, err)
			}
			if tt.want == "" {
				continue
			}
			got := outOfMoney(a.Printer, budget)
			if command := tt.want[strings.LastIndex(tt.want, ": ")+2:]; lang == "en" && got != tt.want || !strings.HasSuffix(got, command) {
				t.Errorf("%q, want %q", got, tt.want)
			}
		}
	}
	if err := withMore(nil, "x"); err != nil {
		t.Errorf("nothing went wrong: %v", err)
	}
}

// TestUnkeptBudgetIsSaidOnce: at the start, and not again with the first answer; another model is told of when it answers.
func TestUnkeptBudgetIsSaidOnce(t *testing.T) {
	var out strings.Builder
	p := testPrinter(&out, "en", 200, false)
	p.opts.budget = 2.5
	p.unkeptBudget("nameless")
	p.Event(unpriced("", "nameless"))
	p.Event(unpriced("", "nameless"))
	p.Event(unpriced("", "other"))
	for want, n := range map[string]int{
		"no price is known for nameless: the budget of $2.5 cannot be kept for it. Give its price in ~/.config/flower/prices.json": 1,
		"no price is known for other": 1,
		"1.2K tokens in, 30 out":      3,
	} {
		if got := strings.Count(out.String(), want); got != n {
			t.Errorf("%q is said %d times, want %d:\n%s", want, got, n, out.String())
		}
	}
}
