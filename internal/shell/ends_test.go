package shell

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestAcceptedEnds runs every accepted line of the programs that have a language of their own, in a directory of files
// that such lines read, and wants each to come to an end.
func TestAcceptedEnds(t *testing.T) {
	dir := t.TempDir()
	texts := map[string]string{
		"f": "a b a\na=1 \\\nx\n1000000 2\n\n  a\naaaa b\n", "g": "x x x\n", "a": "", "b": "no line feed",
		"package.json": `{"a":[1,2,{"b":null}],"version":"1.2"}`,
	}
	for name, text := range texts {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ran := map[string]int{}
	for _, line := range append(accepted(t), lines(dailyList)...) {
		name, _, _ := strings.Cut(line, " ")
		if !set("sed awk jq printf seq")[name] || !Ephemeral(line) {
			continue
		}
		if _, err := exec.LookPath(name); err != nil {
			continue // the tables judge it; there is nothing to run
		}
		ran[name]++
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		cmd := exec.CommandContext(ctx, "sh", "-c", "ulimit -v 4000000; "+line)
		cmd.Dir = dir
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // what the shell started ends with it
		cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
		_ = cmd.Run() // that it fails is no matter here
		if ctx.Err() != nil {
			t.Errorf("%s did not come to an end", line)
		}
		cancel()
	}
	if ran["sed"] < 50 || ran["printf"] < 3 {
		t.Errorf("only %v lines ran", ran)
	}
}
