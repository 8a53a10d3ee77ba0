package tools

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"flower/agent"
)

// trimmed is a result of Bash with figures that differ from run to run replaced.
func trimmed(s string) string {
	return regexp.MustCompile(`ran [0-9.]+m?s`).ReplaceAllString(s, "ran T")
}

func TestBash(t *testing.T) {
	f := newFixture(t, func(o *Options) { o.Environ = append(o.Environ, "GREETING=hi") })
	f.file("a b", "")
	tests := []struct {
		name, command string
		want          string
		isError       bool
	}{
		{"output", "echo out; echo err >&2; echo out", "out\nerr\nout\n[exit code 0, ran T]", false},
		{"no output", "true", "[exit code 0, ran T]", false},
		{"no line feed", "printf x", "x\n[exit code 0, ran T]", false},
		{"exit code", "echo no; exit 3", "no\n[exit code 3, ran T]", true},
		{"signal", "kill -KILL $$", "[exit code 137, ended by SIGKILL, ran T]", true},
		{"not a program", "nonesuch-program 2>/dev/null", "[exit code 127, ran T]", true},
		{"begins with a dash", "-x", "", true},
		{"bash", "a=(1 2); [[ ${#a[@]} = 2 ]] && echo yes", "yes\n[exit code 0, ran T]", false},
		{"several lines", "cat <<E\nx\ny\nE\n", "x\ny\n[exit code 0, ran T]", false},
		{"stdin is closed", "cat; echo done", "done\n[exit code 0, ran T]", false},
		{"environment", "echo $GREETING", "hi\n[exit code 0, ran T]", false},
		{"directory", "ls; pwd", "a b\n" + f.dir + "\n[exit code 0, ran T]", false},
		{"bad bytes", `printf 'a\377\0b\n'`, "a\uFFFDb\n[exit code 0, ran T]", false},
		{"unicode", "echo 日本", "日本\n[exit code 0, ran T]", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := f.result(Bash, in{"command": test.command, "description": "test"})
			if got := trimmed(textOf(r)); r.IsError != test.isError || test.want != "" && got != test.want {
				t.Errorf("got %q (error %v), want %q", got, r.IsError, test.want)
			}
		})
	}
	f.ok(Bash, in{"command": "cd /; X=1"})
	if got := f.ok(Bash, in{"command": "pwd; echo [$X]"}); !strings.HasPrefix(got, f.dir+"\n[]\n") {
		t.Errorf("calls share state: %q", got)
	}
	wants(t, f.fails(Bash, in{"command": " "}), `"command" is empty`)
	wants(t, f.fails(Bash, in{"command": "true", "timeout": 600001}), `"timeout" must be a whole number from 1 to 600000`)
	wants(t, f.fails(Bash, in{"command": "true", "run_in_background": true}), "unknown parameter")
	wants(t, f.fails(Bash, in{"command": "echo \x00"}), "Nothing was run")
	wants(t, f.fails(Bash, in{"command": "echo " + strings.Repeat("x", 1<<20)}), "too long")
}

// Nothing of flower's own environment reaches a command that was given none.
func TestBashWithoutEnvironment(t *testing.T) {
	t.Setenv("FLOWER_TEST_KEY", "hunter2")
	f := newFixture(t, func(o *Options) { o.Environ = nil })
	if got := f.ok(Bash, in{"command": "export"}); strings.Contains(got, "hunter2") {
		t.Errorf("the environment leaks: %s", got)
	}
}

func TestBashIsStopped(t *testing.T) {
	f := newFixture(t, nil)
	r := f.result(Bash, in{"command": "echo begun; sleep 600", "timeout": 1000})
	if got := trimmed(textOf(r)); !r.IsError || got != "begun\n[exit code 143, ended by SIGTERM, ran T, stopped: the timeout of 1s was over]" {
		t.Errorf("got %q", got)
	}

	// The command tells through a pipe that it runs; then the person interrupts.
	ctx, cancel := context.WithCancel(context.Background())
	flag := filepath.Join(f.dir, "flag")
	if err := syscall.Mkfifo(flag, 0o600); err != nil {
		t.Fatal(err)
	}
	var told sync.WaitGroup
	told.Go(func() {
		defer cancel()
		if _, err := os.ReadFile(flag); err != nil {
			t.Error(err)
		}
	})
	defer told.Wait()
	r, err := f.run(ctx, Bash, in{"command": "echo begun; echo >flag; sleep 600"})
	if err != nil {
		t.Fatal(err)
	}
	wants(t, textOf(r), "begun\n", "interrupted: the run was stopped while it ran, which is no fault of the command")
}

func TestBashReportsBackgroundProcesses(t *testing.T) {
	f := newFixture(t, nil)
	began := time.Now()
	got := f.ok(Bash, in{"command": "sleep 300 & echo $!"})
	if time.Since(began) > 60*time.Second {
		t.Error("the call waited for a background process")
	}
	pid, _, _ := strings.Cut(got, "\n")
	wants(t, got, "1 process still running in the background: "+pid+" (sleep)]")
	f.ok(Bash, in{"command": "kill " + pid})
}

func TestBashBoundsOutput(t *testing.T) {
	f := newFixture(t, nil)
	got := f.ok(Bash, in{"command": "head -c 20000000 /dev/zero | tr '\\0' x; echo; echo end"})
	if len(got) > 3*keepWithoutBench {
		t.Errorf("%d bytes", len(got))
	}
	wants(t, got, "bytes left out", "\nend\n[exit code 0")
}

func TestEphemeralBash(t *testing.T) {
	evil := "evil() { touch made; }"
	f := newFixture(t, func(o *Options) {
		o.Environ = append(o.Environ, "BASH_ENV="+filepath.Join(o.Workspace, "rc"), "BASH_FUNC_ls%%=() { touch made; }",
			"GREETING=hi", "LC_ALL=C.UTF-8", "LANG=zh_CN.GBK")
		for i, entry := range o.Environ {
			if path, ok := strings.CutPrefix(entry, "PATH="); ok {
				o.Environ[i] = "PATH=.:" + filepath.Join(o.Workspace, "bin") + ":" + path
			}
		}
	})
	f.file("rc", evil+"\ntouch made\n")
	for _, dir := range []string{"", "bin/"} {
		if err := os.Chmod(f.file(dir+"ls", "#!/bin/sh\ntouch made\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	f.use(agent.Spec{Tools: []string{Bash}, EphemeralShell: true}, f.env)
	wants(t, f.tools[Bash].Description, "only looks")
	got := f.ok(Bash, in{"command": "ls"})
	wants(t, got, "rc\n", "[exit code 0")

	for _, command := range []string{
		"touch made", "ls > made", "echo x | tee made", "ls; touch made", "ls\ntouch made", "ls & touch made", "$(touch made)",
		"env touch made", "./ls", "bin/ls", "bash -c 'touch made'", "git -c core.pager=touch log", "not ( valid", "X=1", "find . -delete",
	} {
		wants(t, f.denied(Bash, in{"command": command}), "This is intended", "Agent tool")
	}
	f.denied(Bash, in{"command": 7})
	f.denied(Bash, in{})
	if _, err := os.Stat(filepath.Join(f.dir, "made")); err == nil {
		t.Error("something was written")
	}
	f.use(agent.Spec{Tools: []string{Bash}}, f.env)
	f.ok(Bash, in{"command": "touch made"})
	if strings.Contains(f.tools[Bash].Description, "only looks") {
		t.Error("a worker is told that its Bash only looks")
	}
}

// Settings of a repository name programs that readers of git start; an agent that only looks must not run them.
func TestEphemeralBashAndGitSettings(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git here")
	}
	f := newFixture(t, nil)
	f.file("prog", "#!/bin/sh\ntouch \""+f.dir+"/made\"\ncat\n")
	f.ok(Bash, in{"command": `chmod +x prog && git init -q . && echo "*.txt filter=evil diff=evil" >.gitattributes && echo a >a.txt &&
		git -c user.name=n -c user.email=e add -A && git -c user.name=n -c user.email=e commit -qm c && echo b >a.txt &&
		git config 'filter.with blank.clean' x; for k in filter.evil.clean filter.evil.smudge diff.evil.textconv diff.evil.command diff.external core.pager core.fsmonitor; do
		git config $k "$PWD/prog"; done; rm -f made`})
	f.use(agent.Spec{Tools: []string{Bash}, EphemeralShell: true}, f.env)
	wants(t, f.ok(Bash, in{"command": "git status --short"}), " M a.txt\n")
	wants(t, f.ok(Bash, in{"command": "git diff"}), "-a\n+b\n")
	wants(t, f.ok(Bash, in{"command": "git log -p"}), "+a\n")
	if _, err := os.Stat(filepath.Join(f.dir, "made")); err == nil {
		t.Error("git started a program that the repository names")
	}
	f.use(agent.Spec{Tools: []string{Bash}}, f.env)
	f.ok(Bash, in{"command": `mkdir sub && cd sub && git init -q . && echo "*.txt filter=other" >.gitattributes && echo a >a.txt && git -c user.name=n -c user.email=e add -A &&
		git -c user.name=n -c user.email=e commit -qm c && echo b >a.txt && for k in filter.other.clean core.fsmonitor; do git config $k "$PWD/../prog"; done; rm -f ../made`})
	f.use(agent.Spec{Tools: []string{Bash}, EphemeralShell: true}, f.env)
	wants(t, f.ok(Bash, in{"command": "cd sub && git status --short && git diff"}), " M a.txt\n", "-a\n+b\n")
	wants(t, f.ok(Bash, in{"command": "cd nowhere; git status --short"}), "No such file", "?? sub/\n")
	if _, err := os.Stat(filepath.Join(f.dir, "made")); err == nil {
		t.Error("git started a program that a repository below names")
	}
	f.file(".git/config", "[broken\n")
	wants(t, f.denied(Bash, in{"command": "git status"}), "settings of git could not be read")
	f.ok(Bash, in{"command": "ls"})
}

func TestReaderEnv(t *testing.T) {
	f := newFixture(t, func(o *Options) {
		o.Environ = []string{"PATH=" + o.Workspace + "/bin:rel::/usr/bin:/bin", "HOME=/h", "LANG=de_DE.UTF-8", "LC_ALL=ja_JP.SJIS",
			"LC_TIME=C", "LD_PRELOAD=x.so", "RIPGREP_CONFIG_PATH=x", "GIT_EXTERNAL_DIFF=x", "ENV=x", "nonsense"}
	})
	want := "PATH=/usr/bin:/bin HOME=/h LANG=de_DE.UTF-8 LC_TIME=C"
	if got := strings.Join(f.box.readerEnv(), " "); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestBashStartsAnew: every call begins in the workspace, with nothing of the one before.
func TestBashStartsAnew(t *testing.T) {
	f := newFixture(t, nil)
	f.ok(Bash, in{"command": "mkdir d && cd d && x=left && export y=left && alias ll=ls && umask 0 && set -e"})
	wants(t, f.ok(Bash, in{"command": `pwd -P; echo "x=$x y=$y"; false; echo on`}), f.dir+"\nx= y=\non\n[exit code 0, ")
	wants(t, f.tools[Bash].Description, "Every call starts a new shell in the workspace")
}
