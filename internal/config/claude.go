package config

import (
	"encoding/json"
	"path/filepath"
	"strings"

	"flower/internal/disk"
)

// Names that the settings of Claude Code can hold beside those flower uses.
const (
	envSmallModel    = "ANTHROPIC_SMALL_FAST_MODEL"
	envCustomHeaders = "ANTHROPIC_CUSTOM_HEADERS"
	envOAuthToken    = "CLAUDE_CODE_OAUTH_TOKEN"
	envBedrockToken  = "AWS_BEARER_TOKEN_BEDROCK"
	envFoundryKey    = "ANTHROPIC_FOUNDRY_API_KEY"
)

// claudeNames are the variables that are taken from the settings of Claude Code: what says where a model is and with
// which credentials. The first four are used. Of the others flower has no use, but those that are secrets are kept from
// being shown.
var claudeNames = []string{
	envAPIKey, envAuthToken, envBaseURL, envModel,
	envSmallModel, envCustomHeaders, envOAuthToken, envBedrockToken, envFoundryKey,
}

// foreignSecrets are those of claudeNames that are credentials flower does not use.
var foreignSecrets = []string{envOAuthToken, envBedrockToken, envFoundryKey}

// envClaudeDir names the directory of the settings of Claude Code, where it is not ~/.claude.
const envClaudeDir = "CLAUDE_CONFIG_DIR"

// claudeFile is the path of the settings of Claude Code, "" when the environment does not say where they are. dir is what
// a relative path refers to.
func claudeFile(env source, dir string) string {
	if own := inDir(dir, env.get(envClaudeDir)); own != "" {
		return filepath.Join(own, "settings.json")
	}
	if home := env.get("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".claude", "settings.json")
	}
	return ""
}

// header is one of ANTHROPIC_CUSTOM_HEADERS, which has one a line: "Name: value".
type header struct{ name, value string }

// headersIn reads the value of ANTHROPIC_CUSTOM_HEADERS. A line without a colon is taken for a value: it may be a secret
// that was put there by mistake.
func headersIn(text string) []header {
	var list []header
	for line := range strings.Lines(text) {
		name, value, named := strings.Cut(line, ":")
		if !named {
			name, value = "", line
		}
		if value = strings.TrimSpace(value); value != "" {
			list = append(list, header{strings.TrimSpace(name), value})
		}
	}
	return list
}

// secrets are what must not be shown of a header: its value, and what stands in it behind the name of a scheme.
func (h header) secrets() []string {
	list := []string{h.value}
	if scheme, rest, ok := strings.Cut(h.value, " "); ok && scheme != "" {
		list = append(list, strings.TrimSpace(rest))
	}
	return list
}

// maskedHeaders is the value of ANTHROPIC_CUSTOM_HEADERS as it can be shown.
func maskedHeaders(text string) string {
	var list []string
	for _, h := range headersIn(text) {
		shown := Masked(h.value)
		if h.name != "" {
			shown = h.name + ": " + shown
		}
		list = append(list, shown)
	}
	return strings.Join(list, ", ")
}

// fromClaude reads the env block of the settings of Claude Code. They are another program's: what cannot be read or does
// not have the form counts as absent.
func fromClaude(path string) (source, bool) {
	if path == "" {
		return source{}, false
	}
	data, err := disk.ReadRegular(path, maxFile)
	if err != nil {
		return source{}, false
	}
	var settings struct {
		Env map[string]json.RawMessage `json:"env"`
	}
	if json.Unmarshal(data, &settings) != nil {
		return source{}, false
	}
	s := source{name: path, values: map[string]string{}}
	for _, name := range claudeNames {
		var value string
		if json.Unmarshal(settings.Env[name], &value) == nil {
			s.values[name] = value
		}
	}
	return s, true
}
