package modeltest

import (
	"encoding/json"
	"strings"
	"testing"

	"flower/transcript"
)

// TestSearchRules sends requests with searches that keep the rules of the API and such that break one of them.
func TestSearchRules(t *testing.T) {
	found := Found{"Wheat", "https://w.example"}
	list := nameSearches(append(Search("wheat", found), Cited("It is wheat.", found)), strings.Repeat("0", 64))
	call, result, cited := string(encode(list[0])), string(encode(list[1])), string(encode(list[2]))
	failed := strings.ReplaceAll(string(encode(SearchFailed("q", "unavailable")[1])), `"tool_use_id":""`, `"tool_use_id":"`+list[0].ID+`"`)
	const tool = `{"type":"web_search_20250305","name":"web_search"}`
	for _, test := range []struct {
		name, tool, answer string
		want               string // of the refusal; "" is none
		no                 Refusal
	}{
		{"a search", tool, call + "," + result + "," + cited, "", NotRefused},
		{"one that failed", tool, call + "," + failed, "", NotRefused},
		{"limits", `{"type":"web_search_20250305","name":"web_search","max_uses":2,"allowed_domains":["a.example"]}`, cited, "", NotRefused},
		{"no result", tool, call + "," + cited, "was found without a corresponding `web_search_tool_result`", NotRefused},
		{"no call", tool, result + "," + cited, "unexpected `tool_use_id`", NotRefused},
		{"the other way round", tool, result + "," + call, "unexpected `tool_use_id`", NotRefused},
		{"two results", tool, call + "," + result + "," + result, "unexpected `tool_use_id`", NotRefused},
		{"a changed result", tool, call + "," + strings.Replace(result, `"encrypted_content":"`, `"encrypted_content":"A`, 1), "Invalid `encrypted_content`", NotRefused},
		{"a changed citation", tool, call + "," + result + "," + strings.Replace(cited, `"encrypted_index":"`, `"encrypted_index":"A`, 1), "Invalid `encrypted_index`", NotRefused},
		{"a strange id", tool, strings.ReplaceAll(call+","+result, "srvtoolu_", "toolu_"), "String should match", NotRefused},
		{"not offered", "", call + "," + result, "Input tag 'server_tool_use'", NotRefused},
		{"another name", `{"type":"web_search_20250305","name":"search"}`, cited, "should be 'web_search'", NotRefused},
		{"both lists", `{"type":"web_search_20250305","name":"web_search","allowed_domains":["a.example"],"blocked_domains":["b.example"]}`, cited, "Only one of", NotRefused},
		{"a scheme", `{"type":"web_search_20250305","name":"web_search","allowed_domains":["http://a.example"]}`, cited, "without a scheme", NotRefused},
		{"no uses", `{"type":"web_search_20250305","name":"web_search","max_uses":0}`, cited, "greater than 0", NotRefused},
		{"a key of ours", `{"type":"web_search_20250305","name":"web_search","description":"x"}`, cited, "Extra inputs", NotRefused},
		{"none here", tool, cited, "does not support the following server tools: web_search", RefusedByName},
		{"unknown type", tool, cited, "Input tag 'web_search_20250305'", RefusedByTag},
		{"taken for another", tool, cited, "tools.0.custom.input_schema: Field required", RefusedByPlace},
	} {
		s := &Server{opts: Options{NoSearch: test.no}}
		body := `{"model":"claude-opus-5-5","max_tokens":10,"tools":[` + test.tool + `],"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[` + test.answer + `]},{"role":"user","content":"more"}]}`
		_, err := s.parse([]byte(body))
		switch {
		case test.want == "" && err != nil:
			t.Errorf("%s: %v", test.name, err)
		case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
			t.Errorf("%s: %v, want %s", test.name, err, test.want)
		}
	}
}

// What a search has found comes in one piece, what a text cites behind its text, and the searches are counted.
func TestSearchesAreStreamed(t *testing.T) {
	content := append(Search("wheat", Found{"Wheat", "https://w.example"}), Cited("It is wheat.", Found{"Wheat", "https://w.example"}))
	msg := Answer(append(content, SearchFailed("oats", "unavailable")...)...).message(&Request{Seq: 1}, strings.Repeat("0", 64))
	msg.Usage.Searches = searchesIn(msg.Content)
	var stream strings.Builder
	for _, p := range streamed(Reply{}, msg).pieces {
		stream.Write(p.data)
	}
	for want, n := range map[string]int{
		`"type":"input_json_delta"`: 6, `"type":"citations_delta"`: 1, `"web_search_requests":1`: 2, `"type":"web_search_tool_result"`: 2, `"tool_use_id":"` + msg.Content[3].ID + `"`: 1,
	} {
		if got := strings.Count(stream.String(), want); got != n {
			t.Errorf("%d times %s, want %d:\n%s", got, want, n, stream.String())
		}
	}
	if msg.Content[0].ID == msg.Content[3].ID || !json.Valid(msg.Content[0].Input) || msg.Content[0].Type != transcript.TypeServerToolUse {
		t.Errorf("%+v", msg.Content)
	}
}
