package sqlite

import (
	"context"
	"errors"
	"slices"
	"testing"

	"flower"
	"flower/agent"
	"flower/internal/storetest"
	"flower/transcript"
)

func TestImport(t *testing.T) {
	ctx := context.Background()
	s, path := openNew(t)
	key := agent.Key{Project: "p", Session: "new"}
	twice := storetest.Entries("a", 3)
	threads := map[string][]transcript.Entry{
		"":                    append(twice, twice[1]),
		"subagents/agent-one": storetest.Entries("b", 2),
	}
	noErr(t, s.Import(ctx, key, threads))
	noErr(t, s.Append(ctx, key, storetest.Entry("more", "text")))
	if ids := loadIDs(t, s, key); !slices.Equal(ids, []string{"a0", "a1", "a2", "more"}) {
		t.Errorf("main thread %q", ids)
	}
	if ids := loadIDs(t, s, key.Sub("one")); !slices.Equal(ids, []string{"b0", "b1"}) {
		t.Errorf("subagent %q", ids)
	}
	wantSound(t, s)

	// What is there is not touched, also if it is another workspace's or only a subagent's.
	elsewhere := openAt(t, path, "/elsewhere")
	defer func() { noErr(t, elsewhere.Close()) }()
	noErr(t, s.Append(ctx, agent.Key{Project: "p", Session: "sub"}.Sub("x"), storetest.Entries("c", 1)...))
	for _, id := range []string{"new", "sub"} {
		err := elsewhere.Import(ctx, agent.Key{Project: "p", Session: id}, threads)
		if !errors.Is(err, flower.ErrSessionExists) {
			t.Errorf("%s: %v", id, err)
		}
	}
	if has, err := elsewhere.Has(ctx, key); err != nil || has {
		t.Errorf("the other workspace has it: %v, %v", has, err)
	}

	// Nothing is half there.
	bad := map[string][]transcript.Entry{"": twice, "subagents/": twice}
	if err := s.Import(ctx, agent.Key{Project: "p", Session: "half"}, bad); err == nil {
		t.Error("a bad path was imported")
	}
	if ids := loadIDs(t, s, agent.Key{Project: "p", Session: "half"}); ids != nil {
		t.Errorf("half of a session: %q", ids)
	}
}
