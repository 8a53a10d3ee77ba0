package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"unicode/utf8"

	"flower"
	"flower/agent"
	"flower/transcript"
)

func testAppend(t *testing.T, _ Backend, s flower.Store) {
	ctx := context.Background()
	wantIDs(t, s, main)
	noErr(t, s.Append(ctx, main, Entries("a", 2)...))
	noErr(t, s.Append(ctx, main, Entry("b", "b")))
	noErr(t, s.Append(ctx, main.Sub("7"), Entry("c", "c")))
	wantIDs(t, s, main, "a0", "a1", "b")
	wantIDs(t, s, main.Sub("7"), "c")
	wantIDs(t, s, main.Sub("8"))

	// What was handed out is the caller's.
	stored, err := s.Load(ctx, main)
	noErr(t, err)
	for _, raw := range stored {
		clear(raw)
	}
	wantIDs(t, s, main, "a0", "a1", "b")
}

func testBytes(t *testing.T, _ Backend, s flower.Store) {
	ctx := context.Background()
	lines := []string{
		`{"uuid":"1","type":"system","future":{"b":1, "a" : [ 1.50, 1e3 ]},"x":"<&>"}`,
		`{"type":"user","uuid":"2","note":"\u0000 \ud83d\ude00 \u2028 é","big":123456789012345678901234567890}`,
		"{\"uuid\":\"3\",\n\"type\":\"user\",\"s\":\"\u2028中文\"}",
		`{"uuid":"","type":"user"}`,
		`{"uuid":"","type":"user"}`, // without a uuid there is no telling them apart: both stay
	}
	for _, line := range lines {
		e, err := transcript.ParseEntry([]byte(line))
		noErr(t, err)
		noErr(t, s.Append(ctx, main, e))
	}
	stored, err := s.Load(ctx, main)
	noErr(t, err)
	if len(stored) != len(lines) {
		t.Fatalf("%d entries, want %d", len(stored), len(lines))
	}
	for i, raw := range stored {
		if string(raw) != lines[i] {
			t.Errorf("stored %q, want %q", raw, lines[i])
		}
	}

	// Text that is not text, and a NUL, become JSON all the same.
	noErr(t, s.Append(ctx, main, Entry("4", "bad \xff\xfe and \x00 and <b>")))
	stored, err = s.Tail(ctx, main, 1)
	noErr(t, err)
	if len(stored) != 1 || !json.Valid(stored[0]) || !utf8.Valid(stored[0]) {
		t.Fatalf("stored %q", stored)
	}
	e, err := transcript.ParseEntry(stored[0])
	noErr(t, err)
	if got := e.Message.PlainText(); got != "bad \uFFFD\uFFFD and \x00 and <b>" {
		t.Errorf("text %q", got)
	}
}

func testIdempotent(t *testing.T, _ Backend, s flower.Store) {
	ctx := context.Background()
	a, b, c := Entry("a", "first"), Entry("b", "b"), Entry("c", "c")
	noErr(t, s.Append(ctx, main, a, b))
	before, err := s.Sessions(ctx, project)
	noErr(t, err)
	noErr(t, s.Append(ctx, main, a, b))
	after, err := s.Sessions(ctx, project)
	noErr(t, err)
	if !slices.Equal(before, after) {
		t.Errorf("a repeated append made %v of %v", after, before)
	}
	noErr(t, s.Append(ctx, main, Entry("a", "second"), c, b, c))
	wantIDs(t, s, main, "a", "b", "c")
	stored, err := s.Load(ctx, main)
	noErr(t, err)
	if e, err := transcript.ParseEntry(stored[0]); err != nil || e.Message.PlainText() != "first" {
		t.Errorf("the first entry was replaced: %s", stored[0])
	}

	// A uuid is known per session.
	noErr(t, s.Append(ctx, main.Sub("1"), a))
	wantIDs(t, s, main.Sub("1"), "a")
}

func testAppendNothing(t *testing.T, _ Backend, s flower.Store) {
	noErr(t, s.Append(context.Background(), main))
	wantHas(t, s, main, false)
	if list, err := s.Sessions(context.Background(), project); err != nil || len(list) != 0 {
		t.Errorf("sessions %v %v", list, err)
	}
}

func testBadKeys(t *testing.T, _ Backend, s flower.Store) {
	ctx := context.Background()
	noErr(t, s.Append(ctx, main.Sub("1"), Entry("a", "a")))
	for name, key := range map[string]agent.Key{
		"empty":              {},
		"no project":         {Session: main.Session},
		"no session":         {Project: project},
		"session with slash": {Project: project, Session: main.Session + "/subagents/agent-1"},
		"project with slash": {Project: project + "/" + main.Session, Session: "subagents", SubPath: "agent-1"},
		"nul":                {Project: project, Session: "a\x00b"},
		"not utf-8":          {Project: project, Session: "a\xff"},
	} {
		if err := s.Append(ctx, key, Entry("a", "a")); err == nil {
			t.Errorf("%s: append: no error", name)
		}
		if err := s.SetPrefix(ctx, key, agent.Prefix{}); err == nil {
			t.Errorf("%s: set prefix: no error", name)
		}
		if err := s.Fork(ctx, main.Sub("1"), key); err == nil {
			t.Errorf("%s: fork: no error", name)
		}
		wantHas(t, s, key, false)
		wantIDs(t, s, key)
		if tail, err := s.Tail(ctx, key, 1); err != nil || len(tail) != 0 {
			t.Errorf("%s: tail %v %v", name, tail, err)
		}
		if _, ok, err := s.Prefix(ctx, key); err != nil || ok {
			t.Errorf("%s: prefix %v %v", name, ok, err)
		}
		noErr(t, s.Delete(ctx, key))
	}
	wantIDs(t, s, main.Sub("1"), "a")
}

func testTail(t *testing.T, _ Backend, s flower.Store) {
	ctx := context.Background()
	noErr(t, s.Append(ctx, main, Entries("e", 12)...))
	for _, test := range []struct {
		n    int
		want []string
	}{
		{-1, nil},
		{0, nil},
		{1, []string{"e11"}},
		{3, []string{"e9", "e10", "e11"}},
	} {
		stored, err := s.Tail(ctx, main, test.n)
		noErr(t, err)
		if got := UUIDs(t, stored); !slices.Equal(got, test.want) {
			t.Errorf("Tail(%d) = %q, want %q", test.n, got, test.want)
		}
	}
	if stored, err := s.Tail(ctx, main, 100); err != nil || len(stored) != 12 {
		t.Errorf("%d entries, %v, want all 12", len(stored), err)
	}
	if stored, err := s.Tail(ctx, main.Sub("none"), 5); err != nil || len(stored) != 0 {
		t.Errorf("a missing session ends in %q, %v", stored, err)
	}
}

func ids(entries []transcript.Entry) (ids []string) {
	for _, e := range entries {
		ids = append(ids, e.UUID)
	}
	return ids
}

func testConcurrent(t *testing.T, _ Backend, s flower.Store) {
	const writers, each = 8, 10
	ctx := context.Background()
	var wait sync.WaitGroup
	for w := range writers {
		wait.Go(func() {
			for i, e := range Entries(fmt.Sprintf("w%d-", w), each) {
				if err := s.Append(ctx, main, e, Entry("shared", "shared")); err != nil {
					t.Error(err)
				}
				if err := s.Append(ctx, main.Sub(fmt.Sprint(w)), e); err != nil {
					t.Error(err)
				}
				// A writer sees its own writes at once.
				if own, err := s.Load(ctx, main.Sub(fmt.Sprint(w))); err != nil || len(own) != i+1 {
					t.Errorf("%d entries %v, want %d", len(own), err, i+1)
				}
			}
		})
	}
	wait.Wait()
	stored, err := s.Load(ctx, main)
	noErr(t, err)
	seen := map[string]int{}
	for _, id := range UUIDs(t, stored) {
		var w, i int
		if _, err := fmt.Sscanf(id, "w%d-%d", &w, &i); err == nil {
			if want := seen[fmt.Sprint(w)]; i != want {
				t.Errorf("writer %d: entry %d came when %d was due", w, i, want)
			}
			seen[fmt.Sprint(w)]++
		}
	}
	if len(stored) != writers*each+1 {
		t.Errorf("%d entries, want %d", len(stored), writers*each+1)
	}
}

// testOutcomes: of writes at the same time each is told how it went itself. One that is refused, and one whose caller has
// gone, take no other with them and leave nothing.
func testOutcomes(t *testing.T, _ Backend, s flower.Store) {
	const writers, each = 12, 8
	ctx := context.Background()
	noErr(t, s.SetPrefix(ctx, main, agent.Prefix{System: "the first"}))
	gone, cancel := context.WithCancel(ctx)
	cancel()
	var wait sync.WaitGroup
	for w := range writers {
		key := main.Sub(fmt.Sprint(w))
		wait.Go(func() {
			for i, e := range Entries("e", each) {
				call := fmt.Sprintf("call-%d", i)
				switch w % 4 {
				case 0:
					if err := s.SetPrefix(ctx, main, agent.Prefix{System: call}); !errors.Is(err, flower.ErrPrefixDiffers) {
						t.Errorf("another prefix: %v", err)
					}
				case 1:
					if err := s.Append(gone, key, e); !errors.Is(err, context.Canceled) {
						t.Errorf("append under a context that has ended: %v", err)
					}
				case 2:
					if err := errors.Join(s.Begin(ctx, key, call), s.SetAnswer(ctx, key.String()+call, call)); err != nil {
						t.Error(err)
					}
				default:
					if err := s.Append(ctx, key, e); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wait.Wait()
	for w := range writers {
		key := main.Sub(fmt.Sprint(w))
		var want []string
		if w%4 == 3 {
			want = ids(Entries("e", each))
		}
		wantIDs(t, s, key, want...)
		open, err := s.OpenCalls(ctx, key)
		noErr(t, err)
		if begun := w%4 == 2; begun && len(open) != each || !begun && len(open) > 0 {
			t.Errorf("writer %d: %d calls begun", w, len(open))
		}
		for i := range each {
			call := fmt.Sprintf("call-%d", i)
			answer, ok, err := s.Answer(ctx, key.String()+call)
			if noErr(t, err); ok != (w%4 == 2) || ok && answer != call {
				t.Errorf("writer %d: answer %d is %q, %v", w, i, answer, ok)
			}
		}
	}
	if p, ok, err := s.Prefix(ctx, main); err != nil || !ok || p.System != "the first" {
		t.Errorf("prefix %q %v %v", p.System, ok, err)
	}
}

func testCancelled(t *testing.T, _ Backend, s flower.Store) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.Append(ctx, main, Entry("a", "a")); err == nil {
		t.Error("append: no error")
	}
	if _, err := s.Load(ctx, main); err == nil {
		t.Error("load: no error")
	}
	wantHas(t, s, main, false)
}

func testClosed(t *testing.T, b Backend, _ flower.Store) {
	ctx := context.Background()
	s := b.New(t, here)
	noErr(t, s.Append(ctx, main, Entry("a", "a")))
	noErr(t, s.Close())
	noErr(t, s.Close())
	for name, call := range map[string]func() error{
		"append":     func() error { return s.Append(ctx, main, Entry("b", "b")) },
		"load":       func() error { _, err := s.Load(ctx, main); return err },
		"tail":       func() error { _, err := s.Tail(ctx, main, 1); return err },
		"has":        func() error { _, err := s.Has(ctx, main); return err },
		"prefix":     func() error { _, _, err := s.Prefix(ctx, main); return err },
		"set prefix": func() error { return s.SetPrefix(ctx, main, agent.Prefix{}) },
		"fork":       func() error { return s.Fork(ctx, main, main.Sub("x")) },
		"delete":     func() error { return s.Delete(ctx, main) },
		"sessions":   func() error { _, err := s.Sessions(ctx, project); return err },
		"notes":      func() error { _, err := s.PendingNotes(ctx, project); return err },
		"add note":   func() error { return s.AddNote(ctx, project, agent.Note{ID: "1"}) },
		"delivered":  func() error { return s.MarkDelivered(ctx, project, []string{"1"}) },
		"answer":     func() error { _, _, err := s.Answer(ctx, "1"); return err },
		"set answer": func() error { return s.SetAnswer(ctx, "1", "a") },
	} {
		if call() == nil {
			t.Errorf("%s: a closed store gave no error", name)
		}
	}
}
