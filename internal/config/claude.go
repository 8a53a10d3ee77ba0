package config

import (
	"encoding/json"
	"path/filepath"

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

// fromClaude reads the env block of the settings of Claude Code. They are another program's: what cannot be read or does
// not have the form counts as absent.
func fromClaude(home string) (source, bool) {
	if !filepath.IsAbs(home) {
		return source{}, false
	}
	path := filepath.Join(home, ".claude", "settings.json")
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
