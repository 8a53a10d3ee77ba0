package tui

import (
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	"flower"
	"flower/internal/text"
)

// Pauses.
const (
	frameTime  = time.Second / 30       // between frames that show output
	escTime    = 100 * time.Millisecond // after an Esc, for the rest of a sequence: connections are slow
	resizeTime = 50 * time.Millisecond  // after a change of size, for the terminal to settle
	stopTime   = 500 * time.Millisecond // after a stop signal that does not stop: nobody could go on with us
	seeTime    = 700 * time.Millisecond // after a question is shown, before Enter alone skips it: it may have been meant for another
)

// elsewhere is a number of rows that no terminal has.
const elsewhere = 1 << 20

// maxPieces is how much is read before something is drawn, in reads.
const maxPieces = 64

// ui is the loop of a terminal: all that is shown and typed belongs to its goroutine.
type ui struct {
	opts   Options
	dev    device
	paint  painter
	keys   decoder
	edit   editor
	act    activity
	attend Run

	input   <-chan []byte
	output  <-chan string
	events  <-chan flower.Event
	orders  <-chan func(*ui)
	signals <-chan os.Signal
	stop    <-chan struct{}
	lines   chan<- Line
	queue   []Line // entered, and not taken yet

	question asked
	lineFor  string // the question that the line answers: that on the screen when it was begun; "" is none
	scrolled int    // rows of output since the question came, its own among them
	rung     bool
	unfolded bool
	notice   string

	waiting  strings.Builder // output for the next frame
	due      bool            // something of the region has changed
	now      bool            // and is drawn as soon as what was typed is dealt with
	at       time.Time       // of the last frame
	attached bool            // the terminal is ours: the region is shown
	kill     func(pid int, sig syscall.Signal) error
	later    func(f func()) // runs f beside the loop, which must not wait for who may wait for it

	frame, esc, resize, resume *time.Timer
	tick                       *time.Ticker
	ticks                      <-chan time.Time // nil while no clock runs
}

func newUI(opts Options, dev device, out io.Writer) *ui {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Patience == 0 {
		opts.Patience = DefaultPatience
	}
	if opts.Notify == "" {
		opts.Notify = bell
	}
	if opts.Getenv == nil {
		opts.Getenv = func(string) string { return "" }
	}
	u := &ui{opts: opts, dev: dev, kill: syscall.Kill}
	u.later = func(f func()) { go f() }
	u.paint = painter{out: out, reflows: reflows(opts.Getenv)}
	u.act = activity{clean: opts.Clean, stepName: opts.StepName}
	return u
}

// reflows tells the terminals that break their lines anew when they get narrower. Most do.
func reflows(getenv func(string) string) bool {
	kind := getenv("TERM")
	if getenv("TMUX") != "" {
		return true
	}
	for _, old := range []string{"linux", "vt", "rxvt", "screen"} {
		if strings.HasPrefix(kind, old) {
			return false
		}
	}
	return getenv("XTERM_VERSION") == ""
}

// run shows and takes until it is stopped. A fault in it costs the region, not the run: the terminal is left as it was,
// and output goes on without it.
func (u *ui) run() {
	defer close(u.lines)
	defer u.timers()()
	defer func() {
		if v := recover(); v != nil {
			u.detach()
			_, _ = io.WriteString(u.paint.out, u.waiting.String())
		}
	}()
	u.attach()
	for {
		u.settle()
		if u.now {
			u.draw()
		}
		select {
		case b, ok := <-u.input:
			u.bytes(b, ok)
		case lines := <-u.output:
			u.waiting.WriteString(lines)
			u.soon()
		case ev := <-u.events:
			u.event(ev)
		case f := <-u.orders:
			f(u)
			u.show()
		case u.taker() <- u.first():
			u.queue = u.queue[1:]
		case sig := <-u.signals:
			u.signal(sig)
		case <-u.frame.C:
			u.now = true
		case <-u.resize.C:
			u.show()
		case <-u.resume.C:
			u.attach()
		case <-u.esc.C:
			u.do(u.keys.expire())
		case <-u.ticks:
			u.show()
		case <-u.stop:
			u.end()
			return
		}
	}
}

// timers makes the timers, none of which runs yet, and returns what stops them.
func (u *ui) timers() (stop func()) {
	all := []**time.Timer{&u.frame, &u.esc, &u.resize, &u.resume}
	for _, t := range all {
		*t = time.NewTimer(time.Hour)
		(*t).Stop()
	}
	return func() {
		for _, t := range all {
			(*t).Stop()
		}
		if u.tick != nil {
			u.tick.Stop()
		}
	}
}

// settle does first what has been typed already: keys come before output, and what was typed before a question was shown
// does not answer it.
func (u *ui) settle() {
	for range maxPieces {
		select {
		case b, ok := <-u.input:
			u.bytes(b, ok)
			if !ok {
				return
			}
		default:
			return
		}
	}
}

// taker and first offer the line that was entered first, if there is one.
func (u *ui) taker() chan<- Line {
	if len(u.queue) == 0 {
		return nil
	}
	return u.lines
}

func (u *ui) first() Line {
	if len(u.queue) == 0 {
		return Line{}
	}
	return u.queue[0]
}

// bytes takes what was typed. The end of the input is that of the terminal: somebody has closed it.
func (u *ui) bytes(b []byte, ok bool) {
	if !ok {
		u.input = nil
		_ = u.kill(os.Getpid(), syscall.SIGHUP)
		return
	}
	u.do(u.keys.feed(b))
	if u.keys.waits() {
		u.esc.Reset(escTime)
	} else {
		u.esc.Stop()
	}
}

// do does what keys say and shows it at once.
func (u *ui) do(keys []key) {
	for _, k := range keys {
		u.notice = ""
		begun := !u.edit.empty()
		u.key(k)
		if !begun {
			u.lineFor = u.question.id
		}
	}
	if len(keys) > 0 {
		u.show()
	}
}

// event follows the run. What comes many times a second waits for the clock.
func (u *ui) event(ev flower.Event) {
	if u.act.event(ev, u.opts.Now()) {
		u.due = true
		u.soon()
	}
}

// soon draws now, or when the next frame is due. Output is not kept back when there is much of it.
func (u *ui) soon() {
	wait := frameTime - u.opts.Now().Sub(u.at)
	if wait <= 0 || u.waiting.Len() >= maxWrite {
		u.now = true
		return
	}
	u.frame.Reset(wait)
}

// show lets the region be drawn in this turn of the loop.
func (u *ui) show() { u.due, u.now = true, true }

// look sees which question waits now.
func (u *ui) look() {
	var q flower.Question
	waits := false
	if u.attend.Pending != nil {
		q, waits = u.attend.Pending()
	}
	switch {
	case !waits && u.question.id != "":
		u.question = asked{}
	case waits && q.ID != u.question.id:
		u.scrolled, u.rung = 0, false
		if u.question.id != "" {
			u.scrolled = elsewhere // it was written while the one before it waited
		}
		u.question = asked{id: q.ID, text: u.act.decided(pinned(q)), since: q.AskedAt, shown: u.opts.Now()}
		for _, o := range q.Options {
			u.question.options = append(u.question.options, u.act.decided(o))
		}
	}
	if waits && !u.rung && u.opts.Patience > 0 && u.opts.Now().Sub(u.question.since) >= u.opts.Patience {
		u.rung = true
		_ = u.paint.ring(u.opts.Notify) // a terminal that is gone is noticed when it is read
	}
}

// mode says what Enter would do.
func (u *ui) mode() mode {
	switch {
	case u.question.id == "":
		return free
	case u.edit.empty() || u.lineFor == u.question.id:
		return answer
	}
	return remark
}

// draw makes frames of what waits to be shown.
func (u *ui) draw() {
	u.frame.Stop()
	u.now = false
	for u.due || u.waiting.Len() > 0 {
		u.look()
		u.clock()
		lines, rest := chunk(u.waiting.String())
		if rest == "" {
			u.waiting.Reset()
		} else {
			u.waiting.Reset()
			u.waiting.WriteString(rest)
		}
		u.due = false
		u.at = u.opts.Now()
		if !u.attached {
			_, _ = io.WriteString(u.paint.out, lines)
			continue
		}
		width, height := u.extent()
		if u.question.id != "" {
			u.count(lines, width)
		}
		_ = u.paint.print(lines, u.region(width, height), width) // a terminal that is gone is noticed when it is read
	}
}

// region is what stands below the output. A question that has been pushed off the screen is part of it.
func (u *ui) region(width, height int) region {
	v := u.view(width, height)
	r := v.region()
	if v.question.id != "" && u.scrolled > height-len(r.rows) {
		v.pinned = true
		r = v.region()
	}
	return r
}

// count counts rows of output behind a question.
func (u *ui) count(lines string, width int) {
	for l := range strings.Lines(lines) {
		u.scrolled += 1 + max(0, text.Width(l)-1)/width
	}
}

func (u *ui) extent() (width, height int) {
	width, height = u.dev.size()
	if width <= 0 {
		width = 80
	}
	if height <= 0 {
		height = 24
	}
	return width, height
}

func (u *ui) view(width, height int) *view {
	return &view{
		say: u.opts.Say, styles: u.opts.Getenv("NO_COLOR") == "", width: width, height: height, now: u.opts.Now(),
		edit: &u.edit, mode: u.mode(), question: u.question,
		activity: &u.act, unfolded: u.unfolded, notice: u.notice,
	}
}

// clock lets the clock run while the region shows one.
func (u *ui) clock() {
	runs := u.attached && (u.act.busy || u.question.id != "")
	switch {
	case runs && u.ticks == nil:
		if u.tick == nil {
			u.tick = time.NewTicker(time.Second)
		} else {
			u.tick.Reset(time.Second)
		}
		u.ticks = u.tick.C
	case !runs && u.ticks != nil:
		u.tick.Stop()
		u.ticks = nil
	}
}

// putBack gives a line back. It answers no question until the person says so: the one it was typed for may be gone, and
// the one that waits now is another.
func (u *ui) putBack(line, why string) {
	u.notice = u.act.line(why)
	if u.edit.empty() {
		u.edit.paste(pastedText(line), u.foldLabel(line))
		u.lineFor = ""
	}
}

// attach makes the terminal ours and shows the region, if this process is in the foreground.
func (u *ui) attach() {
	u.resume.Stop()
	if !u.dev.ours() || u.dev.enter() != nil {
		return
	}
	u.attached = true
	u.paint.forget()
	_, _ = io.WriteString(u.paint.out, pasteOn)
	u.show()
}

// detach leaves the terminal as it was.
func (u *ui) detach() {
	if !u.attached {
		return
	}
	width, _ := u.extent()
	_ = u.paint.clear(width) // what cannot be written cannot be repaired either
	_, _ = io.WriteString(u.paint.out, pasteOff)
	_ = u.dev.leave()
	u.attached = false
}

// end shows what still waits and leaves the terminal. What was entered and not taken stays for who asks for it, and so
// does what was being typed, also in the middle of a paste.
func (u *ui) end() {
	u.settle()
	if k := u.keys.broken(); k.pasted {
		u.key(k)
	}
	for {
		select {
		case lines := <-u.output:
			u.waiting.WriteString(lines)
			continue
		default:
		}
		break
	}
	u.draw()
	u.detach()
	for _, l := range u.queue {
		u.lines <- l // Close takes them
	}
	for _, s := range u.edit.unsent() {
		u.lines <- Line{Text: s, Unsent: true}
	}
}

// signal acts on what the system says about the terminal.
func (u *ui) signal(sig os.Signal) {
	switch sig {
	case syscall.SIGWINCH:
		u.resize.Reset(resizeTime)
	case syscall.SIGCONT:
		u.attach()
	}
}

// suspend lets the process be stopped with the terminal as it was. Others of the same job, a script that has started
// us for one, stop with it. The signal is never asked for: the runtime would keep its handler and the process would not
// stop any more. One that comes from elsewhere therefore stops us with the region shown; attach makes a new one.
func (u *ui) suspend() {
	u.detach()
	u.resume.Reset(stopTime)
	_ = u.kill(0, syscall.SIGTSTP)
}

// pinned is what stays in view of a question: of one about a call not the call, which was written above and of which there
// would be only the beginning.
func pinned(q flower.Question) string {
	if q.Permission == nil {
		return q.Text
	}
	words, _, _ := strings.Cut(q.Text, "\n")
	return words
}
