package flower

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"flower/internal/disk"
)

// The environment that makes the test binary a process that changes a book of a run directory again and again.
const (
	booksDir     = "FLOWER_TEST_BOOKS"
	booksName    = "FLOWER_TEST_BOOKS_NAME"
	booksKind    = "FLOWER_TEST_BOOKS_KIND"
	booksUpdates = "FLOWER_TEST_BOOKS_UPDATES"
)

func booksMain() int {
	n, err := strconv.Atoi(os.Getenv(booksUpdates))
	if err == nil {
		err = keepBooks(os.Getenv(booksDir), os.Getenv(booksKind), os.Getenv(booksName), n)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// keepBooks makes n updates, each a read, a merge and a write under the lock: rows of the manifest, or of lineage in turn a
// wake and the session of one of five steps.
func keepBooks(dir, kind, name string, n int) error {
	ctx := context.Background()
	m := &manifest{dir: dir, run: name, now: time.Now}
	l := newLineageBook(dir, "/home/ada/shop", time.Now)
	for i := range n {
		var kept string
		var err error
		switch {
		case kind == manifestFile:
			at := time.Unix(1_700_000_000, 0)
			kept, err = m.add(ctx, StepResult{Step: fmt.Sprintf("%s, row %d", name, i), StartedAt: at, EndedAt: at, Run: name})
		case i%2 == 0:
			_, kept, err = l.wake(ctx)
		default:
			kept, err = l.remember(ctx, fmt.Sprintf("%s, step %d", name, i%5), fmt.Sprint("session ", i))
		}
		if err != nil || kept != "" {
			return errors.Join(err, fmt.Errorf("update %d, put aside %q", i, kept))
		}
	}
	return nil
}

// TestBooksManyProcesses has 50 processes change a book 100 times each, 5,000 times in all: no row, no wake and no step is
// lost, and none comes twice. Under the race detector, which makes it ten times slower, there are ten processes.
func TestBooksManyProcesses(t *testing.T) {
	t.Parallel()
	const updates = 100
	processes := 50
	if raceDetector {
		processes = 10
	}
	for _, kind := range []string{manifestFile, lineageFile} {
		t.Run(kind, func(t *testing.T) {
			dir := memoryDir(t)
			var running []*exec.Cmd
			for p := range processes {
				cmd := exec.Command(os.Args[0])
				cmd.Env = append(os.Environ(), booksDir+"="+dir, booksKind+"="+kind, booksName+"="+fmt.Sprint("run ", p), booksUpdates+"="+strconv.Itoa(updates))
				cmd.Stderr = os.Stderr
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				running = append(running, cmd)
			}
			for _, cmd := range running {
				if err := cmd.Wait(); err != nil {
					t.Error(err)
				}
			}
			if kind == manifestFile {
				wantRows(t, dir, processes, updates)
			} else {
				wantSteps(t, dir, processes, updates)
			}
			if files, err := filepath.Glob(filepath.Join(dir, "[^.]*")); err != nil || len(files) != 1 {
				t.Errorf("left %q, %v", files, err)
			}
		})
	}
}

// memoryDir is a directory in memory where the system has one: this is about merging, and 10,000 writes to a disk take a
// minute.
func memoryDir(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "flower-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func wantRows(t *testing.T, dir string, processes, updates int) {
	t.Helper()
	var rows []struct{ Step string }
	if err := json.Unmarshal(read(t, filepath.Join(dir, manifestFile)), &rows); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, row := range rows {
		seen[row.Step] = true
	}
	for p := range processes {
		for i := range updates {
			if name := fmt.Sprintf("run %d, row %d", p, i); !seen[name] {
				t.Errorf("%q is lost", name)
			}
		}
	}
	if len(rows) != processes*updates {
		t.Errorf("%d rows, want %d", len(rows), processes*updates)
	}
}

func wantSteps(t *testing.T, dir string, processes, updates int) {
	t.Helper()
	l := newLineageBook(dir, "/home/ada/shop", time.Now).load(func(string) bool { return true })
	if want := processes * updates / 2; l.woke != want {
		t.Errorf("%d wakes, want %d", l.woke, want)
	}
	if len(l.steps) != 5*processes {
		t.Errorf("%d steps, want %d", len(l.steps), 5*processes)
	}
	for p := range processes {
		for i := updates - 10; i < updates; i++ { // of each step the last one
			step, id := fmt.Sprintf("run %d, step %d", p, i%5), fmt.Sprint("session ", i)
			if i%2 == 1 && l.steps[step] != id {
				t.Errorf("%s has %q, want %s", step, l.steps[step], id)
			}
		}
	}
}

// TestBookTurns: who waits for a book that others write is patient, but not with one that does nothing.
func TestBookTurns(t *testing.T) {
	for _, test := range []struct {
		name  string
		moves int // tries during which others have written
		tries int
	}{{"nobody writes", 0, 1}, {"others write", 3, 4}, {"others write for ever", bookTries, bookTries}} {
		synctest.Test(t, func(t *testing.T) {
			path, tries := filepath.Join(t.TempDir(), manifestFile), 0
			err := inTurn(t.Context(), path, func(ctx context.Context) error {
				if tries++; tries <= test.moves {
					if err := os.WriteFile(path, make([]byte, tries), 0o600); err != nil {
						t.Error(err)
					}
					at := time.Unix(int64(tries), 0)
					if err := os.Chtimes(path, at, at); err != nil {
						t.Error(err)
					}
				}
				<-ctx.Done()
				return fmt.Errorf("%w: %w", disk.ErrLocked, ctx.Err())
			})
			if !errors.Is(err, disk.ErrLocked) || tries != test.tries {
				t.Errorf("%s: %d tries, want %d: %v", test.name, tries, test.tries, err)
			}
		})
	}
}

// BenchmarkManifestAdd adds a row to a manifest of 5,000 rows of other runs.
func BenchmarkManifestAdd(b *testing.B) {
	dir := b.TempDir()
	at := time.Unix(1_700_000_000, 0)
	all := make([]StepResult, 5000)
	for i := range all {
		all[i] = StepResult{Step: fmt.Sprint("step ", i), SessionID: "s", StartedAt: at, EndedAt: at, Run: "other"}
	}
	data, err := marshal(all)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, manifestFile), indent(data), 0o600)
	}
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(indent(data))))
	m := &manifest{dir: dir, run: "r", now: time.Now}
	for b.Loop() {
		if _, err := m.add(b.Context(), StepResult{Step: "s", Run: "r"}); err != nil {
			b.Fatal(err)
		}
	}
}
