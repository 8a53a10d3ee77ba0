package main_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"flower/modeltest"
)

// TestServersEnd ends the program in every way while a call of an MCP server is on its way that minds neither SIGTERM nor the
// end of its input, and has started a program of another session: nothing of it stays.
func TestServersEnd(t *testing.T) {
	binary := build(t)
	for _, row := range []struct {
		name string
		end  func(t *testing.T, run *serverRun)
	}{
		{"interrupt", func(t *testing.T, run *serverRun) { run.signal(t, syscall.SIGINT) }},
		{"terminate", func(t *testing.T, run *serverRun) { run.signal(t, syscall.SIGTERM) }},
		{"kill", func(t *testing.T, run *serverRun) { run.signal(t, syscall.SIGKILL) }},
		{"kill, with the keeper", func(t *testing.T, run *serverRun) {
			keeper := parent(t, run.pids[0])
			run.signal(t, syscall.SIGSTOP) // or it would clean up
			for _, pid := range []int{keeper, run.cmd.Process.Pid} {
				if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
			}
			_ = run.cmd.Wait()
			if !living(run.pids[0]) && !living(run.pids[1]) {
				t.Error("nothing is left for the next start")
			}
			if out, err := run.start("which? {}").CombinedOutput(); err != nil || !bytes.Contains(out, []byte("left behind")) {
				t.Errorf("the next start: %v\n%s", err, out)
			}
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			run := startServer(t, binary)
			row.end(t, run)
			_ = run.cmd.Wait()
			deadline := time.Now().Add(30 * time.Second)
			for _, pid := range run.pids {
				for living(pid) {
					if time.Now().After(deadline) {
						t.Fatalf("%d is alive", pid)
					}
					time.Sleep(10 * time.Millisecond)
				}
			}
		})
	}
}

// serverRun is a run whose server is in a call.
type serverRun struct {
	dir, binary string
	url         string
	cmd         *exec.Cmd
	pids        []int // of the server, and of what it has started
}

func startServer(t *testing.T, binary string) *serverRun {
	t.Helper()
	run := &serverRun{dir: t.TempDir(), binary: binary}
	server := modeltest.Start(t, modeltest.Options{Player: modeltest.PlayerFunc(func(r *modeltest.Request) modeltest.Reply {
		if strings.HasPrefix(r.Prompt(), "hang") && len(r.Results()) == 0 {
			return modeltest.Answer(modeltest.Call("mcp__srv__hang", nil))
		}
		return modeltest.Say("done")
	})})
	run.url = server.URL
	pids := filepath.Join(run.dir, "pids")
	config := fmt.Sprintf(`{"mcpServers":{"srv":{"command":"mcpserver","args":["litter"],"env":{"PIDS":%q}}}}`, pids)
	if err := os.WriteFile(filepath.Join(run.dir, "mcp.json"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	run.cmd = run.start("hang {}")
	var out bytes.Buffer
	run.cmd.Stdout, run.cmd.Stderr = &out, &out
	if err := run.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = run.cmd.Process.Kill()
		for _, pid := range run.pids {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	deadline := time.Now().Add(30 * time.Second)
	for len(server.Requests()) == 0 || !server.Requests()[0].Ended {
		if time.Now().After(deadline) {
			t.Fatalf("no call:\n%s", out.String())
		}
		time.Sleep(5 * time.Millisecond)
	}
	data, err := os.ReadFile(pids)
	if err != nil {
		t.Fatal(err)
	}
	var a, b int
	if _, err := fmt.Sscan(string(data), &a, &b); err != nil {
		t.Fatal(err)
	}
	run.pids = []int{a, b}
	return run
}

func (r *serverRun) start(ask string) *exec.Cmd {
	cmd := exec.Command(r.binary, "once", "-p", "bypassPermissions", "-t", "mcp__srv", "--mcp", "mcp.json", ask)
	cmd.Dir = r.dir
	cmd.Env = []string{"HOME=" + r.dir, "PATH=" + os.Getenv("PATH"), "LANG=C", "ANTHROPIC_API_KEY=" + modeltest.DefaultKey, "ANTHROPIC_BASE_URL=" + r.url}
	return cmd
}

func (r *serverRun) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := r.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// living says whether a process is there and no zombie.
func living(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if errors.Is(err, os.ErrNotExist) || err != nil {
		return false
	}
	state := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])[0]
	return state[0] != 'Z'
}

// parent is the process that has started another.
func parent(t *testing.T, pid int) (ppid int) {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscan(string(bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])[1]), &ppid); err != nil {
		t.Fatal(err)
	}
	return ppid
}
