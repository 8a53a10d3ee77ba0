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
	// Command says whether a text in back-ticks has the form of a command line, and no name of a file or a value; found:
	// whether the program it begins with is there.
	Command(text string) (is, found bool)
	// Refuse says why a command line must not be run as a check; nil if it may be.
	Refuse(command string) error
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
	ErrChecksTooMany     = errors.New("not run: too many checks are commands")
	ErrCheckMentioned    = errors.New("not run: the item does not say that this command is run")
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
	planned := rt.plan(goal)
	if len(planned) == 0 {
		return nil
	}
	running, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	rt.interruptible(cancel)
	defer rt.interruptible(nil)
	timed, stop := context.WithTimeout(running, evidenceAll)
	defer stop()
	var list []Evidence
	for _, p := range planned {
		rt.emit(CheckStarted{Label: label, Command: p.command})
		e := unrun(p.command, p.refused)
		if p.refused == nil {
			e = rt.check(timed, p.command)
		}
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
		return unrun(command, why)
	}
	ctx, cancel := context.WithTimeout(ctx, evidenceEach)
	defer cancel()
	e := rt.opts.Checker.Check(ctx, command)
	e.Command, e.Output = command, lastPart(e.Output)
	return e
}

// unrun is the evidence of a command that was not run.
func unrun(command string, why error) Evidence {
	e := Evidence{Command: command, ExitCode: -1, Err: why}
	if why != nil {
		e.Problem = why.Error()
	}
	return e
}

// plannedCheck is a command of the checklist, and why it is not to be run.
type plannedCheck struct {
	command string
	refused error
}

// plan finds the commands of a goal, one an item and each once, in the order of the list.
func (rt *Runtime) plan(goal document.Goal) []plannedCheck {
	if rt.opts.Checker == nil {
		return nil
	}
	var list []plannedCheck
	seen := make(map[string]bool)
	run := 0
	for _, c := range goal.Checks {
		if c.Unverifiable {
			continue
		}
		p := rt.planned(c)
		if p.command == "" || seen[p.command] {
			continue
		}
		seen[p.command] = true
		if p.refused == nil {
			if run++; run > maxEvidence {
				p.refused = ErrChecksTooMany
			}
		}
		list = append(list, p)
	}
	return list
}

// planned is the first command of an item that may be run, or else the first command with the reason against it. Its zero
// value is an item without a command. A text whose program is not there is a command only where the item says that it is
// run: then the missing program is the finding.
func (rt *Runtime) planned(c document.Check) plannedCheck {
	var first plannedCheck
	for _, q := range c.Quotes() {
		is, found := rt.opts.Checker.Command(q.Text)
		flags := strings.Contains(q.Text, " -") // words alone are more often a text
		if !is || !found && q.Claim != document.Runs && !(q.Claim == document.Opens && (q.Alone || flags)) {
			continue
		}
		p := plannedCheck{command: q.Text}
		if q.Claim == document.Mentioned {
			p.refused = ErrCheckMentioned
		} else {
			p.refused = rt.opts.Checker.Refuse(q.Text)
		}
		if p.refused == nil {
			return p
		}
		if first.command == "" {
			first = p
		}
	}
	return first
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
