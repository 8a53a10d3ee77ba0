package sandbox

import (
	"os"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// What is to be confined never runs on a thread that is refused, however many are, and the refused ones live on.
func TestOwnThread(t *testing.T) {
	var refused []int
	ran := 0
	ownThread(func(tid int) bool {
		if len(refused) == 5 {
			return false
		}
		refused = append(refused, tid)
		return true
	}, func() { ran = unix.Gettid() })
	if len(refused) != 5 || ran == 0 {
		t.Fatalf("refused %d, ran on %d", refused, ran)
	}
	for i, tid := range refused {
		if tid == ran {
			t.Errorf("ran on thread %d, which was refused", tid)
		}
		for _, other := range refused[:i] {
			if tid == other {
				t.Errorf("thread %d was offered twice", tid)
			}
		}
		if err := unix.Tgkill(unix.Getpid(), tid, 0); err != nil {
			t.Errorf("thread %d ended: %v", tid, err)
		}
	}
}

// The first thread of the process is what the kernel looks at when another process wants its memory.
func TestMainThreadStaysFree(t *testing.T) {
	needKernel(t)
	p := newPlace(t)
	s := newSandbox(t, Options{})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				if err := s.Start(func() error {
					if unix.Gettid() == unix.Getpid() {
						t.Error("the main thread is confined")
					}
					return nil
				}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if out, ok := p.run(t, s, "exec 3< /proc/$PPID/mem"); ok {
		t.Errorf("a command opened the memory of its parent: %s", out)
	}
}

// When Start returns, nothing in this process is confined any more, so that nothing of it is open to the command.
func TestConfinedThreadIsGone(t *testing.T) {
	needKernel(t)
	s := newSandbox(t, Options{})
	for range 100 {
		thread := 0
		if err := s.Start(func() error { thread = unix.Gettid(); return nil }); err != nil {
			t.Fatal(err)
		}
		if err := unix.Tgkill(unix.Getpid(), thread, 0); err == nil {
			t.Fatalf("thread %d is still there", thread)
		}
	}
}

// Device files are refused by the rules alone, also to whoever keeps the capability to make them.
func TestRulesAgainstDevices(t *testing.T) {
	needKernel(t)
	if os.Geteuid() != 0 {
		t.Skip("only root makes device files; the one that anybody makes is among the system calls out")
	}
	held := withheld
	withheld = nil
	defer func() { withheld = held }()
	p := newPlace(t)
	if out, ok := p.tryConfined(t, newSandbox(t, Options{Places: []string{p.ws}}), "device of a disk"); ok {
		t.Errorf("it was made: %s", out)
	}
}
