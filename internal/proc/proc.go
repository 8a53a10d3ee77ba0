//go:build unix

// Package proc runs child processes on behalf of a model.
//
// Terms: the main process is the one started here; its group is every
// descendant that did not leave the process group made for it. A background
// process is a member of the group that is alive after the main process ended.
//
// Trust model: the command may be anything. It gets no standard input, no
// terminal and, with [ScrubEnv], no credentials; its output may be endless,
// binary or never end and takes bounded memory and time all the same. It runs
// with the rights of the person: this package is no sandbox, and a process
// that makes a session of its own (setsid) is out of reach of a stop.
//
// All functions are safe for concurrent use.
package proc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Defaults of [Command] and bounds of a stop.
const (
	// DefaultKeep bytes of the beginning and of the end of the output are
	// kept: far more than a model is shown, small beside flower's own memory.
	DefaultKeep = 256 << 10
	// DefaultSpillCap is how much output goes to Spill.
	DefaultSpillCap = 64 << 20
	// DefaultGrace lies between SIGTERM and SIGKILL.
	DefaultGrace = 2 * time.Second

	// drainTime is how long output is still read after the main process
	// ended while another process keeps the pipe open.
	drainTime = 100 * time.Millisecond
	// killWait bounds the wait for a process that SIGKILL does not end at
	// once, because it hangs in the kernel.
	killWait = 5 * time.Second
	// pollTime is how often a stop looks whether the group is empty: there
	// is nothing to wait on for processes that are not our children.
	pollTime = 10 * time.Millisecond
)

// Command says what to run. Exactly one of Argv and Script is set; everything
// else may be zero.
type Command struct {
	Argv   []string // program, looked up in PATH, and its arguments
	Script string   // text for Shell -c
	Shell  string   // default "bash"
	Dir    string   // default: the current directory

	// Env is the whole environment. Nil means ScrubEnv(os.Environ()).
	Env []string

	Timeout time.Duration // from start to SIGTERM; 0 = none
	Grace   time.Duration // from SIGTERM to SIGKILL; 0 = DefaultGrace
	// Hurry, once closed, ends the grace of a stop: SIGKILL follows at once. Nil = never.
	Hurry <-chan struct{}

	// KeepHead and KeepTail are the bytes of output kept from the beginning
	// and the end. 0 = DefaultKeep, negative = none.
	KeepHead, KeepTail int

	// Spill, if set, receives the raw output while it comes, up to SpillCap
	// bytes (0 = DefaultSpillCap). It is called from one goroutine and not
	// after Run returned; it must not block. Its first error ends the
	// spilling, not the command, and is in Result.SpillErr.
	Spill    io.Writer
	SpillCap int64
}

// Result is what became of a command that could be started.
type Result struct {
	// Output is stdout and stderr in the order written: valid UTF-8, runs of
	// NUL and of bytes that are not UTF-8 shown as U+FFFD. Where the middle
	// was left out there is a line "[… N bytes left out …]".
	Output  string
	Total   int64 // bytes written by the command and read
	Omitted int64 // of these, bytes not in Output

	// ExitCode is the main process's, or 128 + the signal's number, or -1
	// when it was not started because the context was done, or would not die.
	ExitCode int
	Signal   string // "SIGKILL"; empty when it exited by itself

	TimedOut bool // Timeout passed while the main process ran
	Canceled bool // the context was done while it ran, or before

	// Background holds the process ids in the group that were alive at the
	// end. They go on running, their later output is thrown away.
	Background []int

	SpillErr error
	Duration time.Duration // until the main process ended
}

// Run starts cmd in a process group of its own, with /dev/null as standard
// input, and waits for its main process, not for background ones. On timeout
// or when ctx is done, the group gets SIGTERM, then after the grace SIGKILL;
// that is no error, see [Result]. An error means that nothing was run.
func Run(ctx context.Context, cmd Command) (Result, error) {
	if ctx.Err() != nil {
		return Result{ExitCode: -1, Canceled: true}, nil
	}
	c, err := build(cmd)
	if err != nil {
		return Result{}, fmt.Errorf("run command: %w", err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		return Result{}, fmt.Errorf("run command: %w", err)
	}
	defer func() { _ = r.Close() }()
	// One pipe for both keeps the order in which they were written.
	c.Stdout, c.Stderr = w, w
	began := time.Now()
	err = c.Start()
	_ = w.Close() // ours; the child has its own
	if err != nil {
		return Result{}, fmt.Errorf("run command: %w", err)
	}

	out := newCapture(cmd)
	ended := make(chan struct{}) // end of output, or of our interest in it
	go func() {
		defer close(ended)
		out.readFrom(r)
	}()
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		_ = c.Wait() // the outcome is in ProcessState
	}()

	var res Result
	gone := watch(ctx, cmd, c.Process.Pid, exited, &res)
	res.Duration = time.Since(began)

	_ = r.SetReadDeadline(time.Now().Add(drainTime))
	<-ended
	if !out.eof {
		sweep(r, out)
	}
	if !out.eof {
		keepOpen(r)
	}
	res.Output, res.Omitted = out.text()
	res.Total, res.SpillErr = out.total, out.spillErr
	res.Background = groupPids(c.Process.Pid)
	res.ExitCode = -1
	if gone {
		setStatus(&res, c.ProcessState)
	}
	return res, nil
}

func build(cmd Command) (*exec.Cmd, error) {
	argv := cmd.Argv
	switch {
	case len(argv) > 0 && cmd.Script != "":
		return nil, errors.New("both a program and a script")
	case len(argv) > 0:
	case cmd.Script != "":
		shell := cmd.Shell
		if shell == "" {
			shell = "bash"
		}
		argv = []string{shell, "-c", cmd.Script}
	default:
		return nil, errors.New("neither a program nor a script")
	}
	c := exec.Command(argv[0], argv[1:]...)
	c.Dir = cmd.Dir
	c.Env = cmd.Env
	if c.Env == nil {
		c.Env = ScrubEnv(os.Environ())
	}
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return c, nil
}

// watch waits for the main process to exit and stops the group when it must.
// It reports whether the main process is gone.
func watch(ctx context.Context, cmd Command, pgid int, exited <-chan struct{}, res *Result) bool {
	var timeout <-chan time.Time
	if cmd.Timeout > 0 {
		timer := time.NewTimer(cmd.Timeout)
		defer timer.Stop()
		timeout = timer.C
	}
	select {
	case <-exited:
		return true
	case <-timeout:
		res.TimedOut = true
	case <-ctx.Done():
		res.Canceled = true
	}
	grace := cmd.Grace
	if grace <= 0 {
		grace = DefaultGrace
	}
	signalGroup(pgid, syscall.SIGTERM)
	signalGroup(pgid, syscall.SIGCONT) // a stopped process sees SIGTERM only now
	if emptied(pgid, exited, grace, cmd.Hurry) {
		return true
	}
	signalGroup(pgid, syscall.SIGKILL)
	emptied(pgid, exited, killWait, nil)
	select {
	case <-exited:
		return true
	default:
		return false
	}
}

// emptied waits up to limit, or until it is to hurry, until the main process
// has exited and its group has no live member, and reports whether that is so.
func emptied(pgid int, exited <-chan struct{}, limit time.Duration, hurry <-chan struct{}) bool {
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	select {
	case <-exited:
	case <-deadline.C:
		return false
	case <-hurry:
		return false
	}
	poll := time.NewTicker(pollTime)
	defer poll.Stop()
	for len(groupPids(pgid)) > 0 {
		select {
		case <-poll.C:
		case <-deadline.C:
			return false
		case <-hurry:
			return false
		}
	}
	return true
}

func signalGroup(pgid int, sig syscall.Signal) {
	// The only errors are a group that is gone and a member that took other
	// rights; neither leaves anything to do.
	_ = syscall.Kill(-pgid, sig)
}

func setStatus(res *Result, state *os.ProcessState) {
	status, ok := state.Sys().(syscall.WaitStatus)
	if ok && status.Signaled() {
		res.ExitCode = 128 + int(status.Signal())
		res.Signal = unix.SignalName(status.Signal())
		return
	}
	res.ExitCode = state.ExitCode()
}

// keepOpen gives the read end to a process that throws away what comes and
// ends with the last writer. Closing it instead would kill a background server
// with SIGPIPE at its next line of log.
func keepOpen(r *os.File) {
	c := exec.Command("/bin/sh", "-c", "cat <&3 >/dev/null 2>&1 3<&- &")
	c.Env = []string{"PATH=/usr/bin:/bin"}
	c.ExtraFiles = []*os.File{r}
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	_ = c.Run() // without it the pipe is closed: worse, but not an error
}
