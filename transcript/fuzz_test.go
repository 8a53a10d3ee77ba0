package transcript

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
)

func FuzzPrepare(f *testing.F) {
	for _, file := range caseFiles(f) {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, true, false)
		f.Add(data, false, true)
	}
	f.Fuzz(func(t *testing.T, data []byte, trim, keepOpen bool) {
		var lines []json.RawMessage
		for line := range bytes.SplitSeq(data, []byte("\n")) {
			lines = append(lines, line)
		}
		entries, damaged := ParseHistory(lines)
		if len(entries)+damaged != len(lines) {
			t.Fatalf("%d lines, %d entries, %d damaged", len(lines), len(entries), damaged)
		}
		opts := Options{Trim: trim, KeepOpenCalls: keepOpen, MaxText: 10_000, MaxResult: 10_000, MaxRequest: 50_000}
		got := Prepare(entries, opts)
		sendableNow(t, got)
		sameAgain(t, got, opts)
	})
}

func FuzzSetMember(f *testing.F) {
	f.Add([]byte(`{ "a":1 , "k" : "old" , "b":2 }`))
	f.Add([]byte(`{"k":{"k":2},"K":[1, 2]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var before, after map[string]json.RawMessage
		if json.Unmarshal(raw, &before) != nil || before == nil {
			return
		}
		set := setMember(raw, "k", []byte("true"))
		if err := json.Unmarshal(set, &after); err != nil {
			t.Fatalf("%s: %v", set, err)
		}
		if string(after["k"]) != "true" {
			t.Fatalf("%s: %s", set, after["k"])
		}
		for key, value := range before {
			if key != "k" && !bytes.Equal(value, after[key]) {
				t.Fatalf("%s: %q has changed", set, key)
			}
		}
		after = nil
		if err := json.Unmarshal(deleteMember(set, "k"), &after); err != nil || after["k"] != nil {
			t.Fatalf("%s: %v", deleteMember(set, "k"), err)
		}
	})
}

// longHistory is 20,000 entries of about 2 KB.
func longHistory(b *testing.B) []json.RawMessage {
	b.Helper()
	var lines []json.RawMessage
	parent := ""
	add := func(m Message) {
		e := Entry{Type: m.Role, UUID: fmt.Sprintf("%036d", len(lines)), ParentUUID: parent, SessionID: "s", CWD: "/home/ada/shop", Message: &m}
		parent = e.UUID
		lines = append(lines, mustEncode(e))
	}
	text := strings.Repeat("a line of output, as tools write it\n", 60)
	add(Message{Role: RoleUser, Content: []Block{Text("go")}})
	for i := 0; len(lines) < 20_000; i++ {
		id, command := fmt.Sprint("toolu_", i), []string{"ls -la", "make all"}[i%2]
		add(Message{Role: RoleAssistant, ID: fmt.Sprint("msg_", i), Content: []Block{
			Thinking(text[:1500], fmt.Sprint("sig", i)), ToolUse(id, "Bash", mustEncode(map[string]string{"command": command}))}})
		add(Message{Role: RoleUser, Content: []Block{ToolResult(id, false, Text(fmt.Sprint(i, text)))}})
	}
	return lines
}

func BenchmarkParseHistory(b *testing.B) {
	lines := longHistory(b)
	size := 0
	for _, l := range lines {
		size += len(l)
	}
	b.SetBytes(int64(size))
	for b.Loop() {
		if _, damaged := ParseHistory(lines); damaged > 0 {
			b.Fatal(damaged)
		}
	}
}

func BenchmarkPrepare(b *testing.B) {
	entries, _ := ParseHistory(longHistory(b))
	b.ReportAllocs()
	for b.Loop() {
		if p := Prepare(entries, Options{Trim: true}); p.Report.Trimmed == 0 {
			b.Fatal("nothing trimmed")
		}
	}
}
