package tools

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
)

// Bounds of a difference that is shown. Comparing very long texts would take longer than changing them.
const (
	maxDiffInput = 1 << 20 // bytes between the first and the last place that differ
	maxDiffLines = 40
	diffContext  = 3 // lines around a change
)

// difference is the unified difference of two texts, with their foreign bytes made visible.
type difference struct {
	lines   []string // what there is to show
	more    int      // lines that are not shown
	added   int      // of all lines
	removed int
}

// String shows it, and what it leaves out with the numbers of lines added and removed there; "" if there is nothing.
func (d difference) String() string {
	lines := d.lines
	if d.more > 0 {
		lines = append(lines[:len(lines):len(lines)], fmt.Sprintf("… %d more lines: +%d -%d", d.more, d.added, d.removed))
	}
	return strings.Join(lines, "\n")
}

// compare compares two versions of a file. The beginning and the end that they share are left out first, so that a small
// change of a large file costs little. Nothing to show means that they are the same or too much differs.
func compare(name, old, new string) difference {
	head := sharedLines(old, new)
	skipped := strings.Count(old[:head], "\n")
	old, new = old[head:], new[head:]
	tail := sharedEnd(old, new)
	old, new = old[:len(old)-tail], new[:len(new)-tail]
	if len(old)+len(new) > maxDiffInput {
		return difference{}
	}
	raw := diff.Diff(name, []byte(visible(old)), name, []byte(visible(new)))
	_, raw, _ = bytes.Cut(raw, []byte("\n")) // "diff old new"
	var d difference
	for line := range strings.Lines(string(raw)) {
		line = hunk.ReplaceAllStringFunc(strings.TrimSuffix(line, "\n"), func(s string) string { return moved(s, skipped) })
		if len(d.lines) < maxDiffLines {
			d.lines = append(d.lines, clip(line, grepMaxLine))
			continue
		}
		d.more++
		switch line[0] {
		case '+':
			d.added++
		case '-':
			d.removed++
		}
	}
	return d
}

// sharedLines is the length of the lines that both texts begin with, less some that show where the change is.
func sharedLines(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	for range diffContext + 1 { // the first is the line that differs
		n = strings.LastIndexByte(a[:max(n-1, 0)], '\n') + 1
	}
	return n
}

// sharedEnd is the length of the lines that both texts end with, less some.
func sharedEnd(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	rest := a[len(a)-n:]
	for range diffContext + 1 {
		i := strings.IndexByte(rest, '\n')
		if i < 0 {
			return 0
		}
		rest = rest[i+1:]
	}
	return len(rest)
}

var (
	hunk  = regexp.MustCompile(`^@@ -\d+,\d+ \+\d+,\d+ @@`)
	begin = regexp.MustCompile(`[-+]\d+`)
)

// moved is the head of a hunk with its line numbers increased.
func moved(head string, by int) string {
	return begin.ReplaceAllStringFunc(head, func(s string) string {
		n, _ := strconv.Atoi(s[1:]) // digits
		return s[:1] + strconv.Itoa(n+by)
	})
}
