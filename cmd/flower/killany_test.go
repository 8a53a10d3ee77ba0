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

// killsEach is how often TestKillAnywhere kills with one seed.
const killsEach = 5

// instants is how many kills there are at least; FLOWER_KILLS asks for more by hand. Under the race detector, which slows
// the endpoint and not the program, there are fewer.
func instants(t *testing.T) int {
	asked := os.Getenv("FLOWER_KILLS")
	switch {
	case asked == "" && raceDetector:
		return 50
	case asked == "":
		return 200
	}
	n, err := strconv.Atoi(asked)
	if err != nil {
		t.Fatalf("FLOWER_KILLS: %v", err)
	}
	return n
}

// TestKillAnywhere kills the job of the sweep, and the one woken after it, with the process group, again and again at
// random instants from a seed that is in the test's name, and lets it come to its end. Where five kills do not fit into
// one job there is another.
func TestKillAnywhere(t *testing.T) {
	binary := build(t)
	var kills, jobs atomic.Int64
	t.Cleanup(func() { t.Logf("%d kills in %d jobs", kills.Load(), jobs.Load()) })
	for seed := range (instants(t) + killsEach - 1) / killsEach {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(uint64(seed), 1))
			for left := killsEach; left > 0 && !t.Failed(); jobs.Add(1) {
				n := newSweep(t, binary).killAnywhere(random, left)
				kills.Add(int64(n))
				left -= n
			}
		})
	}
}

// killAnywhere runs the job and wakes it once, kills it up to so many times, and checks what is left.
func (s *sweep) killAnywhere(random *rand.Rand, most int) (kills int) {
	var ids []map[string]string
	spared := random.IntN(3) == 0 // so that there are kills left for the second time
	for _, words := range []string{"make some marks", woken} {
		for ask, ended := words, false; !ended; {
			answered, asked := s.answered(), map[string]int{question1: s.asked[question1], question2: s.asked[question2]}
			if kills < most && (words == woken || !spared) {
				ended = s.killAfter(time.Duration(3+random.IntN(160))*time.Millisecond, ask)
			} else {
				ended = !s.live(ask)
			}
			for q, n := range asked {
				if answered[q] && s.asked[q] != n {
					s.Errorf("%q was asked again after its answer was written down", q)
				}
			}
			if !ended {
				kills++
			}
			switch {
			case !ended && !s.begun():
			case words != woken:
				ask, ids = "", append(ids, s.lineage())
			case ended || s.knows(woken):
				ask, ids = "", append(ids, s.lineage())
				if !slices.Contains(s.told, woken) {
					s.told = append(s.told, woken)
				}
			}
		}
	}
	s.checkSweep(ids)
	return kills
}

// killAfter runs the program and kills it after a while; it returns true if the job has ended well before that.
func (k *kill) killAfter(d time.Duration, ask string) (ended bool) {
	var words []string
	if ask != "" {
		words = append(words, ask)
	}
	cmd, stdin, out := k.start(words...)
	if ask == "" {
		_, _ = fmt.Fprintln(stdin) // no remark; killed perhaps before it reads
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
