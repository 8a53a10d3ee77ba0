package main_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"flower/modeltest"
)

// The job that is killed: two questions, a goal, two workers at once that each leave a mark, a judge that is first not
// content and then is.
const (
	question1, answer1 = "Which colour shall it have?", "blue as the sea"
	question2, answer2 = "How large shall it be?", "as large as a house"
)

// point is where in a step the process is killed.
type point string

const (
	beforeResponse point = "before the response"
	midStream      point = "mid-stream"
	whileTool      point = "while a tool runs"
	betweenTurns   point = "between turns"
)

// TestKill ends the process with SIGKILL at four points of each role of the three steps and starts it again without a word:
// it goes on in the same sessions, asks nothing that was answered, repeats no effect, and comes to the same end.
func TestKill(t *testing.T) {
	binary := build(t)
	for _, role := range []modeltest.Role{modeltest.Clarifier, modeltest.GoalSetter, modeltest.Coordinator, modeltest.Worker, modeltest.Judge} {
		for _, at := range []point{beforeResponse, midStream, whileTool, betweenTurns} {
			if role == modeltest.Coordinator && at == whileTool {
				continue // its tools are the workers, which have cases of their own
			}
			t.Run(fmt.Sprintf("%s/%s", role, at), func(t *testing.T) {
				t.Parallel()
				k := newKill(t, binary, role, at)
				k.untilKilled()
				before := k.lineage()
				k.toTheEnd()
				k.check(before)
			})
		}
	}
}

// build compiles the program once for all tests of this package, buildFailing the one with fail points.
var (
	build        = builder()
	buildFailing = builder("-tags", "failpoints")
)

func builder(flags ...string) func(t testing.TB) string {
	var once sync.Once
	var path string
	var out []byte
	var err error
	return func(t testing.TB) string {
		t.Helper()
		once.Do(func() {
			var dir string
			if dir, err = os.MkdirTemp("", "flower-build-"); err != nil {
				return
			}
			path = filepath.Join(dir, "flower")
			out, err = exec.Command("go", slices.Concat([]string{"build", "-o", path}, flags, []string{"flower/cmd/flower"})...).CombinedOutput()
		})
		if err != nil {
			t.Fatalf("build: %v\n%s", err, out)
		}
		return path
	}
}

// kill is one case.
type kill struct {
	*testing.T
	binary string
	role   modeltest.Role
	at     point
	dir    string
	fifo   string
	server *modeltest.Server
	gate   *modeltest.Gate
	env    []string                 // more of it, for the processes that are started
	seen   func(*modeltest.Request) // nil, or told of every request

	mu    sync.Mutex
	armed bool
	asked map[string]int
	log   strings.Builder // what the processes printed
}

func newKill(t *testing.T, binary string, role modeltest.Role, at point) *kill {
	k := &kill{T: t, binary: binary, role: role, at: at, dir: t.TempDir(), gate: modeltest.NewGate(), armed: true, asked: map[string]int{}}
	k.fifo = filepath.Join(k.dir, ".up")
	if err := syscall.Mkfifo(k.fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	git := exec.Command("git", "init", "-q", k.dir)
	git.Env = append(os.Environ(), "HOME="+k.dir, "GIT_CONFIG_NOSYSTEM=1")
	if out, err := git.CombinedOutput(); err != nil {
		t.Fatalf("git init: %v\n%s", err, out)
	}
	k.server = modeltest.Start(t, modeltest.Options{Player: modeltest.PlayerFunc(k.play), BindThinking: true})
	return k
}

// play answers as the script says, and holds the answer at the point where the process is to be killed.
func (k *kill) play(r *modeltest.Request) modeltest.Reply {
	k.mu.Lock()
	seen := k.seen
	k.mu.Unlock()
	if seen != nil {
		seen(r)
	}
	reply := k.script().Play(r)
	turn := 1 // the second request of the step: something is there to be lost
	if k.at == beforeResponse {
		turn = 0
	}
	if k.at == whileTool || r.Role() != k.role || r.Answers() != turn || !k.disarm() {
		return reply
	}
	if k.at == midStream {
		return reply.Held(modeltest.AfterEvents(3), k.gate)
	}
	return reply.Held(modeltest.Point{}, k.gate)
}

// disarm says once that this is the point.
func (k *kill) disarm() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	was := k.armed
	k.armed = false
	return was
}

type input = map[string]any

func (k *kill) script() modeltest.Script {
	bash := func(command string) modeltest.Reply {
		return modeltest.Answer(modeltest.Call("Bash", input{"command": command, "description": "work"}))
	}
	// blocking runs a command that, at the point of the kill, says that it is there and then does not end.
	blocking := func(role modeltest.Role, command string) modeltest.Player {
		return modeltest.PlayerFunc(func(*modeltest.Request) modeltest.Reply {
			if k.role == role && k.at == whileTool && k.disarm() {
				return bash(command + "; echo $$ >.up; exec sleep 600")
			}
			return bash(command)
		})
	}
	ask := func(q string) modeltest.Reply {
		return modeltest.Answer(modeltest.Think("about "+q), modeltest.Call("mcp__human__ask", input{"question": q}))
	}
	task := func(n int) string { return fmt.Sprintf("Leave mark number %d in marks.txt.", n) }
	// A worker makes its mark, looks whether it is there, and makes it again only if it has seen that it is not.
	worker := func(n int) modeltest.Rule {
		mark := bash(fmt.Sprintf("echo mark %d >>marks.txt", n))
		first := modeltest.Player(mark)
		if n == 1 {
			first = blocking(modeltest.Worker, fmt.Sprintf("echo mark %d >>marks.txt", n))
		}
		return modeltest.Rule{
			Role: modeltest.Worker, When: func(r *modeltest.Request) bool { return strings.Contains(r.FirstUser(), task(n)) },
			Play: modeltest.PlayerFunc(func(r *modeltest.Request) modeltest.Reply {
				commands := r.Answered("Bash")
				if r.Answers() == 0 {
					return modeltest.Answer(modeltest.Think("look first"), modeltest.Call("Glob", input{"pattern": "*"}))
				}
				if len(commands) == 0 {
					return first.Play(r)
				}
				last := commands[len(commands)-1]
				seen := last.Result.PlainText()
				switch {
				case !strings.Contains(string(last.Call.Input), "cat marks.txt") || last.Result.IsError && strings.Contains(seen, "unknown"):
					return bash("cat marks.txt")
				case !strings.Contains(seen, fmt.Sprintf("mark %d\n", n)):
					return mark
				}
				return modeltest.Say(fmt.Sprintf("mark %d is there", n))
			}),
		}
	}
	call := func(n int) modeltest.Reply {
		return modeltest.Answer(modeltest.Call("Agent", input{"description": "mark", "prompt": task(n), "subagent_type": "worker"}))
	}
	both := modeltest.Answer(slices.Concat(call(1).Content, call(2).Content)...)
	return modeltest.Script{
		{Role: modeltest.Clarifier, Plan: []modeltest.Player{
			ask(question1), ask(question2),
			modeltest.Say("## Goal\nMarks.\n\n## Acceptance criteria\nThree marks.\n\n## Boundaries\nNone.\n\n## Unknowns and assumptions\nNone.\n"),
		}},
		{Role: modeltest.GoalSetter, Plan: []modeltest.Player{
			bash("ls"), blocking(modeltest.GoalSetter, "pwd"),
			modeltest.Say("# Goal\n\nThree marks.\n\n# Checklist\n\n- marks.txt has three lines\n"),
		}},
		{Role: modeltest.Coordinator, Plan: []modeltest.Player{
			bash("git status --short"), both, modeltest.Say("two marks are there"),
			call(3), modeltest.Say("three marks are there"),
		}},
		worker(1), worker(2), worker(3),
		{Role: modeltest.Judge, Plan: []modeltest.Player{
			blocking(modeltest.Judge, "wc -l <marks.txt"),
			modeltest.PlayerFunc(func(r *modeltest.Request) modeltest.Reply {
				lines := strings.Fields(r.Results()[0].PlainText())
				if len(lines) > 0 && lines[0] == "3" {
					return modeltest.Say("## Conclusion\nachieved\n\n## Reason\nThree lines.\n")
				}
				return modeltest.Say("## Conclusion\nnot yet\n\n## Reason\nToo few lines.\n\n## Failed\n- marks.txt has three lines\n")
			}),
		}},
	}
}

// start runs the program with the request, or without a word.
func (k *kill) start(ask ...string) (*exec.Cmd, io.WriteCloser, io.Reader) {
	args := append([]string{"go", "-w", k.dir, "-r", filepath.Join(k.dir, "runs"), "--judge-can-run", "--lang", "en"}, ask...)
	cmd := exec.Command(k.binary, args...)
	cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + k.dir, "ANTHROPIC_BASE_URL=" + k.server.URL, "ANTHROPIC_API_KEY=" + k.server.Key,
	}, k.env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		k.Fatal(err)
	}
	out, in, err := os.Pipe()
	if err != nil {
		k.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = in, in
	if err := cmd.Start(); err != nil {
		k.Fatal(err)
	}
	_ = in.Close() // the child has its own
	watchdog := time.AfterFunc(30*time.Second, func() { _ = cmd.Process.Kill() })
	k.Cleanup(func() { watchdog.Stop(); _ = out.Close() })
	return cmd, stdin, out
}

// converse reads what the program prints and answers its questions, except one that is to be killed over. It returns
// when the output ends, or at once when such a question is there.
func (k *kill) converse(out io.Reader, stdin io.Writer) (killNow bool) {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		line := lines.Text()
		k.mu.Lock()
		k.log.WriteString(line + "\n")
		k.mu.Unlock()
		for q, a := range map[string]string{question1: answer1, question2: answer2} {
			if !strings.Contains(line, q) || strings.Contains(line, "mcp__human__ask") {
				continue
			}
			if k.role == modeltest.Clarifier && k.at == whileTool && q == question2 && k.disarm() {
				return true
			}
			k.asked[q]++
			_, _ = fmt.Fprintln(stdin, a) // a process that was killed does not read it
		}
	}
	return false
}

// untilKilled runs the first process and kills it at the point.
func (k *kill) untilKilled() {
	cmd, stdin, out := k.start("make some marks")
	reached := make(chan struct{}, 1)
	signal := func() {
		select {
		case reached <- struct{}{}:
		default:
		}
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if k.converse(out, stdin) {
			signal()
		}
	}()
	child := 0
	switch {
	case k.at != whileTool:
		go func() {
			select {
			case <-k.gate.Reached():
				signal()
			case <-ended:
			}
		}()
	case k.role != modeltest.Clarifier:
		go func() {
			up, err := os.ReadFile(k.fifo) // ends when the command has written and closed it
			if err == nil {
				child, _ = strconv.Atoi(strings.TrimSpace(string(up)))
			}
			signal()
		}()
	}
	select {
	case <-reached:
	case <-ended:
		select {
		case <-reached:
		default:
			_ = cmd.Wait()
			k.Fatalf("the process ended before the point was reached:\n%s", k.printed())
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		k.Fatal(err)
	}
	_ = cmd.Wait() // killed, as was asked
	if child > 0 {
		_ = syscall.Kill(child, syscall.SIGKILL)
	}
	k.gate.Open()
	_ = stdin.Close()
	<-ended
}

// toTheEnd starts the program again and lets it finish.
func (k *kill) toTheEnd() {
	cmd, stdin, out := k.start()
	if _, err := fmt.Fprintln(stdin); err != nil { // not a terminal: the first line would be a remark, and there is none
		k.Fatal(err)
	}
	k.converse(out, stdin)
	if err := cmd.Wait(); err != nil {
		k.Fatalf("the second process: %v\n%s", err, k.printed())
	}
	_ = stdin.Close()
}

func (k *kill) printed() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.log.String()
}

func (k *kill) lineage() map[string]string {
	var l struct{ Steps map[string]string }
	data, err := os.ReadFile(filepath.Join(k.dir, "runs", "lineage.json"))
	if err == nil {
		err = json.Unmarshal(data, &l)
	}
	if err != nil {
		k.Fatalf("lineage: %v", err)
	}
	return l.Steps
}

// check looks at what the two processes have left.
func (k *kill) check(before map[string]string) {
	after := k.lineage()
	if len(before) == 0 || len(after) != 3 {
		k.Errorf("lineage before %v, after %v", before, after)
	}
	for step, id := range before {
		if after[step] != id {
			k.Errorf("step %s went on in %s, not in %s", step, after[step], id)
		}
	}
	marks, err := os.ReadFile(filepath.Join(k.dir, "marks.txt"))
	if err != nil {
		k.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(marks)), "\n")
	slices.Sort(lines)
	if got := strings.Join(lines, ","); got != "mark 1,mark 2,mark 3" {
		k.Errorf("effects: %s", got)
	}
	log, err := os.ReadFile(filepath.Join(k.dir, ".flower", "notes", "问答记录.md"))
	if err != nil {
		k.Fatal(err)
	}
	for q, a := range map[string]string{question1: answer1, question2: answer2} {
		if k.asked[q] != 1 || strings.Count(string(log), q) != 1 || strings.Count(string(log), a) != 1 {
			k.Errorf("%q was answered %d times; the log:\n%s", q, k.asked[q], log)
		}
	}
	var rows []struct {
		Step, Verdict string
		OK            bool
		Text          string
	}
	data, err := os.ReadFile(filepath.Join(k.dir, "runs", "manifest.json"))
	if err == nil {
		err = json.Unmarshal(data, &rows)
	}
	if err != nil {
		k.Fatalf("manifest: %v", err)
	}
	if last := rows[len(rows)-1]; last.Verdict != "achieved" || !last.OK {
		k.Errorf("last row: %+v", last)
	}
	if k.Failed() {
		k.Logf("printed:\n%s", k.printed())
	}
}
