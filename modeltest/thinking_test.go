package modeltest

import (
	"strings"
	"testing"

	"flower/transcript"
)

const adaptive = `{"type":"adaptive"}`

// thinker thinks and calls a tool three times, then says done.
var thinker = Script{{Plan: []Player{
	Answer(Think("one"), Text("a"), Call("Read", nil)),
	Answer(Think("two"), Call("Read", map[string]int{"n": 2})),
	Answer(Redacted(), Call("Read", map[string]int{"n": 3})),
	Say("done"),
}}}

// history is a conversation of four requests as an honest client has it.
func history(t *testing.T, c *client, b body) []transcript.Message {
	t.Helper()
	list := []transcript.Message{user(Text("go"))}
	for {
		m := c.ask(b.set("messages", messages(list...)).String())
		list = append(list, back(m))
		if m.StopReason != "tool_use" {
			return list
		}
		list = append(list, user(result(m.ToolUses()[0].ID, "result "+itoa(len(list)))))
	}
}

func without(m transcript.Message) transcript.Message {
	var kept []transcript.Block
	for _, b := range m.Content {
		if !b.IsThinking() {
			kept = append(kept, b)
		}
	}
	return transcript.Message{Role: m.Role, Content: kept}
}

func TestBoundThinking(t *testing.T) {
	base := good().set("thinking", adaptive, "tools", readTool, "system", `"be brief"`)
	type change func(list []transcript.Message) (body, []transcript.Message)
	list := func(f func([]transcript.Message)) change {
		return func(l []transcript.Message) (body, []transcript.Message) { f(l); return base, l }
	}
	top := func(pairs ...string) change {
		return func(l []transcript.Message) (body, []transcript.Message) { return base.set(pairs...), l }
	}
	rows := []struct {
		name   string
		change change
		text   string // "" is accepted
	}{
		{"nothing", top(), ""},
		{"cache marks", top("system", `[{"type":"text","text":"be brief",`+cc+`}]`), ""},
		{"effort, model, max_tokens", top("output_config", `{"effort":"low"}`, "model", `"claude-opus-5"`, "max_tokens", "50"), ""},
		{"key order", top("tools", `[{"input_schema":{"properties":{},"type":"object"},"description":"reads","name":"Read"}]`), ""},
		{"thinking gone from the start", list(func(l []transcript.Message) { l[1] = without(l[1]) }), ""},
		{"thinking gone from the end", list(func(l []transcript.Message) { l[3], l[5] = without(l[3]), without(l[5]) }), ""},
		{"thinking gone", list(func(l []transcript.Message) { l[1], l[3], l[5] = without(l[1]), without(l[3]), without(l[5]) }), ""},
		{"thinking gone behind an edit", list(func(l []transcript.Message) {
			l[2] = user(result(l[2].Content[0].ToolUseID, "trimmed"))
			l[3], l[5] = without(l[3]), without(l[5])
		}), ""},

		{"thinking gone in the middle", list(func(l []transcript.Message) { l[3] = without(l[3]) }), "messages.5.content.0: Invalid `signature` in `thinking` block"},
		{"system", top("system", `"be very brief"`), "messages.1.content.0: Invalid `signature` in `thinking` block"},
		{"tools", top("tools", `[{"name":"Read","input_schema":{"type":"object"}}]`), "messages.1.content.0: Invalid `signature` in `thinking` block"},
		{"first message", list(func(l []transcript.Message) { l[0] = user(Text("went")) }), "messages.1.content.0: Invalid `signature` in `thinking` block"},
		{"a result", list(func(l []transcript.Message) { l[2] = user(result(l[2].Content[0].ToolUseID, "trimmed")) }), "messages.3.content.0: Invalid `signature` in `thinking` block"},
		{"text before it", list(func(l []transcript.Message) {
			l[1].Content[1] = Text("b")
		}), "messages.3.content.0: Invalid `signature` in `thinking` block"},
		{"the thinking", list(func(l []transcript.Message) {
			l[1].Content[0] = transcript.Thinking("other", l[1].Content[0].Signature)
		}), "messages.1.content.0: Invalid `signature` in `thinking` block"},
		{"the data", list(func(l []transcript.Message) { l[5].Content[0] = transcript.RedactedThinking("eA==") }), "messages.5.content.0: Invalid `signature` in `thinking` block"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			s, c := start(t, tolerant(Options{BindThinking: true, Player: thinker}))
			l := history(t, c, base)
			l = append(l, user(Text("next")))
			b, l := row.change(l)
			sent := b.set("messages", messages(l...)).String()
			if row.text == "" {
				c.ask(sent)
				return
			}
			c.refused(sent, row.text)
			if p := s.Problems(); len(p) != 1 || p[0].Kind != KindThinking {
				t.Errorf("problems %v", p)
			}
			l[1], l[3], l[5] = without(l[1]), without(l[3]), without(l[5])
			c.ask(b.set("messages", messages(l...)).String())
		})
	}
}

func TestToolOrderIsNoChange(t *testing.T) {
	const write = `{"name":"Write","input_schema":{"type":"object"}}`
	read := strings.Trim(readTool, "[]")
	_, c := start(t, Options{BindThinking: true, Player: thinker})
	l := history(t, c, good().set("thinking", adaptive, "tools", "["+read+","+write+"]"))
	c.ask(good().set("tools", "["+write+","+read+"]", "messages", messages(append(l, user(Text("x")))...)).String())
}

func TestAnotherServerKnowsTheSignatures(t *testing.T) {
	base := good().set("thinking", adaptive, "tools", readTool)
	_, c := start(t, Options{BindThinking: true, Player: thinker})
	l := history(t, c, base)
	_, c = start(t, Options{BindThinking: true, Player: thinker})
	c.ask(base.set("messages", messages(append(l, user(Text("x")))...)).String())
}

// In a running tool loop the answer comes back with all its thinking.
func TestThinkingInsideALoop(t *testing.T) {
	base := good().set("thinking", adaptive, "tools", readTool)
	begin := func(t *testing.T, bind bool) (*client, []transcript.Message) {
		_, c := start(t, tolerant(Options{Player: thinker, BindThinking: bind}))
		l := history(t, c, base)
		return c, l[:5] // go, call, result, call, result
	}
	for name, bind := range map[string]bool{"bound": true, "unbound": false} {
		t.Run(name+" dropped", func(t *testing.T) {
			c, l := begin(t, bind)
			l[3] = without(l[3])
			c.refused(base.set("messages", messages(l...)).String(), "messages.3.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified")
			c.ask(base.set("messages", messages(l...)).String()) // it was told, and now it may go on without
		})
		t.Run(name+" modified", func(t *testing.T) {
			c, l := begin(t, bind)
			l[3].Content[0] = transcript.Thinking("other", l[3].Content[0].Signature)
			c.refused(base.set("messages", messages(l...)).String(), "cannot be modified")
		})
		t.Run(name+" dropped behind an edit", func(t *testing.T) {
			c, l := begin(t, bind)
			l[2] = user(result(l[2].Content[0].ToolUseID, "trimmed"))
			l[3] = without(l[3])
			c.ask(base.set("messages", messages(l...)).String())
		})
		t.Run(name+" dropped with thinking off", func(t *testing.T) {
			c, l := begin(t, bind)
			l[1], l[3] = without(l[1]), without(l[3])
			c.ask(base.set("thinking", "", "messages", messages(l...)).String())
		})
	}
}

func TestForeignSignatures(t *testing.T) {
	l := messages(user(Text("a")), transcript.Message{Role: "assistant", Content: []transcript.Block{
		transcript.Thinking("x", "c2lnbmF0dXJl"), Text("b"),
	}}, user(Text("c")))
	_, c := start(t, tolerant(Options{}))
	c.ask(good().set("messages", l).String())
	_, c = start(t, tolerant(Options{BindThinking: true}))
	c.refused(good().set("messages", l).String(), "Invalid `signature`")
}

func TestPauses(t *testing.T) {
	player := PlayerFunc(func(r *Request) Reply {
		switch last := r.Messages[len(r.Messages)-1]; {
		case last.Role == "user":
			return Answer(Think("a"), Text("first")).Stopping("pause_turn")
		case strings.HasSuffix(last.PlainText(), "first"):
			return Answer(Think("b"), Text("second")).Stopping("pause_turn")
		default:
			return Answer(Think("c"), Call("Read", nil))
		}
	})
	base := good().set("thinking", adaptive, "tools", readTool)
	for name, joined := range map[string]bool{"joined": true, "apart": false} {
		t.Run(name, func(t *testing.T) {
			_, c := start(t, Options{BindThinking: true, Player: player})
			l := []transcript.Message{user(Text("go"))}
			for range 3 {
				m := back(c.ask(base.set("messages", messages(l...)).String()))
				if last := len(l) - 1; joined && l[last].Role == "assistant" {
					m.Content = append(append([]transcript.Block(nil), l[last].Content...), m.Content...)
					l = l[:last]
				}
				l = append(l, m)
			}
			last := l[len(l)-1].Content
			l = append(l, user(result(last[len(last)-1].ID, "x")))
			c.ask(base.set("messages", messages(l...)).String())
		})
	}
	t.Run("changed", func(t *testing.T) {
		_, c := start(t, tolerant(Options{Player: player}))
		m := back(c.ask(good().String()))
		m.Content[1] = Text("first, and")
		c.refused(good().set("messages", messages(user(Text("hello")), m)).String(), "prefill")
	})
}
