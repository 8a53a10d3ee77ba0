package tui

import (
	"fmt"
	"strings"
	"testing"

	"flower/internal/text"
)

// A long paste stays folded in the history, and is entered again in full.
func TestHistoryStaysFolded(t *testing.T) {
	long := strings.Repeat("a line of the log\n", 300)
	sit(t, 40, 8, Options{}, func(d *desk) {
		for range 2 {
			d.types(" see " + pasteBegin + long + pasteEnd + "!\r")
			d.enters(Line{Text: " see " + long + "!"})
		}
		d.types("x\x1b[A")
		d.shows(26, 0, "> see [pasted: 300 lines]!")
		d.types("\x7f\x7f?\r") // the paste goes as one
		d.enters(Line{Text: "see ?"})
		d.types("\x1b[A\x1b[A") // what was remembered is as it was
		d.shows(26, 0, "> see [pasted: 300 lines]!")
		d.types("\x1b[A\r")
		d.enters(Line{Text: "see " + long + "!"})
	})
}

// The history ends somewhere, and the last line is always in it.
func TestHistoryIsBounded(t *testing.T) {
	tests := []struct {
		name              string
		size, lines, want int
	}{
		{"many", 1, 3 * maxHistory, maxHistory},
		{"large", maxPaste, 10, maxHistoryBytes / maxPaste},
		{"too large", maxHistoryBytes + 1, 2, 1},
		{"none", 0, 2, 0},
	}
	for _, tt := range tests {
		e := &editor{}
		block := strings.Repeat("x", tt.size)
		for i := range tt.lines {
			if tt.size > 0 {
				e.pieces = []piece{{text: block[:max(1, tt.size-4)], label: "block"}, {text: fmt.Sprint(i)}}
			}
			e.take()
		}
		if n := len(e.history); n != tt.want {
			t.Errorf("%s: %d lines are remembered, want %d", tt.name, n, tt.want)
		}
		if e.older(); tt.want > 0 && e.text() != block[:max(1, tt.size-4)]+fmt.Sprint(tt.lines-1) {
			t.Errorf("%s: the last line is not remembered", tt.name)
		}
	}
}

// One key through the history with a large paste in it, and the drawing of what it shows.
func BenchmarkHistory(b *testing.B) {
	say := text.NewPrinter(text.English)
	for _, size := range []int{200 << 10, 2 << 20, 15 << 20} {
		b.Run(text.Bytes(int64(size)), func(b *testing.B) {
			e := &editor{}
			e.paste(strings.Repeat("a line of the log\n", size/18), "pasted")
			e.take()
			v := &view{say: say, edit: e, width: 80, height: 24, activity: &activity{}}
			for b.Loop() {
				e.older()
				_ = v.region()
				e.newer()
			}
		})
	}
}
