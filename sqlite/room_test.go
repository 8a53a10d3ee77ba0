package sqlite

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"flower/agent"
	"flower/internal/storetest"
)

// writes are the ways to write to a store; each works again after it has failed.
var writes = []struct {
	name string
	do   func(ctx context.Context, s *Store, n int) error
}{
	{"append", func(ctx context.Context, s *Store, n int) error {
		return s.Append(ctx, agent.Key{Project: "p", Session: "s"}, storetest.Entry(fmt.Sprint("entry-", n), strings.Repeat("x", 20<<10)))
	}},
	{"prefix", func(ctx context.Context, s *Store, n int) error {
		return s.SetPrefix(ctx, agent.Key{Project: "p", Session: fmt.Sprint("prefix-", n)}, agent.Prefix{System: strings.Repeat("x", 20<<10)})
	}},
	{"note", func(ctx context.Context, s *Store, n int) error {
		return s.AddNote(ctx, "p", agent.Note{ID: fmt.Sprint("note-", n), Text: strings.Repeat("x", 20<<10), At: time.Unix(int64(n), 0)})
	}},
	{"delivered", func(ctx context.Context, s *Store, _ int) error {
		return s.MarkDelivered(ctx, "p", []string{"there"})
	}},
	{"answer", func(ctx context.Context, s *Store, n int) error {
		return s.SetAnswer(ctx, fmt.Sprint("call-", n), strings.Repeat("x", 20<<10))
	}},
	{"fork", func(ctx context.Context, s *Store, n int) error {
		return s.Fork(ctx, agent.Key{Project: "p", Session: "old"}, agent.Key{Project: "p", Session: fmt.Sprint("fork-", n)})
	}},
	{"delete", func(ctx context.Context, s *Store, _ int) error {
		return s.Delete(ctx, agent.Key{Project: "p", Session: "old"})
	}},
}

// fillable is a store with something in it, on a disk that can be made full and given room again.
type fillable struct {
	path       string
	fill, free func(t *testing.T)
}

// smallDisk is a file system of its own of some megabytes.
func smallDisk(t *testing.T) fillable {
	dir := t.TempDir()
	if err := mountSmall(dir); err != nil {
		t.Skipf("no file system can be mounted here: %v", err)
	}
	t.Cleanup(func() { noErr(t, unmount(dir)) })
	ballast := filepath.Join(dir, "ballast")
	return fillable{filepath.Join(dir, "runs", "sessions.db"), func(t *testing.T) {
		f, err := os.Create(ballast)
		noErr(t, err)
		for err == nil {
			_, err = f.Write(make([]byte, 4096))
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
		noErr(t, f.Close())
	}, func(t *testing.T) { noErr(t, os.Remove(ballast)) }}
}

// inChild says whether this is a process that does nothing but the test it is called from. Elsewhere it starts one and
// says false: the limit of files would hit what the go command has every test write as well.
func inChild(t *testing.T) bool {
	t.Helper()
	const mark = "FLOWER_TEST_CHILD"
	if os.Getenv(mark) != "" {
		return true
	}
	parts := strings.Split(t.Name(), "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", strings.Join(parts, "/"), "-test.v")
	cmd.Env = append(os.Environ(), mark+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()+" ") {
		t.Errorf("%v\n%s", err, out)
	}
	return false
}

// limitedFiles is a process whose files may not grow any more.
func limitedFiles(t *testing.T) fillable {
	path := filepath.Join(t.TempDir(), "runs", "sessions.db")
	var old syscall.Rlimit
	noErr(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old))
	free := func(t *testing.T) { noErr(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &old)) }
	t.Cleanup(func() { free(t) })
	return fillable{path, func(t *testing.T) {
		info, err := os.Stat(path + "-wal")
		noErr(t, err)
		limit := old
		limit.Cur = uint64(info.Size())
		noErr(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit))
	}, free}
}

// TestNoRoom: on a full disk every write says so and changes nothing, reading goes on, and once there is room the same
// write on the same store is done once.
func TestNoRoom(t *testing.T) {
	for name, disk := range map[string]func(*testing.T) fillable{"full disk": smallDisk, "limit of a file": limitedFiles} {
		for _, write := range writes {
			t.Run(name+"/"+write.name, func(t *testing.T) {
				if name == "limit of a file" && !inChild(t) {
					return
				}
				ctx := context.Background()
				d := disk(t)
				s := openAt(t, d.path, "/w")
				defer func() { noErr(t, s.Close()) }()
				old := agent.Key{Project: "p", Session: "old"}
				noErr(t, s.Append(ctx, old, storetest.Entry("first", strings.Repeat("x", 40<<10))))
				noErr(t, s.AddNote(ctx, "p", agent.Note{ID: "there", Text: "hello", At: time.Unix(1, 0)}))

				d.fill(t)
				n, err := untilRefused(ctx, s, write.do)
				if !errors.Is(err, agent.ErrNoSpace) {
					d.free(t)
					t.Fatalf("on a full disk: %v", err)
				}
				again := write.do(ctx, s, n)
				lines, loadErr := s.Load(ctx, old)
				r, openErr := OpenReadOnly(ctx, d.path, Options{Workspace: "/w"})
				d.free(t)
				if !errors.Is(again, agent.ErrNoSpace) {
					t.Errorf("the second time: %v", again)
				}
				if loadErr != nil || len(lines) != 1 {
					t.Errorf("load on a full disk: %d entries, %v", len(lines), loadErr)
				}
				noErr(t, openErr)
				noErr(t, r.Close())
				noErr(t, write.do(ctx, s, n))
				if write.name == "append" {
					lines, err := s.Load(ctx, agent.Key{Project: "p", Session: "s"})
					if err != nil || len(lines) != n+1 {
						t.Errorf("%d entries, want %d: %v", len(lines), n+1, err)
					}
				}
			})
		}
	}
}

// untilRefused repeats a write until it fails, and returns the number of the one that did: the file beside the database
// may have room left in its last block.
func untilRefused(ctx context.Context, s *Store, write func(context.Context, *Store, int) error) (int, error) {
	for n := range 100 {
		if err := write(ctx, s, n); err != nil {
			return n, err
		}
	}
	return math.MaxInt, nil
}

// TestNoRoomTogether: of writes that are committed together on an almost full disk those that fit are made, and only the
// caller of the one that does not is told so.
func TestNoRoomTogether(t *testing.T) {
	if !inChild(t) {
		return
	}
	ctx := context.Background()
	d := limitedFiles(t)
	s := openAt(t, d.path, "/w")
	defer func() { noErr(t, s.Close()) }()
	noErr(t, s.Append(ctx, shared, storetest.Entry("first", strings.Repeat("x", 100<<10)))) // room in the log for the small ones
	noErr(t, s.Append(ctx, shared, storetest.Entry("second", "")))
	_, err := s.writer.Exec("PRAGMA wal_checkpoint(RESTART)")
	noErr(t, err)
	crowd := gather(s)
	big := storetest.Entry("big", strings.Repeat("x", 400<<10))
	want := []string{"first", "second"}
	for i := range 4 {
		e := storetest.Entry(fmt.Sprint("small", i), "")
		want = append(want, e.UUID)
		crowd.add(func() {
			if err := s.Append(ctx, shared, e); err != nil {
				t.Error(err)
			}
		})
		if i == 1 {
			crowd.add(func() {
				if err := s.Append(ctx, shared, big); !errors.Is(err, agent.ErrNoSpace) {
					t.Errorf("the big one: %v", err)
				}
			})
		}
	}
	d.fill(t)
	crowd.release()
	d.free(t)
	noErr(t, s.Append(ctx, shared, big))
	if got, want := strings.Join(loadIDs(t, s, shared), " "), strings.Join(append(want, "big"), " "); got != want {
		t.Errorf("stored %s, want %s", got, want)
	}
	wantSound(t, s)
}

// TestOpenWithoutRoom: a store that cannot be opened because the disk is full says so, and opens when there is room.
func TestOpenWithoutRoom(t *testing.T) {
	ctx := context.Background()
	d := smallDisk(t)
	d.fill(t)
	_, err := Open(ctx, d.path, Options{Workspace: "/w"})
	if !agent.NoSpace(err) {
		t.Errorf("open: %v", err)
	}
	d.free(t)
	s := openAt(t, d.path, "/w")
	k := agent.Key{Project: "p", Session: "s"}
	noErr(t, s.Append(ctx, k, storetest.Entry("first", "hello")))
	noErr(t, s.Close())

	d.fill(t)
	if _, err := Open(ctx, d.path, Options{Workspace: "/w"}); !agent.NoSpace(err) {
		t.Errorf("open again: %v", err)
	}
	d.free(t)
	s = openAt(t, d.path, "/w")
	lines, err := s.Load(ctx, k)
	if err != nil || len(lines) != 1 {
		t.Errorf("%d entries, %v", len(lines), err)
	}
	noErr(t, s.Close())
}

// TestReadOnlyIsNoMatterOfRoom: a database that may not be written stays an error that nobody waits for.
func TestReadOnlyIsNoMatterOfRoom(t *testing.T) {
	s, _ := openNew(t)
	_, err := s.writer.Exec("PRAGMA query_only=1")
	noErr(t, err)
	err = s.AddNote(context.Background(), "p", agent.Note{ID: "n", Text: "x"})
	if err == nil || agent.NoSpace(err) {
		t.Errorf("a database that is only read: %v", err)
	}
}
