package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/charmbracelet/x/vt"
	"golang.org/x/sys/unix"

	"flower/modeltest"
)

// window is flower on a terminal whose screen can be looked at.
type window struct {
	*terminal
	screen *vt.Emulator
	fed    int // how much of the output the screen has seen
}

// openWindow runs flower on a terminal that can do everything but break lines anew, as an old xterm.
func openWindow(t *testing.T, server *modeltest.Server, dir string, w, h int, args ...string) *window {
	t.Helper()
	env := []string{"TERM=xterm-256color", "XTERM_VERSION=XTerm(300)"}
	s := startTerminal(t, server, dir, stageOptions{env: env}, args...)
	win := &window{terminal: s, screen: vt.NewEmulator(40, 24)}
	win.resize(w, h)
	return win
}

// resize changes the size; the system tells flower.
func (w *window) resize(cols, rows int) {
	w.t.Helper()
	w.rows() // what was written for the old size
	conn, err := w.master.SyscallConn()
	if err != nil {
		w.t.Fatal(err)
	}
	size := &unix.Winsize{Row: uint16(rows), Col: uint16(cols)}
	controlErr := conn.Control(func(fd uintptr) { err = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, size) })
	if controlErr != nil || err != nil {
		w.t.Fatal(controlErr, err)
	}
	w.screen.Resize(cols, rows)
}

// rows is the screen as people see it.
func (w *window) rows() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.look()
}

func (w *window) look() []string {
	_, _ = w.screen.WriteString(w.out[w.fed:]) // it takes everything
	w.fed = len(w.out)
	rows := strings.Split(w.screen.String(), "\n")
	for i := range rows {
		rows[i] = strings.TrimRight(rows[i], " ")
	}
	for len(rows) > 0 && rows[len(rows)-1] == "" {
		rows = rows[:len(rows)-1]
	}
	return rows
}

// until waits until the screen is as it should be.
func (w *window) until(what string, ok func(rows []string) bool) {
	w.t.Helper()
	late := false
	timer := time.AfterFunc(patience, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		late = true
		w.cond.Broadcast()
	})
	defer timer.Stop()
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		rows := w.look()
		if ok(rows) {
			return
		}
		if late || w.end {
			w.t.Fatalf("the screen does not show %s, but\n%s", what, strings.Join(rows, "\n"))
		}
		w.cond.Wait()
	}
}

// line waits until the last rows are these, with the cursor in a column of the last row.
func (w *window) line(x int, want ...string) {
	w.t.Helper()
	w.until(fmt.Sprintf("%q with the cursor at %d", want, x), func(rows []string) bool {
		at := w.screen.CursorPosition()
		return len(rows) >= len(want) && slices.Equal(rows[len(rows)-len(want):], want) && at.X == x && at.Y == len(rows)-1
	})
}

// has waits until a row contains a text.
func (w *window) has(want string) {
	w.t.Helper()
	w.until(want, func(rows []string) bool { return strings.Contains(strings.Join(rows, "\n"), want) })
}

// restored checks that the terminal is as it was before.
func (w *window) restored() {
	w.t.Helper()
	<-w.read // the last of it
	m := w.modes()
	if m.Lflag&unix.ICANON == 0 || m.Lflag&unix.ECHO == 0 || m.Lflag&unix.ISIG == 0 || m.Iflag&unix.ICRNL == 0 {
		w.t.Errorf("the terminal's modes are not restored: %+v", m)
	}
	out := w.shown()
	if strings.LastIndex(out, "\x1b[?2004l") < strings.LastIndex(out, "\x1b[?2004h") {
		w.t.Error("bracketed paste is still on")
	}
	if strings.LastIndex(out, "\x1b[?25h") < strings.LastIndex(out, "\x1b[?25l") {
		w.t.Error("the cursor is hidden")
	}
}

// gated is a job whose clarifier asks when the gate opens.
func gated(ask *modeltest.Gate) modeltest.Player {
	script := job(judgeByFiles)
	return modeltest.PlayerFunc(func(r *modeltest.Request) modeltest.Reply {
		reply := script.Play(r)
		if r.Role() == modeltest.Clarifier && r.Answers() == 0 {
			reply = reply.Held(modeltest.Point{}, ask)
		}
		return reply
	})
}

// A whole job in a window of 40 columns: typed over a change of size, pasted in pieces, answered, ended.
func TestWindow(t *testing.T) {
	server := modeltest.Start(t, modeltest.Options{Player: job(judgeByFiles), BindThinking: true})
	w := openWindow(t, server, newWorkspace(t), 40, 24)
	w.has("What do you want done?")
	w.line(2, ">")
	w.enter("打个招呼 👋🏽")
	w.line(13, "> 打个招呼 👋🏽")
	w.resize(60, 20)
	w.enter("\x1b[D\x7f!")
	w.line(11, "> 打个招呼!👋🏽")
	w.enter("\r")
	w.has("> 打个招呼!👋🏽")
	w.has("2) German")
	w.line(8, "answer>")
	for _, b := range []byte("\x1b[200~German\r\nplease\x1b[201~") {
		w.enter(string([]byte{b}))
	}
	w.line(14, "answer> German", "        please")
	w.enter("\r")
	w.has("== done")
	w.ends(0)
	w.restored()
	told := false
	for _, r := range server.Requests() {
		told = told || r.Says("German\nplease")
	}
	if !told {
		t.Error("the pasted answer has not reached the agent")
	}
}

// Characters of two cells at the edge of the window.
func TestWindowEdge(t *testing.T) {
	server := modeltest.Start(t, modeltest.Options{})
	w := openWindow(t, server, newWorkspace(t), 40, 12)
	w.line(2, ">")
	w.enter(strings.Repeat("字", 18))
	w.line(38, "> "+strings.Repeat("字", 18))
	w.enter("👨\u200d👩\u200d👧")
	w.line(4, "> "+strings.Repeat("字", 18), "  👨\u200d👩\u200d👧")
	w.enter("\x7f\x7f")
	w.line(36, "> "+strings.Repeat("字", 17))
	w.enter("\x01e\u0301")
	w.until("a letter before", func(rows []string) bool {
		return rows[len(rows)-1] == "> e\u0301"+strings.Repeat("字", 17) && w.screen.CursorPosition().X == 3
	})
	w.enter("\x03")
	w.ends(130)
	w.restored()
}

// What is half typed when a question comes is a remark; the question waits on.
func TestWindowQuestionWhileTyping(t *testing.T) {
	ask := modeltest.NewGate()
	server := modeltest.Start(t, modeltest.Options{Player: gated(ask), BindThinking: true})
	w := openWindow(t, server, newWorkspace(t), 80, 24, "a greeting")
	w.has("thinking")
	w.enter("make it sh")
	w.line(12, "> make it sh")
	ask.Open()
	w.has("2) German")
	w.enter("ort")
	w.line(21, "remark> make it short")
	w.enter("\r")
	w.has("make it short") // its receipt
	w.line(8, "answer>")
	w.enter("1\r")
	w.has("answer: English")
	w.has("== done")
	w.ends(0)
	delivered := false
	for _, r := range server.Requests() {
		delivered = delivered || r.Says("make it short")
		for _, b := range r.Results() {
			if strings.Contains(b.PlainText(), "make it") {
				t.Errorf("the remark has become the answer of %v", r.Role())
			}
		}
	}
	if !delivered {
		t.Error("the remark has not reached an agent")
	}
}

// The first Ctrl-C asks, the second ends; the half-typed line outlives the first.
func TestWindowInterrupts(t *testing.T) {
	server, working := newServer(t, slow())
	w := openWindow(t, server, newWorkspace(t), 60, 20, "--asks", "0", "x")
	await(t, working)
	w.enter("be quick")
	w.line(10, "> be quick")
	w.enter("\x03")
	w.has("Say something")
	w.line(10, "> be quick")
	w.enter(" about it\r")
	w.has("== done")
	w.ends(0)
	w.restored()

	server, working = newServer(t, slow())
	w = openWindow(t, server, newWorkspace(t), 60, 20, "--asks", "0", "x")
	await(t, working)
	w.enter("\x03")
	w.has("Say something")
	w.enter("\x03")
	w.ends(130)
	w.restored()
}

// Whatever ends the program, the terminal is as it was.
func TestWindowIsRestored(t *testing.T) {
	for sig, code := range map[syscall.Signal]int{syscall.SIGTERM: 143, syscall.SIGHUP: 129, syscall.SIGINT: 130} {
		server := modeltest.Start(t, modeltest.Options{})
		w := openWindow(t, server, newWorkspace(t), 60, 20)
		w.line(2, ">")
		if err := w.cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		w.ends(code)
		w.restored()
	}
}

// Ctrl-D leaves a prompt; while a question waits it says that nobody answers.
func TestWindowEnd(t *testing.T) {
	server := modeltest.Start(t, modeltest.Options{Player: job(judgeByFiles), BindThinking: true})
	w := openWindow(t, server, newWorkspace(t), 60, 20)
	w.line(2, ">")
	w.enter("\x04")
	w.ends(0)
	w = openWindow(t, server, newWorkspace(t), 60, 20, "a greeting")
	w.line(8, "answer>")
	w.enter("x\x04\x7f\x04") // the first one has nothing to delete
	w.has("== done")
	w.ends(0)
	w.restored()
}

// Ctrl-Z stops the job and gives the terminal to the shell; fg takes it back with what was typed.
func TestWindowSuspended(t *testing.T) {
	server := modeltest.Start(t, modeltest.Options{})
	env := []string{"TERM=xterm-256color", "XTERM_VERSION=XTerm(300)"}
	const shell = `set -m; "$0" "$@"; stty -a | grep -q ' echo' && echo shell has it; read x; fg >/dev/null; echo "left $?"`
	s := startTerminal(t, server, newWorkspace(t), stageOptions{env: env, shell: shell})
	w := &window{terminal: s, screen: vt.NewEmulator(40, 24)}
	w.line(2, ">")
	w.enter("half")
	w.line(6, "> half")
	w.enter("\x1a")
	w.has("shell has it")
	w.enter("\n")
	w.line(6, "> half")
	w.enter("\x15\x04")
	w.has("left 0")
	w.ends(0)
}

// Two flowers on one terminal write whole lines. One of them has the line to type on, whatever the other one's input is.
func TestTwoOnOneTerminal(t *testing.T) {
	for _, typed := range []bool{false, true} {
		t.Run(fmt.Sprintf("typed=%v", typed), func(t *testing.T) { twoOnOneTerminal(t, typed) })
	}
}

func twoOnOneTerminal(t *testing.T, typed bool) {
	const rows = 400
	says := func(r string, gate *modeltest.Gate) *modeltest.Server {
		reply := modeltest.Say(strings.Repeat(strings.Repeat(r, 17)+"\n", rows)).Held(modeltest.Point{}, gate)
		return modeltest.Start(t, modeltest.Options{Player: modeltest.PlayerFunc(func(*modeltest.Request) modeltest.Reply { return reply })})
	}
	first, second := modeltest.NewGate(), modeltest.NewGate()
	w := openWindow(t, says("甲", first), newWorkspace(t), 40, 24, "--no-goal", "--asks", "0", "x")
	await(t, first.Reached()) // it has the terminal
	slave, err := os.OpenFile(w.name(), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := newWorkspace(t)
	other := exec.Command(executable, "--no-goal", "--asks", "0", "x")
	other.Args[0] = "flower"
	other.Dir, other.Env = dir, append(environ(says("乙", second), dir), "TERM=xterm-256color")
	var errs bytes.Buffer
	other.Stdout, other.Stderr = slave, &errs
	if typed {
		other.Stdin = slave
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	await(t, second.Reached())
	first.Open()
	second.Open()
	_ = other.Wait() // what it comes to is not what this is about
	<-w.exited
	if err := slave.Close(); err != nil {
		t.Fatal(err)
	}
	<-w.read
	if n := strings.Count(w.shown(), "\x1b[?2004h"); n != 1 {
		t.Errorf("%d of them have taken the terminal", n)
	}
	count := map[string]int{}
	for l := range strings.Lines(w.shown()) {
		if !utf8.ValidString(l) {
			t.Fatalf("a torn character: %q", l)
		}
		for _, r := range []string{"甲", "乙"} {
			if at := strings.Index(l, r); at >= 0 {
				if got := strings.TrimRight(l[at:], "\r\n"); got != strings.Repeat(r, 17) {
					t.Fatalf("a torn line: %q", l)
				}
				count[r]++
			}
		}
	}
	if count["甲"] < rows || count["乙"] < rows {
		t.Errorf("lines %v (%s)", count, errs.String())
	}
}

// name is the path of the terminal's other end.
func (s *terminal) name() string {
	s.t.Helper()
	conn, err := s.master.SyscallConn()
	if err != nil {
		s.t.Fatal(err)
	}
	n := 0
	controlErr := conn.Control(func(fd uintptr) { n, err = unix.IoctlGetInt(int(fd), unix.TIOCGPTN) })
	if controlErr != nil || err != nil {
		s.t.Fatal(controlErr, err)
	}
	return filepath.Join("/dev/pts", fmt.Sprint(n))
}
