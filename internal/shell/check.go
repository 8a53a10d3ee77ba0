package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Checkable reports whether a bash line that a text mentions may be run to see whether it succeeds. Such a text speaks of
// commands, of values and of names alike, so what proves nothing, waits for somebody, undoes work or reaches beyond the
// machine is not run: a line that only says something, an interpreter without a program, an editor, a push, a deployment.
// It keeps mistakes from doing harm, and is no guard against malice: that is the sandbox's part.
func Checkable(line string) bool {
	if len(line) > maxLine {
		return false
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
	if err != nil {
		return false
	}
	ok, proves := true, false
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Word:
			for _, p := range n.Parts {
				if l, is := p.(*syntax.Lit); is && scanLive(l.Value) != "" {
					ok = false // typeset: quotes and dashes are none
				}
			}
		case *syntax.TestClause, *syntax.ArithmCmd:
			proves = true
		case *syntax.CallExpr:
			words := literals(n)
			if len(words) > 0 {
				ok = ok && !beyond(words)
				proves = proves || !idle(words)
			}
		}
		return ok
	})
	return ok && proves
}

// literals are the words of a call as they are written, without quotes; those that hold an expansion are empty.
func literals(c *syntax.CallExpr) []string {
	var words []string
	for _, a := range c.Args {
		w, _ := evalWord(a)
		words = append(words, w.text)
	}
	return words
}

var (
	// saying are programs that succeed or fail whatever the work is like.
	saying = set("true false : echo printf cd pwd export set sleep date exit read clear pushd popd wait")
	// filters do nothing when nothing is given to them.
	filters = set(`cat sort uniq wc head tail grep egrep fgrep rg sed awk tr cut tee xargs less more jq python python3 node
		ruby perl php lua bash sh zsh fish dash ts-node deno bun psql sqlite3 mysql bc dc test time type file id name find ls
		which command env host size link split join paste column expand look last from write mail users groups who w tty
		stat diff cmp touch mkdir rm cp mv git go npm cargo docker curl`)
)

// idle reports whether a call proves nothing.
func idle(words []string) bool {
	return saying[words[0]] || len(words) == 1 && filters[words[0]]
}

var (
	// never are programs that wait for a person, end others, or leave the machine.
	never = set(`vi vim nvim nano emacs ed less more man top htop watch yes su sudo doas pkexec shutdown reboot halt poweroff
		kill killall pkill ssh scp sftp rsync ftp telnet crontab at mkfs fdisk dd gh glab heroku vercel netlify flyctl twine
		sendmail mail`)
	// outward are sub-commands that undo work or reach beyond the machine, by program.
	outward = map[string]map[string]bool{
		"git":       set("push reset clean checkout switch restore rebase merge commit stash cherry-pick revert pull filter-branch gc"),
		"npm":       set("publish unpublish login deprecate"),
		"yarn":      set("publish login"),
		"pnpm":      set("publish login"),
		"cargo":     set("publish login yank"),
		"gem":       set("push yank"),
		"poetry":    set("publish"),
		"docker":    set("push login rm rmi kill stop system"),
		"kubectl":   set("apply create delete edit exec scale rollout drain cordon patch replace"),
		"helm":      set("install upgrade uninstall rollback"),
		"terraform": set("apply destroy"),
		"systemctl": set("start stop restart reload enable disable mask reboot poweroff"),
	}
)

// beyond reports whether a call does what a check must not.
func beyond(words []string) bool {
	name := words[0][strings.LastIndexByte(words[0], '/')+1:]
	if never[name] {
		return true
	}
	rest := words[1:]
	for len(rest) > 0 && strings.HasPrefix(rest[0], "-") {
		if name == "git" && len(rest) > 1 && (rest[0] == "-c" || rest[0] == "-C") {
			rest = rest[1:]
		}
		rest = rest[1:]
	}
	return len(rest) > 0 && outward[name][rest[0]]
}
