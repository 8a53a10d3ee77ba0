package transcript

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestSetAndDeleteMember(t *testing.T) {
	tests := []struct{ in, set, deleted string }{
		{`{}`, `{"k":1}`, `{}`},
		{`{"a": "x,}" }`, `{"a": "x,}","k":1 }`, `{"a": "x,}" }`},
		{`{"k":{"k":2},"b":[1, 2]}`, `{"k":1,"b":[1, 2]}`, `{"b":[1, 2]}`},
		{`{ "a":1 , "k" : "old" , "b":2 }`, `{ "a":1 , "k" : 1 , "b":2 }`, `{ "a":1 , "b":2 }`},
		{`{"a":1,"k":null}`, `{"a":1,"k":1}`, `{"a":1}`},
		{`{"k":8,"K":9}`, `{"k":1,"K":9}`, `{"K":9}`},
		{`{"k":8,"k":9}`, `{"k":8,"k":1}`, `{}`},
		{`{"\u006b":7}`, `{"\u006b":1}`, `{}`},
		{`[1]`, `[1]`, `[1]`},
		{`{"k":`, `{"k":`, `{"k":`},
	}
	for _, tt := range tests {
		if got := string(setMember([]byte(tt.in), "k", []byte("1"))); got != tt.set {
			t.Errorf("set in %s: %s", tt.in, got)
		}
		if got := string(deleteMember([]byte(tt.in), "k")); got != tt.deleted {
			t.Errorf("delete in %s: %s", tt.in, got)
		}
	}
}

func TestEntryKeepsWhatItDoesNotKnow(t *testing.T) {
	line := `{"zeta": 1.50, "parentUuid":"p","type":"assistant","message":{"id":"m","role":"assistant","container":{"x":[1]},` +
		`"content":[{"type":"thinking","thinking":"a\u0062","signature":"s"},{"type":"text","text":"old"}],"usage":{"input_tokens":3,"service_tier":"x"}},"uuid":"u","odd":"<é>"}`
	e, err := ParseEntry([]byte(line))
	if err != nil {
		t.Fatal(err)
	}
	m := *e.Message
	m.Content = []Block{m.Content[0], Text("new")}
	changed := e.WithMessage(m).WithParent("")
	want := strings.NewReplacer(`{"type":"text","text":"old"}`, `{"type":"text","text":"new"}`, `"parentUuid":"p"`, `"parentUuid":null`).Replace(line)
	if raw, _ := changed.MarshalJSON(); string(raw) != want {
		t.Errorf("got  %s\nwant %s", raw, want)
	}
	if raw, _ := e.MarshalJSON(); string(raw) != line {
		t.Errorf("the entry itself has changed: %s", raw)
	}
	if changed.ParentUUID != "" || changed.Message.PlainText() != "new" || e.Message.PlainText() != "old" {
		t.Error("the view does not follow")
	}
	m.StopReason = "end_turn"
	again, err := ParseEntry(mustEncode(e.WithMessage(m)))
	if err != nil || again.Message.StopReason != "end_turn" || again.Message.Usage.Input != 3 {
		t.Errorf("%v %+v", err, again.Message)
	}
}

func TestParseHistory(t *testing.T) {
	lines := []json.RawMessage{
		json.RawMessage(`{"type":"user","uuid":"1","message":{"role":"user","content":"hi"}}`),
		json.RawMessage(strings.Repeat("\x00", 50)),
		json.RawMessage(strings.Repeat("\x00", 50) + `{"type":"user","uuid":"2","message":{"role":"user","content":"after NUL"}}`),
		json.RawMessage(`{"type":"user","uuid":"3","mess`),
		json.RawMessage(``), json.RawMessage(`null`), json.RawMessage(`[]`),
		json.RawMessage(`{"type":"user","uuid":4}`),
		json.RawMessage(`{"type":"user","uuid":"5","message":{"role":"user","content":[7]}}`),
		json.RawMessage("{\"type\":\"user\",\"uuid\":\"6\",\"message\":{\"role\":\"user\",\"content\":\"a\xff\\ud800b\"}}"),
	}
	entries, damaged := ParseHistory(lines)
	if len(entries) != 3 || damaged != 7 {
		t.Fatalf("%d entries, %d damaged", len(entries), damaged)
	}
	if s := entries[2].Message.PlainText(); s != "a\uFFFD\uFFFDb" || !sendable(mustEncode(entries[2])) {
		t.Errorf("%q", s)
	}
}

func TestLoneSurrogates(t *testing.T) {
	tests := []struct{ in, want string }{
		{`"\ud83d\ude00 ok"`, `"\ud83d\ude00 ok"`},
		{`"\uD83D"`, `"\ufffd"`},
		{`"\ud83d\ud83d\ude00"`, `"\ufffd\ud83d\ude00"`},
		{`"\ude00\ud83d x"`, `"\ufffd\ufffd x"`},
		{`"\\ud83d \n\\\ud83d"`, `"\\ud83d \n\\\ufffd"`},
		{`"\ud83d\n"`, `"\ufffd\n"`},
		{`"\ud8`, `"\ud8`},
		{`"\`, `"\`},
	}
	for _, tt := range tests {
		if got, repaired := cleanJSON([]byte(tt.in)); string(got) != tt.want || repaired != (tt.in != tt.want) {
			t.Errorf("%s: %s, %v", tt.in, got, repaired)
		}
	}
}

func TestThinkingWithDamagedBytesGoes(t *testing.T) {
	entries, _ := ParseHistory([]json.RawMessage{
		json.RawMessage(`{"type":"user","uuid":"1","parentUuid":null,"message":{"role":"user","content":"hi"}}`),
		json.RawMessage(`{"type":"assistant","uuid":"2","parentUuid":"1","message":{"id":"m","role":"assistant","content":[{"type":"thinking","thinking":"cut \ud83d","signature":"s"},{"type":"text","text":"yes"}]}}`),
	})
	got := Prepare(entries, Options{})
	if s := spoken(got.Messages); s != "hi | yes" || got.Report.Thinking != 1 {
		t.Errorf("%s %+v", s, got.Report)
	}
}

func TestThinkingWithASecretGoes(t *testing.T) {
	e, err := ParseEntry([]byte(`{"type":"assistant","uuid":"2","parentUuid":"1","message":{"id":"m","role":"assistant","content":[{"type":"thinking","thinking":"it is hidden","signature":"s"},{"type":"text","text":"yes"}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	e, _, err = e.Redacted(func(s string) string { return strings.ReplaceAll(s, "hidden", "[gone]") })
	if err != nil {
		t.Fatal(err)
	}
	first, err := ParseEntry([]byte(`{"type":"user","uuid":"1","parentUuid":null,"message":{"role":"user","content":"hi"}}`))
	if err != nil {
		t.Fatal(err)
	}
	got := Prepare([]Entry{first, e}, Options{})
	if s := spoken(got.Messages); s != "hi | yes" || got.Report.Thinking != 1 {
		t.Errorf("%s %+v", s, got.Report)
	}
}
