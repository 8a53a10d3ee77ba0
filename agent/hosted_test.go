package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"flower"
	"flower/agent"
	"flower/messages"
	"flower/modeltest"
	"flower/sqlite"
	"flower/transcript"
)

// What stands here runs the endpoint's own search against a server that refuses what is not sent back as it came.

const searchName = "Search"

// searching is a toolbox with a search that the endpoint runs, and a tool of our own.
func searching(offered bool) agent.Toolbox {
	return boxFunc(func(spec agent.Spec, env agent.Env) ([]agent.Tool, error) {
		list := []agent.Tool{tool("look", true, say("seen"))(env)}
		if offered {
			list = append(list, agent.Tool{ToolSpec: agent.ToolSpec{Name: searchName, Hosted: json.RawMessage(`{"type":"web_search_20250305","name":"web_search","max_uses":3}`)}})
		}
		return list, nil
	})
}

type boxFunc func(agent.Spec, agent.Env) ([]agent.Tool, error)

func (f boxFunc) Tools(s agent.Spec, e agent.Env) ([]agent.Tool, error) { return f(s, e) }

var (
	searcher = agent.Spec{Name: "s", Instructions: "sys", Tools: []string{"look", searchName}, Thinking: true}
	wheat    = modeltest.Found{Title: "Wheat & rye", URL: "https://grain.example/wheat?a=1&b=<2>"}
	oats     = modeltest.Found{Title: "Oats", URL: "https://grain.example/oats"}
)

// searchPlayer searches in many ways, by what it is asked for.
var searchPlayer = modeltest.PlayerFunc(func(r *modeltest.Request) modeltest.Reply {
	cat := func(lists ...any) modeltest.Reply {
		var all []transcript.Block
		for _, l := range lists {
			switch l := l.(type) {
			case transcript.Block:
				all = append(all, l)
			case []transcript.Block:
				all = append(all, l...)
			}
		}
		return modeltest.Answer(all...)
	}
	last := r.Messages[len(r.Messages)-1]
	prompt, turn := r.Prompt(), r.Turn()
	prompt = prompt[strings.LastIndexByte(prompt, '\n')+1:]
	switch {
	case last.Role == transcript.RoleAssistant && last.Content[len(last.Content)-1].Type == transcript.TypeServerToolUse:
		return cat(modeltest.SearchEnded(r, oats), modeltest.Cited("Oats, then.", oats))
	case last.Role == transcript.RoleAssistant:
		return modeltest.Say("the rest")
	case prompt == "search":
		return cat(modeltest.Think("hm"), modeltest.Search("wheat", wheat, oats), modeltest.Think("found"), modeltest.Text(" "), modeltest.Text("It is "), modeltest.Cited("wheat", wheat), modeltest.Text(", and oats."))
	case prompt == "search and look" && turn == 0:
		return cat(modeltest.Think("both"), modeltest.Search("wheat", wheat), modeltest.Call("look", nil), modeltest.Call("look", map[string]int{"n": 1}))
	case prompt == "fail":
		return cat(modeltest.SearchFailed("wheat", "max_uses_exceeded"), modeltest.Text("Nothing."))
	case prompt == "pause":
		return cat(modeltest.Think("long"), modeltest.Search("wheat", wheat), modeltest.SearchBegun("oats")).Stopping("pause_turn")
	case prompt == "pause with words":
		return cat(modeltest.Search("wheat", wheat), modeltest.Text("So far: ")).Stopping("pause_turn")
	case prompt == "cut":
		return cat(modeltest.Text("I look. "), modeltest.SearchBegun("wheat")).Stopping("max_tokens")
	}
	return cat(modeltest.Think("end"), modeltest.Text("done"))
})

// searchServer is a server whose thinking is bound to all that stands before it.
func searchServer(t *testing.T, o modeltest.Options) *modeltest.Server {
	o.Player, o.BindThinking = searchPlayer, true
	if o.NoSearch != modeltest.NotRefused {
		o.Allow = func(p modeltest.Problem) bool { return p.Kind == modeltest.KindSearch }
	}
	return modeltest.Start(t, o)
}

// hostedProcess is one process of a session that goes on in the store.
func hostedProcess(t *testing.T, server *modeltest.Server, store flower.Store, offered bool) *agent.Engine {
	t.Helper()
	return startProcess(t, processOptions{on: &process{server: server, store: store}, engine: agent.Options{Toolbox: searching(offered), Price: messages.Cost}}).engine
}

// bytesOf are the blocks of a type in a message, as they are written.
func bytesOf(t *testing.T, m transcript.Message, types ...string) []string {
	t.Helper()
	var list []string
	for _, b := range m.Content {
		if slices.Contains(types, b.Type) {
			raw, err := b.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, string(raw))
		}
	}
	return list
}

// TestSearchesGoBackAsTheyCame: an answer with searches is stored whole and sent back block for block, in the same process
// and in each that comes after; the server refuses everything else.
func TestSearchesGoBackAsTheyCame(t *testing.T) {
	server := searchServer(t, modeltest.Options{})
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "s.db"), sqlite.Options{Workspace: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	prompts := []string{"search", "search and look", "fail", "pause", "pause with words", "cut", "search", "more"}
	for i, prompt := range prompts {
		engine := hostedProcess(t, server, store, true)
		for range 1 + i%2 { // now and then two in one process
			events, result, err := run(t, engine, agent.Request{Key: key, Spec: searcher, Prompt: prompt})
			if err != nil {
				t.Fatalf("%s: %v", prompt, err)
			}
			for _, ev := range events {
				if _, is := ev.(agent.Withdrawn); is {
					t.Errorf("%s: %+v", prompt, ev)
				}
			}
			if prompt == "pause" {
				var queries []string
				for _, ev := range events {
					if a, is := ev.(agent.Answered); is {
						for _, s := range a.Searches {
							queries = append(queries, fmt.Sprint(s.Query, len(s.Results)))
						}
					}
				}
				if fmt.Sprint(queries) != "[wheat1 oats1]" {
					t.Errorf("it tells of %v", queries)
				}
			}
			if prompt == "pause" && result.Text != "Oats, then." {
				t.Errorf("pause ends with %q", result.Text)
			}
		}
	}
	records := server.Requests()
	end := records[len(records)-1]
	types := []string{transcript.TypeServerToolUse, transcript.TypeWebSearchResult}
	count := map[string]int{}
	for _, m := range end.Messages {
		for _, typ := range types {
			count[typ] += len(bytesOf(t, m, typ))
		}
	}
	if count[types[0]] != 10 || count[types[1]] != 10 {
		t.Errorf("%v are in the last request", count)
	}
	if n := strings.Count(string(end.Body), `"encrypted_index"`); n != 4 {
		t.Errorf("%d citations in the last request", n)
	}
	// What was said once is in the last request with all its bytes.
	for _, rec := range records {
		for _, want := range bytesOf(t, rec.Message, types[1]) {
			if !strings.Contains(string(end.Body), want) {
				t.Errorf("changed on its way: %s", want)
			}
		}
	}
}

// TestSearchesCost: searches that worked are counted and priced, stored with the answer, and stop a run at its budget.
func TestSearchesCost(t *testing.T) {
	server := searchServer(t, modeltest.Options{})
	store := flower.NewMemoryStore("/w")
	engine := hostedProcess(t, server, store, true)
	for prompt, want := range map[string]int{"search": 1, "fail": 0, "pause": 2} {
		_, result, err := run(t, engine, agent.Request{Key: agent.Key{Project: "-w", Session: prompt}, Spec: searcher, Prompt: prompt})
		u := result.Usage
		u.Searches = 0
		tokens, _ := messages.Cost("claude-opus-5-5", u)
		if got := result.CostUSD - tokens; err != nil || result.Usage.Searches != want || got < 0.0099*float64(want) || got > 0.0101*float64(want)+1e-9 {
			t.Errorf("%s: %d searches for $%g, %v", prompt, result.Usage.Searches, got, err)
		}
		sum := 0
		for _, e := range stored(t, store, agent.Key{Project: "-w", Session: prompt}) {
			if e.Message != nil {
				sum += e.Message.Usage.Searches
			}
		}
		if sum != want {
			t.Errorf("%s: %d searches are stored", prompt, sum)
		}
	}
	_, _, err := run(t, engine, agent.Request{Key: key, Spec: searcher, Prompt: "search and look", Meter: agent.NewMeter(0.01)})
	var limit *agent.LimitError
	if !errors.As(err, &limit) {
		t.Errorf("behind the budget: %v", err)
	}
}

// TestSearchIsCutOff ends the process, or the connection, between the result of a search and the end of its answer: nothing
// of it is stored, nothing is doubled, and the session goes on.
func TestSearchIsCutOff(t *testing.T) {
	for _, row := range []struct {
		name string
		at   modeltest.Point
		kill bool
	}{
		{"in the query", modeltest.Inside(transcript.TypeServerToolUse), true},
		{"behind the result", modeltest.Inside(transcript.TypeText), true},
		{"the connection", modeltest.Inside(transcript.TypeText), false},
	} {
		t.Run(row.name, func(t *testing.T) {
			gate := modeltest.NewGate()
			ctx, kill := context.WithCancel(t.Context())
			defer kill()
			player := modeltest.PlayerFunc(func(r *modeltest.Request) modeltest.Reply {
				reply := searchPlayer.Play(r)
				switch {
				case r.Attempt > 0:
				case row.kill:
					return reply.Held(row.at, gate)
				default:
					return reply.Broken(row.at, modeltest.HangUp)
				}
				return reply
			})
			server := modeltest.Start(t, modeltest.Options{Player: player, BindThinking: true})
			store := flower.NewMemoryStore("/w")
			req := agent.Request{Key: key, Spec: searcher, Prompt: "search", PromptID: "5a11ce00-0000-4000-8000-000000000002"}
			if row.kill {
				go func() { <-gate.Reached(); kill() }()
				if _, _, err := runContext(ctx, hostedProcess(t, server, store, true), req); !errors.Is(err, context.Canceled) {
					t.Fatalf("cut off: %v", err)
				}
				gate.Open()
				if n := len(stored(t, store, key)); n != 1 {
					t.Errorf("%d entries are stored", n)
				}
			}
			for range 2 { // the second one finds that there is nothing to do
				if _, result, err := run(t, hostedProcess(t, server, store, true), req); err != nil || result.Text != "It is wheat, and oats." {
					t.Errorf("goes on with %q, %v", result.Text, err)
				}
			}
			if n := len(stored(t, store, key)); n != 2 {
				t.Errorf("%d entries are stored", n)
			}
		})
	}
}

// TestPausedSearchIsKilled ends the process behind a paused answer with an open search. Going on without a word it is sent
// back as it is; with one, the search that nobody will finish is left out.
func TestPausedSearchIsKilled(t *testing.T) {
	for prompt, want := range map[string]string{"": "Oats, then.", "more": "done"} {
		server := searchServer(t, modeltest.Options{})
		store := flower.NewMemoryStore("/w")
		ctx, kill := context.WithCancel(t.Context())
		for ev := range hostedProcess(t, server, store, true).Run(ctx, agent.Request{Key: key, Spec: searcher, Prompt: "pause"}) {
			if _, is := ev.(agent.Answered); is {
				kill()
			}
		}
		kill()
		for range 2 {
			_, result, err := run(t, hostedProcess(t, server, store, true), agent.Request{Key: key, Spec: searcher, Prompt: prompt, PromptID: "5a11ce00-0000-4000-8000-000000000003"})
			if err != nil || result.Text != want {
				t.Errorf("%q: %q, %v", prompt, result.Text, err)
			}
		}
		if _, _, err := run(t, hostedProcess(t, server, store, true), agent.Request{Key: key, Spec: searcher, Prompt: "search"}); err != nil {
			t.Errorf("%q, then: %v", prompt, err)
		}
	}
}

// TestEndpointWithoutSearch: the tool is withdrawn by one refused request, said once, and never offered again in this
// process, nor in this session by another one.
func TestEndpointWithoutSearch(t *testing.T) {
	for how, refusal := range map[string]modeltest.Refusal{"name": modeltest.RefusedByName, "tag": modeltest.RefusedByTag, "place": modeltest.RefusedByPlace} {
		t.Run(how, func(t *testing.T) {
			server := searchServer(t, modeltest.Options{NoSearch: refusal})
			store := flower.NewMemoryStore("/w")
			engine := hostedProcess(t, server, store, true)
			other := agent.Key{Project: "-w", Session: "other"}
			var said []string
			for i, k := range []agent.Key{key, key, other} {
				events, result, err := run(t, engine, agent.Request{Key: k, Spec: searcher, Prompt: "go", Same: true})
				if err != nil || result.Text != "done" {
					t.Fatalf("run %d: %q, %v", i, result.Text, err)
				}
				for _, ev := range events {
					if w, is := ev.(agent.Withdrawn); is {
						said = append(said, w.Tool+": "+w.Reason)
					}
				}
			}
			if len(said) != 1 || !strings.HasPrefix(said[0], searchName+": ") {
				t.Errorf("it says %q", said)
			}
			if _, _, err := run(t, hostedProcess(t, server, store, true), agent.Request{Key: key, Spec: searcher, Prompt: "go", Same: true}); err != nil {
				t.Error(err)
			}
			if n := len(server.Problems()); n != 1 {
				t.Errorf("%d requests were refused: %v", n, server.Problems())
			}
		})
	}
}

// TestSearchIsLost takes a session with searches and thinking to where there is no search: an endpoint that refuses it, or a
// person who switches it off. What was found stays as text; thinking, which was signed for other tools, goes; and the
// session can come back.
func TestSearchIsLost(t *testing.T) {
	for name, row := range map[string]struct {
		refusal modeltest.Refusal
		offered bool
		refused int
	}{
		"another endpoint": {modeltest.RefusedByTag, true, 1},
		"switched off":     {modeltest.NotRefused, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			store := flower.NewMemoryStore("/w")
			first := searchServer(t, modeltest.Options{})
			for _, prompt := range []string{"search", "search and look", "pause"} {
				if _, _, err := run(t, hostedProcess(t, first, store, true), agent.Request{Key: key, Spec: searcher, Prompt: prompt}); err != nil {
					t.Fatal(err)
				}
			}
			second := searchServer(t, modeltest.Options{NoSearch: row.refusal})
			for range 2 {
				if _, result, err := run(t, hostedProcess(t, second, store, row.offered), agent.Request{Key: key, Spec: searcher, Prompt: "more", Same: true}); err != nil || result.Text != "done" {
					t.Fatalf("%q, %v", result.Text, err)
				}
			}
			if n := len(second.Problems()); n != row.refused {
				t.Errorf("%d requests were refused: %v", n, second.Problems())
			}
			records := second.Requests()
			sent := string(records[len(records)-1].Body)
			for _, want := range []string{`[Searched the web for \"wheat\"; found:`, wheat.URL, `"wheat"`, "Oats, then."} {
				if !strings.Contains(sent, want) {
					t.Errorf("%s is not sent", want)
				}
			}
			if strings.Contains(sent, "encrypted") || strings.Contains(sent, "web_search") {
				t.Errorf("the search is still there: %s", sent)
			}
			if _, _, err := run(t, hostedProcess(t, first, store, true), agent.Request{Key: key, Spec: searcher, Prompt: "search", Same: true}); err == nil {
				last := first.Requests()
				if got := last[len(last)-1]; got.Offers("web_search") {
					t.Error("it is offered again")
				}
			}
		})
	}
}

// redactedStore keeps no grain.
type redactedStore struct{ flower.Store }

func (r redactedStore) Append(ctx context.Context, key agent.Key, entries ...transcript.Entry) error {
	entries = slices.Clone(entries)
	for i, e := range entries {
		out, _, err := e.Redacted(func(s string) string { return strings.ReplaceAll(s, "grain.example/wheat", "[secret]") })
		if err != nil {
			return err
		}
		entries[i] = out
	}
	return r.Store.Append(ctx, key, entries...)
}

// TestSecretInASearch: what was found is stored without the secret, as text, and the endpoint takes that in every process
// that comes after. It searches again as before.
func TestSecretInASearch(t *testing.T) {
	server := searchServer(t, modeltest.Options{})
	store := flower.NewMemoryStore("/w")
	for i, prompt := range []string{"search", "search and look", "pause", "more", "search"} {
		events, _, err := run(t, hostedProcess(t, server, redactedStore{store}, true), agent.Request{Key: key, Spec: searcher, Prompt: prompt, Same: i > 0})
		if err != nil {
			t.Fatalf("%s: %v", prompt, err)
		}
		for _, ev := range events {
			if w, is := ev.(agent.Withdrawn); is {
				t.Errorf("%s: %+v", prompt, w)
			}
		}
	}
	if p := server.Problems(); len(p) > 0 {
		t.Errorf("refused: %v", p)
	}
	records := server.Requests()
	last := records[len(records)-1]
	if sent := string(last.Body); strings.Contains(sent, "grain.example/wheat") || !strings.Contains(sent, `[Searched the web for \"wheat\"; found:`) || !last.Offers("web_search") {
		t.Errorf("sent: %s", sent)
	}
}

// What an endpoint does not take of one history says nothing about others.
func TestRefusedHistoryIsNoMissingSearch(t *testing.T) {
	first := true
	m := &script{reply: func(*agent.ModelRequest) (*agent.Response, error) {
		if first {
			first = false
			return nil, &agent.ModelError{Kind: agent.Fatal, Status: http.StatusBadRequest, Message: "messages.1.content.0.web_search_tool_result: Invalid `encrypted_content`"}
		}
		return &agent.Response{Message: transcript.Message{ID: "m", Role: transcript.RoleAssistant, Content: []transcript.Block{transcript.Text("done")}, StopReason: "end_turn"}}, nil
	}}
	e, err := agent.New(agent.Options{Model: m, Log: flower.NewMemoryStore("/w"), Toolbox: searching(true), ModelName: "m"})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []bool{false, true} {
		k := agent.Key{Project: "-w", Session: fmt.Sprint("s", i)}
		if _, _, err := run(t, e, agent.Request{Key: k, Spec: searcher, Prompt: "go"}); err != nil {
			t.Fatal(err)
		}
		offered := slices.ContainsFunc(m.sent[len(m.sent)-1].Tools, func(s agent.ToolSpec) bool { return len(s.Hosted) > 0 })
		if offered != want {
			t.Errorf("session %d: offered %v, want %v", i, offered, want)
		}
	}
}

// Other refusals of requests that offer a search have nothing to do with it.
func TestOtherRefusalsKeepTheSearch(t *testing.T) {
	for _, text := range []string{"max_tokens: 1 > 0", "tools.0.custom.input_schema.type: Input should be 'object'", "messages.1: roles must alternate", "prompt is too long: 300000 tokens > 200000 maximum"} {
		m := &script{reply: func(*agent.ModelRequest) (*agent.Response, error) {
			return nil, &agent.ModelError{Kind: agent.Fatal, Status: http.StatusBadRequest, Message: text}
		}}
		e, err := agent.New(agent.Options{Model: m, Log: flower.NewMemoryStore("/w"), Toolbox: searching(true), ModelName: "m"})
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = run(t, e, agent.Request{Key: key, Spec: searcher, Prompt: "go"})
		if err == nil || len(m.sent) != 1 {
			t.Errorf("%s: %d requests, %v", text, len(m.sent), err)
		}
	}
}

// A remark waits until a paused answer has come to its end.
func TestRemarkDoesNotBreakAPausedSearch(t *testing.T) {
	server := searchServer(t, modeltest.Options{})
	store := flower.NewMemoryStore("/w")
	box := &lateInbox{}
	events, result, err := run(t, hostedProcess(t, server, store, true), agent.Request{Key: key, Spec: searcher, Prompt: "pause", Inbox: box})
	if err != nil || result.Text != "done" {
		t.Fatalf("%q, %v", result.Text, err)
	}
	var order []string
	for _, ev := range events {
		switch ev := ev.(type) {
		case agent.Answered:
			order = append(order, ev.Message.StopReason)
		case agent.Delivered:
			order = append(order, fmt.Sprint(len(ev.Notes)))
		}
	}
	if got := strings.Join(order, " "); got != "pause_turn end_turn 1 end_turn" {
		t.Errorf("it went %s", got)
	}
}

// lateInbox has a remark from the second time it is asked.
type lateInbox struct{ asked int }

func (l *lateInbox) Take(context.Context) ([]agent.Note, error) {
	if l.asked++; l.asked != 2 {
		return nil, nil
	}
	return []agent.Note{{ID: "5a11ce00-0000-4000-8000-00000000000a", Text: "more"}}, nil
}

func (l *lateInbox) Delivered(context.Context, []agent.Note) error { return nil }

// An endpoint that pauses for ever does not go on for ever.
func TestEndlessPauses(t *testing.T) {
	m := &script{reply: func(*agent.ModelRequest) (*agent.Response, error) {
		return answer(agent.StopPauseTurn, transcript.Text("wait")), nil
	}}
	_, _, err := run(t, newEngine(t, m, flower.NewMemoryStore("/w"), nil), agent.Request{Key: key, Spec: agent.Spec{Instructions: "s"}, Prompt: "go"})
	if err == nil || !strings.Contains(err.Error(), "paused") || len(m.sent) > 20 {
		t.Errorf("%d requests, %v", len(m.sent), err)
	}
}
