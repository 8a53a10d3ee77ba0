package cli

import (
	"errors"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"flower"
	"flower/internal/config"
	"flower/internal/text"
	"flower/internal/tui"
)

// console is a pseudo-terminal with a flower at it, and everything that was written to it.
type console struct {
	t             *testing.T
	app           *app
	master, slave *os.File
	mu            sync.Mutex
	all           strings.Builder
	news          chan struct{}
	gone          chan struct{}
}

// newConsole opens the terminal as a run does. Variables are those of env, and TERM.
func newConsole(t *testing.T, env ...string) *console {
	t.Helper()
	c := &console{t: t, news: make(chan struct{}, 1), gone: make(chan struct{})}
	c.master, c.slave = pair(t)
	if err := unix.IoctlSetWinsize(int(c.slave.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 60}); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(c.gone)
		buf := make([]byte, 4096)
		for {
			n, err := c.master.Read(buf)
			if err != nil {
				return // the other end is closed
			}
			c.mu.Lock()
			c.all.Write(buf[:n])
			c.mu.Unlock()
			select {
			case c.news <- struct{}{}:
			default:
			}
		}
	}()
	c.app = &app{
		Options: Options{Now: time.Now}, Printer: text.NewPrinter(text.English), env: append(env, "TERM=xterm"),
		stdio: Stdio{In: c.slave, Out: c.slave, Err: c.slave},
	}
	c.app.out, c.app.err = newScreen(c.slave, true), newScreen(c.slave, true)
	if err := c.app.openTerminal(config.NewRedactor()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.app.closeTerminal()
		if err := c.slave.Close(); err != nil {
			t.Error(err)
		}
		<-c.gone
		if err := c.master.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func (c *console) types(keys string) {
	c.t.Helper()
	if _, err := c.master.WriteString(keys); err != nil {
		c.t.Fatal(err)
	}
}

// until waits until something was written and returns all that was.
func (c *console) until(what string) string {
	c.t.Helper()
	deadline := time.After(20 * time.Second)
	for {
		c.mu.Lock()
		all := c.all.String()
		c.mu.Unlock()
		if strings.Contains(all, what) {
			return all
		}
		select {
		case <-c.news:
		case <-deadline:
			c.t.Fatalf("%q was not written, but %q", what, all)
		}
	}
}

// What is being typed when a run ends is shown, so that it can be copied, and no more of it than a screen bears.
func TestUnsent(t *testing.T) {
	const pasted = "\x1b[200~"
	long := strings.Repeat("a row of the log\n", 2_000)
	tests := []struct{ name, keys, seen, want string }{
		{"half a line", "use gre", "use gre", "! not sent; to be copied from here:\r\nuse gre\r\n"},
		{"rows, longer than the screen", pasted + "one\n" + strings.Repeat("two ", 40) + "\n\nthree\x1b[201~", "three",
			"here:\r\none\r\n" + strings.Repeat("two ", 40) + "\r\n\r\nthree\r\n"},
		{"a folded paste", pasted + "one\n\n\n\n\n\nsix\n\x1b[201~", "pasted: 7 lines", "here:\r\none\r\n\r\n\r\n\r\n\r\n\r\nsix\r\n"},
		{"much", pasted + long + "\x1b[201~", "pasted: 2000 lines", "17.2 KiB more, not shown"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := newConsole(t)
			c.types(tt.keys)
			before := c.until(tt.seen)
			c.app.closeTerminal()
			got := c.until(tt.want)[len(before):]
			if n := strings.Count(got, "a row"); n > maxUnsent/len("a row of the log\n")+1 {
				t.Errorf("%d rows are shown", n)
			}
		})
	}
	t.Run("nothing", func(t *testing.T) {
		c := newConsole(t)
		c.types("sent\r")
		if l := <-c.app.tty.Lines(); l != (tui.Line{Text: "sent"}) {
			t.Errorf("entered %+v", l)
		}
		c.app.closeTerminal()
		c.app.out.Line("the end")
		if got := c.until("the end"); strings.Contains(got, "not sent") {
			t.Errorf("wrote %q", got)
		}
	})
}

// asks lets a question wait that was asked two minutes ago, and returns what was written until it is on the screen.
func (c *console) asks() string {
	q := flower.Question{ID: "q1", Text: "Which?", AskedAt: time.Now().Add(-2 * tui.DefaultPatience)}
	c.app.tty.Attend(tui.Run{Pending: func() (flower.Question, bool) { return q, true }})
	return c.until("answer> ")
}

// The variable says how it is told that a question waits.
func TestNotify(t *testing.T) {
	const message = "\x1b]9;flower: waits for you\a"
	tests := []struct {
		env           []string
		bell, message int
	}{
		{nil, 1, 0},
		{[]string{"FLOWER_NOTIFY="}, 1, 0},
		{[]string{"FLOWER_NOTIFY=bell"}, 1, 0},
		{[]string{"FLOWER_NOTIFY=osc9"}, 0, 1},
		{[]string{"FLOWER_NOTIFY=off"}, 0, 0},
	}
	for _, tt := range tests {
		c := newConsole(t, tt.env...)
		got := c.asks() // it rings before it shows
		messages := strings.Count(got, message)
		if bells := strings.Count(got, "\a") - messages; bells != tt.bell || messages != tt.message || strings.Count(got, "\x1b]") != messages {
			t.Errorf("%q: %d bells and %d messages in %q", tt.env, bells, messages, got)
		}
	}
	var usage *usageError
	c := newConsole(t)
	c.app.closeTerminal()
	c.app.env = append(c.app.env, "FLOWER_NOTIFY=loud")
	if err := c.app.openTerminal(config.NewRedactor()); !errors.As(err, &usage) || c.app.tty != nil {
		t.Errorf("a value that is none: %v", err)
	}
}

// With NO_COLOR nothing is styled: neither what is written, nor the region below it, nor what is left at the end.
func TestNoColor(t *testing.T) {
	sgr := regexp.MustCompile("\x1b\\[[0-9;:]*m")
	for _, tt := range []struct {
		env    []string
		styled bool
	}{
		{[]string{"NO_COLOR=1"}, false}, {[]string{"NO_COLOR="}, true}, {nil, true},
	} {
		c := newConsole(t, tt.env...)
		g := &goRun{app: c.app, input: &input{}}
		g.report()
		for _, mark := range slices.Sorted(maps.Keys(looks)) {
			c.app.marked(c.app.out, mark+" ", "words of the program")
			g.printer.block(mark+" ", "words of the printer")
		}
		g.printer.rule("work", 1, 2, "a note")
		g.printer.asked(flower.Question{ID: "q0", Text: "Which?", Options: []string{"old", "new"}})
		written := c.until("old")
		if found := sgr.FindAllString(written, -1); len(found) > len(looks) != tt.styled {
			t.Errorf("%q: styles %q of what is written", tt.env, found)
		}
		c.app.tty.Event(flower.AttemptStarted{})
		c.asks()
		c.types("\x1b[200~" + strings.Repeat("a row\n", 20) + "\x1b[201~")
		c.until("pasted: 20 lines")
		c.app.closeTerminal()
		got := c.until("not sent")
		if found := sgr.FindAllString(got[len(written):], -1); len(found) > 0 != tt.styled || !tt.styled && sgr.MatchString(got) {
			t.Errorf("%q: styles %q in %q", tt.env, found, got)
		}
	}
}
