package main_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"flower"
	"flower/agent"
	"flower/internal/failpoint"
	"flower/modeltest"
	"flower/sqlite"
	"flower/transcript"
)

// The job of the sweep is the one of TestKill. While the coordinator works somebody says remark into the inbox; when the
// job is done it is woken with woken.
const (
	remark = "Let them be blue."
	woken  = "Let them be bold as well."
)

// sweepPoints are the fail points that a run of the job must pass, so that none gets lost unnoticed.
var sweepPoints = func() (all []string) {
	for _, written := range []string{
		"migrate", "prefix", "append", "begin", "note", "delivered", "answer",
		"lineage.json", "manifest.json", "需求.md", "目标.md", "问答记录.md", "INDEX.md", "move",
	} {
		all = append(all, written+".before", written+".inside", written+".after")
	}
	return append(all, "lease.before", "lease.after", "lease.released")
}()

// TestSweep kills the job at every fail point, starts it again, and looks at what is left. The points lie before, inside
// and after every write on which going on depends. Of the points that are hit again and again it takes the first hit and
// one in the middle, but every one before an entry is written and around the beginning of a call with effects; with
// FLOWER_SWEEP=all it takes every hit of all.
func TestSweep(t *testing.T) {
	binary := buildFailing(t)
	first, second := countHits(t, binary)
	for _, name := range sweepPoints {
		if first[name]+second[name] == 0 {
			t.Errorf("no run passes the point %s", name)
		}
	}
	jobs := 0
	t.Cleanup(func() { t.Logf("%d jobs, each killed once", jobs) })
	for _, phase := range []struct {
		name   string
		hits   map[string]int
		wakens bool
	}{{"first", first, false}, {"woken", second, true}} {
		for _, name := range slices.Sorted(mapKeys(phase.hits)) {
			for _, hit := range chosen(name, phase.hits[name], phase.wakens) {
				jobs++
				t.Run(fmt.Sprintf("%s/%s/%d", phase.name, name, hit), func(t *testing.T) {
					t.Parallel()
					newSweep(t, binary).killAt(fmt.Sprintf("%s:%d", name, hit), phase.wakens, hit == 1)
				})
			}
		}
	}
}

// chosen are the hits at which the program is killed, of a number of them.
func chosen(name string, hits int, wakens bool) []int {
	every := os.Getenv("FLOWER_SWEEP") == "all" || name == "append.before" && !wakens || strings.HasPrefix(name, "begin.")
	var list []int
	for n := 1; n <= hits; n++ {
		if every || n == 1 || n == (hits+1)/2 && !wakens {
			list = append(list, n)
		}
	}
	return list
}

func mapKeys(m map[string]int) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// countHits runs the job, and wakes it once, without a kill.
func countHits(t *testing.T, binary string) (first, second map[string]int) {
	s := newSweep(t, binary)
	count := func(ask string) map[string]int {
		log := filepath.Join(t.TempDir(), "hits")
		s.env = []string{failpoint.EnvLog + "=" + log}
		if s.live(ask) {
			t.Fatalf("a run without a fail point was killed:\n%s", s.printed())
		}
		data, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		hits := map[string]int{}
		for name := range strings.FieldsSeq(string(data)) {
			hits[name]++
		}
		return hits
	}
	first, second = count("make some marks"), count(woken)
	s.checkSweep(nil)
	return first, second
}

// sweep is one job that is killed.
type sweep struct {
	*kill
	said sync.Once
	told []string // remarks that were acknowledged; of the goroutine that speaks, read when everything has ended
}

func newSweep(t *testing.T, binary string) *sweep {
	s := &sweep{kill: newKill(t, binary, "", "")}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.armed = false
	s.seen = func(r *modeltest.Request) {
		if r.Role() == modeltest.Coordinator && r.Answers() == 1 {
			s.said.Do(s.say)
		}
	}
	return s
}

func (s *sweep) open() *sqlite.Store {
	store, err := sqlite.Open(s.Context(), filepath.Join(s.dir, "runs", "sessions.db"), sqlite.Options{Workspace: s.dir})
	if err != nil {
		s.Fatalf("open the store: %v", err)
	}
	return store
}

// say puts a remark into the inbox from outside, as a second flower in the directory does. It returns when the remark
// is durable.
func (s *sweep) say() {
	store, err := sqlite.Open(context.Background(), filepath.Join(s.dir, "runs", "sessions.db"), sqlite.Options{Workspace: s.dir})
	if err != nil {
		s.Errorf("open the store beside: %v", err)
		return
	}
	defer func() { _ = store.Close() }()
	note := agent.Note{ID: uuid.NewString(), Text: remark, At: time.Now()}
	if err := store.AddNote(context.Background(), flower.ProjectKey(s.dir), note); err != nil {
		s.Errorf("say a remark: %v", err)
		return
	}
	s.mu.Lock()
	s.told = append(s.told, remark)
	s.mu.Unlock()
}

// live runs one process to its end and says whether that was a kill.
func (s *sweep) live(ask string, flags ...string) (killed bool) {
	words := flags
	if ask != "" {
		words = append(words, ask)
	}
	cmd, stdin, out := s.start(words...)
	if ask == "" {
		_, _ = fmt.Fprintln(stdin) // no remark; killed perhaps before it reads
	}
	s.converse(out, stdin)
	err := cmd.Wait()
	_ = stdin.Close()
	if err == nil {
		return false
	}
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
		s.Fatalf("a process ended with %v\n%s", err, s.printed())
	}
	return true
}

// killAt kills the job, or the one woken after it, at a point, and then lets it come to its end.
func (s *sweep) killAt(point string, wakens, must bool) {
	ask := "make some marks"
	if wakens {
		s.live(ask)
		ask = woken
	}
	s.env = []string{failpoint.Env + "=" + point}
	killed := s.live(ask)
	if must && !killed {
		s.Errorf("the point was not reached")
	}
	s.env = nil
	var ids []map[string]string
	answered := s.answered()
	asked := map[string]int{question1: s.asked[question1], question2: s.asked[question2]}
	if killed {
		if wakens && s.knows(woken) {
			s.told = append(s.told, woken)
		}
		if s.begun() {
			ask = ""
			ids = append(ids, s.lineage())
		}
		s.live(ask)
	} else if wakens {
		s.told = append(s.told, woken)
	}
	for q, n := range asked {
		if answered[q] && s.asked[q] != n {
			s.Errorf("%q was asked again after its answer was written down", q)
		}
	}
	s.checkSweep(ids)
}

// answered are the questions whose answer is in the log.
func (s *sweep) answered() map[string]bool {
	log, _ := os.ReadFile(filepath.Join(s.dir, ".flower", "notes", "问答记录.md")) // not there yet perhaps
	return map[string]bool{question1: strings.Contains(string(log), question1), question2: strings.Contains(string(log), question2)}
}

// knows says whether the store has a remark, delivered or not.
func (s *sweep) knows(text string) bool {
	store := s.open()
	defer func() { _ = store.Close() }()
	notes, err := store.PendingNotes(s.Context(), flower.ProjectKey(s.dir))
	if err != nil {
		s.Fatal(err)
	}
	return slices.ContainsFunc(notes, func(n agent.Note) bool { return n.Text == text }) || s.delivered(store, text) > 0
}

// delivered counts how often a remark stands in the conversations, as words of the person.
func (s *sweep) delivered(store *sqlite.Store, text string) (n int) {
	project := flower.ProjectKey(s.dir)
	sessions, err := store.Sessions(s.Context(), project)
	if err != nil {
		s.Fatal(err)
	}
	for _, info := range sessions {
		lines, err := store.Load(s.Context(), agent.Key{Project: project, Session: info.ID})
		if err != nil {
			s.Fatal(err)
		}
		entries, damaged := transcript.ParseHistory(lines)
		if damaged > 0 {
			s.Errorf("session %s: %d entries cannot be read", info.ID, damaged)
		}
		for _, e := range entries {
			if e.Type == transcript.RoleUser && e.Message != nil {
				for _, b := range e.Message.Content {
					if b.Type == transcript.TypeText && strings.HasPrefix(b.Text, "The person says (") && strings.Contains(b.Text, text) {
						n++
					}
				}
			}
		}
	}
	return n
}

// checkSweep checks what holds wherever the process was killed. That no request was refused the server says itself.
func (s *sweep) checkSweep(ids []map[string]string) {
	s.checkLoosely(ids)
	if rows, err := flower.ReadManifest(filepath.Join(s.dir, "runs")); err != nil || len(rows) == 0 || rows[len(rows)-1].Verdict != "achieved" {
		s.Errorf("manifest: %v, %+v", err, rows)
	}
	store := s.open()
	defer func() {
		if err := store.Close(); err != nil {
			s.Error(err)
		}
	}()
	if err := store.Check(s.Context()); err != nil {
		s.Error(err)
	}
	if notes, err := store.PendingNotes(s.Context(), flower.ProjectKey(s.dir)); err != nil || len(notes) > 0 {
		s.Errorf("%d remarks wait, %v", len(notes), err)
	}
	for _, text := range []string{remark, woken} {
		n := s.delivered(store, text)
		if acknowledged := slices.Contains(s.told, text); n > 1 || acknowledged && n != 1 {
			s.Errorf("%q (acknowledged: %v) was delivered %d times", text, acknowledged, n)
		}
	}
	if s.Failed() {
		s.Logf("printed:\n%s", s.printed())
	}
}

// TestKillWhileArchiving kills a process that puts a finished job aside to begin a new one. Then it is asked for the new
// one again, or flower is simply started: nothing is half there. Either nothing was put aside and the old job goes on, or
// every file of it is in the archive and there is nothing to go on with.
func TestKillWhileArchiving(t *testing.T) {
	binary := buildFailing(t)
	for _, point := range []string{
		"archiving.json.before:1", "archiving.json.inside:1", "archiving.json.after:1",
		"move.before:1", "move.inside:1", "move.inside:2", "move.inside:3", "move.after:1",
	} {
		for _, again := range []string{"--new", "bare"} {
			t.Run(point+"/"+again, func(t *testing.T) {
				t.Parallel()
				s := newSweep(t, binary)
				s.live("make some marks")
				before := s.lineage()
				s.env = []string{failpoint.Env + "=" + point}
				if !s.live("make some marks", "--new") {
					t.Error("the point was not reached")
				}
				s.env = nil
				begun := point != "archiving.json.before:1" && point != "archiving.json.inside:1"
				runs := filepath.Join(s.dir, "runs")
				if wake := flower.WakeState(s.dir, runs); wake.Waking == begun || (len(wake.Steps) == 0) != begun || (wake.Goal == "") != begun {
					t.Errorf("half there: %+v", wake)
				}
				var flags []string
				if again == "--new" {
					flags = append(flags, "--new")
				}
				if ask := "make some marks"; begun || again == "--new" {
					if err := os.Remove(filepath.Join(s.dir, "marks.txt")); err != nil {
						t.Fatal(err)
					}
					s.live(ask, flags...)
				} else {
					s.live("")
				}
				s.checkArchived(before, begun || again == "--new")
			})
		}
	}
}

// checkArchived checks that an old job was put aside as a whole and a new one done, or that the old one has gone on.
func (s *sweep) checkArchived(before map[string]string, aside bool) {
	want := 0
	if aside {
		want = 1
	}
	for _, name := range []string{"需求.md", "目标.md", "lineage.json"} {
		if kept, err := filepath.Glob(filepath.Join(s.dir, ".flower/notes/archive/*", name)); err != nil || len(kept) != want {
			s.Errorf("archive has of %s: %q, %v", name, kept, err)
		}
	}
	for step, id := range s.lineage() {
		if (before[step] == id) == aside {
			s.Errorf("step %s had session %s and has %s", step, before[step], id)
		}
	}
	runs := filepath.Join(s.dir, "runs")
	if rows, err := flower.ReadManifest(runs); err != nil || len(rows) == 0 || rows[len(rows)-1].Verdict != "achieved" {
		s.Errorf("manifest: %v, %+v", err, rows)
	}
	if left, err := filepath.Glob(filepath.Join(runs, "archiving.json*")); err != nil || len(left) > 0 {
		s.Errorf("left %q, %v", left, err)
	}
	store := s.open()
	defer func() { _ = store.Close() }()
	if n := s.delivered(store, remark); n != 1 {
		s.Errorf("the remark was delivered %d times", n)
	}
	if err := store.Check(s.Context()); err != nil {
		s.Error(err)
	}
	if s.Failed() {
		s.Logf("printed:\n%s", s.printed())
	}
}
