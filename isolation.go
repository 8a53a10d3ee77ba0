package flower

import (
	"context"
	"time"
)

// Isolation tells of the git worktrees in which workers work, each in one of its own. Implementations are safe for
// concurrent use.
type Isolation interface {
	// Isolates says that workers get worktrees in this run. If not, worktrees are of earlier ones, and only workers that
	// were cut off go on in theirs.
	Isolates() bool
	// Worktrees returns those that are there, oldest first. With an error the list may not be complete.
	Worktrees(ctx context.Context) ([]Worktree, error)
}

// Worktree is where one worker has worked, on a branch of its own that began at the commit that was checked out in the
// workspace. Nothing of it is merged by itself.
type Worktree struct {
	Title       string `json:"title"` // of the task
	Branch      string `json:"branch"`
	Path        string `json:"path"`
	Base        string `json:"base"`              // the commit it began from
	Commits     int    `json:"commits"`           // on the branch since then
	Uncommitted int    `json:"uncommitted"`       // files changed or new and not committed
	Ignored     int    `json:"ignored"`           // files and directories that git ignores
	Merged      bool   `json:"merged"`            // all commits are in the workspace's checkout
	Done        bool   `json:"done"`              // the worker has come to an end
	Gone        bool   `json:"gone"`              // the directory is not there, only the branch
	Whole       bool   `json:"whole"`             // the commits of all other worktrees are in this one
	Problem     string `json:"problem,omitempty"` // why something above is not known
}

// worktreesTime bounds how long the end of a run waits for the list of worktrees.
const worktreesTime = 2 * time.Minute

// isolates says that workers of this run have worktrees.
func (rt *Runtime) isolates() bool { return rt.opts.Isolation != nil && rt.opts.Isolation.Isolates() }

// listLeft lists the worktrees that are left, also when the run was stopped.
func (rt *Runtime) listLeft(ctx context.Context) {
	if !rt.isolates() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), worktreesTime)
	defer cancel()
	trees, err := rt.opts.Isolation.Worktrees(ctx)
	if len(trees) > 0 || err != nil {
		rt.emit(WorktreesLeft{Trees: trees, Err: err})
	}
}

// apart are the worktrees with work that is not in the checkout. A list that cannot be had is none; what was worked on
// lies there all the same.
func (rt *Runtime) apart(ctx context.Context) (list []Worktree) {
	if rt.opts.Isolation == nil {
		return nil
	}
	all, _ := rt.opts.Isolation.Worktrees(ctx)
	for _, t := range all {
		if !t.Merged || t.Uncommitted > 0 {
			list = append(list, t)
		}
	}
	return list
}

// judged are the worktrees that a judge is told of, and the path of the one with everything in it.
func (rt *Runtime) judged(ctx context.Context) (list []Worktree, whole string) {
	if !rt.isolates() {
		return nil, ""
	}
	list = rt.apart(ctx)
	for _, t := range list {
		if t.Whole {
			whole = t.Path
		}
	}
	return list, whole
}

// place is what an agent must know of where the work is: words of the message "place", empty if everything lies where
// its role says.
func (rt *Runtime) place(lang Lang) string {
	bench := ""
	if rt.bench.Outside() {
		bench = rt.bench.Dir()
	}
	var former []Worktree
	if !rt.isolates() {
		ctx, cancel := context.WithTimeout(context.Background(), worktreesTime)
		defer cancel()
		former = rt.apart(ctx)
	}
	if bench == "" && !rt.isolates() && len(former) == 0 {
		return ""
	}
	return say(lang, "place", map[string]any{"Bench": bench, "Isolated": rt.isolates(), "Former": former})
}
