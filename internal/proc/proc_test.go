//go:build unix

package proc

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// soon is a timeout that a command under test is meant to run into.
const soon = 50 * time.Millisecond

// env is what the scripts of these tests need.
var env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"}

func run(t *testing.T, cmd Command) Result {
	t.Helper()
	if cmd.Env == nil {
		cmd.Env = env
	}
	res, err := Run(t.Context(), cmd)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// pidOf ends the process a script printed the id of, after the test. It is no child of ours.
func pidOf(t *testing.T, output string) int {
	t.Helper()
	first, _, _ := strings.Cut(output, "\n")
	pid, err := strconv.Atoi(first)
	if err != nil {
		t.Fatalf("no process id in %q", output)
	}
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	return pid
}

func TestRun(t *testing.T) {
	tests := []struct {
		name   string
		cmd    Command
		output string
		code   int
		signal string
	}{
		{name: "program", cmd: Command{Argv: []string{"printf", "%s|", "a b", "c"}}, output: "a b|c|"},
		{name: "script", cmd: Command{Script: "echo a\necho b"}, output: "a\nb\n"},
		{name: "other shell", cmd: Command{Script: "echo $0", Shell: "sh"}, output: "sh\n"},
		{name: "nothing said", cmd: Command{Script: "true"}},
		{name: "both streams in order", cmd: Command{Script: "echo 1; echo 2 >&2; echo 3"}, output: "1\n2\n3\n"},
		{name: "exit code", cmd: Command{Script: "echo no; exit 7"}, output: "no\n", code: 7},
		{name: "killed", cmd: Command{Script: "kill -KILL $$"}, code: 137, signal: "SIGKILL"},
		{name: "directory", cmd: Command{Script: "pwd", Dir: "/"}, output: "/\n"},
		{name: "environment", cmd: Command{Script: "echo $A", Env: []string{"A=1"}}, output: "1\n"},
		{name: "no input", cmd: Command{Script: "cat; read x; echo $?"}, output: "1\n"},
		{name: "no terminal", cmd: Command{Script: "[ -t 0 ] || [ -t 1 ] || echo none"}, output: "none\n"},
		{name: "own group", cmd: Command{Script: `read -r _ _ _ _ g _ < /proc/$$/stat 2>/dev/null || g=$$; [ "$g" = $$ ] && echo own`}, output: "own\n"},
		{name: "not UTF-8", cmd: Command{Script: `printf 'a\377\376b\0\0c'`}, output: "a\uFFFDb\uFFFDc"},
		{name: "UTF-8", cmd: Command{Script: `printf '文字'`}, output: "文字"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			res := run(t, tt.cmd)
			if res.Output != tt.output || res.ExitCode != tt.code || res.Signal != tt.signal {
				t.Errorf("got %q, %d %q, want %q, %d %q", res.Output, res.ExitCode, res.Signal, tt.output, tt.code, tt.signal)
			}
			if res.TimedOut || res.Canceled || res.Omitted != 0 || len(res.Background) > 0 || res.Duration <= 0 {
				t.Errorf("got %+v", res)
			}
		})
	}
}

func TestRunErrors(t *testing.T) {
	for name, cmd := range map[string]Command{
		"nothing":      {},
		"both":         {Argv: []string{"true"}, Script: "true"},
		"no program":   {Argv: []string{"no-such-program-here"}},
		"no directory": {Argv: []string{"true"}, Dir: "/no/such/directory"},
	} {
		if _, err := Run(t.Context(), cmd); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestStop(t *testing.T) {
	tests := []struct {
		name   string
		script string // where something has to be set up first, it says ready
		output string
		code   int
		signal string
	}{
		{name: "sleeps", script: "echo a; sleep 300", output: "a\n", code: 143, signal: "SIGTERM"},
		{name: "stopped", script: "kill -STOP $$", code: 143, signal: "SIGTERM"},
		{name: "endless output", script: "yes >/dev/null", code: 143, signal: "SIGTERM"},
		{name: "ignores SIGTERM", script: "trap '' TERM; echo ready; sleep 300", output: "ready\n", code: 137, signal: "SIGKILL"},
		{name: "cleans up", script: "trap 'echo bye; exit 3' TERM; echo ready; sleep 300 & wait", output: "ready\nbye\n", code: 3},
		{name: "child ignores SIGTERM", script: "trap 'exit 4' TERM; (trap '' TERM; echo ready; sleep 300) & wait", output: "ready\n", code: 4},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			cmd := Command{Script: tt.script, Env: env, Grace: 4 * soon}
			ready := strings.Contains(tt.script, "ready")
			if ready {
				cmd.Spill = onWrite{cancel}
			} else {
				cmd.Timeout = soon
			}
			res, err := Run(ctx, cmd)
			if err != nil || res.TimedOut == ready || res.Canceled != ready {
				t.Errorf("got %+v, %v", res, err)
			}
			if res.ExitCode != tt.code || res.Signal != tt.signal {
				t.Errorf("got %d %q, want %d %q", res.ExitCode, res.Signal, tt.code, tt.signal)
			}
			// A slow machine may not have come to say anything.
			if res.Output != tt.output && (ready || res.Output != "") {
				t.Errorf("output %q, want %q", res.Output, tt.output)
			}
			if len(res.Background) > 0 {
				t.Errorf("still alive: %v", res.Background)
			}
		})
	}
}

// onWrite calls f at the first write.
type onWrite struct{ f func() }

func (w onWrite) Write(p []byte) (int, error) { w.f(); return len(p), nil }

// TestHurry: a command that ignores SIGTERM has an hour to end, until there is no time.
func TestHurry(t *testing.T) {
	for name, script := range map[string]string{
		"main process": "trap '' TERM; echo ready; sleep 300",
		"child":        "trap 'exit 4' TERM; (trap '' TERM; echo ready; sleep 300) & wait",
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			hurry := make(chan struct{})
			res, err := Run(ctx, Command{
				Script: script, Env: env, Grace: time.Hour, Hurry: hurry,
				Spill: onWrite{sync.OnceFunc(func() { cancel(); close(hurry) })},
			})
			if err != nil || !res.Canceled || len(res.Background) > 0 {
				t.Errorf("got %+v, %v", res, err)
			}
		})
	}
}

func TestCanceledBefore(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	res, err := Run(ctx, Command{Script: "echo ran", Env: env})
	if err != nil || !res.Canceled || res.ExitCode != -1 || res.Output != "" {
		t.Errorf("got %+v, %v", res, err)
	}
}

// A server that goes on logging must not be killed because nobody reads it.
func TestBackgroundOutlivesThePipe(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"go", "done"} {
		if err := syscall.Mkfifo(filepath.Join(dir, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var s Supervisor
	defer s.Close()
	res, err := s.Run(t.Context(), Command{Script: "(read x < go; head -c 300000 /dev/zero; echo $? > done) & echo $!", Dir: dir, Env: env})
	if err != nil {
		t.Fatal(err)
	}
	pidOf(t, res.Output)
	if err := os.WriteFile(filepath.Join(dir, "go"), []byte("x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	status, err := os.ReadFile(filepath.Join(dir, "done"))
	if err != nil || string(status) != "0\n" {
		t.Errorf("writing after the end: status %q, %v", status, err)
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestBigOutput(t *testing.T) {
	const total = 7 * 7_000_000 // whole lines
	cmd := Command{Script: "yes 文字 | head -c 49000000", KeepHead: 1000, KeepTail: 1001}
	var spill bytes.Buffer
	cmd.Spill, cmd.SpillCap = &spill, 100_001
	res := run(t, cmd)
	if res.Total != total || spill.Len() != 100_001 || res.SpillErr != nil {
		t.Errorf("total %d, spilled %d, %v", res.Total, spill.Len(), res.SpillErr)
	}
	head, rest, _ := strings.Cut(res.Output, "\n[… ")
	number, tail, ok := strings.Cut(rest, " bytes left out …]\n")
	if !ok || strings.Contains(res.Output, "\uFFFD") || !strings.HasPrefix(res.Output, "文字\n") {
		t.Fatalf("output %q", res.Output)
	}
	if number != strconv.FormatInt(res.Omitted, 10) || int64(len(head)+len(tail))+res.Omitted != total {
		t.Errorf("%d + %d + %s (%d) is not %d", len(head), len(tail), number, res.Omitted, total)
	}
	cmd.Spill = failing{}
	if res = run(t, cmd); res.SpillErr == nil || res.Total != total {
		t.Errorf("failing spill: %v, total %d", res.SpillErr, res.Total)
	}
}
