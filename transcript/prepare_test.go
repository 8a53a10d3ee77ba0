package transcript

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// story makes entries of short lines: "uuid parent role block…", where a block is text, !id a call of make, ?id a call
// of ls, =id a result, ~sig thinking. The parent - is the root, the role may carry the message id: assistant/msg.
func story(t testing.TB, lines ...string) []Entry {
	t.Helper()
	var entries []Entry
	for _, line := range lines {
		f := strings.Fields(line)
		role, id, _ := strings.Cut(f[2], "/")
		m := Message{Role: role, ID: id}
		if role == RoleAssistant && id == "" {
			m.ID = "msg_" + f[0]
		}
		for _, b := range f[3:] {
			rest := b[1:]
			switch b[0] {
			case '!':
				m.Content = append(m.Content, ToolUse(rest, "Bash", json.RawMessage(`{"command":"make"}`)))
			case '?':
				m.Content = append(m.Content, ToolUse(rest, "Bash", json.RawMessage(`{"command":"ls"}`)))
			case '=':
				m.Content = append(m.Content, ToolResult(rest, false, Text("output of "+rest)))
			case '~':
				m.Content = append(m.Content, Thinking("so", rest))
			default:
				m.Content = append(m.Content, Text(b))
			}
		}
		parent := f[1]
		if parent == "-" {
			parent = ""
		}
		e := Entry{Type: role, UUID: f[0], ParentUUID: parent, Message: &m}
		raw, err := e.MarshalJSON()
		if err == nil {
			e, err = ParseEntry(raw)
		}
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, e)
	}
	return entries
}

// spoken writes messages in the blocks of story: user and assistant parts are divided by " | ".
func spoken(messages []Message) string {
	var parts []string
	for _, m := range messages {
		var words []string
		for _, b := range m.Content {
			switch b.Type {
			case TypeText:
				words = append(words, b.Text)
			case TypeToolUse:
				words = append(words, "!"+b.ID)
			case TypeToolResult:
				word := "=" + b.ToolUseID
				if b.PlainText() == unknownNote {
					word += "(unknown)"
				}
				words = append(words, word)
			default:
				words = append(words, "~"+b.Signature)
			}
		}
		parts = append(parts, strings.Join(words, " "))
	}
	return strings.Join(parts, " | ")
}

func TestReading(t *testing.T) {
	tests := []struct {
		name  string
		lines []string
		want  string
		leaf  string
	}{
		{"a rewound prompt", []string{"1 - user hi", "2 1 assistant yes", "3 2 user left", "4 3 assistant gone", "5 2 user right", "6 5 assistant here"},
			"hi | yes | right | here", "6"},
		{"an edited first prompt", []string{"1 - user hi", "2 1 assistant yes", "3 - user ho", "4 3 assistant no"}, "ho | no", "4"},
		{"the branch left last is the newest", []string{"1 - user hi", "2 1 assistant a", "3 1 assistant b", "4 2 user on"}, "hi | a | on", "4"},
		{"a result that comes last", []string{"1 - user hi", "2 1 assistant/m !c1", "3 2 assistant/m !c2", "4 3 user =c2", "5 4 assistant done", "6 2 user =c1"},
			"hi | !c1 !c2 | =c1 =c2 | done", "5"},
		{"a late result of a branch that was left", []string{"1 - user hi", "2 1 assistant !c", "3 1 user no", "4 3 assistant ok", "5 2 user =c"},
			"hi no | ok", "4"},
		{"words while a tool ran, as a side leaf", []string{"1 - user hi", "2 1 assistant !c", "3 2 user slow?", "4 2 user =c", "5 4 assistant done"},
			"hi | !c | =c slow? | done", "5"},
		{"a gateway with one message id", []string{"1 - user hi", "2 1 assistant/m !c", "3 2 user =c", "4 3 assistant/m !d", "5 4 user =d", "6 5 assistant/m done"},
			"hi | !c | =c | !d | =d | done", "6"},
		{"a gateway with one call id", []string{"1 - user hi", "2 1 assistant !c", "3 2 user =c", "4 3 assistant !c", "5 4 user =c"},
			"hi | !c | =c | !c_257062d6ffc4 | =c_257062d6ffc4", "5"},
		{"one call id, the first result lost", []string{"1 - user hi", "2 1 assistant !c", "3 2 assistant !c", "4 3 user =c"},
			"hi | !c | =c(unknown) | !c_5bd989385b6a | =c_5bd989385b6a", "4"},
		{"two results of one call", []string{"1 - user hi", "2 1 assistant !c", "3 2 user =c", "4 3 user =c", "5 4 assistant ok"}, "hi | !c | =c | ok", "5"},
		{"an id twice in one answer", []string{"1 - user hi", "2 1 assistant !c !c", "3 2 user =c"}, "hi | !c | =c", "3"},
		{"results of two answers in one entry", []string{"1 - user hi", "2 1 assistant !c", "3 2 assistant !d", "4 3 user =d =c", "5 4 assistant ok"},
			"hi | !c | =c | !d | =d | ok", "5"},
		{"the first line is lost", []string{"2 1 assistant !c", "3 2 user =c", "4 3 assistant ok"}, lostStartNote + " | !c | =c | ok", "4"},
		{"the line of the calls is lost", []string{"1 - user hi", "3 2 user =c", "4 3 assistant ok"}, "hi | ok", "4"},
		{"stored the wrong way round", []string{"1 - user hi", "4 3 assistant ok", "3 2 user =c", "2 1 assistant !c"}, "hi | !c | =c | ok", "4"},
		{"an answer that broke off in thinking", []string{"1 - user hi", "2 1 assistant ~s"}, "hi", "1"},
		{"thinking behind a gap", []string{"1 - user hi", "2 1 assistant ~s1 a", "4 3 user more", "5 4 assistant ~s2 b"}, "hi | ~s1 a | more | b", "5"},
		{"thinking in a cut answer does not touch later thinking", []string{"1 - user hi", "2 1 assistant ~s1", "3 1 user go", "4 3 assistant ~s2 b"}, "hi go | ~s2 b", "4"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := Prepare(story(t, tt.lines...), Options{})
			if s := spoken(got.Messages); s != tt.want {
				t.Errorf("got  %s\nwant %s", s, tt.want)
			}
			if got.Leaf != tt.leaf {
				t.Errorf("leaf %s, want %s", got.Leaf, tt.leaf)
			}
			if err := Validate(got.Messages); err != nil {
				t.Error(err)
			}
			sameAgain(t, got, Options{})
		})
	}
}

func TestCompactedHistoryBeginsAtItsSummary(t *testing.T) {
	entries := story(t, "1 - user hi", "2 1 assistant yes", "4 3 user summary", "5 4 assistant ok")
	boundary, err := ParseEntry([]byte(`{"type":"system","subtype":"compact_boundary","uuid":"3","parentUuid":null,"logicalParentUuid":"2"}`))
	if err != nil {
		t.Fatal(err)
	}
	got := Prepare(slices.Insert(entries, 2, boundary), Options{})
	if s := spoken(got.Messages); s != "summary | ok" || len(got.Entries) != 3 {
		t.Errorf("%s, %d entries", s, len(got.Entries))
	}
	sameAgain(t, got, Options{})
}

func TestKeepOpenCalls(t *testing.T) {
	tests := []struct {
		name       string
		lines      []string
		want, open string
	}{
		{"no result", []string{"1 - user hi", "2 1 assistant !c !d"}, "hi | !c !d", "c d"},
		{"some results", []string{"1 - user hi", "2 1 assistant !c !d !e", "3 2 user =d"}, "hi | !c !d !e | =d", "c e"},
		{"a block a line", []string{"1 - user hi", "2 1 assistant/m !c", "3 2 assistant/m !d", "4 3 user =d"}, "hi | !c !d | =d", "c"},
		{"words behind", []string{"1 - user hi", "2 1 assistant !c", "3 2 user on"}, "hi | !c | =c(unknown) on", ""},
		{"an older one is not open", []string{"1 - user hi", "2 1 assistant !c", "3 2 assistant !d"}, "hi | !c | =c(unknown) | !d", "d"},
		{"all answered", []string{"1 - user hi", "2 1 assistant !c", "3 2 user =c"}, "hi | !c | =c", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := Prepare(story(t, tt.lines...), Options{KeepOpenCalls: true})
			var open []string
			answer := Message{Role: RoleUser}
			for _, c := range got.Open {
				open = append(open, c.ID)
				answer.Content = append(answer.Content, UnknownOutcome(c.ID))
			}
			if s := spoken(got.Messages); s != tt.want || strings.Join(open, " ") != tt.open {
				t.Errorf("got %s, open %v", s, open)
			}
			if err := Validate(Append(got.Messages, answer)); err != nil {
				t.Error(err)
			}
			sameAgain(t, got, Options{KeepOpenCalls: true})
		})
	}
}

// looked is a history of results of one command, oldest first.
func looked(t testing.TB, command string, outputs ...string) []Entry {
	t.Helper()
	entries := story(t, "0 - user go")
	for i, out := range outputs {
		call, result := fmt.Sprint("c", i), fmt.Sprint("r", i)
		entries = append(entries,
			Entry{Type: RoleAssistant, UUID: call, ParentUUID: entries[len(entries)-1].UUID, Message: &Message{Role: RoleAssistant, ID: "m" + call,
				Content: []Block{ToolUse(call, "Bash", mustEncode(map[string]string{"command": command}))}}},
			Entry{Type: RoleUser, UUID: result, ParentUUID: call, Message: &Message{Role: RoleUser, Content: []Block{ToolResult(call, false, Text(out))}}})
	}
	return entries
}

func TestLimits(t *testing.T) {
	tests := []struct {
		name             string
		command          string
		length, count    int
		expired, trimmed int
		char             string
	}{
		{"six looks stay", "ls", 10, 6, 0, 0, "a"},
		{"the seventh from the end expires", "ls", 10, 7, 1, 0, "a"},
		{"2000 characters of any size expire", "ls", 2000, 8, 2, 0, "水"},
		{"2001 do not", "ls", 2001, 8, 0, 0, "a"},
		{"a command with effects does not", "make", 10, 8, 0, 0, "a"},
		{"twenty big ones stay", "make", 2000, 20, 0, 0, "a"},
		{"the one before is trimmed", "make", 2000, 21, 0, 1, "水"},
		{"1999 characters are not big", "make", 1999, 25, 0, 0, "水"},
		{"a look is trimmed too", "ls", 2001, 23, 0, 3, "a"},
		{"expired ones are not big", "ls", 2000, 23, 17, 0, "a"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			outputs := make([]string, tt.count)
			for i := range outputs {
				outputs[i] = fmt.Sprint(i%10) + strings.Repeat(tt.char, tt.length-1)
			}
			got := Prepare(looked(t, tt.command, outputs...), Options{Trim: true})
			if got.Report.Expired != tt.expired || got.Report.Trimmed != tt.trimmed {
				t.Errorf("%+v", got.Report)
			}
			sameAgain(t, got, Options{Trim: true})
		})
	}
}

func TestSpillsAreNamedOnce(t *testing.T) {
	outputs := slices.Repeat([]string{strings.Repeat("x", 3000)}, 25)
	got := Prepare(looked(t, "make", outputs...), Options{Trim: true})
	if len(got.Spills) != 1 || got.Report.Trimmed != 5 || got.Spills[0].Text != outputs[0] {
		t.Errorf("%d spills of %d trimmed", len(got.Spills), got.Report.Trimmed)
	}
}

func TestProtectedEntriesStay(t *testing.T) {
	for _, mark := range []string{"isMeta", "isCompactSummary"} {
		entries := looked(t, "ls", slices.Repeat([]string{"x"}, 8)...)
		raw, _ := entries[2].MarshalJSON()
		e, err := ParseEntry(setMember(raw, mark, []byte("true")))
		if err != nil {
			t.Fatal(err)
		}
		entries[2] = e
		got := Prepare(entries, Options{})
		if got.Report.Expired != 1 || got.Entries[2].Message.Content[0].PlainText() != "x" {
			t.Errorf("%s: %+v", mark, got.Report)
		}
	}
}

func TestDenialLosesItsCopy(t *testing.T) {
	entries := story(t, "1 - user hi", "2 1 assistant !c !d", "3 2 user =c =d", "4 3 assistant !e", "5 4 user =e", "6 5 assistant ok")
	deny := func(i int, id string) {
		e := entries[i]
		m := *e.Message
		m.Content = slices.Clone(m.Content)
		for j, b := range m.Content {
			if b.ToolUseID == id {
				m.Content[j] = ToolResult(id, true, Text("not for you"))
			}
		}
		raw := setMember(mustEncode(e.WithMessage(m)), "toolDenialKind", mustEncode(DeniedByRule))
		e, err := ParseEntry(setMember(raw, "toolUseResult", []byte(`{"text":"not for you"}`)))
		if err != nil {
			t.Fatal(err)
		}
		entries[i] = e
	}
	deny(2, "d")
	deny(4, "e")
	got := Prepare(entries, Options{})
	if s := spoken(got.Messages); s != "hi | !c | =c | !e | =e | ok" || got.Report.Denials != 1 {
		t.Errorf("%s, %+v", s, got.Report)
	}
	if raw := mustEncode(got.Entries[2]); bytes.Contains(raw, []byte("toolUseResult")) {
		t.Errorf("%s", raw)
	}
	if raw := mustEncode(got.Entries[4]); !bytes.Contains(raw, []byte("toolUseResult")) {
		t.Errorf("the newest denial has changed: %s", raw)
	}
	sameAgain(t, got, Options{})
}

func TestSubagent(t *testing.T) {
	lines := caseLines(t, "testdata/cases/t24-sidechain.jsonl")
	entries, _ := ParseHistory(lines)
	got := Prepare(entries, Options{AgentID: "a0c0ffee"})
	if s := spoken(got.Messages); s != "Count. | Seven." {
		t.Error(s)
	}
}

func TestContext(t *testing.T) {
	answer := func(model string, side bool, u Usage) Entry {
		return Entry{Type: RoleAssistant, IsSidechain: side, Message: &Message{Role: RoleAssistant, Model: model, Usage: u}}
	}
	list := []Entry{
		answer("m", false, Usage{Input: 1}),
		answer("m", false, Usage{Input: 1, Output: 50, CacheRead: 20, CacheWrite: 300}),
		answer("m", true, Usage{Input: 9999}),
		answer(SyntheticModel, false, Usage{Input: 7}),
		{Type: "system"},
	}
	if n := Context(list); n != 321 {
		t.Errorf("context %d", n)
	}
	if n := Context(nil); n != 0 {
		t.Errorf("context of nothing %d", n)
	}
}

// TestSpelling: models and gateways make up names and ids that the API does not take back.
func TestSpelling(t *testing.T) {
	list := []Message{
		say(RoleUser, Text("go")),
		{Role: RoleAssistant, ID: "m", Content: []Block{
			Thinking("so", "sig"), ToolUse("call:1/x", "functions.Read file", nil), ToolUse("ok-1", strings.Repeat("n", 200), nil), ToolUse("世", "读", nil),
		}},
		say(RoleUser, ToolResult("世", false, Text("three")), ToolResult("call:1/x", false, Text("one")), ToolResult("ok-1", false, Text("two"))),
	}
	var entries []Entry
	for i, m := range list {
		e := Entry{Type: m.Role, UUID: fmt.Sprint("e", i), Message: &m}
		if i > 0 {
			e.ParentUUID = fmt.Sprint("e", i-1)
		}
		entries = append(entries, e)
	}
	got := Prepare(entries, Options{})
	sendableNow(t, got)
	sameAgain(t, got, Options{})
	calls := got.Messages[1].ToolUses()
	if len(calls) != 3 || calls[0].Name != "functions_Read_file" || len(calls[1].Name) != 128 || calls[1].ID != "ok-1" || !strings.HasPrefix(calls[0].ID, "call_1_x_") || calls[2].Name != "_" {
		t.Errorf("calls are %s", mustEncode(calls))
	}
	for i, text := range []string{"one", "two", "three"} {
		if r := got.Messages[2].Content[i]; r.ToolUseID != calls[i].ID || r.PlainText() != text {
			t.Errorf("result %d is %s of %s", i, r.PlainText(), r.ToolUseID)
		}
	}
}
