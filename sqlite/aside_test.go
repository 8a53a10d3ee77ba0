package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"flower"
	"flower/agent"
	"flower/internal/storetest"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// filled is a store with one session, closed; big makes it several pages long.
func filled(t *testing.T, big bool) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "sessions.db")
	s := openAt(t, path, "/w")
	noErr(t, s.Append(context.Background(), shared, storetest.Entry("a", "a")))
	for i := 0; big && i < 20; i++ {
		noErr(t, s.Append(context.Background(), shared, storetest.Entry(string(rune('b'+i)), string(bytes.Repeat([]byte("x"), 5000)))))
	}
	noErr(t, s.Close())
	return path
}

func names(t *testing.T, path string) (list []string) {
	t.Helper()
	files, err := os.ReadDir(filepath.Dir(path))
	noErr(t, err)
	for _, f := range files {
		list = append(list, f.Name())
	}
	return list
}

// TestPutAside: whatever is in the place of a store and is none leaves the place, whole.
func TestPutAside(t *testing.T) {
	ctx := context.Background()
	whole, err := os.ReadFile(filled(t, true))
	noErr(t, err)
	damaged := map[string][]byte{
		"text": []byte("no database"), "nul": make([]byte, len(whole)), "middle": slices.Clone(whole),
		"half": whole[:len(whole)/2], "byte": whole[:len(whole)-1], "one": whole[:1], "header": whole[:100],
	}
	clear(damaged["middle"][8192*2 : 8192*5])
	for name, data := range damaged {
		path := filepath.Join(t.TempDir(), "sessions.db")
		noErr(t, os.WriteFile(path, data, 0o600))
		if _, err := Open(ctx, path, Options{}); !errors.Is(err, ErrNotDatabase) || errors.Is(err, ErrForeign) {
			t.Errorf("%s: opened with %v", name, err)
		}
		kept, err := PutAside(ctx, path, noon)
		noErr(t, err)
		if kept != path+".bad-20260102-120000" {
			t.Errorf("%s: kept as %s", name, kept)
		}
		if got, err := os.ReadFile(kept); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%s: changed on the way (%v)", name, err)
		}
		noErr(t, openAt(t, path, "/w").Close())
	}
}

// TestDamageDeepInside: damage in a store that is too large to be read as a whole is met where it lies. It is said to be
// damage, by reading and by writing, and the next one who opens the store finds it.
func TestDamageDeepInside(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "sessions.db")
	s := openAt(t, path, "/w")
	key := func(i int) agent.Key { return agent.Key{Project: "p", Session: fmt.Sprint("s", i)} }
	for i := range 20 {
		noErr(t, s.Append(ctx, key(i), storetest.Entries(string(bytes.Repeat([]byte("x"), 1000)), 400)...))
	}
	noErr(t, s.Close())
	whole, err := os.ReadFile(path)
	noErr(t, err)
	if len(whole) < checkMost+checkMost/2 {
		t.Fatalf("%d bytes are too few", len(whole))
	}
	data := slices.Clone(whole)
	const page = 8192
	for at := len(data) / 4 / page * page; at < len(data)*3/4; at += page { // half of the pages, without their first bytes
		clear(data[at : at+page/2])
	}
	noErr(t, os.WriteFile(path, data, 0o600))
	for name, use := range map[string]func(*Store, int) error{
		"load": func(s *Store, i int) error { _, err := s.Load(ctx, key(i)); return err },
		"append": func(s *Store, i int) error {
			return s.Append(ctx, key(i), storetest.Entries(fmt.Sprint("new", i), 2)...)
		},
	} {
		noErr(t, os.WriteFile(path, data, 0o600))
		s, err := Open(ctx, path, Options{Workspace: "/w"})
		if err != nil {
			t.Fatalf("%s: found too early for this test: %v", name, err)
		}
		err = nil
		for i := 0; err == nil && i < 20; i++ {
			err = use(s, i)
		}
		if !errors.Is(err, ErrDamaged) || errors.Is(err, ErrNotDatabase) {
			t.Errorf("%s: %v", name, err)
		}
		_ = s.Close() // what it says of a damaged file does not matter
		if _, err := Open(ctx, path, Options{Workspace: "/w"}); !errors.Is(err, ErrNotDatabase) {
			t.Errorf("%s: opened again: %v", name, err)
		}
		kept, err := PutAside(ctx, path, noon)
		noErr(t, err)
		noErr(t, openAt(t, path, "/w").Close())
		for _, p := range []string{path, kept} {
			for _, f := range []string{p, p + "-wal", p + "-shm"} {
				if err := os.Remove(f); err != nil && !errors.Is(err, os.ErrNotExist) {
					t.Error(err)
				}
			}
		}
	}
	// A store that was marked for nothing is used.
	noErr(t, errors.Join(os.WriteFile(path, whole, 0o600), os.WriteFile(markName(path), nil, 0o600)))
	noErr(t, openAt(t, path, "/w").Close())
	if marked(path) {
		t.Error("still marked")
	}
}

func TestPutAsideOddFiles(t *testing.T) {
	ctx := context.Background()
	for name, put := range map[string]func(path string) error{
		"directory": func(path string) error { return os.Mkdir(path, 0o700) },
		"pipe":      func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"loop":      func(path string) error { return os.Symlink(path, path) },
	} {
		path := filepath.Join(t.TempDir(), "sessions.db")
		noErr(t, put(path))
		kept, err := PutAside(ctx, path, noon)
		noErr(t, err)
		if _, err := os.Lstat(kept); kept == "" || err != nil {
			t.Errorf("%s: kept as %q: %v", name, kept, err)
		}
		noErr(t, openAt(t, path, "/w").Close())

		// Beside a good database only what is odd goes.
		path = filled(t, false)
		noErr(t, put(path+"-wal"))
		if kept, err = PutAside(ctx, path, noon); err != nil || kept != path+"-wal.bad-20260102-120000" {
			t.Errorf("%s beside it: kept as %s, %v", name, kept, err)
		}
		s := openAt(t, path, "/w")
		if n := len(loadIDs(t, s, shared)); n != 1 {
			t.Errorf("%s beside it: %d entries left", name, n)
		}
		noErr(t, s.Close())
	}
}

// TestPutAsideTogether: the log goes with its database, and who comes second leaves the new one alone.
func TestPutAsideTogether(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "sessions.db")
	for _, ending := range []string{"", "-wal", "-shm"} {
		noErr(t, os.WriteFile(path+ending, []byte("data"+ending), 0o600))
	}
	kept, err := PutAside(ctx, path, noon)
	noErr(t, err)
	for _, ending := range []string{"", "-wal", "-shm"} {
		if got, err := os.ReadFile(kept + ending); err != nil || string(got) != "data"+ending {
			t.Errorf("%q: %q, %v", ending, got, err)
		}
	}
	noErr(t, os.WriteFile(path, nil, 0o600)) // SQLite would take it for a new one, and delete the log
	noErr(t, os.WriteFile(path+"-wal", []byte("log"), 0o600))
	if kept, err = PutAside(ctx, path, noon); err != nil || kept != path+".bad-20260102-120000-2" {
		t.Errorf("an empty file with a log: %s, %v", kept, err)
	}
	if got, err := os.ReadFile(kept + "-wal"); err != nil || string(got) != "log" {
		t.Errorf("its log: %q, %v", got, err)
	}
	for range 2 { // nothing there, and then a good one
		if again, err := PutAside(ctx, path, noon); err != nil || again != "" {
			t.Errorf("put aside again: %q, %v", again, err)
		}
		noErr(t, openAt(t, path, "/w").Close())
	}
	script(t, path, `DROP TABLE flower_schema`, `DROP TABLE entries`)
	if _, err := PutAside(ctx, path, noon); !errors.Is(err, ErrForeign) {
		t.Errorf("another program's database: %v", err)
	}
	newer := filled(t, false)
	script(t, newer, `INSERT INTO flower_schema VALUES (999, 'later', 0)`)
	if _, err := PutAside(ctx, newer, noon); !errors.Is(err, ErrNewer) {
		t.Errorf("a newer one: %v", err)
	}
}

// TestPutAsideCut: a process that is killed when the database has moved and its log has not leaves a log that no new
// database may get: it is kept as well.
func TestPutAsideCut(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "sessions.db")
	noErr(t, os.WriteFile(path+"-wal", []byte("log"), 0o600))
	if s, err := Open(ctx, path, Options{}); !errors.Is(err, ErrNotDatabase) || errors.Is(err, ErrForeign) {
		t.Fatalf("opened %v with %v", s != nil, err)
	}
	kept, err := PutAside(ctx, path, noon)
	if err != nil || kept != path+"-wal.bad-20260102-120000" {
		t.Errorf("kept as %s, %v", kept, err)
	}
	noErr(t, openAt(t, path, "/w").Close())
	if got, err := os.ReadFile(kept); err != nil || string(got) != "log" {
		t.Errorf("the log: %q, %v", got, err)
	}
}

// TestCopiedBefore: a file of another program is copied before it is changed, once.
func TestCopiedBefore(t *testing.T) {
	ctx := context.Background()
	path := python(t)
	noErr(t, os.WriteFile(path+".part", []byte("a copy that was cut"), 0o600))
	s, err := Open(ctx, path, Options{Now: func() time.Time { return noon }})
	noErr(t, err)
	if !bytes.HasPrefix([]byte(s.Copied()), []byte(path+".before-")) {
		t.Fatalf("copied to %q", s.Copied())
	}
	info, err := os.Stat(s.Copied())
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the copy: %v, %v", info, err)
	}
	noErr(t, s.Close())
	count := func(path, query string) (n int) {
		r := openAt(t, path, "")
		defer func() { noErr(t, r.Close()) }()
		noErr(t, r.reader.QueryRow(query).Scan(&n))
		return n
	}
	if n := count(s.Copied(), `SELECT count(*) FROM entries`); n != 7 {
		t.Errorf("%d entries in the copy", n)
	}
	again := openAt(t, path, "")
	if again.Copied() != "" {
		t.Errorf("copied again to %s", again.Copied())
	}
	noErr(t, again.Close())
	if slices.Contains(names(t, path), "sessions.db.part") {
		t.Error("a part of a copy is left")
	}
	fresh := openAt(t, filepath.Join(t.TempDir(), "sessions.db"), "/w")
	if fresh.Copied() != "" {
		t.Errorf("a new store was copied to %s", fresh.Copied())
	}
	noErr(t, fresh.Close())
}

// TestAdopt: a path's sessions move with all that belongs to them, others stay.
func TestAdopt(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "sessions.db")
	key := func(workspace, session string) agent.Key {
		return agent.Key{Project: flower.ProjectKey(workspace), Session: session}
	}
	old, taken := key("/a/old_p", "s"), key("/a/old_p", "taken")
	s := openAt(t, path, "/a/old_p")
	noErr(t, s.SetPrefix(ctx, old, agent.Prefix{System: "be kind"}))
	noErr(t, s.Append(ctx, old, storetest.Entry("a", "a"), storetest.Entry("b", "b")))
	noErr(t, s.Append(ctx, old.Sub("7"), storetest.Entry("c", "c")))
	noErr(t, s.Append(ctx, taken, storetest.Entry("d", "d")))
	noErr(t, s.AddNote(ctx, old.Project, agent.Note{ID: "n", Text: "make it blue", At: noon}))
	for _, k := range []agent.Key{old, old.Sub("7"), taken, key("/a/old_p", "sister")} {
		noErr(t, s.SetAnswer(ctx, k.String()+"/call", "blue"))
	}
	noErr(t, s.Close())
	other := openAt(t, path, "/a/old-p") // another path with the same key
	noErr(t, other.Append(ctx, key("/a/old-p", "third"), storetest.Entry("e", "e")))
	noErr(t, other.Close())

	s = openAt(t, path, "/b/new")
	noErr(t, s.Append(ctx, key("/b/new", "taken"), storetest.Entry("f", "f")))
	script(t, path, `CREATE TRIGGER cut BEFORE UPDATE ON flower_inbox BEGIN SELECT RAISE(ABORT, 'cut'); END`)
	if done, err := s.Adopt(ctx, "/a/old_p"); err == nil {
		t.Errorf("adopted although it was cut: %v", done)
	}
	if has, err := s.Has(ctx, key("/b/new", "s")); err != nil || has {
		t.Errorf("half moved: %v, %v", has, err)
	}
	script(t, path, `DROP TRIGGER cut`)
	done, err := s.Adopt(ctx, "/a/old_p")
	noErr(t, err)
	if done.Sessions != 1 || done.Copy == "" {
		t.Errorf("adopted %v", done)
	}
	now := key("/b/new", "s")
	if has, err := s.Has(ctx, now); err != nil || !has {
		t.Errorf("has it: %v, %v", has, err)
	}
	if a, c := len(loadIDs(t, s, now)), len(loadIDs(t, s, now.Sub("7"))); a != 2 || c != 1 {
		t.Errorf("%d entries, %d of the subagent", a, c)
	}
	if p, ok, err := s.Prefix(ctx, now); err != nil || !ok || p.System != "be kind" {
		t.Errorf("prefix %v %v %v", p, ok, err)
	}
	if notes, err := s.PendingNotes(ctx, now.Project); err != nil || len(notes) != 1 {
		t.Errorf("remarks %v, %v", notes, err)
	}
	for k, want := range map[agent.Key]int{old: 0, old.Sub("7"): 0, taken: 1, key("/a/old-p", "third"): 1, key("/b/new", "taken"): 1} {
		if n := len(loadIDs(t, s, k)); n != want {
			t.Errorf("%v has %d entries, want %d", k, n, want)
		}
	}
	for k, want := range map[agent.Key]bool{
		now: true, now.Sub("7"): true, old: false, taken: true, key("/a/old_p", "sister"): true, key("/b/new", "sister"): false,
	} {
		if _, ok, err := s.Answer(ctx, k.String()+"/call"); err != nil || ok != want {
			t.Errorf("answer under %v: %v, %v", k, ok, err)
		}
	}
	noErr(t, s.Append(ctx, now, storetest.Entry("g", "g"))) // and goes on
	if again, err := s.Adopt(ctx, "/a/old_p"); err != nil || again != (Adopted{}) {
		t.Errorf("again: %v, %v", again, err)
	}
	noErr(t, s.Close())
	before := openAt(t, done.Copy, "/a/old_p")
	if has, err := before.Has(ctx, old); err != nil || !has {
		t.Errorf("not in the copy: %v, %v", has, err)
	}
	noErr(t, before.Close())
}

// TestAdoptUnderOneKey: both paths have the same key, and a session of the Python program has no recorded path.
func TestAdoptUnderOneKey(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "sessions.db")
	s := openAt(t, path, "/a/p_q")
	k := agent.Key{Project: flower.ProjectKey("/a/p_q"), Session: "s"}
	noErr(t, s.Append(ctx, k, storetest.Entry("a", "a")))
	noErr(t, s.Close())
	s = openAt(t, path, "/a/p-q")
	done, err := s.Adopt(ctx, "/a/p_q")
	if has, hasErr := s.Has(ctx, k); err != nil || done.Sessions != 1 || hasErr != nil || !has {
		t.Errorf("%v, %v, has it: %v, %v", done, err, has, hasErr)
	}
	noErr(t, s.Close())

	s = openAt(t, python(t), "/home/ada/elsewhere")
	done, err = s.Adopt(ctx, "/home/ada/my garden")
	if err != nil || done.Sessions != 3 {
		t.Errorf("%v, %v", done, err)
	}
	now := agent.Key{Project: flower.ProjectKey("/home/ada/elsewhere"), Session: "s"}
	if entries, err := s.Load(ctx, now); err != nil || len(entries) != 4 {
		t.Errorf("%d entries under the new key, %v", len(entries), err)
	}
	noErr(t, s.Close())
}
