package tools

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"flower/agent"
	"flower/internal/proc"
	"flower/internal/workbench"
)

// Bounds of what Bash keeps of an output in memory, in bytes.
const (
	// keepWithBench is how much of the beginning and of the end is kept where all of it goes to a file: enough to tell
	// whether it is short enough to stay.
	keepWithBench = 2 * spillFrom * utf8.UTFMax
	// keepWithoutBench is the same where it cannot be spilled.
	keepWithoutBench = 15_000
)

// shownEnd is how many characters of the end of a long output stay in the conversation besides its beginning: errors
// stand at the end.
const shownEnd = 800

// report runs a command and says how it ended.
func (b *Box) report(ctx context.Context, cmd proc.Command) agent.ToolResult {
	var whole *workbench.Stream
	cmd.KeepHead, cmd.KeepTail = keepWithoutBench, keepWithoutBench
	if b.opts.Bench != nil {
		whole = b.opts.Bench.NewStream()
		defer whole.Drop()
		cmd.KeepHead, cmd.KeepTail, cmd.Spill = keepWithBench, keepWithBench, whole
	}
	res, err := b.commands.Run(ctx, cmd)
	switch {
	case errors.Is(err, syscall.E2BIG):
		return agent.ErrorResult("Nothing was run: the command is too long for the system. Write it to a file with Write and run that.")
	case err != nil:
		return agent.ErrorResult(fmt.Sprintf("Nothing was run: %v.", err))
	}
	status := statusLine(res, cmd.Timeout)
	if note := b.denial(res); note != "" {
		status = note + "\n" + status
	}
	out := strings.TrimRight(res.Output, "\n")
	shown := out
	if whole != nil && (res.Omitted > 0 || utf8.RuneCountInString(out)+utf8.RuneCountInString(status) >= spillFrom-1) {
		shown = b.shorten(res, out, whole)
	}
	r := agent.TextResult(strings.TrimPrefix(shown+"\n"+status, "\n"))
	r.Essence = fmt.Sprintf("%s\n%d %s", out, res.ExitCode, res.Signal)
	r.IsError = res.ExitCode != 0 || res.TimedOut || res.Canceled
	r.Display = strings.TrimPrefix(lastLines(out, displayLines)+"\n"+status, "\n")
	return r
}

// shorten keeps the whole output as a file and returns what stays of it in the conversation.
func (b *Box) shorten(res proc.Result, out string, whole *workbench.Stream) string {
	what := fmt.Sprintf("%d bytes", res.Total)
	if res.Omitted == 0 {
		what = fmt.Sprintf("%d characters (%s)", utf8.RuneCountInString(out), plural(countLines(out), "line"))
	}
	var where string
	path, err := "", res.SpillErr
	if err == nil {
		path, err = b.keep(whole)
	}
	switch {
	case err != nil:
		where = errSpill.Error() + "; ask again for less"
	case res.Total > proc.DefaultSpillCap:
		where = fmt.Sprintf("the first %d MiB of %s are in %s: look at parts of it with a command", int64(proc.DefaultSpillCap)>>20, what, path)
	default:
		where = fmt.Sprintf("all %s are in %s: Read it with offset and limit", what, path)
	}
	begin, end := []rune(out), ""
	if len(begin) > spillShown {
		rest := begin[spillShown:]
		end = "\n[…]\n" + string(rest[max(len(rest)-shownEnd, 0):])
		begin = begin[:spillShown]
	}
	return fmt.Sprintf("[long result: %s. It begins and ends like this:]\n%s …%s", where, string(begin), end)
}

// keep makes a file of a stream and returns its path as the model should give it to Read.
func (b *Box) keep(whole *workbench.Stream) (string, error) {
	path, err := whole.Keep()
	if err != nil {
		return "", err
	}
	return b.spillPath(path)
}

func statusLine(res proc.Result, timeout time.Duration) string {
	parts := []string{fmt.Sprintf("exit code %d", res.ExitCode)}
	if res.ExitCode == -1 {
		parts[0] = exitUnknown
	}
	if res.Signal != "" {
		parts = append(parts, "ended by "+res.Signal)
	}
	parts = append(parts, "ran "+short(res.Duration))
	if res.TimedOut {
		parts = append(parts, exitTimeout+timeout.String()+" was over")
	}
	if res.Canceled {
		parts = append(parts, exitInterrupted+"the run was stopped while it ran, which is no fault of the command; what is above is what it had printed")
	}
	if res.KeeperStopped {
		parts = append(parts, "it had stopped the process that watches over it")
	}
	switch n := len(res.Background); {
	case n > 0 && (res.TimedOut || res.Canceled || res.ExitCode == -1):
		parts = append(parts, "could not be ended and may still run: "+processes(res.Background))
	case n > 0:
		parts = append(parts, plural(n, "process")+exitBackground+": "+processes(res.Background))
	case res.ExitCode == -1 && res.KeeperStopped:
		parts = append(parts, "and how it ended is not known; what it left was ended")
	case res.ExitCode == -1 && !res.Canceled:
		parts = append(parts, "it ended the process that watches over it, so how it ended is not known; what it left was ended")
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// processes names processes by number and program.
func processes(list []proc.Process) string {
	const most = 8
	var words []string
	for i, p := range list {
		if i == most {
			words = append(words, fmt.Sprintf("and %d more", len(list)-most))
			break
		}
		name := strings.Map(func(r rune) rune { // it is whatever a program calls itself
			if r <= ' ' || r >= 0x7f || strings.ContainsRune("[](),", r) {
				return '?'
			}
			return r
		}, p.Name)
		words = append(words, fmt.Sprintf("%d (%s)", p.PID, name))
	}
	return strings.Join(words, ", ")
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
