package flower

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"flower/internal/workbench"
)

// tree is everything below a directory: names, modes, times, contents.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		fmt.Fprintln(&all, path, info.Mode(), info.ModTime().UnixNano())
		if info.Mode().IsRegular() {
			fmt.Fprintf(&all, "%x\n", sha256.Sum256(read(t, path)))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

func TestWakeState(t *testing.T) {
	full := func(w *world) {
		if _, err := w.job("a clock"); err != nil {
			w.t.Fatal(err)
		}
	}
	note := func(w *world, name string) string { return workbench.Open(w.dir).NotePath(name) }
	for _, test := range []struct {
		name    string
		make    func(w *world)
		waking  bool
		brief   bool
		goal    bool
		checks  int
		woke    int
		steps   int
		problem Reason
	}{
		{"nothing there", func(*world) {}, false, false, false, 0, 0, 0, ""},
		{"no workspace", func(w *world) { w.dir += "/gone"; w.runs += "/gone" }, false, false, false, 0, 0, 0, ""},
		{"a file as workspace", func(w *world) { put(t, w.dir+"/file", ""); w.dir += "/file" }, false, false, false, 0, 0, 0, ""},
		{"a finished run", full, true, true, true, 2, 1, 3, ""},
		{"a read-only disk", func(w *world) {
			full(w)
			for _, dir := range []string{w.runs, filepath.Join(w.dir, ".flower/notes"), w.dir} {
				must(w.t, os.Chmod(dir, 0o500))
				w.t.Cleanup(func() { must(w.t, os.Chmod(dir, 0o700)) })
			}
		}, true, true, true, 2, 1, 3, ""},
		{"an unfinished brief", func(w *world) { w.writeNote(workbench.Brief, "## 目标\n\nx\n") }, false, true, false, 0, 0, 0, ""},
		{"an unfilled section", func(w *world) {
			w.writeNote(workbench.Brief, strings.Replace(brief.Markdown(), "no network", "(未填)", 1))
		}, false, true, false, 0, 0, 0, ""},
		{"directories as documents", func(w *world) {
			full(w)
			for _, name := range []string{workbench.Brief, workbench.Goal} {
				must(w.t, os.Remove(note(w, name)), os.Mkdir(note(w, name), 0o755))
			}
		}, false, false, false, 0, 1, 3, Unreadable},
		{"pipes as documents", func(w *world) {
			full(w)
			for _, name := range []string{workbench.Brief, workbench.Goal} {
				must(w.t, os.Remove(note(w, name)), syscall.Mkfifo(note(w, name), 0o600))
			}
		}, false, false, false, 0, 1, 3, Unreadable},
		{"a pipe as lineage", func(w *world) {
			full(w)
			must(w.t, os.Remove(filepath.Join(w.runs, lineageFile)), syscall.Mkfifo(filepath.Join(w.runs, lineageFile), 0o600))
		}, true, true, true, 2, 0, 0, Unreadable},
		{"a directory as lineage", func(w *world) { must(w.t, os.MkdirAll(filepath.Join(w.runs, lineageFile), 0o755)) },
			false, false, false, 0, 0, 0, Unreadable},
		{"a file as run directory", func(w *world) { put(t, w.runs, "") }, false, false, false, 0, 0, 0, ""},
		{"a file as workbench", func(w *world) { put(t, w.dir+"/.flower", "") }, false, false, false, 0, 0, 0, ""},
		{"torn lineage", func(w *world) { put(t, filepath.Join(w.runs, lineageFile), `{"workspace`) }, false, false, false, 0, 0, 0, Unreadable},
		{"a copied directory", func(w *world) {
			put(t, filepath.Join(w.runs, lineageFile), `{"workspace":"/elsewhere","woke":3,"steps":{"a":"b"}}`)
		}, false, false, false, 0, 0, 0, WorkspaceDiffers},
		{"absurd wakes", func(w *world) {
			put(t, filepath.Join(w.runs, lineageFile), fmt.Sprintf(`{"workspace":%q,"woke":9223372036854775807}`, w.dir))
		}, false, false, false, 0, 0, 0, WrongCount},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newJob(t)
			root := w.dir
			w.t = t
			test.make(w)
			before := tree(t, root)
			got := WakeState(w.dir, w.runs)
			if after := tree(t, root); after != before {
				t.Errorf("written: before\n%s\nafter\n%s", before, after)
			}
			if got.Waking != test.waking || (got.Brief != "") != test.brief || (got.Goal != "") != test.goal ||
				got.Checks != test.checks || got.Woke != test.woke || len(got.Steps) != test.steps || got.Steps == nil {
				t.Errorf("%+v", got)
			}
			if problem := len(got.Problems) > 0; problem != (test.problem != "") || problem && got.Problems[0].Reason != test.problem {
				t.Errorf("problems %+v", got.Problems)
			}
		})
	}
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestArchive(t *testing.T) {
	w := newJob(t)
	p := newPerson(t, w, HumanOptions{Timeout: -1})
	w.human = p.Human
	if dir, err := w.start().Archive(t.Context()); dir != "" || err != nil {
		t.Errorf("nothing there: %q, %v", dir, err)
	}
	if files, _ := os.ReadDir(w.dir); len(files) != 0 {
		t.Errorf("written: %v", files)
	}
	first := w.mustJob("a clock")
	must(t, p.Say(t.Context(), "never read"))
	dir, err := w.start().Archive(t.Context())
	if err != nil || filepath.Dir(dir) != filepath.Join(w.dir, ".flower/notes/archive") {
		t.Fatalf("%q, %v", dir, err)
	}
	equal(t, "archive", w.archived(), []string{lineageFile, workbench.Goal, workbench.Brief})
	if state := WakeState(w.dir, w.runs); state.Waking || state.Woke != 0 || len(state.Steps) != 0 || state.Goal != "" {
		t.Errorf("%+v", state)
	}
	if ok, err := w.rt.HasSession(t.Context(), first.Sessions[StepWork]); err != nil || !ok {
		t.Errorf("the store was touched: %v, %v", ok, err)
	}
	second := w.mustJob("a calendar")
	if second.Woke != 1 || second.Sessions[StepWork] == first.Sessions[StepWork] {
		t.Errorf("%+v", second)
	}
	notIn(t, "coordinator", w.toldTo(coordinator), "never read")
}

// TestArchiveMovesAllOrNothing: one of the moves cannot be made.
func TestArchiveMovesAllOrNothing(t *testing.T) {
	w := newJob(t)
	w.mustJob("a clock")
	rt := w.start()
	put(t, filepath.Join(w.dir, ".flower/notes/archive"), "in the way")
	before := tree(t, w.dir)
	if dir, err := rt.Archive(t.Context()); err == nil || dir != "" {
		t.Errorf("%q, %v", dir, err)
	}
	if after := tree(t, w.dir); after != before {
		t.Errorf("before\n%s\nafter\n%s", before, after)
	}
	must(t, os.Remove(filepath.Join(w.dir, ".flower/notes/archive")))

	// The last of three moves fails, because its source goes by the name of the one before.
	paths := []string{filepath.Join(w.runs, lineageFile), workbench.Open(w.dir).NotePath(workbench.Brief)}
	paths = append(paths, filepath.Join(w.dir, "elsewhere", workbench.Brief))
	put(t, paths[2], "another")
	if dir, err := rt.archive(paths...); err == nil || dir != "" {
		t.Errorf("%q, %v", dir, err)
	}
	for _, path := range paths {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(w.dir, ".flower/notes/archive/*")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestArchiveCut: of an archive that a process has left half made nothing is remembered, and the next run finishes it.
func TestArchiveCut(t *testing.T) {
	const name = "20260102-030405"
	for _, test := range []struct {
		name string
		cut  func(moves [][2]string)
	}{
		{"nothing moved", func([][2]string) {}},
		{"one moved", func(m [][2]string) { must(t, os.Rename(m[0][0], m[0][1])) }},
		{"two moved, and the third name taken", func(m [][2]string) {
			must(t, os.Rename(m[0][0], m[0][1]), os.Rename(m[1][0], m[1][1]), os.WriteFile(m[2][1], nil, 0o600))
		}},
		{"copied, and not removed", func(m [][2]string) { put(t, m[0][1], string(read(t, m[0][0]))) }},
		{"all moved", func(m [][2]string) {
			for _, move := range m {
				must(t, os.Rename(move[0], move[1]))
			}
		}},
	} {
		for _, anew := range []bool{false, true} {
			w := newJob(t)
			p := newPerson(t, w, HumanOptions{Timeout: -1})
			w.human = p.Human
			first := w.mustJob("a clock")
			must(t, p.Say(t.Context(), "never read"))
			dir := filepath.Join(w.dir, ".flower/notes/archive", name)
			must(t, os.MkdirAll(dir, 0o755))
			var moves [][2]string
			for _, path := range w.start().history() {
				moves = append(moves, [2]string{path, filepath.Join(dir, filepath.Base(path))})
			}
			put(t, filepath.Join(w.runs, archivingFile), `{"archive":"`+name+`"}`)
			test.cut(moves)
			before := tree(t, w.dir)
			if state := WakeState(w.dir, w.runs); state.Waking || state.Brief != "" || state.Goal != "" || len(state.Steps) > 0 || len(state.Problems) > 0 {
				t.Errorf("%s: %+v", test.name, state)
			}
			if after := tree(t, w.dir); after != before {
				t.Errorf("%s: written by a look", test.name)
			}
			if anew {
				if _, err := w.start().Archive(t.Context()); err != nil {
					t.Errorf("%s: %v", test.name, err)
				}
			}
			second := w.mustJob("a calendar")
			if second.Woke != 1 || second.Sessions[StepWork] == first.Sessions[StepWork] {
				t.Errorf("%s: %+v", test.name, second)
			}
			for _, move := range moves {
				if _, err := os.Stat(move[1]); err != nil {
					t.Errorf("%s: %v", test.name, err)
				}
			}
			notIn(t, "coordinator", w.toldTo(coordinator), "never read")
			if _, there, err := readArchiving(w.runs); there || err != nil {
				t.Errorf("%s: not finished: %v", test.name, err)
			}
		}
	}
}

// TestArchivingUnusable: a note of an archive that is none of ours is put aside, and nothing moves.
func TestArchivingUnusable(t *testing.T) {
	for _, bad := range []string{"", "{", `"x"`, `{"archive":"../../x"}`, `{"archive":7}`, "\x00\x00"} {
		w := newJob(t)
		first := w.mustJob("a clock")
		path := filepath.Join(w.runs, archivingFile)
		put(t, path, bad)
		if state := WakeState(w.dir, w.runs); !state.Waking {
			t.Errorf("%q: %+v", bad, state)
		}
		if second := w.mustJob(""); second.Sessions[StepWork] != first.Sessions[StepWork] {
			t.Errorf("%q: %+v", bad, second)
		}
		if kept, _ := filepath.Glob(path + ".bad-*"); len(kept) != 1 || string(read(t, kept[0])) != bad {
			t.Errorf("%q: kept %q", bad, kept)
		}
	}
}

// TestArchiveOfOddThings: what is no document and no lineage goes as well.
func TestArchiveOfOddThings(t *testing.T) {
	w := newJob(t)
	put(t, filepath.Join(w.runs, lineageFile), "torn")
	bench := workbench.Open(w.dir)
	must(t, bench.Create(), os.Mkdir(bench.NotePath(workbench.Brief), 0o755), syscall.Mkfifo(bench.NotePath(workbench.Goal), 0o600))
	if _, err := w.start().Archive(t.Context()); err != nil {
		t.Fatal(err)
	}
	equal(t, "archive", w.archived(), []string{lineageFile, workbench.Goal, workbench.Brief})
}

// TestArchiveWithoutInbox: the history is put aside, and that the inbox could not be emptied is said.
func TestArchiveWithoutInbox(t *testing.T) {
	w := newJob(t)
	w.mustJob("a clock")
	w.store = fragile{w.store}
	dir, err := w.start().Archive(t.Context())
	if err == nil || dir == "" {
		t.Errorf("%q, %v", dir, err)
	}
	equal(t, "archive", w.archived(), []string{lineageFile, workbench.Goal, workbench.Brief})
}

// TestWakesAreCountedOnce: two runs in one directory at the same time, where no lock keeps them apart, count both.
func TestWakesAreCountedOnce(t *testing.T) {
	w := newWorld(t)
	inner := &Workflow{Steps: []Step{step("two")}}
	outer := step("one")
	outer.Gate = func(_ context.Context, s *State, _ StepResult) (Decision, error) {
		s.Runtime.Release()
		rt := w.start()
		o, err := inner.Run(t.Context(), rt)
		if err == nil && o.Woke != 2 {
			t.Errorf("the run beside is wake %d", o.Woke)
		}
		return Accept(), err
	}
	w.must(&Workflow{Steps: []Step{outer, step("three")}})
	state := WakeState(w.dir, w.runs)
	if state.Woke != 2 || len(state.Steps) != 3 {
		t.Errorf("%+v", state)
	}
	rows, err := ReadManifest(w.runs)
	if err != nil || len(rows) != 3 || !slices.ContainsFunc(rows, func(r StepResult) bool { return r.Step == "two" }) {
		t.Errorf("rows %+v, %v", rows, err)
	}
}
