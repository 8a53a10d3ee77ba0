package modeltest

import "strings"

// Role is the part a request's agent plays.
type Role string

// The roles that are recognised without help.
const (
	Clarifier   Role = "clarifier"
	GoalSetter  Role = "goal setter"
	Judge       Role = "judge"
	Coordinator Role = "coordinator"
	Worker      Role = "worker"
	Oracle      Role = "oracle"
)

// RoleRule recognises a role.
type RoleRule struct {
	Role Role
	Is   func(*Request) bool
}

// markers are what a line of the system text says of the role, after "# 角色:" or "# Role:".
var markers = map[string]Role{
	"澄清者": Clarifier, "目标制定者": GoalSetter, "协调者": Coordinator, "执行者": Worker, "判定者": Judge, "旁问者": Oracle,
	"clarifier": Clarifier, "goal setter": GoalSetter, "coordinator": Coordinator, "worker": Worker, "judge": Judge,
	"oracle": Oracle,
}

// Role guesses who asks: by Options.Roles, by a line "# Role: worker" or "# 角色:执行者" in the system text, or by the
// tools offered. The tools do not tell a goal setter from a judge: both are Judge then. "" is unknown.
func (r *Request) Role() Role { return r.role }

func (s *Server) roleOf(r *Request) Role {
	for _, rule := range s.opts.Roles {
		if rule.Is(r) {
			return rule.Role
		}
	}
	for line := range strings.Lines(r.System) {
		name, ok := strings.CutPrefix(strings.TrimSpace(line), "#")
		if !ok {
			continue
		}
		name = strings.ToLower(strings.ReplaceAll(name, "：", ":"))
		key, name, ok := strings.Cut(name, ":")
		key = strings.TrimSpace(key)
		if !ok || (key != "role" && key != "角色") {
			continue
		}
		if role, ok := markers[strings.TrimSpace(name)]; ok {
			return role
		}
	}
	switch {
	case r.Offers("Agent"):
		return Coordinator
	case r.Offers("Write"), r.Offers("Edit"):
		return Worker
	case r.Offers("mcp__human__ask", "WebFetch"):
		return Clarifier
	case r.Offers("mcp__human__ask"):
		return Judge
	case r.Offers("Read"):
		return Oracle
	}
	return ""
}
