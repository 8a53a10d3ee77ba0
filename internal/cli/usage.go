package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"flower/internal/text"
)

// Measures of a page of help, in cells.
const (
	helpWidth   = 100 // of its lines at most: longer ones are hard to read
	leastColumn = 24  // of a second column; narrower it goes below the first
)

// showHelp writes what a command does and how it is used.
func (a *app) showHelp(c *cobra.Command, _ []string) {
	does := c.Long
	if does == "" {
		does = c.Short
	}
	a.out.Text(strings.Join(text.Lines(does, a.helpWidth()), "\n") + "\n\n" + a.usage(c))
}

func (a *app) helpWidth() int {
	return min(max(a.lineWidth(a.stdio.Out), leastWidth), helpWidth)
}

// usage is how a command is called: its own commands, its flags, and the exit codes. It is written here and not by the
// flag library, whose own words are English, and which counts bytes where it should count cells.
func (a *app) usage(c *cobra.Command) string {
	var out strings.Builder
	out.WriteString(a.Say("usage.title") + "\n")
	for _, line := range text.Wrap(c.UseLine(), a.helpWidth()-2) {
		out.WriteString("  " + line + "\n")
	}
	table := func(id string, rows [][2]string) {
		if len(rows) > 0 {
			out.WriteString("\n" + a.Say(id) + "\n" + columns(rows, a.helpWidth()))
		}
	}
	var codes [][2]string
	for _, code := range exitCodes {
		codes = append(codes, [2]string{code.codes, a.Say(code.id)})
	}
	table("usage.commands", commandsOf(c))
	table("usage.flags", a.flags(c.LocalFlags()))
	table("usage.global", a.flags(c.InheritedFlags()))
	table("exit.title", codes)
	return out.String()
}

// commandsOf lists the commands below a command, and what they do.
func commandsOf(c *cobra.Command) [][2]string {
	var rows [][2]string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			rows = append(rows, [2]string{sub.Name(), sub.Short})
		}
	}
	return rows
}

// valueNames are the messages of what a flag's value is called, by its type's name. A switch has none.
var valueNames = map[string]string{
	"int": "usage.number", "float64": "usage.number", "string": "usage.text", "stringSlice": "usage.list", "stringArray": "usage.text",
	patienceType: "usage.duration",
}

// flags lists flags: how they are written, and what they mean.
func (a *app) flags(set *pflag.FlagSet) [][2]string {
	var rows [][2]string
	set.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		written := "    --" + f.Name
		if f.Shorthand != "" {
			written = "-" + f.Shorthand + ", --" + f.Name
		}
		value, means := pflag.UnquoteUsage(f)
		if id := valueNames[f.Value.Type()]; id != "" && !strings.Contains(f.Usage, "`") {
			value = a.Say(id)
		}
		if value != "" {
			written += " " + value
		}
		if value := shownDefault(f); value != "" {
			means += " (" + a.Say("usage.default", text.Data{"Value": value}) + ")"
		}
		rows = append(rows, [2]string{written, means})
	})
	return rows
}

// columns lays rows out in two columns, the second one wrapped; where it would be too narrow, it goes below.
func columns(rows [][2]string, width int) string {
	const indent, gap, below = 2, 2, 8
	first := 0
	for _, r := range rows {
		first = max(first, text.Width(r[0]))
	}
	var out strings.Builder
	if start := indent + first + gap; width-start >= leastColumn {
		for _, r := range rows {
			lead := strings.Repeat(" ", indent) + text.Fit(r[0], first+gap)
			for _, line := range text.Wrap(r[1], width-start) {
				out.WriteString(lead + line + "\n")
				lead = strings.Repeat(" ", start)
			}
		}
		return out.String()
	}
	for _, r := range rows {
		fmt.Fprintf(&out, "%*s%s\n", indent, "", r[0])
		for _, line := range text.Wrap(r[1], width-below) {
			fmt.Fprintf(&out, "%*s%s\n", below, "", line)
		}
	}
	return out.String()
}

// shownDefault is a flag's value when it is not given; "" is none worth saying.
func shownDefault(f *pflag.Flag) string {
	switch f.DefValue {
	case "", "0", "false", "[]":
		return ""
	}
	return f.DefValue
}

// shells are what to type for the completion of each shell: now, and once for ever.
var shells = map[string]struct{ now, always string }{
	"bash": {"source <(flower completion bash)", "flower completion bash >~/.local/share/bash-completion/completions/flower"},
	"zsh":  {"source <(flower completion zsh)", `flower completion zsh >"${fpath[1]}/_flower"`},
	"fish": {"flower completion fish | source", "flower completion fish >~/.config/fish/completions/flower.fish"},
	"powershell": {
		"flower completion powershell | Out-String | Invoke-Expression", "flower completion powershell >>$PROFILE",
	},
}

// speak gives the commands that the library has made the words of the interface.
func (a *app) speak(c *cobra.Command) {
	if c.Name() == "completion" && c.HasSubCommands() {
		c.Short = a.Say("cmd.completion")
		c.Long = c.Short
		c.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
	if shell, ok := shells[c.Name()]; ok {
		c.Short = a.Say("cmd.completion.shell", text.Data{"Shell": c.Name()})
		c.Long = c.Short + "\n\n" + a.Say("completion.now") + "\n  " + shell.now + "\n" + a.Say("completion.always") + "\n  " + shell.always
	}
	if !c.DisableFlagsInUseLine {
		c.DisableFlagsInUseLine = true
		c.Use += " " + a.Say("usage.options")
	}
	c.InitDefaultHelpFlag()
	c.InitDefaultVersionFlag()
	for name, id := range map[string]string{"help": "flag.help", "version": "flag.version", "no-descriptions": "flag.nodescriptions"} {
		if f := c.Flags().Lookup(name); f != nil {
			f.Usage = a.Say(id)
		}
	}
}

// manHeadings are the messages of the headings in pages of the manual; those that are the same everywhere are not named.
var manHeadings = map[string]string{
	"NAME": "man.name", "SYNOPSIS": "man.synopsis", "DESCRIPTION": "man.description", "OPTIONS": "man.options",
	"OPTIONS INHERITED FROM PARENT COMMANDS": "man.inherited", "SEE ALSO": "man.also",
}

// translateMan puts the headings of a page of the manual into the language of the interface.
func (a *app) translateMan(page string) string {
	const mark = ".SH "
	var out strings.Builder
	for line := range strings.Lines(page) {
		heading, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), mark)
		if id := manHeadings[heading]; ok && id != "" {
			line = mark + a.Say(id) + "\n"
		}
		out.WriteString(line)
	}
	return out.String()
}
