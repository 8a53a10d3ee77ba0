package agent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"flower"
	"flower/agent"
	"flower/modeltest"
	"flower/transcript"
)

// chat hands a remark over at some turn boundaries.
type chat struct{ asked int }

func (c *chat) Take(context.Context) ([]agent.Note, error) {
	if c.asked++; c.asked%9 != 0 {
		return nil, nil
	}
	return []agent.Note{{ID: fmt.Sprintf("00000000-0000-4000-8000-%012d", c.asked), Text: fmt.Sprintf("by the way %d", c.asked)}}, nil
}
func (c *chat) Delivered(context.Context, []agent.Note) error { return nil }

// longRun is a lead that works for many turns, with everything that an answer can be, and workers of four turns each.
func longRun(turns int) modeltest.Player {
	filler := strings.Repeat("words of the lead ", 20)
	return modeltest.PlayerFunc(func(r *modeltest.Request) modeltest.Reply {
		n := r.Answers()
		thought := modeltest.Think(fmt.Sprintf("thought %d of %s", n, r.FirstUser()))
		if r.System == "worker" {
			if n < 3 {
				return modeltest.Answer(thought, modeltest.Call("look", map[string]int{"n": n}))
			}
			return modeltest.Say("report on " + r.FirstUser())
		}
		switch {
		case n >= turns:
			return modeltest.Say("done")
		case n%10 == 3:
			return modeltest.Answer(thought, modeltest.Text("cut off in the mid")).Stopping("max_tokens")
		case n%10 == 5:
			return modeltest.Answer(thought, modeltest.Text(filler)).Stopping("pause_turn")
		case n%10 == 7: // more blocks than the endpoint looks back
			blocks := []transcript.Block{thought}
			for i := range 30 {
				blocks = append(blocks, modeltest.Text(fmt.Sprint("part ", i)), modeltest.Call("look", map[string]int{"n": i}))
			}
			return modeltest.Answer(blocks...)
		case n%10 == 8:
			return modeltest.Answer(thought, modeltest.Call("fail", nil), modeltest.Call("no such tool", nil))
		case n%5 == 1:
			return modeltest.Answer(thought, modeltest.Text(filler), modeltest.Call("Agent", map[string]int{"n": n}), modeltest.Call("Agent", map[string]int{"n": -n}))
		}
		return modeltest.Answer(thought, modeltest.Text(filler), modeltest.Call("look", map[string]int{"n": n}), modeltest.Call("look", map[string]int{"n": n + 1000}))
	})
}

var (
	longTools = box{
		"look": tool("look", true, func(_ context.Context, c agent.Call) (agent.ToolResult, error) {
			return agent.TextResult(string(c.Input) + strings.Repeat(" seen", 100)), nil
		}),
		"fail": tool("fail", true, func(context.Context, agent.Call) (agent.ToolResult, error) {
			return agent.DeniedResult("not for you"), nil
		}),
		"Agent": func(env agent.Env) agent.Tool {
			return tool("Agent", true, func(ctx context.Context, c agent.Call) (agent.ToolResult, error) {
				return env.Spawn(ctx, agent.Spawn{CallID: c.ID, Prompt: "part " + c.ID + strings.Repeat(" of the work", 50)})
			})(env)
		},
	}
	longWorker = agent.Spec{Name: "worker", Instructions: "worker", Tools: []string{"look"}, Thinking: true}
	longLead   = agent.Spec{
		Name: "lead", Instructions: strings.Repeat("Lead well. ", 100), Tools: []string{"Agent", "look", "fail"},
		Subagents: []agent.Spec{longWorker}, Thinking: true,
	}
)

// TestLongRun is fifty turns with subagents, remarks, refusals and answers that were cut: each request of a conversation
// begins with the one before, and what can be read from the endpoint's cache is.
func TestLongRun(t *testing.T) {
	p := startProcess(t, processOptions{
		server: modeltest.Options{BindThinking: true, Player: longRun(50)},
		engine: agent.Options{Toolbox: longTools},
	})
	_, result, err := run(t, p.engine, agent.Request{Key: key, Spec: longLead, Prompt: "go", Inbox: &chat{}})
	if err != nil || result.Turns < 50 {
		t.Fatalf("%d turns, %v", result.Turns, err)
	}
	last := map[string]modeltest.Record{}
	for _, r := range p.server.Requests() {
		who := r.Conversation()
		before, ok := last[who]
		last[who] = r
		if !ok {
			continue
		}
		if i, ok := beginsWith(unmarked(r), unmarked(before)); !ok {
			t.Fatalf("request %d: block %d is not as it was in request %d\n%.300s\n%.300s", r.Seq, i, before.Seq, unmarked(before)[i], append(unmarked(r), "nothing")[i])
		}
		if r.System != before.System || !slices.Equal(r.Tools, before.Tools) || r.Thinking != before.Thinking || r.Effort != before.Effort || r.Model != before.Model {
			t.Fatalf("request %d: another beginning than request %d", r.Seq, before.Seq)
		}
	}
	if len(last) < 21 { // two workers in each of ten answers, at least
		t.Errorf("%d conversations", len(last))
	}
	s := p.server.CacheStats()
	share := 100 * float64(s.Read) / float64(s.CouldRead)
	t.Logf("%d requests of %d conversations: %d of %d tokens read that could have been (%.2f %%); %d written, %d neither",
		s.Requests, len(last), s.Read, s.CouldRead, share, s.Written, s.Uncached)
	if share < 98 || s.CouldRead < 100_000 {
		t.Errorf("%.2f %% of %d tokens read from the cache, want at least 98 %%", share, s.CouldRead)
	}
}

// TestCacheAfterAResume resumes while the endpoint still has everything in its cache, after each kind of change that
// loading makes: everything before the change is read, up to the end of a request.
func TestCacheAfterAResume(t *testing.T) {
	begin := func(n int, then ...string) modeltest.Player { // n answers that stay, then those calls
		return modeltest.PlayerFunc(func(r *modeltest.Request) modeltest.Reply {
			at := r.Answers()
			thought := modeltest.Think(fmt.Sprint("thought ", at))
			switch {
			case at < n:
				return modeltest.Answer(thought, modeltest.Call("look", map[string]int{"n": at}))
			case at-n < len(then) && then[at-n] == "ls":
				return modeltest.Answer(thought, modeltest.Call("Bash", map[string]string{"command": fmt.Sprintf("ls d%d", at)}))
			case at-n < len(then):
				return modeltest.Answer(thought, modeltest.Call(then[at-n], map[string]int{"n": at}))
			}
			return modeltest.Answer(thought, modeltest.Text("done"))
		})
	}
	lost := func(t *testing.T, from, to flower.Store) { // a result in the middle, as after a power loss
		entries := stored(t, from, key)
		prefix, _, err := from.Prefix(t.Context(), key)
		err = errors.Join(err, to.SetPrefix(t.Context(), key, prefix), to.Append(t.Context(), key, slices.Delete(entries, 42, 43)...))
		if err != nil {
			t.Fatal(err)
		}
	}
	var pages atomic.Int64 // no two results are the same: a run that repeats itself is stopped
	numbered := func(text string) agent.Handler {
		return func(context.Context, agent.Call) (agent.ToolResult, error) {
			return agent.TextResult(fmt.Sprintf("%d %s", 1000+pages.Add(1), text)), nil
		}
	}
	tools := box{
		"Bash": shellTool("Bash", numbered("a.go b.go")), "look": longTools["look"], "fail": longTools["fail"],
		"page": tool("page", true, numbered(strings.Repeat("a line\n", 400))),
	}
	for _, row := range []struct {
		name    string
		player  modeltest.Player
		lose    func(t *testing.T, from, to flower.Store)
		changed func(r transcript.Report) int
		least   float64 // percent of what could have been read
		share   float64 // percent of the request that is read, at least
	}{
		{"nothing", begin(30), nil, func(transcript.Report) int { return 1 }, 99, 95},
		{"expire", begin(20, slices.Repeat([]string{"ls"}, 10)...), nil, func(r transcript.Report) int { return r.Expired }, 95, 60},
		{"trim", begin(20, slices.Repeat([]string{"page"}, 25)...), nil, func(r transcript.Report) int { return r.Trimmed }, 95, 15},
		{"denial", begin(20, "fail", "look", "look", "fail", "look"), nil, func(r transcript.Report) int { return r.Denials }, 95, 75},
		{"heal", begin(30), lost, func(r transcript.Report) int { return len(r.Inserted) }, 95, 60},
	} {
		t.Run(row.name, func(t *testing.T) {
			spec := agent.Spec{Name: "worker", Instructions: strings.Repeat("Work well. ", 50), Tools: []string{"Bash", "look", "fail", "page"}, Thinking: true}
			first := startProcess(t, processOptions{server: modeltest.Options{BindThinking: true, Player: row.player}, engine: agent.Options{Toolbox: tools}})
			if _, _, err := run(t, first.engine, agent.Request{Key: key, Spec: spec, Prompt: "go"}); err != nil {
				t.Fatal(err)
			}
			o := processOptions{on: first, engine: agent.Options{Toolbox: tools, Trim: true}}
			if row.lose != nil {
				o.store = flower.NewMemoryStore("/w")
				row.lose(t, first.store, o.store)
			}
			p := startProcess(t, o)
			before := p.server.CacheStats()
			events, _, err := run(t, p.engine, agent.Request{Key: key, Spec: spec, Prompt: "go on"})
			if err != nil {
				t.Fatal(err)
			}
			if report := events[0].(agent.Started).Report; row.changed(report) == 0 {
				t.Errorf("loading changed %+v", report)
			}
			s, r := p.server.CacheStats(), p.sent()
			read, could := s.Read-before.Read, s.CouldRead-before.CouldRead
			t.Logf("%d of %d tokens read, %d could have been (%.1f %%)", read, r.Tokens, could, 100*float64(read)/float64(could))
			if float64(read)*100 < row.least*float64(could) || float64(read)*100 < row.share*float64(r.Tokens) {
				t.Errorf("%d of %d tokens read, want %v %% of the %d that could have been and %v %% of all", read, r.Tokens, row.least, could, row.share)
			}
		})
	}
}
