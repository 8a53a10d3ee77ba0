package flower

import (
	"os"
	"path/filepath"
	"testing"

	"flower/internal/disk"
)

// TestWhatADeadRunSpentIsBooked: the process is killed in an attempt that has cost something; the next run writes that
// down, once.
func TestWhatADeadRunSpentIsBooked(t *testing.T) {
	w := newWorld(t)
	before := w.must(&Workflow{Steps: []Step{step("one")}}) // $0.25 with a row
	died := Owner{
		PID: os.Getpid(), Run: before.Results[0].Run, Workspace: w.dir, Step: "one#round2", CostUSD: 1, Started: w.now(),
	}
	lock := filepath.Join(w.runs, runLeaseFile)
	for range 2 {
		if err := os.WriteFile(lock, died.note(), disk.PrivateMode); err != nil {
			t.Fatal(err)
		}
		rt := w.start()
		if err := rt.Claim(); err != nil {
			t.Fatal(err)
		}
		rt.Release()
	}
	rows, err := ReadManifest(w.runs)
	if err != nil || len(rows) != 2 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	row := rows[1]
	if row.Step != "one#round2" || row.OK || row.Error != Killed || row.CostUSD != 0.75 || row.Run != died.Run || row.SessionID != before.Sessions["one"] {
		t.Errorf("row %+v", row)
	}
}

func TestNothingIsBookedWithoutADeadRun(t *testing.T) {
	for name, note := range map[string]string{
		"empty": "", "no note": "hello", "no run": `{"pid":1,"step":"one","cost_usd":3}`, "no step": `{"pid":1,"run":"r","cost_usd":3}`,
		"nothing spent": `{"pid":1,"run":"r","step":"one"}`,
	} {
		w := newWorld(t)
		if err := os.MkdirAll(w.runs, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(w.runs, runLeaseFile), []byte(note), 0o600); err != nil {
			t.Fatal(err)
		}
		rt := w.start()
		if err := rt.Claim(); err != nil {
			t.Fatal(err)
		}
		rt.Release()
		if rows, err := ReadManifest(w.runs); err != nil || len(rows) != 0 {
			t.Errorf("%s: %+v, %v", name, rows, err)
		}
	}
}
