package tools

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"flower/agent"
	"flower/internal/proc"
	"flower/internal/sandbox"
	"flower/internal/workbench"
)

// newZoo is a box like the product's, in a place where one can write outside: the directory for temporary files is not
// the one that everything lies in.
func newZoo(t *testing.T, abi int) (f *fixture, outside string) {
	t.Helper()
	outside, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	temp := filepath.Join(outside, "tmp")
	if err := os.Mkdir(temp, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", temp)
	commands := &proc.Supervisor{Records: filepath.Join(outside, "commands")}
	t.Cleanup(func() {
		commands.Close()
		if left, _ := filepath.Glob(commands.Records + "/*"); len(left) > 0 {
			t.Errorf("records stay: %v", left)
		}
	})
	f = newFixture(t, func(o *Options) {
		o.Bench, o.Commands = workbench.Open(o.Workspace), commands
		o.Sandbox = &sandbox.Options{Places: []string{temp}, ABI: abi}
		o.Environ = append(o.Environ, "TMPDIR="+temp, "OUT="+outside)
	})
	return f, outside
}

func needLandlock(t *testing.T, f *fixture) {
	t.Helper()
	if f.box.Confined() != sandbox.Full {
		t.Skip("this kernel has no Landlock, or an early one")
	}
}

// running says whether a process with this in its environment or command line is alive.
func running(t *testing.T, mark string) bool {
	t.Helper()
	for _, name := range []string{"environ", "cmdline"} {
		paths, err := filepath.Glob("/proc/[0-9]*/" + name)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			if data, err := os.ReadFile(path); err == nil && strings.Contains(string(data), mark) && !strings.HasPrefix(path, fmt.Sprintf("/proc/%d/", os.Getpid())) {
				return true
			}
		}
	}
	return false
}

// The zoo: commands that other tools hang, lie or die over. Each ends in bounded time and memory with a true report.
func TestZoo(t *testing.T) {
	const most = 60 * time.Second // on a slow machine; the commands would take minutes or for ever
	for _, tt := range []struct {
		name, command string
		timeout       int // ms
		wants         []string
		isError       bool
	}{
		{"background", "sleep 600 & echo begun", 0, []string{"begun\n[exit code 0, ", "1 process still running in the background: ", "(sleep)]"}, false},
		{"own session", "setsid sleep 600 & echo begun", 0, []string{"begun\n[exit code 0, ", "1 process still running in the background: "}, false},
		{"no hangup", "nohup sleep 600 >/dev/null 2>&1 & echo begun", 0, []string{"begun\n", "still running in the background"}, false},
		{"daemon", "(env -i setsid sh -c 'sleep 600 & sleep 600' &) ; sleep 0.2; echo begun", 0, []string{"begun\n", "3 processes still running in the background: ", "(sleep)"}, false},
		{"reads its input", "read x; echo \"read: $?\"; cat", 0, []string{"read: 1\n[exit code 0, "}, false},
		{"asks at the terminal", "read x </dev/tty; echo \"asked: $?\"", 0, []string{"asked: 1\n[exit code 0, "}, false},
		{"asks for a password", "ssh -o BatchMode=no nobody@127.0.0.1 -p 1 true || sudo -k true || echo refused", 20_000, []string{"[exit code "}, false},
		{"much output", "head -c 500000000 /dev/zero | tr '\\0' x; echo; echo the end", 60_000,
			[]string{"[long result: the first 64 MiB of 500000009 bytes are in .flower/spill/", "\nthe end\n[exit code 0, "}, false},
		{"one long line without an end", "yes xxxxxxx | tr -d '\\n'", 1000, []string{"[long result: ", "stopped: the timeout of 1s was over]"}, true},
		{"bad bytes", `printf 'a\377\376\0b\033[31mred\r\n'`, 0, []string{"a\uFFFDb\x1b[31mred\r\n[exit code 0, "}, false},
		{"nothing but bad bytes", "head -c 300000 /dev/urandom", 0, []string{"[long result: all 300000 bytes are in ", "[exit code 0, "}, false},
		{"fork bomb", "f() { [ $1 -gt 0 ] && { f $(($1-1)) & f $(($1-1)) & }; sleep 600; }; f 7", 1500, []string{"[exit code 143, ended by SIGTERM, ", "was over]"}, true},
		{"ignores SIGTERM", "trap '' TERM; echo begun; sleep 600; sleep 600", 1000, []string{"begun\n[exit code 137, ended by SIGKILL, ", "was over]"}, true},
		{"stops itself", "kill -STOP $$", 1000, []string{"[exit code 143, ended by SIGTERM, ", "was over]"}, true},
		{"kills its group", "echo begun; kill 0", 0, []string{"begun\n[exit code 143, ended by SIGTERM, "}, true},
		{"kills its parent", "echo begun; kill -KILL $PPID; sleep 600", 0, []string{"begun\n[exit code unknown, ", "it ended the process that watches over it"}, true},
		{"closes its output", "exec >&- 2>&-; sleep 600", 1000, []string{"[exit code 143, ended by SIGTERM, "}, true},
		{"changes the directory", "cd / && pwd", 0, []string{"/\n[exit code 0, "}, false},
		{"removes its directory", "mkdir d && cd d && rmdir ../d && pwd -P; true", 0, []string{"[exit code 0, "}, false},
		{"floods both streams", "yes out & yes err >&2 & sleep 0.3; kill %1 %2", 0, []string{"[long result: "}, false},
		{"writes outside", "echo x > $OUT/new", 0, []string{"Permission denied", "[commands may write only in the workspace", "--allow-write]\n[exit code 1, "}, true},
		{"writes to the books", "echo x > $OUT/commands/x", 0, []string{"Permission denied", "[exit code 1, "}, true},
		{"writes temporary files", "f=$(mktemp) && echo x > $f && rm $f", 0, []string{"[exit code 0, "}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f, outside := newZoo(t, 0)
			if strings.HasPrefix(tt.name, "writes") {
				needLandlock(t, f)
			}
			input := in{"command": tt.command}
			if tt.timeout > 0 {
				input["timeout"] = tt.timeout
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			began := time.Now()
			r := f.result(Bash, input)
			if took := time.Since(began); took > most {
				t.Errorf("took %v", took)
			}
			runtime.ReadMemStats(&after)
			if grown := int64(after.HeapSys) - int64(before.HeapSys); grown > 64<<20 {
				t.Errorf("the heap has grown by %d MB", grown>>20)
			}
			text := textOf(r)
			if tt.name != "asks for a password" && r.IsError != tt.isError {
				t.Errorf("error %v: %s", r.IsError, text)
			}
			wants(t, text, tt.wants...)
			if len(text) > 3*spillFrom {
				t.Errorf("%d bytes are left", len(text))
			}
			if _, err := os.Stat(filepath.Join(outside, "new")); err == nil {
				t.Error("it has written outside")
			}
			f.box.commands.Close()
			if mark := "OUT=" + outside; running(t, mark) {
				t.Error("something of it is still alive at the end")
			}
			if got, _ := filepath.Glob(f.dir + "/.flower/spill/.stream-*"); len(got) > 0 {
				t.Errorf("temporary files stay: %v", got)
			}
		})
	}
}

// The next call begins where every call begins, whatever the last one did.
func TestZooLeavesNoState(t *testing.T) {
	f, _ := newZoo(t, 0)
	f.ok(Bash, in{"command": "cd / && export A=1 && umask 0 && ulimit -n 10 && set -e && alias ls=false"})
	wants(t, f.ok(Bash, in{"command": "pwd; echo [$A]; umask; ls >/dev/null && echo fine"}), f.dir+"\n[]\n0022\nfine\n")
}

// The raw bytes are in the file, secrets apart, also one that comes in two pieces.
func TestSpilledBytes(t *testing.T) {
	const secret = "my-very-own-secret-value"
	f, _ := newZoo(t, 0)
	f.box.opts.Redact = func(s string) string { return strings.ReplaceAll(s, secret, "[gone]") }
	got := f.ok(Bash, in{"command": `for i in $(seq 40); do head -c 16383 /dev/zero; printf '\377 my-very-own'; printf -- '-secret-value\r\n'; done; seq 10`})
	_, path, _ := strings.Cut(got, "are in ")
	path, _, _ = strings.Cut(path, ":")
	data, err := os.ReadFile(filepath.Join(f.dir, path))
	if err != nil {
		t.Fatalf("%v in %q", err, got)
	}
	want := strings.Repeat(strings.Repeat("\x00", 16383)+"\xff [gone]\r\n", 40) + "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"
	if string(data) != want {
		t.Errorf("%d bytes, want %d; secrets %d, marks %d", len(data), len(want), strings.Count(string(data), secret), strings.Count(string(data), "[gone]"))
	}
	if info, err := os.Stat(filepath.Join(f.dir, path)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if strings.Contains(got, "my-very") {
		t.Errorf("the secret is in %q", got)
	}
}

// On a kernel without Landlock commands run, and nothing is said that is not true.
func TestZooWithoutLandlock(t *testing.T) {
	f, outside := newZoo(t, -1)
	if f.box.Confined() != sandbox.None {
		t.Errorf("confined %v", f.box.Confined())
	}
	f.ok(Bash, in{"command": "echo x > $OUT/new"})
	if _, err := os.Stat(filepath.Join(outside, "new")); err != nil {
		t.Error(err)
	}
	if got := f.fails(Bash, in{"command": "echo permission denied; exit 1"}); strings.Contains(got, "commands may write only") {
		t.Errorf("got %q", got)
	}
}

// A shell that only reads is held to it by the kernel too, in case its judge is wrong.
func TestReaderIsConfined(t *testing.T) {
	f, _ := newZoo(t, 0)
	needLandlock(t, f)
	f.use(agent.Spec{Tools: []string{Bash}, EphemeralShell: true}, f.env)
	cmd := proc.Command{Script: "echo x > made; echo x > $TMPDIR/made; rm -r .flower; cat /dev/null", Confine: f.box.reader.Start, Dir: f.dir}
	if res, err := f.box.commands.Run(t.Context(), cmd); err != nil || strings.Count(res.Output, "denied") < 2 {
		t.Errorf("got %+v, %v", res, err)
	}
	wants(t, f.ok(Bash, in{"command": "ls -la 2>/dev/null | head -3; echo x >/dev/null"}), "[exit code 0")
}

// Granted directories are open to the file tools and to commands.
func TestGranted(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", filepath.Join(dir, "tmp"))
	granted := filepath.Join(dir, "granted")
	if err := os.Mkdir(granted, 0o755); err != nil {
		t.Fatal(err)
	}
	f := newFixture(t, func(o *Options) { o.Sandbox, o.Granted = &sandbox.Options{}, []string{granted} })
	needLandlock(t, f)
	f.ok(Bash, in{"command": "echo x > " + granted + "/a && ! echo x > " + dir + "/b"})
	f.ok(Write, in{"file_path": granted + "/c", "content": "x"})
	f.denied(Write, in{"file_path": dir + "/d", "content": "x"})
	f.box.commands.Close()
}
