package agent_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"flower/agent"
	"flower/sqlite"
)

// BenchmarkTurn measures flower's own time for one turn without the model: a request with one call is built, the answer,
// the call's result and the next answer are committed to SQLite on disk, and that a call with effects begins. The history
// grows as in a real session.
func BenchmarkTurn(b *testing.B) {
	for _, bench := range []struct {
		length int
		tool   string
	}{{0, "look"}, {1000, "look"}, {1000, "write"}} {
		length := bench.length
		b.Run(fmt.Sprintf("history=%d/%s", length, bench.tool), func(b *testing.B) {
			store, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "sessions.db"), sqlite.Options{Workspace: "/w"})
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = store.Close() }()
			n := 0
			m := &unrecorded{reply: func(*agent.ModelRequest) *agent.Response {
				if n++; n > length+b.N {
					return text("done")
				}
				return calls(call(fmt.Sprintf("t%d", n), bench.tool, `{"n":1}`))
			}}
			m.at = func() {
				if n == length {
					b.ResetTimer()
				}
			}
			e, err := agent.New(agent.Options{Model: m, Log: store, Toolbox: box{"look": tool("look", true, say("seen")), "write": tool("write", false, say("written"))}, ModelName: "m", CWD: "/w"})
			if err != nil {
				b.Fatal(err)
			}
			for _, err := range e.Run(b.Context(), agent.Request{Key: key, Spec: agent.Spec{Tools: []string{bench.tool}}, Prompt: "go"}) {
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkResume measures how long it takes until a session with a long history sends its first request.
func BenchmarkResume(b *testing.B) {
	store, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "sessions.db"), sqlite.Options{Workspace: "/w"})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	const turns = 2000
	n := 0
	m := &unrecorded{reply: func(*agent.ModelRequest) *agent.Response {
		if n++; n%turns == 0 || n > turns {
			return text("done")
		}
		return calls(call(fmt.Sprintf("t%d", n), "look", `{"n":1}`))
	}}
	e, err := agent.New(agent.Options{Model: m, Log: store, Toolbox: box{"look": tool("look", true, say("seen"))}, ModelName: "m", CWD: "/w"})
	if err != nil {
		b.Fatal(err)
	}
	once := func() {
		for _, err := range e.Run(b.Context(), agent.Request{Key: key, Spec: agent.Spec{Tools: []string{"look"}}, Prompt: "go"}) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	once()
	for b.Loop() {
		once()
	}
}

// unrecorded is a script that keeps nothing: a benchmark must not measure its own memory.
type unrecorded struct {
	reply func(*agent.ModelRequest) *agent.Response
	at    func()
}

func (m *unrecorded) Generate(_ context.Context, req *agent.ModelRequest, _ func(agent.Delta)) (*agent.Response, error) {
	if m.at != nil {
		m.at()
	}
	return m.reply(req), nil
}
