package proc

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// child is a started command whose tree is its process group.
type child struct {
	cmd   *exec.Cmd
	read  *os.File
	ended chan struct{} // closed when the main process has ended
}

func startChild(c *exec.Cmd, opts startOptions) (*child, error) {
	c.Stdout, c.Stderr = opts.write, opts.write // one pipe for both keeps the order
	if opts.stdin != nil {
		c.Stdin, c.Stdout = opts.stdin, opts.stdout
	}
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := opts.confine(c.Start); err != nil {
		return nil, err
	}
	tree := &child{cmd: c, read: opts.read, ended: make(chan struct{})}
	go func() {
		defer opts.done()
		defer close(tree.ended)
		_ = c.Wait() // the outcome is in ProcessState
	}()
	return tree, nil
}

// pid is the main process.
func (c *child) pid() int { return c.cmd.Process.Pid }

// status is the outcome of the main process, or -1 while it is alive.
func (c *child) status() (code int, signal string) {
	select {
	case <-c.ended:
		if status, ok := c.cmd.ProcessState.Sys().(syscall.WaitStatus); ok {
			return outcome(status)
		}
	default:
	}
	return -1, ""
}

// members lists the live processes of the group; zombies are not alive.
func (c *child) members() []process {
	procs, err := unix.SysctlKinfoProcSlice("kern.proc.pgrp", c.cmd.Process.Pid)
	if err != nil {
		return nil
	}
	const zombie = 5 // SZOMB in sys/proc.h
	var list []process
	for _, p := range procs {
		if p.Proc.P_stat != zombie {
			list = append(list, process{pid: int(p.Proc.P_pid), name: unix.ByteSliceToString(p.Proc.P_comm[:])})
		}
	}
	return list
}

// process is one at one moment.
type process struct {
	pid  int
	name string
}

// signal reaches the group. The only errors are a group that is gone and a
// member that took other rights; neither leaves anything to do.
func (c *child) signal(sig syscall.Signal) {
	if len(c.members()) > 0 { // else the number may be another group's by now
		_ = syscall.Kill(-c.cmd.Process.Pid, sig)
	}
}

// detach gives the read end to a process that throws away what comes and ends
// with the last writer. Closing it instead would kill a background server with
// SIGPIPE at its next line of log.
func (c *child) detach() {
	cat := exec.Command("/bin/sh", "-c", "cat <&3 >/dev/null 2>&1 3<&- &")
	cat.Env = []string{"PATH=/usr/bin:/bin"}
	cat.ExtraFiles = []*os.File{c.read}
	cat.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	_ = cat.Run() // without it the pipe is closed: worse, but not an error
}

// lost is false: there is no keeper.
func (c *child) lost() bool { return false }

// keeperStopped is false: there is no keeper.
func (c *child) keeperStopped() bool { return false }

// resume does nothing: there is no keeper.
func (c *child) resume() {}

// over says that nothing is left to end.
func (c *child) over() bool { return len(c.members()) == 0 }

// finish ends what is left after the main process.
func (c *child) finish() {
	if !c.over() {
		c.stop(DefaultGrace, nil)
	}
}

// giveUp is called after SIGKILL has not helped: there is nothing else.
func (c *child) giveUp() {}

// EndLeftovers has nothing to end here: what runs is not noted.
func EndLeftovers(string) ([]Process, error) { return nil, nil }
