package tools

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
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
		{"one long line without an end", "yes xxxxxxx | tr -d '\\n'", 1000, []string{"[long result: ", "stopped: the timeout of 1s was over]"}, true},
		{"bad bytes", `printf 'a\377\376\0b\033[31mred\r\n'`, 0, []string{"a\uFFFDb\x1b[31mred\r\n[exit code 0, "}, false},
		{"nothing but bad bytes", "head -c 300000 /dev/urandom", 0, []string{"[long result: all 300000 bytes are in ", "[exit code 0, "}, false},
		{"ignores SIGTERM", "trap '' TERM; echo begun; sleep 600; sleep 600", 1000, []string{"begun\n[exit code 137, ended by SIGKILL, ", "was over]"}, true},
		{"stops itself", "kill -STOP $$", 1000, []string{"[exit code 143, ended by SIGTERM, ", "was over]"}, true},
		{"kills its group", "echo begun; kill 0", 0, []string{"begun\n[exit code 143, ended by SIGTERM, "}, true},
		{"kills its parent", "echo begun; kill -KILL $PPID; sleep 600", 0, []string{"begun\n[exit code unknown, ", "it ended the process that watches over it"}, true},
		{"stops its parent", "echo begun; while :; do kill -STOP $PPID; sleep 0.05; done", 1500, []string{"begun\n[exit code 143, ended by SIGTERM, ", "the timeout of 1.5s was over, it had stopped the process that watches over it"}, true},
		{"closes its output", "exec >&- 2>&-; sleep 600", 1000, []string{"[exit code 143, ended by SIGTERM, "}, true},
		{"changes the directory", "cd / && pwd", 0, []string{"/\n[exit code 0, "}, false},
		{"goes up and writes", "cd .. && pwd && echo x > new", 0, []string{"Permission denied", "[exit code 1, "}, true},
		{"goes out through a link and writes", "ln -s $OUT l && cd l && echo x > new", 0, []string{"Permission denied", "[exit code 1, "}, true},
		{"removes its directory", "mkdir d && cd d && rmdir ../d && pwd -P; true", 0, []string{"[exit code 0, "}, false},
		{"floods both streams", "yes out & yes err >&2 & sleep 0.3; kill %1 %2", 0, []string{"[long result: "}, false},
		{"writes outside", "echo x > $OUT/new", 0, []string{"Permission denied", "[commands may write only in the workspace", "--allow-write]\n[exit code 1, "}, true},
		{"writes to the books", "echo x > $OUT/commands/x", 0, []string{"Permission denied", "[exit code 1, "}, true},
		{"writes temporary files", "f=$(mktemp) && echo x > $f && rm $f", 0, []string{"[exit code 0, "}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f, outside := newZoo(t, 0)
			if strings.Contains(tt.name, "writes") {
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
			for _, dir := range []string{outside, filepath.Dir(f.dir)} {
				if _, err := os.Stat(filepath.Join(dir, "new")); err == nil {
					t.Error("it has written outside")
				}
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

// peak begins to measure the memory of this process; what it returns says by how many bytes it has grown at most since.
func peak(t *testing.T) (grown func() int64) {
	t.Helper()
	runtime.GC()
	const resetPeak = "5" // proc(5)
	if err := os.WriteFile("/proc/self/clear_refs", []byte(resetPeak), 0); err != nil {
		t.Skipf("the peak of memory cannot be measured here: %v", err)
	}
	figure := func(name string) (kB int64) {
		status, err := os.ReadFile("/proc/self/status")
		_, rest, found := strings.Cut(string(status), name+":")
		if _, scanErr := fmt.Sscan(rest, &kB); err != nil || !found || scanErr != nil {
			t.Fatalf("no %s: %v, %v", name, err, scanErr)
		}
		return kB << 10
	}
	before := figure("VmRSS")
	return func() int64 { return figure("VmHWM") - before }
}

// Two gigabytes of output: counted to the byte, the beginning and the end kept, a bounded file, and little memory.
func TestZooMuchOutput(t *testing.T) {
	const most = 2 << 30
	f, _ := newZoo(t, 0)
	grown := peak(t)
	got := f.ok(Bash, in{"command": "echo the beginning; yes 0123456789abcde | head -c 2147483648; echo; echo the end", "timeout": 600_000})
	if n := grown(); n > 48<<20 {
		t.Errorf("flower has grown by %d MB", n>>20)
	}
	const all = most + int64(len("the beginning\n\nthe end\n"))
	wants(t, got, fmt.Sprintf("[long result: the first 64 MiB of %d bytes are in .flower/spill/", all), "\nthe beginning\n0123456789abcde\n0", "abcde\n\nthe end\n[exit code 0, ")
	if len(got) > 2*spillFrom {
		t.Errorf("%d bytes stay in the conversation", len(got))
	}
	spilled, err := filepath.Glob(f.dir + "/.flower/spill/*.txt")
	if err != nil || len(spilled) != 1 {
		t.Fatalf("spilled %v, %v", spilled, err)
	}
	if info, err := os.Stat(spilled[0]); err != nil || info.Size() != proc.DefaultSpillCap {
		t.Errorf("the file has %d bytes, %v", info.Size(), err)
	}
}

// Fork bombs, as wide as they may be here: when the time is over nothing of them is left, those that ignore SIGTERM and
// those in sessions of their own included, and meanwhile other commands run.
func TestZooForkBomb(t *testing.T) {
	for name, command := range map[string]string{
		"one group":      "f() { [ $1 -gt 0 ] && { f $(($1-1)) & f $(($1-1)) & }; sleep $MARK; }; f 8",
		"deaf":           "trap '' TERM; f() { [ $1 -gt 0 ] && { f $(($1-1)) & f $(($1-1)) & }; sleep $MARK; }; f 7",
		"own sessions":   `f() { [ $1 -gt 0 ] && for i in 1 2; do setsid bash -c "$(declare -f f); f $(($1-1))" & done; sleep $MARK; }; f 6`,
		"without a name": `f() { [ $1 -gt 0 ] && for i in 1 2; do (env -i PATH="$PATH" setsid bash -c "$(declare -f f); f $(($1-1))" &) ; done; sleep $MARK; }; f 6`,
	} {
		t.Run(name, func(t *testing.T) {
			f, _ := newZoo(t, 0)
			ran := make(chan string, 1)
			go func() { ran <- textOf(f.result(Bash, in{"command": "sleep 1; echo still here"})) }()
			mark := fmt.Sprintf("600.%d", time.Now().UnixNano()) // seconds; nobody else sleeps as long
			got := f.fails(Bash, in{"command": strings.ReplaceAll(command, "$MARK", mark), "timeout": 2000})
			wants(t, got, "stopped: the timeout of 2s was over]")
			wants(t, <-ran, "still here\n[exit code 0, ")
			if strings.Contains(got, "may still run") {
				t.Errorf("got %s", got)
			}
			if running(t, mark) {
				t.Error("something of it is still alive")
			}
		})
	}
}

// A server that a call has left running is there for later calls, can be ended by one, and ends with the run.
func TestZooServer(t *testing.T) {
	f, outside := newZoo(t, 0)
	for _, start := range []string{"sleep 600 >/dev/null 2>&1 &", "nohup sleep 600 >/dev/null 2>&1 &", "setsid sleep 600 >log 2>&1 &"} {
		got := f.ok(Bash, in{"command": start})
		_, rest, _ := strings.Cut(got, "1 process still running in the background: ")
		var pid int
		if _, err := fmt.Sscanf(rest, "%d (", &pid); err != nil {
			t.Fatalf("%v in %q", err, got)
		}
		f.ok(Bash, in{"command": fmt.Sprintf("kill -0 %d", pid)})
		if strings.HasPrefix(start, "nohup") {
			f.ok(Bash, in{"command": fmt.Sprintf("kill %d; while kill -0 %[1]d 2>/dev/null; do sleep 0.01; done", pid)})
		}
	}
	f.box.commands.Close()
	if running(t, "OUT="+outside) {
		t.Error("a server is alive after the end")
	}
}

// A workspace that is gone, or has become something else, is said; nothing runs elsewhere instead.
func TestZooWorkspaceIsGone(t *testing.T) {
	f, outside := newZoo(t, 0)
	if err := os.RemoveAll(f.dir); err != nil {
		t.Fatal(err)
	}
	wants(t, f.fails(Bash, in{"command": "pwd"}), "Nothing was run: ", f.dir)
	if err := os.WriteFile(f.dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	wants(t, f.fails(Bash, in{"command": "pwd"}), "Nothing was run: ", f.dir, "not a directory")
	if err := os.Remove(f.dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, f.dir); err != nil {
		t.Fatal(err)
	}
	if f.box.Confined() == sandbox.Full {
		wants(t, f.fails(Bash, in{"command": "echo x > new"}), "[exit code 1")
		if _, err := os.Stat(filepath.Join(outside, "new")); err == nil {
			t.Error("it has written where a link in place of the workspace leads")
		}
	}
}

// Calls at the same time share nothing.
func TestZooAtOnce(t *testing.T) {
	f, _ := newZoo(t, 0)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			dir := fmt.Sprintf("d%d", i)
			got := textOf(f.result(Bash, in{"command": fmt.Sprintf("mkdir %[1]s && cd %[1]s && export A=%[1]s && for i in 1 2 3 4 5; do sleep 0.02; echo $A $(basename $PWD); done", dir)}))
			if want := strings.Repeat(dir+" "+dir+"\n", 5) + "[exit code 0, "; !strings.HasPrefix(got, want) {
				t.Errorf("got %q", got)
			}
		})
	}
	all.Wait()
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
