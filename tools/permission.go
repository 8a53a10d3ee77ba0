package tools

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"flower/agent"
	"flower/internal/shell"
)

// Permission modes of an agent.Spec, by the names that Claude Code gives them. Reading and searching is free in each, and
// what the modes ask about or refuse is what changes something: files, commands that do more than read, and tools of MCP
// servers that are not marked as reading.
const (
	ModeDefault     = "default"           // the person is asked about everything that changes something
	ModePlan        = "plan"              // nothing is changed, and nobody is asked
	ModeAcceptEdits = "acceptEdits"       // files may be changed; about the rest the person is asked
	ModeBypass      = "bypassPermissions" // everything may be done
)

// Modes are the permission modes there are.
var Modes = []string{ModeDefault, ModePlan, ModeAcceptEdits, ModeBypass}

// PermitRequest is a call that needs the person's word.
type PermitRequest struct {
	// ID names the question: the same call asks under the same one, also after the process was killed, and another call or
	// another input never does.
	ID    string
	Agent string // Spec.Name
	Tool  string
	Input json.RawMessage // checked against the tool's schema
}

// Permit is how a PermitRequest was answered. The zero value is a no that nobody has given.
type Permit struct {
	Allowed bool
	// Declined: the person has said no; else, without Allowed, nobody has answered.
	Declined bool
	Said     string        // words of the person with it
	Waited   time.Duration // for an answer that did not come
}

var errUnknownMode = errors.New("no such permission mode")

//go:embed bash_asks.md
var bashAsksText string

// asks says whether the person is asked about what a mode does not allow by itself.
func (b *Box) asks(mode string) bool {
	return b.opts.Permit != nil && (mode == ModeDefault || mode == ModeAcceptEdits)
}

// checkMode keeps an agent from its tools whose mode nobody knows.
func checkMode(mode string) error {
	if mode != "" && !slices.Contains(Modes, mode) {
		return fmt.Errorf("make tools: %w: %q", errUnknownMode, mode)
	}
	return nil
}

// permitted puts a tool under the mode of its agent.
func (b *Box) permitted(t agent.Tool, spec agent.Spec) agent.Tool {
	free := func(json.RawMessage) bool { return t.Looks }
	switch mode := spec.Permission; {
	case mode == "", mode == ModeBypass:
		return t
	case t.Name == Bash && spec.EphemeralShell && b.asks(mode):
		return t // its role is held to reading, and nobody is asked about that
	case t.Name == Bash:
		free = readsOnly
	case t.Name == Write, t.Name == Edit, t.Name == NotebookEdit:
		if mode == ModeAcceptEdits {
			return t
		}
	case t.Name == Agent, t.Name == Ask: // what subagents do is asked about there
		return t
	}
	t.Permit = func(ctx context.Context, call agent.Call) (*agent.ToolResult, error) {
		if free(call.Input) {
			return nil, nil
		}
		return b.permit(ctx, spec, call)
	}
	return t
}

// permit asks the person about a call; nil is a yes.
func (b *Box) permit(ctx context.Context, spec agent.Spec, call agent.Call) (*agent.ToolResult, error) {
	if !b.asks(spec.Permission) {
		return notAllowed(modeRefusal(call.Name)), nil
	}
	// Some endpoints count calls from 0 in every answer: the input tells such calls apart.
	answer, err := b.opts.Permit(ctx, PermitRequest{
		ID: call.Key.String() + "/" + call.ID + "/" + agent.InputHash(call.Input), Agent: spec.Name, Tool: call.Name, Input: call.Input,
	})
	switch {
	case err != nil:
		return nil, err
	case answer.Allowed:
		return nil, nil
	case answer.Declined && answer.Said != "":
		return notAllowed(noWithWords + b.redact(answer.Said)), nil
	case answer.Declined:
		return notAllowed(noByPerson + "That is their decision: do not try to get the same by another way. Go on without it, or say in your answer what you would do and why."), nil
	case answer.Waited > 0:
		return notAllowed(fmt.Sprintf(noAnswer+"%s, so the call was not made. Do not try to get the same by another way. Go on without it, and say in your answer what is left to do and needs their permission.", answer.Waited)), nil
	}
	return notAllowed(noPerson + "It was not made. Do not try to get the same by another way. Go on without it, and say in your answer what is left to do and needs their permission."), nil
}

// redact takes secrets out of a text.
func (b *Box) redact(s string) string {
	if b.opts.Redact == nil {
		return s
	}
	return b.opts.Redact(s)
}

// notAllowed is a refusal as Permit gives it.
func notAllowed(why string) *agent.ToolResult {
	r := agent.DeniedResult(why)
	return &r
}

// modeRefusal says why a tool is refused where nobody is asked.
func modeRefusal(tool string) string {
	switch tool {
	case Bash:
		return refused + "this run has " + onlyReads + " (git status, ls, cat, …), and that is intended. Do not look for a way around it; say in your answer what you would run."
	case Write, Edit, NotebookEdit:
		return noChanges + ", and that is intended. Say in your answer what you would change."
	}
	return noServers + ", and that is intended. Say in your answer what you would do."
}

// readsOnly says whether the command of a call of Bash is one that only reads, which nobody needs to be asked about.
func readsOnly(input json.RawMessage) bool {
	p := decode(input)
	command := p.text("command")
	if p.fault != "" {
		return false
	}
	ok, _ := shell.Explain(command)
	return ok
}
