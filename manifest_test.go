package flower

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
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

// TestManifestFollow changes a manifest between two rows of a run in ways that can and cannot be followed: the short way
// gives what the long way would.
func TestManifestFollow(t *testing.T) {
	other := func(step string) string {
		raw, err := marshal(StepResult{Step: step, Run: "other"})
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	add := func(row string) func(string) string {
		return func(old string) string { return strings.TrimSuffix(old, "\n]") + ",\n  " + row + "\n]" }
	}
	for _, tt := range []struct {
		name   string
		change func(old string) string
		short  bool
	}{
		{"nothing", func(old string) string { return old }, true},
		{"another run", add(other("x")), true},
		{"several rows", func(old string) string { return add(other("y"))(add(other("x"))(old)) }, true},
		{"a row of another shape", add(`{"step":"x","more":[1, 2]}`), false},
		{"no row", add(`7`), false},
		{"a row of this run", add(`{"step":"x","run":"r"}`), false},
		{"other layout", func(old string) string { return old + "\n" }, false},
		{"rows in front", func(old string) string { return "[" + other("x") + "," + old[1:] }, false},
		{"this run's are gone", func(string) string { return "[\n  " + other("x") + "\n]" }, false},
		{"empty", func(string) string { return "[]" }, false},
	} {
		m := &manifest{dir: t.TempDir(), run: "r", now: time.Now}
		for i := range 2 {
			if _, err := m.add(t.Context(), StepResult{Step: fmt.Sprint("s", i), Run: "r"}); err != nil {
				t.Fatal(err)
			}
		}
		old := []byte(tt.change(string(read(t, m.path()))))
		m.rows = append(m.rows, StepResult{Step: "new", Run: "r"}, StepResult{Step: "newer", Run: "r"})
		long, err := m.merge(old)
		if err != nil {
			t.Fatal(err)
		}
		short, ok, err := m.follow(bytes.Clone(old))
		if err != nil || ok != tt.short {
			t.Errorf("%s: followed: %v, %v", tt.name, ok, err)
		}
		if got, want := sortedRows(t, short), sortedRows(t, long); ok && !slices.Equal(got, want) {
			t.Errorf("%s: rows\n%s\nwant\n%s", tt.name, got, want)
		}
	}
}

// sortedRows are the rows of a manifest without their order.
func sortedRows(t *testing.T, data []byte) (rows []string) {
	t.Helper()
	var raws []json.RawMessage
	if len(data) > 0 {
		if err := json.Unmarshal(data, &raws); err != nil {
			t.Fatalf("%v\n%s", err, data)
		}
	}
	for _, raw := range raws {
		var out bytes.Buffer
		if err := json.Compact(&out, raw); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, out.String())
	}
	slices.Sort(rows)
	return rows
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
