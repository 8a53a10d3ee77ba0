//go:build unix

// Package proc runs child processes on behalf of a model.
//
// Terms: the main process of a command is the one that was asked for; its tree is every descendant, also those that made
// a session or a process group of their own. A background process is a member of the tree that is alive after the main
// process ended. A keeper is a small process of ours between flower and the main process: orphans of the tree become its
// children, so that none gets away, and when flower ends, however that comes, it ends the tree. Where the system has no
// such thing (all but Linux) the tree is the process group made for the main process.
//
// Trust model: the command may be anything. It gets no standard input, no terminal and, with [ScrubEnv], no
// credentials; its output may be endless, binary or never end and takes bounded memory and time all the same. It may
// kill its keeper; then its processes are found by a mark in their environment, which they can take off. This package
// is no sandbox: see Command.Confine.
//
// A signal goes only to a process that is known to be ours: a descendant of a keeper, or one with the mark, whose start
// time has not changed since that was seen.
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
	"slices"
	"strings"
	"sync"
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
	// pollTime is how often a stop looks whether the tree is empty: there
	// is nothing to wait on for processes that are not our children.
	pollTime = 10 * time.Millisecond
	// quietLooks is how often in a row nothing must be seen of a tree whose
	// keeper was killed: a process that starts another program, or is started,
	// hides for a moment.
	quietLooks = 5
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

	// Confine, if set, is called with the function that starts the process
	// and must call it, in the same goroutine, or return an error. It may
	// change what the process is born with: sandbox.Sandbox.Start.
	Confine func(start func() error) error

	// Redact, if set, takes secrets out of what is kept and of what goes to
	// Spill. Where output is cut, more than what is kept is read, so that a
	// secret at the seam is seen whole.
	Redact func(string) string

	// KeepHead and KeepTail are the bytes of output kept from the beginning
	// and the end. 0 = DefaultKeep, negative = none.
	KeepHead, KeepTail int

	// Spill, if set, receives the output byte for byte while it comes, up to
	// SpillCap bytes (0 = DefaultSpillCap) of it. It is called from one goroutine and not
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
	// when it was not started because the context was done, would not die, or
	// killed its keeper, which would have known.
	ExitCode int
	Signal   string // "SIGKILL"; empty when it exited by itself

	TimedOut bool // Timeout passed while the main process ran
	Canceled bool // the context was done while it ran, or before

	// KeeperStopped says that the command had stopped its keeper, so that
	// its end could be noticed only when it was to be stopped itself.
	KeeperStopped bool

	// Background holds the processes of the tree that were alive at the end.
	// They go on running until the Supervisor is closed, or, where they could
	// not be ended, for as long as they like. Their later output is thrown
	// away.
	Background []Process

	SpillErr error
	Duration time.Duration // until the main process ended
}

// Process names a process that is not ours to wait for.
type Process struct {
	PID  int
	Name string // of the program, as the system has it: any bytes
}

// ErrClosed is returned by Run of a Supervisor that was closed.
var ErrClosed = errors.New("no commands are run any more")

// Supervisor runs commands and ends what they leave behind. The zero value is
// ready. It must not be copied.
type Supervisor struct {
	// Records is the directory in which is noted what runs, for
	// EndLeftovers; it is made when needed. "" notes nothing. It must not
	// change after the first Run.
	Records string

	mu     sync.Mutex
	closed bool
	left   map[*child]bool // trees whose main process has ended
	all    sync.WaitGroup  // goroutines of children
}

// Run is Supervisor.Run for one command: what it leaves behind is ended before
// Run returns.
func Run(ctx context.Context, cmd Command) (Result, error) {
	var s Supervisor
	defer s.Close()
	return s.Run(ctx, cmd)
}

// Run starts cmd with /dev/null as standard input and waits for its main
// process, not for background ones. On timeout or when ctx is done, the tree
// gets SIGTERM, then after the grace SIGKILL; that is no error, see [Result].
// An error means that nothing was run.
func (s *Supervisor) Run(ctx context.Context, cmd Command) (Result, error) {
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
	began := time.Now()
	tree, err := s.start(c, startOptions{confine: cmd.Confine, read: r, write: w})
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

	var res Result
	watch(ctx, cmd, tree, &res)
	res.Duration = time.Since(began)

	_ = r.SetReadDeadline(time.Now().Add(drainTime))
	<-ended
	if !out.eof {
		sweep(r, out)
	}
	res.ExitCode, res.Signal = tree.status()
	res.KeeperStopped = tree.keeperStopped()
	res.Background = s.leave(tree)
	out.endSpill()
	res.Output, res.Omitted = out.text()
	res.Total, res.SpillErr = out.total, out.spillErr
	return res, nil
}

// start makes the child known to Close before it runs.
func (s *Supervisor) start(c *exec.Cmd, opts startOptions) (*child, error) {
	s.mu.Lock()
	closed := s.closed
	if !closed {
		s.all.Add(1)
	}
	s.mu.Unlock()
	if closed {
		return nil, ErrClosed
	}
	if opts.confine == nil {
		opts.confine = func(start func() error) error { return start() }
	}
	opts.records, opts.done = s.Records, s.all.Done
	tree, err := startChild(c, opts)
	if err != nil {
		s.all.Done()
		return nil, err
	}
	return tree, nil
}

// startOptions are what startChild needs besides the command.
type startOptions struct {
	confine     func(start func() error) error
	read, write *os.File // ends of the pipe for the output
	// stdin and stdout are what a service has besides, which has its standard error alone on that pipe; both or none.
	stdin, stdout *os.File
	records       string // "" = none
	done          func() // called once nothing of the child is left in this process, if it was started
}

// leave takes care of a tree whose main process has ended and returns what
// else is alive of it.
func (s *Supervisor) leave(c *child) []Process {
	members := c.members()
	if len(members) == 0 {
		c.finish()
		return nil
	}
	c.detach()
	s.keep(c)
	names := make([]Process, len(members))
	for i, p := range members {
		names[i] = Process{PID: p.pid, Name: p.name}
	}
	return names
}

// keep makes it Close's to end a tree.
func (s *Supervisor) keep(c *child) {
	s.mu.Lock()
	closed := s.closed
	if !closed {
		if s.left == nil {
			s.left = map[*child]bool{}
		}
		for old := range s.left {
			if old.over() {
				delete(s.left, old)
			}
		}
		s.left[c] = true
	}
	s.mu.Unlock()
	if closed {
		c.finish()
	}
}

// Close ends what commands have left behind, SIGTERM first, and waits until it
// is gone: about as long as DefaultGrace at most. Run must not be called any
// more; one that is still going is for its context to end.
func (s *Supervisor) Close() {
	s.mu.Lock()
	s.closed = true
	left := s.left
	s.left = nil
	s.mu.Unlock()
	var ending sync.WaitGroup
	for c := range left {
		ending.Go(c.finish)
	}
	ending.Wait()
	s.all.Wait()
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
	if c.Err != nil {
		return nil, c.Err
	}
	if cmd.Dir != "" {
		if info, err := os.Stat(cmd.Dir); err != nil {
			return nil, err
		} else if !info.IsDir() {
			return nil, &os.PathError{Op: "chdir", Path: cmd.Dir, Err: syscall.ENOTDIR}
		}
	}
	for _, text := range slices.Concat(argv, c.Env, []string{c.Path, c.Dir}) {
		if strings.ContainsRune(text, 0) {
			return nil, errors.New("a NUL character in the command")
		}
	}
	return c, nil
}

// watch waits for the main process to exit and stops the tree when it must.
// The timer is its own: no reader of output can hold it up.
func watch(ctx context.Context, cmd Command, c *child, res *Result) {
	var timeout <-chan time.Time
	if cmd.Timeout > 0 {
		timer := time.NewTimer(cmd.Timeout)
		defer timer.Stop()
		timeout = timer.C
	}
	select {
	case <-c.ended:
		if code, _ := c.status(); code >= 0 {
			return
		}
		// It has killed its keeper: nobody watches over it any more.
	case <-timeout:
		res.TimedOut = true
	case <-ctx.Done():
		res.Canceled = true
	}
	grace := cmd.Grace
	if grace <= 0 {
		grace = DefaultGrace
	}
	c.stop(grace, cmd.Hurry)
}

// stop ends the tree, main process included, in stages.
func (c *child) stop(grace time.Duration, hurry <-chan struct{}) {
	c.signal(syscall.SIGTERM)
	c.signal(syscall.SIGCONT) // a stopped process sees SIGTERM only now
	if c.emptied(grace, hurry, c.resume) {
		return
	}
	c.emptied(killWait, nil, func() { c.signal(syscall.SIGKILL) })
	c.giveUp()
}

// emptied waits up to limit, or until it is to hurry, until the main process
// has ended and nothing of its tree is alive, and reports whether that is so.
// Between looks it calls again, if set: something may have been started
// meanwhile.
func (c *child) emptied(limit time.Duration, hurry <-chan struct{}, again func()) bool {
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	poll := time.NewTicker(pollTime)
	defer poll.Stop()
	running, quiet := c.ended, 0
	for {
		if again != nil {
			again()
		}
		switch {
		case running != nil:
		case len(c.members()) > 0:
			quiet = 0
		default:
			if quiet++; quiet == quietLooks || !c.lost() {
				return true
			}
		}
		select {
		case <-running:
			running = nil
		case <-poll.C:
		case <-deadline.C:
			return false
		case <-hurry:
			return false
		}
	}
}

// outcome turns a wait status into what a Result says.
func outcome(status syscall.WaitStatus) (code int, signal string) {
	if status.Signaled() {
		return 128 + int(status.Signal()), unix.SignalName(status.Signal())
	}
	return status.ExitStatus(), ""
}
