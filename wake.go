package flower

import (
	"path/filepath"

	"flower/document"
	"flower/internal/disk"
	"flower/internal/workbench"
)

// DefaultRunDir is where a run keeps its books, relative to the current directory.
const DefaultRunDir = "runs"

// Wake is what a directory remembers.
type Wake struct {
	// Waking says that the brief is frozen: a run goes on instead of starting.
	Waking bool
	Brief  string // path of the brief, "" if there is none
	Goal   string // path of the goal, "" if there is none
	Checks int    // number of checks of the goal
	Woke   int    // wakes so far
	// Steps maps step names to session ids, as recorded; whether the store still knows them is not checked.
	Steps map[string]string
	// Problems say why something that is there is not used.
	Problems []NotContinued
}

// WakeState looks at a workspace and a run directory ("" is DefaultRunDir) without writing a byte: it works on a read-only
// disk, on directories that do not exist, and while another process runs there. What cannot be read counts as absent.
func WakeState(workspace, runDir string) Wake {
	w := Wake{Steps: map[string]string{}}
	if runDir == "" {
		runDir = DefaultRunDir
	}
	path, err := ResolveWorkspace(workspace)
	if err != nil {
		return w
	}
	if _, half, _ := readArchiving(runDir); half {
		return w // the rest of it is about to go, too
	}
	bench := workbench.Open(path)
	w.Brief, w.Goal = bench.NotePath(workbench.Brief), bench.NotePath(workbench.Goal)
	if text, ok := readNote(w.Brief); ok {
		w.Waking = document.ParseBrief(text).Complete()
	} else {
		w.Brief = ""
	}
	if text, ok := readNote(w.Goal); ok {
		w.Checks = len(document.ParseGoal(text).Checks)
	} else {
		w.Goal = ""
	}
	for _, name := range []string{workbench.Brief, workbench.Goal} {
		path := bench.NotePath(name)
		if _, err := disk.ReadRegular(path, maxNote); err != nil && !absent(err) {
			w.Problems = append(w.Problems, NotContinued{Reason: Unreadable, Detail: path})
		}
	}
	l := readLineage(filepath.Join(runDir, lineageFile), path, func(string) bool { return true })
	w.Woke, w.Steps = l.woke, l.steps
	for _, r := range l.refused {
		w.Problems = append(w.Problems, r.said(path))
	}
	return w
}

// maxNote bounds what is read of a document; no model writes more.
const maxNote = 16 << 20

func readNote(path string) (string, bool) {
	data, err := disk.ReadRegular(path, maxNote)
	return string(data), err == nil
}
