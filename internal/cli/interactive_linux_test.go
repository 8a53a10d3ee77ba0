package cli

import (
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

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
