package flower

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestManifestRowForm(t *testing.T) {
	dir := t.TempDir()
	m := &manifest{dir: dir, run: "20260102-030405-abcdef", now: time.Now}
	at := time.Unix(1_700_000_000, 250_000_000)
	if _, err := m.add(t.Context(), StepResult{
		Step: "干活", SessionID: "s", OK: true, CostUSD: 0.5, Turns: 3, Text: "<done> & so on", StartedAt: at,
		EndedAt: at.Add(1234567 * time.Microsecond), Attempts: 1, Context: 900, Run: m.run,
	}); err != nil {
		t.Fatal(err)
	}
	got := string(read(t, m.path()))
	want := `[
  {
    "step": "干活",
    "session_id": "s",
    "ok": true,
    "cost_usd": 0.5,
    "num_turns": 3,
    "text": "<done> & so on",
    "error": null,
    "started_at": 1700000000.25,
    "ended_at": 1700000001.484567,
    "attempts": 1,
    "errors": [],
    "resumed": false,
    "retired": [],
    "context": 900,
    "duration_s": 1.23,
    "run": "20260102-030405-abcdef",
`
	if !strings.HasPrefix(got, want) {
		t.Errorf("manifest:\n%s\nwant it to begin:\n%s", got, want)
	}
	rows, err := ReadManifest(dir)
	if err != nil || len(rows) != 1 || rows[0].Text != "<done> & so on" || rows[0].Turns != 3 {
		t.Errorf("read back: %+v, %v", rows, err)
	}
}

func TestManifestKeepsOtherRuns(t *testing.T) {
	dir := t.TempDir()
	foreign := `[{"step":"old","run":"x","extra":{"a": 1.50}}, 7]`
	if err := os.WriteFile(filepath.Join(dir, manifestFile), []byte(foreign), 0o600); err != nil {
		t.Fatal(err)
	}
	m := &manifest{dir: dir, run: "r", now: time.Now}
	for i := range 2 {
		if _, err := m.add(t.Context(), StepResult{Step: fmt.Sprint("s", i), Run: "r"}); err != nil {
			t.Fatal(err)
		}
	}
	var rows []json.RawMessage
	if err := json.Unmarshal(read(t, m.path()), &rows); err != nil || len(rows) != 4 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	if !strings.Contains(string(rows[0]), "1.50") || string(rows[1]) != "7" {
		t.Errorf("foreign rows changed: %s %s", rows[0], rows[1])
	}
}

func TestManifestUnreadableIsPutAside(t *testing.T) {
	for _, bad := range []string{"", "{", `{"a":1}`, "null", "[1] []", "\x00\x00"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, manifestFile), []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		m := &manifest{dir: dir, run: "r", now: time.Now}
		kept, err := m.add(t.Context(), StepResult{Step: "s", Run: "r"})
		if err != nil || kept == "" || string(read(t, kept)) != bad {
			t.Errorf("%q: kept %q, %v", bad, kept, err)
		}
		if rows, err := ReadManifest(dir); err != nil || len(rows) != 1 {
			t.Errorf("%q: %d rows after, %v", bad, len(rows), err)
		}
	}
}

// TestManifestManyWriters has many runs write at once: no row is lost.
func TestManifestManyWriters(t *testing.T) {
	dir := t.TempDir()
	const writers, rows = 8, 10
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			m := &manifest{dir: dir, run: fmt.Sprint("r", w), now: time.Now}
			for i := range rows {
				if _, err := m.add(context.Background(), StepResult{Step: fmt.Sprint("s", i), Run: m.run}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	got, err := ReadManifest(dir)
	if err != nil || len(got) != writers*rows {
		t.Errorf("%d rows, %v; want %d", len(got), err, writers*rows)
	}
}

func TestRunID(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	a, b := NewRunID(at), NewRunID(at)
	if !regexp.MustCompile(`^20260102-030405-[0-9a-f]{6}$`).MatchString(a) || a == b {
		t.Errorf("ids %q and %q", a, b)
	}
}
