package shell

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// newSubmodule makes a repository with a submodule whose own configuration names programs, and whose settings and
// .gitmodules ask for a look into it. Git clears the settings of the environment for what it starts in a submodule.
func newSubmodule(t *testing.T) hostile {
	t.Helper()
	h := newHostile(t)
	sub := hostile{filepath.Join(h.dir, "sub"), h.ran}
	h.git(t, "init", "-q", "sub")
	sub.git(t, "config", "user.name", "Ada")
	sub.git(t, "config", "user.email", "ada@example.com")
	sub.write(t, filepath.Join(sub.dir, ".gitattributes"), "*.txt filter=evil diff=evil merge=evil\n")
	sub.write(t, filepath.Join(sub.dir, "a.txt"), "one\n")
	sub.git(t, "add", ".")
	sub.git(t, "commit", "-qm", "first")
	h.write(t, filepath.Join(h.dir, ".gitmodules"), "[submodule \"sub\"]\n\tpath = sub\n\turl = ./sub\n\tignore = none\n")
	h.git(t, "-c", "core.fsmonitor=", "-c", "core.hooksPath=/dev/null", "-c", "filter.f.clean=", "add", ".gitmodules", "sub")
	h.git(t, "-c", "core.fsmonitor=", "-c", "core.hooksPath=/dev/null", "-c", "filter.f.clean=", "commit", "-qm", "second")
	sub.write(t, filepath.Join(sub.dir, "a.txt"), "two\n")
	for _, name := range []string{"subclean", "submonitor", "subconv", "subdriver", "subexternal"} {
		h.write(t, filepath.Join(h.ran, "..", name), "#!/bin/sh\n: > '"+h.ran+"/"+name+"'\ncat\n")
	}
	program := func(name string) string { return filepath.Join(filepath.Dir(h.ran), name) }
	for _, kv := range [][2]string{
		{"filter.evil.clean", program("subclean")},
		{"core.fsmonitor", program("submonitor")},
		{"diff.evil.textconv", program("subconv")},
		{"merge.evil.driver", program("subdriver")},
		{"diff.external", program("subexternal")},
	} {
		sub.git(t, "config", kv[0], kv[1])
	}
	for _, kv := range [][2]string{
		{"submodule.recurse", "true"},
		{"submodule.sub.ignore", "none"},
		{"diff.ignoreSubmodules", "none"},
		{"diff.submodule", "diff"},
		{"status.submoduleSummary", "true"},
		{"submodule.sub.active", "true"},
	} {
		h.git(t, "config", kv[0], kv[1])
	}
	return h
}

// keys are the names of the settings of the repository.
func (h hostile) keys(t *testing.T) []string {
	t.Helper()
	return strings.Split(strings.TrimSuffix(h.git(t, "config", "--list", "--name-only", "-z"), "\x00"), "\x00")
}

// submoduleReaders are lines that read what a submodule is part of; those that are refused show that its programs would start.
var submoduleReaders = []string{
	"git status", "git status -v -v", "git status --porcelain=v2", "git status --ignored", "git status -uall",
	"git diff", "git diff HEAD", "git diff --stat", "git diff --submodule=short", "git diff --cached", "git diff HEAD~1 HEAD",
	"git diff --ignore-submodules=dirty", "git diff -- sub", "git diff --quiet", "git diff --name-only HEAD",
	"git log -p", "git log -p -m", "git log --stat -- sub", "git show", "git show HEAD", "git whatchanged -p",
	"git reflog -p", "git stash list -p", "git stash show -p", "git rev-list --all", "git shortlog HEAD",
	"git diff-files -p", "git diff-index -p HEAD", "git diff-index HEAD", "git diff-tree -p HEAD",
	"git ls-files -m", "git ls-files -s", "git ls-files -o", "git ls-files -d -k", "git ls-files --eol", "git ls-tree -r HEAD",
	"git grep two", "git grep -n three", "git grep --cached two", "git blame a.txt", "git blame .gitmodules",
	"git describe --always", "git describe --all --long", "git branch -av", "git tag -n", "git worktree list",
	"git check-ignore sub/a.txt", "git check-attr -a sub/a.txt", "git hash-object b.md", "git rev-parse HEAD",
	"git for-each-ref", "git show-ref", "git cat-file -p HEAD", "git config --list", "git remote -v", "git name-rev HEAD",
	"git count-objects -v", "git show-branch", "git cherry HEAD", "git merge-base HEAD HEAD", "git diff --no-index a.txt b.md",
	"git describe --dirty --always", "git describe --broken --always", "git diff --submodule=diff", "git log -p --submodule=diff",
	"git diff --submodule=log", "git grep --recurse-submodules two", "git ls-files --recurse-submodules",
	"git status --ignore-submodules=none", "git diff --ignore-submodules=none",
}

// TestGitEnvHostileSubmodule runs the readers where the settings ask for a look into the submodule, where only the file
// .gitmodules does, and where nothing is said of it.
func TestGitEnvHostileSubmodule(t *testing.T) {
	h := newSubmodule(t)
	t.Run("settings", h.readers)
	for _, key := range []string{"submodule.sub.ignore", "submodule.sub.active", "diff.ignoreSubmodules"} {
		h.git(t, "config", "--unset", key)
	}
	t.Run("file", h.readers)
	h.git(t, "config", "-f", ".gitmodules", "--unset", "submodule.sub.ignore")
	t.Run("nothing", h.readers)
	// The submodule is the only change: nothing ends the search before it.
	h.git(t, "-c", "core.fsmonitor=", "-c", "core.hooksPath=/dev/null", "-c", "filter.f.clean=", "commit", "-qam", "third")
	t.Run("clean", h.readers)
	for _, line := range []string{"git describe --dirty --always", "git describe --broken --always"} {
		if _, _, ran := h.run(t, line, GitEnv(h.keys(t)...)...); !slices.Contains(ran, "subclean") {
			t.Errorf("%s started %q in spite of the settings; want the filter of the submodule, for which it is refused", line, ran)
		}
	}
}

// readers runs submoduleReaders, first unprotected.
func (h hostile) readers(t *testing.T) {
	keys := h.keys(t)
	started := map[string]bool{}
	for _, line := range submoduleReaders {
		if !Ephemeral(line) || line == "git status" {
			_, _, ran := h.run(t, line)
			for _, r := range ran {
				started[r] = true
			}
		}
		if !Ephemeral(line) {
			continue
		}
		if _, _, ran := h.run(t, Harden(line), GitEnv(keys...)...); len(ran) > 0 {
			t.Errorf("%s: started %q", Harden(line), ran)
		}
	}
	for _, name := range []string{"subclean", "submonitor", "subexternal"} {
		if !started[name] {
			t.Errorf("%s never started, not even unprotected", name)
		}
	}
}

// TestGitEnvSubmoduleSetting tells that the setting of one submodule is switched off from the environment alone.
func TestGitEnvSubmoduleSetting(t *testing.T) {
	h := newSubmodule(t)
	keys := h.keys(t)
	for _, line := range []string{"git status", "git diff", "git diff-files", "git diff-index HEAD"} {
		if _, _, ran := h.run(t, line, GitEnv(keys...)...); len(ran) > 0 {
			t.Errorf("%s: started %q", line, ran)
		}
		if _, _, ran := h.run(t, line, GitEnv(without(slices.Clone(keys), "submodule.sub.ignore")...)...); !slices.Contains(ran, "subclean") {
			t.Errorf("%s started %q where the setting stayed; want the filter of the submodule", line, ran)
		}
	}
}
