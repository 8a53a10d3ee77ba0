package flower

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"flower/transcript"
)

// manifests are manifests and what is nearly one; own says that scanRows reads it itself.
var manifests = []struct {
	name, text string
	own        bool
}{
	{"empty", `[]`, true},
	{"blanks", " [ \n{ \"step\" : \"a\" , \"ok\":true}\t,{ } ] \n", true},
	{"texts", `[{"step":"干活#round2","text":"a \"quoted\" \u00e9 \\ line\n","session_id":null,"error":"x"}]`, true},
	{"lists", `[{"step":"a","errors":["one","t\two"],"retired":[]}]`, true},
	{"numbers", `[{"step":"a","cost_usd":-0.5,"num_turns":-3,"started_at":1767323045.25,"context":0,"duration_s":0}]`, true},
	{"usage", `[{"step":"a","usage":{"input_tokens":1,"output_tokens":2,"cache_read_input_tokens":3,"cache_creation_input_tokens":4}}]`, true},
	{"an exponent", `[{"step":"a","cost_usd":1e-5}]`, false},
	{"an unknown key", `[{"step":"a","more":{"x":[1]}}]`, false},
	{"a key twice", `[{"step":"a","step":"b"}]`, false},
	{"a key in capitals", `[{"STEP":"a"}]`, false},
	{"null", `[{"step":null}]`, false},
	{"a leading zero", `[{"step":"a","num_turns":01}]`, false},
	{"no digits", `[{"step":"a","cost_usd":1.}]`, false},
	{"torn", `[{"step":"a"`, false},
	{"more behind", `[{"step":"a"}] x`, false},
	{"a comma too much", `[{"step":"a"},]`, false},
	{"a bad escape", `[{"step":"\x"}]`, false},
	{"a line feed in a text", "[{\"step\":\"a\nb\"}]", false},
	{"no UTF-8", "[{\"step\":\"a\xff\"}]", false},
	{"nothing", ``, false},
	{"an object", `{}`, false},
}

// sameAsJSON: what scanRows reads is what encoding/json reads.
func sameAsJSON(t *testing.T, data []byte) bool {
	t.Helper()
	var rows []manifestRow
	if !scanRows(data, func(row manifestRow) { rows = append(rows, row) }) {
		return false
	}
	var want []manifestRow
	if err := json.Unmarshal(data, &want); err != nil {
		t.Errorf("%q is no manifest: %v", data, err)
	}
	if len(rows)+len(want) > 0 && !reflect.DeepEqual(rows, want) {
		t.Errorf("%q: got %+v, want %+v", data, rows, want)
	}
	return true
}

func TestScanRows(t *testing.T) {
	for _, tt := range manifests {
		if own := sameAsJSON(t, []byte(tt.text)); own != tt.own {
			t.Errorf("%s: read: %v", tt.name, own)
		}
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 678000000, time.UTC)
	row := StepResult{
		Step: "干活·判定#1", SessionID: "s", OK: true, CostUSD: 0.0123, Turns: 3, Text: "<done> \"so\"\n\x1b", Error: "e", StartedAt: at,
		EndedAt: at.Add(time.Second), Attempts: 2, Errors: []string{"one"}, Resumed: true, Retired: []string{"r"}, Context: 5, Run: "run",
		Usage: transcript.Usage{Input: 1, CacheWrite1h: 2}, Model: "m", Unpriced: true, Verdict: "achieved", ResumedFrom: "f", Definition: "d",
		Evidence: []Evidence{{Command: "go test", ExitCode: -1, Output: "a\n\"b\"", Problem: "out of time", DurationS: 0.5}, {Command: "true"}},
	}
	data, err := json.MarshalIndent([]StepResult{row, {Step: "b"}}, "", "  ")
	if err != nil || !sameAsJSON(t, data) {
		t.Errorf("flower's own rows are read another way: %v\n%s", err, data)
	}
}

func FuzzScanRows(f *testing.F) {
	for _, tt := range manifests {
		f.Add([]byte(tt.text))
	}
	f.Fuzz(func(t *testing.T, data []byte) { sameAsJSON(t, data) })
}
