package main_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// instants is how many jobs TestKillAnywhere runs; FLOWER_KILLS asks for more by hand.
func instants(t *testing.T) int {
	const few = 25
	asked := os.Getenv("FLOWER_KILLS")
	if asked == "" {
		return few
	}
	n, err := strconv.Atoi(asked)
	if err != nil {
		t.Fatalf("FLOWER_KILLS: %v", err)
	}
	return n
}

// TestKillAnywhere kills the job of the sweep, with its process group, again and again at random instants, from a seed
// that is in the test's name, until it has been killed five times, and then lets it come to its end.
func TestKillAnywhere(t *testing.T) {
	binary := build(t)
	var kills atomic.Int64
	t.Cleanup(func() { t.Logf("%d kills", kills.Load()) })
	for seed := range instants(t) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(uint64(seed), 1))
			k := newSweep(t, binary)
			ask := []string{"make some marks"}
			var ids []map[string]string
			done := false
			for range 5 {
				if done = k.killAfter(time.Duration(20+random.IntN(400))*time.Millisecond, ask); done {
					break
				}
				kills.Add(1)
				if k.begun() {
					ask = nil
					ids = append(ids, k.lineage())
				}
			}
			if !done {
				k.live(strings.Join(ask, ""))
			}
			k.checkSweep(ids)
		})
	}
}

// killAfter runs the program and kills it after a while; it returns true if the job has ended well before that.
func (k *kill) killAfter(d time.Duration, ask []string) (ended bool) {
	cmd, stdin, out := k.start(ask...)
	if ask == nil {
		_, _ = fmt.Fprintln(stdin) // killed perhaps before it reads
	}
	read := make(chan struct{})
	go func() { defer close(read); k.converse(out, stdin) }()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // ended in this very moment perhaps
	case <-read:
	}
	err := cmd.Wait()
	_ = stdin.Close()
	<-read
	if err != nil && cmd.ProcessState.Exited() {
		k.Fatalf("a process that was not killed ended with %v\n%s", err, k.printed())
	}
	return err == nil
}

// begun says whether the first request has got so far that nothing needs to be said again.
func (k *kill) begun() bool {
	_, err := os.Stat(filepath.Join(k.dir, "runs", "lineage.json"))
	return err == nil && len(k.lineage()) > 0
}

// checkLoosely checks what holds wherever the process was killed. A question may be shown again if its answer was on
// the way when the process died; an answer that was taken is never asked for again.
func (k *kill) checkLoosely(ids []map[string]string) {
	after := k.lineage()
	for _, before := range ids {
		for step, id := range before {
			if after[step] != id {
				k.Errorf("step %s went on in %s, not in %s", step, after[step], id)
			}
		}
	}
	lines := strings.Split(strings.TrimSpace(string(k.file("marks.txt"))), "\n")
	slices.Sort(lines)
	if got := strings.Join(lines, ","); got != "mark 1,mark 2,mark 3" {
		k.Errorf("effects: %s", got)
	}
	log := string(k.file(".flower/notes/问答记录.md"))
	for _, q := range []string{question1, question2} {
		if n := strings.Count(log, q); n != 1 {
			k.Errorf("%q is %d times in the log", q, n)
		}
	}
	if k.Failed() {
		k.Logf("printed:\n%s", k.printed())
	}
}
