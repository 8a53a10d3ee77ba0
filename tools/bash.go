package tools

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	"flower/agent"
	"flower/internal/proc"
)

// Descriptions. The second is added for agents whose shell is held to reading.
var (
	//go:embed bash.md
	bashText string
	//go:embed bash_readonly.md
	bashEphemeralText string
)

// Bounds of Bash, stated in bash.md.
const (
	maxCommandTimeout = 10 * time.Minute
	// keepWithoutBench is how much of the beginning and of the end of the output is kept where it cannot be spilled.
	keepWithoutBench = 15_000
)

func (b *Box) bash(_ *session, spec agent.Spec, _ agent.Env) agent.Tool {
	description := bashText
	if spec.EphemeralShell {
		description += bashEphemeralText
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
			cmd := proc.Command{Dir: b.workspace, Timeout: time.Duration(timeout) * time.Millisecond, Hurry: b.opts.Hurry}
			if b.opts.Bench == nil {
				cmd.KeepHead, cmd.KeepTail = keepWithoutBench, keepWithoutBench
			}
			if spec.EphemeralShell {
				return b.readOnly(ctx, cmd, command), nil
			}
			cmd.Env = append(append([]string{}, b.opts.Environ...), unattended...)
			cmd.Env = append(cmd.Env, "PWD="+b.workspace)
			shell := b.program("bash")
			if shell == "" {
				shell = "sh" // wherever the system has it
			}
			cmd.Argv = []string{shell, "-c", "--", command} // a command may begin with a dash
			return report(ctx, cmd), nil
		},
	}
}

// unattended keeps common programs from waiting for somebody at a terminal.
var unattended = []string{"PAGER=cat", "GIT_PAGER=cat", "GIT_TERMINAL_PROMPT=0"}

// report runs a command and says how it ended.
func report(ctx context.Context, cmd proc.Command) agent.ToolResult {
	res, err := proc.Run(ctx, cmd)
	switch {
	case errors.Is(err, syscall.E2BIG):
		return agent.ErrorResult("Nothing was run: the command is too long for the system. Write it to a file with Write and run that.")
	case err != nil:
		return agent.ErrorResult(fmt.Sprintf("Nothing was run: %v.", err))
	}
	status := statusLine(res, cmd.Timeout)
	out := strings.TrimRight(res.Output, "\n")
	r := agent.TextResult(strings.TrimPrefix(out+"\n"+status, "\n"))
	r.Essence = fmt.Sprintf("%s\n%d %s", out, res.ExitCode, res.Signal)
	r.IsError = res.ExitCode != 0 || res.TimedOut || res.Canceled
	r.Display = strings.TrimPrefix(lastLines(out, displayLines)+"\n"+status, "\n")
	return r
}

func statusLine(res proc.Result, timeout time.Duration) string {
	parts := []string{fmt.Sprintf("exit code %d", res.ExitCode)}
	if res.Signal != "" {
		parts = append(parts, "ended by "+res.Signal)
	}
	parts = append(parts, "ran "+short(res.Duration))
	if res.TimedOut {
		parts = append(parts, "stopped: the timeout of "+timeout.String()+" was over")
	}
	if res.Canceled {
		parts = append(parts, "interrupted: the run was stopped while it ran, which is no fault of the command; what is above is what it had printed")
	}
	if res.ExitCode == -1 && !res.Canceled {
		parts = append(parts, "it could not be ended and may still run")
	}
	if n := len(res.Background); n > 0 {
		parts = append(parts, fmt.Sprintf("%s still running in the background: %s", plural(n, "process"), numbers(res.Background)))
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// short rounds a duration for reading.
func short(d time.Duration) string {
	if d < time.Second {
		return d.Round(time.Millisecond).String()
	}
	return d.Round(100 * time.Millisecond).String()
}

// displayLines is how many of the last lines of output people see.
const displayLines = 5

func lastLines(s string, n int) string {
	lines := strings.Split(s, "\n")
	if len(lines) <= n {
		return s
	}
	return fmt.Sprintf("… %s before\n%s", plural(len(lines)-n, "line"), strings.Join(lines[len(lines)-n:], "\n"))
}
