package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"flower/modeltest"
)

// terminal is flower on a terminal of its own.
type terminal struct {
	t      *testing.T
	master *os.File
	cmd    *exec.Cmd
	exited chan struct{}
	read   chan struct{}

	mu   sync.Mutex
	cond *sync.Cond
	out  string
	seen int // expect goes on from here
	end  bool
}

// patience is how long something that has to happen may take on a machine that is busy.
const patience = 30 * time.Second

// startOnTerminal runs flower in dir on a new terminal of 40 columns against a server.
func startOnTerminal(t *testing.T, server *modeltest.Server, dir string, args ...string) *terminal {
	t.Helper()
	return startTerminal(t, server, dir, stageOptions{}, args...)
}

// environ is the environment of a flower that works in dir.
func environ(server *modeltest.Server, dir string) []string {
	work := filepath.Dir(dir)
	return []string{
		"PATH=" + os.Getenv("PATH"), "WORK=" + work, "HOME=" + filepath.Join(work, "home"), "NO_PROXY=127.0.0.1",
		"ANTHROPIC_BASE_URL=" + server.URL, "ANTHROPIC_API_KEY=" + server.Key,
	}
}

func startTerminal(t *testing.T, server *modeltest.Server, dir string, o stageOptions, args ...string) *terminal {
	t.Helper()
	master, name := openTerminal(t)
	slave, err := os.OpenFile(name, os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := &terminal{t: t, master: master, cmd: exec.Command(executable), exited: make(chan struct{}), read: make(chan struct{})}
	s.cond = sync.NewCond(&s.mu)
	s.cmd.Args = append([]string{"flower"}, args...)
	if o.shell != "" { // it makes the process flower, which knows itself by its name
		link := filepath.Join(t.TempDir(), "flower")
		if err := os.Symlink(executable, link); err != nil {
			t.Fatal(err)
		}
		s.cmd = exec.Command("/bin/sh", append([]string{"-c", o.shell, link}, args...)...)
	}
	s.cmd.Dir, s.cmd.Env = dir, append(environ(server, dir), o.env...)
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = slave, slave, slave
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: !o.noControl}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := slave.Close(); err != nil {
		t.Fatal(err)
	}
	go func() { defer close(s.exited); _ = s.cmd.Wait() }() // how it ended stands in ProcessState
	go s.pump()
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill() // it has ended already if the test went well
		<-s.exited
		_ = master.Close()
		<-s.read
	})
	return s
}

// openTerminal makes a pseudo-terminal and returns its other end's name.
func openTerminal(t testing.TB) (*os.File, string) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission) {
		t.Skipf("no pseudo-terminals here: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	conn, err := master.SyscallConn() // Fd would make the file blocking, and Close then waits for a Read
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	setUp := func(fd uintptr) {
		if n, err = unix.IoctlGetInt(int(fd), unix.TIOCGPTN); err != nil {
			return
		}
		if err = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0); err != nil {
			return
		}
		err = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 40})
	}
	if controlErr := conn.Control(setUp); controlErr != nil || err != nil {
		t.Fatal(controlErr, err)
	}
	return master, fmt.Sprintf("/dev/pts/%d", n)
}

func (s *terminal) pump() {
	defer close(s.read)
	buf := make([]byte, 4096)
	for {
		n, err := s.master.Read(buf)
		s.mu.Lock()
		s.out += string(buf[:n])
		s.end = err != nil
		s.cond.Broadcast()
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// expect waits until the terminal shows a text, behind what was expected before.
func (s *terminal) expect(want string) {
	s.t.Helper()
	timer := time.AfterFunc(patience, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.end = true
		s.cond.Broadcast()
	})
	defer timer.Stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		if i := strings.Index(s.out[s.seen:], want); i >= 0 {
			s.seen += i + len(want)
			return
		}
		if s.end {
			s.t.Fatalf("the terminal does not show %q, but\n%s", want, s.out[s.seen:])
		}
		s.cond.Wait()
	}
}

// shown is everything the terminal has shown.
func (s *terminal) shown() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out
}

// enter types a text.
func (s *terminal) enter(typed string) {
	s.t.Helper()
	if _, err := io.WriteString(s.master, typed); err != nil {
		s.t.Fatal(err)
	}
}

// ends waits for the program's end and checks the exit code.
func (s *terminal) ends(code int) {
	s.t.Helper()
	select {
	case <-s.exited:
	case <-time.After(patience):
		s.t.Fatal("the program does not end")
	}
	if got := s.cmd.ProcessState.ExitCode(); got != code {
		s.t.Errorf("exit code %d, want %d; the terminal shows\n%s", got, code, s.shown())
	}
}

func newWorkspace(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "p")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}

// modes are the terminal's modes.
func (s *terminal) modes() unix.Termios {
	s.t.Helper()
	var modes *unix.Termios
	conn, err := s.master.SyscallConn()
	if err != nil {
		s.t.Fatal(err)
	}
	controlErr := conn.Control(func(fd uintptr) { modes, err = unix.IoctlGetTermios(int(fd), unix.TCGETS) })
	if controlErr != nil || err != nil {
		s.t.Fatal(controlErr, err)
	}
	return *modes
}
