package modeltest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"flower/transcript"
)

// What the server knows of the search of the web that the API runs itself. Its results carry what only the API can
// read; the server seals it, so that it knows its own again, in another process too, and refuses what was changed.

// Found is one result of a scripted search.
type Found struct{ Title, URL string }

// Search returns a search that the model has made and what it found: two blocks. Ids are made like those of Call.
func Search(query string, found ...Found) []transcript.Block {
	list := make([]any, len(found))
	for i, f := range found {
		list[i] = map[string]any{
			"type": "web_search_result", "title": f.Title, "url": f.URL, "page_age": nil,
			"encrypted_content": sealSearch("content", f.URL),
		}
	}
	return []transcript.Block{searchCall(query), searchResult(list)}
}

// SearchFailed returns a search that found nothing because of an error of the API's: too_many_requests, invalid_input,
// max_uses_exceeded, query_too_long, unavailable.
func SearchFailed(query, code string) []transcript.Block {
	return []transcript.Block{searchCall(query), searchResult(map[string]any{"type": "web_search_tool_result_error", "error_code": code})}
}

// SearchBegun returns a search without a result, as a paused answer may end with.
func SearchBegun(query string) transcript.Block { return searchCall(query) }

// SearchEnded returns the result of the search that the paused answer before, the last message of the request, has begun.
func SearchEnded(r *Request, found ...Found) transcript.Block {
	result := Search("", found...)[1]
	for _, b := range slices.Backward(r.Messages[len(r.Messages)-1].Content) {
		if b.Type == transcript.TypeServerToolUse {
			return withMember(result, "tool_use_id", b.ID)
		}
	}
	panic("modeltest: the last message has begun no search")
}

// Cited returns a text that cites what a search has found.
func Cited(text string, from ...Found) transcript.Block {
	list := make([]any, len(from))
	for i, f := range from {
		list[i] = map[string]any{
			"type": "web_search_result_location", "url": f.URL, "title": f.Title, "cited_text": f.Title + " …",
			"encrypted_index": sealSearch("index", f.URL),
		}
	}
	return parsed(map[string]any{"type": "text", "text": text, "citations": list})
}

func searchCall(query string) transcript.Block {
	return parsed(map[string]any{"type": transcript.TypeServerToolUse, "id": "", "name": transcript.WebSearch, "input": map[string]string{"query": query}})
}

func searchResult(content any) transcript.Block {
	return parsed(map[string]any{"type": transcript.TypeWebSearchResult, "tool_use_id": "", "content": content})
}

func parsed(v any) transcript.Block {
	var b transcript.Block
	if err := b.UnmarshalJSON(encode(v)); err != nil {
		panic(fmt.Sprintf("modeltest: make block: %v", err))
	}
	return b
}

// withMember is a block with another value of a key.
func withMember(b transcript.Block, key string, value any) transcript.Block {
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(encode(b), &keys); err != nil {
		panic(fmt.Sprintf("modeltest: change block: %v", err))
	}
	keys[key] = encode(value)
	return parsed(keys)
}

// nameSearches gives searches of a reply, and their results, ids made of base.
func nameSearches(content []transcript.Block, base string) []transcript.Block {
	out := slices.Clone(content)
	n, last := 0, ""
	for i, b := range out {
		switch {
		case b.Type == transcript.TypeServerToolUse && b.ID == "":
			n++
			last = fmt.Sprintf("srvtoolu_%s%02d", base[:20], n)
			out[i] = withMember(b, "id", last)
		case b.Type == transcript.TypeWebSearchResult && b.ToolUseID == "":
			out[i] = withMember(b, "tool_use_id", last)
		}
	}
	return out
}

// searchesIn counts the searches of a reply that are charged: those that worked.
func searchesIn(content []transcript.Block) int {
	n := 0
	for _, s := range (transcript.Message{Content: content}).Searches() {
		if s.Failed == "" {
			n++
		}
	}
	return n
}

const searchSeal = "mtsearch."

// sealSearch makes what the API has encrypted. Its letters look like those of a key on purpose.
func sealSearch(what, url string) string {
	mac := hmac.New(sha256.New, signingKey)
	mac.Write([]byte(what + "\x00" + url))
	return base64.StdEncoding.EncodeToString(append([]byte(searchSeal), mac.Sum(nil)...))
}

var (
	searchTool   = regexp.MustCompile(`^web_search_20\d{6}$`)
	serverCallID = regexp.MustCompile(`^srvtoolu_[a-zA-Z0-9_]+$`)
)

// checkServerTool checks the definition of a tool that the API runs. Those of other tools than the search are taken as
// they are.
func (s *Server) checkServerTool(t *tree, b block) error {
	typ := b.keys.text("type")
	switch {
	case !searchTool.MatchString(typ):
		return nil
	case s.opts.NoSearch == RefusedByName:
		return noSearch("'%s' does not support the following server tools: web_search", t.top.text("model"))
	case s.opts.NoSearch == RefusedByTag:
		return noSearch("%s: Input tag '%s' found using 'type' does not match any of the expected tags: 'custom'", b.path, typ)
	case s.opts.NoSearch == RefusedByPlace:
		return noSearch("%s.custom.input_schema: Field required", b.path)
	}
	path := b.path + "." + typ
	if err := b.keys.only(path, "type", "name", "max_uses", "allowed_domains", "blocked_domains", "user_location", "cache_control"); err != nil {
		return err
	}
	if b.keys.text("name") != transcript.WebSearch {
		return invalid("%s.name: Input should be 'web_search'", path)
	}
	if b.keys.has("allowed_domains") && b.keys.has("blocked_domains") {
		return invalid("%s: Only one of `allowed_domains` and `blocked_domains` may be specified", path)
	}
	for _, key := range []string{"allowed_domains", "blocked_domains"} {
		if err := checkDomains(join(path, key), b.keys[key]); err != nil {
			return err
		}
	}
	var uses int
	if b.keys.has("max_uses") && (json.Unmarshal(b.keys["max_uses"], &uses) != nil || uses < 1) {
		return invalid("%s.max_uses: Input should be greater than 0", path)
	}
	return nil
}

func noSearch(format string, args ...any) error {
	return &refusal{http.StatusBadRequest, "invalid_request_error", fmt.Sprintf(format, args...), KindSearch}
}

func checkDomains(path string, raw json.RawMessage) error {
	if raw == nil {
		return nil
	}
	list, err := parseList(path, raw)
	if err != nil {
		return err
	}
	for i, item := range list {
		var domain string
		if json.Unmarshal(item, &domain) != nil || domain == "" || strings.Contains(domain, "://") {
			return invalid("%s.%d: Input should be a domain without a scheme", path, i)
		}
	}
	return nil
}

// Refusal is how an endpoint without a search answers to the tool.
type Refusal int

// The ways.
const (
	NotRefused     Refusal = iota // it has one
	RefusedByName                 // as the API does for models without it
	RefusedByTag                  // as endpoints that do not know the type
	RefusedByPlace                // as endpoints that take it for an ordinary tool
)

// checkSearchBlock checks a block of the search.
func checkSearchBlock(b *block) error {
	path := b.path + "." + b.typ
	switch b.typ {
	case transcript.TypeServerToolUse:
		if err := b.keys.require(path, "id", "name", "input"); err != nil {
			return err
		}
		if !serverCallID.MatchString(b.id()) {
			return invalid("%s.id: String should match pattern '%s'", path, serverCallID)
		}
		return want(path+".input", b.keys["input"], '{')
	case transcript.TypeWebSearchResult:
		if err := b.keys.require(path, "tool_use_id", "content"); err != nil {
			return err
		}
		return checkFound(path+".content", b.keys["content"])
	}
	return nil
}

func checkFound(path string, raw json.RawMessage) error {
	if kindOf(raw) == '{' {
		failed, err := parseObject(path, raw)
		if err != nil {
			return err
		}
		return failed.require(path, "type", "error_code")
	}
	list, err := parseList(path, raw)
	if err != nil {
		return err
	}
	for i, item := range list {
		keys, err := parseObject(index(path, i), item)
		if err != nil {
			return err
		}
		if err := keys.require(index(path, i), "type", "url", "title", "encrypted_content"); err != nil {
			return err
		}
		if keys.text("encrypted_content") != sealSearch("content", keys.text("url")) {
			return invalid("%s: Invalid `encrypted_content` in `search_result` block", index(path, i))
		}
	}
	return nil
}

// checkCitations checks what a text cites of searches.
func checkCitations(b *block) error {
	raw, ok := b.keys["citations"]
	if !ok || string(raw) == "null" {
		return nil
	}
	path := b.path + ".text.citations"
	list, err := parseList(path, raw)
	if err != nil {
		return err
	}
	for i, item := range list {
		keys, err := parseObject(path+"."+strconv.Itoa(i), item)
		if err != nil {
			return err
		}
		if keys.text("type") == "web_search_result_location" && keys.text("encrypted_index") != sealSearch("index", keys.text("url")) {
			return invalid("%s.%d: Invalid `encrypted_index` in `web_search_result_location` citation", path, i)
		}
	}
	return nil
}

// checkSearches checks that calls of the API's own tools and their results stand together in the messages of one answer.
// Only what a paused answer has begun may be open, at the end.
func (t *tree) checkSearches() error {
	open := map[string]*block{}
	for i := range t.turns {
		tn := &t.turns[i]
		if tn.role == "user" {
			for _, b := range open {
				return invalid("%s: `%s` tool use with id `%s` was found without a corresponding `%s_tool_result` block", b.path, b.keys.text("name"), b.id(), b.keys.text("name"))
			}
			continue
		}
		for k := range tn.blocks {
			b := &tn.blocks[k]
			switch {
			case b.typ == transcript.TypeServerToolUse && open[b.id()] != nil:
				return invalid("%s: `server_tool_use` ids must be unique", b.path)
			case b.typ == transcript.TypeServerToolUse:
				open[b.id()] = b
			case b.typ == transcript.TypeWebSearchResult && open[b.toolUseID()] == nil:
				return invalid("%s: unexpected `tool_use_id` found in `web_search_tool_result` blocks: %s. Each block must have a corresponding `server_tool_use` block before it.", b.path, b.toolUseID())
			case b.typ == transcript.TypeWebSearchResult:
				delete(open, b.toolUseID())
			}
		}
	}
	return nil
}

// checkSearchOffered refuses the blocks of a search that the request does not offer: an endpoint without one does not
// know them.
func (s *Server) checkSearchOffered(t *tree) error {
	for i := range t.tools {
		if searchTool.MatchString(t.tools[i].keys.text("type")) {
			return nil
		}
	}
	for i := range t.turns {
		for _, b := range t.turns[i].blocks {
			if b.typ == transcript.TypeServerToolUse || b.typ == transcript.TypeWebSearchResult {
				return invalid("%s: Input tag '%s' found using 'type' does not match any of the expected tags", b.path, b.typ)
			}
		}
	}
	return nil
}
