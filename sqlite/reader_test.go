package sqlite

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"flower/agent"
	"flower/internal/storetest"
)

// settled gives a file a time at which nothing can be changing it any more, so that readers need not wait.
func settled(t testing.TB, path string) {
	t.Helper()
	at := time.Now().Add(-time.Minute)
	noErr(t, os.Chtimes(path, at, at))
}

// tree is everything below a directory that a write would change.
func tree(t testing.TB, dir string) string {
	t.Helper()
	var out strings.Builder
	noErr(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		var sum [32]byte
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			sum = sha256.Sum256(data)
		}
		fmt.Fprintf(&out, "%s %v %d %v %x\n", path, info.Mode(), info.Size(), info.ModTime(), sum)
		return nil
	}))
	return out.String()
}

func openReader(t testing.TB, path string) *Reader {
	t.Helper()
	r, err := OpenReadOnly(context.Background(), path, Options{Workspace: "/w"})
	noErr(t, err)
	t.Cleanup(func() { noErr(t, r.Close()) })
	return r
}

func readIDs(t testing.TB, r *Reader, key agent.Key) []string {
	t.Helper()
	stored, err := r.Load(context.Background(), key)
	noErr(t, err)
	return storetest.UUIDs(t, stored)
}

// victim is a writer that was killed and has left its log behind, or lives on.
func startWriter(t *testing.T, path, name string, after int) (cmd *exec.Cmd, told []string) {
	t.Helper()
	cmd = childCommand(path, name, 1_000_000)
	out, err := cmd.StdoutPipe()
	noErr(t, err)
	noErr(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	lines := bufio.NewScanner(out)
	for len(told) < after && lines.Scan() {
		told = append(told, lines.Text())
	}
	go func() {
		for lines.Scan() { // keeps the writer going
		}
	}()
	return cmd, told
}

func TestReaderOfNothing(t *testing.T) {
	dir := t.TempDir()
	noErr(t, os.WriteFile(filepath.Join(dir, "empty"), nil, 0o600))
	before := tree(t, dir)
	for _, path := range []string{"missing", "no/such/dir", "empty", "empty/below"} {
		r := openReader(t, filepath.Join(dir, path))
		if ids := readIDs(t, r, shared); ids != nil {
			t.Errorf("%s: %q", path, ids)
		}
		list, err := r.Sessions(context.Background(), "p")
		has, err2 := r.Has(context.Background(), shared)
		n, err3 := r.PendingNotes(context.Background(), "p")
		noErr(t, errors.Join(err, err2, err3))
		if len(list) > 0 || has || n > 0 {
			t.Errorf("%s: %v, %v, %d", path, list, has, n)
		}
	}
	if after := tree(t, dir); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
}

func TestReaderRefuses(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	noErr(t, os.WriteFile(text, bytes.Repeat([]byte("no database "), 1000), 0o600))
	newer := filepath.Join(dir, "newer")
	s := openAt(t, newer, "/w")
	_, err := s.writer.Exec(`INSERT INTO flower_schema VALUES (999, 'later', 0)`)
	noErr(t, errors.Join(err, s.Close()))
	cut := filepath.Join(dir, "cut")
	data, err := os.ReadFile(newer)
	noErr(t, err)
	noErr(t, os.WriteFile(cut, data[:len(data)/2], 0o600))
	for _, path := range []string{text, newer, cut} {
		settled(t, path)
	}
	before := tree(t, dir)
	for path, want := range map[string]error{text: ErrNotDatabase, dir: ErrNotDatabase, newer: ErrNewer, cut: ErrNotDatabase} {
		if r, err := OpenReadOnly(context.Background(), path, Options{}); !errors.Is(err, want) {
			t.Errorf("%s: %v, %v, want %v", path, r, err, want)
		}
	}
	if after := tree(t, dir); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
}

// TestReaderOfClosedStore: all methods agree with the store's, and nothing is written, also in a directory where nothing
// can be.
func TestReaderOfClosedStore(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "runs", "sessions.db")
	s := openAt(t, path, "/w")
	other := agent.Key{Project: "p", Session: "other"}
	noErr(t, errors.Join(
		s.Append(ctx, shared, storetest.Entries("a", 300)...),
		s.Append(ctx, shared.Sub("one"), storetest.Entries("b", 3)...),
		s.Append(ctx, other, storetest.Entries("c", 2)...),
		s.AddNote(ctx, "p", agent.Note{ID: "n1", Text: "be quick", At: time.Now()}),
		s.AddNote(ctx, "p", agent.Note{ID: "n2", Text: "be slow", At: time.Now()}),
		s.MarkDelivered(ctx, "p", []string{"n1"}),
	))
	noErr(t, s.Close())
	elsewhere := openAt(t, path, "/elsewhere")
	noErr(t, errors.Join(elsewhere.Append(ctx, agent.Key{Project: "p", Session: "hidden"}, storetest.Entries("d", 1)...), elsewhere.Close()))

	settled(t, path)
	noErr(t, os.Chmod(path, 0o400))
	noErr(t, os.Chmod(filepath.Dir(path), 0o500))
	t.Cleanup(func() { _ = os.Chmod(filepath.Dir(path), 0o700) })
	before := tree(t, filepath.Dir(path))
	r := openReader(t, path)
	if ids := readIDs(t, r, shared); len(ids) != 300 || ids[0] != "a0" || ids[299] != "a299" {
		t.Errorf("%d entries: %q", len(ids), ids)
	}
	tail, err := r.Tail(ctx, shared, 2)
	noErr(t, err)
	if ids := storetest.UUIDs(t, tail); !slices.Equal(ids, []string{"a298", "a299"}) {
		t.Errorf("tail %q", ids)
	}
	list, err := r.Sessions(ctx, "p")
	noErr(t, err)
	if len(list) != 2 || list[0].ID != "other" || list[1].ID != "shared" || list[1].Entries != 300 || !slices.Equal(list[1].Subagents, []string{"one"}) {
		t.Errorf("sessions %+v", list)
	}
	for name, want := range map[string]bool{"shared": true, "other": true, "hidden": false, "none": false, "a/b": false} {
		if has, err := r.Has(ctx, agent.Key{Project: "p", Session: name}); err != nil || has != want {
			t.Errorf("has %s: %v, %v", name, has, err)
		}
	}
	n, err := r.PendingNotes(ctx, "p")
	noErr(t, err)
	count, err := r.Count(ctx, "p")
	noErr(t, err)
	thread, err := r.Thread(ctx, shared)
	noErr(t, err)
	if n != 1 || count != 3 || thread.Entries != 300 || len(thread.Subagents) != 1 {
		t.Errorf("%d notes, %d sessions, %+v", n, count, thread)
	}
	noErr(t, r.Close())
	if after := tree(t, filepath.Dir(path)); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
}

// TestReaderOfOthersFile reads a database that has none of flower's own tables and is not in WAL mode.
func TestReaderOfOthersFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	db, err := sql.Open("sqlite", path)
	noErr(t, err)
	_, err = db.Exec(`CREATE TABLE entries (store_key TEXT NOT NULL, seq INTEGER NOT NULL, uid TEXT, payload TEXT NOT NULL, PRIMARY KEY (store_key, seq));
		CREATE TABLE meta (store_key TEXT PRIMARY KEY, mtime INTEGER NOT NULL, next_seq INTEGER NOT NULL);
		INSERT INTO entries VALUES ('p/shared', 0, 'u', '{"uuid":"u"}'); INSERT INTO meta VALUES ('p/shared', 1, 1)`)
	noErr(t, errors.Join(err, db.Close()))
	settled(t, path)
	r := openReader(t, path)
	list, err := r.Sessions(context.Background(), "p")
	noErr(t, err)
	if ids := readIDs(t, r, shared); len(list) != 1 || !slices.Equal(ids, []string{"u"}) {
		t.Errorf("%+v, %q", list, ids)
	}
	// A journal with a beginning is a transaction that was cut: what the database holds is half of it.
	noErr(t, os.WriteFile(path+"-journal", []byte("\xd9\xd5\x05\xf9\x20\xa1\x63\xd7 and so on"), 0o600))
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	if stored, err := r.Load(ctx, shared); err == nil {
		t.Errorf("a cut transaction was read: %s", stored)
	}
}

// TestReaderAfterKill: what a killed writer was told is stored is read out of the log it has left, which is still there
// afterwards.
func TestReaderAfterKill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs", "sessions.db")
	for round, after := range []int{1, 60, 300} {
		name := fmt.Sprint("victim", round)
		cmd, told := startWriter(t, path, name, after)
		noErr(t, cmd.Process.Kill())
		_ = cmd.Wait()
		if info, err := os.Stat(path + "-wal"); err != nil || info.Size() == 0 {
			t.Fatalf("there is no log: %v", err)
		}
		before := tree(t, filepath.Dir(path))
		r := openReader(t, path)
		own := readIDs(t, r, agent.Key{Project: "p", Session: name})
		if len(own) < after || !slices.Equal(own[:after], told) {
			t.Errorf("told %q, read %q", told, own)
		}
		var sound string
		noErr(t, r.view(context.Background(), func(s *snapshot) error { return s.db.QueryRow(`PRAGMA integrity_check`).Scan(&sound) }))
		if sound != "ok" {
			t.Errorf("integrity check: %s", sound)
		}
		noErr(t, r.Close())
		if after := tree(t, filepath.Dir(path)); after != before {
			t.Errorf("before:\n%s\nafter:\n%s", before, after)
		}
	}
}

// TestReaderBesideWriter reads again and again while another process writes, and folds its log into the file: entries
// come in order and without gaps, and none is ever lost.
func TestReaderBesideWriter(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "runs", "sessions.db")
	writer, told := startWriter(t, path, "live", 20)
	own := agent.Key{Project: "p", Session: "live"}
	r := openReader(t, path)
	seen, states, unsettled := len(told), 0, 0
	look := func() {
		t.Helper()
		stored, err := r.Load(ctx, own)
		if errors.Is(err, ErrUnsettled) { // it never stops writing: on a busy machine this is the truth
			unsettled++
			return
		}
		noErr(t, err)
		ids := storetest.UUIDs(t, stored)
		if len(ids) < seen {
			t.Fatalf("%d entries, %d before", len(ids), seen)
		}
		for i, id := range ids {
			if id != fmt.Sprintf("live-%d", i) {
				t.Fatalf("entry %d is %s", i, id)
			}
		}
		if len(ids) > seen {
			states++
		}
		seen = len(ids)
		info, err := r.Session(ctx, own)
		if err != nil && !errors.Is(err, ErrUnsettled) || err == nil && info.Entries < seen {
			t.Fatalf("%d entries, %d before, %v", info.Entries, seen, err)
		}
	}
	for end := time.Now().Add(10 * time.Second); states < 20 && time.Now().Before(end); {
		look()
	}
	noErr(t, writer.Process.Kill())
	_ = writer.Wait() // killed, as was asked
	unsettled = 0
	look()
	if unsettled > 0 || states == 0 {
		t.Errorf("%d states were seen, and the store of a dead writer cannot be read", states)
	}
	t.Logf("%d states, %d entries", states, seen)
}

// TestSnapshotNoticesChanges: a change that reaches the file is noticed by whoever has read.
func TestSnapshotNoticesChanges(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "sessions.db")
	s := openAt(t, path, "/w")
	noErr(t, s.Append(ctx, shared, storetest.Entries("a", 2)...))
	noErr(t, s.Close())
	settled(t, path)
	for _, test := range []struct {
		name   string
		change func() error
	}{
		{"another time", func() error { return os.Chtimes(path, time.Now(), time.Now()) }},
		{"gone", func() error { return os.Rename(path, path+"2") }},
		{"back", func() error { return os.Rename(path+"2", path) }},
		{"a journal", func() error { return os.WriteFile(path+"-journal", []byte("something"), 0o600) }},
	} {
		snap, err := takeSnapshot(ctx, path)
		if test.name == "back" {
			if snap != nil || err != nil {
				t.Fatalf("a snapshot of nothing: %v", err)
			}
			noErr(t, test.change())
			continue
		}
		noErr(t, err)
		if snap.moved() || !snap.fresh() {
			t.Fatalf("before %q: it has moved", test.name)
		}
		noErr(t, test.change())
		if !snap.moved() {
			t.Errorf("%s: not noticed", test.name)
		}
		noErr(t, snap.close())
		if test.name == "another time" {
			settled(t, path)
		}
	}
}
