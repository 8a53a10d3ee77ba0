package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"flower/modeltest"
)

// stay is a command with a tree of children. It prints something, says that it is there, and does not end: neither it
// nor one of its children minds SIGTERM, which leaves a file.
const stay = `echo printed before; (sleep 600 & sleep 600) & (trap '' TERM; sleep 600) &
trap ': >.termed' TERM; echo $$ >.up; while :; do wait; sleep 600 & done`

// waits are all the ways in which a run waits for something, from the first prompt on. Each is reached on a terminal.
var waits = []struct {
	name  string
	asks  bool // for a request; nothing runs
	books bool // an attempt is in flight
	reach func(*stage)
}{
	{name: "request", asks: true, reach: func(s *stage) { s.expect("What do you want done?"); s.expect("> ") }},
	{name: "question", books: true, reach: func(s *stage) { s.expect("2) German") }},
	{name: "stream", books: true, reach: func(s *stage) { s.reached(s.working) }},
	{name: "command", books: true, reach: func(s *stage) { s.commandRuns() }},
	{name: "remark prompt", books: true, reach: func(s *stage) {
		s.reached(s.working)
		s.interrupt()
		s.expect("Say something")
		s.expect("> ")
	}},
	{name: "room", books: true, reach: func(s *stage) { s.expect("no room on the disk of runs") }},
}

// stage is flower on a terminal, on its way to one of the waits.
type stage struct {
	*terminal
	dir     string
	server  *modeltest.Server
	working <-chan struct{} // the coordinator's answer has begun
	group   int             // of the command that runs; 0: none
}

// stageOptions say how flower is started.
type stageOptions struct {
	noControl bool // the terminal is not the controlling one: closing it sends no signal
	shell     string
	args      []string
	env       []string // more of it
}

// newStage starts flower so that it comes to wait.
func newStage(t *testing.T, wait string, o stageOptions) *stage {
	t.Helper()
	s := &stage{dir: newWorkspace(t)}
	if err := syscall.Mkfifo(filepath.Join(s.dir, ".up"), 0o600); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"--asks", "0"}, o.args...)
	switch wait {
	case "request":
	case "question":
		args = []string{"a greeting"}
	case "room":
		s.smallDisk(t)
		fallthrough
	default:
		args = append(args, "a greeting")
	}
	player := slow()
	if wait == "command" {
		player = stubborn()
	}
	s.server, s.working = newServer(t, player)
	s.terminal = startTerminal(t, s.server, s.dir, o, args...)
	return s
}

// stubborn is a job whose first worker runs a command that does not end.
func stubborn() modeltest.Player {
	script := job(judgeByFiles)
	return modeltest.PlayerFunc(func(r *modeltest.Request) modeltest.Reply {
		if r.Role() == modeltest.Worker && strings.Contains(r.FirstUser(), "hello.txt") && len(r.Answered("Bash")) == 0 {
			return modeltest.Answer(modeltest.Call("Bash", input{"command": stay, "description": "stay"}))
		}
		if r.Role() == modeltest.Worker && strings.Contains(r.FirstUser(), "hello.txt") && len(r.Answered("Write")) == 0 {
			return modeltest.Answer(modeltest.Call("Write", input{"file_path": "hello.txt", "content": "hello\n"}))
		}
		return script.Play(r)
	})
}

// smallDisk gives the run directory less room than a request needs.
func (s *stage) smallDisk(t *testing.T) {
	t.Helper()
	runs := filepath.Join(s.dir, "runs")
	if err := os.Mkdir(runs, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", runs, "tmpfs", 0, "size=16m"); err != nil {
		t.Skipf("no file system can be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(runs, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
}

// reached waits for a channel to be closed.
func (s *stage) reached(c <-chan struct{}) { s.t.Helper(); await(s.t, c) }

// commandRuns waits until the command says that it is there.
func (s *stage) commandRuns() {
	s.t.Helper()
	up, err := os.OpenFile(filepath.Join(s.dir, ".up"), os.O_RDWR, 0) // non-blocking for us, so that it has deadlines
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = up.Close() }()
	if err := up.SetReadDeadline(time.Now().Add(patience)); err != nil {
		s.t.Fatal(err)
	}
	line := make([]byte, 20)
	n, err := up.Read(line)
	group := 0
	if err == nil {
		group, err = strconv.Atoi(strings.TrimSpace(string(line[:n])))
	}
	if err != nil || group <= 1 {
		s.t.Fatalf("the command does not run: %v; the terminal shows\n%s", err, s.shown())
	}
	s.group = group
	s.t.Cleanup(func() { _ = syscall.Kill(-group, syscall.SIGKILL) }) // gone already if the test went well
}

// termed says that the command has got SIGTERM.
func (s *stage) termed() bool {
	_, err := os.Stat(filepath.Join(s.dir, ".termed"))
	return err == nil
}

// interrupt is Ctrl-C.
func (s *stage) interrupt() { s.enter("\x03") }

// signal sends a signal to the program.
func (s *stage) signal(sig syscall.Signal) {
	s.t.Helper()
	// A second one may come too late: the first has ended the program.
	if err := s.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		s.t.Fatal(err)
	}
}

// gone checks that the program ends within limit with a code, and that its children are gone then and no trace is left
// on the terminal.
func (s *stage) gone(code int, limit time.Duration) {
	s.t.Helper()
	select {
	case <-s.exited:
	case <-time.After(limit):
		s.t.Errorf("the program does not end within %v; the terminal shows\n%s", limit, s.shown())
	}
	s.ends(code)
	if left := alive(s.group); s.group != 0 && len(left) > 0 {
		s.t.Errorf("children are left: %v", left)
	}
	if strings.Contains(s.shown(), "goroutine") || strings.Contains(s.shown(), "panic") {
		s.t.Errorf("a stack trace:\n%s", s.shown())
	}
}

// alive are the live processes of a process group: zombies, whom nobody may ever collect, do not count.
func alive(group int) []string {
	var list []string
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range stats {
		data, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		f := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
		if len(f) > 2 && string(f[2]) == strconv.Itoa(group) && string(f[0]) != "Z" && string(f[0]) != "X" {
			list = append(list, string(data))
		}
	}
	return list
}

// lastRow is the last row of the manifest.
func (s *stage) lastRow() (row struct {
	Step, Error string
	OK          bool
}) {
	s.t.Helper()
	var rows []json.RawMessage
	data, err := os.ReadFile(filepath.Join(s.dir, "runs", "manifest.json"))
	if err == nil {
		err = json.Unmarshal(data, &rows)
	}
	if err == nil && len(rows) > 0 {
		err = json.Unmarshal(rows[len(rows)-1], &row)
	}
	if err != nil {
		s.t.Errorf("manifest: %v", err)
	}
	return row
}

// soonGone is the time in which the program has to be gone when its terminal is.
const soonGone = 5 * time.Second

// TestStopped ends the program in every wait in every way: its books are written, nothing of it is left.
func TestStopped(t *testing.T) {
	shut := func(s *stage) {
		s.t.Helper()
		if err := s.master.Close(); err != nil {
			s.t.Fatal(err)
		}
	}
	ways := []struct {
		name string
		opts stageOptions
		do   func(*stage)
		code int
	}{
		{"terminal closed", stageOptions{}, shut, 129},
		{"terminal closed without a signal", stageOptions{noControl: true}, shut, 129},
		{"SIGHUP", stageOptions{}, func(s *stage) { s.signal(syscall.SIGHUP) }, 129},
		{"SIGTERM", stageOptions{}, func(s *stage) { s.signal(syscall.SIGTERM) }, 143},
		{"SIGTERM twice", stageOptions{}, func(s *stage) { s.signal(syscall.SIGTERM); s.signal(syscall.SIGTERM) }, 143},
		{"Ctrl-C twice", stageOptions{}, func(s *stage) {
			asked := strings.Contains(s.shown(), "What do you want") || strings.Contains(s.shown(), "Interrupted.")
			s.interrupt()
			if !asked {
				s.until("interrupted", func() bool { return strings.Contains(s.shown(), "Interrupted.") })
				s.interrupt() // typed at the same moment, two are one
			}
		}, 130},
	}
	for _, wait := range waits {
		for _, way := range ways {
			if way.opts.noControl && wait.name == "remark prompt" {
				continue // Ctrl-C comes from the controlling terminal
			}
			t.Run(wait.name+"/"+way.name, func(t *testing.T) {
				t.Parallel()
				s := newStage(t, wait.name, way.opts)
				wait.reach(s)
				way.do(s)
				s.gone(way.code, soonGone)
				if row := s.maybeRow(wait.books); wait.books && (row.OK || row.Error != "killed-by-signal") {
					t.Errorf("last row %+v", row)
				}
			})
		}
	}
}

// maybeRow is the last row of a run that has written books; one that has not has made no files.
func (s *stage) maybeRow(books bool) (row struct {
	Step, Error string
	OK          bool
}) {
	s.t.Helper()
	if books {
		return s.lastRow()
	}
	if _, err := os.Stat(filepath.Join(s.dir, "runs")); err == nil {
		s.t.Error("something was written")
	}
	return row
}

// TestImpatient: a second signal while children are being stopped kills them, and the program is gone at once.
func TestImpatient(t *testing.T) {
	for _, test := range []struct {
		name   string
		first  syscall.Signal
		second syscall.Signal
		code   int
	}{
		{"Ctrl-C", syscall.SIGINT, syscall.SIGINT, 130},
		{"Ctrl-C after SIGTERM", syscall.SIGTERM, syscall.SIGINT, 143},
		{"SIGTERM after Ctrl-C", syscall.SIGINT, syscall.SIGTERM, 143},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, "command", stageOptions{})
			s.commandRuns()
			s.signal(test.first)
			s.until("told the command to end", s.termed)
			s.signal(test.second)
			s.gone(test.code, soonGone)
			if row := s.lastRow(); row.OK || row.Error != "killed-by-signal" {
				t.Errorf("last row %+v", row)
			}
		})
	}
}

// TestEndOfInput is Ctrl-D in every wait: where nothing has begun the program ends; elsewhere the person has left, which
// it says, and goes on alone without spinning.
func TestEndOfInput(t *testing.T) {
	for _, wait := range waits {
		t.Run(wait.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, wait.name, stageOptions{})
			wait.reach(s)
			s.enter("\x04")
			switch wait.name {
			case "request":
				s.gone(0, patience)
				return
			case "remark prompt":
				s.gone(130, patience)
				return
			case "question":
				s.expect("nobody can")
				s.reached(s.working)
			default:
				s.expect("nobody can")
			}
			s.idle()
			s.interrupt() // nobody says how to go on
			s.gone(130, soonGone)
		})
	}
}

// TestPipeClosedInAQuestion: who answers through a pipe leaves while a question waits. The agent decides.
func TestPipeClosedInAQuestion(t *testing.T) {
	server, _ := newServer(t, job(judgeByFiles))
	dir := newWorkspace(t)
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(executable, "a greeting")
	cmd.Args[0] = "flower"
	cmd.Dir, cmd.Env = dir, environ(server, dir)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out := &phrase{words: "2) German", seen: make(chan struct{})}
	cmd.Stdout = out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	watchdog := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer watchdog.Stop()
	select {
	case <-out.seen:
	case <-time.After(patience):
		t.Error("no question")
	}
	if err := stdin.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	told := false
	for _, r := range server.Requests() {
		told = told || r.Role() == modeltest.Clarifier && r.Says("Nobody can answer here")
	}
	if !told {
		t.Error("the agent was not told that nobody can answer")
	}
}

// phrase is an output of which some words are awaited.
type phrase struct {
	words string
	seen  chan struct{} // closed when they have come
	text  strings.Builder
}

// Write implements io.Writer.
func (p *phrase) Write(b []byte) (int, error) {
	before := strings.Contains(p.text.String(), p.words)
	p.text.Write(b)
	if !before && strings.Contains(p.text.String(), p.words) {
		close(p.seen)
	}
	return len(b), nil
}

// TestIdle: waiting costs nothing.
func TestIdle(t *testing.T) {
	for _, wait := range waits {
		t.Run(wait.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, wait.name, stageOptions{})
			wait.reach(s)
			s.idle()
		})
	}
}

// TestNohup: who ignores SIGHUP goes on when the terminal is closed, alone and without spinning, to its end.
func TestNohup(t *testing.T) {
	gate := modeltest.NewGate()
	script := job(judgeByFiles)
	dir := newWorkspace(t)
	server := modeltest.Start(t, modeltest.Options{BindThinking: true, Player: modeltest.PlayerFunc(func(r *modeltest.Request) modeltest.Reply {
		reply := script.Play(r)
		if r.Role() == modeltest.Coordinator && r.Answers() == 0 {
			return reply.Held(modeltest.AfterEvents(3), gate)
		}
		return reply
	})})
	s := &stage{dir: dir, server: server}
	s.terminal = startTerminal(t, server, dir, stageOptions{shell: "trap '' HUP; exec \"$0\" \"$@\""}, "--asks", "0", "a greeting")
	s.reached(gate.Reached())
	if err := s.master.Close(); err != nil {
		t.Fatal(err)
	}
	s.idle()
	gate.Open()
	s.gone(0, patience)
}

// TestSuspended stops the program with SIGSTOP and lets it go on, in a stream, in one that breaks off meanwhile, and at a
// question that is answered meanwhile. The terminal stays as it was.
func TestSuspended(t *testing.T) {
	for _, name := range []string{"stream", "stream breaks off", "question"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			gate := modeltest.NewGate()
			script := job(judgeByFiles)
			server := modeltest.Start(t, modeltest.Options{BindThinking: true, Player: modeltest.PlayerFunc(func(r *modeltest.Request) modeltest.Reply {
				reply := script.Play(r)
				select {
				case <-gate.Reached():
					return reply
				default:
				}
				if name == "question" || r.Role() != modeltest.Coordinator || r.Answers() > 0 {
					return reply
				}
				reply = reply.Held(modeltest.AfterEvents(3), gate)
				if name != "stream" {
					reply = reply.Broken(modeltest.AfterEvents(4), modeltest.HangUp)
				}
				return reply
			})})
			s := &stage{dir: newWorkspace(t), server: server}
			args := []string{"--asks", "0", "a greeting"}
			if name == "question" {
				args = args[2:]
			}
			s.terminal = startTerminal(t, server, s.dir, stageOptions{}, args...)
			before := s.modes()
			if name == "question" {
				s.expect("2) German")
			} else {
				s.reached(gate.Reached())
			}
			s.signal(syscall.SIGSTOP)
			s.until("stopped", func() bool { return s.state() == "T" })
			gate.Open()
			if name == "question" {
				s.enter("2\n")
			}
			s.signal(syscall.SIGCONT)
			if name == "question" {
				s.expect("answer: German")
			}
			s.gone(0, patience)
			if after := s.modes(); after != before {
				t.Errorf("terminal modes\n%+v, before\n%+v", after, before)
			}
		})
	}
}

// idle checks that the program uses no processor time: within the deadline there is a hundred polls during which it uses
// next to none. One that spins never has that.
func (s *stage) idle() {
	s.t.Helper()
	const polls, most = 100, 5 // ticks of 10 ms in a second
	deadline := time.After(patience)
	poll := time.NewTicker(10 * time.Millisecond)
	defer poll.Stop()
	used := 0
	for before := s.ticks(); ; {
		for range polls {
			select {
			case <-poll.C:
			case <-s.exited:
				s.t.Fatalf("the program has ended; the terminal shows\n%s", s.shown())
			case <-deadline:
				s.t.Fatalf("it uses %d ticks in %d polls", used, polls)
			}
		}
		after := s.ticks()
		if used = after - before; used <= most {
			return
		}
		before = after
	}
}

// stat are the fields of the program's stat file behind its name.
func (s *stage) stat() []string {
	s.t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
}

func (s *stage) state() string { s.t.Helper(); return s.stat()[0] }

// ticks is the processor time used so far, of the program itself.
func (s *stage) ticks() int {
	s.t.Helper()
	f := s.stat()
	user, err := strconv.Atoi(f[11])
	system, err2 := strconv.Atoi(f[12])
	if err != nil || err2 != nil {
		s.t.Fatal(err, err2)
	}
	return user + system
}

// until polls a condition.
func (s *stage) until(what string, is func() bool) {
	s.t.Helper()
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	deadline := time.After(patience)
	for !is() {
		select {
		case <-poll.C:
		case <-deadline:
			s.t.Fatalf("not %s; the terminal shows\n%s", what, s.shown())
		}
	}
}
