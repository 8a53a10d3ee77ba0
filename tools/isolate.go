package tools

import (
	"context"
	"fmt"
	"strings"

	"flower/agent"
)

// Isolation gives subagents directories of their own. Implementations are safe for concurrent use.
type Isolation interface {
	// Enter makes the directory of a subagent, or finds it again, and returns it with a note for the subagent that stands
	// before its task. "" is none: it works in the workspace. The same id gets the same directory and note.
	Enter(ctx context.Context, id, title string) (dir, note string, err error)
	// Dir is the directory of a subagent that has entered; "" is the workspace.
	Dir(id string) (string, error)
	// Leave is called when a subagent has come to an end, and returns what its caller is told of its directory, in one line.
	Leave(ctx context.Context, id string) string
}

// Isolated is a toolbox whose subagents work in directories of their own: their tools take that for the workspace, and
// write neither in the workspace itself nor in each other's. It is safe for concurrent use.
type Isolated struct {
	box       *Box
	isolation Isolation
}

var _ agent.Toolbox = (*Isolated)(nil)

// Isolate puts subagents of a Box into directories of their own.
func Isolate(box *Box, isolation Isolation) *Isolated { return &Isolated{box, isolation} }

// Tools implements agent.Toolbox.
func (i *Isolated) Tools(spec agent.Spec, env agent.Env) ([]agent.Tool, error) {
	box, err := i.boxOf(env.Key)
	if err != nil {
		return nil, err
	}
	if env.Spawn != nil {
		env.Spawn = i.spawn(env)
	}
	return box.Tools(spec, env)
}

func (i *Isolated) boxOf(key agent.Key) (*Box, error) {
	id, sub := strings.CutPrefix(key.SubPath, agent.Key{}.Sub("").SubPath)
	if !sub {
		return i.box, nil
	}
	dir, err := i.isolation.Dir(id)
	if err != nil || dir == "" {
		return i.box, err
	}
	return i.box.In(dir)
}

// spawn runs a subagent in its directory. One that is cut off has not left it: it goes on there.
func (i *Isolated) spawn(env agent.Env) func(context.Context, agent.Spawn) (agent.ToolResult, error) {
	return func(ctx context.Context, s agent.Spawn) (agent.ToolResult, error) {
		id := agent.SubagentID(env.Key, s.CallID)
		dir, note, err := i.isolation.Enter(ctx, id, s.Title)
		switch {
		case err != nil && ctx.Err() != nil:
			return agent.ToolResult{}, context.Cause(ctx)
		case err != nil:
			return agent.ErrorResult(fmt.Sprintf("The agent was not started, because it could not be given a directory of its own: %v. Nothing was done; try again.", err)), nil
		case dir == "":
			return env.Spawn(ctx, s)
		}
		s.Prompt = note + "\n\n" + s.Prompt
		result, err := env.Spawn(ctx, s)
		if err != nil {
			return result, err
		}
		// The last line: it stays when the result is long and moves to a file.
		result.Content = append(result.Content, agent.TextResult("["+i.isolation.Leave(context.WithoutCancel(ctx), id)+"]").Content...)
		return result, nil
	}
}

// In is the same toolbox for another workspace. Sessions, which are told apart by their keys, are its own; commands,
// limits and the locks of files are shared.
func (b *Box) In(dir string) (*Box, error) {
	opts := b.opts
	opts.Workspace, opts.Commands = dir, b.commands
	other, err := New(opts)
	if err != nil {
		return nil, err
	}
	other.paths = b.paths
	return other, nil
}
