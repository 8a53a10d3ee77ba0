package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"flower/modeltest"
)

// TestServersEndWithTheRun: what a command leaves running is there for the next command, and is ended however the run
// ends; if even what watches over it was killed, by the next start, which says so.
func TestServersEndWithTheRun(t *testing.T) {
	for name, end := range map[string]func(s *serverRun){
		"done":      func(s *serverRun) { s.gate.Open() },
		"interrupt": func(s *serverRun) { s.signal(syscall.SIGINT) },
		"hangup":    func(s *serverRun) { s.signal(syscall.SIGHUP) },
		"kill":      func(s *serverRun) { s.signal(syscall.SIGKILL) },
		"all killed": func(s *serverRun) {
			keepers := s.keepers()
			for _, pid := range keepers { // stopped first, so that they do not see that flower ends
				_ = syscall.Kill(pid, syscall.SIGSTOP)
			}
			s.signal(syscall.SIGKILL)
			<-s.ended
			for _, pid := range keepers {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
			if n := len(s.servers()); n != 2 {
				s.Errorf("the test is worth nothing: %d servers are left", n)
			}
			s.gate.Open()
			_, out, ended := s.start("--no-goal", "--rounds", "1")
			<-ended
			if !strings.Contains(out.String(), "2 processes that a killed run had left behind were ended") {
				s.Errorf("it is not said:\n%s", out)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &serverRun{gate: modeltest.NewGate(), mark: fmt.Sprintf("600.%d", time.Now().UnixNano())} // seconds; nobody else sleeps as long
			server := modeltest.Start(t, modeltest.Options{BindThinking: true, Player: s.player()})
			s.isolatedSite = newIsolatedSite(t, server)
			cmd, out, ended := s.start("--no-goal", "serve")
			s.ended, s.signal = ended, func(sig syscall.Signal) {
				if err := cmd.Process.Signal(sig); err != nil {
					t.Error(err)
				}
			}
			select {
			case <-s.gate.Reached():
			case <-ended:
				t.Fatalf("it ended before: %s", out)
			}
			if n := len(s.servers()); n != 2 {
				t.Errorf("%d servers are alive", n)
			}
			told := ""
			for _, r := range server.Requests() {
				for _, o := range r.Answered("Bash") {
					told += o.Result.PlainText()
				}
			}
			if strings.Count(told, "1 process still running in the background: ") < 2 || !strings.Contains(told, "both are there") {
				t.Errorf("the agent was told %q", told)
			}
			end(s)
			select {
			case <-ended:
			case <-time.After(time.Minute):
				t.Fatal("flower does not end")
			}
			late := time.After(30 * time.Second) // after a kill the keepers end them, once they see it
			for len(s.servers()) > 0 {
				select {
				case <-late:
					t.Fatalf("still alive: %v", s.servers())
				case <-time.After(10 * time.Millisecond):
				}
			}
		})
	}
}

// serverRun is a run in which an agent starts two servers and is then held up.
type serverRun struct {
	*isolatedSite
	gate   *modeltest.Gate
	mark   string
	ended  <-chan struct{}
	signal func(syscall.Signal)
}

func (s *serverRun) player() modeltest.Player {
	bash := func(command string) modeltest.Reply {
		return modeltest.Answer(modeltest.Call("Bash", input{"command": command, "description": "serve"}))
	}
	return modeltest.Script{
		{Role: modeltest.Clarifier, Play: modeltest.Say(brief)},
		{Role: modeltest.Coordinator, Plan: []modeltest.Player{modeltest.Answer(hand("Serve.")), modeltest.Say("Served.")}},
		{Role: modeltest.Worker, Play: modeltest.PlayerFunc(func(r *modeltest.Request) modeltest.Reply {
			switch len(r.Answered("Bash")) {
			case 0:
				return bash("nohup sleep " + s.mark + " >log 2>&1 & echo $! >one")
			case 1:
				return bash("setsid sleep " + s.mark + "1 >log 2>&1 & echo $! >two")
			case 2:
				return bash("kill -0 $(cat one) && kill -0 $(cat two) && echo both are there")
			}
			return modeltest.Say("done").Held(modeltest.Point{}, s.gate)
		})},
	}
}

// servers are the processes that are alive of those that were started.
func (s *serverRun) servers() (pids []string) {
	s.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		s.Fatal(err)
	}
	for _, path := range paths {
		if data, err := os.ReadFile(path); err == nil && strings.HasPrefix(string(data), "sleep\x00"+s.mark) {
			pids = append(pids, filepath.Base(filepath.Dir(path)))
		}
	}
	return pids
}

// keepers are the processes that watch over the servers, as the books have them. That of the last command may still be
// about to end.
func (s *serverRun) keepers() (pids []int) {
	s.Helper()
	late := time.After(30 * time.Second)
	for {
		paths, err := filepath.Glob(filepath.Join(s.dir, "runs", "commands", "*.json"))
		if err != nil {
			s.Fatal(err)
		}
		if len(paths) == 2 {
			for _, path := range paths {
				pids = append(pids, s.keeper(path))
			}
			return pids
		}
		select {
		case <-late:
			s.Fatalf("commands %v", paths)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// keeper is the one that a record names.
func (s *serverRun) keeper(path string) int {
	s.Helper()
	data, err := os.ReadFile(path)
	var record struct{ Keeper struct{ PID int } }
	if err == nil {
		err = json.Unmarshal(data, &record)
	}
	if err != nil || record.Keeper.PID <= 1 {
		s.Fatalf("%s: %v", path, err)
	}
	return record.Keeper.PID
}
