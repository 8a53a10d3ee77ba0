//go:build unix

package mcp

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Figures of programs: product settings.
const (
	politeTime = 2 * time.Second // between the end of input and SIGTERM, and between that and SIGKILL
	wordsKept  = 2 << 10         // bytes of the end of what a program says on its standard error
	wordsShown = 300
)

// program is a server that was started here, in a process group of its own.
type program struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout io.ReadCloser
	words  tail
	ended  chan struct{} // closed when the process has ended and its standard error was read

	once sync.Once // of end
}

// start starts a server.
func start(s Server, opts Options) (*program, error) {
	cmd := exec.Command(s.Command, s.Args...)
	cmd.Dir, cmd.Env = opts.Dir, append([]string{}, opts.Environ...)
	for k, v := range s.Env {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = politeTime // children may hold standard error
	p := &program{cmd: cmd, ended: make(chan struct{})}
	cmd.Stderr = &p.words
	// Not the pipes of exec: Wait would close the output before it was read to its end.
	stdinRead, stdin, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make pipe: %w", err)
	}
	stdout, stdoutWrite, err := os.Pipe()
	if err != nil {
		_, _ = stdinRead.Close(), stdin.Close()
		return nil, fmt.Errorf("make pipe: %w", err)
	}
	cmd.Stdin, cmd.Stdout = stdinRead, stdoutWrite
	p.stdin, p.stdout = stdin, stdout
	begin := cmd.Start
	if opts.Confine != nil {
		begin = func() error { return opts.Confine(cmd.Start) }
	}
	err = begin()
	_, _ = stdinRead.Close(), stdoutWrite.Close() // the child has its own
	if err != nil {
		_, _ = stdin.Close(), stdout.Close()
		return nil, err
	}
	go func() { // ends with the process, which end sees to
		defer close(p.ended)
		_ = cmd.Wait() // how it ended is in ProcessState
	}()
	return p, nil
}

// end closes the program's input, which asks it to end, and makes sure that it and its group do. It waits for that.
func (p *program) end() {
	p.once.Do(func() {
		_ = p.stdin.Close()
		if !p.within(politeTime) {
			p.signal(syscall.SIGTERM)
			p.within(politeTime)
		}
		p.signal(syscall.SIGKILL) // what is left of the group, the program itself if it must
		<-p.ended
		_ = p.stdout.Close()
	})
}

func (p *program) within(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-p.ended:
		return true
	case <-timer.C:
		return false
	}
}

// signal reaches the group; one that is gone is none of its concern. The group keeps its number as long as it has a
// member, and is signalled right after the program has ended, so the number is not another's.
func (p *program) signal(s syscall.Signal) { _ = syscall.Kill(-p.cmd.Process.Pid, s) }

// explain adds to an error how the program ended and what it said last.
func (p *program) explain(err error) error {
	if p.within(politeTime) && p.cmd.ProcessState != nil {
		err = fmt.Errorf("%w (%s)", err, p.cmd.ProcessState)
	}
	if said := p.words.String(); said != "" {
		err = fmt.Errorf("%w; it said: %s", err, said)
	}
	return err
}

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	kept []byte
}

// Write implements io.Writer.
func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, b...)
	if over := len(t.kept) - wordsKept; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
	return len(b), nil
}

// String is the end of it in one line.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := strings.Join(strings.Fields(strings.ToValidUTF8(string(t.kept), "\uFFFD")), " ")
	if len(s) > wordsShown {
		s = "… " + strings.ToValidUTF8(s[len(s)-wordsShown:], "")
	}
	return s
}
