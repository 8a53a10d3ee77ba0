package cli

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"flower"
	"flower/agent"
	"flower/sqlite"
	"flower/transcript"
)

// shelfDir is a workspace with a run directory in which sessions can be put.
type shelfDir struct {
	*testing.T
	dir string
}

func newShelfDir(t *testing.T) *shelfDir {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &shelfDir{t, dir}
}

func (d *shelfDir) key(id string) agent.Key {
	return agent.Key{Project: flower.ProjectKey(d.dir), Session: id}
}

// store opens the store, does something and closes it.
func (d *shelfDir) store(f func(*sqlite.Store) error) {
	d.Helper()
	s, err := sqlite.Open(context.Background(), filepath.Join(d.dir, "runs", storeFile), sqlite.Options{Workspace: d.dir})
	if err != nil {
		d.Fatal(err)
	}
	if err := f(s); err != nil {
		d.Fatal(err)
	}
	if err := s.Close(); err != nil {
		d.Fatal(err)
	}
}

// run runs a command line in the directory.
func (d *shelfDir) run(stdin string, args ...string) (code int, out, failed string) {
	d.Helper()
	var stdout, stderr bytes.Buffer
	code = Main(args, []string{"HOME=" + d.dir, "LANG=C", "COLUMNS=80"}, Stdio{In: strings.NewReader(stdin), Out: &stdout, Err: &stderr},
		Options{Dir: d.dir, Signals: make(chan os.Signal)})
	noMissing(d.T, stdout.String()+stderr.String())
	return code, stdout.String(), stderr.String()
}

// talk is a conversation: what is said by turns.
func (d *shelfDir) talk(key agent.Key, agentID string, blocks ...[]transcript.Block) []transcript.Entry {
	var entries []transcript.Entry
	parent := ""
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for i, content := range blocks {
		m := transcript.Message{Role: transcript.RoleUser, Content: content}
		if i%2 == 1 {
			m.Role, m.ID, m.Model = transcript.RoleAssistant, fmt.Sprint("m", agentID, i), "claude-opus-5-5"
		}
		id := fmt.Sprint(agentID, "u", i)
		entries = append(entries, transcript.NewEntry(transcript.Stamp{
			SessionID: key.Session, AgentID: agentID, CWD: d.dir, Version: "1",
		}, id, parent, at.Add(time.Duration(i)*time.Second), m))
		parent = id
	}
	return entries
}

func words(s string) []transcript.Block { return []transcript.Block{transcript.Text(s)} }

// family stores the session first with two subagents at once, both with the same title.
func (d *shelfDir) family() {
	key := d.key(first)
	call := func(call, prompt string) transcript.Block {
		return transcript.ToolUse(call, "Agent", in(map[string]string{"description": "look", "prompt": prompt, "subagent_type": "worker"}))
	}
	one, two := agent.SubagentID(key, "c1"), agent.SubagentID(key, "c2")
	d.store(func(s *sqlite.Store) error {
		ctx := context.Background()
		for k, entries := range map[agent.Key][]transcript.Entry{
			key: d.talk(key, "", words("begin"), []transcript.Block{call("c1", "look left"), call("c2", "look right")},
				[]transcript.Block{transcript.ToolResult("c1", false, transcript.Text("left")), transcript.ToolResult("c2", false, transcript.Text("right"))},
				words("\x1b[2Jboth seen \u202e key a-very-secret-key-0123456789")),
			key.Sub(one): d.talk(key, one, words("look left"), words("a wall")),
			key.Sub(two): d.talk(key, two, words("look right"), words("a door")),
		} {
			if err := s.Append(ctx, k, entries...); err != nil {
				return err
			}
		}
		return nil
	})
}

const (
	first  = "6f1c2a34-0b1d-4c5e-8f90-a1b2c3d4e5f6"
	second = "6f1c9999-0b1d-4c5e-8f90-a1b2c3d4e5f6"
)

// TestShow: subagents stand where they were started, also in a copy, whose ids say nothing about the calls; nothing can
// control the terminal.
func TestShow(t *testing.T) {
	d := newShelfDir(t)
	d.family()
	d.store(func(s *sqlite.Store) error { return s.Fork(context.Background(), d.key(first), d.key(second)) })
	if err := os.WriteFile(filepath.Join(d.dir, ".env"), []byte("ANTHROPIC_API_KEY=a-very-secret-key-0123456789\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{first, second} {
		code, out, _ := d.run("", "sessions", "show", id)
		if code != exitOK {
			t.Fatalf("%s: exit %d", id, code)
		}
		at := 0
		for _, part := range []string{"   begin\n", "> w1 worker: look\n", "w1| a wall\n", "> w2 worker: look\n", "w2| a door\n", "both seen"} {
			i := strings.Index(out[at:], part)
			if i < 0 {
				t.Fatalf("%s: %q does not come in its place:\n%s", id, part, out)
			}
			at += i
		}
		for _, bad := range []string{"\x1b", "\u202e", "a-very-secret"} {
			if strings.Contains(out, bad) {
				t.Errorf("%q is shown", bad)
			}
		}
	}
}

func TestFindSession(t *testing.T) {
	d := newShelfDir(t)
	d.family()
	d.store(func(s *sqlite.Store) error { return s.Fork(context.Background(), d.key(first), d.key(second)) })
	for _, tt := range []struct {
		id   string
		code int
		says string
	}{
		{first, exitOK, ""}, {"6f1c2", exitOK, ""}, {"6f1c", exitFailed, "2 sessions begin with"}, {"7", exitFailed, "there is no session"},
		{"", exitFailed, "there is no session"}, {"%", exitFailed, "there is no session"}, {first + "/subagents", exitFailed, "there is no session"},
	} {
		code, _, failed := d.run("", "sessions", "show", "--", tt.id)
		if code != tt.code || !strings.Contains(failed, tt.says) || strings.Count(failed, "\n") > 1 {
			t.Errorf("%q: exit %d, %s", tt.id, code, failed)
		}
	}
}

// TestTransferKeepsSubagents: after export and import into another workspace a call finds the transcript of its subagent
// under the id it has there, and another export has the same texts.
func TestTransferKeepsSubagents(t *testing.T) {
	from, to := newShelfDir(t), newShelfDir(t)
	from.family()
	code, out, failed := from.run("", "sessions", "export", first)
	if code != exitOK || strings.Count(out, "\n") != 8 {
		t.Fatalf("exit %d, %s\n%s", code, failed, out)
	}
	if lines := strings.Split(out, "\n"); !strings.Contains(lines[1], `"c2"`) || !strings.Contains(lines[2], "look left") || !strings.Contains(lines[7], "both seen") {
		t.Errorf("the order is another:\n%s", out)
	}
	if code, _, failed = to.run(out, "sessions", "import", "-"); code != exitOK {
		t.Fatalf("exit %d, %s", code, failed)
	}
	to.store(func(s *sqlite.Store) error {
		for call, want := range map[string]string{"c1": "a wall", "c2": "a door"} {
			stored, err := s.Load(context.Background(), to.key(first).Sub(agent.SubagentID(to.key(first), call)))
			if err != nil || len(stored) != 2 || !strings.Contains(string(stored[1]), want) {
				t.Errorf("%s: %v, %s", call, err, stored)
			}
		}
		return nil
	})
	_, again, _ := to.run("", "sessions", "export", first)
	strip := func(jsonl string) (texts []string) {
		for line := range strings.Lines(jsonl) {
			var e transcript.Entry
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				t.Fatal(err)
			}
			data, _ := json.Marshal(e.Message)
			texts = append(texts, e.UUID+e.ParentUUID+e.Timestamp+string(data))
		}
		return texts
	}
	if a, b := strip(out), strip(again); fmt.Sprint(strings.Join(a, "\n")) != strings.Join(b, "\n") {
		t.Errorf("another session came out:\n%s\n%s", out, again)
	}
}

// TestReadingWritesNothing: all that only reads leaves a directory as it is in which nothing can be written.
func TestReadingWritesNothing(t *testing.T) {
	d := newShelfDir(t)
	d.family()
	runs := filepath.Join(d.dir, "runs")
	for _, dir := range []string{runs, d.dir} {
		if err := os.Chmod(dir, 0o500); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Chmod(dir, 0o700) })
	}
	before := snapshotOf(t, d.dir)
	for _, args := range [][]string{
		{"status"}, {"status", "--json"}, {"sessions"}, {"sessions", "list", "--json"}, {"sessions", "show", first}, {"sessions", "export", first},
		{"status", "-r", "nowhere"}, {"sessions", "-r", "nowhere"}, {"sessions", "-w", "/nowhere"},
	} {
		if code, out, failed := d.run("", args...); code != exitOK || out == "" {
			t.Errorf("%q: exit %d, %s", args, code, failed)
		}
	}
	if after := snapshotOf(t, d.dir); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
}

// snapshotOf is everything below a directory that a write would change.
func snapshotOf(t *testing.T, dir string) string {
	t.Helper()
	var out strings.Builder
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		var data []byte
		if info.Mode().IsRegular() {
			data, err = os.ReadFile(path)
		}
		fmt.Fprintf(&out, "%s %v %d %v %x\n", path, info.Mode(), info.Size(), info.ModTime(), sha256.Sum256(data))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestStatusJSON checks names and types of what programs rely on.
func TestStatusJSON(t *testing.T) {
	d := newShelfDir(t)
	d.family()
	runs := filepath.Join(d.dir, "runs")
	for name, text := range map[string]string{
		"lineage.json": fmt.Sprintf(`{"workspace": %q, "woke": 2, "steps": {"干活": %q, "lost": "nobody"}}`, d.dir, first),
		"manifest.json": fmt.Sprintf(`[{"step":"干活","session_id":%q,"ok":true,"cost_usd":0.25,"ended_at":20,"started_at":10,"run":"r1","context":7},
			{"step":"干活#round2","session_id":%q,"ok":true,"cost_usd":0.5,"started_at":30,"ended_at":40,"run":"r2","context":9},
			{"step":"干活·判定#1","ok":false,"error":"cut \u009b31m","cost_usd":0.25,"started_at":41,"ended_at":42,"run":"r2","unpriced":true},
			{"step":"once","ok":true,"cost_usd":1,"started_at":1,"ended_at":2,"run":"r0"}]`, first, first),
	} {
		if err := os.WriteFile(filepath.Join(runs, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	code, out, failed := d.run("", "status", "--json")
	if code != exitOK || strings.Contains(out, "\u009b") {
		t.Fatalf("exit %d, %s", code, failed)
	}
	var got struct {
		Schema, Wakes, Inbox int
		Waking               bool
		Brief, Goal, Running any
		Steps                []map[string]any
		LastRun              map[string]any `json:"last_run"`
		Totals               map[string]any
		Problems             []any
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if got.Schema != 1 || got.Wakes != 2 || got.Waking || got.Brief != nil || got.Goal != nil || got.Running != nil || got.Problems == nil {
		t.Errorf("got %+v", got)
	}
	want := []map[string]any{
		{"name": "干活", "session_id": first, "stored": true, "entries": 4.0, "context": 9.0, "attempts": 3.0, "cost_usd": 1.0, "unpriced": true},
		{"name": "lost", "session_id": "nobody", "stored": false, "entries": 0.0, "last_activity": nil, "attempts": 0.0},
		{"name": "once", "session_id": nil, "cost_usd": 1.0, "last_activity": "1970-01-01T00:00:02.000Z"},
	}
	if len(got.Steps) != len(want) {
		t.Fatalf("steps %+v", got.Steps)
	}
	for i, step := range want {
		for key, value := range step {
			if got.Steps[i][key] != value {
				t.Errorf("step %d: %s is %v, want %v", i, key, got.Steps[i][key], value)
			}
		}
	}
	if l := got.LastRun; l["run"] != "r2" || l["step"] != "干活·判定#1" || l["cost_usd"] != 0.75 || l["error"] != "cut \u009b31m" || l["started_at"] != "1970-01-01T00:00:30.000Z" {
		t.Errorf("last run %+v", l)
	}
	if c := got.Totals; c["runs"] != 3.0 || c["cost_usd"] != 2.0 || c["unpriced"] != true || c["sessions"] != 1.0 {
		t.Errorf("totals %+v", c)
	}
}

// TestDeleteHoldsTheSession: nobody can go on in a session from when it is looked at until it is gone.
func TestDeleteHoldsTheSession(t *testing.T) {
	d := newShelfDir(t)
	d.family()
	db, err := sql.Open("sqlite", filepath.Join(d.dir, "runs", storeFile))
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	exec := func(query string) {
		t.Helper()
		if _, err := db.Exec(query); err != nil {
			t.Error(err)
		}
	}
	exec(`BEGIN IMMEDIATE`) // nothing can be deleted until this ends
	var code int
	done := make(chan struct{})
	go func() {
		defer close(done)
		code, _, _ = d.run("", "sessions", "delete", first)
	}()
	held, runs := false, true
	for !held && runs {
		_, held = flower.Using(filepath.Join(d.dir, "runs"), first)
		select {
		case <-done:
			runs = false
		default:
		}
	}
	exec(`ROLLBACK`)
	<-done
	if !held || code != 0 {
		t.Errorf("held: %v, exit code %d", held, code)
	}
	if _, held := flower.Using(filepath.Join(d.dir, "runs"), first); held {
		t.Error("it is held afterwards")
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}
