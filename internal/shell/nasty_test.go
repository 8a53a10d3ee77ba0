package shell

import (
	_ "embed"
	"strings"
	"testing"
)

var (
	//go:embed testdata/accepted.txt
	acceptedList string
	//go:embed testdata/refused.txt
	refusedList string
	//go:embed testdata/daily.txt
	dailyList string
	//go:embed testdata/tricks.txt
	tricksList string
)

// lines reads one of the lists: a command a line, ⏎ for a line feed.
func lines(list string) []string {
	var out []string
	for l := range strings.Lines(list) {
		if l = strings.TrimSuffix(l, "\n"); !strings.HasPrefix(l, "# ") {
			out = append(out, strings.ReplaceAll(l, "⏎", "\n"))
		}
	}
	return out
}

func TestNasty(t *testing.T) {
	for _, list := range []struct {
		lines []string
		want  bool
	}{{lines(acceptedList), true}, {lines(refusedList), false}, {lines(dailyList), true}, {lines(tricksList), false}} {
		if len(list.lines) < 200 {
			t.Errorf("a list has only %d lines", len(list.lines))
		}
		for _, command := range list.lines {
			t.Run(command, func(t *testing.T) { expect(t, command, list.want) })
		}
	}
}
