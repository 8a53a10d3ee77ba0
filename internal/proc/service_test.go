//go:build unix

package proc

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// said is what a service says on its standard error.
type said struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (s *said) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.Write(b)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.String()
}

func TestServe(t *testing.T) {
	path := []string{"PATH=" + os.Getenv("PATH")}
	for _, test := range []struct {
		name, script string
		tell         string // is sent, and a line is read
		want         string
		words        string
		outcome      string
	}{
		{"answers", `echo hello >&2; while read -r line; do echo "got $line"; done; exit 3`, "one\n", "got one\n", "hello\n", "exit status 3"},
		{"ends by itself", `read -r line; echo "$line"; exit 0`, "bye\n", "bye\n", "", "exit status 0"},
		{"is killed", `read -r line; echo "$line"; kill -9 $$`, "bye\n", "bye\n", "", "SIGKILL"},
		{"stays", `trap '' TERM; read -r line; echo "$line"; while :; do sleep 60; done`, "x\n", "x\n", "", "SIGKILL"},
		{"leaves another", `(trap '' TERM; while :; do sleep 60; done) & read -r line; echo "$line" >&1; read -r line; exit 4`, "x\n", "x\n", "", "exit status 4"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var s Supervisor
			defer s.Close()
			words := &said{}
			v, err := s.Serve(Command{Script: test.script, Env: path}, words)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(v.Input, test.tell); err != nil {
				t.Fatal(err)
			}
			if line, err := bufio.NewReader(v.Output).ReadString('\n'); err != nil || line != test.want {
				t.Errorf("it says %q, %v", line, err)
			}
			pid := v.PID()
			v.End(50*time.Millisecond, nil)
			v.End(time.Hour, nil)
			<-v.Ended()
			if v.Outcome() != test.outcome || words.String() != test.words {
				t.Errorf("it ended with %q and said %q", v.Outcome(), words)
			}
			deadline := time.Now().Add(20 * time.Second) // for the keeper to have asked for every status
			for !errors.Is(syscall.Kill(-pid, 0), syscall.ESRCH) {
				if time.Now().After(deadline) {
					t.Fatal("something is left of its group")
				}
				time.Sleep(pollTime)
			}
		})
	}
}

// Whoever closes the supervisor ends what it serves; afterwards nothing is started.
func TestServeAndClose(t *testing.T) {
	s := Supervisor{Records: t.TempDir()}
	v, err := s.Serve(Command{Argv: []string{"cat"}, Env: []string{"PATH=" + os.Getenv("PATH")}}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	<-v.Ended()
	v.End(time.Hour, nil)
	if _, err := s.Serve(Command{Argv: []string{"cat"}}, io.Discard); !errors.Is(err, ErrClosed) {
		t.Errorf("closed, it says %v", err)
	}
	if left, err := os.ReadDir(s.Records); err != nil || len(left) > 0 {
		t.Errorf("%d records are left, %v", len(left), err)
	}
}

func TestServeNothing(t *testing.T) {
	var s Supervisor
	defer s.Close()
	for name, cmd := range map[string]Command{
		"no such program": {Argv: []string{"/no/such/program"}},
		"a directory":     {Argv: []string{"/"}},
		"no place":        {Argv: []string{"cat"}, Dir: "/no/such/directory"},
		"neither":         {},
		"not confined":    {Argv: []string{"cat"}, Confine: func(func() error) error { return errors.New("not here") }},
	} {
		if _, err := s.Serve(cmd, io.Discard); err == nil || !strings.HasPrefix(err.Error(), "start service: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Hurry takes the grace away.
func TestEndInAHurry(t *testing.T) {
	var s Supervisor
	defer s.Close()
	v, err := s.Serve(Command{Script: `trap '' TERM; echo up; while :; do sleep 60; done`, Env: []string{"PATH=" + os.Getenv("PATH")}}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(v.Output).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	hurry := make(chan struct{})
	close(hurry)
	v.End(time.Hour, hurry) // would not come back
	if v.Outcome() != "SIGKILL" {
		t.Errorf("it ended with %q", v.Outcome())
	}
}
