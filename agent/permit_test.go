package agent_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"flower"
	"flower/agent"
)

// permitted is a tool with effects that asks first.
func permitted(permit func(context.Context, agent.Call) (*agent.ToolResult, error), run agent.Handler) box {
	return box{"write": func(env agent.Env) agent.Tool {
		t := tool("write", false, run)(env)
		t.Permit = permit
		return t
	}}
}

// TestPermit asks before a call: a no is the call's result and nothing runs, an error ends the run, a crash is a no.
func TestPermit(t *testing.T) {
	no := agent.DeniedResult("not this one")
	for _, test := range []struct {
		name   string
		permit func(context.Context, agent.Call) (*agent.ToolResult, error)
		ran    bool
		told   string // a part of what the model is told; "" is that the run ends with the error
	}{
		{"yes", func(context.Context, agent.Call) (*agent.ToolResult, error) { return nil, nil }, true, "written"},
		{"no", func(context.Context, agent.Call) (*agent.ToolResult, error) { return &no, nil }, false, "not this one"},
		{"no, whatever else", func(context.Context, agent.Call) (*agent.ToolResult, error) { return &no, errKilled }, false, ""},
		{"error", func(context.Context, agent.Call) (*agent.ToolResult, error) { return nil, errKilled }, false, ""},
		{"crash", func(context.Context, agent.Call) (*agent.ToolResult, error) { panic("oops") }, false, "was not run"},
		{"by its input", func(_ context.Context, c agent.Call) (*agent.ToolResult, error) {
			if string(c.Input) == `{"n":1}` && c.Key == key && c.ID == "t1" {
				return nil, nil
			}
			return &no, nil
		}, true, "written"},
	} {
		t.Run(test.name, func(t *testing.T) {
			ran := false
			m := &script{}
			m.reply = func(req *agent.ModelRequest) (*agent.Response, error) {
				if !strings.Contains(mustJSON(req.Messages), `"t1"`) {
					return calls(call("t1", "write", `{"n":1}`)), nil
				}
				return text("done"), nil
			}
			log := flower.NewMemoryStore("/w")
			e := newEngine(t, m, log, permitted(test.permit, func(context.Context, agent.Call) (agent.ToolResult, error) {
				ran = true
				return agent.TextResult("written"), nil
			}))
			events, _, err := run(t, e, agent.Request{Key: key, Spec: agent.Spec{Tools: []string{"write"}}, Prompt: "do it"})
			if ran != test.ran || (err != nil) != (test.told == "") {
				t.Errorf("ran %v, error %v", ran, err)
			}
			open, openErr := log.OpenCalls(t.Context(), key)
			if openErr != nil || open["t1"].Begun {
				t.Errorf("the journal says %+v, %v", open, openErr)
			}
			var kinds []string
			for _, ev := range events {
				switch ev := ev.(type) {
				case agent.ToolStarted:
					kinds = append(kinds, "started")
				case agent.ToolFinished:
					kinds = append(kinds, "finished")
					if !strings.Contains(ev.Result.Content[0].Text, test.told) || ev.Result.Denied == test.ran {
						t.Errorf("the result is %+v", ev.Result)
					}
				}
			}
			if want := map[bool]string{true: "started,finished", false: "started"}[test.told != ""]; strings.Join(kinds, ",") != want {
				t.Errorf("events %v", kinds)
			}
		})
	}
}

// TestPermitIsAskedAgain cuts a run off while it is asked: the call has not begun, and the next run asks again.
func TestPermitIsAskedAgain(t *testing.T) {
	for _, abandon := range []bool{false, true} {
		ctx, cancel := context.WithCancelCause(t.Context())
		asked, ran := 0, 0
		permit := func(ctx context.Context, _ agent.Call) (*agent.ToolResult, error) {
			if asked++; asked == 1 {
				cancel(errKilled)
				<-ctx.Done()
				return nil, nil // even a yes counts for nothing then
			}
			return nil, nil
		}
		m := &script{}
		m.reply = func(req *agent.ModelRequest) (*agent.Response, error) {
			if !strings.Contains(mustJSON(req.Messages), `"t1"`) {
				return calls(call("t1", "write", `{}`)), nil
			}
			return text(lastUser(req).Content[0].PlainText()), nil
		}
		log := flower.NewMemoryStore("/w")
		tools := permitted(permit, func(context.Context, agent.Call) (agent.ToolResult, error) {
			ran++
			return agent.TextResult("written"), nil
		})
		req := agent.Request{Key: key, Spec: agent.Spec{Tools: []string{"write"}}, Prompt: "do it"}
		if _, _, err := runContext(ctx, newEngine(t, m, log, tools), req); err == nil || ran != 0 {
			t.Fatalf("ran %d times, error %v", ran, err)
		}
		open, err := log.OpenCalls(t.Context(), key)
		if call, is := open["t1"]; err != nil || !is || call.Begun {
			t.Errorf("the journal says %+v, %v", open, err)
		}
		req.Prompt, req.Abandon = "", abandon
		_, result, err := run(t, newEngine(t, m, log, tools), req)
		switch {
		case err != nil:
			t.Error(err)
		case abandon && (asked != 1 || ran != 0 || !strings.Contains(result.Text, "Interrupted")):
			t.Errorf("given up: asked %d times, ran %d times, %q", asked, ran, result.Text)
		case !abandon && (asked != 2 || ran != 1 || result.Text != "written"):
			t.Errorf("asked %d times, ran %d times, %q", asked, ran, result.Text)
		}
	}
}

// TestPermissionIsInherited: a subagent that says nothing may do what its parent may.
func TestPermissionIsInherited(t *testing.T) {
	modes := map[string]string{}
	m := &script{}
	m.reply = func(req *agent.ModelRequest) (*agent.Response, error) {
		history := mustJSON(req.Messages)
		if strings.Contains(history, "begin") && !strings.Contains(history, `"t1"`) {
			return calls(call("t1", "spawn", `{}`)), nil
		}
		return text("done"), nil
	}
	for _, own := range []string{"", "plan"} {
		spec := agent.Spec{
			Name: "parent", Tools: []string{"spawn"}, Permission: "default",
			Subagents: []agent.Spec{{Name: "child", Tools: []string{"look"}, Permission: own}},
		}
		e, err := agent.New(agent.Options{Model: m, Log: flower.NewMemoryStore("/w"), Toolbox: watching{modes}, ModelName: "m", CWD: "/w"})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := run(t, e, agent.Request{Key: key, Spec: spec, Prompt: "begin"}); err != nil {
			t.Fatal(err)
		}
		want := own
		if want == "" {
			want = "default"
		}
		if modes["parent"] != "default" || modes["child"] != want {
			t.Errorf("modes %v", modes)
		}
	}
}

// watching is a toolbox that notes the modes of those who ask for tools.
type watching struct{ modes map[string]string }

// Tools implements agent.Toolbox.
func (w watching) Tools(spec agent.Spec, env agent.Env) ([]agent.Tool, error) {
	w.modes[spec.Name] = spec.Permission
	t := tool(spec.Tools[0], false, func(ctx context.Context, c agent.Call) (agent.ToolResult, error) {
		return env.Spawn(ctx, agent.Spawn{CallID: c.ID, Title: "t", Prompt: "work"})
	})(env)
	t.InputSchema = json.RawMessage(`{"type":"object"}`)
	return []agent.Tool{t}, nil
}
