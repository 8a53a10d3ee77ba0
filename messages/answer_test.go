package messages

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"flower/agent"
	"flower/transcript"
)

// Events of a stream, written by hand.
const (
	evStart = `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-opus-5-5","content":[],"stop_reason":null,"usage":{"input_tokens":10,"output_tokens":1,"cache_read_input_tokens":100,"cache_creation_input_tokens":20}}}`
	evStop  = `{"type":"message_stop"}`
)

func evBlock(i int, block string) string {
	return fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, i, block)
}

func evDelta(i int, kind, member, piece string) string {
	return fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":%q,%q:%s}}`, i, kind, member, quote(piece))
}

func evText(i int, s string) string  { return evDelta(i, "text_delta", "text", s) }
func evInput(i int, s string) string { return evDelta(i, "input_json_delta", "partial_json", s) }
func evCite(i int, citation string) string {
	return fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":"citations_delta","citation":%s}}`, i, citation)
}
func evEnd(i int) string { return fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, i) }

func evReason(reason string) string {
	return fmt.Sprintf(`{"type":"message_delta","delta":{"stop_reason":%q,"stop_sequence":null},"usage":{"output_tokens":42}}`, reason)
}

const (
	startText  = `{"type":"text","text":""}`
	startThink = `{"type":"thinking","thinking":"","signature":""}`
	startTool  = `{"type":"tool_use","id":"toolu_1","name":"Read","input":{}}`
)

func feed(events []string, sink func(agent.Delta)) (*answer, error) {
	if sink == nil {
		sink = func(agent.Delta) {}
	}
	a := new(answer)
	for _, e := range events {
		if err := a.take("", []byte(e), sink); err != nil {
			return nil, err
		}
	}
	if !a.done {
		return nil, protocolError("not done")
	}
	return a, nil
}

func blocksJSON(t testing.TB, a *answer) (string, int) {
	t.Helper()
	blocks, cut := a.content()
	parts := make([]string, 0, len(blocks))
	for _, b := range blocks {
		raw, err := b.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, string(raw))
	}
	return strings.Join(parts, "\n"), cut
}

func TestAnswerContent(t *testing.T) {
	for _, c := range []struct {
		name   string
		reason string
		events []string
		want   string
		cut    int
	}{
		{"text in pieces", "end_turn", []string{evBlock(0, startText), evText(0, "a<"), evText(0, "é"), evEnd(0)}, `{"type":"text","text":"a<é"}`, 0},
		{"text that begins in its start", "end_turn", []string{evBlock(0, `{"type":"text","text":"He","citations":null}`), evText(0, "y")}, `{"type":"text","text":"Hey"}`, 0},
		{"citations", "end_turn", []string{evBlock(0, `{"type":"text","text":"","citations":[]}`), evCite(0, `{"type":"a","encrypted_index":"E<"}`), evText(0, "x"), evCite(0, `{"type":"b", "n":1.0}`)}, `{"citations":[{"type":"a","encrypted_index":"E<"},{"type":"b","n":1.0}],"text":"x","type":"text"}`, 0},
		{"citations at once", "end_turn", []string{evBlock(0, `{"type":"text","text":"x","citations":[{"type":"a"}]}`)}, `{"citations":[{"type":"a"}],"text":"x","type":"text"}`, 0},
		{"citations of nothing", "end_turn", []string{evBlock(0, `{"type":"text","text":"","citations":[]}`), evText(0, "x"), evCite(0, `7`)}, `{"type":"text","text":"x"}`, 0},
		{
			"a search and what it found", "end_turn",
			[]string{
				evBlock(0, `{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}`), evInput(0, `{"query":`), evInput(0, `"a<b"}`), evEnd(0),
				evBlock(1, `{"type":"web_search_tool_result", "tool_use_id":"srvtoolu_1","content":[ {"type":"web_search_result","encrypted_content":"E+/="} ]}`), evEnd(1),
			},
			`{"id":"srvtoolu_1","input":{"query":"a<b"},"name":"web_search","type":"server_tool_use"}` + "\n" + `{"type":"web_search_tool_result", "tool_use_id":"srvtoolu_1","content":[ {"type":"web_search_result","encrypted_content":"E+/="} ]}`, 0,
		},
		{"a search that the limit has cut", "max_tokens", []string{evBlock(0, startText), evText(0, "a"), evBlock(1, `{"type":"server_tool_use","id":"s","name":"web_search","input":{}}`), evInput(1, `{"query":"q"}`)}, `{"type":"text","text":"a"}`, 1},
		{"a search of a paused answer", "pause_turn", []string{evBlock(0, `{"type":"server_tool_use","id":"s","name":"web_search","input":{}}`)}, `{"type":"server_tool_use","id":"s","name":"web_search","input":{}}`, 0},
		{"nothing at all", "end_turn", nil, ``, 0},
		{"an empty text", "end_turn", []string{evBlock(0, startText), evEnd(0)}, ``, 0},
		{
			"thinking and a call", "tool_use",
			[]string{
				evBlock(0, startThink), evDelta(0, "thinking_delta", "thinking", "hm & \u2028"), evDelta(0, "signature_delta", "signature", "Eq=="), evEnd(0),
				evBlock(1, startTool), evInput(1, ""), evInput(1, `{"file_pa`), evInput(1, `th": "a.go"}`), evEnd(1),
			},
			`{"type":"thinking","thinking":"hm & \u2028","signature":"Eq=="}` + "\n" + `{"type":"tool_use","id":"toolu_1","name":"Read","input":{"file_path":"a.go"}}`, 0,
		},
		{"redacted thinking", "end_turn", []string{evBlock(0, `{"type":"redacted_thinking","data":"Abc+/="}`)}, `{"type":"redacted_thinking","data":"Abc+/="}`, 0},
		{"a call without input", "tool_use", []string{evBlock(0, startTool), evEnd(0)}, `{"type":"tool_use","id":"toolu_1","name":"Read","input":{}}`, 0},
		{"a call whole in its start", "tool_use", []string{evBlock(0, `{"type":"tool_use","id":"t","name":"N","input":{"a":1}}`)}, `{"type":"tool_use","id":"t","name":"N","input":{"a":1}}`, 0},
		{"a call with a member of tomorrow", "tool_use", []string{evBlock(0, `{"type":"tool_use","id":"t","name":"N","input":{},"caller":{"type":"direct"}}`), evInput(0, `{"a":"<"}`)}, `{"caller":{"type":"direct"},"id":"t","input":{"a":"<"},"name":"N","type":"tool_use"}`, 0},
		{"a block of tomorrow", "end_turn", []string{evBlock(0, `{"type":"new_thing","x":{"y":1}}`), evDelta(0, "new_delta", "z", "?"), evEnd(0)}, `{"type":"new_thing","x":{"y":1}}`, 0},
		{"a call of the server", "end_turn", []string{evBlock(0, `{"type":"server_tool_use","id":"s","name":"web_search","input":{}}`), evInput(0, `{"query":"q"}`)}, `{"id":"s","input":{"query":"q"},"name":"web_search","type":"server_tool_use"}`, 0},
		{"a cut call", "max_tokens", []string{evBlock(0, startText), evText(0, "x"), evEnd(0), evBlock(1, startTool), evInput(1, `{"file_path": "a.`), evEnd(1)}, `{"type":"text","text":"x"}`, 1},
		{"a call cut before its input", "max_tokens", []string{evBlock(0, startTool)}, ``, 1},
		{"a whole call before the cut", "max_tokens", []string{evBlock(0, startTool), evInput(0, `{}`)}, `{"type":"tool_use","id":"toolu_1","name":"Read","input":{}}`, 0},
		{"a call cut by the window", "model_context_window_exceeded", []string{evBlock(0, startTool), evInput(0, `{"a`)}, ``, 1},
		{"a call cut by a refusal", "refusal", []string{evBlock(0, startText), evText(0, "I"), evBlock(1, startTool), evInput(1, `{"a`)}, `{"type":"text","text":"I"}`, 1},
		{"thinking cut before its signature", "max_tokens", []string{evBlock(0, startThink), evDelta(0, "thinking_delta", "thinking", "hm")}, ``, 1},
		{"a damaged input is for the engine to refuse", "tool_use", []string{evBlock(0, startTool), evInput(0, `{"a": tru`), evEnd(0)}, `{"type":"tool_use","id":"toolu_1","name":"Read","input":{"unreadable_json":"{\"a\": tru"}}`, 0},
		{"an input that is a list", "tool_use", []string{evBlock(0, startTool), evInput(0, `["a"]`)}, `{"type":"tool_use","id":"toolu_1","name":"Read","input":{"unreadable_json":"[\"a\"]"}}`, 0},
		{"half a character", "tool_use", []string{evBlock(0, startTool), evInput(0, `{"a":"\ud83d \ud83d\ude00 \\ud83d \uDE00"}`)}, `{"type":"tool_use","id":"toolu_1","name":"Read","input":{"a":"\ufffd \ud83d\ude00 \\ud83d \ufffd"}}`, 0},
		{"events without a meaning", "end_turn", []string{`{"type":"ping"}`, `{"type":"tomorrow"}`, `[DONE]`, ``}, ``, 0},
		{"blocks out of step with their index", "end_turn", []string{evBlock(3, startText), evText(3, "x"), evBlock(1, startText), evText(1, "y")}, "{\"type\":\"text\",\"text\":\"x\"}\n{\"type\":\"text\",\"text\":\"y\"}", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			events := append(append([]string{evStart}, c.events...), evReason(c.reason), evStop)
			a, err := feed(events, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got, cut := blocksJSON(t, a); got != c.want || cut != c.cut {
				t.Errorf("got  %s, %d cut\nwant %s, %d cut", got, cut, c.want, c.cut)
			}
			if a.stopReason != c.reason {
				t.Errorf("stop reason %q", a.stopReason)
			}
		})
	}
}

func TestAnswerRules(t *testing.T) {
	for name, events := range map[string][]string{
		"no beginning":             {evBlock(0, startText)},
		"end without beginning":    {evStop},
		"two beginnings":           {evStart, evStart},
		"no id":                    {`{"type":"message_start","message":{"id":""}}`},
		"no stop reason":           {evStart, evStop},
		"null stop reason":         {evStart, `{"type":"message_delta","delta":{"stop_reason":null}}`, evStop},
		"the same block twice":     {evStart, evBlock(0, startText), evBlock(0, startText)},
		"a piece without a block":  {evStart, evText(0, "x")},
		"a block without a type":   {evStart, evBlock(0, `{}`)},
		"a block that is null":     {evStart, evBlock(0, `null`)},
		"a call without an id":     {evStart, evBlock(0, `{"type":"tool_use","name":"Read"}`)},
		"an event cut in two":      {evStart, evText(0, "x")[:30]},
		"text that is a number":    {evStart, evBlock(0, startText), `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":7}}`},
		"a piece that is a string": {evStart, evBlock(0, startText), `{"type":"content_block_delta","index":0,"delta":"x"}`},
	} {
		_, err := feed(events, nil)
		var broken protocolError
		if !errors.As(err, &broken) || strings.Contains(err.Error(), "not done") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	for name, event := range map[string]string{
		"an error":                `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`,
		"an error without a type": `{"error":"busy"}`,
	} {
		_, err := feed([]string{evStart, event}, nil)
		var said *reportedError
		if !errors.As(err, &said) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestUsage(t *testing.T) {
	delta := func(usage string) string {
		return `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":` + usage + `}`
	}
	for _, c := range []struct {
		name   string
		deltas []string
		want   transcript.Usage
	}{
		{"the last of each class", []string{`{"output_tokens":5}`, `{"output_tokens":9,"input_tokens":11}`}, transcript.Usage{Input: 11, Output: 9, CacheRead: 100, CacheWrite: 20}},
		{"null and nonsense leave what was", []string{`{"output_tokens":null,"input_tokens":-4,"cache_read_input_tokens":"x"}`, `null`, `7`}, transcript.Usage{Input: 10, Output: 1, CacheRead: 100, CacheWrite: 20}},
		{"an hour's cache", []string{`{"cache_creation_input_tokens":20,"cache_creation":{"ephemeral_5m_input_tokens":5,"ephemeral_1h_input_tokens":15}}`}, transcript.Usage{Input: 10, Output: 1, CacheRead: 100, CacheWrite: 20, CacheWrite1h: 15}},
		{"the parts without the sum", []string{`{"cache_creation":{"ephemeral_5m_input_tokens":30,"ephemeral_1h_input_tokens":5}}`}, transcript.Usage{Input: 10, Output: 1, CacheRead: 100, CacheWrite: 35, CacheWrite1h: 5}},
		{"a part is never more than the sum", []string{`{"cache_creation_input_tokens":3,"cache_creation":{"ephemeral_1h_input_tokens":9}}`}, transcript.Usage{Input: 10, Output: 1, CacheRead: 100, CacheWrite: 3, CacheWrite1h: 3}},
	} {
		events := []string{evStart}
		for _, d := range c.deltas {
			events = append(events, delta(d))
		}
		a, err := feed(append(events, evStop), nil)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if a.usage != c.want {
			t.Errorf("%s: got %+v, want %+v", c.name, a.usage, c.want)
		}
	}
}

func TestDeltas(t *testing.T) {
	var got []string
	sink := func(d agent.Delta) { got = append(got, fmt.Sprintf("%#v", d)) }
	_, err := feed([]string{
		evStart, evBlock(0, startThink), evDelta(0, "thinking_delta", "thinking", "hm"), evDelta(0, "signature_delta", "signature", "s"),
		evBlock(1, startText), evText(1, "a"), evText(1, ""), evBlock(2, startTool), evInput(2, `{"x"`), evInput(2, `:1}`), evReason("tool_use"), evStop,
	}, sink)
	want := []agent.Delta{
		agent.Begun{Model: "claude-opus-5-5", Usage: transcript.Usage{Input: 10, Output: 1, CacheRead: 100, CacheWrite: 20}},
		agent.ThinkingDelta{Text: "hm"}, agent.TextDelta{Text: "a"},
		agent.ToolDelta{Name: "Read"}, agent.ToolDelta{Name: "Read", Bytes: 4}, agent.ToolDelta{Name: "Read", Bytes: 7},
	}
	if err != nil || len(got) != len(want) {
		t.Fatalf("got %v, %v", got, err)
	}
	for i := range want {
		if got[i] != fmt.Sprintf("%#v", want[i]) {
			t.Errorf("delta %d is %s, want %#v", i, got[i], want[i])
		}
	}
}

func TestStopDetails(t *testing.T) {
	for details, want := range map[string]string{
		`null`: "",
		`{"type":"refusal","category":"bio","explanation":"Not this."}`: "Not this. (bio)",
		`{"type":"refusal","category":null,"explanation":"No."}`:        "No.",
		`{"category":"cyber"}`: "cyber",
		`"words"`:              `"words"`,
	} {
		a, err := feed([]string{evStart, `{"type":"message_delta","delta":{"stop_reason":"refusal","stop_details":` + details + `}}`, evStop}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if a.stopDetails != want {
			t.Errorf("%s: got %q, want %q", details, a.stopDetails, want)
		}
	}
}

// FuzzAnswer feeds events, one a line: whatever comes, a finished answer can be written, sent back and read again.
func FuzzAnswer(f *testing.F) {
	f.Add(strings.Join([]string{evStart, evBlock(0, startText), evText(0, "x"), evReason("end_turn"), evStop}, "\n"))
	f.Add(strings.Join([]string{evStart, evBlock(0, startTool), evInput(0, `{"a":"\ud83d`), evReason("max_tokens"), evStop}, "\n"))
	f.Add(strings.Join([]string{evStart, evBlock(0, startTool), evInput(0, `{"a":"\ud83d"}`), evReason("tool_use"), evStop}, "\n"))
	f.Add(strings.Join([]string{evStart, evBlock(0, `{"type":"thinking","thinking":7,"signature":[],"q":1}`), evReason("refusal"), evStop}, "\n"))
	f.Add(`{"type":"message","role":"assistant","id":"m","content":[{"type":"text","text":"x"}],"stop_reason":"end_turn"}`)
	f.Fuzz(func(t *testing.T, stream string) {
		a := new(answer)
		sink := func(agent.Delta) {}
		for line := range strings.SplitSeq(stream, "\n") {
			if a.take("", []byte(line), sink) != nil {
				return
			}
			if a.done {
				break
			}
		}
		if !a.done {
			a = new(answer)
			if a.whole([]byte(stream), sink) != nil {
				return
			}
		}
		blocks, cut := a.content()
		if cut < 0 || cut > len(a.blocks) || a.usage.Input < 0 || a.usage.CacheWrite1h > a.usage.CacheWrite {
			t.Fatalf("%d cut, usage %+v", cut, a.usage)
		}
		for _, b := range blocks {
			raw, err := b.MarshalJSON()
			if err != nil || !json.Valid(raw) {
				t.Fatalf("block %+v cannot be written: %v", b, err)
			}
			if b.Type == transcript.TypeToolUse && !isObject(b.Input) {
				t.Fatalf("input %s", b.Input)
			}
		}
	})
}
