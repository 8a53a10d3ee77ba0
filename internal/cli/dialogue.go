package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"flower/internal/config"
	"flower/internal/text"
	"flower/internal/tui"
)

// errLeft is the end of the input where something was asked: the person wants none of it.
var errLeft = errors.New("left without an answer")

// dialogue asks questions on a plain terminal, before anything has taken it over. It reads no further than the end of a
// line: what is typed ahead is for whoever reads next.
type dialogue struct{ *app }

// question is one that has an answer already, or needs one.
type question struct {
	label     string // id of the message
	otherwise string // what an empty line means; "" needs an answer
	shown     string // otherwise as it is shown; "" as it is
	from      string // where otherwise came from, as config names it; "" or its default: nobody has to know
	secret    bool   // not to be seen while it is typed
	check     func(string) error
}

// ask returns an answer that passes the check, errLeft, or why ctx ended.
func (d *dialogue) ask(ctx context.Context, q question) (string, error) {
	prompt := d.Say(q.label)
	if q.shown == "" {
		q.shown = q.otherwise
	}
	if q.shown != "" {
		prompt += " [" + q.shown + "]"
		if q.from != "" && q.from != config.SourceDefault {
			prompt += " (" + d.Say("setup.from", text.Data{"Source": d.explainer().source(q.from)}) + ")"
		}
	}
	if q.secret {
		show, err := tui.Hush(d.stdio.In.(*os.File)) // a terminal, or nobody would be asked
		if err != nil {
			return "", errLeft // it is gone
		}
		defer show()
	}
	for {
		d.out.Text(strings.Join(text.Wrap(prompt+":", max(leastWidth, d.lineWidth(d.stdio.Out))-1), "\n") + " ")
		said, err := d.line(ctx, q.secret)
		if err != nil {
			d.out.Line("")
			return "", err
		}
		said = strings.TrimSpace(said)
		if said != "" && q.secret {
			d.out.Line("  " + config.Masked(said))
		}
		if said == "" {
			said = q.otherwise
		}
		if said == "" {
			continue
		}
		if err := q.check(said); err != nil {
			d.err.Line("! " + d.explainer().explain(err))
			continue
		}
		return said, nil
	}
}

// line reads one. The goroutine that reads hangs in the system when ctx ends, and is left behind with the program.
func (d *dialogue) line(ctx context.Context, secret bool) (string, error) {
	in := d.stdio.In.(*os.File) // a terminal, or nobody would be asked
	fd := int(in.Fd())
	type answer struct {
		said string
		err  error
	}
	read := make(chan answer, 1)
	if !secret {
		go func() {
			said, err := typed(in)
			read <- answer{said, err}
		}()
	} else {
		state, err := term.GetState(fd)
		if err != nil {
			return "", errLeft // the terminal is gone
		}
		defer func() { _ = term.Restore(fd, state) }() // or it is gone by now
		go func() {
			said, err := term.ReadPassword(fd)
			read <- answer{string(said), err}
		}()
	}
	select {
	case <-ctx.Done():
		return "", context.Cause(ctx)
	case a := <-read:
		if secret {
			d.out.Line("")
		}
		switch {
		case a.err != nil:
			return "", errLeft
		case len(a.said) > maxRequest:
			return "", &usageError{spoken(d.Say("request.long", text.Data{"KiB": maxRequest >> 10}))}
		}
		return strings.ToValidUTF8(a.said, "\uFFFD"), nil
	}
}

// typed reads a line, byte by byte: a terminal gives it at once.
func typed(in io.Reader) (string, error) {
	var line []byte
	for one := make([]byte, 1); ; {
		n, err := in.Read(one)
		switch {
		case n == 1 && one[0] == '\n':
			return strings.TrimSuffix(string(line), "\r"), nil
		case n == 1:
			line = append(line, one[0])
		case err != nil:
			return "", err // also of a line that was begun: nothing half typed is taken
		}
	}
}
