package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"flower/internal/text"
)

// usage is what help shows below its first lines. It is written here and not by the flag library, whose own words are
// English, and which counts bytes where it should count cells.
func (a *app) usage(c *cobra.Command) string {
	var out strings.Builder
	out.WriteString(a.Say("usage.title") + "\n  " + c.UseLine() + "\n")
	if c.HasAvailableSubCommands() {
		out.WriteString("\n" + a.Say("usage.commands") + "\n")
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() {
				out.WriteString("  " + text.Fit(sub.Name(), sub.NamePadding()) + " " + sub.Short + "\n")
			}
		}
	}
	if c.HasAvailableLocalFlags() {
		out.WriteString("\n" + a.Say("usage.flags") + "\n" + a.flagUsages(c.LocalFlags()))
	}
	if c.HasAvailableInheritedFlags() {
		out.WriteString("\n" + a.Say("usage.global") + "\n" + a.flagUsages(c.InheritedFlags()))
	}
	out.WriteString("\n" + a.Say("exit.title") + "\n")
	for _, code := range exitCodes {
		fmt.Fprintf(&out, "  %-15s%s\n", code.codes, a.Say(code.id))
	}
	return out.String()
}

// valueNames are the messages of what a flag's value is called, by its type's name. A switch has none.
var valueNames = map[string]string{
	"int": "usage.number", "float64": "usage.number", "string": "usage.text", "stringSlice": "usage.list", "stringArray": "usage.text",
	patienceType: "usage.duration",
}

// flagUsages are flags and what they mean in two columns.
func (a *app) flagUsages(flags *pflag.FlagSet) string {
	type row struct{ flag, meaning string }
	var rows []row
	width := 0
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		left := "      --" + f.Name
		if f.Shorthand != "" {
			left = "  -" + f.Shorthand + ", --" + f.Name
		}
		name, meaning := pflag.UnquoteUsage(f)
		if id := valueNames[f.Value.Type()]; id != "" && !strings.Contains(f.Usage, "`") {
			name = a.Say(id)
		}
		if name != "" {
			left += " " + name
		}
		if value := shownDefault(f); value != "" {
			meaning += " (" + a.Say("usage.default", text.Data{"Value": value}) + ")"
		}
		rows = append(rows, row{left, meaning})
		width = max(width, text.Width(left))
	})
	var out strings.Builder
	for _, r := range rows {
		out.WriteString(text.Fit(r.flag, width) + "   " + r.meaning + "\n")
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
