package flower

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"flower/agent"
	"flower/transcript"
)

// costly is a Model of which every answer costs a little more than the one before. Some break off, one is interrupted.
type costly struct {
	asked, answered int
	interrupt       func()
	interruptAt     int
}

func (c *costly) Generate(ctx context.Context, _ *agent.ModelRequest, sink func(agent.Delta)) (*agent.Response, error) {
	c.asked++
	u := transcript.Usage{Input: 1000 * c.asked, Output: 1}
	sink(agent.Begun{Model: "m", Usage: u})
	switch {
	case c.asked == c.interruptAt:
		c.interrupt()
		<-ctx.Done()
		return nil, context.Cause(ctx)
	case c.asked%3 == 0:
		return nil, &agent.ModelError{Kind: agent.Transient, Status: 200, Message: "broke off"}
	}
	u.Output = 100
	usd, _ := perToken("m", u)
	c.answered++
	return &agent.Response{CostUSD: usd, Message: transcript.Message{
		Role: transcript.RoleAssistant, ID: fmt.Sprint("msg_", c.asked), Model: "m", StopReason: agent.StopEndTurn,
		Content: []transcript.Block{transcript.Text("done")}, Usage: u,
	}}, nil
}

func perToken(_ string, u transcript.Usage) (float64, bool) {
	return float64(u.Input)/1e6 + float64(u.Output)/1e5, true
}

// TestRowsAddUpToTheMeter: every dollar of a run is in exactly one row of the manifest, also those for answers that broke
// off, that were interrupted, and that were asked for again when the step was tried again.
func TestRowsAddUpToTheMeter(t *testing.T) {
	w := newWorld(t)
	m := &costly{interruptAt: 2}
	e, err := agent.New(agent.Options{Model: m, Log: w.store, Toolbox: w, ModelName: "m", Price: perToken})
	if err != nil {
		t.Fatal(err)
	}
	var told float64
	rt, err := NewRuntime(RuntimeOptions{
		Workspace: w.dir, RunDir: w.runs, Engine: e, Store: w.store,
		OnInterrupt: func(context.Context) (string, bool) { return "", true },
		Observe: func(ev Event) {
			inner, ok := ev.(AgentEvent)
			if !ok {
				return
			}
			switch ev := inner.Event.(type) {
			case agent.Answered:
				told += ev.CostUSD
			case agent.Wasted:
				told += ev.CostUSD
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	m.interrupt = func() { rt.Interrupt() }
	again := step("two") // its request number 3 breaks off
	again.Retries = 2
	if _, err := (&Workflow{Steps: []Step{step("one"), again, step("three"), step("four")}}).Run(t.Context(), rt); err != nil {
		var stopped *StepError
		if !errors.As(err, &stopped) {
			t.Fatal(err)
		}
	}
	rows, err := ReadManifest(w.runs)
	if err != nil {
		t.Fatal(err)
	}
	var sum float64
	var usage transcript.Usage
	low := false
	for _, row := range rows {
		if row.CostUSD < 0 {
			t.Errorf("%s cost %v", row.Step, row.CostUSD)
		}
		sum += row.CostUSD
		usage = usage.Add(row.Usage)
		low = low || row.Unpriced
	}
	input := 0
	for n := range m.asked {
		input += 1000 * (n + 1)
	}
	usd, unpriced := rt.Spent()
	if math.Abs(sum-usd) > 1e-9 || math.Abs(told-usd) > 1e-9 || usd == 0 || !low || !unpriced || usage.Input != input || m.asked-m.answered < 2 {
		t.Errorf("rows say %v and %+v, events %v, the meter %v; %d requests, %d answers", sum, usage, told, usd, m.asked, m.answered)
	}
}

// TestSpentBudgetIsNotTriedAgain: a step with retries, and one that may fail, end the run when its money is spent.
func TestSpentBudgetIsNotTriedAgain(t *testing.T) {
	w := newWorld(t)
	w.opts = func(o *RuntimeOptions) { o.BudgetUSD = 0.5 }
	third := step("three")
	third.Retries, third.OnFail = 3, Continue
	o, err := w.run(&Workflow{Steps: []Step{step("one"), step("two"), third, step("four")}})
	var limit *agent.LimitError
	if !errors.As(err, &limit) || !limit.WholeRun() || len(w.asked) != 2 || len(o.Results) != 3 {
		t.Errorf("%v after %d requests, %d rows", err, len(w.asked), len(o.Results))
	}
}
