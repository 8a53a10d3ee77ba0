package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"flower"
	"flower/internal/proc"
	"flower/internal/text"
	"flower/internal/workbench"
	"flower/internal/worktree"
)

// treesDir holds the workers' worktrees, beside what is on the workbench outside of the repository.
const treesDir = "worktrees"

// isolation gives workers git worktrees. It implements tools.Isolation and flower.Isolation.
type isolation struct {
	set       *worktree.Set
	workspace string
	bench     string
	redact    func(string) string // takes secrets out of what a tree is called
	// makes says that new workers get worktrees. Without it only those go on in theirs that have one from an earlier run.
	makes bool
}

func (a *app) newIsolation(workspace string, makes bool) *isolation {
	dir := workbench.OutsideDir(workspace)
	redact := a.redact
	if redact == nil {
		redact = func(s string) string { return s }
	}
	return &isolation{
		workspace: workspace, bench: dir, makes: makes, redact: redact,
		set: worktree.New(worktree.Options{
			Workspace: workspace, Dir: filepath.Join(dir, treesDir), Environ: proc.ScrubEnv(a.env), Now: a.Now,
		}),
	}
}

// unfit are the messages for why a workspace has no worktrees.
var unfit = map[worktree.Unfit]string{
	worktree.NoGit: "isolate.nogit", worktree.NoRepository: "isolate.norepository", worktree.Bare: "isolate.bare",
	worktree.NotTop: "isolate.nottop", worktree.Submodule: "isolate.submodule", worktree.NoCommit: "isolate.nocommit",
	worktree.Failed: "isolate.failed",
}

// isolate prepares the worktrees of workers, if they are wanted, before anything is spent; otherwise it says where the
// workbench is, if that is not where people expect it.
func (g *goRun) isolate(ctx context.Context) error {
	g.trees = g.newIsolation(g.place.workspace, g.isolated)
	if !g.isolated {
		if bench := workbench.Open(g.place.workspace); bench.Outside() {
			g.print.Notice(". ", "isolate.bench", text.Data{"Path": g.place.short(bench.Dir())})
			g.sayApart(ctx)
		}
		return nil
	}
	aside := []string{".flower"}
	if rel, err := filepath.Rel(g.place.workspace, g.place.runDir); err == nil && filepath.IsLocal(rel) && rel != "." {
		aside = append(aside, rel)
	}
	st, err := g.trees.set.Check(ctx, aside...)
	var bad *worktree.UnfitError
	switch {
	case errors.As(err, &bad):
		return &usageError{spoken("--isolate: " + g.Say(unfit[bad.Why], text.Data{"Path": g.place.workspace, "Detail": oneLine(bad.Detail)}))}
	case err != nil:
		return err
	}
	if st.Uncommitted > 0 {
		g.print.Notice("! ", "isolate.dirty", text.Data{"N": st.Uncommitted})
	}
	if st.Branch == "" {
		g.print.Notice("! ", "isolate.detached", text.Data{"Commit": st.Commit[:min(len(st.Commit), 10)]})
	}
	return nil
}

// sayApart says that there is work of earlier workers that this run does not see.
func (g *goRun) sayApart(ctx context.Context) {
	trees, err := g.trees.set.List(ctx)
	n := 0
	for _, t := range trees {
		if !t.Merged || t.Uncommitted > 0 {
			n++
		}
	}
	if n > 0 || err != nil {
		g.print.Notice("! ", "isolate.apart", text.Data{"N": n})
	}
}

// moveBench makes the workbench outside of the repository.
func (g *goRun) moveBench() error {
	if !g.isolated {
		return nil
	}
	if err := g.checkDir(g.trees.bench, "place.bench", false); err != nil {
		return err
	}
	was := workbench.Open(g.place.workspace)
	bench, err := workbench.MoveOut(g.place.workspace)
	if err == nil && !was.Outside() {
		g.print.Notice(". ", "isolate.bench", text.Data{"Path": g.place.short(bench.Dir())})
	}
	return err
}

// Enter implements tools.Isolation.
func (i *isolation) Enter(ctx context.Context, id, title string) (dir, note string, err error) {
	tree, err := i.set.Find(id)
	if errors.Is(err, worktree.ErrNone) && !i.makes {
		return "", "", nil
	}
	if err == nil || errors.Is(err, worktree.ErrNone) {
		tree, err = i.set.Open(ctx, id, i.redact(title))
	}
	if err != nil {
		return "", "", err
	}
	return tree.Path, fmt.Sprintf(`You work in a git worktree of your own, %s, on the branch %s. It is your workspace: relative paths and commands begin there. The person's checkout in %s and the worktrees of others are read only for you. Commit on this branch what you finish; do not switch to another one and do not push. The workbench is not .flower/ here but %s/. Say in your report what you have committed.`,
		tree.Path, tree.Branch, i.workspace, i.bench), nil
}

// Dir implements tools.Isolation. A worker that should have a worktree and has none gets no tools: it would change the
// person's checkout.
func (i *isolation) Dir(id string) (string, error) {
	tree, err := i.set.Find(id)
	if errors.Is(err, worktree.ErrNone) && !i.makes {
		return "", nil
	}
	return tree.Path, err
}

// Leave implements tools.Isolation.
func (i *isolation) Leave(ctx context.Context, id string) string {
	tree, err := i.set.Leave(ctx, id)
	where := fmt.Sprintf("branch %s, worktree %s", tree.Branch, tree.Path)
	switch {
	case err != nil && tree.Branch == "":
		return fmt.Sprintf("the worktree was left as it is: %v", err)
	case tree.Removed:
		return fmt.Sprintf("nothing was changed, so branch %s and its worktree were taken away again", tree.Branch)
	case tree.Gone:
		return where + ": the directory is gone, the branch is there"
	case tree.Problem != nil || err != nil:
		return fmt.Sprintf("%s: kept as it is; what is in it is not known: %v", where, errors.Join(tree.Problem, err))
	}
	what := fmt.Sprintf("%s: %d committed since %.10s, %d files changed and not committed", where, tree.Commits, tree.Base, tree.Uncommitted)
	if tree.Uncommitted > 0 {
		what += " (on no branch: have them committed there if they count)"
	}
	return what
}

// Isolates implements flower.Isolation.
func (i *isolation) Isolates() bool { return i.makes }

// Worktrees implements flower.Isolation.
func (i *isolation) Worktrees(ctx context.Context) ([]flower.Worktree, error) {
	trees, err := i.set.List(ctx)
	whole, has := i.set.Whole(ctx, trees)
	var list []flower.Worktree
	for _, t := range trees {
		w := flower.Worktree{
			Title: t.Title, Branch: t.Branch, Path: t.Path, Base: t.Base, Commits: t.Commits, Uncommitted: t.Uncommitted,
			Ignored: t.Ignored, Merged: t.Merged, Done: t.Done, Gone: t.Gone, Whole: has && t.ID == whole.ID,
		}
		if t.Problem != nil {
			w.Problem = t.Problem.Error()
		}
		list = append(list, w)
	}
	return list, err
}

// whole is the directory in which the work is as a whole; "" is the workspace.
func (i *isolation) whole(ctx context.Context) string {
	trees, err := i.set.List(ctx)
	if err != nil {
		return ""
	}
	tree, _ := i.set.Whole(ctx, trees)
	return tree.Path
}
