package cli

import (
	"context"
	"fmt"
	"os"
	"strings"
	"unicode/utf8"

	"flower"
	"flower/agent"
	"flower/internal/config"
	"flower/internal/text"
	"flower/internal/tui"
)

// envNotify says how the terminal tells that a question has waited for a while.
const envNotify = "FLOWER_NOTIFY"

// openTerminal takes the terminal over, where there is one that can do what is needed; closeTerminal gives it back.
// Elsewhere lines are read and written as they come.
func (a *app) openTerminal(redactor *config.Redactor) error {
	if a.events != nil {
		return nil // a program has it
	}
	in, _ := a.stdio.In.(*os.File)
	out, _ := a.stdio.Out.(*os.File)
	if !isTerminal(a.stdio.In) || !isTerminal(a.stdio.Out) || !tui.Usable(a.getenv) {
		return nil
	}
	opts := tui.Options{
		In: in, Out: out, Say: a.Printer, Getenv: a.getenv, Now: a.Now,
		Clean:    func(s string) string { return redactor.Redact(text.Plain(s)) },
		StepName: (&printer{Printer: a.Printer}).stepName,
	}
	switch how := a.getenv(envNotify); how {
	case "", "bell":
	case "osc9":
		opts.Notify = "\x1b]9;flower: " + text.Plain(a.Say("tui.question")) + "\a"
	case "off":
		opts.Patience = -1
	default:
		return &usageError{spoken(fmt.Sprintf("%s=%s: %s", envNotify, oneLine(how), a.Say("value.notify")))}
	}
	t, err := tui.Open(opts)
	if err != nil {
		return nil // another flower has it, or it is a terminal in name only: there is still the plain way
	}
	a.tty = t
	a.out.onto(t)
	if isTerminal(a.stdio.Err) {
		a.err.onto(t)
	}
	return nil
}

// maxUnsent is how much is shown of a line that was not sent, in bytes: a paste may have many.
const maxUnsent = 16 << 10

// closeTerminal gives the terminal back and says what was entered too late for anybody to take it, or not entered at all.
func (a *app) closeTerminal() {
	if a.tty == nil {
		return
	}
	left := a.tty.Close()
	a.tty = nil
	a.out.onto(a.stdio.Out)
	a.err.onto(a.stdio.Err)
	for _, l := range left {
		if l.Unsent {
			a.unsent(l.Text)
			continue
		}
		if said := oneLine(l.Text); said != "" {
			a.marked(a.err, "! ", a.Say("note.late", text.Data{"Text": said}))
		}
	}
}

// unsent shows a line that was being typed, so that it can be copied: its rows as they are, none of them broken or marked.
// It goes to the terminal, also where the errors go elsewhere.
func (a *app) unsent(s string) {
	to := a.err
	if !isTerminal(a.stdio.Err) {
		to = a.out
	}
	s = strings.Trim(s, "\n")
	rest := len(s)
	if rest > maxUnsent {
		cut := maxUnsent
		for !utf8.RuneStart(s[cut]) {
			cut--
		}
		s = s[:cut]
	}
	rest -= len(s)
	a.marked(to, "! ", a.Say("note.unsent"))
	to.Line(s)
	if rest > 0 {
		a.marked(to, "! ", a.Say("note.unsent.more", text.Data{"Size": text.Bytes(int64(rest))}))
	}
}

// styled says whether marks are in colour.
func (a *app) styled() bool { return a.tty != nil && a.getenv("NO_COLOR") == "" }

// attend lets the terminal show a run, until leave is called.
func (g *goRun) attend(r *rig) (leave func()) {
	if g.tty == nil {
		return func() {}
	}
	g.tty.Attend(tui.Run{Pending: r.human.Pending, Fold: g.printer.Fold})
	return func() { g.tty.Attend(tui.Run{}) }
}

// follow lets the terminal show what goes on. The window is known when the first answer has come.
func (g *goRun) follow(ev flower.Event) {
	if g.tty == nil {
		return
	}
	g.tty.Event(ev)
	inside, ok := ev.(flower.AgentEvent)
	if !ok {
		return
	}
	if answered, ok := inside.Event.(agent.Answered); ok && answered.Path == "" && g.windows != nil {
		g.tty.Window(g.windows.size(""))
	}
}

// command does what a line says that is no text; false if it is one.
func (in *input) command(ctx context.Context, e entry, said string) bool {
	a := in.app
	switch {
	case e.command == "", e.command == commandAside && in.deaf:
		return false
	case e.command == commandAside && in.side == nil:
		in.refuse(said, a.Say("aside.early"))
	case e.command == commandAside:
		in.side(e.text)
	case e.command == commandNew:
		in.refuse(said, a.Say("prompt.new.running"))
	case e.command == commandHelp && e.text == "":
		id := "prompt.help"
		if a.tty == nil {
			id = "prompt.help.plain"
		}
		for line := range strings.SplitSeq(a.Say(id), "\n") {
			a.marked(a.out, ". ", line)
		}
	case e.command == commandStatus && e.text == "":
		if err := a.runStatus(ctx, false); err != nil {
			a.marked(a.err, "! ", a.explainer().alone(err))
		}
	default:
		in.refuse(said, a.noCommand(e))
	}
	return true
}
