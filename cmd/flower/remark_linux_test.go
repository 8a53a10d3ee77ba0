package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"flower/modeltest"
)

// heard is how often the person has said something to the coordinator, as its longest request has it.
func (s *stage) heard(words string) int {
	n := 0
	for _, r := range s.server.Requests() {
		if r.Role() != modeltest.Coordinator {
			continue
		}
		here := 0
		for _, m := range r.Messages {
			for _, b := range m.Content {
				if said := b.PlainText(); strings.Contains(said, words) && strings.HasPrefix(said, "The person ") {
					here++
				}
			}
		}
		n = max(n, here)
	}
	return n
}

func (s *stage) brief() string {
	s.t.Helper()
	data, err := os.ReadFile(filepath.Join(s.dir, ".flower", "notes", "需求.md"))
	if err != nil {
		s.t.Error(err)
	}
	return string(data)
}

// checkRemark checks that a remark has reached the coordinator and the requirements, once each.
func (s *stage) checkRemark(words string) {
	s.t.Helper()
	if n := s.heard(words); n != 1 {
		s.t.Errorf("the coordinator has heard it %d times; the terminal shows\n%s", n, s.shown())
	}
	if brief := s.brief(); strings.Count(brief, words) != 1 || !strings.Contains(brief, "## 运行中补充(") {
		s.t.Errorf("the requirements:\n%s", brief)
	}
}

// TestRemarkAtCtrlC: in every wait one Ctrl-C and a line go on in the same session, with the remark heard once.
func TestRemarkAtCtrlC(t *testing.T) {
	for _, wait := range waits {
		if wait.asks || wait.name == "room" {
			continue // nothing runs there that could be told something
		}
		t.Run(wait.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, wait.name, stageOptions{})
			wait.reach(s)
			if wait.name != "remark prompt" {
				s.interrupt()
				s.expect("Say something")
			}
			s.enter("be quick about it\n")
			s.expect("noted")
			s.gone(0, patience)
			s.checkRemark("be quick about it")
			if row := s.lastRow(); !row.OK || strings.Contains(row.Step, "#retry") {
				t.Errorf("last row %+v", row)
			}
		})
	}
}

// TestCommandIsInterrupted: Ctrl-C and Enter alone stop a command and go on. The worker that has run it goes on where it
// was and sees what it had printed, marked; the coordinator is told once that failures are a side effect.
func TestCommandIsInterrupted(t *testing.T) {
	s := newStage(t, "command", stageOptions{})
	s.commandRuns()
	s.interrupt()
	s.expect("Say something")
	s.enter("\n")
	s.gone(0, patience)
	seen := ""
	for _, r := range s.server.Requests() {
		if r.Role() == modeltest.Worker && strings.Contains(r.FirstUser(), "hello.txt") {
			for _, o := range r.Answered("Bash") {
				seen = o.Result.PlainText()
			}
		}
	}
	if !strings.HasPrefix(seen, "printed before\n") || !strings.Contains(seen, "interrupted: the run was stopped while it ran, which is no fault of the command") {
		t.Errorf("the worker sees %q", seen)
	}
	if n := s.heard("side effect"); n != 1 {
		t.Errorf("the coordinator is told %d times of side effects", n)
	}
}

// TestKilledBetweenEnterAndDelivery: SIGKILL comes when the remark is acknowledged and the agent has not heard it, because
// its command takes long to stop. The next process delivers it, once.
func TestKilledBetweenEnterAndDelivery(t *testing.T) {
	s := newStage(t, "command", stageOptions{})
	s.commandRuns()
	s.interrupt()
	s.expect("Say something")
	s.enter("be quick about it\n")
	s.expect("noted")
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-s.exited
	if err := syscall.Kill(-s.group, syscall.SIGKILL); err != nil { // nobody has stopped it
		t.Fatal(err)
	}
	s.group = 0
	if n := s.heard("be quick"); n != 0 {
		t.Fatalf("heard %d times before it was killed: the command has ended too soon", n)
	}
	for _, said := range []string{"\n", "\n"} {
		s.terminal = startTerminal(t, s.server, s.dir, stageOptions{}, "--asks", "0")
		s.expect("Go on")
		s.enter(said)
		s.gone(0, patience)
	}
	s.checkRemark("be quick about it")
}

// TestRemarkTooLate: it is said when the agent has had its last turn. The run says that it waits, and the next one
// delivers it.
func TestRemarkTooLate(t *testing.T) {
	gate := modeltest.NewGate()
	script := job(modeltest.Say(achieved))
	s := &stage{dir: newWorkspace(t)}
	s.server = modeltest.Start(t, modeltest.Options{BindThinking: true, Player: modeltest.PlayerFunc(func(r *modeltest.Request) modeltest.Reply {
		reply := script.Play(r)
		if r.Role() == modeltest.Judge {
			return reply.Held(modeltest.Point{}, gate)
		}
		return reply
	})})
	s.terminal = startTerminal(t, s.server, s.dir, stageOptions{}, "--asks", "0", "a greeting")
	s.reached(gate.Reached())
	s.enter("be quick about it\n")
	s.expect("noted")
	gate.Open()
	s.expect("a remark has not reached")
	s.gone(0, patience)
	if n := s.heard("be quick"); n != 0 {
		t.Fatalf("heard %d times", n)
	}
	s.terminal = startTerminal(t, s.server, s.dir, stageOptions{}, "--asks", "0")
	s.expect("Go on")
	s.enter("\n")
	s.expect("your remark has reached")
	s.gone(0, patience)
	s.checkRemark("be quick about it")
}
