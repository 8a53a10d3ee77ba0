package storetest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"flower/transcript"
)

// LongSession returns the entries of a long piece of work, for benchmarks: n of them, about 2 kB each on average, always
// the same. As in real ones most results are short and a few are long, every answer thinks and calls one to three tools,
// and each result is an entry of its own.
func LongSession(n int) []transcript.Entry {
	w := writer{rand: rand.New(rand.NewPCG(20, 26)), entries: make([]transcript.Entry, 0, n)}
	w.add(transcript.Message{Role: transcript.RoleUser, Content: []transcript.Block{transcript.Text("Build the shop.")}})
	for len(w.entries) < n {
		w.turn()
	}
	return w.entries[:n]
}

// writer writes a session; the last entry is the parent of the next.
type writer struct {
	rand    *rand.Rand
	entries []transcript.Entry
}

func (w *writer) add(m transcript.Message) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Add(time.Duration(len(w.entries)) * 7 * time.Second)
	parent := ""
	if last := len(w.entries) - 1; last >= 0 {
		parent = w.entries[last].UUID
	}
	id := fmt.Sprintf("%08x-0000-7000-8000-%012x", w.rand.Uint32(), len(w.entries))
	stamp := transcript.Stamp{SessionID: main.Session, CWD: "/home/ada/shop", GitBranch: "main", Version: "1"}
	w.entries = append(w.entries, transcript.NewEntry(stamp, id, parent, at, m))
}

// turn is one answer and the results of its calls.
func (w *writer) turn() {
	at := len(w.entries)
	answer := transcript.Message{
		Role: transcript.RoleAssistant, ID: fmt.Sprint("msg_", at), Model: "claude-opus-5-5", StopReason: "tool_use",
		Usage: transcript.Usage{Input: 3, Output: 200, CacheRead: 40_000 + at},
		Content: []transcript.Block{
			transcript.Thinking(w.words(300+w.rand.IntN(900)), fmt.Sprintf("%0344d", at)),
			transcript.Text(w.words(40 + w.rand.IntN(200))),
		},
	}
	for i := range 1 + w.rand.IntN(3) {
		answer.Content = append(answer.Content, w.call(fmt.Sprintf("toolu_%d_%d", at, i)))
	}
	w.add(answer)
	for _, c := range answer.ToolUses() {
		w.add(transcript.Message{Role: transcript.RoleUser, Content: []transcript.Block{
			transcript.ToolResult(c.ID, w.rand.IntN(20) == 0, transcript.Text(w.output()))}})
	}
}

func (w *writer) call(id string) transcript.Block {
	name, input := "Bash", map[string]any{}
	file := fmt.Sprintf("internal/shop/part%d/file%d.go", w.rand.IntN(30), w.rand.IntN(40))
	switch w.rand.IntN(6) {
	case 0:
		input["command"] = "git status --short"
	case 1:
		input["command"] = fmt.Sprintf("ls -la %s && head -n %d %s", file, 10+w.rand.IntN(200), file)
	case 2:
		input["command"] = fmt.Sprintf("cd /home/ada/shop && go test -run 'Test%d' ./... 2>&1 | tail -n 40", w.rand.IntN(1000))
	case 3:
		name, input = "Read", map[string]any{"file_path": "/home/ada/shop/" + file}
	case 4:
		name, input = "Edit", map[string]any{"file_path": "/home/ada/shop/" + file, "old_string": w.lines(300), "new_string": w.lines(400)}
	case 5:
		name, input = "Grep", map[string]any{"pattern": "func New", "path": file}
	}
	raw, _ := json.Marshal(input)
	return transcript.ToolUse(id, name, raw)
}

// output is mostly short, seldom long.
func (w *writer) output() string {
	switch n := w.rand.IntN(100); {
	case n < 50:
		return w.lines(100 + w.rand.IntN(600))
	case n < 90:
		return w.lines(500 + w.rand.IntN(2500))
	default:
		return w.lines(3000 + w.rand.IntN(7_000))
	}
}

var vocabulary = strings.Fields(`the func shop order price := "total" if err != nil return fmt.Errorf( stock, of is a customer größe naïve 訂單 → test PASS ok { } <b> && basket item date user`)

func (w *writer) words(size int) string {
	var out strings.Builder
	for out.Len() < size {
		out.WriteString(vocabulary[w.rand.IntN(len(vocabulary))])
		out.WriteByte(' ')
	}
	return out.String()
}

// lines is text in lines with tabs, as code and tools write it.
func (w *writer) lines(size int) string {
	var out strings.Builder
	for out.Len() < size {
		out.WriteString("\t" + w.words(20+w.rand.IntN(50)) + "\n")
	}
	return out.String()
}
