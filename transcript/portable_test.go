package transcript

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
)

// resumable are the keys without which Claude Code does not resume an entry.
var resumable = []string{
	"parentUuid", "isSidechain", "type", "message", "uuid", "timestamp", "userType", "cwd", "sessionId", "version", "gitBranch",
}

func parseAll(t *testing.T, lines ...string) []Entry {
	t.Helper()
	var entries []Entry
	for _, line := range lines {
		e, err := ParseEntry([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, e)
	}
	return entries
}

func TestPortable(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	stamp := Stamp{SessionID: "new", CWD: "/w", Version: "v", GitBranch: "main"}
	whole := `{"parentUuid":null,"isSidechain":false,"type":"user","message":{"role":"user","content":"hi"},"uuid":"u0","timestamp":"T0","userType":"external","cwd":"/other","sessionId":"new","version":"1","gitBranch":"","x":1}`
	tests := []struct {
		name string
		in   []string
		sub  string
		want []map[string]any // of every entry, what must be there
	}{
		{"complete", []string{whole}, "", []map[string]any{{"cwd": "/other", "x": 1.0, "gitBranch": ""}}},
		{"nothing but a message", []string{`{"type":"user","message":{"role":"user","content":"hi"}}`, `{"message":{"role":"assistant","content":[]}}`}, "", []map[string]any{
			{"parentUuid": nil, "isSidechain": false, "timestamp": "2026-01-02T03:04:05.000Z", "userType": "external", "cwd": "/w", "sessionId": "new", "version": "v"},
			{"type": "assistant", "timestamp": "2026-01-02T03:04:05.000Z"},
		}},
		{"a copy", []string{strings.Replace(whole, `"new"`, `"old"`, 1)}, "", []map[string]any{{"sessionId": "new", "uuid": "u0"}}},
		{"a lost parent", []string{whole, strings.NewReplacer(`null`, `"gone"`, `"u0"`, `"u1"`).Replace(whole)}, "", []map[string]any{{"parentUuid": nil}, {"parentUuid": "u0"}}},
		{"a root in the middle", []string{whole, strings.Replace(whole, `"u0"`, `"u1"`, 1)}, "", []map[string]any{{"parentUuid": nil}, {"parentUuid": nil}}},
		{"a subagent's", []string{`{"type":"user","uuid":"u","message":{"role":"user","content":"hi"}}`}, "a1", []map[string]any{{"isSidechain": true, "agentId": "a1"}}},
	}
	for _, tt := range tests {
		s := stamp
		s.AgentID = tt.sub
		got := Portable(parseAll(t, tt.in...), s, at)
		if len(got) != len(tt.want) {
			t.Errorf("%s: %d entries", tt.name, len(got))
			continue
		}
		for i, e := range got {
			data, err := json.Marshal(e)
			if err != nil {
				t.Fatal(err)
			}
			var have map[string]any
			if err := json.Unmarshal(data, &have); err != nil {
				t.Fatalf("%s: %v in %s", tt.name, err, data)
			}
			for _, key := range resumable {
				if _, ok := have[key]; !ok {
					t.Errorf("%s: entry %d lacks %s: %s", tt.name, i, key, data)
				}
			}
			for key, want := range tt.want[i] {
				if have[key] != want {
					t.Errorf("%s: entry %d has %s = %v, want %v", tt.name, i, key, have[key], want)
				}
			}
			back, err := ParseEntry(data)
			if err != nil || back.UUID != e.UUID || back.ParentUUID != e.ParentUUID || back.SessionID != "new" || back.CWD != e.CWD {
				t.Errorf("%s: the fields %+v are not those of %s", tt.name, e, data)
			}
		}
		again := Portable(got, s, at.Add(time.Hour))
		if a, b := lines(t, got), lines(t, again); !slices.Equal(a, b) {
			t.Errorf("%s: done again it is %q, not %q", tt.name, b, a)
		}
	}
}

func TestPortableKeepsBytes(t *testing.T) {
	in := []string{
		`{"type":"summary","summary":"a <b>","leafUuid":"u0"}`,
		`{ "parentUuid":null,"isSidechain":false,"type":"user","message":{"role":"user","content":"<hi>"},"uuid":"u0","timestamp":"T0","userType":"external","cwd":"/o","sessionId":"s","version":"1","gitBranch":"b", "z":1e3 }`,
	}
	got := lines(t, Portable(parseAll(t, in...), Stamp{SessionID: "s", CWD: "/w", Version: "v"}, time.Time{}))
	if !slices.Equal(got, in) {
		t.Errorf("got %q", got)
	}
}

func TestWithoutThinking(t *testing.T) {
	got, n := WithoutThinking(parseAll(t,
		`{"uuid":"a","type":"user","message":{"role":"user","content":"hi"}}`,
		`{"uuid":"b","parentUuid":"a","type":"assistant","message":{"id":"m","role":"assistant","content":[{"type":"thinking","thinking":"x","signature":"y"}]}}`,
		`{"uuid":"c","parentUuid":"b","type":"assistant","message":{"id":"m","role":"assistant","content":[{"type":"redacted_thinking","data":"z"},{"type":"text","text":"hello","extra":1}]}}`,
		`{"uuid":"d","parentUuid":"c","type":"user","message":{"role":"user","content":"bye"}}`,
	))
	want := []string{
		`{"uuid":"a","type":"user","message":{"role":"user","content":"hi"}}`,
		`{"uuid":"c","parentUuid":"a","type":"assistant","message":{"id":"m","role":"assistant","content":[{"type":"text","text":"hello","extra":1}]}}`,
		`{"uuid":"d","parentUuid":"c","type":"user","message":{"role":"user","content":"bye"}}`,
	}
	if have := lines(t, got); n != 2 || !slices.Equal(have, want) {
		t.Errorf("%d removed: %q", n, have)
	}
}

func lines(t *testing.T, entries []Entry) []string {
	t.Helper()
	var out []string
	for _, e := range entries {
		data, err := e.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(data))
	}
	return out
}
