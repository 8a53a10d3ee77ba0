package shell

import (
	"fmt"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A repository's configuration names programs that readers of git start: a monitor
// for status, converters and drivers for diff, filters for whatever compares the
// working tree. The line shows none of it. GitEnv switches off what the environment
// can reach, Harden what only a flag can; a caller uses both.

// gitConfig are the settings every accepted line runs with.
var gitConfig = [][2]string{
	{"core.fsmonitor", "false"},
	{"core.hooksPath", "/dev/null"},
	{"core.pager", "cat"},
	{"core.sshCommand", "false"},
	{"core.alternateRefsCommand", "false"},
	{"credential.helper", ""},
	{"log.showSignature", "false"},
	{"log.diffMerges", "separate"},
	{"diff.submodule", "short"},
	{"diff.ignoreSubmodules", "dirty"},
	{"status.submoduleSummary", "false"},
	{"gpg.program", "false"},
	{"gpg.openpgp.program", "false"},
	{"gpg.x509.program", "false"},
	{"gpg.ssh.program", "false"},
}

// GitEnv returns the entries, NAME=value, that a caller puts into the environment of
// an accepted line, replacing entries of the same name. Names that begin with
// GIT_CONFIG_ belong to GitEnv alone.
//
// keys are the names of the settings of the repository, as printed by
// "git config --list --name-only", which starts no program itself. With them GitEnv
// also switches off what has a name of its own: filter.NAME.clean and .process, which
// even status starts, and converters. Without them these stay on.
//
// An external diff is not switched off but broken: git fails instead of starting one,
// unless the line was passed through [Harden], which switches it off. Checked against
// git 2.39.
func GitEnv(keys ...string) []string {
	config := slices.Clone(gitConfig)
	for _, key := range keys {
		if value, ok := neutral(key); ok {
			config = append(config, [2]string{key, value})
		}
	}
	env := []string{
		"GIT_PAGER=cat",
		"GIT_EXTERNAL_DIFF=",
		"GIT_OPTIONAL_LOCKS=0",
		"GIT_TERMINAL_PROMPT=0",
		"GIT_NO_LAZY_FETCH=1",     // no fetch for missing objects; from git 2.45
		"GIT_ALLOW_PROTOCOL=none", // before it: no way to fetch them
		fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(config)),
	}
	for i, c := range config {
		env = append(env,
			fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, c[0]),
			fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, c[1]))
	}
	return env
}

// neutral returns the value for which the setting key starts nothing. ok is false
// for a setting that starts nothing anyway.
func neutral(key string) (value string, ok bool) {
	first, last := strings.IndexByte(key, '.'), strings.LastIndexByte(key, '.')
	if first < 0 || first == last || strings.ContainsAny(key, "\x00\n") {
		return "", false
	}
	switch strings.ToLower(key[:first] + key[last:]) {
	case "filter.clean", "filter.smudge", "filter.process", "diff.command":
		return "", true
	case "diff.textconv":
		return "cat", true // what it is given, unchanged
	case "filter.required":
		return "false", true
	case "merge.driver", "gpg.program":
		return "false", true
	case "submodule.ignore":
		return "dirty", true
	}
	return "", false
}

const (
	plainDiff  = " --no-ext-diff --no-textconv"
	shallowSub = " --ignore-submodules=dirty"
)

// hardening are the flags Harden puts behind a sub-command.
var hardening = map[string]string{
	"status":      shallowSub,
	"diff":        plainDiff + shallowSub,
	"diff-files":  plainDiff + shallowSub,
	"diff-index":  plainDiff + shallowSub,
	"diff-tree":   plainDiff,
	"log":         plainDiff,
	"show":        plainDiff,
	"whatchanged": plainDiff,
	"reflog":      plainDiff,
	"stash":       plainDiff,
	"blame":       " --no-textconv",
	"annotate":    " --no-textconv",
}

// Harden returns command with flags added that keep git from starting the programs
// its repository's configuration names. Only lines that are ephemeral are changed,
// and they stay so. Quoting, comments and everything else are left as they are.
func Harden(command string) string {
	file, reason := judge(command)
	if reason != "" {
		return command
	}
	type insertion struct {
		at    uint
		flags string
	}
	var all []insertion
	syntax.Walk(file, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.CallExpr); ok {
			if at, flags := hardenCall(c); flags != "" {
				all = append(all, insertion{at, flags})
			}
		}
		return true
	})
	for _, in := range slices.Backward(all) {
		command = command[:in.at] + in.flags + command[in.at:]
	}
	return command
}

// hardenCall returns the flags for one simple command and the offset they go to.
func hardenCall(c *syntax.CallExpr) (at uint, flags string) {
	words := make([]string, len(c.Args))
	for i, a := range c.Args {
		w, _ := evalWord(a)
		words[i] = w.text
	}
	if len(words) == 0 || words[0] != "git" {
		return 0, ""
	}
	i := 1
	for i < len(words) && strings.HasPrefix(words[i], "-") {
		if words[i] == "-C" { // no other flag that is accepted takes a value
			i++
		}
		i++
	}
	if i == len(words) {
		return 0, ""
	}
	flags = hardening[words[i]]
	if i+1 < len(words) && (words[i] == "stash" || words[i] == "reflog") {
		switch {
		case words[i+1] == "show", words[i] == "stash":
			i++
		case words[i+1] == "exists", words[i+1] == "list":
			return 0, ""
		}
	}
	return c.Args[i].End().Offset(), flags
}
