package worktree

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// state is everything of the person's checkout that trees must not change.
func (r *repo) state() string {
	r.Helper()
	var all []string
	for _, args := range [][]string{
		{"rev-parse", "HEAD"}, {"rev-parse", "--symbolic-full-name", "HEAD"}, {"diff", "HEAD"}, {"stash", "list"},
		{"for-each-ref", "--format=%(refname) %(objectname)", "refs/heads/main", "refs/tags", "refs/remotes"}, {"submodule", "status"},
	} {
		all = append(all, r.git(r.dir, args...))
	}
	index, err := os.ReadFile(filepath.Join(r.dir, ".git", "index"))
	if err != nil {
		r.Fatal(err)
	}
	err = filepath.WalkDir(r.dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Name() == ".git" && d.IsDir() {
			return filepath.SkipDir
		}
		if err == nil && d.Type().IsRegular() {
			data, _ := os.ReadFile(path)
			all = append(all, path, string(data))
		}
		return err
	})
	if err != nil {
		r.Fatal(err)
	}
	return strings.Join(all, "\n") + string(index)
}

// odd are checkouts as people have them.
var odd = map[string]func(r *repo){
	"changed": func(r *repo) {
		r.write("p/a.txt", "staged\n")
		r.git(r.dir, "add", "a.txt")
		r.write("p/a.txt", "changed again\n")
		r.write("p/new.txt", "new\n")
		r.write("p/built/x", "ignored\n")
	},
	"detached":                         func(r *repo) { r.git(r.dir, "checkout", "-q", "--detach") },
	"a tag that is called as a branch": func(r *repo) { r.git(r.dir, "tag", "main") },
	"in the middle of a merge": func(r *repo) {
		r.git(r.dir, "checkout", "-q", "-b", "side")
		r.write("p/a.txt", "side\n")
		r.git(r.dir, "commit", "-q", "-a", "-m", "side")
		r.git(r.dir, "checkout", "-q", "main")
		r.write("p/a.txt", "main\n")
		r.git(r.dir, "commit", "-q", "-a", "-m", "main")
		r.git(r.dir, "merge", "-q", "--no-commit", "-s", "ours", "side")
	},
	"stashed": func(r *repo) {
		r.write("p/a.txt", "later\n")
		r.git(r.dir, "stash", "-q")
	},
	"with a submodule": func(r *repo) {
		r.git(r.home, "clone", "-q", "--bare", r.dir, "bare")
		r.git(r.dir, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", filepath.Join(r.home, "bare"), "mod")
		r.git(r.dir, "commit", "-q", "-m", "mod")
		r.write("p/mod/a.txt", "changed in it\n")
	},
	"sparse": func(r *repo) {
		r.write("p/far/b.txt", "b\n")
		r.git(r.dir, "add", ".")
		r.git(r.dir, "commit", "-q", "-m", "far")
		r.git(r.dir, "sparse-checkout", "set", "--no-cone", "/a.txt")
	},
	"shallow": func(r *repo) {
		r.git(r.dir, "commit", "-q", "--allow-empty", "-m", "two")
		r.git(r.home, "clone", "-q", "--depth", "1", "file://"+r.dir, "q")
		if err := os.Rename(r.dir, r.dir+".old"); err != nil {
			r.Fatal(err)
		}
		if err := os.Rename(filepath.Join(r.home, "q"), r.dir); err != nil {
			r.Fatal(err)
		}
	},
	"packed":            func(r *repo) { r.git(r.dir, "gc", "-q"); r.git(r.dir, "pack-refs", "--all") },
	"hooks that fail":   hooks("#!/bin/sh\nexit 1\n"),
	"hooks that change": hooks("#!/bin/sh\necho hooked >> a.txt\necho hooked >> \"$GIT_DIR/../a.txt\"\n"),
	"names of trees are taken": func(r *repo) {
		r.git(r.dir, "branch", "flower/a-task-a1")
		r.write(".flower-p/worktrees/a1/mine.txt", "mine\n")
	},
	"another tree":          func(r *repo) { r.git(r.dir, "worktree", "add", "-q", "-b", "mine", filepath.Join(r.home, "mine")) },
	"a lock in the index":   func(r *repo) { r.write("p/.git/index.lock", "") },
	"a name like an option": func(r *repo) { r.write("p/-b", "x"); r.write("p/--", "x") },
}

func hooks(script string) func(r *repo) {
	return func(r *repo) {
		for _, name := range []string{"post-checkout", "pre-commit", "commit-msg", "post-commit", "reference-transaction"} {
			path := "p/.git/hooks/" + name
			r.write(path, script)
			if err := os.Chmod(filepath.Join(r.home, path), 0o755); err != nil {
				r.Fatal(err)
			}
		}
	}
}

// TestOddCheckouts: in whatever state the person's checkout is, it stays in it; work is found where it is said to be, and
// what was not worked on leaves nothing behind.
func TestOddCheckouts(t *testing.T) {
	for name, make := range odd {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t)
			make(r)
			before := r.state()
			if _, err := r.set.Check(t.Context()); err != nil {
				t.Fatalf("check: %v", err)
			}
			idle, worked := r.make("a0", "Only look"), r.make("a1", "A task")
			r.write(worked.Path+"/a.txt", "work\n")
			r.write(worked.Path+"/draft.txt", "draft\n")
			r.git(worked.Path, "-c", "core.hooksPath=/dev/null", "commit", "-q", "-a", "-m", "work")
			if left, err := r.set.Leave(t.Context(), idle.ID); err != nil || !left.Removed && name != "sparse" {
				t.Errorf("idle: left %+v, %v", left, err)
			}
			left, err := r.set.Leave(t.Context(), worked.ID)
			if err != nil || left.Removed || left.Commits != 1 || left.Uncommitted != 1 {
				t.Errorf("worked: left %+v, %v", left, err)
			}
			if got := r.git(r.dir, "show", worked.Branch+":a.txt"); got != "work" {
				t.Errorf("the branch holds %q", got)
			}
			if text, err := os.ReadFile(worked.Path + "/draft.txt"); err != nil || string(text) != "draft\n" {
				t.Errorf("the draft is %q, %v", text, err)
			}
			if after := r.state(); after != before {
				t.Errorf("the checkout was\n%s\nand is\n%s", before, after)
			}
			list, err := r.set.List(t.Context())
			if err != nil || list[len(list)-1].Branch != worked.Branch {
				t.Errorf("list %+v, %v", list, err)
			}
		})
	}
}

// locks are files of git's that keep it from changing something, as one that was killed leaves them.
func locks(tree Tree) []string {
	return []string{
		"index.lock", "HEAD.lock", "packed-refs.lock", "config.lock", "refs/heads/" + tree.Branch + ".lock",
		"worktrees/a1/index.lock", "worktrees/a1/HEAD.lock", "worktrees/a1/locked",
	}
}

// TestLocksOfGit: whatever git cannot change, nothing is lost, nothing is told that is not so, and it works once the lock
// is gone.
func TestLocksOfGit(t *testing.T) {
	for i := range locks(Tree{}) {
		for _, worked := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, worked %v", locks(Tree{Branch: "B"})[i], worked), func(t *testing.T) {
				t.Parallel()
				r := newRepo(t)
				before := r.state()
				tree := r.make("a1", "A task")
				if worked {
					r.write(tree.Path+"/work.txt", "work")
				}
				lock := filepath.Join(r.dir, ".git", locks(tree)[i])
				r.write(lock, "")
				left, err := r.set.Leave(t.Context(), "a1")
				if err != nil {
					t.Fatal(err)
				}
				_, statErr := os.Stat(tree.Path)
				branch := r.git(r.dir, "branch", "--list", tree.Branch)
				switch {
				case left.Removed && (worked || statErr == nil || branch != ""):
					t.Errorf("said to be taken away: %v, branch %q", statErr, branch)
				case !left.Removed && branch == "":
					t.Errorf("the branch is gone and %+v is left", left)
				case !left.Removed && left.Gone != (statErr != nil):
					t.Errorf("gone %v: %v", left.Gone, statErr)
				case !left.Removed && !worked && left.Problem == nil:
					t.Errorf("kept without a reason: %+v", left)
				}
				if worked {
					if text, err := os.ReadFile(tree.Path + "/work.txt"); err != nil || string(text) != "work" {
						t.Fatalf("the work is %q, %v", text, err)
					}
				}
				// Another worker, who meets the lock as well.
				two, err := r.set.Open(t.Context(), "a2", "Another")
				if err := os.RemoveAll(lock); err != nil {
					t.Fatal(err)
				}
				if err != nil {
					two = r.make("a2", "Another")
				}
				if got := r.git(two.Path, "status", "--porcelain"); got != "" {
					t.Errorf("the new tree has %q", got)
				}
				list, err := r.set.List(t.Context())
				if want := map[bool]int{true: 1, false: 2}[left.Removed]; err != nil || len(list) != want {
					t.Errorf("list %+v, %v", list, err)
				}
				if after := r.state(); after != before {
					t.Errorf("the checkout was\n%s\nand is\n%s", before, after)
				}
			})
		}
	}
}

// wrapped is a Set whose git runs a script first: $REAL is the real git, $1 the command; what exits does so instead of git.
func (r *repo) wrapped(script string, env ...string) *Set {
	r.Helper()
	real, err := exec.LookPath("git")
	if err != nil {
		r.Fatal(err)
	}
	bin := filepath.Join(r.home, "bin")
	r.write("bin/git", "#!/bin/sh\n"+script+"\nexec \"$REAL\" \"$@\"\n")
	if err := os.Chmod(bin+"/git", 0o755); err != nil {
		r.Fatal(err)
	}
	env = append([]string{"REAL=" + real, "PATH=" + bin + ":" + os.Getenv("PATH")}, env...)
	return r.open(append(env, r.env[1:]...))
}

// TestLeaveWithoutAnAnswer: where git cannot say what is in a tree, it stays, although git would take it away.
func TestLeaveWithoutAnAnswer(t *testing.T) {
	for _, command := range []string{"status", "rev-list", "ls-files", "rev-parse"} {
		t.Run(command, func(t *testing.T) {
			r := newRepo(t)
			tree := r.make("a1", "Task")
			r.write(tree.Path+"/built/report.txt", "work") // ignored: git itself would drop it
			left, err := r.wrapped(`[ "$1" != `+command+` ] || exit 3`).Leave(t.Context(), "a1")
			if err != nil || left.Removed || left.Problem == nil {
				t.Errorf("left %+v, %v", left, err)
			}
			if data, err := os.ReadFile(tree.Path + "/built/report.txt"); err != nil || string(data) != "work" {
				t.Errorf("the work is %q, %v", data, err)
			}
		})
	}
}

// TestCommitWhileLeaving: a commit that comes between the look at a tree and the end of its branch stays on the branch.
func TestCommitWhileLeaving(t *testing.T) {
	r := newRepo(t)
	tree := r.make("a1", "Task")
	late := r.wrapped(`if [ "$1 $2" = "worktree remove" ]; then
	new=$("$REAL" -c user.name=a -c user.email=a@example.org commit-tree -p "$BRANCH" -m late "$BRANCH^{tree}") &&
		"$REAL" update-ref "refs/heads/$BRANCH" "$new" || exit 9
fi`, "BRANCH="+tree.Branch)
	left, err := late.Leave(t.Context(), "a1")
	if err != nil || left.Removed || left.Problem == nil {
		t.Errorf("left %+v, %v", left, err)
	}
	if got := r.git(r.dir, "log", "-1", "--format=%s", tree.Branch); got != "late" {
		t.Errorf("the last commit is %q", got)
	}
	list, err := r.set.List(t.Context())
	if err != nil || len(list) != 1 || list[0].Commits != 1 || !list[0].Gone {
		t.Errorf("list %+v, %v", list, err)
	}
}
