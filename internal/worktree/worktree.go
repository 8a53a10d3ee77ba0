// Package worktree gives workers git worktrees of their own, so that several can change the same files at once and the
// person's checkout stays as it is.
//
// Terms: the workspace is the top directory of the person's checkout; a tree is a worktree made from the commit that is
// checked out there, on a branch of its own; its base is that commit. A tree is untouched if nothing was done in it that
// is not in its base. The record of a tree is a small file beside it, written before the tree is made.
//
// Nothing is lost: a tree goes away only when git has shown it to be untouched, which includes files that git ignores,
// and its branch only if it still is at its base. Whatever cannot be found out counts as touched.
//
// Trust model: the repository's configuration, its files and what a worker has left in a tree may be anything. git runs
// with settings that keep the configuration from starting programs, so files that need a filter to be checked out are
// there as they are stored. It gets the environment it is given, and a bounded time.
//
// All functions are safe for concurrent use, also by several processes.
package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"flower/internal/disk"
)

// Options of a Set. Workspace and Dir are required.
type Options struct {
	Workspace string   // top directory of a checkout, absolute, symbolic links followed
	Dir       string   // where trees and records are, absolute; made when needed. Outside of the repository
	Environ   []string // environment of git, as "NAME=value"; what would point it to another repository is left out
	// Timeout of one call of git; 0 is DefaultTimeout.
	Timeout time.Duration
	Now     func() time.Time // nil is time.Now
}

// DefaultTimeout bounds one call of git: a checkout of some hundred thousand files from a cold disk takes minutes.
const DefaultTimeout = 10 * time.Minute

// Set is the trees of one workspace.
type Set struct {
	opts Options
	git  runner
}

// New makes a Set. Nothing is read or written yet.
func New(opts Options) *Set {
	if opts.Timeout <= 0 {
		opts.Timeout = DefaultTimeout
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	return &Set{opts: opts, git: newRunner(opts)}
}

// Tree is one tree and what is known of it.
type Tree struct {
	ID, Title, Branch, Path, Base string

	Done        bool // its worker has come to an end
	Gone        bool // its directory is not there; the branch is
	Removed     bool // Leave has taken it away
	Commits     int  // on its branch, since its base
	Uncommitted int  // files changed or new and not committed
	Ignored     int  // files and directories that git ignores
	Merged      bool // all its commits are in the workspace's checkout
	// Problem is why something above is not known, or why a tree that looks untouched was kept; nil if neither.
	Problem error
}

// ErrNone says that there is no tree of an id.
var ErrNone = errors.New("no worktree")

// Open returns the tree of an id, and makes it if there is none: the same id finds the same tree, also in a later
// process. An error leaves nothing behind that the next Open of the id would not clear away.
func (s *Set) Open(ctx context.Context, id, title string) (Tree, error) {
	unlock, err := s.lock(ctx)
	if err != nil {
		return Tree{}, err
	}
	defer unlock()
	rec, err := s.read(id)
	switch {
	case err == nil && rec.Ready:
		return s.reopen(ctx, rec)
	case err == nil:
		s.undo(ctx, rec) // a process has died while it was made: no worker has been in it
	case !errors.Is(err, ErrNone):
		return Tree{}, err
	}
	return s.create(ctx, id, title)
}

// reopen finds a tree again.
func (s *Set) reopen(ctx context.Context, rec record) (Tree, error) {
	top, err := s.git.run(ctx, rec.Path, "rev-parse", "--show-toplevel")
	if err != nil {
		return Tree{}, fmt.Errorf("find worktree again: %w", err)
	}
	if !sameDir(top, rec.Path) {
		return Tree{}, fmt.Errorf("find worktree again: %s is none any more", rec.Path)
	}
	if rec.Done {
		rec.Done = false
		if err := s.write(rec); err != nil {
			return Tree{}, err
		}
	}
	return rec.tree(), nil
}

func (s *Set) create(ctx context.Context, id, title string) (Tree, error) {
	base, err := s.git.run(ctx, s.opts.Workspace, "rev-parse", "--verify", "HEAD^{commit}")
	if err != nil {
		return Tree{}, fmt.Errorf("make worktree: %w", err)
	}
	rec := record{ID: id, Title: title, Base: base, Made: s.opts.Now().UTC()}
	if rec.Branch, rec.Path, err = s.names(ctx, id, title); err != nil {
		return Tree{}, fmt.Errorf("make worktree: %w", err)
	}
	if err := s.write(rec); err != nil {
		return Tree{}, err
	}
	_, err = s.git.run(ctx, s.opts.Workspace, "worktree", "add", "--quiet", "--no-track", "-b", rec.Branch, "--", rec.Path, base)
	if err == nil {
		rec.Ready = true
		err = s.write(rec)
	}
	if err != nil {
		rec.Ready = false
		s.undo(ctx, rec)
		return Tree{}, fmt.Errorf("make worktree: %w", err)
	}
	return rec.tree(), nil
}

// undo takes away what is there of a tree that was not ready, so that nobody can have worked in it. What it cannot take
// away stays; the next try takes other names.
func (s *Set) undo(ctx context.Context, rec record) {
	ctx = context.WithoutCancel(ctx)
	// Twice: a tree in the making is locked.
	_, _ = s.git.run(ctx, s.opts.Workspace, "worktree", "remove", "--force", "--force", "--", rec.Path)
	_ = s.dropBranch(ctx, rec)
	if err := os.Remove(s.recordPath(rec.ID)); err == nil {
		_ = disk.SyncDir(s.opts.Dir)
	}
}

// dropBranch deletes a branch if it is where it began: git compares and deletes in one step.
func (s *Set) dropBranch(ctx context.Context, rec record) error {
	_, err := s.git.run(ctx, s.opts.Workspace, "update-ref", "-d", "refs/heads/"+rec.Branch, rec.Base)
	return err
}

// maxNames bounds the search for a free name.
const maxNames = 1000

// names finds a branch and a directory that nobody has.
func (s *Set) names(ctx context.Context, id, title string) (branch, path string, err error) {
	prefix := "flower/"
	// A branch "flower" leaves no room for branches below it.
	if taken, err := s.git.has(ctx, s.opts.Workspace, "refs/heads/flower"); err != nil {
		return "", "", err
	} else if taken {
		prefix = "flower-"
	}
	for n := 1; n <= maxNames; n++ {
		suffix := ""
		if n > 1 {
			suffix = fmt.Sprintf("-%d", n)
		}
		branch = prefix + slug(title) + "-" + short(id) + suffix
		path = filepath.Join(s.opts.Dir, id+suffix)
		taken, err := s.git.has(ctx, s.opts.Workspace, "refs/heads/"+branch)
		if err != nil {
			return "", "", err
		}
		if !taken && !disk.Exists(path) {
			return branch, path, nil
		}
	}
	return "", "", fmt.Errorf("no free name for a branch like %s", branch)
}

// Find returns the tree of an id as it is recorded, without looking at it; ErrNone if there is none that is ready.
func (s *Set) Find(id string) (Tree, error) {
	rec, err := s.read(id)
	if err == nil && !rec.Ready {
		err = ErrNone
	}
	return rec.tree(), err
}

// Leave is called when the worker of a tree has come to an end. An untouched tree is taken away together with its
// branch; any other stays, with everything in it.
func (s *Set) Leave(ctx context.Context, id string) (Tree, error) {
	unlock, err := s.lock(ctx)
	if err != nil {
		return Tree{}, err
	}
	defer unlock()
	rec, err := s.read(id)
	if err != nil {
		return Tree{}, err
	}
	seen := s.survey(ctx, rec)
	if seen.untouched(rec) {
		_, err := s.git.run(ctx, s.opts.Workspace, "worktree", "remove", "--", rec.Path)
		if err == nil {
			seen.tree.Gone = true
			err = s.dropBranch(ctx, rec)
		}
		if err == nil {
			seen.tree.Gone, seen.tree.Removed = false, true
			seen.tree.Problem = s.forget(rec)
			return seen.tree, nil
		}
		seen.tree.Problem = err
	}
	rec.Done = true
	seen.tree.Done = true
	return seen.tree, s.write(rec)
}

// List returns the trees that are there, oldest first. Records of trees that the person has taken away, branch and all,
// are forgotten.
func (s *Set) List(ctx context.Context) ([]Tree, error) {
	recs, err := s.records()
	if err != nil || len(recs) == 0 {
		return nil, err
	}
	var list []Tree
	for _, rec := range recs {
		if !rec.Ready {
			continue
		}
		seen := s.survey(ctx, rec)
		if seen.tree.Gone && seen.noBranch {
			if seen.tree.Problem = s.forget(rec); seen.tree.Problem == nil {
				continue
			}
		}
		list = append(list, seen.tree)
	}
	return list, nil
}

// Whole returns the tree, of a list, whose branch contains the commits of all others that are not in the checkout yet:
// what the work has come to. False if there is none, or nothing was committed.
func (s *Set) Whole(ctx context.Context, list []Tree) (Tree, bool) {
	open := slices.DeleteFunc(slices.Clone(list), func(t Tree) bool { return t.Commits == 0 || t.Merged })
	for _, t := range slices.Backward(open) {
		if t.Gone || t.Problem != nil {
			continue
		}
		out, err := s.git.run(ctx, s.opts.Workspace, "for-each-ref", "--format=%(refname)", "--merged=refs/heads/"+t.Branch, "refs/heads/")
		if err != nil {
			return Tree{}, false
		}
		inside := strings.Split(out, "\n")
		if !slices.ContainsFunc(open, func(o Tree) bool { return !slices.Contains(inside, "refs/heads/"+o.Branch) }) {
			return t, true
		}
	}
	return Tree{}, false
}

func (s *Set) lock(ctx context.Context) (unlock func(), err error) {
	if err := disk.SharedDir(s.opts.Dir); err != nil {
		return nil, fmt.Errorf("make directory of worktrees: %w", err)
	}
	l, err := disk.AcquireLock(ctx, filepath.Join(s.opts.Dir, ".lock"))
	if err != nil {
		return nil, fmt.Errorf("lock worktrees: %w", err)
	}
	return func() { _ = l.Unlock() }, nil
}

func sameDir(a, b string) bool {
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}

// goodID is what can be the name of a file and the end of a branch's.
var goodID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)

func absent(path string) (bool, error) {
	_, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	return false, err
}
