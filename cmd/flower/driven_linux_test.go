package main

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"flower/modeltest"
)

// careful plays a single agent that wants to run a command with something hidden in it, when begin is called.
func careful(t *testing.T) (server *modeltest.Server, begin func()) {
	t.Helper()
	may := make(chan struct{})
	begin = sync.OnceFunc(func() { close(may) })
	player := modeltest.PlayerFunc(func(r *modeltest.Request) modeltest.Reply {
		if r.Turn() > 0 {
			return modeltest.Say("It ended: " + r.Results()[0].PlainText())
		}
		<-may
		return modeltest.Answer(modeltest.Call("Bash", input{"command": "touch ran.txt # \u202ednammoc\x1b[2J", "description": "look around"}))
	})
	server = modeltest.Start(t, modeltest.Options{Player: player, BindThinking: true})
	t.Cleanup(begin) // before the server waits for who plays
	return server, begin
}

// TestPermissionOnATerminal shows the call with what is hidden in it; what was half typed before does not allow it.
func TestPermissionOnATerminal(t *testing.T) {
	server, begin := careful(t)
	dir := newWorkspace(t)
	w := openWindow(t, server, dir, 70, 24, "once", "-t", "Bash", "run it")
	w.line(2, ">")
	w.enter("1")
	w.line(3, "> 1")
	begin()
	w.has("May Bash do this?")
	w.has("touch ran.txt # <U+202E>dnammoc<U+001B>[2J")
	w.enter("\r")
	w.has("not sent")
	if _, err := os.Stat(filepath.Join(dir, "ran.txt")); err == nil {
		t.Error("what was typed before the question has allowed the call")
	}
	w.enter("\x7f\x7f1\r") // the line was given back
	w.has("allowed")
	w.has("It ended: ")
	w.ends(0)
	w.restored()
	if _, err := os.Stat(filepath.Join(dir, "ran.txt")); err != nil {
		t.Error(err)
	}
}

// TestPermissionOnAPlainTerminal: the same without a line below, and a line that was begun too early allows nothing.
func TestPermissionOnAPlainTerminal(t *testing.T) {
	for answer, ran := range map[string]bool{"yes\n": true, "no\n": false, "\n": false, "why?\n": false} {
		server, begin := careful(t)
		dir := newWorkspace(t)
		s := startOnTerminal(t, server, dir, "once", "-t", "Bash", "run it")
		s.enter("1") // without Enter
		begin()
		s.expect("<U+202E>dnammoc<U+001B>[2J")
		s.expect("Enter refuses") // on one of the lines of the hint, or behind a break of it
		s.expect("does not answer it: 1;")
		s.enter("\n")
		s.expect("does not answer it: 1;")
		s.enter(answer)
		s.expect("It ended: ")
		s.ends(0)
		if _, err := os.Stat(filepath.Join(dir, "ran.txt")); (err == nil) != ran {
			t.Errorf("%q: %v", answer, err)
		}
	}
}

// TestPermissionWithoutATerminal refuses at once.
func TestPermissionWithoutATerminal(t *testing.T) {
	server, begin := careful(t)
	begin()
	dir := newWorkspace(t)
	cmd := flowerIn(t, server, dir, "once", "-t", "Bash", "run it")
	out, err := cmd.Output()
	if err != nil || !strings.Contains(string(out), "It ended: Refused: ") {
		t.Errorf("%v: %s", err, out)
	}
}

// flowerIn is a flower that works in a directory, not started yet.
func flowerIn(t *testing.T, server *modeltest.Server, dir string, args ...string) *exec.Cmd {
	t.Helper()
	test, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), test, args...)
	cmd.Args[0] = "flower"
	cmd.Dir, cmd.Env = dir, environ(server, dir)
	return cmd
}

// TestStuckReader: who reads slowly loses nothing; who reads nothing does not keep a signal from ending the run.
func TestStuckReader(t *testing.T) {
	server := modeltest.Start(t, modeltest.Options{Player: job(judgeByFiles), BindThinking: true})
	dir := newWorkspace(t)
	start := func(args ...string) (*exec.Cmd, *os.File) {
		cmd := flowerIn(t, server, dir, append([]string{"--json", "--timeout", "0", "--new"}, args...)...)
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = r.Close() }) // also if it was read to its end
		if _, err := unix.FcntlInt(w.Fd(), unix.F_SETPIPE_SZ, 4096); err != nil {
			t.Fatal(err)
		}
		cmd.Stdout = w
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return cmd, r
	}

	cmd, r := start("x")
	var stream strings.Builder
	for lines := bufio.NewReaderSize(r, 64); ; {
		b, err := lines.ReadByte() // as slowly as one can
		if err != nil {
			break
		}
		stream.WriteByte(b)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if _, err := readEvents(stream.String()); err != nil {
		t.Error(err)
	}

	cmd, r = start("y")
	full := time.Now().Add(patience)
	for n := 0; n < 4000; { // its output is full, or nearly so
		var err error
		if n, err = unix.IoctlGetInt(int(r.Fd()), unix.TIOCINQ); err != nil || time.Now().After(full) {
			t.Fatal(n, err)
		}
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = cmd.Wait() }() // the code says how
	select {
	case <-ended:
	case <-time.After(patience):
		t.Fatal("it waits for a reader that reads nothing")
	}
	if code := cmd.ProcessState.ExitCode(); code != 143 {
		t.Errorf("exit code %d", code)
	}
	cmd = flowerIn(t, server, dir, "--timeout", "0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("going on: %v\n%s", err, out)
	}
}

// exits are ways to each exit code. A signal is sent when a request has come.
var exits = []struct {
	code   int
	scene  string
	args   []string
	env    string
	signal syscall.Signal
}{
	{code: 0, scene: "job", args: []string{"--timeout", "0", "x"}},
	{code: 1, scene: "never", args: []string{"--timeout", "0", "--rounds", "1", "x"}},
	{code: 1, scene: "spent", args: []string{"once", "x"}},
	{code: 2, scene: "job", args: []string{"--rounds", "0", "x"}},
	{code: 2, scene: "job", args: []string{"--no-such-flag", "x"}},
	{code: 2, scene: "one", args: []string{"once", "--resume", "00000000-0000-4000-8000-000000000000", "x"}},
	{code: 3, scene: "unreachable", args: []string{"--timeout", "0", "x"}},
	{code: 3, scene: "one", args: []string{"once", "--budget", "0.000001", "read it"}},
	{code: 4, scene: "strict", args: []string{"--timeout", "0", "x"}, env: "ANTHROPIC_API_KEY=wrong-key-0123456789"},
	{code: 4, scene: "job", args: []string{"x"}, env: "FLOWER_WINDOW=wide"},
	{code: 5, scene: "page", args: []string{"--timeout", "0", "x"}},
	{code: 5, scene: "broken", args: []string{"once", "x"}},
	{code: 6, scene: "mute", args: []string{"--new", "x"}}, // beside another one
	{code: 129, scene: "mute", args: []string{"--timeout", "0", "x"}, signal: syscall.SIGHUP},
	{code: 143, scene: "mute", args: []string{"--timeout", "0", "x"}, signal: syscall.SIGTERM},
	{code: 130, scene: "mute", args: []string{"--timeout", "0", "x"}, signal: syscall.SIGINT},
	{code: 141, scene: "mute", args: []string{"--timeout", "0", "x"}}, // its output is closed
}

// TestExitCodes comes to the end in each way plainly, with --json, and on a terminal, and sees that every code of the
// documents is among them. A terminal has readers as long as it is there, and two Ctrl-C are tested elsewhere.
func TestExitCodes(t *testing.T) {
	var codes []int
	for _, e := range exits {
		codes = append(codes, e.code)
		name := strconv.Itoa(e.code) + " " + strings.Join(e.args, " ")
		for _, how := range []string{"plain", "json", "terminal"} {
			if how == "terminal" && (e.code == 141 || e.code == 130) {
				continue
			}
			t.Run(name+" "+how, func(t *testing.T) {
				t.Parallel()
				scene := scenes[e.scene]
				arrived := make(chan struct{}, 1000)
				server := modeltest.Start(t, modeltest.Options{
					Player: scene.player(), BindThinking: true, Allow: scene.allow, OnRequest: func(*modeltest.Request) { arrived <- struct{}{} },
				})
				dir := newWorkspace(t)
				if e.code == 6 {
					other := flowerIn(t, server, dir, "--timeout", "0", "first")
					if err := other.Start(); err != nil {
						t.Fatal(err)
					}
					await(t, arrived)
					defer func() { _ = other.Process.Kill(); _ = other.Wait() }() // it never ends
				}
				var env []string
				if e.env != "" {
					env = []string{e.env}
				}
				if how == "terminal" {
					s := startTerminal(t, server, dir, stageOptions{env: env}, e.args...)
					if e.signal != 0 {
						await(t, arrived)
						if err := s.cmd.Process.Signal(e.signal); err != nil {
							t.Fatal(err)
						}
					}
					s.ends(e.code)
					return
				}
				args := e.args
				if how == "json" {
					args = append([]string{"--json"}, args...)
				}
				cmd := flowerIn(t, server, dir, args...)
				cmd.Env = append(cmd.Env, env...)
				out, err := cmd.StdoutPipe()
				if err == nil {
					err = cmd.Start()
				}
				if err != nil {
					t.Fatal(err)
				}
				switch {
				case e.signal != 0:
					await(t, arrived)
					if err := cmd.Process.Signal(e.signal); err != nil {
						t.Fatal(err)
					}
				case e.code == 141:
					_ = out.Close() // that is the test
				}
				var stream strings.Builder
				for lines := bufio.NewScanner(out); lines.Scan(); {
					stream.WriteString(lines.Text() + "\n")
				}
				_ = cmd.Wait() // the code says how
				if got := cmd.ProcessState.ExitCode(); got != e.code {
					t.Errorf("exit code %d", got)
				}
				if how != "json" || e.code == 141 {
					return
				}
				if _, err := readEvents(stream.String()); err != nil {
					t.Error(err)
				}
				var end struct {
					ExitCode int `json:"exit_code"`
				}
				all := strings.Split(strings.TrimSpace(stream.String()), "\n")
				if err := json.Unmarshal([]byte(all[len(all)-1]), &end); err != nil || end.ExitCode != e.code {
					t.Errorf("%v: the stream ends with %s", err, all[len(all)-1])
				}
			})
		}
	}
	page, err := os.ReadFile("../../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "\n## Exit codes\n")
	table, _, _ = strings.Cut(table, "\n## ")
	rows := regexp.MustCompile(`(?m)^\| (\d+) \|`).FindAllStringSubmatch(table, -1)
	if len(rows) < 11 {
		t.Errorf("docs/cli.md has %d exit codes", len(rows))
	}
	for _, row := range rows {
		if code, _ := strconv.Atoi(row[1]); !slices.Contains(codes, code) {
			t.Errorf("no way to exit code %d is tried", code)
		}
	}
}
