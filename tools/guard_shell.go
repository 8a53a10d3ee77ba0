package tools

import (
	"context"
	"fmt"

	"flower/agent"
	"flower/internal/shell"
)

// ephemeral lets only commands through that read and are stale by tomorrow. What cannot be understood is refused.
func ephemeral(next agent.Handler) agent.Handler {
	return func(ctx context.Context, call agent.Call) (agent.ToolResult, error) {
		p := decode(call.Input)
		command := p.text("command")
		ok, why := false, p.fault
		if why == "" {
			ok, why = shell.Explain(command)
		}
		if !ok {
			return agent.DeniedResult(refusedText(why)), nil
		}
		return next(ctx, call)
	}
}

func refusedText(why string) string {
	return fmt.Sprintf(refused+"%s. This is intended: your Bash runs "+onlyReads+" (git status, ls, cat, …). "+
		"Do not look for a way around it; give the work to a subagent with the Agent tool, and say in its prompt what is to be run and what you want to know.", why)
}
