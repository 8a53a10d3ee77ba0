package agent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"flower"
	"flower/agent"
)

// looper plays a list of calls, one an answer, then a last word.
func looper(inputs ...string) *script {
	n := 0
	return &script{reply: func(*agent.ModelRequest) (*agent.Response, error) {
		if n == len(inputs) {
			return text("done"), nil
		}
		name, input, _ := strings.Cut(inputs[n], " ")
		n++
		return calls(call(fmt.Sprintf("c%d", n), name, input)), nil
	}}
}

func again(s string, n int) []string {
	var list []string
	for range n {
		list = append(list, s)
	}
	return list
}

func TestRepetitionIsNoticed(t *testing.T) {
	const a, b, look = `do {"n":1}`, `do {"n":2}`, `look {"n":1}`
	join := func(lists ...[]string) (all []string) {
		for _, l := range lists {
			all = append(all, l...)
		}
		return all
	}
	var alternating []string
	for range 5 {
		alternating = append(alternating, a, b)
	}
	tests := map[string]struct {
		calls []string
		told  int
		stuck bool
	}{
		"four times":               {calls: again(a, 4)},
		"five times":               {calls: again(a, 5), told: 1},
		"told, then something new": {calls: join(again(a, 5), []string{b}, again(a, 4)), told: 1},
		"ten times":                {calls: again(a, 10), told: 1, stuck: true},
		"other spelling":           {calls: join(again(`do {"n": 1}`, 3), again(a, 2)), told: 1},
		"going round":              {calls: alternating, told: 1},
		"looking is no progress":   {calls: join(again(look, 3), []string{`look {"n":5}`}, again(look, 2)), told: 1},
		"work between":             {calls: join(again(look, 4), []string{b}, again(look, 4), []string{`do {"n":7}`}, again(look, 4))},
		"the same work between":    {calls: join([]string{b}, again(look, 2), []string{b}, again(look, 2), []string{b}, again(look, 1)), told: 1},
		"results that differ":      {calls: again(`clock {}`, 12)},
		"essence":                  {calls: again(`timed {}`, 5), told: 1},
		"only times differ":        {calls: again(`test {}`, 5), told: 1},
		"only times, ten times":    {calls: again(`test {}`, 10), told: 1, stuck: true},
		"times in a failure":       {calls: again(`failing {}`, 5), told: 1},
		"a clock between":          {calls: join([]string{`test {}`}, again(a, 2), []string{`test {}`}, again(a, 2), []string{`test {}`}, again(a, 1)), told: 1},
		"polling":                  {calls: again(`wait {"polling":true}`, 12)},
		"no polling":               {calls: again(`wait {"polling":false}`, 5), told: 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			ticks := 0
			tick := func() string { ticks++; return fmt.Sprint("tick ", ticks) }
			open := func(name string, looks bool, run agent.Handler) func(agent.Env) agent.Tool {
				return func(agent.Env) agent.Tool {
					return agent.Tool{
						ToolSpec: agent.ToolSpec{Name: name, Description: name, InputSchema: []byte(`{"type":"object"}`)}, Looks: looks, Run: run,
					}
				}
			}
			tools := box{
				"do": open("do", false, say("did")), "look": open("look", true, say("seen")), "wait": open("wait", true, say("not yet")),
				"clock": open("clock", true, func(context.Context, agent.Call) (agent.ToolResult, error) { return agent.TextResult(tick()), nil }),
				"test": open("test", false, func(context.Context, agent.Call) (agent.ToolResult, error) {
					ticks++
					return agent.TextResult(fmt.Sprintf("02:%02d:00 ok pkg 0.%02ds (1m%d.5s)\n%d ms, /tmp/x%d, 2026-01-%02dT10:%02d:11Z", ticks, ticks, ticks, ticks, 1700000000+ticks, ticks, ticks)), nil
				}),
				"failing": open("failing", false, func(context.Context, agent.Call) (agent.ToolResult, error) {
					ticks++
					return agent.ErrorResult(fmt.Sprintf("--- FAIL: TestX (0.%02ds)", ticks)), nil
				}),
				"timed": open("timed", false, func(context.Context, agent.Call) (agent.ToolResult, error) {
					r := agent.TextResult("out, ran " + tick())
					r.Essence = "out"
					return r, nil
				}),
			}
			model := looper(tt.calls...)
			e := newEngine(t, model, flower.NewMemoryStore("/w"), tools)
			events, result, err := run(t, e, agent.Request{
				Key: key, Spec: agent.Spec{Name: "a", Tools: []string{"do", "look", "wait", "clock", "timed", "test", "failing"}}, Prompt: "go",
			})
			var stuck *agent.StuckError
			if errors.As(err, &stuck) != tt.stuck || err != nil && !tt.stuck {
				t.Fatalf("ended with %v", err)
			}
			if !tt.stuck && result.Text != "done" {
				t.Errorf("last word %q", result.Text)
			}
			told := 0
			for _, ev := range events {
				if _, ok := ev.(agent.Repeating); ok {
					told++
				}
			}
			said := strings.Count(lastUserTexts(model), "You have made the same call")
			if told != tt.told || !tt.stuck && said != tt.told {
				t.Errorf("%d events, told %d times, want %d", told, said, tt.told)
			}
		})
	}
}

func TestStuckSubagentIsAResult(t *testing.T) {
	m := &script{}
	m.reply = func(req *agent.ModelRequest) (*agent.Response, error) {
		switch {
		case req.System == "child":
			return calls(call(fmt.Sprint("c", len(req.Messages)), "do", `{"n":1}`)), nil
		case len(req.Messages) == 1:
			return calls(call("p1", "Agent", `{}`)), nil
		}
		return text("parent goes on"), nil
	}
	e := newEngine(t, m, flower.NewMemoryStore("/w"), box{"do": tool("do", false, say("did")), "Agent": delegate})
	_, result, err := run(t, e, agent.Request{Key: key, Prompt: "go", Spec: agent.Spec{
		Name: "parent", Tools: []string{"Agent"}, Subagents: []agent.Spec{{Name: "child", Instructions: "child", Tools: []string{"do"}}},
	}})
	if err != nil || result.Text != "parent goes on" {
		t.Fatalf("%q, %v", result.Text, err)
	}
	if got := lastUserTexts(m); !strings.Contains(got, "it repeated itself") {
		t.Errorf("the parent was told %s", got)
	}
}
