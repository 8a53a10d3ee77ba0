package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"flower/agent"
	"flower/transcript"
)

// WebSearch is run by the endpoint, within its answers: nothing of it happens here.
const (
	// searchType is the tool's version in the API that every endpoint with a search has.
	searchType = "web_search_20250305"
	// searchUses is how many searches one answer may make if its agent does not say: enough for a question with several
	// sides, and less than ten cents by the vendor's list. A product setting.
	searchUses = 8
	maxDomains = 100
)

// webSearch is the definition of the search as the endpoint takes it.
func webSearch(limits agent.SearchLimits) (agent.Tool, error) {
	def := struct {
		Type    string   `json:"type"`
		Name    string   `json:"name"`
		MaxUses int      `json:"max_uses"`
		Allowed []string `json:"allowed_domains,omitempty"`
		Blocked []string `json:"blocked_domains,omitempty"`
	}{searchType, transcript.WebSearch, limits.MaxUses, limits.AllowedDomains, limits.BlockedDomains}
	switch {
	case def.MaxUses < 0:
		return agent.Tool{}, fmt.Errorf("%d searches are no limit", def.MaxUses)
	case def.MaxUses == 0:
		def.MaxUses = searchUses
	}
	if len(def.Allowed) > 0 && len(def.Blocked) > 0 {
		return agent.Tool{}, errors.New("it has both allowed and blocked domains; the endpoint takes only one of them")
	}
	for _, list := range [][]string{def.Allowed, def.Blocked} {
		if len(list) > maxDomains {
			return agent.Tool{}, fmt.Errorf("it has more than %d domains", maxDomains)
		}
		for _, d := range list {
			if err := checkDomain(d); err != nil {
				return agent.Tool{}, err
			}
		}
	}
	hosted, err := json.Marshal(def)
	if err != nil {
		return agent.Tool{}, fmt.Errorf("write definition: %w", err)
	}
	return agent.Tool{ToolSpec: agent.ToolSpec{Name: WebSearch, Hosted: hosted}}, nil
}

// checkDomain checks a domain as the endpoint wants it: a host without a scheme, with a path perhaps.
func checkDomain(d string) error {
	host, _, _ := strings.Cut(d, "/")
	if host == "" || strings.ContainsAny(d, " \t\r\n:?#@\\") || !strings.Contains(host, ".") {
		return fmt.Errorf("%q is no domain like example.com", clip(d, 100))
	}
	return nil
}
