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
		{"a search without", hosted(`x`, `https://a`, ``), hosted(`x`, `https://a`, ``), nil},
		{"what is encrypted", hosted(`x`, `https://a`, `se\"cret`), hosted(`x`, `https://a`, `se\"cret`), nil},
		{"what a search has found", hosted(`x`, `https://a/se\"cret`, ``), `{"type":"assistant","message":{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"redacted"},{"type":"text","text":"[Searched the web for \"x\"; found:\n- T https://a/[gone]]"},{"type":"text","text":"as they say"}]}}`, nil},
		{"what is searched for", hosted(`my se\"cret`, `https://a`, ``), `{"type":"assistant","message":{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"redacted"},{"type":"text","text":"[Searched the web for \"my [gone]\"; found:\n- T https://a]"},{"type":"text","text":"as they say"}]}}`, nil},
		{"a search that is not over", `{"type":"assistant","message":{"role":"assistant","content":[{"type":"server_tool_use","id":"s1","name":"web_search","input":{"query":"se\"cret"}}]}}`,
			`{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"[Searched the web for \"\"; it failed: interrupted]"}]}}`, nil},
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

// hosted is an answer with a search.
func hosted(query, url, sealed string) string {
	return `{"type":"assistant","message":{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"s1"},` +
		`{"type":"server_tool_use","id":"s1","name":"web_search","input":{"query":"` + query + `"}},` +
		`{"type":"web_search_tool_result","tool_use_id":"s1","content":[{"type":"web_search_result","title":"T","url":"` + url + `","encrypted_content":"` + sealed + `"}]},` +
		`{"type":"text","text":"as they say","citations":[{"type":"web_search_result_location","url":"` + url + `","title":"T","encrypted_index":"` + sealed + `","cited_text":"c"}]}]}}`
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
