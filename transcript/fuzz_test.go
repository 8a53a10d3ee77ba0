package transcript

import (
	"bytes"
	"encoding/json"
	"os"
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
