package cli

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"flower"
	"flower/internal/text"
)

// defaultWorkspace is the current directory.
const defaultWorkspace = "."

// globalFlags stand before or after a command.
type globalFlags struct {
	workspace string
	runDir    string
	verbose   bool
	workbench bool
	trim      bool
	json      bool
	partial   bool // of go and once
}

// execute parses the arguments and runs the command they name. Without one the arguments are a request: the root has
// the same flags and does the same as "go".
func (a *app) execute() error {
	root := a.goCommand("flower " + a.Say("usage.request"))
	root.Long = a.Say("cmd.root")
	root.Version = version()
	root.SetVersionTemplate(`{{if eq (.Flag "json").Value.String "true"}}` + versionJSON() + "{{else}}{{.Version}}{{end}}\n")
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.SetArgs(a.args)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		a.global.json = a.global.json || asksJSON(a.args)
		return &usageError{&flagError{err}}
	})
	// "help me write a script" is a request: only "help" alone, or before the name of a command, is not.
	root.SetHelpCommand(&cobra.Command{Use: "\x1f", Hidden: true})
	run := root.RunE
	root.RunE = func(cmd *cobra.Command, args []string) error {
		switch target := a.helpFor(cmd, args); {
		case target == root:
			a.out.Text(a.firstHelp(root))
			return nil
		case target != nil:
			return target.Help()
		}
		if other, err := a.meant(cmd, args); err != nil || other != "" {
			if err == nil {
				root.SetArgs(reworded(a.args, args[0], other))
				err = root.Execute()
			}
			return err
		}
		return run(cmd, args)
	}
	a.addGlobal(root.PersistentFlags())
	root.AddCommand(a.goCommand("go "+a.Say("usage.request")), a.onceCommand(), a.statusCommand(), a.sessionsCommand(), a.adoptCommand(), a.demoCommand(), a.setupCommand(), a.versionCommand(), a.manCommand(root))
	a.finish(root)
	return root.Execute()
}

// helpFor is the command whose help is asked for, nil if the words are a request.
func (a *app) helpFor(root *cobra.Command, args []string) *cobra.Command {
	if len(args) == 0 || args[0] != "help" || root.ArgsLenAtDash() >= 0 {
		return nil
	}
	if len(args) == 1 {
		return root
	}
	for _, c := range root.Commands() {
		if len(args) == 2 && c.Name() == args[1] && c.IsAvailableCommand() {
			return c
		}
	}
	return nil
}

func (a *app) addGlobal(flags *pflag.FlagSet) {
	flags.StringVarP(&a.global.workspace, "workspace", "w", defaultWorkspace, a.Say("flag.workspace"))
	flags.StringVarP(&a.global.runDir, "run-dir", "r", flower.DefaultRunDir, a.Say("flag.rundir"))
	flags.BoolVarP(&a.global.verbose, "verbose", "v", false, a.Say("flag.verbose"))
	flags.BoolVarP(&a.global.workbench, "workbench", "W", false, a.Say("flag.workbench"))
	flags.BoolVarP(&a.global.trim, "trim", "T", false, a.Say("flag.trim"))
	flags.BoolVar(&a.global.json, "json", false, a.Say("flag.json"))
	flags.String("lang", "", a.Say("flag.lang", text.Data{"Langs": langs()})) // read by askedLang, before everything else
}

// addPartial adds the flag that answers are told in pieces, where there are events.
func (a *app) addPartial(flags *pflag.FlagSet) {
	flags.BoolVar(&a.global.partial, "partial", false, a.Say("flag.partial"))
}

func langs() string {
	var names []string
	for _, l := range text.Languages() {
		names = append(names, string(l))
	}
	return strings.Join(names, ", ")
}

// finish gives every command what all have: help in the language of the interface with the table of exit codes, and
// errors of usage with their code.
func (a *app) finish(root *cobra.Command) {
	root.InitDefaultCompletionCmd(root.Name()) // which makes the command only if there are arguments
	root.SetUsageFunc(func(c *cobra.Command) error { a.out.Text(a.usage(c)); return nil })
	root.SetHelpFunc(a.showHelp)
	a.finishEach(root)
}

func (a *app) finishEach(c *cobra.Command) {
	for _, sub := range c.Commands() {
		a.finishEach(sub)
	}
	a.speak(c)
	check := c.Args
	c.Args = func(cmd *cobra.Command, args []string) error {
		if a.global.json && !speaksJSON(cmd) {
			return &usageError{spoken(a.Say("value.json", text.Data{"Command": cmd.CommandPath()}))}
		}
		if check == nil || check(cmd, args) == nil {
			return nil
		}
		return &usageError{spoken(a.wrongWords(cmd, args))}
	}
}

// speaksJSON says whether a command has an output for programs.
func speaksJSON(cmd *cobra.Command) bool {
	switch strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()) {
	case "", " go", " once", " status", " sessions", " sessions list", " version":
		return true
	}
	return false
}

// wrongWords says what is wrong with the words behind a command.
func (a *app) wrongWords(cmd *cobra.Command, args []string) string {
	if len(args) == 0 || cmd.Parent() != cmd.Root() {
		return a.Say("error.usage", text.Data{"Usage": strings.TrimSuffix(cmd.UseLine(), " "+a.Say("usage.options"))})
	}
	id := "error.words"
	if cmd.HasSubCommands() && cmd.Name() == "completion" {
		id = "error.shell"
	}
	return a.Say(id, text.Data{
		"Command": cmd.Name(), "Word": args[0], "All": cmd.Name() + " " + strings.Join(args, " "),
	})
}

// versionCommand says which flower this is.
func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: a.Say("cmd.version"), Args: cobra.NoArgs,
		Run: func(*cobra.Command, []string) {
			if a.global.json {
				a.out.Line(versionJSON())
				return
			}
			a.out.Line("flower version " + version())
		},
	}
}
