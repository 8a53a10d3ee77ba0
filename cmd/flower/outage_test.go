package main

import (
	"bufio"
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"flower/modeltest"
)

// TestOutage starts flower while nobody listens where the endpoint should be.
func TestOutage(t *testing.T) {
	for name, tt := range map[string]struct {
		then func(t *testing.T, address string, p *os.Process) // when it has said that it waits
		code int
		said []string // on the error stream, in order
		out  string
	}{
		"the endpoint comes up": {
			then: func(t *testing.T, address string, _ *os.Process) {
				server, err := modeltest.New(modeltest.Options{Addr: address, Player: modeltest.Say("There I am.")})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(server.Close)
			},
			code: 0, said: []string{"! no network: ", "+ the network is back after "}, out: "There I am.\n",
		},
		"Ctrl-C while it waits": {
			then: func(t *testing.T, _ string, p *os.Process) {
				if err := p.Signal(syscall.SIGINT); err != nil {
					t.Error(err)
				}
			},
			code: 130, said: []string{"! no network: "},
		},
		"a hangup while it waits": {
			then: func(t *testing.T, _ string, p *os.Process) {
				if err := p.Signal(syscall.SIGHUP); err != nil {
					t.Error(err)
				}
			},
			code: 129, said: []string{"! no network: "},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := unused(t)
			work := t.TempDir()
			executable, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(executable)
			cmd.Args = []string{"flower", "--lang", "en", "once", "--max-offline", "0", "are you there?"}
			cmd.Dir = work
			cmd.Env = []string{
				"PATH=" + os.Getenv("PATH"), "WORK=" + work, "HOME=" + filepath.Join(work, "home"), "NO_PROXY=127.0.0.1",
				"ANTHROPIC_BASE_URL=http://" + address, "ANTHROPIC_API_KEY=" + modeltest.DefaultKey,
			}
			var out bytes.Buffer
			cmd.Stdout = &out
			stderr, err := cmd.StderrPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			watchdog := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
			defer watchdog.Stop()
			var said []string
			for lines := bufio.NewScanner(stderr); lines.Scan(); {
				said = append(said, lines.Text())
				if len(said) == 1 {
					tt.then(t, address, cmd.Process)
				}
			}
			_ = cmd.Wait() // how it ended stands in ProcessState
			if code := cmd.ProcessState.ExitCode(); code != tt.code || out.String() != tt.out {
				t.Errorf("exit code %d and %q, want %d and %q", code, &out, tt.code, tt.out)
			}
			all := strings.Join(said, "\n")
			rest := all
			for _, want := range tt.said {
				_, after, found := strings.Cut(rest, want)
				if !found {
					t.Errorf("%q is not among what was said, or not in order:\n%s", want, all)
				}
				rest = after
			}
			if n := strings.Count(all, "no network"); n != 1 {
				t.Errorf("said %d times that there is no network:\n%s", n, all)
			}
		})
	}
}

// unused is an address of this machine where nobody listens.
func unused(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}
