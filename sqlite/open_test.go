package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"flower/agent"
	"flower/internal/storetest"

	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

func TestSettings(t *testing.T) {
	s, _ := openNew(t)
	for _, test := range []struct {
		db           *sql.DB
		pragma, want string
	}{
		{s.writer, "page_size", "8192"},
		{s.writer, "journal_mode", "wal"},
		{s.writer, "synchronous", "2"}, // FULL
		{s.writer, "busy_timeout", "20"},
		{s.writer, "query_only", "0"},
		{s.reader, "page_size", "8192"},
		{s.reader, "journal_mode", "wal"},
		{s.reader, "query_only", "1"},
	} {
		var got string
		noErr(t, test.db.QueryRow("PRAGMA "+test.pragma).Scan(&got))
		if got != test.want {
			t.Errorf("%s is %s, want %s", test.pragma, got, test.want)
		}
	}

	if runtime.GOOS == "linux" && (!driver.OFDLockingEnabled() || !driver.FdatasyncEnabled()) {
		t.Error("the driver's settings for the process are not in effect")
	}

	// Before 3.51.3 a WAL that was reset at the wrong moment could damage the file.
	var version string
	noErr(t, s.reader.QueryRow(`SELECT sqlite_version()`).Scan(&version))
	var got []int
	for part := range strings.SplitSeq(version, ".") {
		n, err := strconv.Atoi(part)
		noErr(t, err)
		got = append(got, n)
	}
	if slices.Compare(got, []int{3, 51, 3}) < 0 {
		t.Errorf("SQLite %s is too old", version)
	}
}

func TestSharedSchema(t *testing.T) {
	s, _ := openNew(t)
	for query, want := range map[string]string{
		`SELECT group_concat(name || ' ' || type || ' ' || "notnull" || ' ' || pk, ', ') FROM pragma_table_info('entries')`:   "store_key TEXT 1 1, seq INTEGER 1 2, uid TEXT 0 0, payload TEXT 1 0",
		`SELECT group_concat(name || ' ' || type || ' ' || "notnull" || ' ' || pk, ', ') FROM pragma_table_info('meta')`:      "store_key TEXT 0 1, mtime INTEGER 1 0, next_seq INTEGER 1 0",
		`SELECT group_concat(name || ' ' || type || ' ' || "notnull" || ' ' || pk, ', ') FROM pragma_table_info('summaries')`: "project_key TEXT 1 1, session_id TEXT 1 2, mtime INTEGER 1 0, data TEXT 1 0",
		`SELECT name || "unique" || partial FROM pragma_index_list('entries') WHERE origin = 'c'`:                             "entries_uid11",
		`SELECT group_concat(name) FROM (SELECT name FROM sqlite_schema
			WHERE type = 'table' AND name NOT LIKE 'flower\_%' ESCAPE '\' ORDER BY name)`: "entries,meta,summaries",
		`SELECT group_concat(version || name) FROM flower_schema`: "10001_shared.sql,20002_own.sql,30003_calls.sql,40004_definition.sql",
	} {
		var got string
		noErr(t, s.reader.QueryRow(query).Scan(&got))
		if got != want {
			t.Errorf("%s\ngives %s\nwant  %s", query, got, want)
		}
	}
}

func TestModes(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0))
	for _, umask := range []int{0, 0o022, 0o777} {
		dir := t.TempDir()
		path := filepath.Join(dir, "made", "runs", "sessions.db")
		if umask == 0o777 { // nobody could use a directory made under this umask
			noErr(t, os.MkdirAll(filepath.Dir(path), 0o700))
		}
		syscall.Umask(umask)
		s := openAt(t, path, "/w")
		noErr(t, s.Append(context.Background(), shared, storetest.Entry("a", "a")))
		for name, want := range map[string]os.FileMode{
			"made": 0o700, "made/runs": 0o700, "made/runs/sessions.db": 0o600,
			"made/runs/sessions.db-wal": 0o600, "made/runs/sessions.db-shm": 0o600,
		} {
			info, err := os.Stat(filepath.Join(dir, name))
			noErr(t, err)
			if info.Mode().Perm() != want {
				t.Errorf("umask %#o: %s has mode %v, want %v", umask, name, info.Mode().Perm(), want)
			}
		}
		noErr(t, s.Close())
		syscall.Umask(0)
	}
}

// TestOddPaths: characters that mean something in a DSN, and an empty file, which is an empty database.
func TestOddPaths(t *testing.T) {
	for _, name := range []string{"a b", "a?mode=memory", "a#b", "a%41", "中文", "a&b='c\"", "a\xff"} {
		dir := t.TempDir()
		path := filepath.Join(dir, name)
		noErr(t, os.WriteFile(path, nil, 0o600))
		s := openAt(t, path, "/w")
		noErr(t, s.Append(context.Background(), shared, storetest.Entry("a", "a")))
		noErr(t, s.Close())
		files, err := os.ReadDir(dir)
		noErr(t, err)
		if len(files) != 1 || files[0].Name() != name {
			t.Errorf("%q: left %v", name, files)
		}
		if info, err := os.Stat(path); err != nil || info.Size() == 0 {
			t.Errorf("%q: %v %v", name, info, err)
		}
	}
}

func TestRefused(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	noErr(t, os.Mkdir(at("directory"), 0o700))
	noErr(t, syscall.Mkfifo(at("pipe"), 0o600))
	noErr(t, os.Symlink(at("pipe"), at("link")))
	noErr(t, os.WriteFile(at("short"), []byte("hello"), 0o600))
	noErr(t, os.WriteFile(at("text"), bytes.Repeat([]byte("no database\n"), 2000), 0o600))
	noErr(t, os.WriteFile(at("zeros"), make([]byte, 8192), 0o600))
	script(t, at("foreign"), `CREATE TABLE recipes (name TEXT)`)
	script(t, at("columns"), `CREATE TABLE entries (id INTEGER PRIMARY KEY, text TEXT)`)

	s := openAt(t, at("newer"), "/w")
	noErr(t, s.Append(context.Background(), shared, storetest.Entry("a", "a")))
	noErr(t, s.Close())
	script(t, at("newer"), `INSERT INTO flower_schema VALUES (999, '0999_later.sql', 0)`)
	whole, err := os.ReadFile(at("newer"))
	noErr(t, err)
	noErr(t, os.WriteFile(at("torn"), append(bytes.Clone(whole[:100]), bytes.Repeat([]byte{0xff}, 8000)...), 0o600))

	for name, want := range map[string]error{
		"directory": ErrNotDatabase, "pipe": ErrNotDatabase, "link": ErrNotDatabase, "short": ErrNotDatabase,
		"text": ErrNotDatabase, "zeros": ErrNotDatabase, "foreign": ErrNotDatabase, "columns": ErrNotDatabase,
		"torn": ErrNotDatabase, "newer": ErrNewer,
		"short/below/a/file": syscall.ENOTDIR,
	} {
		info, _ := os.Stat(at(name))
		var before []byte
		if info != nil && info.Mode().IsRegular() {
			before, _ = os.ReadFile(at(name))
		}
		s, err := Open(context.Background(), at(name), Options{})
		if !errors.Is(err, want) || s != nil {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
		if err != nil && !strings.HasPrefix(err.Error(), "open store "+at(name)+": ") {
			t.Errorf("%s: the error does not say which file: %v", name, err)
		}
		if before != nil {
			if after, _ := os.ReadFile(at(name)); !bytes.Equal(before, after) {
				t.Errorf("%s was changed", name)
			}
		}
	}
	files, err := os.ReadDir(dir)
	noErr(t, err)
	if len(files) != 10 {
		t.Errorf("left %v", files)
	}
}

// script runs statements on a file the way another program would, with SQLite's defaults.
func script(t *testing.T, path string, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	noErr(t, err)
	for _, text := range statements {
		if _, err := db.Exec(text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	noErr(t, db.Close())
}

// python makes a file as the Python program leaves it: its three tables, SQLite's default pages and journal, its own
// spelling of the project key, numbers from where it likes to begin.
func python(t *testing.T) (path string) {
	path = filepath.Join(t.TempDir(), "sessions.db")
	script(t, path,
		`CREATE TABLE entries (store_key TEXT NOT NULL, seq INTEGER NOT NULL, uid TEXT, payload TEXT NOT NULL,
			PRIMARY KEY (store_key, seq))`,
		`CREATE UNIQUE INDEX entries_uid ON entries(store_key, uid) WHERE uid IS NOT NULL`,
		`CREATE TABLE meta (store_key TEXT PRIMARY KEY, mtime INTEGER NOT NULL, next_seq INTEGER NOT NULL)`,
		`CREATE TABLE summaries (project_key TEXT NOT NULL, session_id TEXT NOT NULL, mtime INTEGER NOT NULL,
			data TEXT NOT NULL, PRIMARY KEY (project_key, session_id))`,
		`INSERT INTO entries VALUES
			('-home-ada-my garden/s', 0, 'u0', '{"uuid":"u0","type":"user"}'),
			('-home-ada-my garden/s', 1, NULL, '{"type":"summary", "text":"中<b>"}'),
			('-home-ada-my garden/s', 2, 'u2', '{"uuid":"u2","type":"assi'),
			('-home-ada-my garden/s', 3, 'u3', CAST(x'7b22610022ff7d' AS TEXT)),
			('-home-ada-my garden/s/subagents/agent-7', 0, 'u0', '{"uuid":"u0"}'),
			('-home-ada-my garden/one', 1, 'a', '{"uuid":"a"}'),
			('-home-ada-my garden/no-meta', 0, 'a', '{"uuid":"a"}')`,
		`INSERT INTO meta VALUES ('-home-ada-my garden/s', 4102444800000, 4),
			('-home-ada-my garden/s/subagents/agent-7', 1700000000001, 1), ('-home-ada-my garden/one', 1700000000002, 2)`,
		`INSERT INTO summaries VALUES ('-home-ada-my garden', 's', 1700000000000, '{"title":"x"}')`,
	)
	return path
}

func TestPythonFile(t *testing.T) {
	ctx := context.Background()
	path := python(t)
	key := agent.Key{Project: "-home-ada-my garden", Session: "s"}
	clock := time.UnixMilli(1800000000000) // before the file's last write: mtime goes up all the same
	s, err := Open(ctx, path, Options{Workspace: "/home/ada/my garden", Now: func() time.Time { return clock }})
	noErr(t, err)
	defer func() { noErr(t, s.Close()) }()

	want := []string{
		`{"uuid":"u0","type":"user"}`, `{"type":"summary", "text":"中<b>"}`, `{"uuid":"u2","type":"assi`, "{\"a\x00\"\xff}",
	}
	stored, err := s.Load(ctx, key)
	noErr(t, err)
	if len(stored) != len(want) {
		t.Fatalf("%d entries, want %d", len(stored), len(want))
	}
	for i, raw := range stored {
		if string(raw) != want[i] {
			t.Errorf("entry %d is %q, want %q", i, raw, want[i])
		}
	}
	if has, err := s.Has(ctx, key); err != nil || !has {
		t.Errorf("Has = %v, %v", has, err)
	}
	noErr(t, s.SetPrefix(ctx, key, agent.Prefix{System: "x"}))
	noErr(t, s.Append(ctx, key, storetest.Entry("u0", "known"), storetest.Entry("new", "new"), storetest.Entry("", "no id")))
	noErr(t, s.Append(ctx, key.Sub("7"), storetest.Entry("new", "new")))
	for _, session := range []string{"one", "no-meta"} {
		noErr(t, s.Append(ctx, agent.Key{Project: key.Project, Session: session}, storetest.Entry("b", "b")))
	}
	for query, want := range map[string]string{
		`SELECT group_concat(seq || ':' || coalesce(uid, '-')) FROM
			(SELECT * FROM entries WHERE store_key LIKE '%/s' ORDER BY seq)`: "0:u0,1:-,2:u2,3:u3,4:new,5:-",
		`SELECT mtime || ' ' || next_seq FROM meta WHERE store_key LIKE '%/s'`:                        "4102444800001 6",
		`SELECT next_seq FROM meta WHERE store_key LIKE '%agent-7'`:                                   "2",
		`SELECT group_concat(seq) FROM entries WHERE store_key LIKE '%/one'`:                          "1,2",
		`SELECT next_seq FROM meta WHERE store_key LIKE '%/no-meta'`:                                  "2",
		`SELECT project_key || session_id || mtime || data FROM summaries`:                            `-home-ada-my gardens1700000000000{"title":"x"}`,
		`SELECT group_concat(store_key || workspace) FROM flower_sessions`:                            "-home-ada-my garden/s",
		`SELECT count(*) FROM entries e WHERE uid IS NOT NULL AND payload NOT LIKE '%' || uid || '%'`: "1",
	} {
		var got string
		noErr(t, s.reader.QueryRow(query).Scan(&got))
		if got != want {
			t.Errorf("%s\ngives %s\nwant  %s", query, got, want)
		}
	}

	// It belongs to whoever asks: where it was made is not known.
	other := openAt(t, path, "/home/ada/my_garden")
	defer func() { noErr(t, other.Close()) }()
	if has, err := other.Has(ctx, key); err != nil || !has {
		t.Errorf("Has = %v, %v", has, err)
	}
	list, err := s.Sessions(ctx, key.Project)
	noErr(t, err)
	if len(list) != 3 || list[2].ID != "s" || list[2].Entries != 6 { // it was written first
		t.Errorf("sessions %v", list)
	}
	noErr(t, s.Fork(ctx, key, agent.Key{Project: key.Project, Session: "forked"}))
	noErr(t, s.Delete(ctx, key))
	if n := len(loadIDs(t, s, key.Sub("7"))); n != 0 {
		t.Errorf("%d entries of a deleted subagent", n)
	}
}

// TestLockedOut: a store waits for a lock, and stops waiting when it is told to.
func TestLockedOut(t *testing.T) {
	ctx := context.Background()
	s, path := openNew(t)
	blocker := openAt(t, path, "/w")
	defer func() { noErr(t, blocker.Close()) }()
	noErr(t, s.Append(ctx, shared, storetest.Entry("a", "a")))

	tx, err := blocker.writer.BeginTx(ctx, nil)
	noErr(t, err)
	short, cancel := context.WithTimeout(ctx, 60*time.Millisecond)
	defer cancel()
	err = s.Append(short, shared, storetest.Entry("b", "b"))
	if !errors.Is(err, context.DeadlineExceeded) || !isBusy(err) {
		t.Errorf("append while locked: %v", err)
	}
	if ids := loadIDs(t, s, shared); len(ids) != 1 { // reading is not writing
		t.Errorf("stored %q", ids)
	}
	done := make(chan error)
	go func() { done <- s.Append(ctx, shared, storetest.Entry("c", "c")) }()
	noErr(t, tx.Rollback())
	noErr(t, <-done)
	if ids := loadIDs(t, s, shared); !slices.Equal(ids, []string{"a", "c"}) {
		t.Errorf("stored %q", ids)
	}
}

// TestDiskFull: an append that does not fit leaves nothing behind, and the store goes on when there is room again.
func TestDiskFull(t *testing.T) {
	ctx := context.Background()
	s, _ := openNew(t)
	noErr(t, s.Append(ctx, shared, storetest.Entry("a", "a")))
	limit := func(pages string) {
		_, err := s.writer.Exec("PRAGMA max_page_count = " + pages)
		noErr(t, err)
	}
	limit("1") // as many as there are
	big := storetest.Entry("big", strings.Repeat("x", 100_000))
	if err := s.Append(ctx, shared, storetest.Entry("b", "b"), big); resultCode(err) != lib.SQLITE_FULL {
		t.Errorf("append to a full disk: %v", err)
	}
	if ids := loadIDs(t, s, shared); !slices.Equal(ids, []string{"a"}) {
		t.Errorf("stored %q", ids)
	}
	limit("1000000")
	noErr(t, s.Append(ctx, shared, storetest.Entry("b", "b"), big))
	if ids := loadIDs(t, s, shared); !slices.Equal(ids, []string{"a", "b", "big"}) {
		t.Errorf("stored %q", ids)
	}
	wantSound(t, s)
}

// TestClockSetBack: mtime is strictly increasing all the same.
func TestClockSetBack(t *testing.T) {
	ctx := context.Background()
	at := time.UnixMilli(1800000000000)
	s, err := Open(ctx, filepath.Join(t.TempDir(), "s.db"), Options{Now: func() time.Time { return at }})
	noErr(t, err)
	defer func() { noErr(t, s.Close()) }()
	last := time.Time{}
	for i, e := range storetest.Entries("e", 6) {
		if i == 3 {
			at = at.Add(-time.Hour)
		}
		key := agent.Key{Project: "p", Session: strconv.Itoa(i % 2)}
		noErr(t, s.Append(ctx, key, e))
		list, err := s.Sessions(ctx, "p")
		noErr(t, err)
		if list[0].ID != key.Session || !list[0].Changed.After(last) {
			t.Errorf("append %d: %v", i, list)
		}
		last = list[0].Changed
	}
}
