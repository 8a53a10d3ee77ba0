// Package cli is the command line of flower: it reads flags, finds the configuration, puts the parts together, prints
// what happens and turns how it ended into an exit code.
//
// Terms. A request is the sentence a person wants done. A rig is everything one run needs, put together. A screen is the
// one place where output is written.
//
// Trust. Arguments and the terminal are the person's. All other text that is shown (of models, tools, files, endpoints)
// passes through a screen, which takes out control sequences and secrets.
package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"flower"
	"flower/agent"
	"flower/internal/sandbox"
	"flower/internal/text"
	"flower/internal/tui"
	"flower/messages"
	"flower/sqlite"
)

// Stdio is where a command reads and writes. Streams that are an *os.File on a terminal are treated as one.
type Stdio struct {
	In       io.Reader
	Out, Err io.Writer
}

// Options change what Main takes from the system. The zero value is the real program.
type Options struct {
	Retry   agent.Retry      // of requests; zero is the product's rule
	Now     func() time.Time // nil is time.Now
	Signals <-chan os.Signal // nil: SIGINT, SIGTERM and SIGHUP of the process
	Dir     string           // current directory, absolute; "" is the process's

	// Landlock is the version of the kernel's interface that sandboxes assume: 0 asks the kernel, negative is none.
	Landlock int
}

// app is one command line at work.
type app struct {
	Options
	*text.Printer
	args    []string
	env     []string
	stdio   Stdio
	out     *screen
	err     *screen
	global  globalFlags
	prices  messages.Prices     // the person's own; nil until loadConfig
	tty     *tui.Terminal       // while a run has the terminal; nil elsewhere
	hungUp  chan struct{}       // closed when the terminal that input comes from is gone
	redact  func(string) string // takes secrets out; nil before they are known
	secrets []string            // of MCP servers, kept from being shown
	events  *eventStream        // with --json, from the moment there is something to tell; nil else
}

// Main runs a command line, without the program's name in args, and returns the exit code. It writes one line for what
// went wrong, never a stack trace.
func Main(args, env []string, stdio Stdio, opts Options) (code int) {
	sandbox.Shield() // before anything secret is read, and whatever commands are confined to
	a := &app{Options: opts, args: args, env: env, stdio: stdio, hungUp: make(chan struct{})}
	if a.Now == nil {
		a.Now = time.Now
	}
	a.out = newScreen(stdio.Out, isTerminal(stdio.Out))
	a.err = newScreen(stdio.Err, isTerminal(stdio.Err))
	lang, err := text.Choose(askedLang(args), a.getenv)
	a.Printer = text.NewPrinter(lang)
	defer func() {
		if v := recover(); v != nil {
			a.err.Line("flower: " + a.Say("error.crash", text.Data{"What": oneLine(fmt.Sprint(v))}))
			code = exitFailed
		}
	}()
	if err == nil {
		err = a.run()
	} else {
		err = &usageError{err}
		a.global.json = asksJSON(args)
	}
	return a.report(err)
}

// run finds the current directory and the signals, and does what the arguments say.
func (a *app) run() error {
	if a.Dir == "" {
		dir, err := os.Getwd()
		if err != nil {
			return fmt.Errorf("find current directory: %w", err)
		}
		a.Dir = dir
	}
	if a.Signals == nil {
		signals := make(chan os.Signal, 8)
		for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
			if !signal.Ignored(sig) { // as nohup has it
				signal.Notify(signals, sig)
			}
		}
		defer signal.Stop(signals)
		a.Signals = signals
	}
	return a.execute()
}

// report says in one line what went wrong and returns the exit code. Output that could not be written is an error where
// there is no other.
func (a *app) report(err error) int {
	if err == nil {
		err = a.undelivered()
	}
	if a.global.json {
		a.endEvents(err, codeOf(err))
	}
	if err == nil {
		err = a.undelivered() // the last events
	}
	code := codeOf(err)
	var stop *stopError
	if err == nil || errors.As(err, &stop) {
		return code
	}
	line := a.explainer().alone(err)
	if hint := a.hint(err); hint != "" {
		line += " - " + hint
	}
	a.marked(a.err, "", "flower: "+line)
	return code
}

// undelivered is why output did not arrive; nil if all of it did.
func (a *app) undelivered() error {
	out := a.out
	if a.events != nil {
		out = a.events.screen
	}
	switch err := out.Err(); {
	case err == nil:
		return nil
	case errors.Is(err, syscall.EIO) && out.styles:
		return nil // a terminal that was closed; who lets the work go on then does not look at it
	case errors.Is(err, syscall.EPIPE):
		return &stopError{exitUnread}
	default:
		return fmt.Errorf("write the output: %w", err)
	}
}

// explainer says errors in the language of the interface.
func (a *app) explainer() explainer { return explainer{Printer: a.Printer, home: a.getenv("HOME")} }

// hint is what a person can do about an error; "" where its own text says it.
func (a *app) hint(err error) string {
	if errors.Is(err, flower.ErrLeaseLost) {
		return a.Say("hint.lost")
	}
	if errors.Is(err, sqlite.ErrNewer) {
		return a.Say("hint.newer")
	}
	if errors.Is(err, sqlite.ErrDamaged) {
		return a.Say("hint.damaged")
	}
	if errors.Is(err, sqlite.ErrNotDatabase) {
		return a.Say("hint.store")
	}
	var flag *flagError
	if errors.As(err, &flag) {
		return a.Say("hint.help")
	}
	var model *agent.ModelError
	if !errors.As(err, &model) {
		return ""
	}
	switch {
	case refusesUs(model):
		return a.Say("hint.refused")
	case codeOfModel(model) == exitNetwork:
		return a.Say("hint.network")
	case model.Kind == agent.Overflow:
		return a.Say("hint.overflow")
	}
	return ""
}

func (a *app) getenv(name string) string {
	for _, entry := range a.env {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// askedLang finds the value of --lang before flags are parsed: what is said about them needs the language.
func askedLang(args []string) string {
	for i, arg := range args {
		if arg == "--" {
			break
		}
		if value, ok := strings.CutPrefix(arg, "--lang="); ok {
			return value
		}
		if arg == "--lang" && i+1 < len(args) {
			return args[i+1]
		}
	}
	return ""
}
