package sqlite

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"flower/agent"
	"flower/internal/storetest"
)

// The environment that makes the test binary a process that appends to a store: to the session "shared" and to one of
// its own, and says each entry's uuid once the store has acknowledged it.
const (
	childPath  = "FLOWER_TEST_STORE"
	childName  = "FLOWER_TEST_NAME"
	childCount = "FLOWER_TEST_COUNT"
)

var shared = agent.Key{Project: "p", Session: "shared"}

func childMain() int {
	if err := child(os.Getenv(childPath), os.Getenv(childName), os.Getenv(childCount)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func child(path, name, count string) error {
	ctx := context.Background()
	n, err := strconv.Atoi(count)
	if err != nil {
		return err
	}
	s, err := Open(ctx, path, Options{Workspace: "/w"})
	if err != nil {
		return err
	}
	own := agent.Key{Project: "p", Session: name}
	for i := range n {
		e := storetest.Entry(fmt.Sprintf("%s-%d", name, i), strings.Repeat("text ", i%400))
		both := storetest.Entry("both", "every process says this")
		if err := errors.Join(s.Append(ctx, own, e), s.Append(ctx, shared, e, both)); err != nil {
			return err
		}
		fmt.Println(e.UUID)
	}
	return s.Close()
}

func childCommand(path, name string, count int) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childPath+"="+path, childName+"="+name, childCount+"="+strconv.Itoa(count))
	cmd.Stderr = os.Stderr
	return cmd
}

// TestManyProcesses: processes that make the file together and write to it together lose and repeat nothing.
func TestManyProcesses(t *testing.T) {
	const processes, each = 6, 30
	path := filepath.Join(t.TempDir(), "runs", "sessions.db")
	var running []*exec.Cmd
	for p := range processes {
		cmd := childCommand(path, fmt.Sprint("child", p), each)
		noErr(t, cmd.Start())
		running = append(running, cmd)
	}
	for _, cmd := range running {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	s := openAt(t, path, "/w")
	defer func() { noErr(t, s.Close()) }()
	for p := range processes {
		var want []string
		for i := range each {
			want = append(want, fmt.Sprintf("child%d-%d", p, i))
		}
		own := loadIDs(t, s, agent.Key{Project: "p", Session: fmt.Sprint("child", p)})
		if !slices.Equal(own, want) {
			t.Errorf("process %d stored %q", p, own)
		}
		all := slices.DeleteFunc(loadIDs(t, s, shared), func(id string) bool {
			return !strings.HasPrefix(id, fmt.Sprintf("child%d-", p))
		})
		if !slices.Equal(all, want) {
			t.Errorf("of process %d the shared session has %q", p, all)
		}
	}
	if n := len(loadIDs(t, s, shared)); n != processes*each+1 {
		t.Errorf("the shared session has %d entries, want %d", n, processes*each+1)
	}
	wantSound(t, s)
}

// TestKill: a process killed at any instant leaves a sound file with everything it was told is stored.
func TestKill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs", "sessions.db")
	for round, after := range []int{1, 7, 40, 90} {
		name := fmt.Sprint("victim", round)
		cmd := childCommand(path, name, 1_000_000)
		out, err := cmd.StdoutPipe()
		noErr(t, err)
		noErr(t, cmd.Start())
		var told []string
		for lines := bufio.NewScanner(out); lines.Scan(); {
			told = append(told, lines.Text())
			if len(told) == after {
				noErr(t, cmd.Process.Kill())
			}
		}
		if err := cmd.Wait(); cmd.ProcessState.Success() {
			t.Fatalf("the process was not killed: %v", err)
		}
		if len(told) < after {
			t.Fatalf("the process ended by itself after %d entries", len(told))
		}
		s := openAt(t, path, "/w")
		own := loadIDs(t, s, agent.Key{Project: "p", Session: name})
		if len(own) < len(told) || !slices.Equal(own[:len(told)], told) {
			t.Errorf("told %q, stored %q", told, own)
		}
		if len(own) > len(told)+1 {
			t.Errorf("%d entries more than acknowledged", len(own)-len(told))
		}
		wantSound(t, s)
		noErr(t, s.Close())
	}
}

func loadIDs(t *testing.T, s *Store, key agent.Key) []string {
	t.Helper()
	stored, err := s.Load(context.Background(), key)
	noErr(t, err)
	return storetest.UUIDs(t, stored)
}

// wantSound checks the file and that every session's numbers are consecutive.
func wantSound(t *testing.T, s *Store) {
	t.Helper()
	var sound string
	noErr(t, s.reader.QueryRow(`PRAGMA integrity_check`).Scan(&sound))
	if sound != "ok" {
		t.Errorf("integrity check: %s", sound)
	}
	var gaps int
	noErr(t, s.reader.QueryRow(`
		SELECT count(*) FROM (
			SELECT store_key, count(*) n, min(seq) low, max(seq) high FROM entries GROUP BY store_key
		) e LEFT JOIN meta m USING (store_key)
		WHERE e.low <> 0 OR e.high <> e.n - 1 OR m.next_seq IS NOT e.n`).Scan(&gaps))
	if gaps != 0 {
		t.Errorf("%d sessions with gaps in their numbers", gaps)
	}
}
