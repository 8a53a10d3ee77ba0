package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"flower/internal/text"
)

// firstHelp is what "flower help" shows, on one screen of 24 rows: what a newcomer does first, and which commands there
// are. Flags and exit codes are in --help.
func (a *app) firstHelp(root *cobra.Command) string {
	width := a.helpWidth()
	var out strings.Builder
	say := func(id string) { out.WriteString(strings.Join(text.Wrap(a.Say(id), width), "\n") + "\n") }
	say("help.what")
	out.WriteString("\n")
	say("help.first")
	out.WriteString(columns([][2]string{
		{"flower demo", a.Say("help.demo")},
		{"flower setup", a.Say("help.setup")},
		{`flower "` + a.Say("help.request") + `"`, a.Say("help.ask")},
	}, width))
	out.WriteString("\n")
	say("usage.commands")
	out.WriteString(columns(commandsOf(root), width))
	out.WriteString("\n")
	say("help.more")
	return out.String()
}

// nearest is how many letters a word may differ by from the command it is a mistyped form of.
const nearest = 2

// meant is the command that a person says was meant by a single word that is nearly one; "" takes the word as the
// request it is, which a person has to say. Where nobody can be asked it is a request, too: nothing that was said is ever lost.
func (a *app) meant(root *cobra.Command, args []string) (string, error) {
	if len(args) != 1 || root.ArgsLenAtDash() >= 0 || len(args[0]) < nearest+2 {
		return "", nil
	}
	root.SuggestionsMinimumDistance = nearest
	near := slices.DeleteFunc(root.SuggestionsFor(args[0]), func(name string) bool { return len(name) < nearest+2 })
	if len(near) == 0 {
		return "", nil
	}
	data := text.Data{"Word": args[0], "Command": near[0]}
	if !a.talks() {
		a.marked(a.err, "! ", a.Say("typo.taken", data))
		return "", nil
	}
	for {
		a.marked(a.out, "? ", a.Say("typo.asked", data))
		answer := ""
		err := a.supervise(func(ctx context.Context, _ *watch) (err error) {
			a.out.Text("> ")
			answer, err = (&dialogue{app: a}).line(ctx, false)
			return err
		})
		is := func(words ...string) bool {
			return slices.ContainsFunc(words, func(w string) bool { return strings.EqualFold(w, strings.TrimSpace(answer)) })
		}
		switch {
		case errors.Is(err, errLeft), err == nil && is(append(strings.Fields(a.Say("permit.no")), "n", "no")...):
			a.marked(a.out, "+ ", a.Say("typo.none", text.Data{"Flower": a.again("--", args[0])}))
			return "", &stopError{exitOK} // nothing has begun
		case err != nil:
			return "", err
		case is(append(strings.Fields(a.Say("permit.yes")), "y", "yes", near[0])...):
			return near[0], nil
		case is("r", args[0]):
			return "", nil
		}
		// Anything else, Enter alone above all, decides nothing: a request costs money.
	}
}

// reworded puts a command in the place of the word that stood for it.
func reworded(args []string, word, command string) []string {
	args = slices.Clone(args)
	for i := len(args) - 1; i >= 0; i-- {
		if args[i] == word {
			args[i] = command
			break
		}
	}
	return args
}

// manCommand writes the pages of the manual, for those who package flower.
func (a *app) manCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use: "man " + a.Say("usage.dir"), Short: a.Say("cmd.man"), Args: cobra.ExactArgs(1), Hidden: true,
		RunE: func(_ *cobra.Command, args []string) error {
			dir := a.abs(args[0])
			if err := os.MkdirAll(dir, 0o777); err != nil {
				return &usageError{fmt.Errorf("make directory of man pages: %w", err)}
			}
			return a.writeMan(root, dir)
		},
	}
}

// writeMan writes the page of a command and those below it.
func (a *app) writeMan(c *cobra.Command, dir string) (err error) {
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			if err := a.writeMan(sub, dir); err != nil {
				return err
			}
		}
	}
	name := strings.ReplaceAll(c.CommandPath(), " ", "-")
	f, err := os.Create(filepath.Join(dir, name+".1"))
	if err != nil {
		return fmt.Errorf("write man page: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	c.DisableAutoGenTag = true // no date: the same program writes the same page
	var page strings.Builder
	if err := doc.GenMan(c, &doc.GenManHeader{Title: strings.ToUpper(name), Section: "1", Source: "flower " + release()}, &page); err != nil {
		return fmt.Errorf("write man page: %w", err)
	}
	_, err = f.WriteString(a.translateMan(page.String()))
	return err
}
