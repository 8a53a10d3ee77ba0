package tools

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"flower/agent"
)

//go:embed agent.md
var agentText string

// agent starts a subagent. It may be called again after an interruption: the subagent is found by the call's id.
func (b *Box) agent(_ *session, spec agent.Spec, env agent.Env) agent.Tool {
	var names []string
	description := strings.TrimSuffix(agentText, "\n")
	for _, sub := range spec.Subagents {
		names = append(names, sub.Name)
		description += fmt.Sprintf("\n- %s: %s", sub.Name, sub.Description)
	}
	return agent.Tool{
		ToolSpec: agent.ToolSpec{Name: Agent, Description: description + "\n", InputSchema: json.RawMessage(`{
"type":"object",
"properties":{
"description":{"type":"string","description":"The task in three to five words, for people"},
"prompt":{"type":"string","description":"The whole task for the subagent"},
"subagent_type":{"type":"string","description":"Name of the subagent; may be left out if there is only one"}
},
"required":["description","prompt"],
"additionalProperties":false}`)},
		Again: true,
		Run: func(ctx context.Context, call agent.Call) (agent.ToolResult, error) {
			p := decode(call.Input)
			s := agent.Spawn{CallID: call.ID, Title: p.text("description"), Prompt: p.filled("prompt"), Agent: p.textOr("subagent_type", "")}
			if s.Agent == "" && len(names) == 1 {
				s.Agent = names[0]
			}
			if !slices.Contains(names, s.Agent) {
				p.fail("parameter %q must be one of %s, not %q", "subagent_type", strings.Join(names, ", "), clip(s.Agent, 40))
			}
			if r, bad := p.bad(); bad {
				return r, nil
			}
			return env.Spawn(ctx, s)
		},
	}
}
