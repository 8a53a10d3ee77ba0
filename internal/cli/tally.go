package cli

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"flower"
	"flower/agent"
	"flower/document"
	"flower/internal/text"
	"flower/tools"
	"flower/transcript"
)

// tally is what a run has done so far, for what is said of it at its end. It is safe for concurrent use.
type tally struct {
	workspace string

	mu            sync.Mutex
	files         map[string]bool
	verdict       document.State
	round, rounds int // of the verdict; 0 is none
	cost          float64
	unpriced      bool
	usage         transcript.Usage
}

// Event takes an event into account.
func (t *tally) Event(ev flower.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch ev := ev.(type) {
	case flower.Judged:
		t.verdict, t.round, t.rounds = ev.Verdict.State, ev.Round, ev.Rounds
	case flower.AgentEvent:
		switch ev := ev.Event.(type) {
		case agent.Answered:
			t.add(ev.CostUSD, ev.Unpriced, ev.Message.Usage)
		case agent.Wasted:
			t.add(ev.CostUSD, ev.Low, ev.Usage)
		case agent.ToolFinished:
			t.wrote(ev)
		}
	}
}

func (t *tally) add(usd float64, unpriced bool, u transcript.Usage) {
	t.cost += usd
	t.unpriced = t.unpriced || unpriced
	t.usage = t.usage.Add(u)
}

// spent is what the work has cost, in USD; low says that it is a lower bound.
func (t *tally) spent() (usd float64, low bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.cost, t.unpriced
}

// wrote notes the file of a call that has written one. What commands write nobody tells.
func (t *tally) wrote(ev agent.ToolFinished) {
	if ev.Result.IsError || ev.Name != tools.Write && ev.Name != tools.Edit {
		return
	}
	var in struct {
		Path string `json:"file_path"`
	}
	if json.Unmarshal(ev.Input, &in) != nil || in.Path == "" {
		return
	}
	path := filepath.Clean(in.Path)
	if rel, err := filepath.Rel(t.workspace, path); err == nil && filepath.IsAbs(path) && filepath.IsLocal(rel) {
		path = rel
	}
	if t.files == nil {
		t.files = map[string]bool{}
	}
	t.files[path] = true
}

// fill puts what is known into the last event of a stream.
func (t *tally) fill(e *endEvent) {
	t.mu.Lock()
	defer t.mu.Unlock()
	usage := t.usage
	e.CostUSD, e.Unpriced, e.Usage, e.Files = t.cost, t.unpriced, &usage, slices.Sorted(maps.Keys(t.files))
	if e.Files == nil {
		e.Files = []string{}
	}
	if t.round > 0 {
		verdict := t.verdict.String()
		e.Verdict, e.Round = &verdict, t.round
	}
}

// namedFiles is how many files the closing lines name.
const namedFiles = 8

// done says what was done, in a line or two.
func (t *tally) done(p *text.Printer) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var lines []string
	if t.round > 0 {
		lines = append(lines, p.Say("judged."+t.verdict.String(), text.Data{"Round": t.round, "Rounds": t.rounds}))
	}
	files := slices.Sorted(maps.Keys(t.files))
	if len(files) == 0 {
		return lines
	}
	names := make([]string, 0, namedFiles+1)
	for _, f := range files[:min(len(files), namedFiles)] {
		names = append(names, oneLine(f))
	}
	if len(files) > namedFiles {
		names = append(names, "...")
	}
	return append(lines, p.Say("closing.files", text.Data{"N": len(files), "Files": strings.Join(names, ", ")}))
}

// again is the command line that goes on from here: flower, and the flags that say where.
func (a *app) again(words ...string) string {
	line := []string{"flower"}
	if w := a.global.workspace; w != defaultWorkspace {
		line = append(line, "-w", w)
	}
	if r := a.global.runDir; r != flower.DefaultRunDir {
		line = append(line, "-r", r)
	}
	line = append(line, words...)
	for i := range line {
		line[i] = shellWord(line[i])
	}
	return strings.Join(line, " ")
}

// shellWord quotes a word for a shell, if it needs that.
func shellWord(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=@%+,", r) || r > 0x7f
	}
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
