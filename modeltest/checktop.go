package modeltest

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// apiVersion is the only version the API has.
const apiVersion = "2023-06-01"

// topKeys are the keys a request may have.
var topKeys = []string{
	"model", "max_tokens", "messages", "system", "tools", "tool_choice", "thinking", "output_config", "metadata",
	"stop_sequences", "stream", "temperature", "top_p", "top_k", "service_tier", "container", "cache_control",
	"inference_geo", "speed", "diagnostics",
}

func (s *Server) checkHeaders(h http.Header) error {
	key, bearer := h.Get("X-Api-Key"), h.Get("Authorization")
	if key != "" && bearer != "" {
		return invalid("x-api-key and authorization must not be sent together")
	}
	if token, ok := strings.CutPrefix(bearer, "Bearer "); ok {
		key = token
	}
	switch {
	case key == "":
		return &refusal{http.StatusUnauthorized, "authentication_error", "x-api-key header is required", KindAuth}
	case key != s.Key && bearer != "":
		return &refusal{http.StatusUnauthorized, "authentication_error", "Invalid bearer token", KindAuth}
	case key != s.Key:
		return &refusal{http.StatusUnauthorized, "authentication_error", "invalid x-api-key", KindAuth}
	}
	switch v := h.Get("Anthropic-Version"); v {
	case apiVersion:
		return nil
	case "":
		return invalid("anthropic-version: header is required")
	default:
		return invalid("anthropic-version: %q is not a valid version", v)
	}
}

// parse reads and checks everything about a body that needs no memory of other requests.
func (s *Server) parse(body []byte) (*tree, error) {
	top, err := parseBody(body)
	if err != nil {
		return nil, err
	}
	t := &tree{top: top}
	steps := []func() error{
		t.checkTop, func() error { return s.checkModel(t) }, t.checkThinkingConfig,
		func() error { return s.parseTools(t) }, t.checkToolChoice, t.parseSystem, t.parseTurns,
		t.checkOrder, t.checkPairs, t.checkSearches, func() error { return s.checkSearchOffered(t) }, t.checkTexts, t.checkImages, t.checkMarks,
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func (t *tree) checkTop() error {
	if err := t.top.require("", "model", "max_tokens", "messages"); err != nil {
		return err
	}
	if err := t.top.only("", topKeys...); err != nil {
		return err
	}
	types := map[string]byte{
		"model": '"', "max_tokens": '0', "messages": '[', "tools": '[', "tool_choice": '{', "thinking": '{',
		"output_config": '{', "metadata": '{', "stop_sequences": '[', "stream": 'b', "temperature": '#', "top_p": '#',
		"top_k": '0', "service_tier": '"',
	}
	for _, key := range topKeys {
		if kind, ok := types[key]; ok && t.top.has(key) {
			if err := want(key, t.top[key], kind); err != nil {
				return err
			}
		}
	}
	for _, key := range []string{"temperature", "top_p"} {
		if v, ok := t.number(key); ok && v > 1 {
			return invalid("%s: Input should be less than or equal to 1", key)
		} else if ok && v < 0 {
			return invalid("%s: Input should be greater than or equal to 0", key)
		}
	}
	var meta object
	_ = json.Unmarshal(t.top["metadata"], &meta)
	if err := meta.only("metadata", "user_id"); err != nil {
		return err
	}
	if meta.has("user_id") {
		return want("metadata.user_id", meta["user_id"], '"')
	}
	return nil
}

func (t *tree) number(key string) (float64, bool) {
	var v float64
	err := json.Unmarshal(t.top[key], &v)
	return v, err == nil && t.top.has(key)
}

func (s *Server) checkModel(t *tree) error {
	name := t.top.text("model")
	if name == "" {
		return invalid("model: String should have at least 1 character")
	}
	m, ok := s.model(name)
	if !ok {
		return &refusal{http.StatusNotFound, "not_found_error", "model: " + name, KindInvalid}
	}
	t.model = m
	most, _ := t.number("max_tokens")
	switch {
	case most < 1:
		return invalid("max_tokens: Input should be greater than or equal to 1")
	case m.MaxOutput > 0 && int(most) > m.MaxOutput:
		return invalid("max_tokens: %d > %d, which is the maximum allowed number of output tokens for %s", int(most), m.MaxOutput, name)
	}
	return nil
}

var efforts = []string{"low", "medium", "high", "xhigh", "max"}

func (t *tree) checkThinkingConfig() error {
	if t.top.has("output_config") {
		out, _ := parseObject("output_config", t.top["output_config"])
		if err := out.only("output_config", "effort", "format"); err != nil {
			return err
		}
		if out.has("effort") && !slices.Contains(efforts, out.text("effort")) {
			return invalid("output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'")
		}
	}
	if !t.top.has("thinking") {
		return nil
	}
	cfg, _ := parseObject("thinking", t.top["thinking"])
	typ := cfg.text("type")
	switch typ {
	case "adaptive":
		if t.model.NoAdaptive {
			return invalid("adaptive thinking is not supported on this model")
		}
		return cfg.only("thinking.adaptive", "type", "display")
	case "disabled":
		return cfg.only("thinking.disabled", "type")
	case "enabled":
		return t.checkBudget(cfg)
	}
	return invalid("thinking: Input tag '%s' found using 'type' does not match any of the expected tags: 'adaptive', 'disabled', 'enabled'", typ)
}

func (t *tree) checkBudget(cfg object) error {
	if !t.model.Budget {
		return invalid("\"thinking.type.enabled\" and budget_tokens are not supported for this model. Use \"thinking.type.adaptive\" and \"output_config.effort\" to control thinking behavior.")
	}
	const path = "thinking.enabled"
	if err := cfg.only(path, "type", "budget_tokens", "display"); err != nil {
		return err
	}
	if err := cfg.require(path, "budget_tokens"); err != nil {
		return err
	}
	if err := want(path+".budget_tokens", cfg["budget_tokens"], '0'); err != nil {
		return err
	}
	var budget float64
	_ = json.Unmarshal(cfg["budget_tokens"], &budget)
	most, _ := t.number("max_tokens")
	switch temperature, ok := t.number("temperature"); {
	case budget < 1024:
		return invalid("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
	case budget >= most:
		return invalid("`max_tokens` must be greater than `thinking.budget_tokens`")
	case ok && temperature != 1:
		return invalid("`temperature` may only be set to 1 when thinking is enabled")
	}
	return nil
}

// thinks says whether the request asks for thinking.
func (t *tree) thinks() bool {
	var cfg object
	_ = json.Unmarshal(t.top["thinking"], &cfg)
	return cfg.text("type") == "adaptive" || cfg.text("type") == "enabled"
}

var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,128}$`)

func (s *Server) parseTools(t *tree) error {
	if !t.top.has("tools") {
		return nil
	}
	list, _ := parseList("tools", t.top["tools"])
	names := map[string]bool{}
	for i, raw := range list {
		b, err := parseBlock(index("tools", i), raw)
		if err != nil {
			return err
		}
		name := b.keys.text("name")
		if typ := b.keys.text("type"); typ == "" || typ == "custom" {
			if err := checkTool(b); err != nil {
				return err
			}
		} else if err := s.checkServerTool(t, b); err != nil {
			return err
		}
		if names[name] {
			return invalid("tools: Tool names must be unique.")
		}
		names[name] = true
		t.tools = append(t.tools, b)
	}
	return nil
}

func checkTool(b block) error {
	path := b.path + ".custom"
	if err := b.keys.require(path, "name", "input_schema"); err != nil {
		return err
	}
	if err := b.keys.only(path, "type", "name", "description", "input_schema", "cache_control", "strict",
		"eager_input_streaming", "defer_loading", "input_examples", "allowed_callers"); err != nil {
		return err
	}
	if err := want(path+".name", b.keys["name"], '"'); err != nil {
		return err
	}
	if !toolName.MatchString(b.keys.text("name")) {
		return invalid("%s.name: String should match pattern '%s'", path, toolName)
	}
	if b.keys.has("description") {
		if err := want(path+".description", b.keys["description"], '"'); err != nil {
			return err
		}
	}
	schema, err := parseObject(path+".input_schema", b.keys["input_schema"])
	if err != nil {
		return err
	}
	if err := schema.require(path+".input_schema", "type"); err != nil {
		return err
	}
	if schema.text("type") != "object" {
		return invalid("%s.input_schema.type: Input should be 'object'", path)
	}
	if schema.has("properties") {
		return want(path+".input_schema.properties", schema["properties"], '{')
	}
	return nil
}

func (t *tree) checkToolChoice() error {
	if !t.top.has("tool_choice") {
		return nil
	}
	choice, _ := parseObject("tool_choice", t.top["tool_choice"])
	typ := choice.text("type")
	switch typ {
	case "auto", "none":
	case "any", "tool":
		if t.thinks() {
			return invalid("Thinking may not be enabled when tool_choice forces tool use.")
		}
	default:
		return invalid("tool_choice: Input tag '%s' found using 'type' does not match any of the expected tags: 'auto', 'any', 'tool', 'none'", typ)
	}
	if len(t.tools) == 0 && typ != "none" {
		return invalid("tool_choice may only be specified while providing tools")
	}
	if typ != "tool" {
		return nil
	}
	for _, b := range t.tools {
		if b.keys.text("name") == choice.text("name") {
			return nil
		}
	}
	return invalid("tool_choice: Tool '%s' not found in provided tools", choice.text("name"))
}

func (t *tree) parseSystem() error {
	raw, ok := t.top["system"]
	if !ok {
		return nil
	}
	if kindOf(raw) == '"' {
		var text string
		_ = json.Unmarshal(raw, &text)
		if text == "" {
			return nil
		}
		b, err := parseBlock("system.0", encode(map[string]string{"type": "text", "text": text}))
		t.system = []block{b}
		return err
	}
	list, err := parseList("system", raw)
	if err != nil {
		return err
	}
	for i, raw := range list {
		b, err := parseBlock(index("system", i), raw)
		if err != nil {
			return err
		}
		if b.typ != "text" {
			return invalid("%s.type: Input should be 'text'", b.path)
		}
		if err := checkText(&b); err != nil {
			return err
		}
		t.system = append(t.system, b)
	}
	return nil
}
