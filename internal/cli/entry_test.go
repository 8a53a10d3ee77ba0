package cli

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
)

var entries = []struct {
	line string
	want entry
}{
	{"", entry{}},
	{" be quick ", entry{text: " be quick "}},
	{"/help", entry{command: "/help"}},
	{"  /Help\t", entry{command: "/help"}},
	{"/new write a poem", entry{"/new", "write a poem"}},
	{"/new\nwrite\na poem", entry{"/new", "write\na poem"}},
	{"/staus", entry{command: "/staus"}},
	{"/tmp is full", entry{"/tmp", "is full"}},
	{"/etc/hosts is wrong", entry{text: "/etc/hosts is wrong"}},
	{"/usr/bin/x", entry{text: "/usr/bin/x"}},
	{"/a.txt", entry{text: "/a.txt"}},
	{"/", entry{text: "/"}},
	{"// a comment", entry{text: "// a comment"}},
	{"and/or", entry{text: "and/or"}},
	{"?what is it doing", entry{"?", "what is it doing"}},
	{" ？ 然后呢", entry{"?", "然后呢"}},
	{"?", entry{command: "?"}},
	{"why?", entry{text: "why?"}},
	{`\?x`, entry{text: "?x"}},
	{`\？x`, entry{text: "？x"}},
	{`\/new`, entry{text: "/new"}},
	{`\\?x`, entry{text: `\?x`}},
	{`\d+`, entry{text: `\d+`}},
}

func TestParseEntry(t *testing.T) {
	for _, test := range entries {
		if got := parseEntry(test.line); got != test.want {
			t.Errorf("%q: %+v, want %+v", test.line, got, test.want)
		}
	}
}

// Whatever is said can be said to agents, with a backslash before it if need be.
func FuzzParseEntry(f *testing.F) {
	for _, test := range entries {
		f.Add(test.line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		e := parseEntry(line)
		if e.command == "" && e.text != line && `\`+e.text != strings.TrimSpace(line) {
			t.Errorf("%q is told as %q", line, e.text)
		}
		if said := strings.TrimSpace(line); said != "" && strings.IndexFunc(said, begins) == 0 {
			if got := parseEntry(`\` + said); got != (entry{text: said}) {
				t.Errorf("%q cannot be said: %+v", said, got)
			}
		}
	})
}

// A command, a question beside the work, and a word that is no command answer nothing and are told to no agent, whatever
// waits for a line.
func TestNoCommandAnswers(t *testing.T) {
	for _, asked := range []string{"", "question", "interrupt"} {
		t.Run(asked, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, w := io.Pipe()
				d := newDesk(t, r, true)
				var beside []string
				d.in.side = func(q string) { beside = append(beside, q) }
				told := make(chan string, 1)
				switch asked {
				case "question":
					go func() { told <- d.ask("q", "one", "two") }()
				case "interrupt":
					go func() {
						said, _ := d.in.ask(context.Background(), "Interrupted")
						told <- said
					}()
				}
				synctest.Wait()
				say := func(lines ...string) {
					t.Helper()
					for _, line := range lines {
						if _, err := io.WriteString(w, line+"\n"); err != nil {
							t.Fatal(err)
						}
						synctest.Wait()
					}
				}
				before := len(d.events)
				say("/help", "/staus", "/new something", "?why", "？为什么")
				if len(told) > 0 || len(d.events) > before {
					t.Fatal("something of it was told")
				}
				if strings.Join(beside, "|") != "why|为什么" {
					t.Errorf("asked on the side: %q", beside)
				}
				for _, want := range []string{`\/staus says it as it is`, "flower --new"} {
					if !strings.Contains(d.errs.String(), want) {
						t.Errorf("nothing says %q: %q", want, d.errs)
					}
				}
				if n := strings.Count(d.out.String(), "Interrupted"); asked == "interrupt" && n != 6 {
					t.Errorf("asked %d times:\n%s", n, d.out)
				}
				say(`\?`)
				if asked != "" {
					if got := <-told; got != "?" {
						t.Errorf("told %q", got)
					}
				}
				if err := w.Close(); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
			})
		})
	}
}
