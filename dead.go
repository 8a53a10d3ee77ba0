package flower

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"

	"flower/internal/disk"
)

// Killed is the error of a manifest row for what a run had spent that ended without writing it down: it was killed, or the
// power failed. The next run writes the row.
const Killed = "killed"

// noRun is the id of no run: a manifest of that id keeps the rows of all others.
const noRun = "\x00"

// leastOwed is the least amount in USD that is worth a row: less is rounding.
const leastOwed = 1e-6

// deadOwner is what the lock file of a run directory says of a holder that never released it; false if it says nothing.
func deadOwner(runDir string) (Owner, os.FileInfo, bool) {
	path := filepath.Join(runDir, runLeaseFile)
	note, err := disk.ReadRegular(path, disk.MaxNote+1)
	if err != nil {
		return Owner{}, nil, false
	}
	info, err := os.Stat(path)
	if err != nil {
		return Owner{}, nil, false
	}
	o, ok := parseOwner(bytes.TrimRight(note, " \n"))
	return o, info, ok && o.Run != "" && o.Step != ""
}

// bookDead writes a row for what a dead run had spent beyond its rows. Doing it again finds that row and writes nothing.
func (rt *Runtime) bookDead(o Owner, last os.FileInfo) {
	rows, err := ReadManifest(rt.opts.RunDir)
	if err != nil || o.Run == rt.opts.RunID {
		return // what cannot be read is put aside at the next write
	}
	owed := o.CostUSD
	for _, r := range rows {
		if r.Run == o.Run {
			owed -= r.CostUSD
		}
	}
	if owed < leastOwed {
		return
	}
	row := StepResult{
		Step: o.Step, Run: o.Run, Error: Killed, CostUSD: owed, Unpriced: o.Unpriced, Attempts: 1,
		StartedAt: o.Started, EndedAt: last.ModTime(),
	}
	if !strings.Contains(o.Step, "·") { // a judge's session stands nowhere
		l := readLineage(filepath.Join(rt.opts.RunDir, lineageFile), rt.workspace, func(string) bool { return true })
		row.SessionID = l.steps[baseName(o.Step)]
	}
	m := &manifest{dir: rt.opts.RunDir, run: noRun, now: rt.opts.Now}
	kept, err := m.add(context.Background(), row)
	if kept != "" {
		rt.emit(NotContinued{Reason: Unreadable, Detail: manifestFile, Kept: kept})
	}
	rt.booksFailed(m.path(), err)
}
