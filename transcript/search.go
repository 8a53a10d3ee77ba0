package transcript

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Block types of tools that the endpoint runs itself, within one answer. They pass through untouched: what they hold is
// partly encrypted, and the endpoint reads it again when it comes back.
const (
	TypeServerToolUse   = "server_tool_use"
	TypeWebSearchResult = "web_search_tool_result"
)

// WebSearch is the name of the search in the blocks of the API.
const WebSearch = "web_search"

const stopPaused = "pause_turn"

// cites says whether a text says where it is from.
func (b *Block) cites() bool { return bytes.Contains(b.raw, []byte(`"citations":[{`)) }

// answersServer says whether the block is what a tool of the endpoint has found.
func (b Block) answersServer() bool {
	return b.Type != TypeToolResult && b.ToolUseID != "" && strings.HasSuffix(b.Type, "_tool_result")
}

// sealed says whether the endpoint takes the block back only as it came.
func (b Block) sealed() bool {
	return b.Type == TypeServerToolUse || b.answersServer() ||
		b.Type == TypeText && bytes.Contains(b.raw, []byte(`"web_search_result_location"`))
}

// Search is a search of the web that the endpoint has made for a model.
type Search struct {
	ID, Query string
	Results   []Found
	Failed    string // the API's word for why there are no results; "" if it worked
}

// Found is one result of a Search.
type Found struct{ Title, URL string }

// Searches returns the searches that have come to an end in an answer, in their order. before is what the paused answers
// said that it goes on from: they may have begun some.
func (m Message) Searches(before ...Block) []Search {
	var list []Search
	queries := map[string]string{}
	for _, b := range before {
		if b.Type == TypeServerToolUse {
			queries[b.ID] = b.query()
		}
	}
	for _, b := range m.Content {
		switch b.Type {
		case TypeServerToolUse:
			queries[b.ID] = b.query()
		case TypeWebSearchResult:
			s := b.found()
			s.Query = queries[s.ID]
			list = append(list, s)
		}
	}
	return list
}

// query is what a call of the search looks for.
func (b Block) query() string {
	var in struct {
		Query string `json:"query"`
	}
	_ = json.Unmarshal(b.Input, &in) // of another tool: it has none
	return in.Query
}

// found reads the result of a search: a list, or an error.
func (b Block) found() Search {
	s := Search{ID: b.ToolUseID}
	var list struct {
		Content []struct {
			Title string `json:"title"`
			URL   string `json:"url"`
		} `json:"content"`
	}
	if json.Unmarshal(b.raw, &list) == nil {
		for _, r := range list.Content {
			s.Results = append(s.Results, Found{Title: r.Title, URL: r.URL})
		}
		return s
	}
	var failed struct {
		Content struct {
			Code string `json:"error_code"`
		} `json:"content"`
	}
	_ = json.Unmarshal(b.raw, &failed) // what cannot be read has failed, too
	s.Failed = failed.Content.Code
	if s.Failed == "" {
		s.Failed = "unavailable"
	}
	return s
}

// withoutOpenSearches returns the content of a message without calls of the endpoint's own tools that have no result in it,
// and without results that have no call: the API takes neither back, but for calls at the end of a paused answer. The
// list given stays as it is.
func withoutOpenSearches(content []Block) []Block {
	open := map[string]bool{}
	for i, b := range content {
		if b.Type == TypeServerToolUse {
			open[b.ID] = !slices.ContainsFunc(content[i+1:], func(r Block) bool { return r.answersServer() && r.ToolUseID == b.ID })
		}
	}
	loose := func(b Block) bool {
		if b.Type == TypeServerToolUse {
			return open[b.ID] || b.ID == ""
		}
		_, called := open[b.ToolUseID]
		return b.answersServer() && !called
	}
	if !slices.ContainsFunc(content, loose) {
		return content
	}
	return slices.DeleteFunc(slices.Clone(content), loose)
}

// pairSearches takes out calls of the endpoint's own tools without a result in the same message, and results without a
// call. Only at the end of a paused answer, which is sent back as it is, calls may be open.
func (h *history) pairSearches() {
	open := map[string]*piece{}
	drop := func() {
		for _, p := range open {
			p.discard()
		}
		clear(open)
	}
	paused := false
	for n := range h.all {
		switch {
		case n.role == RoleUser && n.hasLive():
			drop()
		case n.role == RoleAssistant:
			for _, p := range n.pieces {
				switch {
				case p.gone:
				case p.Type == TypeServerToolUse && (p.ID == "" || open[p.ID] != nil):
					p.discard()
				case p.Type == TypeServerToolUse:
					open[p.ID] = p
				case p.answersServer() && open[p.ToolUseID] == nil:
					p.discard()
				case p.answersServer():
					delete(open, p.ToolUseID)
				}
			}
			paused = n.entry.Message.StopReason == stopPaused
		}
	}
	if !paused {
		drop()
	}
}

// plainSearches makes text of what the endpoint's own tools have left in the history, citations of what was found
// included, for requests that do not offer them: an endpoint that has no search does not know its blocks either.
func (h *history) plainSearches() {
	queries := map[string]string{}
	for n := range h.all {
		if n.role != RoleAssistant {
			continue
		}
		for _, p := range n.pieces {
			switch {
			case p.gone:
			case p.Type == TypeServerToolUse:
				queries[p.ID] = p.query()
				p.remove()
				h.report.Searches++
			case p.Type == TypeWebSearchResult:
				p.replace(Text(p.found().plain(queries[p.ToolUseID])))
			case p.answersServer():
				p.remove()
			case p.sealed():
				p.replace(Text(p.Text))
			}
		}
	}
}

// plain is what stands in the place of a search.
func (s Search) plain(query string) string {
	if s.Failed != "" {
		return fmt.Sprintf("[Searched the web for %q; it failed: %s]", query, s.Failed)
	}
	var out strings.Builder
	fmt.Fprintf(&out, "[Searched the web for %q; found:", query)
	for _, r := range s.Results {
		fmt.Fprintf(&out, "\n- %s %s", strings.Join(strings.Fields(r.Title), " "), r.URL)
	}
	if len(s.Results) == 0 {
		out.WriteString(" nothing")
	}
	out.WriteByte(']')
	return out.String()
}
