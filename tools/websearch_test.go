package tools

import (
	"strings"
	"testing"

	"flower/agent"
)

func TestWebSearch(t *testing.T) {
	f := newFixture(t, func(o *Options) { o.Search = true })
	for _, test := range []struct {
		name   string
		limits agent.SearchLimits
		want   string
		fault  string
	}{
		{"by default", agent.SearchLimits{}, `{"type":"web_search_20250305","name":"web_search","max_uses":8}`, ""},
		{"allowed", agent.SearchLimits{MaxUses: 2, AllowedDomains: []string{"example.com", "docs.example.org/guide"}}, `{"type":"web_search_20250305","name":"web_search","max_uses":2,"allowed_domains":["example.com","docs.example.org/guide"]}`, ""},
		{"blocked", agent.SearchLimits{MaxUses: 1, BlockedDomains: []string{"bücher.example"}}, `{"type":"web_search_20250305","name":"web_search","max_uses":1,"blocked_domains":["bücher.example"]}`, ""},
		{"both", agent.SearchLimits{AllowedDomains: []string{"a.example"}, BlockedDomains: []string{"b.example"}}, "", "both allowed and blocked"},
		{"a scheme", agent.SearchLimits{AllowedDomains: []string{"https://a.example"}}, "", "no domain"},
		{"a word", agent.SearchLimits{BlockedDomains: []string{"localhost"}}, "", "no domain"},
		{"nothing", agent.SearchLimits{BlockedDomains: []string{""}}, "", "no domain"},
		{"less than none", agent.SearchLimits{MaxUses: -1}, "", "no limit"},
		{"too many", agent.SearchLimits{BlockedDomains: strings.Split(strings.Repeat("a.example ", 101), " ")}, "", "more than 100"},
	} {
		list, err := f.box.Tools(agent.Spec{Tools: []string{Read, WebSearch}, Search: test.limits}, f.env)
		switch {
		case test.fault != "":
			if err == nil || !strings.Contains(err.Error(), test.fault) {
				t.Errorf("%s: %v", test.name, err)
			}
		case err != nil || len(list) != 2 || list[1].Name != WebSearch || string(list[1].Hosted) != test.want || list[1].Run != nil:
			t.Errorf("%s: %v, %+v", test.name, err, list)
		}
	}
	if list, err := newFixture(t, nil).box.Tools(agent.Spec{Tools: []string{Read, WebSearch}, Search: agent.SearchLimits{MaxUses: -1}}, f.env); err != nil || len(list) != 1 {
		t.Errorf("not offered: %d tools, %v", len(list), err)
	}
}
