package flower

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"flower/agent"
	"flower/internal/workbench"
)

// TestDocumentsWaitForRoom fills the disk of the workbench just before the brief and the goal are frozen: neither counts
// as frozen before it is on disk, and nothing is asked of an agent twice.
func TestDocumentsWaitForRoom(t *testing.T) {
	w := newJob(t)
	bench := filepath.Join(w.dir, ".flower")
	if err := os.Mkdir(bench, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", bench, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("no file system can be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(bench, 0); err != nil {
			t.Error(err)
		}
	})
	ballast := filepath.Join(bench, "ballast")
	for role, reply := range map[string]string{clarifier: briefReply, goalSetter: goalReply} {
		w.play[role] = func(ask) (string, error) {
			fillDisk(t, ballast)
			return reply, nil
		}
	}
	paused := 0
	room := agent.NewRoom(agent.RoomOptions{
		Observe: func(c agent.RoomChange) { w.observe(RoomChanged{Path: bench, RoomChange: c}) },
		Sleep: func(context.Context, time.Duration) error {
			if paused++; paused%3 != 0 { // the second and the third try fail as well
				return nil
			}
			for _, name := range []string{workbench.Brief, workbench.Goal} {
				if text, there, err := workbench.Open(w.dir).ReadNote(name); err != nil || there && len(text) == 0 {
					t.Errorf("%s: %q, %v", name, text, err)
				}
			}
			return os.Remove(ballast)
		},
	})
	w.opts = func(o *RuntimeOptions) { o.Room = room }
	w.mustJob("a clock, please")
	equal(t, "agents", w.agents(), []string{clarifier, goalSetter, coordinator, judge})
	var order []string
	for _, ev := range w.events {
		switch ev := ev.(type) {
		case RoomChanged:
			order = append(order, map[bool]string{true: "full", false: "room"}[ev.Full])
		case BriefFrozen:
			order = append(order, "brief")
		case GoalSet:
			order = append(order, "goal")
		}
	}
	equal(t, "events", order, []string{"full", "room", "brief", "full", "room", "goal"})
	if !readBrief(w.rt).Complete() || !readGoal(w.rt).Complete() || paused != 6 {
		t.Errorf("brief or goal is not complete, after %d pauses", paused)
	}
}

// fillDisk writes until there is no room.
func fillDisk(t *testing.T, path string) {
	f, err := os.Create(path)
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Error(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}
