package cli

import (
	"strings"

	"flower"
	"flower/internal/text"
)

// worktrees says which worktrees are left and what to type to have what is in them, or to be rid of them. Nothing that is
// to be typed is broken into lines.
func (p *printer) worktrees(ev flower.WorktreesLeft) {
	p.gap()
	p.block("== ", p.Say("trees.head", text.Data{"N": len(ev.Trees)}))
	whole := false
	for _, t := range ev.Trees {
		whole = whole || t.Whole
		p.block("+ ", p.tree(t))
		p.command(t.Path)
	}
	if ev.Err != nil {
		p.say("! ", "trees.failed", text.Data{"Err": p.explain(ev.Err)})
	}
	git := "git -C " + quoted(p.opts.workspace) + " "
	var merge, remove []string
	for _, t := range ev.Trees {
		if t.Commits > 0 && !t.Merged && (t.Whole || !whole) {
			merge = append(merge, git+"merge "+quoted(t.Branch))
		}
		one := git + "branch -d " + quoted(t.Branch)
		if !t.Gone {
			one = git + "worktree remove " + quoted(t.Path) + " && " + one
		}
		remove = append(remove, one)
	}
	if len(merge) > 0 {
		p.say("   ", "trees.merge")
		p.commands(merge)
	}
	if len(remove) > 0 {
		p.say("   ", "trees.remove")
		p.commands(remove)
	}
}

// tree is one worktree in a few words.
func (p *printer) tree(t flower.Worktree) string {
	what := []string{p.Say("trees.commits", text.Data{"N": t.Commits})}
	add := func(is bool, id string, n int) {
		if is {
			what = append(what, p.Say(id, text.Data{"N": n}))
		}
	}
	add(t.Uncommitted > 0, "trees.uncommitted", t.Uncommitted)
	add(t.Ignored > 0, "trees.ignored", t.Ignored)
	add(t.Merged && t.Commits > 0, "trees.merged", 0)
	add(t.Whole, "trees.whole", 0)
	add(t.Gone, "trees.gone", 0)
	add(!t.Done, "trees.unfinished", 0)
	if t.Problem != "" {
		what = append(what, p.Say("trees.unsure", text.Data{"Err": oneLine(t.Problem)}))
	}
	return oneLine(t.Branch) + ": " + strings.Join(what, " · ")
}

func (p *printer) commands(list []string) {
	for _, c := range list {
		p.command(c)
	}
}

func (p *printer) command(s string) { p.opts.screen.Line("     " + oneLine(s)) }

// quoted is a word as a shell takes it.
func quoted(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r > 0x7f || strings.ContainsRune("/._-+:@,", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
