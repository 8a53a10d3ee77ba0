package agent_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"flower"
	"flower/agent"
	"flower/modeltest"
	"flower/transcript"
)

// anyHistory makes up stored lines: what flower writes, what other programs write, and what damage leaves of it.
type anyHistory struct {
	*rand.Rand
	tame    bool   // nothing odd
	picture string // base 64
	uuids   []string
	calls   []string
	lines   []json.RawMessage
}

func (h *anyHistory) one(list ...string) string {
	if h.tame {
		return list[0]
	}
	return list[h.IntN(len(list))]
}

func (h *anyHistory) maybe(percent int) bool { return !h.tame && h.IntN(100) < percent }

// parent is mostly the last entry, sometimes any other, one that is not there, or none.
func (h *anyHistory) parent() any {
	switch n := len(h.uuids); {
	case n == 0 || h.maybe(2):
		return nil
	case h.maybe(4):
		return h.uuids[h.IntN(n)]
	case h.maybe(2):
		return "gone"
	default:
		return h.uuids[n-1]
	}
}

func (h *anyHistory) text() map[string]any {
	words := h.one("go", "well", "", " \n", "a \u0000 b", "\u2028<&>", "世界", strings.Repeat("long ", 2000))
	if h.maybe(2) {
		words = strings.Repeat("endless ", 100_000)
	}
	return map[string]any{"type": "text", "text": words}
}

func (h *anyHistory) image() map[string]any {
	data := h.picture
	if h.maybe(3) {
		data = strings.Repeat("A", 5<<20+4)
	}
	return map[string]any{"type": "image", "source": map[string]any{"type": "base64", "media_type": h.one("image/png", "image/png", "image/tiff"), "data": data}}
}

func (h *anyHistory) answer() []any {
	var blocks []any
	for range h.IntN(4) + 1 {
		switch h.IntN(7) {
		case 0, 1:
			blocks = append(blocks, map[string]any{"type": "thinking", "thinking": "hm", "signature": h.one("c2ln", "", "bm90IG91cnM=")})
		case 2:
			blocks = append(blocks, map[string]any{"type": "redacted_thinking", "data": "ZGF0YQ=="})
		case 3:
			blocks = append(blocks, h.text())
		default:
			id := fmt.Sprintf(h.one("toolu_%d", "toolu_%d", "call:%d", "函数%d"), len(h.calls))
			if h.maybe(5) {
				id = h.one("", "toolu_0")
			}
			var input any = map[string]any{"command": h.one("make", "ls", "git status", "cat a | sh")}
			if h.maybe(5) {
				input = h.one("text", "")
			}
			h.calls = append(h.calls, id)
			blocks = append(blocks, map[string]any{"type": "tool_use", "id": id, "name": h.one("Bash", "Bash", "look", "mcp.read file", ""), "input": input})
		}
	}
	return blocks
}

func (h *anyHistory) result() map[string]any {
	id := "none"
	if n := len(h.calls); n > 0 {
		id = h.calls[max(0, n-1-h.IntN(3))]
		if h.tame {
			id = h.calls[n-1]
		}
	}
	r := map[string]any{"type": "tool_result", "tool_use_id": id}
	switch h.IntN(6) {
	case 0:
	case 1:
		if h.tame {
			break
		}
		r["content"] = []any{h.text(), h.image()}
	case 2:
		if h.tame {
			break
		}
		r["content"], r["is_error"] = "[Request interrupted by user]", true
	default:
		r["content"] = h.text()["text"]
	}
	return r
}

// entry adds one entry.
func (h *anyHistory) entry(i int) {
	uuid := fmt.Sprintf("e%d", i)
	if h.maybe(2) && len(h.uuids) > 0 {
		uuid = h.one(h.uuids...)
	}
	e := map[string]any{"uuid": uuid, "parentUuid": h.parent(), "sessionId": key.Session, "timestamp": "2026-01-01T00:00:00.000Z", "isSidechain": h.maybe(2)}
	message := map[string]any{}
	kind := h.IntN(9)
	if h.tame {
		kind = []int{0, 2, 5}[i%3]
	}
	switch kind {
	case 0, 1:
		e["type"], message["role"] = "user", "user"
		message["content"] = []any{h.text()}
		if h.maybe(30) {
			message["content"] = []any{h.text(), h.image()}
		}
	case 2, 3, 4:
		e["type"], message["role"], message["model"], message["id"] = "assistant", "assistant", h.one("m", "m", "m", "<synthetic>"), fmt.Sprintf("msg_%d", h.IntN(i+1))
		message["content"], message["stop_reason"] = h.answer(), h.one("end_turn", "tool_use", "tool_use", "max_tokens", "pause_turn", "refusal")
		if h.maybe(4) {
			e["isApiErrorMessage"] = true
		}
	case 5, 6, 7:
		e["type"], message["role"] = "user", "user"
		message["content"] = []any{h.result()}
		if h.maybe(40) {
			message["content"] = []any{h.result(), h.result(), h.text()}
		}
		if h.maybe(15) {
			e["toolDenialKind"] = "permission-rule"
		}
	default:
		e["type"], message = h.one("system", "summary", "user"), nil
	}
	if message != nil {
		e["message"] = message
	}
	line, err := json.Marshal(e)
	if err != nil {
		panic(err)
	}
	if h.maybe(2) {
		line = []byte(`{"uuid":"x"}`)
	}
	h.uuids = append(h.uuids, uuid)
	h.lines = append(h.lines, line)
}

// TestAnyHistoryIsAccepted stores histories of all kinds and goes on with them: nothing is ever refused but thinking
// that others have signed, that once a history, and whoever goes on after that is refused nothing.
func TestAnyHistoryIsAccepted(t *testing.T) {
	histories := 60
	if testing.Short() {
		histories = 20
	}
	refused, resumed := 0, 0
	for seed := range histories {
		h := &anyHistory{Rand: rand.New(rand.NewPCG(uint64(seed), 7))}
		h.tame = seed%3 == 0
		h.picture = "iVBORw0KGgoAAAANSUhEUgAAAAMAAAACCAAAAAC4HznGAAAAEklEQVR4nGJiYGAAYUAAAAD//wAgAAWURUErAAAAAElFTkSuQmCC"
		for i := range 3 + h.IntN(40) {
			h.entry(i)
		}
		store := flower.NewMemoryStore("/w")
		entries, _ := transcript.ParseHistory(h.lines)
		if err := store.Append(t.Context(), key, entries...); err != nil {
			t.Fatal(err)
		}
		spec := agent.Spec{Name: "worker", Instructions: "work", Tools: []string{"Bash", "look"}, Thinking: true}
		ours := seed%2 == 0
		player := modeltest.PlayerFunc(func(r *modeltest.Request) modeltest.Reply {
			if r.Turn() == 0 {
				return modeltest.Answer(modeltest.Think("so"), modeltest.Text("on"), modeltest.Call("look", nil))
			}
			return modeltest.Answer(modeltest.Think("so"), modeltest.Text("done"))
		})
		for n := range 3 {
			p := startProcess(t, processOptions{
				store: store, server: modeltest.Options{BindThinking: true, Player: player, Allow: dirty},
				engine: agent.Options{Toolbox: box{"Bash": shellTool("Bash", say("a.go")), "look": tool("look", true, say("seen"))}, Trim: true},
			})
			if n == 0 && ours { // as if the session were ours, and another program had gone on with it
				if err := store.SetPrefix(t.Context(), key, agent.Prefix{System: "work"}); err != nil {
					t.Fatal(err)
				}
			}
			events, _, err := run(t, p.engine, agent.Request{Key: key, Spec: spec, Prompt: fmt.Sprint("go on ", n)})
			if err != nil {
				t.Errorf("seed %d, process %d: %v", seed, n, err)
			}
			got := p.thinkingProblems()
			if got > 1 || got == 1 && (n > 0 || !ours) {
				t.Errorf("seed %d, process %d (prefix stored: %v): thinking refused %d times: %v", seed, n, ours, got, p.server.Problems())
			}
			if refused += got; events[0].(agent.Started).Resumed {
				resumed++
			}
			p.server.Close()
		}
		if t.Failed() {
			return
		}
	}
	t.Logf("%d resumes, thinking refused %d times", resumed, refused)
	if refused == 0 || resumed < histories*3-histories/10 {
		t.Errorf("%d of %d resumed, %d refused: the histories say little", resumed, histories*3, refused)
	}
}
