package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"flower"
	"flower/agent"
	"flower/internal/text"
	"flower/internal/tui"
)

// desk is a person's side of a run without a run.
type desk struct {
	t      *testing.T
	in     *input
	human  *flower.Human
	events chan flower.Event
	errs   *strings.Builder
	out    *strings.Builder
	done   chan struct{}
}

// newDesk serves lines from r to a human until the test ends.
func newDesk(t *testing.T, r io.Reader, terminal bool) *desk {
	t.Helper()
	d := &desk{t: t, events: make(chan flower.Event, 100), errs: &strings.Builder{}, out: &strings.Builder{}, done: make(chan struct{})}
	a := &app{Printer: text.NewPrinter(text.English), stdio: Stdio{In: r}, out: newScreen(d.out, false), err: newScreen(d.errs, false)}
	d.in = a.newInput()
	d.in.terminal = terminal
	human, err := flower.NewHuman(flower.HumanOptions{
		Workspace: t.TempDir(), Store: flower.NewMemoryStore(""), Timeout: time.Hour,
		Observe: func(ev flower.Event) {
			d.in.follow(ev)
			d.events <- ev
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	d.human = human
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		defer close(d.done)
		d.in.serve(ctx, human, true)
	}()
	t.Cleanup(func() { stop(); <-d.done })
	return d
}

// ask puts a question and returns what the model is told.
func (d *desk) ask(id string, options ...string) string {
	d.t.Helper()
	told, err := d.human.Ask(context.Background(), id, "Which one?", options)
	if err != nil {
		d.t.Fatal(err)
	}
	return told
}

func (d *desk) next() flower.Event {
	d.t.Helper()
	select {
	case ev := <-d.events:
		return ev
	case <-time.After(10 * time.Second):
		d.t.Fatal("nothing happens")
		return nil
	}
}

func TestPipedAnswersWaitForTheirQuestions(t *testing.T) {
	d := newDesk(t, strings.NewReader("2\nmy own \xff words\n\n"), false)
	for i, want := range []string{"blue", "my own \uFFFD words"} {
		if got := d.ask(string(rune('a'+i)), "red", "blue"); got != want {
			t.Errorf("answer %d is %q, want %q", i, got, want)
		}
	}
	d.ask("c", "red")
	d.ask("d", "red")
	<-d.done
	var how []flower.AnswerKind
	for len(d.events) > 0 {
		if s, ok := d.next().(flower.Settled); ok {
			how = append(how, s.How)
		}
	}
	want := []flower.AnswerKind{flower.Given, flower.Given, flower.Skipped, flower.Nobody}
	for i := range want {
		if how[i] != want[i] {
			t.Errorf("question %d ended as %s, want %s", i, how[i], want[i])
		}
	}
	if d.errs.Len() > 0 {
		t.Errorf("somebody who answered is told: %s", d.errs)
	}
}

func TestNobodyFromTheBeginning(t *testing.T) {
	d := newDesk(t, strings.NewReader(""), false)
	<-d.done
	d.ask("a")
	d.next()
	if s := d.next().(flower.Settled); s.How != flower.Nobody {
		t.Errorf("the question ended as %s", s.How)
	}
	if n := strings.Count("\n"+d.errs.String(), "\n! "); n != 1 {
		t.Errorf("%d warnings: %s", n, d.errs)
	}
}

func TestTerminalLines(t *testing.T) {
	r, w := io.Pipe()
	d := newDesk(t, r, true)
	say := func(s string) {
		t.Helper()
		if _, err := io.WriteString(w, s); err != nil {
			t.Fatal(err)
		}
	}
	// Nothing is asked: a remark. An empty line is nothing.
	say("\n")
	say("be quick\r\n")
	if note, ok := d.next().(flower.NoteTaken); !ok || note.Text != "be quick" {
		t.Fatalf("got %#v", note)
	}
	// A question waits: an answer.
	told := make(chan string)
	go func() { told <- d.ask("q", "red", "blue") }()
	if _, ok := d.next().(flower.Asked); !ok {
		t.Fatal("not asked")
	}
	say("2\n")
	if got := <-told; got != "blue" {
		t.Errorf("told %q", got)
	}
	d.next()
	// A line that is asked for goes where it was asked.
	taken, prompted := make(chan string), make(chan struct{})
	var first sync.Once
	d.in.app.out = newScreen(writerFunc(func([]byte) { first.Do(func() { close(prompted) }) }), false)
	go func() {
		said, ok := d.in.ask(context.Background(), "Say something")
		if !ok {
			said = "nobody"
		}
		taken <- said
	}()
	<-prompted // shown when the line is claimed
	say("go on with this\n")
	if got := <-taken; got != "go on with this" {
		t.Errorf("taken %q", got)
	}
	// The end: who asks gets nothing, now and later.
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	<-d.done
	if _, ok := d.in.ask(context.Background(), "Say something"); ok {
		t.Error("a line after the end")
	}
}

func TestLongLines(t *testing.T) {
	lines := make(chan tui.Line, 9)
	whole := strings.Repeat("x", maxRequest)
	readLines(strings.NewReader(whole+"\n"+whole+"yyy\nshort\nlast"), lines)
	close(lines)
	var got []tui.Line
	for l := range lines {
		got = append(got, l)
	}
	if len(got) != 4 || got[0].Text != whole || len(got[1].Text) <= maxRequest || got[2].Text != "short" || got[3].Text != "last" {
		t.Errorf("%d lines", len(got))
	}
}

// An error is an end: a terminal that was closed must not be read for ever.
func TestBrokenInput(t *testing.T) {
	lines := make(chan tui.Line, 9)
	readLines(io.MultiReader(strings.NewReader("one\ntw"), brokenReader{}), lines)
	close(lines)
	var got []string
	for l := range lines {
		got = append(got, l.Text)
	}
	if strings.Join(got, "|") != "one|tw" {
		t.Errorf("got %q", got)
	}
}

type writerFunc func([]byte)

func (f writerFunc) Write(p []byte) (int, error) { f(p); return len(p), nil }

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, syscall.EIO }

func TestSupervise(t *testing.T) {
	newApp := func(signals chan os.Signal) *app {
		return &app{
			Options: Options{Signals: signals}, Printer: text.NewPrinter(text.English),
			out: newScreen(io.Discard, false), err: newScreen(io.Discard, false),
		}
	}
	t.Run("done", func(t *testing.T) {
		failed := errors.New("failed")
		if err := newApp(nil).supervise(func(context.Context, *watch) error { return failed }); !errors.Is(err, failed) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a crash is an error", func(t *testing.T) {
		err := newApp(nil).supervise(func(context.Context, *watch) error { panic("boom") })
		if err == nil || err.Error() != "internal error, a fault of flower: boom" {
			t.Errorf("got %v", err)
		}
	})
	for sig, code := range map[os.Signal]int{os.Interrupt: 130, syscall.SIGTERM: 143, syscall.SIGHUP: 129} {
		t.Run(sig.String(), func(t *testing.T) {
			signals := make(chan os.Signal, 1)
			signals <- sig
			err := newApp(signals).supervise(func(ctx context.Context, _ *watch) error { <-ctx.Done(); return context.Cause(ctx) })
			if got := codeOf(err); got != code {
				t.Errorf("code %d, want %d", got, code)
			}
		})
	}
	t.Run("what does not stop is left behind", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			signals := make(chan os.Signal, 1)
			signals <- syscall.SIGTERM
			began, stuck := time.Now(), make(chan struct{})
			err := newApp(signals).supervise(func(context.Context, *watch) error { <-stuck; return nil })
			if codeOf(err) != 143 || time.Since(began) != stopGrace {
				t.Errorf("%v after %v", err, time.Since(began))
			}
			close(stuck)
		})
	})
}

// fullStore has no room for remarks.
type fullStore struct{ flower.Store }

func (fullStore) AddNote(context.Context, string, agent.Note) error { return agent.ErrNoSpace }

// TestReceiptLines: what is shown of a remark says what has become of it.
func TestReceiptLines(t *testing.T) {
	for _, test := range []struct {
		taken flower.NoteTaken
		want  string
	}{
		{flower.NoteTaken{Text: "in green", InBrief: true}, "+ noted, and added to the requirements: in green\n"},
		{flower.NoteTaken{Text: "in green"}, "+ noted: in green\n"},
		{flower.NoteTaken{Text: "in green", BriefErr: errors.New("read-only")},
			"! noted for the agent, but NOT added to the requirements (read-only): in green\n"},
	} {
		var out strings.Builder
		p := newPrinter(text.NewPrinter(text.English), printOptions{
			screen: newScreen(&out, false), width: func() int { return 100 }, now: time.Now,
		})
		p.Event(test.taken)
		if out.String() != test.want {
			t.Errorf("%+v: %q, want %q", test.taken, &out, test.want)
		}
	}
	// One that could not be kept has no receipt, and a line that says so, with the words to say again.
	var out, errs strings.Builder
	a := &app{Printer: text.NewPrinter(text.English), out: newScreen(&out, false), err: newScreen(&errs, false)}
	human, err := flower.NewHuman(flower.HumanOptions{Workspace: t.TempDir(), Store: fullStore{flower.NewMemoryStore("")}})
	if err != nil {
		t.Fatal(err)
	}
	in := &input{app: a, terminal: true}
	in.fromTerminal(t.Context(), human, tui.Line{Text: "in green"})
	if got := errs.String(); !strings.HasPrefix(got, "! NOT kept, say it again later: in green (") || out.Len() > 0 {
		t.Errorf("%q, %q", got, &out)
	}
}

// What is a command is no remark and no answer, and what only looks like one is.
func TestCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		d := newDesk(t, r, true)
		told := make(chan string, 1)
		go func() { told <- d.ask("q", "one", "two") }()
		synctest.Wait()
		for _, line := range []string{"/help", " /help ", "/new"} {
			if _, err := io.WriteString(w, line+"\n"); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		if got := strings.Count(d.out.String(), "picks an option"); got != 2 {
			t.Errorf("help is shown %d times:\n%s", got, d.out)
		}
		if !strings.Contains(d.errs.String(), "flower --new") {
			t.Errorf("/new says %q", d.errs)
		}
		if _, waits := d.human.Pending(); !waits {
			t.Fatal("a command has answered the question")
		}
		if _, err := io.WriteString(w, "/etc/hosts is wrong\n"); err != nil {
			t.Fatal(err)
		}
		if got := <-told; got != "/etc/hosts is wrong" {
			t.Errorf("the answer is %q", got)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
	})
}

// A line that is taken while the work ends is kept: nobody else knows of it any more.
func TestRemarkTypedAtTheEndIsKept(t *testing.T) {
	r, w := io.Pipe()
	defer func() { _ = w.Close() }()
	d := newDesk(t, r, true)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	d.in.fromTerminal(ctx, d.human, tui.Line{Text: "also blue"})
	if taken, ok := d.next().(flower.NoteTaken); !ok || taken.Text != "also blue" {
		t.Errorf("got %+v, %v", taken, ok)
	}
}
