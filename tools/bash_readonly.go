package tools

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"flower/agent"
	"flower/internal/proc"
	"flower/internal/shell"
)

// readOnly runs a command that the guard has let through, in the surroundings that its judgement takes for granted:
// bash itself without anything from outside, a short list of variables, programs not from the workspace, and git
// without the programs that a repository's settings can name.
func (b *Box) readOnly(ctx context.Context, cmd proc.Command, command string) agent.ToolResult {
	bash := b.program("bash")
	if bash == "" {
		return agent.DeniedResult(noBash + ", and commands are judged as bash reads them. This is intended; give the work to a subagent with the Agent tool.")
	}
	env := append(b.readerEnv(), unattended...)
	env = append(env, "PWD="+b.workspace)
	var keys []string
	if strings.Contains(command, "git") {
		for _, dir := range append([]string{b.workspace}, shell.Dirs(command)...) {
			more, err := b.gitSettings(ctx, dir, env)
			if err != nil {
				return agent.DeniedResult(refusedText(err.Error()))
			}
			keys = append(keys, more...)
		}
	}
	cmd.Env = slices.Concat(env, shell.GitEnv(keys...))                // the last entry of a name counts
	cmd.Argv = []string{bash, "-p", "-c", "--", shell.Harden(command)} // -p: no BASH_ENV, no functions from the environment
	return b.report(ctx, cmd)
}

// gitSettingsTimeout is ample for a program that reads a few small files.
const gitSettingsTimeout = 10 * time.Second

// gitSettings returns the names of git's settings in a directory; none where there is no git or no such directory,
// because then nothing can use them.
func (b *Box) gitSettings(ctx context.Context, dir string, env []string) ([]string, error) {
	git := b.program("git")
	if git == "" {
		return nil, nil
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(b.workspace, dir)
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, nil
	}
	res, err := b.commands.Run(ctx, proc.Command{
		Argv: []string{git, "config", "--list", "--name-only"}, Dir: dir,
		Env: append(append([]string{}, env...), shell.GitEnv()...), Timeout: gitSettingsTimeout, Confine: b.reader.Start,
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("the settings of git could not be read: %w", err)
	case res.ExitCode != 0 || res.TimedOut || res.Canceled || res.Omitted > 0:
		return nil, fmt.Errorf("the settings of git could not be read (exit code %d): %s", res.ExitCode, clip(res.Output, 200))
	}
	if strings.ContainsRune(res.Output, utf8.RuneError) {
		return nil, errors.New("the settings of git hold names that are not UTF-8")
	}
	return strings.Split(strings.TrimSuffix(res.Output, "\n"), "\n"), nil // names may hold blanks
}

// readerVariables are all that a command which only reads is given of the environment.
var readerVariables = map[string]bool{"HOME": true, "USER": true, "LOGNAME": true, "TZ": true, "TERM": true, "TMPDIR": true}

func (b *Box) readerEnv() []string {
	var env []string
	for _, entry := range b.opts.Environ {
		name, value, _ := strings.Cut(entry, "=")
		switch {
		case readerVariables[name]:
			env = append(env, entry)
		case name == "PATH":
			env = append(env, "PATH="+b.searchPath)
		case name == "LANG" || strings.HasPrefix(name, "LC_"):
			// In other encodings a byte may mean something else to bash than to the judgement.
			v := strings.ToLower(strings.ReplaceAll(value, "-", ""))
			if v == "c" || v == "posix" || strings.HasSuffix(v, "utf8") {
				env = append(env, entry)
			}
		}
	}
	return env
}

// program finds a program that no agent can have put there; "" if there is none.
func (b *Box) program(name string) string {
	for _, dir := range filepath.SplitList(b.searchPath) {
		if found, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return found
		}
	}
	return ""
}

// defaultPath is where programs are looked for if the environment does not say.
const defaultPath = "/usr/local/bin:/usr/bin:/bin"

// outerPath leaves out of a PATH what an agent could put programs into.
func (b *Box) outerPath(path string) string {
	var kept []string
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		real, err := follow(dir)
		if err != nil || within(b.workspace, real) {
			continue
		}
		kept = append(kept, dir)
	}
	return strings.Join(kept, string(filepath.ListSeparator))
}
