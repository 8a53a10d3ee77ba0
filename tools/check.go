package tools

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"flower/internal/proc"
	"flower/internal/shell"
)

// CheckResult is how a command ended that flower itself has run.
type CheckResult struct {
	ExitCode int    // -1 if it did not end by itself
	Output   string // stdout and stderr, cut in the middle if it is long; secrets taken out
	Err      error  // *CheckError: why there is no exit code of its own; nil if there is
	Took     time.Duration
}

// CheckError is a command that did not end by itself.
type CheckError struct {
	Signal string        // that ended it
	After  time.Duration // when its time was over, or the run was stopped
	Err    error         // why it was not started
}

// Error implements error.
func (e *CheckError) Error() string {
	switch {
	case e.Err != nil:
		return "not started: " + e.Err.Error()
	case e.Signal != "":
		return "ended by " + e.Signal
	}
	return "stopped after " + short(e.After)
}

// Unwrap returns why it was not started.
func (e *CheckError) Unwrap() error { return e.Err }

// keepOfCheck is how much of the beginning and of the end of a check's output is kept, in bytes.
const keepOfCheck = 16_000

// Runnable says whether a text is a command line that may be run as a check, see shell.Checkable, and whose first program
// there is: one on PATH, one of the shell's own, or an executable file below the workspace that is named by its path.
func (b *Box) Runnable(text string) bool {
	name := shell.Program(text)
	switch {
	case name == "" || !shell.Checkable(text):
		return false
	case shellOwn[name]:
		return strings.TrimSpace(text) != name
	case strings.ContainsRune(name, filepath.Separator):
		if !filepath.IsAbs(name) {
			name = filepath.Join(b.workspace, name)
		}
		_, err := exec.LookPath(name)
		return err == nil
	}
	return b.program(name) != ""
}

// shellOwn are programs of the shell itself with which checks begin.
var shellOwn = map[string]bool{
	"test": true, "[": true, "[[": true, "cd": true, "true": true, "false": true, "echo": true, "printf": true, "diff": true,
	"command": true, "type": true, "set": true, "export": true, "!": true,
}

// Check runs a command line in the workspace, in the sandbox of commands, until it ends or ctx is done. What it leaves
// running is ended too: the next check begins as this one did.
func (b *Box) Check(ctx context.Context, command string) CheckResult {
	cmd := b.command(command)
	cmd.KeepHead, cmd.KeepTail = keepOfCheck, keepOfCheck
	alone := proc.Supervisor{Records: b.commands.Records}
	defer alone.Close()
	res, err := alone.Run(ctx, cmd)
	if err != nil {
		return CheckResult{ExitCode: -1, Err: &CheckError{Err: err}}
	}
	out := CheckResult{ExitCode: res.ExitCode, Output: res.Output, Took: res.Duration}
	if n := len(res.Background); n > 0 {
		out.Output = strings.TrimSuffix(out.Output, "\n") + "\n[it left " + plural(n, "process") + " running, which flower has ended]"
	}
	switch {
	case res.Canceled, res.TimedOut:
		out.ExitCode, out.Err = -1, &CheckError{After: res.Duration}
	case res.Signal != "":
		out.Err = &CheckError{Signal: res.Signal}
	}
	return out
}

// command is a command line as Bash runs it for an agent that may change things.
func (b *Box) command(line string) proc.Command {
	cmd := proc.Command{Dir: b.workspace, Hurry: b.opts.Hurry, Redact: b.opts.Redact, Confine: b.worker.Start}
	cmd.Env = append(append([]string{}, b.opts.Environ...), unattended...)
	cmd.Env = append(cmd.Env, "PWD="+b.workspace)
	shell := b.program("bash")
	if shell == "" {
		shell = "sh" // wherever the system has it
	}
	cmd.Argv = []string{shell, "-c", "--", line} // a command may begin with a dash
	return cmd
}
