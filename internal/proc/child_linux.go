package proc

import (
	"bufio"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// child is a started command behind its keeper.
type child struct {
	id      string // of its mark
	keeper  *exec.Cmd
	main    int
	owner   owner    // the keeper as a process
	control *os.File // closing it lets the keeper end the tree
	record  string   // path; "" = none

	ended chan struct{} // closed when the main process has ended or nobody will know
	gone  chan struct{} // closed when the keeper has ended

	letGo    chan struct{} // closed when the keeper is told to end
	letGoNow sync.Once

	mu    sync.Mutex
	how   syscall.WaitStatus
	known bool // how is
	empty bool // nothing was left of the tree when the main process had ended
	held  bool // the keeper was found stopped when the tree was to be
}

// startChild starts a keeper, notes it, and lets it start c.
func startChild(c *exec.Cmd, opts startOptions) (_ *child, err error) {
	controlR, controlW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer func() { _ = controlR.Close() }()
	statusR, statusW, err := os.Pipe()
	if err != nil {
		_ = controlW.Close()
		return nil, err
	}
	defer func() { _ = statusW.Close() }()
	var random [16]byte
	_, _ = rand.Read(random[:]) // never fails
	t := &child{id: hex.EncodeToString(random[:]), control: controlW, ended: make(chan struct{}), gone: make(chan struct{}), letGo: make(chan struct{})}
	mark := markName + "=" + t.id
	t.keeper = &exec.Cmd{
		Path: "/proc/self/exe", Args: []string{keeperName}, // also when the file of the program was replaced meanwhile
		Env: []string{mark, "GOMAXPROCS=1"}, Dir: "/",
		ExtraFiles:  []*os.File{controlR, statusW, opts.write},
		SysProcAttr: &syscall.SysProcAttr{Setsid: true}, // no terminal: /dev/tty asks nobody
	}
	if opts.stdin != nil {
		t.keeper.ExtraFiles = append(t.keeper.ExtraFiles, opts.stdin, opts.stdout)
	}
	if err := opts.confine(t.keeper.Start); err != nil {
		_, _ = controlW.Close(), statusR.Close()
		return nil, err
	}
	t.owner = ownerOf(t.keeper.Process.Pid)
	t.record = note(opts.records, t)
	_ = statusW.Close()
	what := order{path: c.Path, dir: c.Dir, service: opts.stdin != nil, argv: c.Args, env: append(c.Environ(), mark)}
	_, err = controlW.Write(what.encode()) // if it fails, so does the reading below
	said := bufio.NewReader(statusR)
	if err == nil {
		err = t.begun(said)
	}
	if err != nil {
		t.end(nil, statusR)
		if !t.lost() {
			return nil, &os.PathError{Op: "start", Path: c.Path, Err: err}
		}
		opts.done() // the command was quick to kill its keeper: it runs, and has to be looked for
		return t, nil
	}
	go func() {
		defer opts.done()
		t.end(said, statusR)
	}()
	return t, nil
}

// wakeTime bounds the waits for a keeper: for its word that the main process was started, which takes milliseconds, and for
// its end once it is told to end, which takes DefaultGrace and killWait if its tree resists.
const wakeTime = 10 * time.Second

// wake keeps the keeper from being stopped, as its tree can do at any moment, while it is waited for: nothing else bounds
// that wait. It ends when the function it returns is called.
func (c *child) wake() (done func()) {
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick, late := time.NewTicker(pollTime), time.NewTimer(wakeTime)
		defer tick.Stop()
		defer late.Stop()
		for {
			select {
			case <-stop:
				return
			case <-late.C:
				_ = c.keeper.Process.Kill()
				return
			case <-tick.C:
				_ = c.keeper.Process.Signal(syscall.SIGCONT)
			}
		}
	}()
	return func() { close(stop); <-stopped }
}

// begun reads whether the main process was started.
func (c *child) begun(said *bufio.Reader) error {
	defer c.wake()()
	line, err := said.ReadString('\n')
	if err != nil {
		return fmt.Errorf("the process that was to start it ended: %w", err)
	}
	var errno int
	if n, _ := fmt.Sscanf(line, "errno %d", &errno); n == 1 {
		return syscall.Errno(errno)
	}
	if n, _ := fmt.Sscanf(line, "pid %d", &c.main); n != 1 {
		return fmt.Errorf("unknown answer %q", line)
	}
	return nil
}

// end reads how the main process ended and waits for the keeper. said is nil
// if it was not started.
func (c *child) end(said *bufio.Reader, status *os.File) {
	if said == nil {
		_ = c.control.Close()
	} else if how, empty, ok := readExit(said); ok {
		c.mu.Lock()
		c.how, c.known, c.empty = how, true, empty
		c.mu.Unlock()
		close(c.ended)
		c.awaitEnd(said)
	}
	_ = status.Close()
	_ = c.keeper.Wait()
	close(c.gone)
	if !c.known {
		close(c.ended)
	}
	c.forget()
}

// awaitEnd waits until the keeper ends, which closes its status pipe.
func (c *child) awaitEnd(said *bufio.Reader) {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		_, _ = said.ReadByte()
	}()
	select {
	case <-closed:
	case <-c.letGo:
		done := c.wake()
		<-closed
		done()
	}
}

// forget removes the record once nothing is left that it could be needed for;
// what stays is looked at and removed by EndLeftovers.
func (c *child) forget() {
	if c.record != "" && len(c.members()) == 0 {
		_ = os.Remove(c.record)
	}
}

func readExit(said *bufio.Reader) (how syscall.WaitStatus, empty, ok bool) {
	line, err := said.ReadString('\n')
	if err != nil {
		return 0, false, false
	}
	var status uint32
	n, _ := fmt.Sscanf(line, "exit %d %t", &status, &empty)
	return syscall.WaitStatus(status), empty, n == 2
}

// status is the outcome of the main process, or -1 if it is not known.
func (c *child) status() (code int, signal string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.known {
		return -1, ""
	}
	return outcome(c.how)
}

// pid is the main process.
func (c *child) pid() int { return c.main }

// members lists what is alive of the tree.
func (c *child) members() []process {
	c.mu.Lock()
	empty := c.empty
	c.mu.Unlock()
	if empty {
		return nil
	}
	if !c.over() {
		return descendants(c.keeper.Process.Pid)
	}
	if !c.lost() {
		return nil // it ends by itself only after its tree
	}
	return marked(c.id, c.owner)
}

// lost says that the keeper was killed, so that the tree has to be looked for.
func (c *child) lost() bool {
	if !c.over() {
		return false
	}
	how, ok := c.keeper.ProcessState.Sys().(syscall.WaitStatus)
	return ok && how.Signaled()
}

// signal reaches every member. The keeper goes on first: as long as it is stopped, nobody learns how the main process ends.
func (c *child) signal(sig syscall.Signal) {
	c.resume()
	signalAll(c.members(), c.main, sig)
}

// resume lets a keeper go on that its tree has stopped.
func (c *child) resume() {
	if c.over() {
		return
	}
	if p, ok := readProcess(c.keeper.Process.Pid); !ok || !p.halted {
		return
	}
	c.mu.Lock()
	c.held = true
	c.mu.Unlock()
	_ = c.keeper.Process.Signal(syscall.SIGCONT)
}

// keeperStopped says whether the keeper had been stopped when the tree was to be.
func (c *child) keeperStopped() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.held
}

// detach lets the keeper read what still comes. If nobody did, a background
// server would be held up, or killed by SIGPIPE, at some line of its log.
func (c *child) detach() { _, _ = c.control.Write([]byte{drain}) }

// over says that the keeper has ended.
func (c *child) over() bool {
	select {
	case <-c.gone:
		return true
	default:
		return false
	}
}

// finish lets the keeper end what is left and waits for it.
func (c *child) finish() {
	_ = c.control.Close()
	c.letGoNow.Do(func() { close(c.letGo) })
	if len(c.members()) == 0 && !c.over() {
		return // it is about to end, and forgets then
	}
	defer c.forget()
	select {
	case <-c.gone:
	case <-time.After(DefaultGrace + killWait):
		c.giveUp()
		<-c.gone
	}
	if len(c.members()) > 0 { // it was killed
		c.stop(DefaultGrace, nil)
	}
}

// giveUp ends the keeper itself, which may be stopped and so hold up everything.
func (c *child) giveUp() {
	if !c.over() {
		_ = c.keeper.Process.Kill()
	}
	<-c.ended
}
