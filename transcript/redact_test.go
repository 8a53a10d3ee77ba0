package transcript

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func TestRedacted(t *testing.T) {
	redact := func(s string) string { return strings.ReplaceAll(s, `se"cret`, "[gone]") }
	for _, test := range []struct {
		name, in, want string
		calls          []string
	}{
		{"nothing", `{"type":"user", "x" : 1e3,"uuid":"a"}`, `{"type":"user", "x" : 1e3,"uuid":"a"}`, nil},
		{"text", `{"type":"user","uuid":"a","message":{"role":"user","content":"my se\"cret"}}`,
			`{"type":"user","uuid":"a","message":{"role":"user","content":"my [gone]"}}`, nil},
		{"escaped in another way", `{"type":"user","uuid":"a","message":{"role":"user","content":"\u0073e\u0022cret"}}`,
			`{"type":"user","uuid":"a","message":{"role":"user","content":"[gone]"}}`, nil},
		{"call", `{"type":"assistant","message":{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"data":["x",{"b":"se\"cret","data":"se\"cret"}], "n": 1.50}},{"type":"tool_use","id":"t2","name":"Bash","input":{"a":"x"}}]}}`,
			`{"type":"assistant","message":{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"data":["x",{"b":"[gone]","data":"[gone]"}], "n": 1.50}},{"type":"tool_use","id":"t2","name":"Bash","input":{"a":"x"}}]}}`, []string{"t1"}},
		{"result and unknown members", `{"type":"user","toolUseResult":{"stdout":"se\"cret"},"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"se\"cret"}]}]}}`,
			`{"type":"user","toolUseResult":{"stdout":"[gone]"},"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"[gone]"}]}]}}`, nil},
		{"thinking", `{"type":"assistant","message":{"role":"assistant","content":[{"type":"thinking","thinking":"my se\"cret","signature":"s1"},{"signature":"s2","type":"thinking","thinking":"no"},{"signature":"s3","type":"thinking","thinking":"se\"cret"}]}}`,
			`{"type":"assistant","message":{"role":"assistant","content":[{"type":"thinking","thinking":"my [gone]","signature":"redacted"},{"signature":"s2","type":"thinking","thinking":"no"},{"signature":"redacted","type":"thinking","thinking":"[gone]"}]}}`, nil},
		{"names of parameters", `{"type":"assistant","message":{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"x","input":{"se\"cret":{"my se\"cret":1}}}]}}`,
			`{"type":"assistant","message":{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"x","input":{"[gone]":{"my [gone]":1}}}]}}`, []string{"t1"}},
		{"what was signed, and images", `{"type":"assistant","message":{"role":"assistant","content":[{"type":"thinking","thinking":"s","signature":"se\"cret"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"se\"cret"}}]}}`,
			`{"type":"assistant","message":{"role":"assistant","content":[{"type":"thinking","thinking":"s","signature":"se\"cret"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"se\"cret"}}]}}`, nil},
		{"a key stays", `{"type":"user","se\"cret":"se\"cret"}`, `{"type":"user","se\"cret":"[gone]"}`, nil},
	} {
		e, err := ParseEntry([]byte(test.in))
		if err != nil {
			t.Fatal(err)
		}
		out, calls, err := e.Redacted(redact)
		if err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(out)
		if err != nil || string(got) != compact(t, test.want) && string(got) != test.want || !reflect.DeepEqual(calls, test.calls) {
			t.Errorf("%s: got %s %v, %v", test.name, got, calls, err)
		}
	}
}

func compact(t *testing.T, s string) string {
	t.Helper()
	data, err := json.Marshal(json.RawMessage(s))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func FuzzRedacted(f *testing.F) {
	f.Add(`{"type":"user","message":{"role":"user","content":"my-secret"}}`, "my-secret")
	f.Add(`{"a":["x","\u0078y",{"b":"\"x"}]}`, "x")
	f.Fuzz(func(t *testing.T, line, secret string) {
		e, err := ParseEntry([]byte(line))
		if err != nil || len(secret) < 3 || strings.Contains("[gone]", secret) {
			return
		}
		redact := func(s string) string { return strings.ReplaceAll(s, secret, "\x01") }
		out, _, err := e.Redacted(redact)
		if err != nil {
			return // a member of the entry itself that has to be of some form
		}
		again, _, err := out.Redacted(redact)
		if err != nil {
			t.Fatal(err)
		}
		one, _ := json.Marshal(out)
		two, _ := json.Marshal(again)
		if string(one) != string(two) && !strings.ContainsRune(secret, 1) {
			t.Errorf("%s, and again %s", one, two)
		}
	})
}
