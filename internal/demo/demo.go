// Package demo shows the whole job without a key and without a network: a scripted model on 127.0.0.1 plays every role,
// and flower does the rest for real: it asks, freezes documents, starts workers, runs tools in a temporary workspace,
// has the result judged twice, and, if asked to, is killed in the middle and goes on.
package demo

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"flower/internal/text"
	"flower/modeltest"
)

// DefaultPace is the pause between two pieces of an answer: long enough to read along, short enough for ten seconds.
const DefaultPace = 25 * time.Millisecond

// Options of Run.
type Options struct {
	// Flower runs one flower command in this process and returns its exit code. Required unless Crash is set.
	Flower func(ctx context.Context, args, env []string, stdin io.Reader, out io.Writer) int
	// Crash kills the program in the middle of the work and starts it again. It needs Executable.
	Crash bool
	// Executable is the flower program, Arg0 the name it is started by.
	Executable, Arg0 string

	Out     io.Writer     // required
	Lang    string        // of the interface and of what is said; "" and any the demo does not speak are English
	Pace    time.Duration // 0 is DefaultPace, below 0 is no pause
	Width   int           // of a line of Out, in cells; 0 is 80
	Environ []string      // PATH, TERM, COLUMNS and the like are taken from it
	Keep    bool          // leave the workspace for a look
}

// ErrFailed is a demo whose run did not end well.
var ErrFailed = errors.New("the demo's run did not end well; that is a fault of flower")

// Run shows the job.
func Run(ctx context.Context, opts Options) error {
	switch {
	case opts.Pace == 0:
		opts.Pace = DefaultPace
	case opts.Pace < 0:
		opts.Pace = 0
	}
	if opts.Width == 0 {
		opts.Width = 80
	}
	d := &demo{opts: opts, words: cmp.Or(spoken[opts.Lang], english), killed: make(chan struct{}), atWork: make(chan struct{})}
	return d.run(ctx)
}

type demo struct {
	opts  Options
	words *words
	dir   string
	url   string

	mu   sync.Mutex
	said map[string]bool // narrations

	atWork chan struct{} // closed when two workers are at work, in a run that is to be killed
	reach  sync.Once
	killed chan struct{} // closed when the process is gone
}

func (d *demo) run(ctx context.Context) error {
	root, err := os.MkdirTemp("", "flower-demo-")
	if err != nil {
		return fmt.Errorf("make workspace: %w", err)
	}
	d.dir = filepath.Join(root, "words")
	d.said = make(map[string]bool)
	if !d.opts.Keep {
		defer func() { _ = os.RemoveAll(root) }()
	}
	if err := os.MkdirAll(d.dir, 0o777); err != nil {
		return fmt.Errorf("make workspace: %w", err)
	}
	server, err := modeltest.New(modeltest.Options{Player: modeltest.PlayerFunc(d.play), BindThinking: true, OnRequest: d.narrate})
	if err != nil {
		return err
	}
	defer server.Close()
	d.url = server.URL

	began := time.Now()
	d.tell(d.words.begin, d.dir)
	if d.opts.Crash {
		err = d.crash(ctx)
	} else {
		err = d.once(ctx, d.words.ask)
	}
	if err != nil {
		return err
	}
	if problems := server.Problems(); len(problems) > 0 {
		return fmt.Errorf("the endpoint refused a request: %v: %w", problems[0], ErrFailed)
	}
	return d.end(ctx, time.Since(began), len(server.Requests()))
}

// once runs the job in this process.
func (d *demo) once(ctx context.Context, ask string) error {
	d.tell("$ flower %q", ask)
	if code := d.opts.Flower(ctx, d.args(ask), d.env(), d.typed(ask), d.opts.Out); code != 0 {
		return fmt.Errorf("exit code %d: %w", code, ErrFailed)
	}
	return nil
}

// crash runs the job in a process that is killed while two workers work, and in a second one that goes on.
func (d *demo) crash(ctx context.Context) error {
	d.tell("$ flower %q", d.words.ask)
	first := d.process(ctx, d.words.ask)
	if err := first.Start(); err != nil {
		return fmt.Errorf("start flower: %w", err)
	}
	exited := make(chan error, 1)
	go func() { exited <- first.Wait() }()
	select {
	case <-d.atWork:
	case err := <-exited:
		return fmt.Errorf("the program ended before it could be killed (%w): %w", err, ErrFailed)
	}
	if err := first.Process.Kill(); err != nil {
		return fmt.Errorf("kill flower: %w", err)
	}
	if err := <-exited; err == nil {
		return fmt.Errorf("the program ended well before it was killed: %w", ErrFailed)
	}
	close(d.killed)
	before := d.sessions()
	d.tell(d.words.killed, first.Process.Pid)
	for _, step := range stepOrder {
		if id, ok := before[step]; ok {
			d.session("*", step, id)
		}
	}
	d.tell("%s", d.words.again)
	d.tell("$ flower")
	second := d.process(ctx, "")
	if err := second.Run(); err != nil {
		return fmt.Errorf("second process: %w: %w", err, ErrFailed)
	}
	after := d.sessions()
	d.tell("%s", d.words.same)
	for _, step := range stepOrder {
		if after[step] == "" {
			continue
		}
		mark := "="
		if old, ok := before[step]; ok && old != after[step] {
			return fmt.Errorf("step %s went on in another session: %w", step, ErrFailed)
		} else if !ok {
			mark = "+"
		}
		d.session(mark, step, after[step])
	}
	return nil
}

// session names a step's session, on two lines where one is too narrow: an id is never broken.
func (d *demo) session(mark, step, id string) {
	gap := "  "
	if d.opts.Width < 60 {
		gap = "\n"
	}
	d.tell("%s %s%s%s", mark, text.NewPrinter(text.Lang(d.words.lang)).Say(stepNames[step]), gap, id)
}

func (d *demo) process(ctx context.Context, ask string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, d.opts.Executable)
	cmd.Args = append([]string{d.opts.Arg0}, d.args(ask)...)
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = d.env(), d.typed(ask), d.opts.Out, d.opts.Out
	cmd.WaitDelay = time.Second
	return cmd
}

func (d *demo) args(ask string) []string {
	args := []string{"go", "-w", d.dir, "-r", filepath.Join(d.dir, "runs"), "--judge-can-run", "--lang", cmp.Or(d.opts.Lang, d.words.lang)}
	if ask != "" {
		args = append(args, "--", ask)
	}
	return args
}

// env is the whole environment of a run: nothing of the person's own settings is in it.
func (d *demo) env() []string {
	env := []string{
		"HOME=" + filepath.Dir(d.dir), "XDG_CONFIG_HOME=" + filepath.Join(filepath.Dir(d.dir), "config"),
		"ANTHROPIC_BASE_URL=" + d.url, "ANTHROPIC_API_KEY=" + modeltest.DefaultKey, "NO_PROXY=127.0.0.1",
	}
	for _, e := range d.opts.Environ {
		name, _, _ := strings.Cut(e, "=")
		switch name {
		case "PATH", "TERM", "COLUMNS", "NO_COLOR", "TMPDIR", "GOCOVERDIR":
			env = append(env, e)
		}
	}
	return env
}

// typed is what the person types: without a request on the command line an empty line, which says nothing, and then the
// first option of the first question, words of her own for the second.
func (d *demo) typed(ask string) io.Reader {
	answers := "1\n" + d.words.answer + "\n"
	if ask == "" {
		answers = "\n" + answers
	}
	return strings.NewReader(answers)
}

// sessions reads which step went on in which session.
func (d *demo) sessions() map[string]string {
	var l struct {
		Steps map[string]string `json:"steps"`
	}
	data, err := os.ReadFile(filepath.Join(d.dir, "runs", "lineage.json"))
	if err == nil {
		err = json.Unmarshal(data, &l)
	}
	if err != nil {
		return nil
	}
	return l.Steps
}

// stepOrder are the steps as lineage knows them, in their order, and stepNames their messages.
var (
	stepOrder = []string{"确认需求", "设定目标", "干活"}
	stepNames = map[string]string{"确认需求": "step.clarify", "设定目标": "step.goal", "干活": "step.work"}
)

// end runs what was built and says how to go on.
func (d *demo) end(ctx context.Context, took time.Duration, requests int) error {
	run := exec.CommandContext(ctx, "sh", "count.sh", "sample.txt")
	run.Dir = d.dir
	out, err := run.Output()
	if err != nil {
		return fmt.Errorf("run what was built: %w: %w", err, ErrFailed)
	}
	d.tell("%s", d.words.built)
	d.tell("$ sh count.sh sample.txt\n%s", strings.TrimSpace(string(out)))
	d.tell(d.words.took, took.Round(100*time.Millisecond), requests)
	if d.opts.Keep {
		d.tell(d.words.kept, d.dir)
	}
	d.tell("%s", d.words.real)
	return nil
}

// tell says what is happening, in lines that cannot be mistaken for flower's own.
func (d *demo) tell(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	said := fmt.Sprintf(format, args...)
	var out strings.Builder
	for line := range strings.SplitSeq(strings.TrimRight(said, "\n"), "\n") {
		indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
		for _, piece := range text.Wrap(strings.TrimLeft(line, " "), max(d.opts.Width-len(indent)-len(": "), 20)) {
			out.WriteString(": " + indent + piece + "\n")
		}
	}
	_, _ = io.WriteString(d.opts.Out, out.String())
}

// narrate says once what a kind of request means, when it comes.
func (d *demo) narrate(r *modeltest.Request) {
	name := string(r.Role())
	words, ok := d.words.narration[name]
	d.mu.Lock()
	said := d.said[name]
	d.said[name] = true
	d.mu.Unlock()
	if ok && !said {
		d.tell("%s", words)
	}
}
