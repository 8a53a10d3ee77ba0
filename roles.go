package flower

import "flower/agent"

// Names of the tools the roles use.
const (
	toolAsk       = "mcp__human__ask"
	toolInbox     = "mcp__human__inbox"
	toolAgent     = "Agent"
	toolTodo      = "TodoWrite"
	toolBash      = "Bash"
	toolRead      = "Read"
	toolWrite     = "Write"
	toolEdit      = "Edit"
	toolGlob      = "Glob"
	toolGrep      = "Grep"
	toolWebFetch  = "WebFetch"
	toolWebSearch = "WebSearch"
)

// Clarifier asks the person what must be known and writes the brief. It changes nothing and runs no command.
func Clarifier(lang Lang) agent.Spec {
	return agent.Spec{
		Name: "clarifier", Instructions: role(lang, "clarifier"),
		Tools: []string{toolAsk, toolRead, toolGlob, toolGrep, toolWebFetch, toolWebSearch},
	}
}

// GoalSetter turns a brief into a goal that can be checked. It has the judge's tools.
func GoalSetter(lang Lang, canRun bool) agent.Spec {
	s := Judge(lang, canRun)
	s.Name, s.Instructions = "goal setter", role(lang, "goalsetter")
	return s
}

// Judge decides whether a round has met the goal. With canRun it may run commands.
func Judge(lang Lang, canRun bool) agent.Spec {
	s := agent.Spec{
		Name: "judge", Instructions: role(lang, "judge"),
		Tools: []string{toolAsk, toolRead, toolGlob, toolGrep},
	}
	if canRun {
		s.Tools = append(s.Tools, toolBash)
	}
	return s
}

// Coordinator hands work to workers and never writes: of commands it runs only those that read.
func Coordinator(lang Lang) agent.Spec {
	return agent.Spec{
		Name: "coordinator", Instructions: role(lang, "coordinator"),
		Tools:          []string{toolAgent, toolTodo, toolRead, toolAsk, toolInbox, toolBash},
		EphemeralShell: true,
		Subagents:      []agent.Spec{Worker(lang)},
	}
}

// Worker does the work it is handed.
func Worker(lang Lang) agent.Spec {
	return agent.Spec{
		Name: "worker", Description: say(lang, "worker.description", nil), Instructions: role(lang, "worker"),
		Tools: []string{toolRead, toolWrite, toolEdit, toolBash, toolGlob, toolGrep, toolWebFetch, toolWebSearch},
	}
}

// Oracle answers side questions about a run from what it can read.
func Oracle(lang Lang) agent.Spec {
	return agent.Spec{
		Name: "oracle", Instructions: role(lang, "oracle"),
		Tools:  []string{toolRead, toolGlob, toolGrep},
		Limits: agent.Limits{Turns: 12, CostUSD: 0.50},
	}
}
