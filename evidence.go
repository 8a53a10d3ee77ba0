package flower

import (
	"context"
	"errors"
	"strings"
	"time"

	"flower/document"
)

// Checker runs the checks of a goal that are commands, so that a judge has more than words to go by. Implementations are
// safe for concurrent use.
type Checker interface {
	// Runnable says whether a text in back-ticks is a command line that can be run in the workspace, and no name of a
	// file or a value.
	Runnable(text string) bool
	// Check runs a command line and ends it, with everything it has started, when ctx is done. It never fails: why
	// nothing came of it is in the Evidence.
	Check(ctx context.Context, command string) Evidence
}

// Evidence is what came of a check that is a command.
type Evidence struct {
	Command   string  `json:"command"`
	ExitCode  int     `json:"exit_code"`         // -1 if it did not end by itself
	Output    string  `json:"output"`            // the end of it, bounded
	Problem   string  `json:"problem,omitempty"` // why it has no exit code of its own: not started, out of time, ended by a signal
	DurationS float64 `json:"duration_s"`
	Dir       string  `json:"dir,omitempty"` // where it was run, if not in the workspace

	Err error `json:"-"` // the same as Problem, for those who tell people; nil where it is read from the books
}

// What keeps a check from being run.
var (
	ErrChecksOutOfTime   = errors.New("not run: the time for all checks was used up")
	ErrChecksInterrupted = errors.New("not run: the person interrupted")
)

// Bounds of what is run before a judge is asked: a list of checks may be long and any of them may hang.
const (
	maxEvidence    = 20
	evidenceEach   = 5 * time.Minute
	evidenceAll    = 20 * time.Minute
	evidenceOutput = 2000 // characters for the judge, from the end
)

// evidence runs the checks of a goal that are commands, one after the other. Ctrl-C ends the running one and leaves the
// rest out; what was not run says so.
func (rt *Runtime) evidence(ctx context.Context, label string, goal document.Goal) []Evidence {
	commands := rt.commands(goal)
	if len(commands) == 0 {
		return nil
	}
	running, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	rt.interruptible(cancel)
	defer rt.interruptible(nil)
	timed, stop := context.WithTimeout(running, evidenceAll)
	defer stop()
	var list []Evidence
	for _, command := range commands {
		rt.emit(CheckStarted{Label: label, Command: command})
		e := rt.check(timed, command)
		list = append(list, e)
		rt.emit(CheckFinished{Label: label, Evidence: e})
	}
	return list
}

// check runs one command within its time.
func (rt *Runtime) check(ctx context.Context, command string) Evidence {
	if ctx.Err() != nil {
		why := ErrChecksOutOfTime
		if errors.Is(context.Cause(ctx), ErrInterrupted) {
			why = ErrChecksInterrupted
		}
		return Evidence{Command: command, ExitCode: -1, Problem: why.Error(), Err: why}
	}
	ctx, cancel := context.WithTimeout(ctx, evidenceEach)
	defer cancel()
	e := rt.opts.Checker.Check(ctx, command)
	e.Command, e.Output = command, lastPart(e.Output)
	return e
}

// commands are the checks of a goal that can be run, each once.
func (rt *Runtime) commands(goal document.Goal) []string {
	if rt.opts.Checker == nil {
		return nil
	}
	var list []string
	seen := make(map[string]bool)
	for _, c := range goal.Checks {
		command := c.Command()
		if command == "" || c.Unverifiable || seen[command] || !rt.opts.Checker.Runnable(command) {
			continue
		}
		seen[command] = true
		if list = append(list, command); len(list) == maxEvidence {
			break
		}
	}
	return list
}

// lastPart is the bounded end of an output, from the beginning of a line where there is one.
func lastPart(s string) string {
	s = strings.TrimRight(strings.ToValidUTF8(s, "\uFFFD"), "\n")
	runes := []rune(s)
	if len(runes) <= evidenceOutput {
		return s
	}
	s = string(runes[len(runes)-evidenceOutput:])
	if _, rest, ok := strings.Cut(s, "\n"); ok {
		s = rest
	}
	return "…\n" + s
}

// Told is the evidence as a judge reads it; no line of the output can pass for one of ours.
func (e Evidence) Told() string {
	if e.Output == "" {
		return ""
	}
	return "    | " + strings.ReplaceAll(e.Output, "\n", "\n    | ")
}
