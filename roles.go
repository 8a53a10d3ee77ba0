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
	toolNotebook  = "NotebookEdit"
	toolGlob      = "Glob"
	toolGrep      = "Grep"
	toolWebFetch  = "WebFetch"
	toolWebSearch = "WebSearch"
	toolServers   = "mcp__*" // everything that the person's MCP servers offer
)

// edition of the built-in roles: it changes when a role means something else than before, not when it is reworded. Sessions
// of another edition are handed over to new ones.
const edition = "1"

// Clarifier asks the person what must be known and writes the brief. It changes nothing and runs no command.
func Clarifier(lang Lang) agent.Spec {
	return agent.Spec{
		Name: "clarifier", Edition: edition, Instructions: role(lang, "clarifier"),
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
		Name: "judge", Edition: edition, Instructions: role(lang, "judge"),
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
		Name: "coordinator", Edition: edition, Instructions: role(lang, "coordinator"),
		Tools:          []string{toolAgent, toolTodo, toolRead, toolAsk, toolInbox, toolBash},
		EphemeralShell: true,
		Subagents:      []agent.Spec{Worker(lang)},
	}
}

// Worker does the work it is handed.
func Worker(lang Lang) agent.Spec {
	return agent.Spec{
		Name: "worker", Description: say(lang, "worker.description", nil), Edition: edition, Instructions: role(lang, "worker"),
		Tools: []string{toolRead, toolWrite, toolEdit, toolNotebook, toolBash, toolGlob, toolGrep, toolWebFetch, toolWebSearch, toolServers},
	}
}

// Oracle answers side questions about a run from what it can read.
func Oracle(lang Lang) agent.Spec {
	return agent.Spec{
		Name: "oracle", Edition: edition, Instructions: role(lang, "oracle"),
		Tools:  []string{toolRead, toolGlob, toolGrep},
		Limits: agent.Limits{Turns: 12, CostUSD: 0.50},
	}
}
