package tui

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/charmbracelet/x/vt"

	"flower"
	"flower/agent"
	"flower/internal/text"
	"flower/transcript"
)

// desk is a loop in front of a terminal made of software.
type desk struct {
	t      *testing.T
	u      *ui
	screen *vt.Emulator
	dev    *fakeDevice
	mu     sync.Mutex
	writes []string // frames, as they were written
	killed []syscall.Signal
	left   []Line // what was not taken when the loop ended

	in     chan []byte
	out    chan string
	events chan flower.Event
	orders chan func(*ui)
	sigs   chan os.Signal
	lines  chan Line
	stop   chan struct{}
}

type fakeDevice struct {
	w, h          int
	raw, elsewise bool
}

func (d *fakeDevice) enter() error     { d.raw = true; return nil }
func (d *fakeDevice) leave() error     { d.raw = false; return nil }
func (d *fakeDevice) size() (w, h int) { return d.w, d.h }
func (d *fakeDevice) ours() bool       { return !d.elsewise }

// Write is the terminal's side.
func (d *desk) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.writes = append(d.writes, string(p))
	return d.screen.Write(p)
}

// frames are all writes so far.
func (d *desk) frames() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.writes)
}

// sit runs f in front of a loop, in a bubble of its own: time passes only when everybody waits.
func sit(t *testing.T, w, h int, opts Options, f func(*desk)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d := &desk{
			t: t, screen: vt.NewEmulator(w, h), dev: &fakeDevice{w: w, h: h},
			in: make(chan []byte, 64), out: make(chan string), events: make(chan flower.Event, 256), orders: make(chan func(*ui)),
			sigs: make(chan os.Signal, 8), lines: make(chan Line), stop: make(chan struct{}),
		}
		if opts.Say == nil {
			opts.Say = text.NewPrinter(text.English)
		}
		if opts.Getenv == nil {
			opts.Getenv = func(name string) string {
				// What the software terminal is like: it does not break lines anew.
				return map[string]string{"TERM": "xterm", "XTERM_VERSION": "1", "NO_COLOR": "1"}[name]
			}
		}
		d.u = newUI(opts, d.dev, d)
		d.u.input, d.u.output, d.u.events, d.u.orders = d.in, d.out, d.events, d.orders
		d.u.signals, d.u.stop, d.u.lines = d.sigs, d.stop, d.lines
		d.u.kill = func(_ int, sig syscall.Signal) error { d.killed = append(d.killed, sig); return nil }
		done := make(chan struct{})
		go func() { defer close(done); d.u.run() }()
		synctest.Wait()
		f(d)
		close(d.stop)
		for l := range d.lines {
			d.left = append(d.left, l)
		}
		<-done
	})
}

// types sends bytes as one piece and waits until they are dealt with.
func (d *desk) types(s string) {
	d.in <- []byte(s)
	synctest.Wait()
}

// prints writes output and waits until it is shown.
func (d *desk) prints(s string) {
	d.out <- s
	synctest.Wait()
	time.Sleep(frameTime)
	synctest.Wait()
}

func (d *desk) tell(ev flower.Event) {
	d.events <- ev
	synctest.Wait()
	time.Sleep(frameTime)
	synctest.Wait()
}

func (d *desk) agent(ev agent.Event) { d.tell(flower.AgentEvent{Event: ev}) }

// pends lets a question wait, or none.
func (d *desk) pends(q *flower.Question) {
	d.orders <- func(u *ui) {
		u.attend.Pending = func() (flower.Question, bool) {
			if q == nil {
				return flower.Question{}, false
			}
			return *q, true
		}
	}
	synctest.Wait()
}

// rows is the screen as people see it, without empty rows at its end.
func (d *desk) rows() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	rows := strings.Split(d.screen.String(), "\n")
	for i := range rows {
		rows[i] = strings.TrimRight(rows[i], " ")
	}
	for len(rows) > 0 && rows[len(rows)-1] == "" {
		rows = rows[:len(rows)-1]
	}
	return rows
}

// shows checks the screen and where the cursor stands.
func (d *desk) shows(x, y int, want ...string) {
	d.t.Helper()
	got := strings.Join(d.rows(), "\n")
	if w := strings.Join(want, "\n"); got != w {
		d.t.Errorf("the screen shows\n%s\nwant\n%s", got, w)
	}
	if p := d.screen.CursorPosition(); p.X != x || p.Y != y {
		d.t.Errorf("the cursor stands at %d,%d, want %d,%d, of\n%s", p.X, p.Y, x, y, got)
	}
}

// entered takes the line that was entered.
func (d *desk) entered() (Line, error) {
	synctest.Wait()
	select {
	case l := <-d.lines:
		return l, nil
	default:
		return Line{}, errors.New("nothing was entered")
	}
}

func (d *desk) enters(want Line) {
	d.t.Helper()
	if got, err := d.entered(); err != nil || got != want {
		d.t.Errorf("entered %+v (%v), want %+v", got, err, want)
	}
}

func TestTypingWhileOutputScrolls(t *testing.T) {
	sit(t, 20, 6, Options{}, func(d *desk) {
		d.shows(2, 0, ">")
		d.types("half ty")
		d.prints("one\ntwo\n")
		d.types("ped")
		d.shows(12, 2, "one", "two", "> half typed")
		for i := range 20 {
			d.prints(fmt.Sprintf("line %d\n", i))
		}
		d.shows(12, 5, "line 15", "line 16", "line 17", "line 18", "line 19", "> half typed")
		if n := d.screen.ScrollbackLen(); n < 17 {
			t.Errorf("only %d rows are in the scrollback", n)
		}
		d.types("\r")
		d.enters(Line{Text: "half typed"})
		d.shows(2, 5, "line 15", "line 16", "line 17", "line 18", "line 19", ">")
	})
}

// What was painted is one write, of whole lines, and not too much at once.
func TestFramesAreWhole(t *testing.T) {
	sit(t, 40, 10, Options{}, func(d *desk) {
		d.types("半个")
		line := strings.Repeat("汉字", 15) + "\n"
		for range 8 {
			head, rest := chunk(strings.Repeat(line, 1000))
			for ; head != ""; head, rest = chunk(rest) {
				d.out <- head
			}
		}
		synctest.Wait()
		time.Sleep(time.Second)
		synctest.Wait()
		n := 0
		for _, w := range d.frames() {
			if len(w) > 2*maxWrite {
				t.Fatalf("a write of %d bytes", len(w))
			}
			for l := range strings.Lines(w) {
				if i := strings.Index(l, "汉"); i >= 0 && strings.HasSuffix(l, "\r\n") {
					if l[i:] != strings.ReplaceAll(line, "\n", "\r\n") {
						t.Fatalf("a torn line: %q", l)
					}
					n++
				}
			}
		}
		if n != 8_000 {
			t.Errorf("%d lines were written", n)
		}
	})
}

// The line is edited by characters as people see them, also at the right edge.
func TestEditing(t *testing.T) {
	family := "👨\u200d👩\u200d👧"
	tests := []struct {
		name, keys string
		want       string
		x, y       int
		rows       []string
	}{
		{"wide", "中文字", "中文字", 8, 0, []string{"> 中文字"}},
		{"backspace takes a wide one", "中文\x7f字", "中字", 6, 0, []string{"> 中字"}},
		{"backspace takes a family", "a" + family + "\x7fb", "ab", 4, 0, []string{"> ab"}},
		{"left over a family", family + "x\x1b[D\x1b[Dy", "y" + family + "x", 3, 0, nil},
		{"a mark joins its letter", "ab\x1b[De\u0301\x7f", "ab", 3, 0, []string{"> ab"}},
		{"a mark typed late", "eb\x1b[D\u0301\x7f", "b", 2, 0, []string{"> b"}},
		{"home, end", "bc\x01a\x05d", "abcd", 6, 0, []string{"> abcd"}},
		{"word left", "one two\x1bb\x1bbX", "Xone two", 3, 0, []string{"> Xone two"}},
		{"word right", "one two\x01\x1bfX", "oneX two", 6, 0, []string{"> oneX two"}},
		{"ctrl arrow", "one two\x1b[1;5DX", "one Xtwo", 7, 0, []string{"> one Xtwo"}},
		{"kill word", "one two\x17x", "one x", 7, 0, []string{"> one x"}},
		{"a word of Chinese ends at its marks", "先做这个,再做那个\x17", "先做这个,", 11, 0, []string{"> 先做这个,"}},
		{"kill to the end, and back", "one two\x01\x0b\x19!", "one two!", 10, 0, []string{"> one two!"}},
		{"kill to the start", "one two\x15x", "x", 3, 0, []string{"> x"}},
		{"delete", "abc\x01\x1b[3~\x04", "c", 2, 0, []string{"> c"}},
		{"the edge", "123456789012345678", "123456789012345678", 3, 1, []string{"> 12345678901234567", "  8"}},
		{"a wide one does not fit", "1234567890123456中", "1234567890123456中", 4, 1, []string{"> 1234567890123456", "  中"}},
		{"the cursor stays on the screen", "12345678901234567", "12345678901234567", 19, 0, []string{"> 12345678901234567"}},
		{"back over the edge", "1234567890123456中x\x7f\x7f\x7f", "123456789012345", 17, 0, []string{"> 123456789012345"}},
		{"rows", "one\x1b\rtwo", "one\ntwo", 5, 1, []string{"> one", "  two"}},
		{"rows by backslash", "one\\\rtwo", "one\ntwo", 5, 1, []string{"> one", "  two"}},
		{"a row up", "one\x1b\rtwo\x1b[A!", "one!\ntwo", 6, 0, []string{"> one!", "  two"}},
		{"keys that are none", "a\x1b[99~\x1b[<0;1;1M\x1b]11;rgb:0/0/0\x07b", "ab", 4, 0, []string{"> ab"}},
		{"hidden characters are not typed", "a\u202eb\u200bc", "abc", 5, 0, []string{"> abc"}},
		{"flags", "🇩🇪🇫🇷\x7f", "🇩🇪", 4, 0, []string{"> 🇩🇪"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			sit(t, 20, 6, Options{}, func(d *desk) {
				d.types(tt.keys)
				if tt.rows != nil {
					d.shows(tt.x, tt.y, tt.rows...)
				}
				d.types("\r")
				d.enters(Line{Text: tt.want})
			})
			// Connections cut anywhere.
			sit(t, 20, 6, Options{}, func(d *desk) {
				for i := range len(tt.keys) {
					d.types(tt.keys[i : i+1])
				}
				d.types("\r")
				d.enters(Line{Text: tt.want})
			})
		})
	}
}

func TestEscAlone(t *testing.T) {
	sit(t, 20, 4, Options{}, func(d *desk) {
		d.types("a\x1b")
		time.Sleep(2 * escTime)
		synctest.Wait()
		d.types("[Db")
		d.shows(6, 0, "> a[Db")
	})
}

// A paste is put in as a whole wherever it is cut on its way, and is never entered by what is in it.
func TestPaste(t *testing.T) {
	short := "one\r\ntwo\r中\x1b[31m文\tx"
	long := strings.Repeat("a line of the log\n", 300)
	for _, tt := range []struct{ name, paste, want, row string }{
		{"short", short, "one\ntwo\n中文\tx", "> one"},
		{"long", long, long, "> [pasted: 300 lines]"},
		{"wide", strings.Repeat("x", 900), strings.Repeat("x", 900), "> [pasted: 900 B]"},
		{"an end mark that is none", "a\x1b[201b\x1b[20", "a20", "> a20"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			wire := pasteBegin + tt.paste + pasteEnd
			step := max(1, len(wire)/200)
			for at := 0; at < len(wire); at += step {
				sit(t, 30, 8, Options{}, func(d *desk) {
					d.types(wire[:at])
					d.types(wire[at:])
					if got := d.rows()[0]; got != tt.row {
						t.Fatalf("cut at %d: shows %q, want %q", at, got, tt.row)
					}
					if _, err := d.entered(); err == nil {
						t.Fatalf("cut at %d: something was entered", at)
					}
					d.types("\r")
					if got, err := d.entered(); err != nil || got.Text != tt.want {
						t.Fatalf("cut at %d: %q (%v)", at, got.Text, err)
					}
				})
			}
		})
	}
}

func TestPasteOfAnySize(t *testing.T) {
	sit(t, 30, 8, Options{}, func(d *desk) {
		d.types(pasteBegin)
		block := strings.Repeat("0123456789abcde\n", 4096)
		for range 2 * maxPaste / len(block) {
			d.in <- []byte(block)
		}
		d.types(pasteEnd)
		if row := strings.Join(d.rows(), "\n"); !strings.Contains(row, "only the first 16 MiB") {
			t.Errorf("it is not said that the paste was cut:\n%s", row)
		}
		d.types("\r")
		if l, err := d.entered(); err != nil || len(l.Text) != maxPaste {
			t.Errorf("%d bytes were entered (%v)", len(l.Text), err)
		}
	})
}

func TestHistory(t *testing.T) {
	sit(t, 20, 4, Options{}, func(d *desk) {
		for _, s := range []string{"one", "two", "two"} {
			d.types(s + "\r")
			d.enters(Line{Text: s})
		}
		d.types("draft\x1b[A")
		d.shows(5, 0, "> two")
		d.types("\x10\x10")
		d.shows(5, 0, "> one")
		d.types("\x1b[B\x0e")
		d.shows(7, 0, "> draft")
	})
}

// Narrower, wider, lower: the line is whole and nothing of the old region is left.
func TestResize(t *testing.T) {
	sit(t, 60, 8, Options{}, func(d *desk) {
		d.prints("out\n")
		d.tell(flower.AttemptStarted{})
		d.types("中文 and a rather long line of text that goes on")
		resize := func(w, h int) {
			d.dev.w, d.dev.h = w, h
			d.screen.Resize(w, h)
			d.sigs <- syscall.SIGWINCH
			time.Sleep(2 * resizeTime)
			synctest.Wait()
		}
		resize(40, 8)
		d.shows(13, 3, "out", "| thinking 0s · $0.00", "> 中文 and a rather long line of text t", "  hat goes on")
		resize(70, 8)
		d.shows(50, 2, "out", "| thinking · 0s · $0.00", "> 中文 and a rather long line of text that goes on")
		resize(40, 4)
		d.shows(13, 3, "out", "| thinking 0s · $0.00", "> 中文 and a rather long line of text t", "  hat goes on")
	})
}

// A terminal that breaks lines anew has moved the region's rows.
func TestReflow(t *testing.T) {
	var out strings.Builder
	p := painter{out: &out, reflows: true}
	r := region{rows: []string{strings.Repeat("s", 70), strings.Repeat("i", 50)}, x: 50, y: 1}
	if err := p.print("", r, 80); err != nil {
		t.Fatal(err)
	}
	out.Reset()
	if err := p.print("", region{rows: []string{"s", "i"}, x: 1, y: 1}, 40); err != nil {
		t.Fatal(err)
	}
	// One row above the cursor has become two, and the cursor's own as well.
	if !strings.Contains(out.String(), "\r\x1b[3A\x1b[J") {
		t.Errorf("wrote %q", out.String())
	}
}

// Nothing is written while nothing happens, and once a second while something goes on.
func TestIdle(t *testing.T) {
	sit(t, 60, 8, Options{}, func(d *desk) {
		n := len(d.frames())
		time.Sleep(time.Hour)
		synctest.Wait()
		if len(d.frames()) != n {
			t.Errorf("%d writes in an idle hour", len(d.frames())-n)
		}
		d.tell(flower.AttemptStarted{})
		n = len(d.frames())
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := len(d.frames()) - n; got < 59 || got > 61 {
			t.Errorf("%d writes in a busy minute", got)
		}
		d.tell(flower.AttemptFinished{})
		n = len(d.frames())
		time.Sleep(time.Hour)
		synctest.Wait()
		if len(d.frames()) != n {
			t.Errorf("%d writes in an idle hour after work", len(d.frames())-n)
		}
	})
}

// Many events a second make few frames.
func TestFrameRate(t *testing.T) {
	sit(t, 60, 8, Options{}, func(d *desk) {
		d.tell(flower.AttemptStarted{})
		n := len(d.frames())
		for i := range 1000 {
			d.out <- fmt.Sprintf("line %d\n", i)
			d.events <- flower.AgentEvent{Event: agent.ToolStarted{ID: fmt.Sprint(i), Name: "Read"}}
			time.Sleep(time.Millisecond)
		}
		synctest.Wait()
		if got := len(d.frames()) - n; got > 40 {
			t.Errorf("%d frames in a second", got)
		}
	})
}

func TestKeysThatAreSignals(t *testing.T) {
	sit(t, 40, 8, Options{}, func(d *desk) {
		d.prints("out\n")
		d.types("half\x03")
		d.shows(6, 1, "out", "> half")
		if len(d.killed) != 1 || d.killed[0] != syscall.SIGINT {
			t.Errorf("signals %v", d.killed)
		}
		d.types("\x1a")
		if len(d.killed) != 2 || d.killed[1] != syscall.SIGTSTP || d.dev.raw {
			t.Errorf("signals %v, raw %v", d.killed, d.dev.raw)
		}
		d.shows(0, 1, "out")
		// In the background output goes on, the region does not.
		d.dev.elsewise = true
		d.sigs <- syscall.SIGCONT
		d.prints("more\n")
		if d.dev.raw {
			t.Error("the terminal was taken in the background")
		}
		d.dev.elsewise = false
		d.sigs <- syscall.SIGCONT
		synctest.Wait()
		if rows := strings.Join(d.rows(), "|"); !d.dev.raw || !strings.HasSuffix(rows, "more|> half") {
			t.Errorf("raw %v, the screen shows %s", d.dev.raw, rows)
		}
		close(d.in)
		d.in = nil
		synctest.Wait()
		if len(d.killed) != 3 || d.killed[2] != syscall.SIGHUP {
			t.Errorf("signals %v", d.killed)
		}
	})
}

// A stop that does not stop, because no shell could continue us, ends by itself.
func TestStopIgnored(t *testing.T) {
	sit(t, 40, 8, Options{}, func(d *desk) {
		d.types("x\x1a")
		time.Sleep(2 * stopTime)
		synctest.Wait()
		d.shows(3, 0, "> x")
		if !d.dev.raw {
			t.Error("the terminal was not taken back")
		}
	})
}

func TestEndOfInput(t *testing.T) {
	sit(t, 40, 8, Options{}, func(d *desk) {
		d.types("ab\x01\x04\x04\x04")
		d.enters(Line{End: true})
	})
}

// At the end the region is gone, the output is not, and the terminal is as it was.
func TestEnd(t *testing.T) {
	var d *desk
	sit(t, 40, 8, Options{}, func(it *desk) {
		d = it
		d.types("half")
		d.prints("out\n")
	})
	d.t = t
	d.shows(0, 1, "out")
	if all := strings.Join(d.frames(), ""); d.dev.raw || !strings.HasSuffix(all, pasteOff) || d.screen.CursorHidden() {
		t.Errorf("raw %v, cursor hidden %v, written last %q", d.dev.raw, d.screen.CursorHidden(), d.frames()[len(d.frames())-1])
	}
}

// What was being typed at the end is not lost: not what was put aside for history, not a paste that is folded, not one in
// the middle of which the end comes.
func TestEndWhileTyping(t *testing.T) {
	long := strings.Repeat("a line of the log\n", 300)
	tests := []struct {
		name, keys string
		want       []string
	}{
		{"nothing", "", nil},
		{"blanks", "  \x1b\r ", nil},
		{"half a line", "use gre", []string{"use gre"}},
		{"rows", "one\x1b\rtwo", []string{"one\ntwo"}},
		{"a folded paste", "see " + pasteBegin + long + pasteEnd + "!", []string{"see " + long + "!"}},
		{"half a paste", "see " + pasteBegin + "one\r\ntwo \x1b[20", []string{"see one\ntwo "}},
		{"a line of history", "old\r\x1b[A", nil},
		{"a draft behind history", "old\rdraft\x1b[A", []string{"draft"}},
		{"a draft and an edited line", "old\rdraft\x1b[A!", []string{"draft", "old!"}},
		{"history and back", "old\rdraft\x1b[A\x1b[B", []string{"draft"}},
	}
	for _, tt := range tests {
		var d *desk
		sit(t, 40, 8, Options{}, func(it *desk) {
			d = it
			d.types(tt.keys)
		})
		var got []string
		for _, l := range d.left {
			if l.Unsent {
				got = append(got, l.Text)
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: left %q, want %q", tt.name, got, tt.want)
		}
	}
}

// A fault of the loop costs the region; the terminal is given back and output goes on.
func TestFault(t *testing.T) {
	sit(t, 40, 8, Options{}, func(d *desk) {
		d.prints("out\n")
		d.orders <- func(*ui) { panic("a fault") }
		if _, ok := <-d.lines; ok {
			t.Error("lines go on")
		}
		if d.dev.raw {
			t.Error("the terminal was not given back")
		}
		d.shows(0, 1, "out")
	})
}

func TestPutBack(t *testing.T) {
	sit(t, 40, 8, Options{}, func(d *desk) {
		d.orders <- func(u *ui) { u.putBack("what was said", "the disk is full") }
		synctest.Wait()
		d.shows(15, 1, "the disk is full", "> what was said")
		d.types("!")
		d.shows(16, 0, "> what was said!")
	})
}

func TestStatus(t *testing.T) {
	say := func(path string, tokens int, usd float64) agent.Answered {
		return agent.Answered{Path: path, Turn: 5, CostUSD: usd, Message: transcript.Message{Usage: transcript.Usage{Input: tokens}}}
	}
	sit(t, 100, 12, Options{}, func(d *desk) {
		d.orders <- func(u *ui) { u.act.window = 200_000 }
		d.tell(flower.StepStarted{Name: "work", Index: 3, Total: 3})
		d.tell(flower.AttemptStarted{})
		d.agent(say("", 80_200, 1.23))
		d.agent(agent.ToolStarted{ID: "1", Name: "Agent", Input: []byte(`{"description":"the shop"}`)})
		d.agent(agent.ToolStarted{ID: "2", Name: "Agent"})
		d.agent(agent.Started{Path: "a", Agent: "worker", Title: "the payment page"})
		d.agent(agent.Started{Path: "b", Agent: "worker", Title: "目录"})
		d.agent(agent.ToolStarted{Path: "b", ID: "3", Name: "Bash", Input: []byte(`{"command":"go test \u001b[2J ./..."}`)})
		d.agent(agent.Progress{Path: "a", Delta: agent.Retrying{Attempt: 2}})
		time.Sleep(12900 * time.Millisecond)
		synctest.Wait()
		got := strings.Join(d.rows(), "\n")
		for _, want := range []string{
			"  w1 the payment page: waiting for the endpoint, attempt 2 failed · 12s\n",
			"  w2 目录: Bash go test ./... · 12s\n",
			" 2 workers busy · 12s · work 3/3 · context 80.2K 40% · $1.23 · turn 5\n>",
		} {
			if !strings.Contains(got, want) {
				t.Errorf("%q is not in\n%s", want, got)
			}
		}
		d.agent(agent.Progress{Path: "b", Delta: agent.Waiting{Outage: agent.Offline, Since: time.Now().Add(-2 * time.Minute)}})
		d.agent(agent.ToolFinished{Path: "b", ID: "3"})
		if got := strings.Join(d.rows(), "\n"); !strings.Contains(got, "waiting for the network · 2m00s\n") {
			t.Errorf("an outage shows\n%s", got)
		}
		d.agent(agent.Finished{Path: "a"})
		d.agent(agent.Finished{Path: "b"})
		d.agent(agent.ToolFinished{ID: "1"})
		d.agent(agent.ToolFinished{ID: "2"})
		d.agent(agent.Progress{Delta: agent.TextDelta{Text: strings.Repeat("x", 2048)}})
		if got := strings.Join(d.rows(), "\n"); !strings.Contains(got, " writing, 2 KiB · 0s · work 3/3 · context 80.2K 40% · $1.23 · turn 5\n>") {
			t.Errorf("shows\n%s", got)
		}
		d.dev.w = 40
		d.screen.Resize(40, 12)
		d.sigs <- syscall.SIGWINCH
		time.Sleep(2 * resizeTime)
		synctest.Wait()
		if got := strings.Join(d.rows(), "\n"); !strings.Contains(got, " writing, 2 KiB 0s · 80.2K 40% · $1.23\n>") {
			t.Errorf("40 columns show\n%s", got)
		}
	})
}
