package main_test

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"flower"
	"flower/agent"
	"flower/internal/disk"
	"flower/modeltest"
	"flower/sqlite"
	"flower/transcript"
)

// TestFullDisk puts the run directory on a small disk and fills it: before the store is there, and in the middle of the job,
// so that an answer cannot be stored or that there is too little room for another request. The run says so, looks can be taken, nothing is asked meanwhile;
// once there is room it goes on and comes to the same end with everything there, once.
func TestFullDisk(t *testing.T) {
	binary := build(t)
	for _, test := range []struct {
		name  string
		begun bool
		left  int64
	}{
		{"before it begins", false, 0},
		{"an answer cannot be stored", true, 0},
		{"too little for a request", true, 8 << 20},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			f := &fullDisk{kill: newKill(t, binary, "", ""), begun: test.begun, left: test.left}
			f.mount()
			if !f.begun {
				f.once.Do(f.fill)
			}
			f.server = modeltest.Start(t, modeltest.Options{Player: modeltest.PlayerFunc(f.play), BindThinking: true})
			f.work()
			f.check(f.lineage())
			f.entries()
			if err := syscall.Mount("", f.runs(), "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
				t.Fatal(err)
			}
			f.look("status")
			f.look("sessions", "list")
		})
	}
}

// fullDisk is the job of the kill tests on a disk that runs full.
type fullDisk struct {
	*kill
	begun bool  // there are sessions when it runs full
	left  int64 // bytes
	once  sync.Once
}

func (f *fullDisk) runs() string    { return filepath.Join(f.dir, "runs") }
func (f *fullDisk) ballast() string { return filepath.Join(f.runs(), "ballast") }

// mount gives the run directory a file system with a little more than what must be free.
func (f *fullDisk) mount() {
	if err := os.Mkdir(f.runs(), 0o700); err != nil {
		f.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", f.runs(), "tmpfs", 0, "size=48m"); err != nil {
		f.Skipf("no file system can be mounted here: %v", err)
	}
	f.Cleanup(func() {
		if err := syscall.Unmount(f.runs(), syscall.MNT_DETACH); err != nil {
			f.Error(err)
		}
	})
}

// play fills the disk while the coordinator's second answer is made.
func (f *fullDisk) play(r *modeltest.Request) modeltest.Reply {
	if r.Role() == modeltest.Coordinator && r.Answers() == 1 {
		f.once.Do(f.fill)
	}
	return f.script().Play(r)
}

func (f *fullDisk) fill() {
	file, err := os.Create(f.ballast())
	if err != nil {
		f.Error(err)
		return
	}
	size := int64(0)
	for err == nil {
		var n int
		n, err = file.Write(make([]byte, 4096))
		size += int64(n)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		f.Error(err)
	}
	if err := errors.Join(file.Truncate(max(0, size-f.left)), file.Close()); err != nil {
		f.Error(err)
	}
}

// work runs the job, looks at it while the disk is full, and then makes room.
func (f *fullDisk) work() {
	cmd, stdin, out := f.start("make some marks")
	f.Cleanup(func() { _ = cmd.Process.Kill() }) // it has ended, unless the test has failed
	full := &sign{words: "no room on the disk of runs", seen: make(chan struct{})}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f.converse(io.TeeReader(out, full), stdin)
	}()
	select {
	case <-full.seen:
	case <-ended:
		f.Fatalf("nothing is said of a full disk:\n%s", f.printed())
	}
	requests := len(f.server.Requests())
	f.look("status")
	f.look("sessions", "list")
	if n := len(f.server.Requests()); n != requests {
		f.Errorf("%d requests were sent on a full disk", n-requests)
	}
	if err := os.Remove(f.ballast()); err != nil {
		f.Fatal(err)
	}
	<-ended
	if err := cmd.Wait(); err != nil {
		f.Fatalf("%v\n%s", err, f.printed())
	}
	if full, again := strings.Count(f.printed(), "no room on the disk"), strings.Count(f.printed(), "there is room again"); full != 1 || again != 1 {
		f.Errorf("said %d times that the disk is full, %d times that there is room:\n%s", full, again, f.printed())
	}
}

// look runs a command that only reads.
func (f *fullDisk) look(args ...string) {
	f.Helper()
	cmd := exec.Command(f.binary, append(args, "-w", f.dir, "-r", f.runs(), "--lang", "en")...)
	cmd.Env = []string{"HOME=" + f.dir}
	out, err := cmd.CombinedOutput()
	id := ""
	if disk.Exists(filepath.Join(f.runs(), "lineage.json")) {
		id = f.lineage()["确认需求"]
	}
	if err != nil || !strings.Contains(string(out), id) {
		f.Errorf("%v: %v, without session %s:\n%s", args, err, id, out)
	}
}

// entries checks that every answer that was given is stored once, in histories that can be sent again.
func (f *fullDisk) entries() {
	ctx := f.Context()
	store, err := sqlite.OpenReadOnly(ctx, filepath.Join(f.runs(), "sessions.db"), sqlite.Options{})
	if err != nil {
		f.Fatal(err)
	}
	defer func() { _ = store.Close() }() // only read from
	project := flower.ProjectKey(f.dir)
	threads, err := store.Sessions(ctx, project)
	if err != nil {
		f.Fatal(err)
	}
	agentOf := map[agent.Key]string{}
	for _, thread := range threads {
		key := agent.Key{Project: project, Session: thread.ID}
		agentOf[key] = ""
		for _, id := range thread.Subagents {
			agentOf[key.Sub(id)] = id
		}
	}
	ids, answers := map[string]bool{}, 0
	for key, agentID := range agentOf {
		lines, err := store.Load(ctx, key)
		if err != nil {
			f.Fatal(err)
		}
		entries, damaged := transcript.ParseHistory(lines)
		for _, e := range entries {
			if ids[e.UUID] {
				f.Errorf("entry %s is there twice", e.UUID)
			}
			ids[e.UUID] = true
			if e.Message.Role == transcript.RoleAssistant {
				answers++
			}
		}
		p := transcript.Prepare(entries, transcript.Options{AgentID: agentID})
		if err := transcript.Validate(p.Messages); err != nil || damaged > 0 || len(p.Open) > 0 {
			f.Errorf("session %s: %v, %d damaged, %d calls without a result", key, err, damaged, len(p.Open))
		}
	}
	if n := len(f.server.Requests()); answers != n {
		f.Errorf("%d answers are stored, %d were given", answers, n)
	}
}

// sign is a writer that waits for words.
type sign struct {
	words string
	seen  chan struct{}
	once  sync.Once
	text  strings.Builder
}

func (s *sign) Write(p []byte) (int, error) {
	s.text.Write(p)
	if strings.Contains(s.text.String(), s.words) {
		s.once.Do(func() { close(s.seen) })
	}
	return len(p), nil
}
