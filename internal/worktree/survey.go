package worktree

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// survey is what was found out about a tree.
type survey struct {
	tree     Tree
	noBranch bool
	// untold are things a worker may have done that neither commits nor status show: another branch checked out, commits
	// it has dropped again, files that git was told not to look at.
	untold bool
}

// untouched says that git has shown that nothing would be lost with the tree.
func (v survey) untouched(rec record) bool {
	t := v.tree
	return rec.Ready && t.Problem == nil && !t.Gone && !v.noBranch && !v.untold && t.Commits == 0 && t.Uncommitted == 0 && t.Ignored == 0
}

// survey looks at a tree. The first thing that goes wrong is its Problem; the figures after it are not known.
func (s *Set) survey(ctx context.Context, rec record) survey {
	v := survey{tree: rec.tree()}
	v.tree.Problem = s.look(ctx, rec, &v)
	return v
}

func (s *Set) look(ctx context.Context, rec record, v *survey) error {
	branch := "refs/heads/" + rec.Branch
	there, err := s.git.has(ctx, s.opts.Workspace, branch)
	if err != nil {
		return err
	}
	v.noBranch = !there
	if v.tree.Gone, err = absent(rec.Path); err != nil {
		return err
	}
	if there {
		if v.tree.Commits, err = s.count(ctx, rec.Base+".."+branch); err != nil {
			return err
		}
		if v.tree.Merged, err = s.git.asks(ctx, s.opts.Workspace, "merge-base", "--is-ancestor", branch, "HEAD"); err != nil {
			return err
		}
	}
	if v.tree.Gone {
		return nil
	}
	if err := s.status(ctx, rec.Path, &v.tree); err != nil {
		return err
	}
	v.untold, err = s.untold(ctx, rec)
	return err
}

func (s *Set) count(ctx context.Context, commits string) (int, error) {
	out, err := s.git.run(ctx, s.opts.Workspace, "rev-list", "--count", commits, "--")
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(out)
	if err != nil {
		return 0, fmt.Errorf("count commits: %w", err)
	}
	return n, nil
}

// status counts what is not committed.
func (s *Set) status(ctx context.Context, dir string, t *Tree) error {
	out, err := s.git.run(ctx, dir, "status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=all", "--ignored=traditional", "--ignore-submodules=dirty")
	if err != nil {
		return err
	}
	for entry := range strings.SplitSeq(out, "\x00") {
		switch {
		case entry == "":
		case strings.HasPrefix(entry, "!! "):
			t.Ignored++
		default:
			t.Uncommitted++
		}
	}
	return nil
}

// untold looks for what status does not show.
func (s *Set) untold(ctx context.Context, rec record) (bool, error) {
	head, err := s.git.run(ctx, rec.Path, "rev-parse", "--symbolic-full-name", "HEAD")
	if err != nil || head != "refs/heads/"+rec.Branch {
		return true, err
	}
	log, err := s.git.run(ctx, rec.Path, "rev-list", "--walk-reflogs", "HEAD", "--")
	if err != nil {
		return true, err
	}
	for commit := range strings.FieldsSeq(log) {
		if commit != rec.Base {
			return true, nil
		}
	}
	files, err := s.git.run(ctx, rec.Path, "ls-files", "-v", "-z")
	if err != nil {
		return true, err
	}
	for entry := range strings.SplitSeq(files, "\x00") {
		if entry != "" && !strings.HasPrefix(entry, "H ") {
			return true, nil // not looked at (a small letter), left out (S), or in the middle of a merge (M)
		}
	}
	return false, nil
}

// UnfitError says why no trees can be made in a workspace.
type UnfitError struct {
	Why    Unfit
	Detail string // the top directory, or git's own words
}

// Unfit is a reason.
type Unfit int

// Reasons.
const (
	NoGit        Unfit = iota // the program is not there
	NoRepository              // not in a repository
	Bare                      // no checkout
	NotTop                    // not the top directory of the checkout, which Detail names
	Submodule                 // a checkout within another one
	NoCommit                  // nothing to begin from
	Failed                    // git failed, with Detail
)

// Error implements error.
func (e *UnfitError) Error() string {
	what := [...]string{
		NoGit: "git was not found", NoRepository: "not a git repository", Bare: "the repository has no checkout",
		NotTop: "not the top directory of its repository", Submodule: "the workspace is a submodule",
		NoCommit: "the repository has no commit", Failed: "git failed",
	}[e.Why]
	if e.Detail != "" {
		what += ": " + e.Detail
	}
	return what
}

// State is what people should know of a checkout before trees are made from it.
type State struct {
	Commit      string
	Branch      string // "" if none is checked out
	Uncommitted int    // files changed or new that trees will not have
}

// Check says whether trees can be made, before anything is; it writes nothing. What lies in the directories aside, given
// below the workspace, does not count as uncommitted. Errors: *UnfitError.
func (s *Set) Check(ctx context.Context, aside ...string) (State, error) {
	unfit := func(why Unfit, detail string) (State, error) { return State{}, &UnfitError{why, detail} }
	if s.git.program == "" {
		return unfit(NoGit, "")
	}
	ask := func(args ...string) (string, error) { return s.git.run(ctx, s.opts.Workspace, args...) }
	bare, err := ask("rev-parse", "--is-bare-repository")
	var failed *gitError
	switch {
	case errors.As(err, &failed) && strings.Contains(failed.stderr, "not a git repository"):
		return unfit(NoRepository, "")
	case err != nil:
		return unfit(Failed, err.Error())
	case bare == "true":
		return unfit(Bare, "")
	}
	top, err := ask("rev-parse", "--show-toplevel")
	if err != nil {
		return unfit(Failed, err.Error())
	}
	if !sameDir(top, s.opts.Workspace) {
		return unfit(NotTop, top)
	}
	if super, err := ask("rev-parse", "--show-superproject-working-tree"); err != nil {
		return unfit(Failed, err.Error())
	} else if super != "" {
		return unfit(Submodule, super)
	}
	var st State
	if st.Commit, err = ask("rev-parse", "--verify", "--quiet", "HEAD^{commit}"); err != nil {
		return unfit(NoCommit, "")
	}
	if ref, err := ask("rev-parse", "--symbolic-full-name", "HEAD"); err == nil {
		if name, ok := strings.CutPrefix(ref, "refs/heads/"); ok {
			st.Branch = name
		}
	}
	status := []string{"status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=normal", "--ignore-submodules=dirty", "--", "."}
	for _, dir := range aside {
		status = append(status, ":(exclude,literal)"+dir)
	}
	out, err := ask(status...)
	if err != nil {
		return unfit(Failed, err.Error())
	}
	st.Uncommitted = strings.Count(out, "\x00")
	return st, nil
}
