package tools

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"flower/internal/sandbox"
)

// TestRoughChecks: every check comes to an end, leaves nothing running, and says what it did.
func TestRoughChecks(t *testing.T) {
	b, dir := checkBox(t)
	for _, row := range []struct {
		name, command string
		code          int
		output        string
	}{
		{"a child in the background", "sleep 600 & echo $! >pid; echo started", 0, "which flower has ended"},
		{"one that has left the session", "setsid sleep 600 >/dev/null 2>&1 & echo $! >pid; echo started", 0, "which flower has ended"},
		{"a lot of output", "head -c 200000000 /dev/zero | tr '\\0' x; echo; echo end", 0, "left out"},
		{"bytes that are no text", "printf 'a\\377\\000b'; exit 2", 2, "a"},
		{"a terminal", "test -t 0 || test -t 1", 1, ""},
		{"absent", "cd . && no-such-program", 127, "not found"},
		{"back-ticks", "echo `echo inner`", 0, "inner"},
		{"a file", "echo x >made", 0, ""},
		{"a file outside", "echo x >/etc/made-by-a-check", 1, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			if row.name == "a file outside" && b.Confined() == sandbox.None {
				t.Skip("this kernel confines nothing")
			}
			r := b.Check(t.Context(), row.command)
			if r.ExitCode != row.code || !strings.Contains(r.Output, row.output) || len(r.Output) > 3*keepOfCheck {
				t.Errorf("%d, %v, %d bytes: %s", r.ExitCode, r.Err, len(r.Output), clip(r.Output, 300))
			}
			pid, err := os.ReadFile(filepath.Join(dir, "pid"))
			if err != nil {
				return
			}
			_ = os.Remove(filepath.Join(dir, "pid"))
			for deadline := time.Now().Add(20 * time.Second); ; {
				if !alive(strings.TrimSpace(string(pid))) {
					return
				}
				if time.Now().After(deadline) {
					t.Fatalf("process %s still runs", pid)
				}
				runtime.Gosched()
			}
		})
	}
}

// alive reports whether a process is there and has not ended.
func alive(pid string) bool {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	return err == nil && !strings.Contains(string(stat), ") Z ")
}
