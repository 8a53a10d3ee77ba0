package agent_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"image"
	"image/png"
	"slices"
	"strings"
	"testing"
	"time"

	"flower"
	"flower/agent"
	"flower/modeltest"
	"flower/transcript"
)

// picture is an image block of a size in pixels.
func picture(t *testing.T, width, height int) transcript.Block {
	t.Helper()
	var buf bytes.Buffer
	if err := png.Encode(&buf, image.NewGray(image.Rect(0, 0, width, height))); err != nil {
		t.Fatal(err)
	}
	return transcript.Image("image/png", base64.StdEncoding.EncodeToString(buf.Bytes()))
}

// once calls tools in its first answers, one list an answer, and says done.
func once(answers ...[]transcript.Block) modeltest.Player {
	return modeltest.PlayerFunc(func(r *modeltest.Request) modeltest.Reply {
		if n := r.Answers(); n < len(answers) {
			return modeltest.Answer(answers[n]...)
		}
		return modeltest.Say("done")
	})
}

func callsOf(name string, n int) (list []transcript.Block) {
	for i := range n {
		list = append(list, modeltest.Call(name, map[string]int{"n": i}))
	}
	return list
}

// unmarked is flat without the cache marks, which move.
func unmarked(r modeltest.Record) []string {
	list := flat(r.Messages)
	for i, b := range list {
		list[i] = strings.Replace(b, `,"cache_control":{"type":"ephemeral"}`, "", 1)
	}
	return list
}

func returns(content ...transcript.Block) agent.Handler {
	return func(context.Context, agent.Call) (agent.ToolResult, error) {
		return agent.ToolResult{Content: content}, nil
	}
}

// TestOversizeResults runs tools that return more than a conversation can take, with a window of 200,000 tokens.
func TestOversizeResults(t *testing.T) {
	huge := strings.Repeat("a line of an endless log\n", 200_000) // 5 MB, far above the window
	page := strings.Repeat("a line of a long page\n", 4_500)      // 99 KB, about what one Read shows
	rows := []struct {
		name   string
		result []transcript.Block
		answer [][]transcript.Block
		spills int
		most   int      // tokens of the last request
		says   []string // in it
		images int      // in it
	}{
		{"text above the window", []transcript.Block{transcript.Text(huge)}, [][]transcript.Block{callsOf("x", 1)}, 1, 2000,
			[]string{"[Text moved to .flower/spill/", "5000000 characters", "It begins:\na line of an endless log"}, 0},
		{"eight at once", []transcript.Block{transcript.Text(huge)}, [][]transcript.Block{callsOf("x", 8)}, 1, 5000, nil, 0},
		{"a page", []transcript.Block{transcript.Text(page)}, [][]transcript.Block{callsOf("x", 1)}, 0, 40_000, []string{page}, 0},
		{"eight pages at once", []transcript.Block{transcript.Text(page)}, [][]transcript.Block{callsOf("x", 8)}, 1, 60_000, []string{page}, 0},
		{"a page in each of four answers", []transcript.Block{transcript.Text(page)}, slices.Repeat([][]transcript.Block{callsOf("x", 1)}, 4), 0, 120_000, nil, 0},
		{"text beside an image", []transcript.Block{transcript.Text(huge), picture(t, 3, 2)}, [][]transcript.Block{callsOf("x", 1)}, 1, 4000, []string{"5000000 characters"}, 1},
		{"an image too wide", []transcript.Block{picture(t, 9000, 1)}, [][]transcript.Block{callsOf("x", 1)}, 0, 1000, []string{"9000x1 pixels"}, 0},
		{"an image too wide for many", []transcript.Block{picture(t, 2001, 1)}, [][]transcript.Block{callsOf("x", 25)}, 0, 5000, []string{"2001x1 pixels, more than the 2000"}, 0},
		{"an image too heavy", []transcript.Block{transcript.Image("image/png", strings.Repeat("A", 5<<20+4))}, [][]transcript.Block{callsOf("x", 1)}, 0, 1000, []string{"5242884 bytes in base 64"}, 0},
		{"an image of another kind", []transcript.Block{transcript.Image("image/tiff", "QQ==")}, [][]transcript.Block{callsOf("x", 1)}, 0, 1000, []string{`"image/tiff" is not a kind`}, 0},
		{"ninety-nine images", []transcript.Block{picture(t, 3, 2)}, slices.Repeat([][]transcript.Block{callsOf("x", 33)}, 3), 0, 170_000, nil, 99},
		{"a hundred and twenty images", []transcript.Block{picture(t, 3, 2)}, slices.Repeat([][]transcript.Block{callsOf("x", 20)}, 6), 0, 170_000, nil, 70},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			p := startProcess(t, processOptions{
				server: modeltest.Options{BindThinking: true, Player: once(row.answer...), Window: 250_000},
				engine: agent.Options{Toolbox: box{"x": tool("x", true, returns(row.result...))}},
			})
			request := agent.Request{Key: key, Spec: agent.Spec{Tools: []string{"x"}}, Prompt: "go"}
			if _, result, err := run(t, p.engine, request); err != nil || result.Text != "done" {
				t.Fatalf("%q, %v", result.Text, err)
			}
			last := p.sent()
			if last.Tokens > row.most || len(p.spills) != row.spills {
				t.Errorf("%d tokens, %d spills, want at most %d and %d", last.Tokens, len(p.spills), row.most, row.spills)
			}
			var all strings.Builder
			for _, o := range last.Calls() {
				all.WriteString(o.Result.PlainText())
			}
			for _, words := range row.says {
				if !strings.Contains(all.String(), words) {
					t.Errorf("%.80q is not in %.400s", words, all.String())
				}
			}
			if _, images := transcript.Weigh(last.Messages); images != row.images {
				t.Errorf("%d images, want %d", images, row.images)
			}
			for _, text := range p.spills {
				if text != huge && text != page {
					t.Errorf("spilled %d bytes of something else", len(text))
				}
			}
			request.Prompt = "and now"
			if _, _, err := run(t, p.engine, request); err != nil {
				t.Errorf("resumed: %v", err)
			}
			if a, b := unmarked(last), unmarked(p.sent()); len(row.answer) < 6 {
				if i, ok := beginsWith(b, a); !ok {
					t.Errorf("resumed: block %d is %.200s, was %.200s", i, b[i], a[i])
				}
			}
		})
	}
}

// TestOversizeWords: what is said to an agent fits its window, or is refused before anything is stored.
func TestOversizeWords(t *testing.T) {
	long := strings.Repeat("please ", 100_000) // 700 KB
	worker := agent.Spec{Name: "worker", Instructions: "worker"}
	lead := agent.Spec{Name: "lead", Instructions: "lead", Tools: []string{"Agent"}, Subagents: []agent.Spec{worker}}
	spawn := func(prompt string) func(agent.Env) agent.Tool {
		return func(env agent.Env) agent.Tool {
			return tool("Agent", true, func(ctx context.Context, c agent.Call) (agent.ToolResult, error) {
				return env.Spawn(ctx, agent.Spawn{CallID: c.ID, Prompt: prompt})
			})(env)
		}
	}
	t.Run("prompt", func(t *testing.T) {
		p := startProcess(t, processOptions{})
		_, _, err := run(t, p.engine, agent.Request{Key: key, Prompt: long})
		var large *agent.TooLargeError
		if !errors.As(err, &large) || large.What != "prompt" || large.Bytes != 700_000 || large.Max != 600_000 {
			t.Errorf("error %v", err)
		}
		if n := len(stored(t, p.store, key)); n != 0 || len(p.server.Requests()) != 0 {
			t.Errorf("%d entries, %d requests", n, len(p.server.Requests()))
		}
	})
	t.Run("prompt in a larger window", func(t *testing.T) {
		p := startProcess(t, processOptions{engine: agent.Options{Window: func(string) int { return 1_000_000 }}})
		if _, _, err := run(t, p.engine, agent.Request{Key: key, Prompt: long}); err != nil {
			t.Error(err)
		}
		// An older, smaller model goes on with the session.
		q := startProcess(t, processOptions{store: p.store})
		if _, _, err := run(t, q.engine, agent.Request{Key: key, Prompt: "and now"}); err != nil {
			t.Error(err)
		}
		if first := q.sent().FirstUser(); !strings.Contains(first, "700000 characters") || len(q.spills) != 1 {
			t.Errorf("sent %.300s, %d spills", first, len(q.spills))
		}
	})
	t.Run("subagent's prompt", func(t *testing.T) {
		p := startProcess(t, processOptions{
			server: modeltest.Options{Player: once(callsOf("Agent", 1))}, engine: agent.Options{Toolbox: box{"Agent": spawn(long)}},
		})
		if _, _, err := run(t, p.engine, agent.Request{Key: key, Spec: lead, Prompt: "go"}); err != nil {
			t.Fatal(err)
		}
		r := p.sent().Results()
		if len(r) != 1 || !r[0].IsError || !strings.Contains(r[0].PlainText(), "was not started: the prompt has 700000 bytes, more than the 600000") {
			t.Errorf("told %s", mustJSON(r))
		}
	})
	t.Run("subagent's answer", func(t *testing.T) {
		report := strings.Repeat("I have found ", 50_000) // 650 KB
		player := modeltest.PlayerFunc(func(r *modeltest.Request) modeltest.Reply {
			if r.System == "worker" {
				reply := modeltest.Say(report)
				reply.Chunk = 1 << 20
				return reply
			}
			return once(callsOf("Agent", 1)).Play(r)
		})
		p := startProcess(t, processOptions{server: modeltest.Options{Player: player}, engine: agent.Options{Toolbox: box{"Agent": spawn("part")}}})
		if _, _, err := run(t, p.engine, agent.Request{Key: key, Spec: lead, Prompt: "go"}); err != nil {
			t.Fatal(err)
		}
		if r := p.sent().Results(); len(r) != 1 || !strings.Contains(r[0].PlainText(), "650000 characters") || len(p.spills) != 1 {
			t.Errorf("told %.300s, %d spills", mustJSON(r), len(p.spills))
		}
	})
	t.Run("remark", func(t *testing.T) {
		p := startProcess(t, processOptions{})
		inbox := &notes{waiting: []agent.Note{{ID: "n1", Text: long}}}
		if _, _, err := run(t, p.engine, agent.Request{Key: key, Prompt: "go", Inbox: inbox}); err != nil {
			t.Fatal(err)
		}
		if said := p.sent().LastUser(); !strings.Contains(said, "700000 characters") || len(p.spills) != 1 {
			t.Errorf("told %.300s, %d spills", said, len(p.spills))
		}
	})
}

// TestOversizeHistoryIsRepaired loads what another program, or an older flower, has let in.
func TestOversizeHistoryIsRepaired(t *testing.T) {
	huge := transcript.Text(strings.Repeat("a line of an endless log\n", 200_000))
	for name, content := range map[string][]transcript.Block{
		"text":         {huge},
		"wide image":   {picture(t, 8001, 1)},
		"heavy image":  {transcript.Image("image/png", strings.Repeat("A", 5<<20+4))},
		"many images":  slices.Repeat([]transcript.Block{picture(t, 3, 2)}, 101),
		"wide in many": append(slices.Repeat([]transcript.Block{picture(t, 3, 2)}, 20), picture(t, 2001, 1)),
	} {
		t.Run(name, func(t *testing.T) {
			store := flower.NewMemoryStore("/w")
			stamp, parent := transcript.Stamp{SessionID: key.Session}, ""
			for i, m := range []transcript.Message{
				{Role: "user", Content: []transcript.Block{transcript.Text("go")}},
				{Role: "assistant", ID: "msg_1", Content: []transcript.Block{transcript.Thinking("hm", "c2ln"), transcript.ToolUse("t1", "x", nil)}},
				{Role: "user", Content: []transcript.Block{transcript.ToolResult("t1", false, content...)}},
				{Role: "assistant", ID: "msg_2", StopReason: "end_turn", Content: []transcript.Block{transcript.Text("seen")}},
			} {
				id := fmt.Sprint("e", i)
				if err := store.Append(t.Context(), key, transcript.NewEntry(stamp, id, parent, time.Unix(0, 0), m)); err != nil {
					t.Fatal(err)
				}
				parent = id
			}
			for range 2 {
				p := startProcess(t, processOptions{store: store, server: modeltest.Options{BindThinking: true, Window: 200_000}, engine: agent.Options{Toolbox: box{"x": tool("x", true, say("x"))}}})
				events, _, err := run(t, p.engine, agent.Request{Key: key, Spec: agent.Spec{Tools: []string{"x"}}, Prompt: "go on"})
				if err != nil {
					t.Fatal(err)
				}
				if report := events[0].(agent.Started).Report; report.Oversize == 0 {
					t.Errorf("loading reports %+v", report)
				}
				if len(p.server.Requests()) != 1 {
					t.Errorf("%d requests", len(p.server.Requests()))
				}
			}
		})
	}
}

// TestRequestTooLargeIsMadeSmaller: gateways take less than the API, and say so in pages of their own.
func TestRequestTooLargeIsMadeSmaller(t *testing.T) {
	const limit = 400_000
	refusals := 0
	work := once(slices.Repeat([][]transcript.Block{callsOf("x", 1)}, 12)...)
	player := modeltest.PlayerFunc(func(r *modeltest.Request) modeltest.Reply {
		if len(r.Body) > limit {
			refusals++
			return modeltest.HTML(413, "<html><title>413 Request Entity Too Large</title></html>")
		}
		return work.Play(r)
	})
	page := strings.Repeat("a line of a long page\n", 4_500) // 99 KB
	p := startProcess(t, processOptions{
		server: modeltest.Options{BindThinking: true, Player: player},
		engine: agent.Options{Toolbox: box{"x": tool("x", true, func(_ context.Context, c agent.Call) (agent.ToolResult, error) {
			return agent.TextResult(c.ID + page), nil
		})}},
	})
	events, result, err := run(t, p.engine, agent.Request{Key: key, Spec: agent.Spec{Tools: []string{"x"}}, Prompt: "go"})
	if err != nil || result.Text != "done" {
		t.Fatalf("%q, %v", result.Text, err)
	}
	amended, moved := 0, 0
	for _, ev := range events {
		if ev, ok := ev.(agent.Amended); ok {
			amended++
			moved = ev.Report.Oversize
		}
	}
	if refusals == 0 || amended != refusals || refusals > 6 || moved < 8 || len(p.spills) != moved {
		t.Errorf("%d refusals, %d repairs, %d results moved in the end, %d spills", refusals, amended, moved, len(p.spills))
	}
	if got := p.sent().Results(); len(got) != 1 || !strings.Contains(got[0].PlainText(), page) {
		t.Error("the newest result was moved")
	}

	t.Run("nothing to take out", func(t *testing.T) {
		player := modeltest.Fail(413, "", "Request exceeds the maximum size")
		p := startProcess(t, processOptions{server: modeltest.Options{Player: player}})
		_, _, err := run(t, p.engine, agent.Request{Key: key, Prompt: "go"})
		var failure *agent.ModelError
		if !errors.As(err, &failure) || failure.Status != 413 || len(p.server.Requests()) != 1 {
			t.Errorf("%v after %d requests", err, len(p.server.Requests()))
		}
	})
}

// TestRequestOverTheLimit grows a conversation over 32 MB: it is made smaller before a request leaves.
func TestRequestOverTheLimit(t *testing.T) {
	heavy := transcript.Image("image/png", strings.Repeat("A", 5<<20)) // at the limit of one image
	m := &script{}
	largest := 0
	m.reply = func(req *agent.ModelRequest) (*agent.Response, error) {
		bytes, _ := transcript.Weigh(req.Messages)
		if largest = max(largest, bytes); bytes > transcript.MaxRequestBytes {
			t.Errorf("a request of %d bytes", bytes)
		}
		if n := len(req.Messages); n < 16 {
			return calls(call(fmt.Sprint("t", n), "x", `{}`)), nil
		}
		return text("done"), nil
	}
	e := newEngine(t, m, flower.NewMemoryStore("/w"), box{"x": tool("x", true, returns(heavy))})
	events, result, err := run(t, e, agent.Request{Key: key, Spec: agent.Spec{Tools: []string{"x"}}, Prompt: "go"})
	if err != nil || result.Text != "done" {
		t.Fatalf("%q, %v", result.Text, err)
	}
	amended := 0
	for _, ev := range events {
		if _, ok := ev.(agent.Amended); ok {
			amended++
		}
	}
	if amended == 0 || amended > 3 || largest < transcript.MaxRequestBytes/2 {
		t.Errorf("%d repairs, the largest request has %d bytes", amended, largest)
	}
}
