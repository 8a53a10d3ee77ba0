package main_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"flower"
	"flower/agent"
	"flower/internal/cli"
	"flower/internal/disk"
	"flower/modeltest"
	"flower/sqlite"
)

// beside is a directory in which several flowers are started.
type beside struct {
	*testing.T
	binary string
	dir    string
	server *modeltest.Server
}

func newBeside(t *testing.T, player modeltest.Player) *beside {
	b := &beside{T: t, binary: build(t), dir: t.TempDir()}
	b.server = modeltest.Start(t, modeltest.Options{Player: player, BindThinking: true})
	return b
}

// process is one flower. What it prints may be read when it has ended.
type process struct {
	cmd   *exec.Cmd
	out   bytes.Buffer
	err   bytes.Buffer
	ended chan struct{}
}

// start starts flower with a text as its input.
func (b *beside) start(stdin string, args ...string) *process {
	b.Helper()
	p := &process{cmd: exec.Command(b.binary, append([]string{"--lang", "en"}, args...)...), ended: make(chan struct{})}
	p.cmd.Dir = b.dir
	p.cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + b.dir, "NO_PROXY=127.0.0.1",
		"ANTHROPIC_BASE_URL=" + b.server.URL, "ANTHROPIC_API_KEY=" + b.server.Key,
	}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = strings.NewReader(stdin), &p.out, &p.err
	if err := p.cmd.Start(); err != nil {
		b.Fatal(err)
	}
	watchdog := time.AfterFunc(60*time.Second, func() { _ = p.cmd.Process.Kill() })
	go func() {
		defer close(p.ended)
		_ = p.cmd.Wait() // how it ended stands in ProcessState
		watchdog.Stop()
	}()
	b.Cleanup(func() { _ = p.cmd.Process.Kill(); <-p.ended })
	return p
}

// code waits for the end.
func (p *process) code() int {
	<-p.ended
	return p.cmd.ProcessState.ExitCode()
}

// runs starts flower, and checks its exit code and that each pattern is found in a line of what it prints. What it
// prints on the error stream is one line if it fails.
func (b *beside) runs(stdin string, want int, patterns []string, args ...string) {
	b.Helper()
	p := b.start(stdin, args...)
	if code := p.code(); code != want {
		b.Errorf("flower %q: exit code %d, want %d\n%s%s", args, code, want, &p.out, &p.err)
	}
	if want != 0 && strings.Count(p.err.String(), "\n") != 1 {
		b.Errorf("flower %q: not one line: %s", args, &p.err)
	}
	said := p.out.String() + p.err.String()
	for _, pattern := range patterns {
		if !regexp.MustCompile("(?m)" + pattern).MatchString(said) {
			b.Errorf("flower %q: nothing matches %s:\n%s", args, pattern, said)
		}
	}
}

const settled = "## Goal\nA bell.\n\n## Acceptance criteria\nIt rings.\n\n## Boundaries\nNone.\n\n## Unknowns and assumptions\nNone.\n"

// gated is a job that stops before the brief and in the coordinator's first turn.
func gated(clarify, work *modeltest.Gate) modeltest.Player {
	return modeltest.Script{
		{Role: modeltest.Clarifier, Play: modeltest.Say(settled).Held(modeltest.Point{}, clarify)},
		{When: func(r *modeltest.Request) bool { return r.Says("a copy") }, Play: modeltest.Say("hello")},
		{Role: modeltest.Coordinator, Plan: []modeltest.Player{
			modeltest.Answer(modeltest.Call("Bash", input{"command": "ls", "description": "look"})).Held(modeltest.Point{}, work),
			modeltest.Say("It rings."),
		}},
		{Play: modeltest.Say("hello")},
	}
}

func reached(t *testing.T, g *modeltest.Gate, p *process) {
	t.Helper()
	select {
	case <-g.Reached():
	case <-p.ended:
		t.Fatalf("it ended before: %s%s", &p.out, &p.err)
	}
}

// TestSecondFlower: what a second flower does in a directory in which one is at work, before the requirements are
// settled and afterwards.
func TestSecondFlower(t *testing.T) {
	t.Parallel()
	clarify, work := modeltest.NewGate(), modeltest.NewGate()
	b := newBeside(t, gated(clarify, work))
	first := b.start("", "--timeout", "0", "--no-goal", "a bell")
	reached(t, clarify, first)
	who := fmt.Sprintf(`pid %d on .+, since \d{4}-\d\d-\d\d \d\d:\d\d:\d\d`, first.cmd.Process.Pid)

	b.runs("", 0, []string{`^\+ delivered to the inbox .*\(` + who + `\); it has no requirements yet.*: make it loud$`}, "make it loud")
	b.runs("", 0, []string{`^== flower is running here: ` + who + ` · clarify · \$0`})
	b.runs("\n", 0, []string{`^== flower is running here: ` + who})
	b.runs("", 6, []string{`^flower: another flower is running in this run directory \(` + who + `, in .*\) - wait`}, "--new", "a door")
	b.runs("/new\n", 6, []string{`^flower: another flower is running`})
	b.runs("", 6, []string{`^flower: another flower is running`}, "-w", t.TempDir(), "a door")
	b.runs("", 0, []string{`^hello$`}, "once", "greet")

	clarify.Open()
	reached(t, work, first)
	b.runs("and blue\n", 0, []string{`^\+ delivered to the inbox .*\(` + who + `\), and added to the requirements: and blue$`})
	b.runs("", 0, []string{`^\+ delivered .* added to the requirements: and round$`}, "go", "and", "round")
	b.runs("", 0, []string{`^== flower is running here: ` + who + ` · work · \$0\.\d`})
	session := b.session("干活")
	b.runs("", 6, []string{`^flower: session ` + session + ` is in use by another flower \(` + who + `\) - wait`}, "once", "--resume", session, "hello")
	b.runs("", 0, []string{`^hello$`}, "once", "--resume", session, "--fork", "a copy")
	b.runs("", 0, []string{`^== clarify =+  1/1$`}, "-r", "other", "-w", t.TempDir(), "--timeout", "0", "--clarify-only", "a door")
	b.runs("", 0, []string{`^== clarify =+  1/1  settled already$`}, "-r", "other", "--timeout", "0", "--clarify-only", "beside it")

	work.Open()
	if code := first.code(); code != 0 {
		t.Errorf("the first one: exit code %d\n%s%s", code, &first.out, &first.err)
	}
	brief, err := os.ReadFile(filepath.Join(b.dir, ".flower", "notes", "需求.md"))
	if err != nil {
		t.Fatal(err)
	}
	b.inOrder("the brief", string(brief), "运行中补充", "make it loud", "运行中补充", "and blue", "运行中补充", "and round")
	b.inOrder("the coordinator", b.coordinator(), "make it loud", "ls", "and blue", "and round")
	b.runs("\n", 0, []string{`wake 2$`, `^== done`}, "--timeout", "0", "--no-goal")
	if left, _ := filepath.Glob(filepath.Join(b.dir, "runs", "leases", "*")); len(left) != 0 {
		t.Errorf("leases left: %v", left)
	}
}

// session is a step's session in the lineage.
func (b *beside) session(step string) string {
	b.Helper()
	data, err := os.ReadFile(filepath.Join(b.dir, "runs", "lineage.json"))
	if err != nil {
		b.Fatal(err)
	}
	m := regexp.MustCompile(`"` + step + `": "([0-9a-f-]{36})"`).FindSubmatch(data)
	if m == nil {
		b.Fatalf("no session of %s in %s", step, data)
	}
	return string(m[1])
}

// coordinator is everything said and called in the last request of a coordinator.
func (b *beside) coordinator() string {
	var said strings.Builder
	for _, r := range b.server.Requests() {
		if r.Role() != modeltest.Coordinator || r.Says("a copy") {
			continue
		}
		said.Reset()
		for _, m := range r.Messages {
			for _, block := range m.Content {
				said.WriteString(block.PlainText() + string(block.Input) + "\n")
			}
		}
	}
	return said.String()
}

func (b *beside) inOrder(what, text string, parts ...string) {
	b.Helper()
	rest := text
	for _, part := range parts {
		_, after, found := strings.Cut(rest, part)
		if !found {
			b.Errorf("%s lacks %q at its place:\n%s", what, part, text)
			return
		}
		rest = after
	}
}

// TestTooLateForThisRun: what is handed over when the work is done and only the judge is still at it waits, which is
// said; it is in the requirements at once, and the agent hears it at the next wake.
func TestTooLateForThisRun(t *testing.T) {
	t.Parallel()
	judge := modeltest.NewGate()
	b := newBeside(t, modeltest.Script{
		{Role: modeltest.Clarifier, Play: modeltest.Say(settled)},
		{Role: modeltest.GoalSetter, Play: modeltest.Say("# Goal\n\nA bell.\n\n# Checklist\n\n- it rings\n")},
		{Role: modeltest.Coordinator, Play: modeltest.Say("It rings.")},
		{Role: modeltest.Judge, Play: modeltest.Say("## Conclusion\nachieved\n\n## Reason\nIt rings.\n").Held(modeltest.Point{}, judge)},
	})
	first := b.start("", "--timeout", "0", "a bell")
	reached(t, judge, first)
	b.runs("", 0, []string{`^== flower is running here: .* · work, judge of round 1 · \$0\.\d`})
	b.runs("", 0, []string{`^\+ delivered .*, and added to the requirements: and blue$`}, "and blue")
	judge.Open()
	if code := first.code(); code != 0 || !strings.Contains(first.out.String(), "\n! a remark has not reached an agent yet: flower = go on with it\n") {
		t.Errorf("exit code %d\n%s%s", code, &first.out, &first.err)
	}
	second := b.start("\n", "--timeout", "0")
	if code := second.code(); code != 0 || strings.Contains(second.out.String(), "not reached") {
		t.Errorf("exit code %d\n%s%s", code, &second.out, &second.err)
	}
	if n := strings.Count(b.coordinator(), "and blue"); n != 1 {
		t.Errorf("the coordinator has heard it %d times:\n%s", n, b.coordinator())
	}
	if n := strings.Count(string(b.file(".flower/notes/需求.md")), "and blue"); n != 1 {
		t.Errorf("it is in the brief %d times", n)
	}
}

// TestLeaseOfDeadAndStopped: a stopped process keeps what it has, a killed one has nothing from that moment on, whatever
// becomes of a command that it has started.
func TestLeaseOfDeadAndStopped(t *testing.T) {
	t.Parallel()
	up := make(chan string, 1)
	var once sync.Once
	b := newBeside(t, modeltest.Script{
		{Role: modeltest.Clarifier, Play: modeltest.Say(settled)},
		{Role: modeltest.Coordinator, Plan: []modeltest.Player{
			modeltest.Answer(modeltest.Call("Agent", input{"description": "ring", "prompt": "Ring it.", "subagent_type": "worker"})),
			modeltest.Say("It rings."),
		}},
		{Role: modeltest.Worker, Play: modeltest.PlayerFunc(func(*modeltest.Request) modeltest.Reply {
			command := ""
			once.Do(func() { command = "echo $$ >up; exec sleep 600" })
			if command == "" {
				return modeltest.Say("rung")
			}
			return modeltest.Answer(modeltest.Call("Bash", input{"command": command, "description": "ring"}))
		})},
	})
	if err := syscall.Mkfifo(filepath.Join(b.dir, "up"), 0o600); err != nil {
		t.Fatal(err)
	}
	first := b.start("", "--timeout", "0", "--no-goal", "a bell")
	go func() {
		pid, _ := os.ReadFile(filepath.Join(b.dir, "up")) // nothing: the test ends first
		up <- strings.TrimSpace(string(pid))
	}()
	var child int
	select {
	case pid := <-up:
		if _, err := fmt.Sscan(pid, &child); err != nil {
			t.Fatalf("the command's id is %q", pid)
		}
	case <-first.ended:
		t.Fatalf("it ended before: %s%s", &first.out, &first.err)
	}
	defer func() { _ = syscall.Kill(child, syscall.SIGKILL) }()

	b.signal(first, syscall.SIGSTOP)
	session := b.session("干活")
	who := fmt.Sprintf(`pid %d on`, first.cmd.Process.Pid)
	b.runs("", 0, []string{`^== flower is running here: ` + who})
	b.runs("", 6, []string{`in use by another flower \(` + who}, "once", "--resume", session, "hello")
	b.signal(first, syscall.SIGKILL)
	<-first.ended

	b.runs("", 0, []string{`^== work =+ .*wake 2$`, `^== done`}, "--timeout", "0", "--no-goal")
	if left, _ := filepath.Glob(filepath.Join(b.dir, "runs", "leases", "*")); len(left) != 0 {
		t.Errorf("leases left: %v", left)
	}
}

func (b *beside) signal(p *process, s syscall.Signal) {
	b.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		b.Fatal(err)
	}
}

// TestManyStarts: of many flowers that are started at the same instant in a fresh directory one runs. All others hand
// over what they were started with, and every word reaches the agent once.
func TestManyStarts(t *testing.T) {
	t.Parallel()
	const many = 20
	clarify, work := modeltest.NewGate(), modeltest.NewGate()
	work.Open()
	b := newBeside(t, gated(clarify, work))
	var all []*process
	ended := make(chan *process, many)
	for n := range many {
		p := b.start("", "--timeout", "0", "--no-goal", fmt.Sprintf("request <%d>", n))
		all = append(all, p)
		go func() { <-p.ended; ended <- p }()
	}
	for range many - 1 { // one of them stands at the gate
		p := <-ended
		if code := p.code(); code != 0 {
			t.Errorf("%q: exit code %d\n%s%s", p.cmd.Args, code, &p.out, &p.err)
		}
		if lines := strings.Count(p.out.String(), "\n"); lines != 1 || !strings.Contains(p.out.String(), "+ delivered to the inbox of the flower that is running here (pid ") {
			t.Errorf("%q said:\n%s%s", p.cmd.Args, &p.out, &p.err)
		}
	}
	clarify.Open()
	last := <-ended
	if code := last.code(); code != 0 {
		t.Fatalf("the one that runs: exit code %d\n%s%s", code, &last.out, &last.err)
	}
	for _, p := range all {
		if p != last && !strings.Contains(p.out.String(), fmt.Sprintf("(pid %d on", last.cmd.Process.Pid)) {
			t.Errorf("not the one that runs: %s", &p.out)
		}
	}
	heard := b.coordinator()
	for n := range many {
		words := fmt.Sprintf("request <%d>", n)
		want := 2 // in the requirements and as a remark
		if strings.Contains(strings.Join(last.cmd.Args, " "), words) {
			want = 0 // it was the clarifier's
		}
		if got := strings.Count(heard, words); got != want {
			t.Errorf("%s: heard %d times, want %d", words, got, want)
		}
	}
	if n := strings.Count(string(b.file("runs/manifest.json")), `"step"`); n != 2 {
		t.Errorf("%d rows in the manifest", n)
	}
	if !strings.Contains(string(b.file("runs/lineage.json")), `"woke": 1`) {
		t.Errorf("lineage: %s", b.file("runs/lineage.json"))
	}
}

// TestHandedOverToWhom: words go only into the inbox of a flower that says that it works here, through a workflow.
func TestHandedOverToWhom(t *testing.T) {
	s := newSite(t)
	for _, test := range []struct {
		name, fields string
		code         int
		says         string
	}{
		{"flower", `"run":"x","workspace":%q`, 0, `^\+ delivered to the inbox`},
		{"adopt", `"run":"","workspace":%q`, 6, `^flower: another flower is running`},
		{"nowhere", `"run":"x","other":%q`, 6, `^flower: another flower is running`},
	} {
		s.sub(test.name, func(s *site) {
			s.restore()
			path := filepath.Join(s.dir, "runs", "flower.lock")
			lease, err := disk.TakeLease(path, s.owner(fmt.Sprintf(test.fields, s.dir)))
			s.must(err)
			defer func() { s.must(lease.Release()) }()
			code, out := s.run("louder")
			if code != test.code || !regexp.MustCompile(test.says).MatchString(out) {
				s.Errorf("exit code %d, want %d\n%s", code, test.code, out)
			}
			if notes := s.pending(); (len(notes) == 1) != (code == 0) {
				s.Errorf("in the inbox: %v", notes)
			}
		})
	}
}

// pending are the remarks that wait.
func (s *site) pending() []agent.Note {
	s.Helper()
	store, err := sqlite.Open(s.Context(), filepath.Join(s.dir, "runs", "sessions.db"), sqlite.Options{Workspace: s.dir})
	s.must(err)
	notes, err := store.PendingNotes(s.Context(), flower.ProjectKey(s.dir))
	s.must(err, store.Close())
	return notes
}

// TestHandedOverToTheDead: the other flower ends when it has been told something, and has not taken it. Whoever has said
// it does it instead, and it is heard once: as the request where there are no requirements, else as a remark.
func TestHandedOverToTheDead(t *testing.T) {
	for name, brief := range map[string]bool{"no requirements": false, "requirements": true} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			runs := filepath.Join(s.dir, "runs")
			heard := 0
			if !brief {
				s.must(os.RemoveAll(filepath.Join(s.dir, ".flower")), os.RemoveAll(runs), os.Mkdir(runs, 0o700))
			}
			server := modeltest.Start(t, modeltest.Options{BindThinking: true, Player: modeltest.Script{
				{Role: modeltest.Clarifier, Play: modeltest.Say(settled)},
				{Role: modeltest.GoalSetter, Play: modeltest.Say(goalOfBell)},
				{Role: modeltest.Judge, Play: modeltest.Say(verdictOnBell)},
				{Role: modeltest.Coordinator, Play: modeltest.PlayerFunc(func(r *modeltest.Request) modeltest.Reply {
					last := r.Messages[len(r.Messages)-1]
					for _, block := range last.Content {
						heard += strings.Count(block.PlainText(), "ring it louder")
					}
					return modeltest.Say("It rings.")
				})},
			}})
			s.env = []string{"HOME=" + s.root, "NO_PROXY=127.0.0.1", "ANTHROPIC_BASE_URL=" + server.URL, "ANTHROPIC_API_KEY=" + server.Key}
			lease, err := disk.TakeLease(filepath.Join(runs, "flower.lock"), s.owner(fmt.Sprintf(`"run":"x","workspace":%q`, s.dir)))
			s.must(err)
			end := sync.OnceFunc(func() { s.must(lease.Release()) })
			var out bytes.Buffer
			code := cli.Main([]string{"--lang", "en", "--timeout", "0", "ring it louder"}, s.env,
				cli.Stdio{In: strings.NewReader(""), Out: &out, Err: &out},
				cli.Options{Dir: s.dir, Signals: make(chan os.Signal), Now: func() time.Time { end(); return time.Now() }})
			if code != 0 || strings.Contains(out.String(), "delivered") {
				t.Errorf("exit code %d\n%s", code, &out)
			}
			want := 0 // it was the clarifier's
			if brief {
				want = 1
			}
			if heard != want || len(s.pending()) > 0 {
				t.Errorf("heard %d times, want %d, pending: %v\n%s", heard, want, s.pending(), &out)
			}
			db, err := sql.Open("sqlite", filepath.Join(runs, "sessions.db"))
			s.must(err)
			var notes int
			s.must(db.QueryRow(`SELECT count(*) FROM flower_inbox`).Scan(&notes), db.Close())
			if notes != 1 {
				t.Errorf("%d remarks were ever in the inbox: it was not handed over, or twice", notes)
			}
		})
	}
}

func (b *beside) file(name string) []byte {
	b.Helper()
	data, err := os.ReadFile(filepath.Join(b.dir, name))
	if err != nil {
		b.Fatal(err)
	}
	return data
}
