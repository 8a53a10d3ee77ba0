package cli

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spf13/pflag"

	"flower/internal/proc"
	"flower/internal/sandbox"
	"flower/internal/text"
)

// commandsDir holds, in the run directory, what is noted of commands that run.
const commandsDir = "commands"

// confineFlags say where commands may write.
type confineFlags struct {
	off     bool
	granted []string
}

func (a *app) addConfine(f *pflag.FlagSet, o *confineFlags) {
	f.BoolVar(&o.off, "no-sandbox", false, a.Say("flag.nosandbox"))
	f.StringArrayVar(&o.granted, "allow-write", nil, a.Say("flag.allowwrite"))
}

// check refuses directories that are none, and makes the others absolute.
func (o *confineFlags) check(a *app) error {
	for i, dir := range o.granted {
		path := a.abs(dir)
		if dir == "" {
			return a.badPlace("place.missing", "place.granted", `""`)
		}
		if err := a.checkDir(path, "place.granted", true); err != nil {
			return err
		}
		var err error
		if o.granted[i], err = filepath.EvalSymlinks(path); err != nil {
			return &usageError{&aboutError{a.Say("place.granted"), err}}
		}
	}
	return nil
}

// sandbox is what commands are confined to besides the workspace; nil confines nothing.
func (o confineFlags) sandbox(a *app) *sandbox.Options {
	if o.off {
		return nil
	}
	return &sandbox.Options{Places: slices.Concat(sandbox.Temporary(a.env), sandbox.Caches(a.env)), ABI: a.Landlock}
}

// sayConfined says what the kernel lacks for the sandbox that was asked for.
func (o confineFlags) sayConfined(r reporter, level sandbox.Level) {
	switch {
	case o.off:
	case level == sandbox.None:
		r.Notice("! ", "sandbox.none")
	case level == sandbox.Partial:
		r.Notice("! ", "sandbox.partial")
	}
}

// supervise makes the place where commands are noted, after what a killed flower has left running was ended: the agent
// must not look at what is about to change.
func (p place) supervise(show reporter) (*proc.Supervisor, error) {
	records := filepath.Join(p.runDir, commandsDir)
	ended, err := proc.EndLeftovers(records)
	if err != nil {
		return nil, fmt.Errorf("look for commands of an earlier run: %w", err)
	}
	if len(ended) > 0 {
		show.Notice("! ", "leftovers", text.Data{"N": len(ended)})
	}
	return &proc.Supervisor{Records: records}, nil
}
