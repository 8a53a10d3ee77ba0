package transcript

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func say(role string, blocks ...Block) Message { return Message{Role: role, Content: blocks} }

func TestValidate(t *testing.T) {
	user, answer := say(RoleUser, Text("hi")), say(RoleAssistant, Text("yes"))
	call := func(ids ...string) Message {
		m := say(RoleAssistant)
		for _, id := range ids {
			m.Content = append(m.Content, ToolUse(id, "Read", nil))
		}
		return m
	}
	ok := func(id string) Block { return ToolResult(id, false, Text("ok")) }
	var half Block
	if err := json.Unmarshal([]byte(`{"type":"text","text":"\ud83d"}`), &half); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name     string
		messages []Message
		want     string // part of the error; "" is valid
	}{
		{"plain", []Message{user, answer, user}, ""},
		{"results, then words", []Message{user, call("a", "b"), say(RoleUser, ok("a"), ok("b"), Text("go")), answer}, ""},
		{"one id in two answers", []Message{user, call("a"), say(RoleUser, ok("a")), call("a"), say(RoleUser, ok("a"))}, `tool_use id "a" is not unique`},
		{"empty result", []Message{user, call("a"), say(RoleUser, ToolResult("a", false))}, ""},
		{"none", nil, "there is none"},
		{"answer first", []Message{answer}, "role"},
		{"no role", []Message{say("system", Text("x"))}, "role"},
		{"two of the user", []Message{user, user}, "alternate"},
		{"empty message", []Message{say(RoleUser)}, "empty"},
		{"empty text", []Message{say(RoleUser, Text(""))}, "blank"},
		{"blank text", []Message{say(RoleUser, Text(" \n"))}, "blank"},
		{"no result", []Message{user, call("a"), user}, "tool_result of"},
		{"no next message", []Message{user, call("a")}, "no tool_result"},
		{"one of two results", []Message{user, call("a", "b"), say(RoleUser, ok("a"))}, `"b"`},
		{"wrong order", []Message{user, call("a", "b"), say(RoleUser, ok("b"), ok("a"))}, `"a"`},
		{"words before results", []Message{user, call("a"), say(RoleUser, Text("go"), ok("a"))}, "come first"},
		{"orphan", []Message{say(RoleUser, Text("go"), ok("a"))}, "no tool_use"},
		{"result twice", []Message{user, call("a"), say(RoleUser, ok("a"), ok("a"))}, "twice"},
		{"late result", []Message{user, call("a"), say(RoleUser, ok("a")), answer, say(RoleUser, ok("a"))}, "no tool_use"},
		{"id twice", []Message{user, call("a", "a"), say(RoleUser, ok("a"), ok("a"))}, "not unique"},
		{"no id", []Message{user, call("")}, "needs an id"},
		{"odd id", []Message{user, call("a.b")}, "only letters"},
		{"odd name", []Message{user, say(RoleAssistant, ToolUse("a", "Re ad", nil))}, "only letters"},
		{"image of the assistant", []Message{user, say(RoleAssistant, Image("image/png", "aGk="))}, "message of the assistant"},
		{"blank text in a result", []Message{user, call("a"), say(RoleUser, ToolResult("a", false, Text(" "), Text("x")))}, "empty block"},
		{"call in a result", []Message{user, call("a"), say(RoleUser, ToolResult("a", false, ToolUse("b", "Read", nil)))}, "may not stand"},
		{"input is no object", []Message{user, say(RoleAssistant, ToolUse("a", "Read", json.RawMessage("[]")))}, "object"},
		{"call of the user", []Message{say(RoleUser, ToolUse("a", "Read", nil))}, "message of the user"},
		{"result of the assistant", []Message{user, say(RoleAssistant, ok("a"))}, "message of the assistant"},
		{"thinking last", []Message{user, say(RoleAssistant, Text("x"), Thinking("t", "s"))}, "thinking"},
		{"thinking of the user", []Message{say(RoleUser, Thinking("t", "s"))}, "message of the user"},
		{"not UTF-8", []Message{say(RoleUser, Text("a\xff"))}, "UTF-8"},
		{"not UTF-8 in a result", []Message{user, call("a"), say(RoleUser, ToolResult("a", false, Text("\xc3")))}, "UTF-8"},
		{"half a character", []Message{say(RoleUser, half)}, "UTF-8"},
		{"no type", []Message{say(RoleUser, Block{})}, "type"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := Validate(tt.messages)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func TestAppend(t *testing.T) {
	res := func(id string) Block { return ToolResult(id, false, Text("ok")) }
	calls := say(RoleAssistant, Thinking("t", "s"), ToolUse("a", "Read", nil), ToolUse("b", "Read", nil))
	start := []Message{say(RoleUser, Text("hi")), calls}
	tests := []struct {
		name string
		to   []Message
		add  []Message
		want string
	}{
		{"first", nil, []Message{say(RoleUser, Text("hi"))}, "hi"},
		{"call order", start, []Message{say(RoleUser, res("b"), res("a"))}, "hi | ~s !a !b | =a =b"},
		{"the missing result joins", start, []Message{say(RoleUser, res("b"), Text("go")), say(RoleUser, res("a"))}, "hi | ~s !a !b | =a =b go"},
		{"words join", start[:1], []Message{say(RoleUser, Text("ho"))}, "hi ho"},
		{"a paused answer goes on", start[:1], []Message{say(RoleAssistant, Text("one")), say(RoleAssistant, Text("two"))}, "hi | one two"},
		{"nothing", start[:1], []Message{say(RoleAssistant), say(RoleAssistant, Text(""), Thinking("t", "s"))}, "hi"},
		{"blank text goes", start[:1], []Message{say(RoleAssistant, Text("\n"), Text("x"), Thinking("t", "s"))}, "hi | x"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := string(mustEncode(tt.to))
			got := tt.to
			for _, m := range tt.add {
				kept, were := got, string(mustEncode(got))
				got = Append(got, m)
				if string(mustEncode(kept)) != were {
					t.Fatal("the list given has changed")
				}
			}
			if s := spoken(got); s != tt.want {
				t.Errorf("got %s, want %s", s, tt.want)
			}
			if string(mustEncode(tt.to)) != before {
				t.Error("the list given has changed")
			}
		})
	}
}

func TestAppendDoesNotShareItsTail(t *testing.T) {
	base := Append(nil, say(RoleUser, Text("hi")))
	one, two := Append(base, say(RoleAssistant, Text("one"))), Append(base, say(RoleAssistant, Text("two")))
	if reflect.DeepEqual(one, two) || spoken(one) != "hi | one" {
		t.Errorf("%s, %s", spoken(one), spoken(two))
	}
}
