package shell

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestHarden(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"git diff", "git diff --no-ext-diff --no-textconv --ignore-submodules=dirty"},
		{"git status -s && git log -p # x", "git status --ignore-submodules=dirty -s && git log --no-ext-diff --no-textconv -p # x"},
		{"git --no-pager 'show' -- é|cat", "git --no-pager 'show' --no-ext-diff --no-textconv -- é|cat"},
		{"(git stash list; git reflog show)", "(git stash list --no-ext-diff --no-textconv; git reflog show --no-ext-diff --no-textconv)"},
		{"git reflog exists HEAD", "git reflog exists HEAD"},
		{"git reflog", "git reflog --no-ext-diff --no-textconv"},
		{"git branch -a", "git branch -a"},
		{"git -C diff -P log", "git -C diff -P log --no-ext-diff --no-textconv"},
		{"LC_ALL=C git show", "LC_ALL=C git show --no-ext-diff --no-textconv"},
		{"git --version", "git --version"},
		{"echo git diff", "echo git diff"},
		{"git diff; rm x", "git diff; rm x"},
		{"git diff \\\n --stat", "git diff --no-ext-diff --no-textconv --ignore-submodules=dirty \\\n --stat"},
		{"", ""},
	} {
		if got := Harden(c.in); got != c.want {
			t.Errorf("Harden(%q) = %q; want %q", c.in, got, c.want)
		}
	}
}

func TestGitEnvKeys(t *testing.T) {
	env := GitEnv("filter.A.b.clean", "diff.x.textconv", "user.name", "core.pager", "filter.clean", "a\n.b.c")
	for _, want := range []string{"GIT_CONFIG_KEY_15=filter.A.b.clean", "GIT_CONFIG_VALUE_15=", "GIT_CONFIG_KEY_16=diff.x.textconv", "GIT_CONFIG_COUNT=17"} {
		if !slices.Contains(env, want) {
			t.Errorf("no %q in %q", want, env)
		}
	}
}

// hostile makes a repository whose configuration names a program wherever the readers
// of git look for one. Every program leaves a file of its name in the directory ran.
type hostile struct{ dir, ran string }

func newHostile(t *testing.T) hostile {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed, and this test is about it")
	}
	h := hostile{t.TempDir(), t.TempDir()}
	bin := t.TempDir()
	program := func(name, body string) string {
		path := filepath.Join(bin, name)
		h.write(t, path, "#!/bin/sh\n: > '"+h.ran+"/"+name+"'\n"+body+"\n")
		return path
	}
	h.git(t, "init", "-q")
	h.git(t, "config", "user.name", "Ada")
	h.git(t, "config", "user.email", "ada@example.com")
	h.write(t, filepath.Join(h.dir, ".gitattributes"), "*.txt diff=d filter=f\n")
	h.write(t, filepath.Join(h.dir, "a.txt"), "one\n")
	h.write(t, filepath.Join(h.dir, "b.md"), "one\n")
	h.git(t, "add", ".")
	h.git(t, "commit", "-qm", "first")
	h.write(t, filepath.Join(h.dir, "a.txt"), "two\n")
	h.git(t, "stash", "-q")
	h.write(t, filepath.Join(h.dir, "a.txt"), "three\n")
	h.write(t, filepath.Join(h.dir, "b.md"), "three\n")
	hook := program("hook", "")
	for _, kv := range [][2]string{
		{"core.fsmonitor", program("fsmonitor", "")},
		{"core.pager", program("pager", "cat")},
		{"pager.log", program("pagerlog", "cat")},
		{"diff.external", program("external", "")},
		{"diff.d.textconv", program("textconv", `cat "$1"`)},
		{"diff.d.command", program("driver", "")},
		{"filter.f.clean", program("clean", "cat")},
		{"gpg.program", program("gpg", "")},
		{"log.showSignature", "true"},
		{"core.hooksPath", filepath.Dir(hook)},
	} {
		h.git(t, "config", kv[0], kv[1])
	}
	program("post-index-change", "")
	return h
}

func (h hostile) write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
		t.Fatal(err)
	}
}

// env is an environment without settings of the person who runs the test.
func (h hostile) env() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + h.ran, "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C"}
}

func (h hostile) git(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = h.dir, h.env()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return string(out)
}

// run runs a line and returns its output, whether it worked, and what else ran.
func (h hostile) run(t *testing.T, line string, env ...string) (out string, ok bool, ran []string) {
	t.Helper()
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir, cmd.Env = h.dir, append(h.env(), env...)
	b, err := cmd.CombinedOutput()
	entries, rerr := os.ReadDir(h.ran)
	if rerr != nil {
		t.Fatal(rerr)
	}
	for _, e := range entries {
		ran = append(ran, e.Name())
		if err := os.Remove(filepath.Join(h.ran, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return string(b), err == nil, ran
}

func TestGitEnvHostileRepository(t *testing.T) {
	h := newHostile(t)
	keys := strings.Split(strings.TrimSuffix(h.git(t, "config", "--list", "--name-only", "-z"), "\x00"), "\x00")
	started := map[string]bool{}
	for _, c := range []struct{ line, has string }{
		{"git status", "modified:"},
		{"git status -v -v", "modified:"},
		{"git diff", "+three"},
		{"git diff -- b.md", "+three"},
		{"git diff --stat", "2 files"},
		{"git diff HEAD", "+three"},
		{"git log -p", "+one"},
		{"git log -p -G one", "+one"},
		{"git show", "+one"},
		{"git stash list -p", "+two"},
		{"git stash show -p", "+two"},
		{"git reflog -p", "+one"},
		{"git blame a.txt", "three"},
		{"git blame b.md", "three"},
		{"git grep -n three", "three"},
		{"git ls-files -m", "a.txt"},
		{"git diff-files -p", "+three"},
		{"git diff-index -p HEAD", "+three"},
		{"git hash-object a.txt", ""},
		{"git diff --no-index a.txt b.md", ""},
		{"git shortlog HEAD", "first"},
		{"git branch -v", "first"},
		{"git check-ignore x; git worktree list; git for-each-ref; git tag -n", "refs/"},
	} {
		if ok, why := Explain(c.line); !ok {
			t.Errorf("%s: %s", c.line, why)
			continue
		}
		_, _, ran := h.run(t, c.line)
		for _, r := range ran {
			started[r] = true
		}
		out, _, ran := h.run(t, Harden(c.line), GitEnv(keys...)...)
		if len(ran) > 0 || !strings.Contains(out, c.has) {
			t.Errorf("%s: started %q, printed\n%s", Harden(c.line), ran, out)
		}
		// Without hardening git may fail, but an external diff does not start.
		if _, _, ran := h.run(t, c.line, GitEnv(keys...)...); len(ran) > 0 {
			t.Errorf("%s: started %q with the environment alone", c.line, ran)
		}
	}
	// The test is worth something only if the programs start unless prevented.
	for _, name := range []string{"fsmonitor", "textconv", "driver", "clean", "post-index-change"} {
		if !started[name] {
			t.Errorf("%s never started, not even unprotected", name)
		}
	}
	h.git(t, "config", "--unset", "diff.d.command")
	if _, _, ran := h.run(t, "git diff"); !slices.Contains(ran, "external") {
		t.Errorf("git diff started %q unprotected; want the external diff", ran)
	}
	if out, ok, ran := h.run(t, "git diff", GitEnv(keys...)...); ok || len(ran) > 0 {
		t.Errorf("git diff with the environment alone started %q and printed\n%s", ran, out)
	}
}
