package tools

import (
	"context"
	_ "embed"
	"encoding/json"
	"time"

	"flower/agent"
)

// Descriptions. The second is added for agents whose shell is held to reading.
var (
	//go:embed bash.md
	bashText string
	//go:embed bash_readonly.md
	bashEphemeralText string
)

// maxCommandTimeout is stated in bash.md.
const maxCommandTimeout = 10 * time.Minute

func (b *Box) bash(_ *session, spec agent.Spec, _ agent.Env) agent.Tool {
	description := bashText
	switch {
	case spec.EphemeralShell:
		description += bashEphemeralText
	case b.asks(spec.Permission):
		description += bashAsksText
	}
	return agent.Tool{
		ToolSpec: agent.ToolSpec{Name: Bash, Description: description, InputSchema: json.RawMessage(`{
"type":"object",
"properties":{
"command":{"type":"string","minLength":1,"description":"The command line"},
"timeout":{"type":"integer","minimum":1,"maximum":600000,"description":"Milliseconds the command may run. Default 120000"},
"description":{"type":"string","description":"What the command does, in five to ten words"},
"polling":{"type":"boolean","description":"True if you repeat this command on purpose until something changes"}
},
"required":["command"],
"additionalProperties":false}`)},
		Run: func(ctx context.Context, call agent.Call) (agent.ToolResult, error) {
			p := decode(call.Input)
			command := p.filled("command")
			timeout := p.integer("timeout", int(b.opts.CommandTimeout.Milliseconds()), 1, int(maxCommandTimeout.Milliseconds()))
			p.textOr("description", "")        // for people; it is in the call
			p.boolean(agent.PollingKey, false) // for the engine
			if r, bad := p.bad(); bad {
				return r, nil
			}
			cmd := b.command(command)
			cmd.Timeout = time.Duration(timeout) * time.Millisecond
			if spec.EphemeralShell || b.asks(spec.Permission) && readsOnly(call.Input) {
				cmd.Confine = b.reader.Start
				return b.readOnly(ctx, cmd, command), nil
			}
			return b.report(ctx, cmd), nil
		},
	}
}

// unattended keeps common programs from waiting for somebody at a terminal.
var unattended = []string{"PAGER=cat", "GIT_PAGER=cat", "GIT_TERMINAL_PROMPT=0"}
