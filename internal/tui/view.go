package tui

import (
	"fmt"
	"strings"
	"time"

	"flower/agent"
	"flower/internal/text"
)

// Shares of the screen.
const (
	maxInputRows  = 8
	maxWorkerRows = 4
	leastDetail   = 30 // cells for what is going on, before something less important is left out
	leastWidth    = 20
	spacious      = 60 // cells, from which words and marks between them have room
	roomy         = 12 // rows, from which the region is set off from the output
)

// view is everything the region shows. It is data: region draws it, and tests make it by hand.
type view struct {
	say    *text.Printer
	styles bool
	width  int
	height int
	now    time.Time

	edit     *editor
	mode     mode
	question asked // what waits; id "" is nothing
	pinned   bool  // the question is shown again: it has scrolled away
	activity *activity
	unfolded bool
	notice   string // one line for the person; "" is none
}

// asked is a question as the region shows it.
type asked struct {
	id      string
	text    string // on one line
	options []string
	since   time.Time
	shown   time.Time // for the first time
}

// mode says what Enter does with the line.
type mode int

const (
	free   mode = iota // no question waits: a remark, or what was asked for
	answer             // it answers the question
	remark             // it was begun before the question came: it stays a remark
)

// region lays everything out: what is less important goes first where there is no room.
func (v *view) region() region {
	width := max(v.width, leastWidth)
	height := max(v.height, 2)
	r := v.input(width, max(1, min(maxInputRows, height/2)))
	room := height - len(r.rows) - 1 // a row of output at least
	var above []string
	add := func(rows ...string) {
		if n := min(room, len(rows)); n > 0 {
			above = append(rows[:n:n], above...)
			room -= n
		}
	}
	if hint := v.hint(); hint != "" {
		add(v.dim(text.Truncate(hint, width-1)))
	}
	if status := v.status(width - 1); status != "" {
		add(status)
	}
	if v.pinned {
		add(v.pin(width - 1)...)
	}
	add(v.crew(width-1, min(maxWorkerRows, height/4))...)
	if len(above) > 0 && height >= roomy {
		above = append([]string{""}, above...)
	}
	r.rows = append(above, r.rows...)
	r.y += len(above)
	return r
}

// input lays out the line that is typed, broken into rows; of many, those around the cursor are shown.
func (v *view) input(width, most int) region {
	label := v.label()
	margin := text.Width(label)
	indent := strings.Repeat(" ", margin)
	room := width - 1 // the cursor stands behind the last character
	rows := []string{label}
	used := margin
	x, y := 0, 0
	var row strings.Builder
	feed := func() {
		rows[len(rows)-1] += row.String()
		row.Reset()
		rows = append(rows, indent)
		used = margin
	}
	for i, p := range v.edit.pieces {
		shown, cells := v.piece(p, room-margin)
		if p.text != "\n" && used+cells > room {
			feed()
		}
		if i == v.edit.at {
			x, y = used, len(rows)-1
		}
		if p.text == "\n" && p.label == "" {
			feed()
			continue
		}
		row.WriteString(shown)
		used += cells
	}
	if v.edit.at == len(v.edit.pieces) {
		x, y = used, len(rows)-1
	}
	rows[len(rows)-1] += row.String()
	if v.mode != free {
		rows[0] = v.bold(label) + rows[0][len(label):]
	}
	from := min(max(0, y-most/2), max(0, len(rows)-most))
	rows = rows[from:min(len(rows), from+most)]
	return region{rows: rows, x: x, y: y - from}
}

// piece is what is shown of a piece, and its cells.
func (v *view) piece(p piece, room int) (shown string, cells int) {
	switch {
	case p.label != "":
		shown = text.Truncate("["+p.label+"]", room)
		cells = text.Width(shown)
		if v.styles {
			shown = "\x1b[7m" + shown + "\x1b[0m"
		}
		return shown, cells
	case p.text == "\t":
		return "  ", 2
	}
	return p.text, text.Width(p.text)
}

// label stands before what is typed and says what Enter does with it.
func (v *view) label() string {
	switch v.mode {
	case answer:
		return v.say.Say("tui.answer") + "> "
	case remark:
		return v.say.Say("tui.remark") + "> "
	case free:
	}
	return "> "
}

func (v *view) hint() string {
	switch {
	case v.notice != "":
		return v.notice
	case v.mode == remark:
		return v.say.Say("tui.remark.hint")
	}
	return ""
}

// pin shows the question that waits once more.
func (v *view) pin(width int) []string {
	var rows []string
	lines := text.Wrap(v.question.text, width-2)
	if len(lines) > 2 {
		lines = []string{lines[0], text.Truncate(lines[1]+" "+lines[2], width-2)}
	}
	for _, l := range lines {
		rows = append(rows, v.bold("? "+l))
	}
	var options []string
	for i, o := range v.question.options {
		options = append(options, fmt.Sprintf("%d) %s", i+1, o))
	}
	if len(options) > 0 {
		rows = append(rows, v.bold(text.Truncate("?   "+strings.Join(options, "  "), width)))
	}
	return rows
}

// crew shows one row for each subagent at work.
func (v *view) crew(width, most int) []string {
	workers := v.activity.workers
	if len(workers) == 0 || most < 1 {
		return nil
	}
	var rows []string
	for i, t := range workers {
		if i == most-1 && len(workers) > most {
			rows = append(rows, v.dim(text.Truncate("  "+v.say.Say("tui.more", text.Data{"N": len(workers) - i}), width)))
			break
		}
		what, since := v.doing(t)
		tail := v.since(since)
		head := "  " + t.name + " "
		if t.title != "" && v.width >= spacious {
			head += text.Truncate(t.title, width/3) + ": "
		}
		rows = append(rows, v.dim(text.Truncate(head+what, width-text.Width(tail))+tail))
	}
	return rows
}

// doing says what a conversation is at, and since when.
func (v *view) doing(t *thread) (what string, since time.Time) {
	other := t.own()
	switch {
	case !t.trying.IsZero() && t.try == 0 && t.outage == agent.Offline:
		return v.say.Say("tui.offline"), t.trying
	case !t.trying.IsZero() && t.try == 0:
		return v.say.Say("tui.busy"), t.trying
	case !t.trying.IsZero():
		return v.say.Say("tui.trying", text.Data{"N": t.try}), t.trying
	case other != nil:
		what = other.what
		if n := len(t.calls); n > 1 {
			what = fmt.Sprintf("%s +%d", text.Truncate(what, 40), n-1)
		}
		return what, other.since
	case t.handsOut():
		return v.say.Say("tui.workers.wait", text.Data{"N": max(1, len(v.activity.workers))}), t.calls[0].since
	case t.doing == writing:
		return v.say.Say("tui.writing") + size(t.bytes), t.since
	case t.doing == calling:
		return v.say.Say("tui.calling", text.Data{"Tool": t.tool}) + size(t.bytes), t.since
	}
	return v.say.Say("tui.thinking"), t.since
}

// size is how much of an answer has come, if it is worth a word.
func size(n int) string {
	if n < 1<<10 {
		return ""
	}
	return ", " + text.Bytes(int64(n))
}

// spinner moves once a second, with the clock beside it.
const spinner = `|/-\`

// status is the row that says what is going on; "" if nothing is.
func (v *view) status(width int) string {
	a := v.activity
	sign := string(spinner[v.now.Unix()&3]) + " "
	var what string
	var since time.Time
	turn, step, workers, context := v.turnPart(), v.stepPart(), v.workersPart(), v.contextPart()
	switch {
	case v.question.id != "":
		sign = "? "
		what, since = v.say.Say("tui.question"), v.question.since
	case !a.busy:
		return ""
	case !a.stopped.IsZero():
		sign, what, since = "! ", v.say.Say("tui.stopped"), a.stopped
	case !a.full.IsZero():
		what, since = v.say.Say("tui.full"), a.full
	default:
		what, since = v.doing(&a.main)
		if a.main.handsOut() {
			workers = "" // that is what is going on
		}
	}
	// What is less important goes first where there is no room: the turn, the step, the workers, the word for the context.
	// What is in use and what it costs always stay.
	less := []func(){func() { turn = "" }, func() { step = "" }, func() { workers = "" }, func() { context = v.contextShort() }}
	for {
		fixed := v.since(since)
		for _, p := range []string{step, context, v.costPart(), workers, turn} {
			if p != "" {
				fixed += separator + p
			}
		}
		room := width - text.Width(sign) - text.Width(fixed)
		if room >= min(leastDetail, text.Width(what)) || len(less) == 0 {
			row := text.Truncate(sign+text.Truncate(what, room)+fixed, width)
			if v.question.id != "" || a.busy && !a.stopped.IsZero() { // it waits for the person
				return v.bold(row)
			}
			return v.dim(row)
		}
		less[0]()
		less = less[1:]
	}
}

// separator stands between the parts of a row.
const separator = " · "

// since says for how long something goes on, behind what that is.
func (v *view) since(t time.Time) string {
	if v.width < spacious {
		return " " + lapse(v.now.Sub(t))
	}
	return separator + lapse(v.now.Sub(t))
}

func (v *view) stepPart() string {
	a := v.activity
	if a.step == "" {
		return ""
	}
	return fmt.Sprintf("%s %d/%d", text.Truncate(a.step, 16), a.index, a.total)
}

func (v *view) turnPart() string {
	if v.activity.turn == 0 {
		return ""
	}
	return v.say.Say("tui.turn", text.Data{"N": v.activity.turn})
}

// contextPart is how much of the context window is in use, and what share of it that is.
func (v *view) contextPart() string {
	if v.activity.context == 0 {
		return ""
	}
	return v.say.Say("tui.context", text.Data{"Tokens": v.contextShort()})
}

func (v *view) contextShort() string {
	a := v.activity
	if a.context == 0 {
		return ""
	}
	if a.window > 0 {
		if share := (a.context*100 + a.window/2) / a.window; share > 0 {
			return fmt.Sprintf("%s %d%%", text.Tokens(a.context), share)
		}
	}
	return text.Tokens(a.context)
}

func (v *view) costPart() string { return text.Dollars(v.activity.cost, v.activity.unpriced) }

func (v *view) workersPart() string {
	n := len(v.activity.workers)
	if n == 0 {
		return ""
	}
	return v.say.Say("tui.workers", text.Data{"N": n})
}

// lapse writes for how long something goes on: 12s, 4m05s, 3h02m.
func lapse(d time.Duration) string {
	d = max(d, 0)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
}

func (v *view) dim(s string) string  { return v.style("\x1b[2m", s) }
func (v *view) bold(s string) string { return v.style("\x1b[1m", s) }

func (v *view) style(sgr, s string) string {
	if !v.styles || s == "" {
		return s
	}
	return sgr + s + "\x1b[0m"
}
