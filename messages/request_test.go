package messages

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"flower/agent"
	"flower/transcript"
)

func rawBlock(t testing.TB, s string) transcript.Block {
	t.Helper()
	var b transcript.Block
	if err := json.Unmarshal([]byte(s), &b); err != nil {
		t.Fatal(err)
	}
	return b
}

func user(blocks ...transcript.Block) transcript.Message {
	return transcript.Message{Role: transcript.RoleUser, Content: blocks}
}

func assistant(blocks ...transcript.Block) transcript.Message {
	return transcript.Message{Role: transcript.RoleAssistant, ID: "msg_1", Model: "m", StopReason: "end_turn", Content: blocks}
}

func encoded(t testing.TB, req *agent.ModelRequest) string {
	t.Helper()
	body, err := encodeRequest(req)
	if err != nil {
		t.Fatal(err)
	}
	if !json.Valid(body) {
		t.Fatalf("not JSON: %s", body)
	}
	return string(body)
}

func TestRequestBytes(t *testing.T) {
	got := encoded(t, &agent.ModelRequest{
		Model: "claude-opus-5-5[1m]", MaxTokens: 32000, System: "Do <it> & \"go\"", Thinking: true, Effort: "high", SessionID: "s1",
		Tools:    []agent.ToolSpec{{Name: "Read", Description: "a > b", InputSchema: json.RawMessage(`{"type": "object"}`)}, {Name: "Now"}},
		Messages: []transcript.Message{user(transcript.Text("hi")), assistant(transcript.Text("<b>")), user(transcript.Text("on"))},
		Marks:    []agent.Mark{{Message: 2, Block: 0}},
	})
	want := `{"model":"claude-opus-5-5","max_tokens":32000,"stream":true,"thinking":{"type":"adaptive"},` +
		`"output_config":{"effort":"high"},"metadata":{"user_id":"s1"},` +
		`"system":[{"type":"text","text":"Do <it> & \"go\"","cache_control":{"type":"ephemeral"}}],` +
		`"tools":[{"name":"Read","description":"a > b","input_schema":{"type": "object"}},{"name":"Now","input_schema":{"type":"object"}}],` +
		`"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]},` +
		`{"role":"assistant","content":[{"type":"text","text":"<b>"}]},` +
		`{"role":"user","content":[{"type":"text","text":"on","cache_control":{"type":"ephemeral"}}]}]}`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := encoded(t, &agent.ModelRequest{Model: "m", MaxTokens: 1}); got != `{"model":"m","max_tokens":1,"stream":true,"messages":[]}` {
		t.Errorf("what was not asked for is sent: %s", got)
	}
}

func TestStoredBytesSurvive(t *testing.T) {
	thinking := `{ "signature":"Eq/+=","type":"thinking", "thinking":"a<b && \u003c \u2028 é","x":1.50e1}`
	unknown := `{"type":"server_thing","z":{"b":1,"a":[ ]}}`
	got := encoded(t, &agent.ModelRequest{
		Messages: []transcript.Message{assistant(rawBlock(t, thinking), rawBlock(t, unknown))},
		Marks:    []agent.Mark{{Message: 0, Block: 1}},
	})
	if want := `"content":[` + thinking + `,` + strings.TrimSuffix(unknown, "}") + `,` + cacheControl + `}]`; !strings.Contains(got, want) {
		t.Errorf("got %s\nwant in it %s", got, want)
	}
}

func TestInvalidBytesAreReplaced(t *testing.T) {
	got := encoded(t, &agent.ModelRequest{Messages: []transcript.Message{user(rawBlock(t, "{\"type\":\"text\",\"text\":\"a\xffb\"}"))}})
	if !strings.Contains(got, "a\uFFFDb") {
		t.Errorf("got %q", got)
	}
}

func TestBlockThatCannotBeWritten(t *testing.T) {
	_, err := encodeRequest(&agent.ModelRequest{Messages: []transcript.Message{user(transcript.Block{Type: "strange"})}})
	if err == nil || !strings.Contains(err.Error(), "block 0 of message 0") {
		t.Errorf("got %v", err)
	}
	_, err = encodeRequest(&agent.ModelRequest{Tools: []agent.ToolSpec{{Name: "T", InputSchema: json.RawMessage(`{`)}}})
	if err == nil || !strings.Contains(err.Error(), "tool T") {
		t.Errorf("got %v", err)
	}
}

func TestPlaces(t *testing.T) {
	messages := []transcript.Message{
		user(transcript.Text("a"), transcript.Text("b")),
		assistant(transcript.Thinking("t", "s"), transcript.Text("")),
		user(transcript.Text("c"), transcript.ToolResult("x", false)),
		assistant(transcript.Text("d"), transcript.RedactedThinking("r")),
		user(transcript.Text("e")),
	}
	at := func(pairs ...int) (marks []agent.Mark) {
		for i := 0; i < len(pairs); i += 2 {
			marks = append(marks, agent.Mark{Message: pairs[i], Block: pairs[i+1]})
		}
		return marks
	}
	for _, c := range []struct {
		name        string
		marks, want []agent.Mark
	}{
		{"as asked", at(0, 1, 2, 1), at(0, 1, 2, 1)},
		{"sorted", at(4, 0, 0, 0), at(0, 0, 4, 0)},
		{"behind thinking moves back", at(3, 1), at(3, 0)},
		{"empty text and thinking move to the message before", at(1, 1), at(0, 1)},
		{"the same place twice is one", at(0, 1, 1, 0, 1, 1), at(0, 1)},
		{"only three", at(0, 0, 0, 1, 2, 0, 2, 1, 4, 0), at(2, 0, 2, 1, 4, 0)},
		{"outside", at(9, 0, 0, 7, -1, 0, 0, -1), nil},
	} {
		if got := places(messages, c.marks); fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
	if got := places([]transcript.Message{assistant(transcript.Thinking("t", "s"))}, at(0, 0)); got != nil {
		t.Errorf("a mark has a place where none is: %v", got)
	}
}

func TestStoredMarksGo(t *testing.T) {
	for in, want := range map[string]string{
		`{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}`:                               `{"type":"text","text":"a"}`,
		`{"cache_control":null , "type":"text","text":"a"}`:                                             `{ "type":"text","text":"a"}`,
		`{"type":"text","cache_control":{"a":[1]},"text":"a"}`:                                          `{"type":"text","text":"a"}`,
		`{"type":"text","text":"say \"cache_control\""}`:                                                `{"type":"text","text":"say \"cache_control\""}`,
		`{"type":"tool_use","id":"1","name":"n","input":{"cache_control":1}}`:                           `{"type":"tool_use","id":"1","name":"n","input":{"cache_control":1}}`,
		`{"type":"tool_use","id":"1","name":"n","input":{"cache_control":1},"cache_control" : {"x":2}}`: `{"type":"tool_use","id":"1","name":"n","input":{"cache_control":1}}`,
	} {
		got := encoded(t, &agent.ModelRequest{Messages: []transcript.Message{user(rawBlock(t, in))}})
		var a, b any
		_ = json.Unmarshal([]byte(want), &a)
		if _, inner, _ := strings.Cut(got, `"content":[`); json.Unmarshal([]byte(strings.TrimSuffix(inner, "]}]}")), &b) != nil || fmt.Sprint(a) != fmt.Sprint(b) {
			t.Errorf("%s became %s", in, inner)
		}
	}
}

func FuzzWriteBlock(f *testing.F) {
	f.Add(`{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}`, true)
	f.Add(`{"cache_control":1,"type":"text"}`, false)
	f.Add(`{}`, true)
	f.Fuzz(func(t *testing.T, s string, mark bool) {
		var b transcript.Block
		if json.Unmarshal([]byte(s), &b) != nil || s == "null" {
			return
		}
		m := agent.ModelRequest{Messages: []transcript.Message{user(b)}}
		if mark {
			m.Marks = []agent.Mark{{}}
		}
		body, err := encodeRequest(&m)
		if err == nil && !json.Valid(body) {
			t.Fatalf("%q became %q", s, body)
		}
	})
}

func BenchmarkEncodeRequest(b *testing.B) {
	req := &agent.ModelRequest{Model: DefaultModel, System: strings.Repeat("s", 8000)}
	for i := range 500 {
		req.Messages = append(req.Messages,
			user(rawBlock(b, fmt.Sprintf(`{"type":"tool_result","tool_use_id":"t%d","content":%q}`, i, strings.Repeat("line of output\n", 40)))),
			assistant(transcript.Thinking("why", "c2ln"), transcript.Text("next"), transcript.ToolUse(fmt.Sprint("t", i+1), "Read", json.RawMessage(`{"file_path":"a.go"}`))))
	}
	req.Marks = []agent.Mark{{Message: 998}, {Message: 996}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := encodeRequest(req); err != nil {
			b.Fatal(err)
		}
	}
}
