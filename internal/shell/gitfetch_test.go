package shell

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// program writes a program that leaves a file of its name in the directory ran.
func (h hostile) program(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(filepath.Dir(h.ran), name)
	h.write(t, path, "#!/bin/sh\n: > '"+h.ran+"/"+name+"'\nexit 1\n")
	return path
}

// without returns env without the entries that begin with prefix.
func without(env []string, prefix string) []string {
	return slices.DeleteFunc(env, func(entry string) bool { return strings.HasPrefix(entry, prefix) })
}

// TestGitEnvPartialClone runs readers where objects are missing that a remote has promised: to fetch them git starts what
// the settings of the remote name.
func TestGitEnvPartialClone(t *testing.T) {
	server := newHostile(t)
	for _, kv := range [][2]string{{"uploadpack.allowFilter", "true"}, {"uploadpack.allowAnySHA1InWant", "true"}} {
		server.git(t, "config", kv[0], kv[1])
	}
	h := hostile{t.TempDir(), server.ran}
	h.git(t, "clone", "-q", "--no-checkout", "--filter=blob:none", "file://"+server.dir, ".")
	h.run(t, "true") // forget what the server started
	h.git(t, "config", "protocol.ext.allow", "always")
	for _, c := range []struct{ name, key, url string }{
		{"uploadpack", "remote.origin.uploadpack", server.dir},
		{"helper", "", "ext::"},
		{"ssh", "core.sshCommand", "ssh://127.0.0.1/x"},
	} {
		program := h.program(t, c.name)
		if c.key == "" {
			c.url += program
		} else {
			h.git(t, "config", c.key, program)
		}
		h.git(t, "config", "remote.origin.url", c.url)
		keys := h.keys(t)
		for _, line := range []string{
			"git show HEAD:a.txt", "git log -p", "git show", "git diff --cached --stat", "git grep one HEAD", "git cat-file -p HEAD:b.md",
			"git blame HEAD -- a.txt", "git diff-index -p HEAD", "git diff-tree -p --root HEAD", "git rev-list --objects HEAD", "git ls-tree -l HEAD",
		} {
			if ok, why := Explain(line); !ok {
				t.Errorf("%s: %s", line, why)
			}
			// Each of the two entries that forbid a fetch is enough for a git that knows it; every git knows the protocols.
			for _, env := range [][]string{GitEnv(keys...), without(GitEnv(keys...), "GIT_NO_LAZY_FETCH=")} {
				if _, _, ran := h.run(t, Harden(line), env...); len(ran) > 0 {
					t.Errorf("%s: %s: started %q", c.name, line, ran)
				}
			}
		}
		const line = "git show HEAD:a.txt"
		if _, ok, ran := h.run(t, line); ok || !slices.Contains(ran, c.name) {
			t.Errorf("%s: started %q unprotected (%v); want a fetch that fails", c.name, ran, ok)
		}
		// The settings alone are not enough: they leave the way open that the remote names.
		open := without(without(GitEnv(keys...), "GIT_ALLOW_PROTOCOL="), "GIT_NO_LAZY_FETCH=")
		if _, _, ran := h.run(t, line, open...); c.key != "core.sshCommand" && !slices.Contains(ran, c.name) {
			t.Errorf("%s: started %q with fetches allowed; want the program of the remote", c.name, ran)
		}
	}
}

// TestGitEnvMergeDriver runs what merges again to show a merge.
func TestGitEnvMergeDriver(t *testing.T) {
	h := newHostile(t)
	quiet := func(args ...string) {
		h.git(t, append([]string{"-c", "core.fsmonitor=", "-c", "core.hooksPath=/dev/null", "-c", "filter.f.clean="}, args...)...)
	}
	quiet("commit", "-qam", "ours")
	quiet("checkout", "-q", "-b", "side", "HEAD~1")
	h.write(t, filepath.Join(h.dir, "b.md"), "four\n")
	quiet("commit", "-qam", "theirs")
	quiet("merge", "-q", "-s", "ours", "-m", "merge", "@{-1}")
	h.write(t, filepath.Join(h.dir, ".gitattributes"), "*.md merge=evil\n")
	h.git(t, "config", "merge.evil.driver", h.program(t, "merger"))
	h.git(t, "config", "log.diffMerges", "remerge")
	keys := h.keys(t)
	for _, line := range []string{"git show --remerge-diff", "git log -p -m", "git log -p -1 --diff-merges=m", "git show -m"} {
		if _, _, ran := h.run(t, line); !slices.Contains(ran, "merger") {
			t.Errorf("%s: started %q unprotected; want the merge driver", line, ran)
		}
		if _, _, ran := h.run(t, line, GitEnv(keys...)...); len(ran) > 0 {
			t.Errorf("%s: started %q", line, ran)
		}
		// Without the names of the settings what asks for a merge is switched off.
		if _, _, ran := h.run(t, line, GitEnv()...); Ephemeral(line) && slices.Contains(ran, "merger") {
			t.Errorf("%s: started %q", line, ran)
		}
	}
}
