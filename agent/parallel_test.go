package agent_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"flower/agent"
	"flower/modeltest"
)

// TestNetworkFailureKeepsFinishedWork cuts one of two workers off for good when the other one has finished, and one of
// its own calls has. The next process asks the finished one nothing, repeats no call, and goes on with the other where it
// was.
func TestNetworkFailureKeepsFinishedWork(t *testing.T) {
	worker := agent.Spec{Name: "worker", Instructions: "worker", Tools: []string{"look", "write"}, Thinking: true}
	lead := agent.Spec{Name: "lead", Instructions: "lead", Tools: []string{"Agent"}, Subagents: []agent.Spec{worker}, Thinking: true}
	play := func(r *modeltest.Request) modeltest.Reply {
		switch {
		case r.System == "lead" && r.Answers() == 0:
			return modeltest.Answer(modeltest.Think("split"), modeltest.Call("Agent", map[string]int{"n": 1}), modeltest.Call("Agent", map[string]int{"n": 2}))
		case r.System == "lead":
			return modeltest.Say("all done")
		case r.Answers() < 2:
			return modeltest.Answer(modeltest.Think(r.FirstUser()), modeltest.Call([]string{"write", "look"}[r.Answers()], nil))
		}
		return modeltest.Say("report on " + r.FirstUser())
	}
	for name, failure := range map[string]modeltest.Reply{
		"overloaded":          modeltest.Overloaded(),
		"refused":             modeltest.Fail(401, "", "invalid x-api-key"),
		"cut in a call":       modeltest.Answer(modeltest.Think("hm"), modeltest.Call("look", map[string]int{"n": 123456})).Broken(modeltest.Inside("tool_use"), modeltest.HangUp),
		"reset":               modeltest.Say("half a word").Broken(modeltest.AfterEvents(3), modeltest.Reset),
		"an error in between": modeltest.Say("half a word").Failing(modeltest.AfterEvents(3), "overloaded_error", "Overloaded"),
	} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			ran := map[string]int{} // calls by worker and tool
			count := func(text string) agent.Handler {
				return func(_ context.Context, c agent.Call) (agent.ToolResult, error) {
					mu.Lock()
					defer mu.Unlock()
					ran[c.Key.SubPath+" "+c.Name]++
					return agent.TextResult(text), nil
				}
			}
			tools := box{
				"look": tool("look", true, count("seen")), "write": tool("write", false, count("written")),
				"Agent": func(env agent.Env) agent.Tool {
					return tool("Agent", true, func(ctx context.Context, c agent.Call) (agent.ToolResult, error) {
						return env.Spawn(ctx, agent.Spawn{CallID: c.ID, Prompt: "part " + string(c.Input)})
					})(env)
				},
			}
			finished := make(chan struct{})
			first := startProcess(t, processOptions{
				server: modeltest.Options{BindThinking: true, Player: modeltest.PlayerFunc(func(r *modeltest.Request) modeltest.Reply {
					if r.System == "worker" && strings.Contains(r.FirstUser(), "2") && r.Answers() == 1 {
						<-finished // the other one first
						return failure
					}
					return play(r)
				})},
				engine: agent.Options{Toolbox: tools},
			})
			request := agent.Request{Key: key, Spec: lead, Prompt: "go", PromptID: "p"}
			var failed error
			for ev, err := range first.engine.Run(t.Context(), request) {
				if done, ok := ev.(agent.ToolFinished); ok && done.Name == "Agent" {
					close(finished)
				}
				if err != nil {
					failed = err
				}
			}
			if failed == nil {
				t.Fatal("the first run did not fail")
			}
			second := startProcess(t, processOptions{store: first.store, server: modeltest.Options{BindThinking: true, Player: modeltest.PlayerFunc(play)}, engine: agent.Options{Toolbox: tools}})
			_, result, err := run(t, second.engine, request)
			if err != nil || result.Text != "all done" {
				t.Fatalf("%q, %v", result.Text, err)
			}
			for what, n := range ran {
				if n != 1 {
					t.Errorf("%s ran %d times", what, n)
				}
			}
			if len(ran) != 4 {
				t.Errorf("calls %v", ran)
			}
			asked := map[string]int{}
			for _, r := range second.server.Requests() {
				who := r.System
				if who == "worker" {
					who = r.FirstUser()
				}
				asked[who]++
				if body := string(r.Body); strings.Contains(body, "half a word") || strings.Contains(body, "123456") || strings.Contains(body, "verloaded") || strings.Contains(body, "x-api-key") {
					t.Errorf("what had failed is in request %d", r.Seq)
				}
			}
			if asked[`part {"n":1}`] != 0 || asked[`part {"n":2}`] != 2 || asked["lead"] != 1 {
				t.Errorf("asked %v", asked)
			}
			if got := second.sent().Results(); len(got) != 2 || got[0].PlainText() != `report on part {"n":1}` || got[1].PlainText() != `report on part {"n":2}` {
				t.Errorf("the lead is told %s", mustJSON(got))
			}
		})
	}
}
