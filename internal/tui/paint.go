package tui

import (
	"fmt"
	"io"
	"strings"

	"flower/internal/text"
)

// Control sequences that are written. Terminals that do not know synchronised output take no notice of its marks.
const (
	beginSync  = "\x1b[?2026h"
	endSync    = "\x1b[?2026l"
	hideCursor = "\x1b[?25l"
	showCursor = "\x1b[?25h"
	eraseBelow = "\x1b[J"
	eraseRight = "\x1b[K"
	pasteOn    = "\x1b[?2004h"
	pasteOff   = "\x1b[?2004l"
	bell       = "\a"
)

// region is what stands below the output: rows of less than the terminal's width, and where the cursor stands in them.
type region struct {
	rows []string
	x, y int
}

// painter keeps the region below the output. It moves the cursor relative to where it left it and never looks at what
// is above, so that the terminal's own scrollback holds all output. Each call is one write: whoever else writes to the
// terminal comes before it or after it. One goroutine uses it.
type painter struct {
	out     io.Writer
	reflows bool // the terminal breaks its lines anew when it gets narrower

	shown region
	width int // of the terminal when shown was painted
	buf   strings.Builder
}

// print writes complete lines above the region, and the region below them.
func (p *painter) print(lines string, next region, width int) error {
	if lines == "" && p.width == width && len(p.shown.rows) == len(next.rows) {
		return p.update(next)
	}
	p.begin(true)
	p.toTop(width)
	p.buf.WriteString(eraseBelow)
	p.buf.WriteString(strings.ReplaceAll(lines, "\n", "\r\n"))
	p.buf.WriteString(strings.Join(next.rows, "\r\n"))
	p.moveTo(len(next.rows)-1, next)
	p.shown, p.width = next, width
	return p.end(true)
}

// update writes the rows that differ.
func (p *painter) update(next region) error {
	at, changed := p.shown.y, false
	p.begin(false)
	for i, row := range next.rows {
		if row == p.shown.rows[i] {
			continue
		}
		changed = true
		p.down(i - at)
		at = i
		p.buf.WriteString("\r" + row + eraseRight)
	}
	if !changed && next.x == p.shown.x && next.y == p.shown.y {
		p.buf.Reset()
		return nil
	}
	p.moveTo(at, next)
	p.shown = next
	return p.end(false)
}

// ring rings the terminal's bell, or shows a message of the desktop.
func (p *painter) ring(sequence string) error {
	_, err := io.WriteString(p.out, sequence)
	return err
}

// clear takes the region away and leaves the cursor where it began.
func (p *painter) clear(width int) error {
	p.begin(false)
	p.toTop(width)
	p.buf.WriteString(eraseBelow + showCursor)
	p.shown, p.width = region{}, 0
	return p.end(false)
}

// forget is for when the cursor is somewhere else: what was shown is no longer known.
func (p *painter) forget() { p.shown, p.width = region{}, 0 }

// begin and end go around a frame. The cursor is hidden only while it travels over much: input methods follow it.
func (p *painter) begin(hide bool) {
	p.buf.Reset()
	p.buf.WriteString(beginSync)
	if hide {
		p.buf.WriteString(hideCursor)
	}
}

func (p *painter) end(show bool) error {
	if show {
		p.buf.WriteString(showCursor)
	}
	p.buf.WriteString(endSync)
	_, err := io.WriteString(p.out, p.buf.String())
	return err
}

// toTop moves to the first cell of the region.
func (p *painter) toTop(width int) {
	up := p.shown.y
	if p.reflows && width < p.width {
		// Rows above the cursor that are too long now take several; so does what stands before the cursor in its own.
		for _, row := range p.shown.rows[:min(p.shown.y, len(p.shown.rows))] {
			up += max(0, text.Width(row)-1) / width
		}
		up += p.shown.x / width
	}
	p.buf.WriteByte('\r')
	p.down(-up)
}

// moveTo moves from a row to where the cursor of a region belongs.
func (p *painter) moveTo(row int, r region) {
	p.buf.WriteByte('\r')
	p.down(r.y - row)
	if r.x > 0 {
		fmt.Fprintf(&p.buf, "\x1b[%dC", r.x)
	}
}

// down moves the cursor by some rows, up if there are less than none.
func (p *painter) down(n int) {
	switch {
	case n > 0:
		fmt.Fprintf(&p.buf, "\x1b[%dB", n)
	case n < 0:
		fmt.Fprintf(&p.buf, "\x1b[%dA", -n)
	}
}
