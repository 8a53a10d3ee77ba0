package tools

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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

// Command says whether a text has the form of a command line and is no name of a file or a value, and whether the first
// program of it is found: the shell's own, on PATH as a check has it, or an executable file that is named by its path. A
// single word is a command only if its program is found and says something when it is run alone, or if it is a path that
// begins with a dot and leads to nothing: a program that is missing is worth knowing.
func (b *Box) Command(text string) (is, found bool) {
	name := shell.Program(text)
	single := !strings.ContainsAny(strings.TrimSpace(text), " \t\n;|&<>()")
	switch {
	case name == "" || single && shell.IsIdle(text) || !programName.MatchString(name):
		return false, false
	case shellOwn[name]:
		return !single, !single
	case strings.ContainsRune(name, filepath.Separator):
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(b.workspace, path)
		}
		if _, err := exec.LookPath(path); err == nil {
			return true, true
		}
		_, err := os.Lstat(path)
		return !single || strings.HasPrefix(name, ".") && os.IsNotExist(err), false
	case b.onPath(name):
		return true, true
	}
	return !single && missingName.MatchString(name), false
}

var (
	// programName leaves out what only a parser takes for a program: "HH:MM", "key=value", "{x}".
	programName = regexp.MustCompile(`^[^{}=:$*?"'<>|;&,]+$`)
	// missingName is how names of programs look; other words are text.
	missingName = regexp.MustCompile(`^[a-z_][a-z0-9_.+-]*$`)
)

// Refuse says why a command line must not be run as a check, see shell.Unfit; nil if it may be.
func (b *Box) Refuse(command string) error { return shell.Unfit(command) }

// onPath reports whether a check finds a program of that name: in any directory of PATH, also those of the workspace.
func (b *Box) onPath(name string) bool {
	path := defaultPath
	for _, entry := range b.opts.Environ {
		if p, ok := strings.CutPrefix(entry, "PATH="); ok {
			path = p
		}
	}
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(b.workspace, dir)
		}
		if _, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}

// shellOwn are programs of the shell itself with which checks begin.
var shellOwn = map[string]bool{
	"test": true, "[": true, "[[": true, "cd": true, "true": true, "false": true, "echo": true, "printf": true,
	"command": true, "type": true, "set": true, "export": true, "!": true, ".": true, "source": true, "((": true, "exec": true,
	"eval": true, "trap": true, "kill": true, "alias": true, "read": true, ":": true,
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
