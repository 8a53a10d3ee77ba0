package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"flower"
	"flower/agent"
)

func testHas(t *testing.T, _ Backend, s flower.Store) {
	ctx := context.Background()
	wantHas(t, s, main, false)
	noErr(t, s.SetPrefix(ctx, main, agent.Prefix{System: "x"}))
	wantHas(t, s, main, false) // nothing was said yet
	noErr(t, s.Append(ctx, main.Sub("1"), Entry("a", "a")))
	wantHas(t, s, main, false)
	wantHas(t, s, main.Sub("1"), true)
	noErr(t, s.Append(ctx, main, Entry("a", "a")))
	wantHas(t, s, main, true)
	wantHas(t, s, agent.Key{Project: project + "x", Session: main.Session}, false)
}

// testWorkspaces: two paths with one project key do not see each other's sessions.
func testWorkspaces(t *testing.T, b Backend, s flower.Store) {
	ctx := context.Background()
	other := b.View(t, s, there)
	t.Cleanup(func() { noErr(t, other.Close()) })
	mine, theirs := main, agent.Key{Project: project, Session: "theirs"}
	prefixed := agent.Key{Project: project, Session: "prefixed"}
	noErr(t, s.Append(ctx, mine, Entry("a", "a")))
	noErr(t, s.Append(ctx, mine.Sub("1"), Entry("a", "a")))
	noErr(t, s.SetPrefix(ctx, prefixed, agent.Prefix{System: "x"}))
	noErr(t, other.Append(ctx, theirs, Entry("a", "a")))
	noErr(t, other.Append(ctx, prefixed, Entry("a", "a"))) // where it was started decides

	for _, test := range []struct {
		store       flower.Store
		key         agent.Key
		has, forked bool
	}{
		{s, mine, true, true},
		{s, mine.Sub("1"), true, true},
		{s, prefixed, true, true},
		{s, theirs, false, false},
		{other, mine, false, false},
		{other, mine.Sub("1"), false, false},
		{other, prefixed, false, false},
		{other, theirs, true, true},
	} {
		wantHas(t, test.store, test.key, test.has)
		to := agent.Key{Project: project, Session: "fork of " + test.key.Session, SubPath: test.key.SubPath}
		err := test.store.Fork(ctx, test.key, to)
		if test.forked != (err == nil) || !test.forked && !errors.Is(err, flower.ErrNoSession) {
			t.Errorf("fork of %s: %v", test.key, err)
		}
		noErr(t, test.store.Delete(ctx, to))
	}
	if list, err := other.Sessions(ctx, project); err != nil || len(list) != 1 || list[0].ID != theirs.Session {
		t.Errorf("the other workspace lists %v, %v", list, err)
	}
	noErr(t, other.Delete(ctx, mine))
	wantIDs(t, s, mine, "a")

	anywhere := b.View(t, s, "")
	t.Cleanup(func() { noErr(t, anywhere.Close()) })
	wantHas(t, anywhere, mine, true)
	wantHas(t, anywhere, theirs, true)
	noErr(t, anywhere.Append(ctx, agent.Key{Project: project, Session: "nowhere"}, Entry("a", "a")))
	wantHas(t, s, agent.Key{Project: project, Session: "nowhere"}, true)
}

func testPrefix(t *testing.T, b Backend, s flower.Store) {
	ctx := context.Background()
	if _, ok, err := s.Prefix(ctx, main); ok || err != nil {
		t.Errorf("a missing session has a prefix: %v %v", ok, err)
	}
	noErr(t, s.Append(ctx, main, Entry("a", "a")))
	if _, ok, err := s.Prefix(ctx, main); ok || err != nil {
		t.Errorf("a session without a prefix has one: %v %v", ok, err)
	}
	prefixes := map[agent.Key]agent.Prefix{
		main: {System: "you <are> & \u2028 \"it\"\n", Tools: []agent.ToolSpec{
			{Name: "Read", Description: "reads a <file>", InputSchema: json.RawMessage("{ \"type\" : \"object\",\n\"b\":1,\"a\":1.0 }")},
			{Name: "Bare"},
			{Name: "Search", Hosted: json.RawMessage(`{ "type":"web_search_20250305", "name":"web_search" }`)},
		}},
		main.Sub("1"): {System: "sub", Definition: "0123456789abcdef"},
		main.Sub("2"): {},
	}
	for key, p := range prefixes {
		noErr(t, s.SetPrefix(ctx, key, p))
		noErr(t, s.SetPrefix(ctx, key, p))
		other := agent.Prefix{System: p.System + " ", Tools: p.Tools}
		if err := s.SetPrefix(ctx, key, other); !errors.Is(err, flower.ErrPrefixDiffers) {
			t.Errorf("another system text: %v", err)
		}
		other = agent.Prefix{System: p.System, Tools: []agent.ToolSpec{{Name: "Write"}}}
		if err := s.SetPrefix(ctx, key, other); !errors.Is(err, flower.ErrPrefixDiffers) {
			t.Errorf("other tools: %v", err)
		}
		other = agent.Prefix{System: p.System, Tools: slices.Clone(p.Tools)}
		for i := range other.Tools {
			other.Tools[i].Hosted = json.RawMessage(`{"type":"another"}`)
		}
		if err := s.SetPrefix(ctx, key, other); len(p.Tools) > 0 && !errors.Is(err, flower.ErrPrefixDiffers) {
			t.Errorf("another tool of the endpoint's: %v", err)
		}
	}
	again := b.View(t, s, here)
	t.Cleanup(func() { noErr(t, again.Close()) })
	for key, want := range prefixes {
		got, ok, err := again.Prefix(ctx, key)
		if err != nil || !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("prefix of %s: %q %v %v, want %q", key, got, ok, err, want)
		}
	}
}

func testFork(t *testing.T, b Backend, s flower.Store) {
	ctx := context.Background()
	to := agent.Key{Project: project + "-new", Session: "fork"}
	noErr(t, s.SetPrefix(ctx, main, agent.Prefix{System: "x"}))
	noErr(t, s.Append(ctx, main, Entries("a", 2)...))
	noErr(t, s.Append(ctx, main.Sub("1"), Entries("b", 3)...))
	noErr(t, s.SetPrefix(ctx, main.Sub("1"), agent.Prefix{System: "y"}))
	noErr(t, s.SetPrefix(ctx, main.Sub("2"), agent.Prefix{System: "z"}))
	noErr(t, s.Append(ctx, agent.Key{Project: project, Session: main.Session + "x"}, Entry("c", "c")))
	noErr(t, s.Fork(ctx, main, to))

	wantIDs(t, s, to, "a0", "a1")
	wantIDs(t, s, to.Sub("1"), "b0", "b1", "b2")
	for key, want := range map[agent.Key]string{to: "x", to.Sub("1"): "y", to.Sub("2"): "z"} {
		if p, ok, err := s.Prefix(ctx, key); err != nil || !ok || p.System != want {
			t.Errorf("prefix of %s: %q %v %v", key, p.System, ok, err)
		}
	}
	for _, key := range []agent.Key{main, main.Sub("1")} {
		was, err := s.Load(ctx, key)
		noErr(t, err)
		is, err := s.Load(ctx, agent.Key{Project: to.Project, Session: to.Session, SubPath: key.SubPath})
		noErr(t, err)
		if !reflect.DeepEqual(was, is) {
			t.Errorf("fork of %s changed %s to %s", key, was, is)
		}
	}

	// From here on they are two, and a uuid from before the fork is known in both.
	noErr(t, s.Append(ctx, to, Entry("a1", "again"), Entry("new", "new")))
	noErr(t, s.Append(ctx, main, Entry("old", "old")))
	wantIDs(t, s, to, "a0", "a1", "new")
	wantIDs(t, s, main, "a0", "a1", "old")
	noErr(t, s.Delete(ctx, main))
	wantIDs(t, s, to, "a0", "a1", "new")

	// The fork was made here.
	other := b.View(t, s, there)
	t.Cleanup(func() { noErr(t, other.Close()) })
	wantHas(t, other, to, false)
	wantHas(t, s, to, true)
}

func testForkRefuses(t *testing.T, _ Backend, s flower.Store) {
	ctx := context.Background()
	key := func(session string) agent.Key { return agent.Key{Project: project, Session: session} }
	noErr(t, s.Append(ctx, key("full"), Entry("a", "a")))
	noErr(t, s.Append(ctx, key("other"), Entry("b", "b")))
	noErr(t, s.Append(ctx, key("only-sub").Sub("1"), Entry("a", "a")))
	noErr(t, s.SetPrefix(ctx, key("only-prefix"), agent.Prefix{}))
	for _, test := range []struct {
		from, to string
		want     error
	}{
		{"missing", "new", flower.ErrNoSession},
		{"only-prefix", "new", flower.ErrNoSession},
		{"only-sub", "new", flower.ErrNoSession},
		{"full", "other", flower.ErrSessionExists},
		{"full", "full", flower.ErrSessionExists},
		{"full", "only-sub", flower.ErrSessionExists},
		{"full", "only-prefix", flower.ErrSessionExists},
	} {
		if err := s.Fork(ctx, key(test.from), key(test.to)); !errors.Is(err, test.want) {
			t.Errorf("fork %s to %s: %v, want %v", test.from, test.to, err, test.want)
		}
	}
	wantIDs(t, s, key("full"), "a")
	wantIDs(t, s, key("other"), "b")
	wantHas(t, s, key("new"), false)
}

func testDelete(t *testing.T, _ Backend, s flower.Store) {
	ctx := context.Background()
	neighbours := []agent.Key{
		{Project: project, Session: main.Session + "0"},
		{Project: project, Session: main.Session + "-"},
		{Project: project, Session: "%"},
		{Project: project + "-", Session: main.Session},
	}
	for _, key := range append(neighbours, main, main.Sub("1"), main.Sub("2")) {
		noErr(t, s.Append(ctx, key, Entry("a", "a")))
		noErr(t, s.SetPrefix(ctx, key, agent.Prefix{System: "x"}))
	}
	noErr(t, s.SetAnswer(ctx, "call", "yes"))
	for range 2 { // the second finds nothing
		noErr(t, s.Delete(ctx, main))
		for _, key := range []agent.Key{main, main.Sub("1"), main.Sub("2")} {
			wantHas(t, s, key, false)
			wantIDs(t, s, key)
			if _, ok, err := s.Prefix(ctx, key); err != nil || ok {
				t.Errorf("prefix of %s: %v %v", key, ok, err)
			}
		}
	}
	for _, key := range neighbours {
		wantIDs(t, s, key, "a")
		if _, ok, err := s.Prefix(ctx, key); err != nil || !ok {
			t.Errorf("prefix of %s: %v %v", key, ok, err)
		}
	}
	if answer, ok, err := s.Answer(ctx, "call"); answer != "yes" || !ok || err != nil {
		t.Errorf("answer %q %v %v", answer, ok, err)
	}
	// The name is free again.
	noErr(t, s.SetPrefix(ctx, main, agent.Prefix{System: "y"}))
	noErr(t, s.Append(ctx, main, Entry("a", "a")))
	wantIDs(t, s, main, "a")
}

func testSessions(t *testing.T, _ Backend, s flower.Store) {
	ctx := context.Background()
	key := func(session string) agent.Key { return agent.Key{Project: project, Session: session} }
	start := time.Now().Truncate(time.Millisecond)
	noErr(t, s.Append(ctx, key("a"), Entries("a", 2)...))
	noErr(t, s.Append(ctx, key("b"), Entry("b", "b")))
	noErr(t, s.Append(ctx, key("c"), Entry("c", "c")))
	noErr(t, s.Append(ctx, key("c").Sub("1"), Entries("d", 5)...))
	noErr(t, s.Append(ctx, key("only-sub").Sub("1"), Entry("d", "d")))
	noErr(t, s.SetPrefix(ctx, key("only-prefix"), agent.Prefix{}))
	for _, p := range []string{project + "-x", project[:len(project)-1], "%", "_home_ada_garden"} {
		noErr(t, s.Append(ctx, agent.Key{Project: p, Session: "elsewhere"}, Entry("d", "d")))
	}
	noErr(t, s.Append(ctx, key("a"), Entry("last", "last")))

	list, err := s.Sessions(ctx, project)
	noErr(t, err)
	var ids []string
	for i, info := range list {
		ids = append(ids, info.ID)
		if i > 0 && !info.Changed.Before(list[i-1].Changed) {
			t.Errorf("%s was not written before %s", info.ID, list[i-1].ID)
		}
		if info.Changed.Before(start) || time.Since(info.Changed) < -time.Second {
			t.Errorf("%s changed at %v", info.ID, info.Changed)
		}
		if want := map[string]int{"a": 3, "b": 1, "c": 1}[info.ID]; info.Entries != want {
			t.Errorf("%s has %d entries, want %d", info.ID, info.Entries, want)
		}
	}
	if want := []string{"a", "c", "b"}; !slices.Equal(ids, want) {
		t.Errorf("sessions %q, want %q", ids, want)
	}
	for _, p := range []string{"", "-", "nothing"} {
		if list, err := s.Sessions(ctx, p); err != nil || len(list) != 0 {
			t.Errorf("project %q has %v, %v", p, list, err)
		}
	}
}

func testNotes(t *testing.T, b Backend, s flower.Store) {
	ctx := context.Background()
	at := time.UnixMilli(1767323045678)
	notes := []agent.Note{
		{ID: "n9", Text: "first\n第一 \x00", At: at},
		{ID: "n1", Text: "second", At: at},
		{ID: "n5", Text: "third", At: at.Add(time.Hour)},
	}
	for _, n := range append(notes, notes[0]) {
		noErr(t, s.AddNote(ctx, project, n))
	}
	noErr(t, s.AddNote(ctx, project, agent.Note{ID: "n1", Text: "another text, the same id", At: at}))
	noErr(t, s.AddNote(ctx, "elsewhere", agent.Note{ID: "e", Text: "bad \xff", At: at.Add(time.Nanosecond)}))
	if err := s.AddNote(ctx, project, agent.Note{Text: "no id"}); err == nil {
		t.Error("a note without id: no error")
	}
	other := b.View(t, s, here)
	t.Cleanup(func() { noErr(t, other.Close()) })
	wantNotes(t, other, project, notes...)
	wantNotes(t, other, "elsewhere", agent.Note{ID: "e", Text: "bad \uFFFD", At: at})
	wantNotes(t, other, "nobody")

	noErr(t, other.MarkDelivered(ctx, "elsewhere", []string{"n9"})) // not theirs
	noErr(t, other.MarkDelivered(ctx, project, nil))
	wantNotes(t, s, project, notes...)
	for range 2 {
		noErr(t, other.MarkDelivered(ctx, project, []string{"n9", "n5", "unknown"}))
		wantNotes(t, s, project, notes[1])
	}
	noErr(t, s.AddNote(ctx, project, notes[0])) // said once, delivered once
	wantNotes(t, s, project, notes[1])
}

func wantNotes(t *testing.T, s flower.Store, project string, want ...agent.Note) {
	t.Helper()
	got, err := s.PendingNotes(context.Background(), project)
	noErr(t, err)
	same := slices.EqualFunc(got, want, func(a, b agent.Note) bool {
		return a.ID == b.ID && a.Text == b.Text && a.At.Equal(b.At)
	})
	if !same {
		t.Errorf("notes %v, want %v", got, want)
	}
}

func testAnswers(t *testing.T, b Backend, s flower.Store) {
	ctx := context.Background()
	if _, ok, err := s.Answer(ctx, "call"); ok || err != nil {
		t.Errorf("an answer nobody gave: %v %v", ok, err)
	}
	if err := s.SetAnswer(ctx, "", "x"); err == nil {
		t.Error("an answer without id: no error")
	}
	noErr(t, s.SetAnswer(ctx, "call", "yes\n好 \xff"))
	noErr(t, s.SetAnswer(ctx, "call", "no"))
	noErr(t, s.SetAnswer(ctx, "skipped", ""))
	other := b.View(t, s, here)
	t.Cleanup(func() { noErr(t, other.Close()) })
	for id, want := range map[string]string{"call": "yes\n好 \uFFFD", "skipped": ""} {
		if got, ok, err := other.Answer(ctx, id); got != want || !ok || err != nil {
			t.Errorf("answer to %s: %q %v %v, want %q", id, got, ok, err, want)
		}
	}
}
