package transcript

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

func blockOf(t testing.TB, raw string) Block {
	t.Helper()
	var b Block
	if err := b.UnmarshalJSON([]byte(raw)); err != nil {
		t.Fatal(err)
	}
	return b
}

// Blocks of the API's search, by a letter: a call, its result, a failed result, a text that cites.
func searchBlock(t testing.TB, kind byte, id string) Block {
	switch kind {
	case 'c':
		return blockOf(t, fmt.Sprintf(`{"type":"server_tool_use","id":%q,"name":"web_search","input":{"query":"q %s"}}`, id, id))
	case 'r':
		return blockOf(t, fmt.Sprintf(`{"type":"web_search_tool_result","tool_use_id":%q,"content":[{"type":"web_search_result","title":"T\n %s","url":"https://%s.example","encrypted_content":"sk-ant-E=="}]}`, id, id, id))
	case 'f':
		return blockOf(t, fmt.Sprintf(`{"type":"web_search_tool_result","tool_use_id":%q,"content":{"type":"web_search_tool_result_error","error_code":"unavailable"}}`, id))
	case 'q':
		return blockOf(t, fmt.Sprintf(`{"type":"text","text":"cited %s","citations":[{"type":"web_search_result_location","encrypted_index":"E"}]}`, id))
	}
	t.Fatalf("no block %c", kind)
	return Block{}
}

// history of words: "u:hi" is the user's, "a" an answer and "p" a paused one with blocks like c1 r1 and texts.
func searchHistory(t testing.TB, words ...string) []Entry {
	t.Helper()
	var list []Entry
	parent := ""
	for i, w := range words {
		who, what, _ := strings.Cut(w, ":")
		m := Message{Role: RoleAssistant, ID: fmt.Sprintf("msg_%d", i), Model: "m", StopReason: "end_turn"}
		switch who {
		case "u":
			m = Message{Role: RoleUser}
		case "p":
			m.StopReason = "pause_turn"
		}
		for _, f := range strings.Fields(what) {
			switch {
			case len(f) == 2 && strings.IndexByte("crfq", f[0]) >= 0:
				m.Content = append(m.Content, searchBlock(t, f[0], f[1:]))
			case f == "think":
				m.Content = append(m.Content, Thinking("hm", "s"))
			case strings.HasPrefix(f, "call"):
				m.StopReason = "tool_use"
				m.Content = append(m.Content, ToolUse(f, "Read", nil))
			case strings.HasPrefix(f, "done"):
				m.Content = append(m.Content, ToolResult(strings.Replace(f, "done", "call", 1), false, Text("ok")))
			default:
				m.Content = append(m.Content, Text(f))
			}
		}
		e := NewEntry(Stamp{SessionID: "s"}, fmt.Sprintf("e%d", i), parent, time.Unix(int64(i), 0), m)
		parent = e.UUID
		list = append(list, e)
	}
	return list
}

// spell is the opposite of searchHistory, of messages.
func spell(list []Message) string {
	var out []string
	for _, m := range list {
		words := []string{m.Role[:1] + ":"}
		for _, b := range m.Content {
			switch {
			case b.Type == TypeServerToolUse:
				words = append(words, "c"+b.ID)
			case b.Type == TypeWebSearchResult && b.found().Failed != "":
				words = append(words, "f"+b.ToolUseID)
			case b.Type == TypeWebSearchResult:
				words = append(words, "r"+b.ToolUseID)
			case b.cites():
				words = append(words, "q"+b.Text[len("cited "):])
			case b.Type == TypeThinking:
				words = append(words, "think")
			case b.Type == TypeToolUse:
				words = append(words, b.ID)
			case b.Type == TypeToolResult:
				words = append(words, strings.Replace(b.ToolUseID, "call", "done", 1))
			default:
				words = append(words, strings.ReplaceAll(b.Text, "\n", "/"))
			}
		}
		out = append(out, strings.Replace(strings.Join(words, " "), ": ", ":", 1))
	}
	return strings.Join(out, " | ")
}

func TestSearchesInHistories(t *testing.T) {
	for _, test := range []struct {
		name    string
		history []string
		want    string
		plain   string // without a search; "" is want
	}{
		{"an answer", []string{"u:hi", "a:c1 r1 q1 end", "u:more"}, "u:hi | a:c1 r1 q1 end | u:more",
			`u:hi | a:[Searched the web for "q 1"; found:/- T 1 https://1.example] cited 1 end | u:more`},
		{"several, one that failed", []string{"u:hi", "a:c1 c2 r1 f2 end"}, "u:hi | a:c1 c2 r1 f2 end",
			`u:hi | a:[Searched the web for "q 1"; found:/- T 1 https://1.example] [Searched the web for "q 2"; it failed: unavailable] end`},
		{"with a tool of ours", []string{"u:hi", "a:c1 r1 call1", "u:done1", "a:end"}, "u:hi | a:c1 r1 call1 | u:done1 | a:end",
			`u:hi | a:[Searched the web for "q 1"; found:/- T 1 https://1.example] call1 | u:done1 | a:end`},
		{"paused, at the end", []string{"u:hi", "p:c1 r1 c2"}, "u:hi | a:c1 r1 c2", `u:hi | a:[Searched the web for "q 1"; found:/- T 1 https://1.example]`},
		{"paused and gone on", []string{"u:hi", "p:c1 r1 c2", "a:r2 q2", "u:more"}, "u:hi | a:c1 r1 c2 r2 q2 | u:more",
			`u:hi | a:[Searched the web for "q 1"; found:/- T 1 https://1.example] [Searched the web for "q 2"; found:/- T 2 https://2.example] cited 2 | u:more`},
		{"paused twice", []string{"u:hi", "p:c1", "p:r1 c2", "a:r2 end"}, "u:hi | a:c1 r1 c2 r2 end",
			`u:hi | a:[Searched the web for "q 1"; found:/- T 1 https://1.example] [Searched the web for "q 2"; found:/- T 2 https://2.example] end`},
		{"paused and left", []string{"u:hi", "p:c1 r1 c2", "u:more"}, "u:hi | a:c1 r1 | u:more", `u:hi | a:[Searched the web for "q 1"; found:/- T 1 https://1.example] | u:more`},
		{"paused with nothing else, and left", []string{"u:hi", "p:c1", "u:more"}, "u:hi more", ""},
		{"thinking before what is left out", []string{"u:hi", "p:think c1", "u:more"}, "u:hi more", ""},
		{"an open one in an answer that has ended", []string{"u:hi", "a:said c1"}, "u:hi | a:said", ""},
		{"an open one before a call", []string{"u:hi", "a:c1 call1", "u:done1"}, "u:hi | a:call1 | u:done1", ""},
		{"a result without its call", []string{"u:hi", "a:r1 end", "u:more"}, "u:hi | a:end | u:more", `u:hi | a:[Searched the web for ""; found:/- T 1 https://1.example] end | u:more`},
		{"a result behind the user", []string{"u:hi", "p:a c1", "u:more", "a:r1 end"}, "u:hi | a:a | u:more | a:end", "-"},
		{"the same id twice", []string{"u:hi", "a:c1 c1 r1 end"}, "u:hi | a:c1 r1 end", "-"},
	} {
		entries := searchHistory(t, test.history...)
		p := Prepare(entries, Options{KeepOpenCalls: true})
		if got := spell(p.Messages); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
		if err := Validate(p.Messages); err != nil && !strings.Contains(test.name, "at the end") {
			t.Errorf("%s: %v", test.name, err)
		}
		again := Prepare(p.Entries, Options{KeepOpenCalls: true})
		if !reflect.DeepEqual(spell(again.Messages), spell(p.Messages)) {
			t.Errorf("%s: the second time it is %s", test.name, spell(again.Messages))
		}
		// As a conversation grows in memory.
		var grown []Message
		for _, e := range entries {
			grown = Append(grown, *e.Message)
		}
		if got := spell(grown); got != test.want && !strings.Contains(test.name, "has ended") && test.plain != "-" {
			t.Errorf("%s: grown it is %s", test.name, got)
		}
		if test.plain == "" {
			test.plain = test.want
		}
		plain := Prepare(entries, Options{PlainSearches: true, KeepOpenCalls: true})
		if got := spell(plain.Messages); got != test.plain && test.plain != "-" {
			t.Errorf("%s: without a search %s", test.name, got)
		}
		if err := Validate(plain.Messages); err != nil {
			t.Errorf("%s: without a search %v", test.name, err)
		}
	}
}

// Nothing of hygiene touches what the endpoint has found, however old and large it is.
func TestHygieneLeavesSearchesAlone(t *testing.T) {
	words := []string{}
	for i := range 26 {
		words = append(words, fmt.Sprintf("u:look%d", i), fmt.Sprintf("a:c%c r%c q%c", 'A'+i, 'A'+i, 'A'+i))
	}
	entries := searchHistory(t, words...)
	p := Prepare(entries, Options{Trim: true, TrimAll: true, MaxText: 100, MaxResult: 100, MaxRequest: 1000})
	for i, e := range p.Entries {
		if got, want := mustEncode(e), mustEncode(entries[i]); string(got) != string(want) {
			t.Fatalf("entry %d is %s, was %s", i, got, want)
		}
	}
	if p.Same != len(p.Messages) {
		t.Errorf("the first %d of %d are the same", p.Same, len(p.Messages))
	}
}

// Redaction leaves what only the endpoint can read, whatever it looks like.
func TestRedactionKeepsWhatIsEncrypted(t *testing.T) {
	e := searchHistory(t, "a:c1 r1 q1")[0]
	out, _, err := e.Redacted(func(s string) string { return strings.ReplaceAll(s, "sk-ant-E==", "…") })
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(mustEncode(out)), string(mustEncode(e)); got != want || !strings.Contains(got, `"encrypted_content":"sk-ant-E=="`) {
		t.Error(got)
	}
}

func TestSearches(t *testing.T) {
	m := *searchHistory(t, "a:c1 c2 c3 r1 f2 q1")[0].Message
	want := []Search{{ID: "1", Query: "q 1", Results: []Found{{"T\n 1", "https://1.example"}}}, {ID: "2", Query: "q 2", Failed: "unavailable"}}
	if got := m.Searches(); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	for raw, want := range map[string]Search{
		`{"type":"web_search_tool_result","tool_use_id":"x","content":[]}`:                                 {ID: "x"},
		`{"type":"web_search_tool_result","tool_use_id":"x","content":"odd"}`:                              {ID: "x", Failed: "unavailable"},
		`{"type":"web_search_tool_result","tool_use_id":"x"}`:                                              {ID: "x"},
		`{"type":"web_search_tool_result","tool_use_id":"x","content":{"error_code":"too_many_requests"}}`: {ID: "x", Failed: "too_many_requests"},
	} {
		if got := (Message{Content: []Block{blockOf(t, raw)}}).Searches(); len(got) != 1 || !reflect.DeepEqual(got[0], want) {
			t.Errorf("%s is %+v", raw, got)
		}
	}
}

// A sentence that cites comes in pieces, which belong together; other texts are paragraphs.
func TestPlainTextOfCitations(t *testing.T) {
	m := Message{Content: []Block{
		Text("I look."), searchBlock(t, 'c', "1"), searchBlock(t, 'r', "1"), Text("  "), Text("It is "), searchBlock(t, 'q', "1"), Text(" "), searchBlock(t, 'q', "2"), Text("."), Text("Next."),
	}}
	if got := m.PlainText(); got != "I look.\n\nIt is cited 1 cited 2.\n\nNext." {
		t.Errorf("%q", got)
	}
}

func TestUsageOfSearches(t *testing.T) {
	for raw, want := range map[string]Usage{
		`{"input_tokens":90,"server_tool_use":{"web_fetch_requests":9,"web_search_requests":2}}`: {Input: 90, Searches: 2},
		`{"input_tokens":90,"web_search_requests":2,"server_tool_use":null}`:                     {Input: 90, Searches: 2},
		`{"input_tokens":90,"server_tool_use":{"server_tool_use":{"web_search_requests":2}}}`:    {Input: 90},
	} {
		var m Message
		if err := json.Unmarshal([]byte(`{"role":"assistant","content":[],"usage":`+raw+`}`), &m); err != nil || m.Usage != want {
			t.Errorf("%s is %+v, %v", raw, m.Usage, err)
		}
	}
	u := Usage{Input: 30, CacheRead: 60, Searches: 2}
	if u.Context() != 30 || u.Add(u).Searches != 4 {
		t.Errorf("context %d, twice %+v", u.Context(), u.Add(u))
	}
	var back Usage
	if data, err := json.Marshal(u); err != nil || json.Unmarshal(data, &back) != nil || back != u {
		t.Errorf("written and read it is %+v", back)
	}
}

func TestWithdrawn(t *testing.T) {
	s, at := Stamp{SessionID: "s"}, time.Unix(0, 0)
	entries := append(searchHistory(t, "u:hi", "a:c1 r1 end"), ToolWithdrawn(s, "w1", "e1", at, "WebSearch"), ToolWithdrawn(s, "w2", "w1", at, "WebSearch"))
	lines := make([]json.RawMessage, len(entries))
	for i, e := range entries {
		lines[i] = mustEncode(e)
	}
	read, damaged := ParseHistory(lines)
	if got := Withdrawn(read); damaged != 0 || len(got) != 1 || got[0] != "WebSearch" {
		t.Errorf("%q, %d damaged", got, damaged)
	}
	if p := Prepare(read, Options{}); len(Withdrawn(p.Entries)) != 1 || len(p.Messages) != 2 {
		t.Errorf("%d messages of %d entries", len(p.Messages), len(p.Entries))
	}
	if got := Withdrawn(searchHistory(t, "u:flower_tool_withdrawn")); got != nil {
		t.Errorf("%q", got)
	}
}
