package shell

import (
	"fmt"
	"strings"
)

// Flags shared by the readers of git. Left out: --output, --ext-diff, --textconv,
// --show-signature (starts a program), --submodule except for the short form (starts git
// in a repository with a configuration of its own), remerge-diff (starts merge drivers),
// -O in grep (opens a pager), --dirty and --broken in describe (they start git in the submodules, and no setting of the
// line reaches it there).
const (
	diffShort = "pusazbwRWU:M::C::B::S:G:l:X::mctrDi"
	diffLong  = `patch no-patch unified: raw patch-with-raw patch-with-stat indent-heuristic
		no-indent-heuristic minimal patience histogram anchored: diff-algorithm: stat::
		compact-summary numstat shortstat dirstat:: cumulative dirstat-by-file:: summary name-only
		name-status color:: no-color color-moved:: no-color-moved color-moved-ws: word-diff::
		word-diff-regex: color-words:: no-renames rename-empty no-rename-empty check
		ws-error-highlight: full-index binary abbrev:: no-abbrev break-rewrites:: find-renames::
		find-copies:: find-copies-harder irreversible-delete diff-filter: pickaxe-all pickaxe-regex
		submodule:: diff-merges: skip-to: rotate-to: relative:: no-relative text ignore-cr-at-eol ignore-space-at-eol
		ignore-space-change ignore-all-space ignore-blank-lines ignore-matching-lines:
		ignore-submodules:: inter-hunk-context: function-context exit-code quiet no-ext-diff no-textconv src-prefix:
		dst-prefix: no-prefix default-prefix line-prefix: ita-invisible-in-index stat-width:
		stat-count: stat-name-width: stat-graph-width: combined-all-paths cc root`

	logShort = diffShort + "n:L:gEFPqi"
	logLong  = diffLong + ` oneline graph no-graph decorate:: no-decorate decorate-refs:
		decorate-refs-exclude: source mailmap no-mailmap use-mailmap log-size follow no-follow
		full-diff format: pretty:: abbrev-commit no-abbrev-commit encoding: expand-tabs::
		no-expand-tabs notes:: no-notes show-notes:: relative-date date: parents children
		left-right max-count: skip: since: after: until: before: since-as-filter: author:
		committer: grep-reflog: grep: all-match invert-grep regexp-ignore-case basic-regexp
		extended-regexp fixed-strings perl-regexp remove-empty merges no-merges min-parents:
		max-parents: no-min-parents no-max-parents first-parent exclude-first-parent-only not all
		branches:: tags:: remotes:: glob: exclude: reflog ignore-missing cherry-mark cherry-pick
		cherry walk-reflogs merge boundary simplify-by-decoration show-pulls full-history dense
		sparse simplify-merges ancestry-path:: date-order author-date-order topo-order reverse
		no-walk:: do-walk stdin show-linear-break:: clear-decorations no-commit-id left-only
		right-only in-commit-order`

	refLong = ` contains:: no-contains:: merged:: no-merged:: points-at: sort: format: color::
		no-color column:: no-column ignore-case omit-empty`
)

// gitGlobal are the flags before the sub-command. -c and --config-env set keys that
// name programs, --exec-path and -p start them.
var gitGlobal = &program{short: "P", long: `no-pager no-optional-locks literal-pathspecs
	glob-pathspecs noglob-pathspecs icase-pathspecs no-replace-objects`}

var gitLog = &program{short: logShort, long: logLong, digits: true, reads: true, check: checkLog}

var gitDiffPlumbing = &program{short: diffShort, long: diffLong + " cached merge-base stdin no-commit-id pretty:: format: always", digits: true, reads: true, check: checkLog}

// gitSortKeys are the keys of --sort that people turn round, which looks like a flag.
var gitSortKeys = set(`-committerdate -creatordate -authordate -taggerdate -version:refname -v:refname -refname
	-objectsize -upstream`)

// gitCommands are the sub-commands that can be read-only.
var gitCommands = map[string]*program{
	"status": {short: "sbvzu::M::", long: `short branch porcelain:: long verbose untracked-files::
		ignored:: show-stash no-show-stash ahead-behind no-ahead-behind renames no-renames
		find-renames:: ignore-submodules:: column:: no-column null`, check: checkSubmodules},
	"diff":        {short: diffShort + "q", long: diffLong + " cached staged merge-base no-index base ours theirs", digits: true, reads: true, check: checkLog},
	"log":         gitLog,
	"show":        gitLog,
	"whatchanged": {short: logShort, long: logLong + " i-still-use-this", digits: true, reads: true, check: checkLog},
	"rev-list":    {short: logShort, long: logLong + " count objects timestamp header bisect disk-usage", digits: true, check: checkLog},
	"shortlog":    {short: "sncew::EFPi", long: logLong + " numbered summary email committer group:", check: checkLog},
	"diff-tree":   gitDiffPlumbing,
	"diff-index":  gitDiffPlumbing,
	"diff-files":  gitDiffPlumbing,
	"reflog":      {whole: judgeReflog},
	"stash":       {whole: judgeStash},
	"branch": {short: "avrliq", long: "all remotes list verbose show-current abbrev:: no-abbrev quiet" + refLong,
		check: listOnly("list", "l", "contains", "no-contains", "merged", "no-merged", "points-at")},
	"tag": {short: "ln::i", long: "list" + refLong,
		check: listOnly("list", "l", "contains", "no-contains", "merged", "no-merged", "points-at")},
	"remote":       {whole: judgeRemote},
	"worktree":     {whole: judgeWorktree},
	"config":       {short: "lzf:", reads: true, long: configLong, check: checkConfig},
	"symbolic-ref": {short: "q", long: "short quiet recurse no-recurse", max: 1, check: atLeastOne},
	"hash-object":  {short: "t:", long: "stdin no-filters literally path:", reads: true},
	"cat-file": {short: "ptse", long: "batch:: batch-check:: batch-all-objects unordered follow-symlinks",
		max: 2},
	"rev-parse": {short: "q", long: `abbrev-ref:: short:: verify quiet symbolic symbolic-full-name
		show-toplevel show-prefix show-cdup git-dir absolute-git-dir git-common-dir git-path:
		path-format: is-inside-work-tree is-inside-git-dir is-bare-repository
		is-shallow-repository show-superproject-working-tree all branches:: tags:: remotes::
		glob: exclude: not revs-only no-revs flags no-flags default: disambiguate: since: until:
		after: before: local-env-vars show-object-format:: show-ref-format`},
	"describe": {long: `tags always all long abbrev: contains match: exclude:
		candidates: first-parent exact-match debug`},
	"ls-files": {short: "cdomiskutvzfx:", long: `cached deleted modified others ignored stage
		unmerged killed directory no-empty-directory exclude: exclude-standard full-name
		error-unmatch abbrev:: eol deduplicate sparse debug format: with-tree: resolve-undo`},
	"ls-tree": {short: "drtlz", long: "long name-only name-status object-only full-name full-tree abbrev:: format:"},
	"blame":   gitBlame, "annotate": gitBlame,
	"grep": {reads: true, text: true, digits: true, short: "iIwvhHEGFPnlLcozqWpe:f:A:B:C:m:ar", long: `cached untracked no-index
		exclude-standard no-exclude-standard text no-textconv ignore-case word-regexp invert-match
		full-name extended-regexp basic-regexp fixed-strings perl-regexp line-number column
		files-with-matches name-only files-without-match count heading break show-function
		function-context color:: no-color max-depth: max-count: only-matching and or not all-match
		quiet threads: context: after-context: before-context: null recursive no-recursive`},
	"cherry":           {short: "v", long: "verbose abbrev::"},
	"for-each-ref":     {long: "count: shell exclude: include-root-refs stdin" + refLong, check: checkFormat},
	"show-ref":         {short: "dqs::", long: "head heads branches tags dereference hash:: verify abbrev:: quiet"},
	"merge-base":       {short: "a", long: "all octopus independent is-ancestor fork-point"},
	"name-rev":         {long: "tags refs: exclude: all name-only always no-undefined"},
	"count-objects":    {none: true, short: "vH", long: "verbose human-readable"},
	"check-ignore":     {short: "qvnz", long: "quiet verbose non-matching no-index stdin"},
	"check-attr":       {short: "az", long: "all cached stdin source:"},
	"var":              {max: 1, check: atLeastOne},
	"check-ref-format": {long: "branch normalize allow-onelevel no-allow-onelevel refspec-pattern", max: 1},
	"check-mailmap":    {long: "stdin"},
	"show-branch": {short: "arg::", long: `all remotes current topo-order date-order sparse merge-base
		independent list more: sha1-name no-name topics color:: no-color reflog::`},
	"version": {none: true, long: "build-options"},
}

var gitBlame = &program{short: "L:wM::C::slfnetpbc", long: `line-porcelain porcelain incremental
	date: since: root show-email show-name show-number show-stats abbrev: ignore-rev: reverse
	first-parent color-lines color-by-age minimal no-progress score-debug no-textconv`}

func judgeGit(args []word) string {
	if len(args) == 1 && (args[0].text == "--version" || args[0].text == "-v") {
		return ""
	}
	_, rest, reason := gitDirs(args)
	if reason != "" {
		return reason
	}
	return subcommand(gitCommands, gitGlobal, rest)
}

// gitDirs takes the directories that -C names out of the flags before the sub-command. The same holds for them as for
// those of cd.
func gitDirs(args []word) (dirs []string, rest []word, reason string) {
	for i := 0; i < len(args) && strings.HasPrefix(args[i].text, "-"); i++ {
		if args[i].text != "-C" {
			rest = append(rest, args[i])
			continue
		}
		if i++; i == len(args) {
			return nil, nil, "-C names no directory"
		}
		if reason := judgeCd(args[i : i+1]); reason != "" {
			return nil, nil, reason
		}
		dirs = append(dirs, args[i].text)
	}
	return dirs, append(rest, args[len(rest)+2*len(dirs):]...), ""
}

// checkLog keeps out the placeholders for which git starts a program that checks
// signatures.
func checkLog(c call) string {
	for _, f := range c.flags {
		if (f.name == "format" || f.name == "pretty") && strings.Contains(f.value.text, "%G") {
			return "a signature in the format starts a program"
		}
	}
	if reason := checkSubmodules(c); reason != "" {
		return reason
	}
	return checkFormat(c)
}

// mergeDiffs are the ways to show a merge that start nothing.
var mergeDiffs = set("off none first-parent 1 separate m combined c dense-combined cc")

// checkSubmodules keeps out the values for which git starts another git, which reads
// the configuration of the submodule, or a merge driver.
func checkSubmodules(c call) string {
	for _, f := range c.flags {
		switch {
		case f.name == "submodule" && f.value.text != "short":
			return "it would look into submodules"
		case f.name == "diff-merges" && !mergeDiffs[f.value.text]:
			return fmt.Sprintf("the way %s to show a merge is not on the list", clip(f.value.text))
		}
		if f.name == "ignore-submodules" && f.has && f.value.text != "dirty" && f.value.text != "all" {
			return "it would look into submodules"
		}
	}
	return ""
}

func checkFormat(c call) string {
	for _, f := range c.flags {
		if f.name == "format" && strings.Contains(f.value.text, "signature") {
			return "a signature in the format starts a program"
		}
	}
	return ""
}

func atLeastOne(c call) string {
	if len(c.operands) == 0 {
		return "there is nothing to read"
	}
	return ""
}

// listOnly accepts operands only with a flag that makes them patterns or commits:
// without one they name what is to be made.
func listOnly(flags ...string) func(call) string {
	return func(c call) string {
		if len(c.operands) > 0 && !c.has(flags...) {
			return fmt.Sprintf("%s names something to make; only lists are harmless", clip(c.operands[0].text))
		}
		return checkFormat(c)
	}
}

// judgeReflog accepts the log, and exists. The words that change it are refused
// wherever they stand.
func judgeReflog(args []word) string {
	for _, a := range args {
		if set("expire delete drop write migrate")[a.text] {
			return fmt.Sprintf("%s changes the reflog", a.text)
		}
	}
	if len(args) > 0 && (args[0].text == "show" || args[0].text == "exists" || args[0].text == "list") {
		args = args[1:]
	}
	return gitLog.judge(args)
}

func judgeStash(args []word) string {
	if len(args) == 0 {
		return "without a sub-command it stores the changes away"
	}
	switch args[0].text {
	case "list":
		return gitLog.judge(args[1:])
	case "show":
		return (&program{short: diffShort, long: diffLong + " include-untracked no-include-untracked only-untracked",
			digits: true, max: 1, check: checkLog}).judge(args[1:])
	}
	return fmt.Sprintf("the sub-command %s is not on the list of harmless ones", clip(args[0].text))
}

func judgeRemote(args []word) string {
	if len(args) > 0 && args[0].text == "get-url" {
		return (&program{long: "push all", max: 1}).judge(args[1:])
	}
	return only(args, "-v --verbose")
}

func judgeWorktree(args []word) string {
	if len(args) == 0 || args[0].text != "list" {
		return "only its list is harmless"
	}
	return (&program{short: "vz", long: "porcelain verbose", none: true}).judge(args[1:])
}

const configLong = `get get-all get-regexp get-urlmatch list global local system worktree show-origin
	file: blob: show-scope name-only null includes no-includes type: bool int bool-or-int path default:`

// checkConfig accepts questions. A name alone is one, a name and a value set it.
func checkConfig(c call) string {
	most := 1
	switch first := c.first(); {
	case c.has("list", "l"):
		most = 0
	case c.has("get", "get-all", "get-regexp", "get-urlmatch"):
		most = 2
	case first == "list":
	case first == "get": // the newer spelling; the older git refuses it as a key
		most = 2
	case !strings.Contains(first, "."): // a key has a dot; newer sub-commands have none
		return fmt.Sprintf("%s is no key to read", clip(first))
	}
	if len(c.operands) > most {
		return fmt.Sprintf("%s could be a value to set", clip(c.operands[most].text))
	}
	for _, o := range c.operands {
		if o.glob {
			return "a pattern for file names may become a value to set"
		}
	}
	return ""
}

// first is the text of the first operand, or "".
func (c call) first() string {
	if len(c.operands) == 0 {
		return ""
	}
	return c.operands[0].text
}
