package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// repo is a repository of one commit and the set of its trees.
type repo struct {
	*testing.T
	dir, home string
	env       []string
	set       *Set
}

func newRepo(t *testing.T) *repo {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := &repo{T: t, dir: filepath.Join(root, "p"), home: root}
	r.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + root, "GIT_CONFIG_NOSYSTEM=1",
		"EMAIL=a@example.org", "GIT_AUTHOR_NAME=a", "GIT_COMMITTER_NAME=a",
	}
	r.git(root, "init", "-q", "-b", "main", r.dir)
	r.write("p/a.txt", "one\n")
	r.write("p/.gitignore", "/built/\n")
	r.git(r.dir, "add", ".")
	r.git(r.dir, "commit", "-q", "-m", "one")
	r.set = r.open(r.env)
	return r
}

func (r *repo) open(env []string) *Set {
	return New(Options{Workspace: r.dir, Dir: filepath.Join(r.home, ".flower-p", "worktrees"), Environ: env})
}

func (r *repo) git(dir string, args ...string) string {
	r.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = dir, r.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (r *repo) write(name, text string) {
	r.Helper()
	path := name
	if !filepath.IsAbs(name) {
		path = filepath.Join(r.home, name)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		r.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		r.Fatal(err)
	}
}

func (r *repo) make(id, title string) Tree {
	r.Helper()
	tree, err := r.set.Open(r.Context(), id, title)
	if err != nil {
		r.Fatal(err)
	}
	return tree
}

// checkout is what the person sees of the main checkout.
func (r *repo) checkout() string {
	r.Helper()
	text, err := os.ReadFile(filepath.Join(r.dir, "a.txt"))
	if err != nil {
		r.Fatal(err)
	}
	return fmt.Sprintf("%s|%s|%s|%s", r.git(r.dir, "rev-parse", "HEAD"), r.git(r.dir, "symbolic-ref", "HEAD"), r.git(r.dir, "status", "--porcelain", "--ignored"), text)
}

// TestTenAtOnce: ten trees made at once by two sets, ten branches, and the checkout as it was.
func TestTenAtOnce(t *testing.T) {
	r := newRepo(t)
	before := r.checkout()
	sets := []*Set{r.set, r.open(r.env)}
	var all sync.WaitGroup
	for i := range 10 {
		all.Go(func() {
			tree, err := sets[i%2].Open(t.Context(), fmt.Sprintf("a%d", i), "The same task")
			if err != nil {
				t.Error(err)
				return
			}
			r.write(filepath.Join(tree.Path, "a.txt"), fmt.Sprintf("by %d\n", i))
			r.git(tree.Path, "commit", "-q", "-a", "-m", "change")
			if left, err := sets[i%2].Leave(t.Context(), tree.ID); err != nil || left.Removed || left.Commits != 1 || left.Problem != nil {
				t.Errorf("left %+v, %v", left, err)
			}
		})
	}
	all.Wait()
	if after := r.checkout(); after != before {
		t.Errorf("the checkout was\n%s\nand is\n%s", before, after)
	}
	list, err := r.set.List(t.Context())
	if err != nil || len(list) != 10 {
		t.Fatalf("%d trees, %v", len(list), err)
	}
	branches := map[string]bool{}
	for _, tree := range list {
		branches[tree.Branch] = true
		text := r.git(r.dir, "show", tree.Branch+":a.txt")
		if want := "by " + strings.TrimPrefix(tree.ID, "a"); text != want {
			t.Errorf("%s holds %q, want %q", tree.Branch, text, want)
		}
	}
	if len(branches) != 10 {
		t.Errorf("%d branches: %v", len(branches), branches)
	}
}

// TestLeave: what is taken away and what stays.
func TestLeave(t *testing.T) {
	for name, c := range map[string]struct {
		work    func(r *repo, tree Tree)
		removed bool
	}{
		"nothing": {func(*repo, Tree) {}, true},
		"written and reset": {func(r *repo, tree Tree) {
			r.write(tree.Path+"/a.txt", "x")
			r.git(tree.Path, "checkout", "-q", "a.txt")
		}, true},
		"changed":           {func(r *repo, tree Tree) { r.write(tree.Path+"/a.txt", "x") }, false},
		"new file":          {func(r *repo, tree Tree) { r.write(tree.Path+"/d/new.txt", "x") }, false},
		"new repository":    {func(r *repo, tree Tree) { r.git(tree.Path, "init", "-q", "inner") }, false},
		"ignored":           {func(r *repo, tree Tree) { r.write(tree.Path+"/built/report.txt", "x") }, false},
		"ignored by itself": {func(r *repo, tree Tree) { r.write(tree.Path+"/d/.gitignore", "*\n") }, false},
		"staged":            {func(r *repo, tree Tree) { r.write(tree.Path+"/a.txt", "x"); r.git(tree.Path, "add", "a.txt") }, false},
		"removed":           {func(r *repo, tree Tree) { r.git(tree.Path, "rm", "-q", "a.txt") }, false},
		"committed":         {func(r *repo, tree Tree) { r.git(tree.Path, "commit", "-q", "--allow-empty", "-m", "x") }, false},
		"committed, dropped again": {func(r *repo, tree Tree) {
			r.git(tree.Path, "commit", "-q", "--allow-empty", "-m", "x")
			r.git(tree.Path, "reset", "-q", "--hard", tree.Base)
		}, false},
		"another branch": {func(r *repo, tree Tree) { r.git(tree.Path, "checkout", "-q", "-b", "other") }, false},
		"detached":       {func(r *repo, tree Tree) { r.git(tree.Path, "checkout", "-q", "--detach") }, false},
		"hidden from status": {func(r *repo, tree Tree) {
			r.git(tree.Path, "update-index", "--assume-unchanged", "a.txt")
			r.write(tree.Path+"/a.txt", "x")
		}, false},
		"told not to show": {func(r *repo, tree Tree) {
			r.git(tree.Path, "config", "status.showUntrackedFiles", "no")
			r.write(tree.Path+"/new.txt", "x")
		}, false},
		"gone":   {func(_ *repo, tree Tree) { _ = os.RemoveAll(tree.Path) }, false},
		"locked": {func(r *repo, tree Tree) { r.git(r.dir, "worktree", "lock", tree.Path) }, false},
		"broken": {func(r *repo, tree Tree) { r.write(tree.Path+"/.git", "gitdir: /nowhere\n") }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t)
			tree := r.make("a1", "A task")
			c.work(r, tree)
			left, err := r.set.Leave(t.Context(), "a1")
			if err != nil || left.Removed != c.removed {
				t.Fatalf("left %+v, %v; removed should be %v", left, err, c.removed)
			}
			_, statErr := os.Stat(tree.Path)
			branch := r.git(r.dir, "branch", "--list", tree.Branch)
			list, err := r.set.List(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if c.removed {
				if statErr == nil || branch != "" || len(list) != 0 {
					t.Errorf("still there: %v, branch %q, list %v", statErr, branch, list)
				}
				return
			}
			if branch == "" || len(list) != 1 || !list[0].Done {
				t.Errorf("branch %q, list %+v", branch, list)
			}
			if statErr != nil && !list[0].Gone {
				t.Errorf("gone without a word: %+v", list[0])
			}
		})
	}
}

// TestOpenAgain: the same id finds the same tree with what is in it, also after a crash in the middle.
func TestOpenAgain(t *testing.T) {
	r := newRepo(t)
	tree := r.make("a1", "A task")
	r.write(tree.Path+"/a.txt", "half done")
	if _, err := r.set.Leave(t.Context(), "a1"); err != nil {
		t.Fatal(err)
	}
	again, err := r.open(r.env).Open(t.Context(), "a1", "Another title")
	if err != nil || again != tree {
		t.Errorf("opened %+v, %v; want %+v", again, err, tree)
	}
	if text, _ := os.ReadFile(tree.Path + "/a.txt"); string(text) != "half done" {
		t.Errorf("it holds %q", text)
	}

	// A process that was killed while it made a tree: half of a checkout, and locked.
	two := r.make("a2", "Second")
	rec, err := r.set.read("a2")
	if err != nil {
		t.Fatal(err)
	}
	rec.Ready = false
	if err := r.set.write(rec); err != nil {
		t.Fatal(err)
	}
	r.git(r.dir, "worktree", "lock", two.Path)
	if err := os.Remove(two.Path + "/a.txt"); err != nil {
		t.Fatal(err)
	}
	if _, err := r.set.Find("a2"); !errors.Is(err, ErrNone) {
		t.Errorf("found a tree that is not ready: %v", err)
	}
	if after := r.make("a2", "Second"); after != two {
		t.Errorf("made %+v, want %+v", after, two)
	}
	if _, err := os.Stat(two.Path + "/a.txt"); err != nil {
		t.Errorf("the checkout is not complete: %v", err)
	}

	// A record that cannot be read is not overwritten.
	r.write(filepath.Join(r.set.opts.Dir, "a3.json"), "{")
	if _, err := r.set.Open(t.Context(), "a3", "x"); err == nil {
		t.Error("opened over a torn record")
	}
}

// TestNames: no branch and no directory that is there is taken.
func TestNames(t *testing.T) {
	r := newRepo(t)
	for _, c := range []struct{ title, want string }{
		{"Fix the parser!", "flower/fix-the-parser-xyz123"},
		{"Fix the parser!", "flower/fix-the-parser-xyz123-2"},
		{"登录 页面", "flower/登录-页面-xyz123"},
		{"../../..@{-1}~^: .lock", "flower/1-lock-xyz123"},
		{"\x00\n--", "flower/task-xyz123"},
		{strings.Repeat("long ", 50), "flower/" + strings.TrimSuffix(strings.Repeat("long-", 8), "-") + "-xyz123"},
	} {
		branch, _, err := r.set.names(t.Context(), "axyz123", c.title)
		if err != nil || branch != c.want {
			t.Errorf("%q: %q, %v; want %q", c.title, branch, err, c.want)
		}
		r.git(r.dir, "check-ref-format", "--branch", branch)
		r.git(r.dir, "branch", branch)
	}
	for _, b := range strings.Fields(r.git(r.dir, "branch", "--list", "flower/*", "--format=%(refname:short)")) {
		r.git(r.dir, "branch", "-q", "-D", b)
	}
	r.git(r.dir, "branch", "flower")
	if tree := r.make("axyz123", "Task"); tree.Branch != "flower-task-xyz123" {
		t.Errorf("beside a branch flower: %q", tree.Branch)
	}
}

// failing is a git that fails at its nth call, before or after the real one has run.
const failing = `#!/bin/sh
n=$(cat "$COUNT" 2>/dev/null || echo 0)
n=$((n + 1))
echo $n > "$COUNT"
if [ $n -eq $FAIL ] && [ $WHEN = before ]; then echo "fatal: out of order" >&2; exit $CODE; fi
"$REAL" "$@" || exit $?
if [ $n -eq $FAIL ]; then echo "fatal: out of order" >&2; exit $CODE; fi
`

// TestFailingGit: whichever call of git fails, no work is lost, and a later try succeeds.
func TestFailingGit(t *testing.T) {
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	for _, when := range []string{"before", "after"} {
		for _, worked := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, worked %v", when, worked), func(t *testing.T) {
				t.Parallel()
				for n := 1; ; n++ {
					r := newRepo(t)
					bin, count := filepath.Join(r.home, "bin"), filepath.Join(r.home, "count")
					r.write("bin/git", failing)
					if err := os.Chmod(bin+"/git", 0o755); err != nil {
						t.Fatal(err)
					}
					broken := r.open(append([]string{
						"REAL=" + real, "COUNT=" + count, fmt.Sprintf("FAIL=%d", n), "WHEN=" + when, fmt.Sprintf("CODE=%d", 1+127*(n%2)),
						"PATH=" + bin + ":" + os.Getenv("PATH"),
					}, r.env[1:]...))
					r.failOnce(broken, worked)
					data, err := os.ReadFile(count)
					if err != nil {
						t.Fatal(err)
					}
					calls, err := strconv.Atoi(strings.TrimSpace(string(data)))
					if err != nil {
						t.Fatal(err)
					}
					if calls < n { // this one did not come to it
						if n < 10 {
							t.Errorf("only %d calls of git: the wrapper is not in the way", calls)
						}
						return
					}
				}
			})
		}
	}
}

func (r *repo) failOnce(broken *Set, worked bool) {
	r.Helper()
	ctx := context.Background()
	before := r.checkout()
	tree, err := broken.Open(ctx, "a1", "Task")
	if err != nil {
		if tree, err = r.set.Open(ctx, "a1", "Task"); err != nil {
			r.Fatalf("open again: %v", err)
		}
	}
	if worked {
		r.write(tree.Path+"/work.txt", "work")
	}
	left, err := broken.Leave(ctx, "a1")
	if err != nil {
		r.Fatalf("leave: %v", err)
	}
	if worked && left.Removed {
		r.Fatalf("work was taken away: %+v", left)
	}
	list, err := r.set.List(ctx)
	if err != nil {
		r.Fatal(err)
	}
	if worked {
		if text, err := os.ReadFile(tree.Path + "/work.txt"); err != nil || string(text) != "work" || len(list) != 1 {
			r.Fatalf("the work is %q, %v; list %+v", text, err, list)
		}
	}
	if !left.Removed && left.Problem == nil && !worked {
		r.Errorf("kept without a reason: %+v", left)
	}
	if after := r.checkout(); after != before {
		r.Fatalf("the checkout was\n%s\nand is\n%s", before, after)
	}
}

// TestCheck: what is refused before anything is made.
func TestCheck(t *testing.T) {
	r := newRepo(t)
	st, err := r.set.Check(t.Context())
	if err != nil || st.Branch != "main" || st.Uncommitted != 0 {
		t.Errorf("clean: %+v, %v", st, err)
	}
	r.write("p/new.txt", "x")
	r.write("p/a.txt", "x")
	r.write("p/.flower/notes/x.md", "x")
	r.git(r.dir, "checkout", "-q", "--detach")
	if st, err = r.set.Check(t.Context(), ".flower"); err != nil || st.Branch != "" || st.Uncommitted != 2 {
		t.Errorf("detached with changes: %+v, %v", st, err)
	}
	r.write("p/sub/x.txt", "x")
	r.git(r.home, "init", "-q", "empty")
	r.git(r.home, "clone", "-q", "--bare", r.dir, "bare")
	r.write("plain/x.txt", "x")
	r.git(r.dir, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", filepath.Join(r.home, "bare"), "mod")
	for dir, want := range map[string]Unfit{
		"p/sub": NotTop, "empty": NoCommit, "bare": Bare, "plain": NoRepository, "p/mod": Submodule,
	} {
		_, err := New(Options{Workspace: filepath.Join(r.home, dir), Dir: r.set.opts.Dir, Environ: r.env}).Check(t.Context())
		var unfit *UnfitError
		if !errors.As(err, &unfit) || unfit.Why != want {
			t.Errorf("%s: %v, want %v", dir, err, want)
		}
	}
	_, err = New(Options{Workspace: r.dir, Dir: r.set.opts.Dir, Environ: []string{"PATH=/nowhere"}}).Check(t.Context())
	var unfit *UnfitError
	if !errors.As(err, &unfit) || unfit.Why != NoGit {
		t.Errorf("without git: %v", err)
	}
	if _, err := os.Lstat(r.set.opts.Dir); err == nil {
		t.Error("checking has written something")
	}
}

// TestWhole: the tree into which all others were merged is what the work has come to.
func TestWhole(t *testing.T) {
	r := newRepo(t)
	one, two, three := r.make("a1", "One"), r.make("a2", "Two"), r.make("a3", "Three")
	whole := func() string {
		t.Helper()
		list, err := r.set.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		tree, _ := r.set.Whole(t.Context(), list)
		return tree.ID
	}
	if got := whole(); got != "" {
		t.Errorf("without a commit: %q", got)
	}
	for _, tree := range []Tree{one, two} {
		r.write(tree.Path+"/"+tree.ID+".txt", "x")
		r.git(tree.Path, "add", ".")
		r.git(tree.Path, "commit", "-q", "-m", tree.ID)
	}
	if got := whole(); got != "" {
		t.Errorf("not merged: %q", got)
	}
	r.git(three.Path, "merge", "-q", "-m", "all", one.Branch, two.Branch)
	if got := whole(); got != "a3" {
		t.Errorf("merged: %q", got)
	}
	r.git(r.dir, "merge", "-q", three.Branch)
	if got := whole(); got != "" {
		t.Errorf("all in the checkout: %q", got)
	}
}

// TestNoPrograms: making and leaving trees starts nothing that the repository names.
func TestNoPrograms(t *testing.T) {
	r := newRepo(t)
	mark := filepath.Join(r.home, "ran")
	script := "#!/bin/sh\necho $0 >> " + mark + "\ncat\n"
	for _, name := range []string{"hooks/post-checkout", "hooks/reference-transaction", "evil"} {
		r.write("p/.git/"+name, script)
		if err := os.Chmod(filepath.Join(r.dir, ".git", name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	r.write("p/.gitattributes", "*.txt filter=evil\n")
	r.git(r.dir, "add", ".")
	r.git(r.dir, "-c", "core.hooksPath=/dev/null", "commit", "-q", "-m", "attributes")
	r.write("p/.git/config", r.read("p/.git/config")+fmt.Sprintf(
		"[core]\nfsmonitor = %[1]s\n[filter \"evil\"]\nsmudge = %[1]s\nclean = %[1]s\nrequired\n", filepath.Join(r.dir, ".git", "evil"),
	))
	tree := r.make("a1", "Task")
	r.write(tree.Path+"/a.txt", "x")
	if left, err := r.set.Leave(t.Context(), "a1"); err != nil || left.Uncommitted != 1 {
		t.Errorf("left %+v, %v", left, err)
	}
	if _, err := r.set.List(t.Context()); err != nil {
		t.Error(err)
	}
	if ran, err := os.ReadFile(mark); err == nil {
		t.Errorf("ran %s", ran)
	}
	r.git(tree.Path, "status") // without the guards it does
	if _, err := os.Stat(mark); err != nil {
		t.Error("the repository names no programs")
	}
}

func (r *repo) read(name string) string {
	r.Helper()
	data, err := os.ReadFile(filepath.Join(r.home, name))
	if err != nil {
		r.Fatal(err)
	}
	return string(data)
}
