package flower

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"flower/agent"
	"flower/document"
	"flower/internal/workbench"
)

// person is a Human with what it told.
type person struct {
	*Human
	w *world

	mu   sync.Mutex
	told []Event
}

func newPerson(t *testing.T, w *world, opts HumanOptions) *person {
	t.Helper()
	p := &person{w: w}
	opts.Workspace, opts.Store, opts.Now = w.dir, w.store, w.now
	opts.Observe = func(ev Event) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.told = append(p.told, ev)
	}
	h, err := NewHuman(opts)
	if err != nil {
		t.Fatal(err)
	}
	p.Human = h
	return p
}

// settled are the ends of questions, in order.
func (p *person) settled() []Settled {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []Settled
	for _, ev := range p.told {
		if s, ok := ev.(Settled); ok {
			list = append(list, s)
		}
	}
	return list
}

// answer waits for the next question and answers it.
func (p *person) answer(t *testing.T, text string) {
	t.Helper()
	synctest.Wait()
	q, ok := p.Pending()
	if !ok || !p.Answer(q.ID, text) {
		t.Errorf("nobody waits for %q", text)
	}
	if p.Answer(q.ID, "again") {
		t.Error("answered twice")
	}
}

func TestAnswers(t *testing.T) {
	for _, test := range []struct {
		said, told string
		how        AnswerKind
	}{
		{"2", "blue", Given},
		{" 1\n", "red", Given},
		{"２", "blue", Given},
		{"3", "3", Given}, // no such option: the person's own word
		{"0", "0", Given},
		{"-1", "-1", Given},
		{"the second, but darker", "the second, but darker", Given},
		{"2,1", "blue\nred", Given}, // several
		{"１、 2", "red\nblue", Given},
		{"1,", "red", Given},
		{"1,3", "1,3", Given},
		{"1,1", "1,1", Given},
		{"1 2", "1 2", Given},
		{",", ",", Given},
		{"a\xffb", "a\uFFFDb", Given},
		{"", say(English, "answer.skipped", nil), Skipped},
		{" \t", say(English, "answer.skipped", nil), Skipped},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := newPerson(t, newWorld(t), HumanOptions{})
			go p.answer(t, test.said)
			told, err := p.Ask(t.Context(), "call", "Which?", []string{"red", "blue"})
			if err != nil || told != test.told {
				t.Errorf("%q: told %q, %v", test.said, told, err)
			}
			if s := p.settled(); len(s) != 1 || s[0].How != test.how || s[0].Question.Text != "Which?" {
				t.Errorf("%q: %+v", test.said, s)
			}
			if _, waits := p.Pending(); waits {
				t.Error("still waits")
			}
			synctest.Wait()
		})
	}
}

func TestNobodyAnswers(t *testing.T) {
	for _, test := range []struct {
		name  string
		opts  HumanOptions
		leave bool
		how   AnswerKind
		waits time.Duration
	}{
		{"timeout", HumanOptions{Timeout: time.Minute}, false, TimedOut, time.Minute},
		{"the default", HumanOptions{}, false, TimedOut, DefaultAnswerTimeout},
		{"no waiting", HumanOptions{Timeout: -1}, false, TimedOut, 0},
		{"gone", HumanOptions{}, true, Nobody, 0},
		{"none allowed", HumanOptions{MaxQuestions: -1}, false, OverMax, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				p := newPerson(t, w, test.opts)
				if test.leave {
					p.Leave()
					p.Leave()
				}
				began := time.Now()
				told, err := p.Ask(t.Context(), "call", "Which?", nil)
				if err != nil || !strings.Contains(told, "assumption") || time.Since(began) != test.waits {
					t.Errorf("told %q after %s, %v", told, time.Since(began), err)
				}
				if s := p.settled(); len(s) != 1 || s[0].How != test.how || s[0].Answer != "" {
					t.Errorf("%+v", s)
				}
				if _, waits := p.Pending(); waits {
					t.Error("still waits")
				}
				if p.Answer("call", "late") {
					t.Error("a late answer was taken")
				}
				// That nobody was there is not remembered: somebody may be there next time.
				if _, kept, _ := w.store.Answer(t.Context(), "call"); kept {
					t.Error("kept")
				}
				in(t, "log", w.note(workbench.QuestionLog), "Which?", "> ("+string(test.how)+")")
			})
		})
	}
}

// TestLeavingSettlesWhatWaits: the terminal closes while questions wait.
func TestLeavingSettlesWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPerson(t, newWorld(t), HumanOptions{})
		var all sync.WaitGroup
		for i := range 3 {
			all.Go(func() {
				if told, err := p.Ask(t.Context(), fmt.Sprint(i), "Which?", nil); err != nil || told != say("", "answer.nobody", nil) {
					t.Errorf("%q, %v", told, err)
				}
			})
		}
		synctest.Wait()
		p.Leave()
		all.Wait()
		if _, waits := p.Pending(); waits {
			t.Error("still waits")
		}
	})
}

func TestQuotaIsCountedByCalls(t *testing.T) {
	w := newWorld(t)
	p := newPerson(t, w, HumanOptions{Timeout: -1, MaxQuestions: 2, Lang: Chinese})
	for _, step := range []struct {
		call string
		how  AnswerKind
	}{{"a", TimedOut}, {"a", TimedOut}, {"b", TimedOut}, {"c", OverMax}, {"b", TimedOut}, {"d", OverMax}} {
		told, err := p.Ask(t.Context(), step.call, "Which?", nil)
		if err != nil {
			t.Fatal(err)
		}
		s := p.settled()
		if s[len(s)-1].How != step.how {
			t.Errorf("%s: %s, told %q", step.call, s[len(s)-1].How, told)
		}
		if step.how == OverMax {
			in(t, "told", told, "2")
		}
	}
	// What flower itself has to decide is not counted.
	if _, how, err := p.Decide(t.Context(), "x", "Go on?", nil); how != TimedOut || err != nil {
		t.Errorf("%s, %v", how, err)
	}
}

// TestParallelQuestionsKeepTheirOrder: the order told is the order in which they are answered.
func TestParallelQuestionsKeepTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPerson(t, newWorld(t), HumanOptions{})
		const n = 20
		var all sync.WaitGroup
		for i := range n {
			all.Go(func() {
				id := fmt.Sprint(i)
				if told, err := p.Ask(t.Context(), id, "Which?", nil); err != nil || told != "answer to "+id {
					t.Errorf("%s: told %q, %v", id, told, err)
				}
			})
		}
		synctest.Wait()
		var order []string
		for _, ev := range p.told {
			order = append(order, ev.(Asked).Question.ID)
		}
		for _, id := range order {
			q, _ := p.Pending()
			if q.ID != id {
				t.Errorf("%s is next, told was %s", q.ID, id)
			}
			p.Answer(q.ID, "answer to "+q.ID)
		}
		all.Wait()
		if len(order) != n {
			t.Errorf("%d told", len(order))
		}
	})
}

func TestAnswersAreRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		p := newPerson(t, w, HumanOptions{})
		for _, said := range []string{"red", ""} {
			go p.answer(t, said)
			first, err := p.Ask(t.Context(), "call "+said, "Which?", nil)
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			next := newPerson(t, w, HumanOptions{MaxQuestions: -1}) // another process; nothing is asked
			second, err := next.Ask(t.Context(), "call "+said, "Which?", nil)
			if err != nil || second != first || len(next.told) != 0 {
				t.Errorf("%q: told %q then %q, %v", said, first, second, err)
			}
		}
	})
}

func TestCancelledQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		p := newPerson(t, w, HumanOptions{})
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() { synctest.Wait(); cancel(errBroken) }()
		if _, err := p.Ask(ctx, "call", "Which?", nil); !errors.Is(err, errBroken) {
			t.Error(err)
		}
		if _, waits := p.Pending(); waits || len(p.settled()) != 0 || w.note(workbench.QuestionLog) != "" {
			t.Error("the question is not gone")
		}
		// Answered at the same moment: what was taken counts, and is kept for the run that asks again.
		ctx, cancel = context.WithCancelCause(t.Context())
		go func() {
			synctest.Wait()
			p.Answer("call 2", "red")
			cancel(errBroken)
		}()
		if told, err := p.Ask(ctx, "call 2", "Which?", nil); err != nil || told != "red" {
			t.Errorf("%q, %v", told, err)
		}
		if kept, ok, _ := w.store.Answer(t.Context(), "call 2"); !ok || kept != "red" {
			t.Errorf("kept %q", kept)
		}
	})
}

func TestQuestionLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
		w.now = func() time.Time { return at }
		p := newPerson(t, w, HumanOptions{})
		go p.answer(t, "2")
		if _, err := p.Ask(t.Context(), "a", "Which colour?\n", []string{"red", "blue"}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		go p.answer(t, "two\nlines")
		if _, _, err := p.Decide(t.Context(), "b", "Why?", nil); err != nil {
			t.Fatal(err)
		}
		want := "## 2026-03-04 05:06:07\n\nWhich colour?\n1. red\n2. blue\n\n> blue\n\n## 2026-03-04 05:06:07\n\nWhy?\n\n> two\n> lines\n\n"
		if got := w.note(workbench.QuestionLog); got != want {
			t.Errorf("log:\n%s\nwant:\n%s", got, want)
		}
	})
}

// brief is a frozen brief for tests.
var brief = document.Brief{Goal: "a clock", Accept: "`./clock` prints the time", Bounds: "no network", Unknowns: "none"}

func TestSay(t *testing.T) {
	w := newWorld(t)
	at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.Local)
	w.now = func() time.Time { return at }
	p := newPerson(t, w, HumanOptions{})
	say := func(text string, inBrief bool) {
		t.Helper()
		p.told = nil
		if err := p.Say(t.Context(), text); err != nil {
			t.Fatal(err)
		}
		if len(p.told) != 1 || p.told[0] != (NoteTaken{Text: strings.TrimSpace(text), InBrief: inBrief}) {
			t.Errorf("%q: told %+v", text, p.told)
		}
	}
	say("before there is a brief", false)
	if w.note(workbench.Brief) != "" {
		t.Error("a remark made a brief")
	}
	w.writeNote(workbench.Brief, brief.Markdown())
	say("  in green\n", true)
	say("in green", true) // there already
	want := brief.Markdown() + "\n## 运行中补充(05:06:07)\nin green\n"
	if got := w.note(workbench.Brief); got != want {
		t.Errorf("brief:\n%s\nwant:\n%s", got, want)
	}
	if err := os.Remove(workbench.Open(w.dir).NotePath(workbench.Brief)); err != nil {
		t.Fatal(err)
	}
	say("where the brief is gone", false)

	p.told = nil
	if err := p.Say(t.Context(), " \n"); err != nil || len(p.told) != 0 {
		t.Errorf("nothing said: %+v, %v", p.told, err)
	}

	// Another process takes them, in order.
	next := newPerson(t, w, HumanOptions{})
	if got, err := next.Inbox(t.Context()); err != nil || got != "4 new remarks; they follow." {
		t.Errorf("inbox %q, %v", got, err)
	}
	box := inbox{w.store, ProjectKey(w.dir), English}
	notes, err := box.Take(t.Context())
	if err != nil || len(notes) != 4 {
		t.Fatalf("%d notes, %v", len(notes), err)
	}
	for i, words := range []string{"before", "in green", "in green", "where"} {
		in(t, "note", notes[i].Text, words, "05:06:07")
	}
	if err := box.Delivered(t.Context(), notes[:3]); err != nil {
		t.Fatal(err)
	}
	if notes, err := box.Take(t.Context()); err != nil || len(notes) != 1 {
		t.Errorf("%d notes left, %v", len(notes), err)
	}
	if got, err := next.Inbox(t.Context()); err != nil || got != "One new remark; it follows." {
		t.Errorf("inbox %q, %v", got, err)
	}
	if err := box.Delivered(t.Context(), notes); err != nil {
		t.Fatal(err)
	}
	if got, err := next.Inbox(t.Context()); err != nil || got != "Nothing new from the person." {
		t.Errorf("inbox %q, %v", got, err)
	}
}

// TestReceipts: what the person is told of a remark is true, whatever could not be done with it.
func TestReceipts(t *testing.T) {
	briefPath := func(w *world) string { return workbench.Open(w.dir).NotePath(workbench.Brief) }
	frozen := func(_ *testing.T, w *world) { w.writeNote(workbench.Brief, brief.Markdown()) }
	for _, test := range []struct {
		name     string
		at       func(*testing.T, *world)
		lost     error // of the store; nil: kept
		inBrief  bool
		briefErr bool
	}{
		{name: "all is well", at: frozen, inBrief: true},
		{name: "no brief yet", at: func(*testing.T, *world) {}},
		{name: "store broken", at: frozen, lost: errBroken},
		{name: "store full", at: frozen, lost: agent.ErrNoSpace},
		{name: "brief is a directory", at: func(t *testing.T, w *world) {
			if err := os.MkdirAll(briefPath(w), 0o755); err != nil {
				t.Fatal(err)
			}
		}, briefErr: true},
		{name: "brief is a pipe", at: func(t *testing.T, w *world) {
			if err := errors.Join(os.MkdirAll(filepath.Dir(briefPath(w)), 0o755), syscall.Mkfifo(briefPath(w), 0o600)); err != nil {
				t.Fatal(err)
			}
		}, briefErr: true},
		{name: "notes cannot be written", at: func(t *testing.T, w *world) {
			frozen(t, w)
			noLock(t, w)
		}, briefErr: true},
		{name: "no brief, and it could not be written", at: noLock},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			test.at(t, w)
			store := w.store
			if test.lost != nil {
				w.store = failingInbox{w.store, test.lost}
			}
			p := newPerson(t, w, HumanOptions{})
			err := p.Say(t.Context(), "in green")
			if !errors.Is(err, test.lost) || (err == nil) != (test.lost == nil) {
				t.Errorf("said with %v", err)
			}
			waiting, failed := store.PendingNotes(t.Context(), ProjectKey(w.dir))
			if failed != nil || len(waiting) != len(p.told) || (len(p.told) == 1) != (test.lost == nil) {
				t.Fatalf("%d receipts, %d remarks kept, %v", len(p.told), len(waiting), failed)
			}
			if len(p.told) == 0 {
				notIn(t, "brief", w.note(workbench.Brief), "in green")
				return
			}
			got := p.told[0].(NoteTaken)
			if got.InBrief != test.inBrief || (got.BriefErr != nil) != test.briefErr {
				t.Errorf("told %+v", got)
			}
			if info, err := os.Stat(briefPath(w)); err == nil && info.Mode().IsRegular() {
				if is := strings.Contains(w.note(workbench.Brief), "in green"); is != got.InBrief {
					t.Errorf("in the brief: %v, told %+v", is, got)
				}
			}
		})
	}
}

// noLock leaves no place for the lock under which documents are changed: none can be.
func noLock(t *testing.T, w *world) {
	t.Helper()
	spill := workbench.Open(w.dir).SpillDir()
	err := errors.Join(os.RemoveAll(spill), os.MkdirAll(filepath.Dir(spill), 0o755), os.WriteFile(spill, nil, 0o600))
	if err != nil {
		t.Fatal(err)
	}
}

// failingInbox is a store that cannot take remarks.
type failingInbox struct {
	Store
	err error
}

func (f failingInbox) AddNote(context.Context, string, agent.Note) error { return f.err }

// fragile is a store whose inbox or answers cannot be written.
type fragile struct{ Store }

func (fragile) AddNote(context.Context, string, agent.Note) error          { return errBroken }
func (fragile) SetAnswer(context.Context, string, string) error            { return errBroken }
func (fragile) PendingNotes(context.Context, string) ([]agent.Note, error) { return nil, errBroken }

func TestHumanWithoutDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.writeNote(workbench.Brief, brief.Markdown())
		w.store = fragile{w.store}
		p := newPerson(t, w, HumanOptions{})
		if err := p.Say(t.Context(), "hello"); !errors.Is(err, errBroken) || len(p.told) != 0 {
			t.Errorf("said without being durable: %v", err)
		}
		notIn(t, "brief", w.note(workbench.Brief), "hello")
		go p.answer(t, "red")
		if _, err := p.Ask(t.Context(), "call", "Which?", nil); !errors.Is(err, errBroken) {
			t.Error(err)
		}
		if _, err := p.Inbox(t.Context()); !errors.Is(err, errBroken) {
			t.Error(err)
		}
		synctest.Wait()
	})
	if _, err := NewHuman(HumanOptions{}); err == nil {
		t.Error("no store, no error")
	}
	if _, err := NewHuman(HumanOptions{Store: NewMemoryStore(""), Workspace: "/does/not/exist"}); err == nil {
		t.Error("no workspace, no error")
	}
}

// TestBlockedLog: a question log that cannot be written stops nothing.
func TestBlockedLog(t *testing.T) {
	w := newWorld(t)
	if err := os.MkdirAll(workbench.Open(w.dir).NotePath(workbench.QuestionLog), 0o755); err != nil {
		t.Fatal(err)
	}
	p := newPerson(t, w, HumanOptions{Timeout: -1})
	if _, err := p.Ask(t.Context(), "call", "Which?", nil); err != nil {
		t.Error(err)
	}
}

// An answer whose process was killed before it could write it into the log is written there by the next one, once.
func TestQuestionLogAfterACrash(t *testing.T) {
	for kept, logged := range map[string]string{"blue\nor red": "> blue\n> or red\n", "": "> (skipped)\n"} {
		w := newWorld(t)
		h := newPerson(t, w, HumanOptions{})
		answer := kept
		if answer == "" {
			answer = h.Human.told("", Skipped)
		}
		must(t, w.store.SetAnswer(t.Context(), "c1", answer))
		for range 2 {
			if got, err := h.Ask(t.Context(), "c1", "Which colour?", []string{"blue"}); err != nil || got != answer {
				t.Fatalf("%q, %v", got, err)
			}
		}
		log, _, err := h.bench.ReadNote(workbench.QuestionLog)
		must(t, err)
		if strings.Count(log, "Which colour?") != 1 || strings.Count(log, logged) != 1 || !strings.HasPrefix(log, "## ") {
			t.Errorf("the log:\n%s", log)
		}
	}
}
