package tools

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"flower/internal/proc"
	"flower/internal/sandbox"
)

func TestDenial(t *testing.T) {
	f := newFixture(t, func(o *Options) {
		o.Granted = []string{"/granted"}
		o.Sandbox = &sandbox.Options{Places: []string{"/cache"}}
	})
	if f.box.Confined() == sandbox.None {
		t.Skip("nothing is confined on this system")
	}
	for out, want := range map[string]string{ // "" is silence, "?" the general remark
		"bash: line 1: /far/new: Permission denied":                                       "/far/new",
		"touch: cannot touch '/far away/new': Permission denied":                          "/far away/new",
		"mkdir: cannot create directory ‘/far/d’: Permission denied":                      "/far/d",
		"PermissionError: [Errno 13] Permission denied: '/far/x'":                         "/far/x",
		"open /far/x: permission denied":                                                  "/far/x",
		"Error: EACCES: permission denied, open '/far/x'":                                 "/far/x",
		"rm: cannot remove '../other/x': Permission denied":                               "../other/x",
		"fatal: could not create work tree dir 'repo': Permission denied":                 "?",
		"touch: cannot touch 'x': Permission denied":                                      "?",
		"./run.sh: Permission denied":                                                     "?", // the command may have gone elsewhere
		"bash: " + f.dir + "/run.sh: Permission denied":                                   "",
		"cp: /cache/x: Operation not permitted":                                           "",
		"/far/a: Permission denied\n/far/b: Permission denied\n/far/a: Permission denied": "/far/a and /far/b",
		"/f/1: EPERM\n/f/2: EPERM\n/f/3: EPERM\n/f/4: EPERM\n/f/5: EPERM":                 "/f/1, /f/2, /f/3 and 2 more",
		"cp: " + f.dir + "/a: fine\ncp: cannot create '/far/a': Permission denied":        "/far/a",
		"git@github.com: Permission denied (publickey).":                                  "?",
		"no such file: /far/x":                                                            "",
		"ok\n":                                                                            "",
	} {
		got := f.box.denial(proc.Result{ExitCode: 1, Output: out})
		switch {
		case want == "" && got != "", want != "" && !strings.Contains(got, "the workspace ("+f.dir+"), /granted, in directories for temporary files"):
			t.Errorf("%q: %q", out, got)
		case want == "?" && !strings.Contains(got, "if something was denied above"), len(want) > 1 && !strings.Contains(got, ": writing elsewhere ("+want+") is denied"):
			t.Errorf("%q: %q, want %s", out, got, want)
		}
	}
	if got := f.box.denial(proc.Result{Output: "/far/new: Permission denied"}); got != "" {
		t.Errorf("of a command that has succeeded: %q", got)
	}
}

// A path that was judged before it became a link is not written through it.
func TestStoreThroughALink(t *testing.T) {
	f := newFixture(t, func(o *Options) { o.Sandbox = &sandbox.Options{} })
	if f.box.Confined() == sandbox.None {
		t.Skip("nothing is confined on this system")
	}
	outside := filepath.Join(filepath.Dir(f.dir), "outside")
	f.box.writable = []string{f.dir} // and not the directory for temporary files, in which this test lies
	if err := f.box.confine(&sandbox.Options{}); err != nil {
		t.Fatal(err)
	}
	symlinkTo(t, outside, filepath.Join(f.dir, "sub"))
	for _, name := range []string{"sub/file", "sub/new", "sub/deep/new"} {
		if err := f.box.store(filepath.Join(f.dir, name), []byte("x")); err == nil {
			t.Errorf("%s was written", name)
		}
	}
	if err := f.box.store(filepath.Join(f.dir, "own/file"), []byte("x")); err != nil {
		t.Error(err)
	}
}

// symlinkTo makes a directory and a link to it.
func symlinkTo(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(dir, name); err != nil {
		t.Fatal(err)
	}
}
