package cli

import (
	"strings"
	"testing"

	"flower/agent"
	"flower/internal/text"
)

// Marks are set off by colour, and nothing else changes.
func TestStyles(t *testing.T) {
	show := func(styles bool) string {
		var out strings.Builder
		p := newPrinter(text.NewPrinter(text.English), printOptions{
			screen: newScreen(&out, styles), width: func() int { return 60 }, now: clock(), styles: styles,
		})
		for _, ev := range day() {
			p.Event(ev)
		}
		return out.String()
	}
	plain, styled := show(false), show(true)
	if text.Plain(styled) != plain {
		t.Errorf("the text differs:\n%s", styled)
	}
	for _, want := range []string{"\x1b[1m== work", "\x1b[1;35m?   2) 新店", "\x1b[1;31m! \x1b[0m", "\x1b[1m+ \x1b[0m", "w1| \x1b[1;31mx\x1b[0m Bash"} {
		if !strings.Contains(styled, want) {
			t.Errorf("%q is not in\n%q", want, styled)
		}
	}
	for line := range strings.Lines(styled) {
		if line = strings.TrimSuffix(line, "\n"); strings.Contains(line, "\x1b") && strings.LastIndex(line, "\x1b[0m") < strings.LastIndex(line, "\x1b[") {
			t.Errorf("a style goes on behind %q", line)
		}
	}
}

// What folded workers do is kept back, the last of it; that they begin and end is not.
func TestFold(t *testing.T) {
	var out strings.Builder
	p := newPrinter(text.NewPrinter(text.English), printOptions{
		screen: newScreen(&out, false), width: func() int { return 60 }, now: clock(), fold: true,
	})
	p.Event(event(agent.Started{Path: "a", Agent: "worker", Title: "the shop"}))
	for range keptLines {
		p.Event(used("a", "Read", map[string]any{"file_path": "early.go"}, agent.TextResult("x"), 0))
	}
	p.Event(says("a", "I have looked.", 0))
	p.Event(says("", "The coordinator speaks.", 0))
	p.Event(event(agent.Finished{Path: "a", Result: agent.Result{Turns: 1}}))
	got := out.String()
	if strings.Contains(got, "w1| ") || !strings.Contains(got, "the shop") || !strings.Contains(got, "The coordinator speaks.") || !strings.Contains(got, "< w1") {
		t.Errorf("folded:\n%s", got)
	}
	out.Reset()
	p.Fold(false)
	got = out.String()
	if !strings.HasSuffix(got, "w1| I have looked.\n") || strings.Count(got, "early.go") != keptLines-1 {
		t.Errorf("unfolded: %d lines, the last ones\n%s", strings.Count(got, "\n"), got[max(0, len(got)-200):])
	}
	p.Event(says("a", "I go on.", 0))
	p.Fold(true)
	p.Event(says("a", "Hidden again.", 0))
	if got := out.String(); !strings.Contains(got, "w1| I go on.") || strings.Contains(got, "Hidden again.") {
		t.Errorf("folded again:\n%s", got[max(0, len(got)-300):])
	}
}
