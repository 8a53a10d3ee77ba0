// Package workbench keeps what models leave in a workspace for each other and
// for the person: scripts, artifacts, notes and long results.
//
// Terms: the bench is the directory, .flower in the workspace or one outside
// the repository. Notes are the documents on which a run continues: brief,
// goal, question log, handoffs. To spill is to move a long result to a file
// named after its content, so that a conversation holds only a pointer.
//
// Trust model: everything on the bench may have been written by a model or a
// person. Names and descriptions are cleaned before they enter the index,
// which is shown to models and on terminals; notes are returned as they are.
// The bench belongs to the workspace, so its modes follow the umask. Agents can make links there, and what is written
// here must not be a way around the sandbox of their commands: where the kernel can see to it (package sandbox), writing
// changes nothing outside of the bench, whatever a name leads to. A bench that is a link as a whole is followed.
package workbench

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"flower/internal/disk"
	"flower/internal/sandbox"
)

// Names in the bench.
const (
	dirName      = ".flower"
	scriptsDir   = "scripts"
	artifactsDir = "artifacts"
	notesDir     = "notes"
	spillDir     = "spill"
	indexFile    = "INDEX.md"
)

// fileMode and the umask give the mode of files on the bench.
const fileMode fs.FileMode = 0o666

// Bench is one workbench. It holds no state but paths and is safe for
// concurrent use, also by several processes.
type Bench struct {
	workspace string
	dir       string
	redact    func(string) string // of what is written; nil changes nothing
}

// Open returns the bench of a workspace: the one outside of it once MoveOut has
// made that, else <workspace>/.flower. Nothing but that is read, and nothing
// written, until a method needs it; methods that only read write nothing.
func Open(workspace string) *Bench {
	if dir := OutsideDir(workspace); ours(filepath.Join(dir, notesDir)) {
		return OpenAt(workspace, dir)
	}
	return OpenAt(workspace, filepath.Join(workspace, dirName))
}

// OpenAt is Open with the bench in another directory.
func OpenAt(workspace, dir string) *Bench {
	return &Bench{workspace: workspace, dir: dir}
}

// Redacting is the same bench, whose notes and spilled texts go through redact
// before they are written; nil changes nothing.
func (b *Bench) Redacting(redact func(string) string) *Bench {
	return &Bench{workspace: b.workspace, dir: b.dir, redact: redact}
}

func (b *Bench) clean(text string) string {
	if b.redact == nil {
		return text
	}
	return b.redact(text)
}

// OutsideDir is where the bench of a workspace lies when it must not be in the
// repository: <parent>/.flower-<name of the workspace>.
func OutsideDir(workspace string) string {
	workspace = filepath.Clean(workspace)
	return filepath.Join(filepath.Dir(workspace), dirName+"-"+filepath.Base(workspace))
}

// Dir is the bench itself.
func (b *Bench) Dir() string { return b.dir }

// Scripts is the directory of reusable scripts.
func (b *Bench) Scripts() string { return filepath.Join(b.dir, scriptsDir) }

// Artifacts is the directory of results that are no source.
func (b *Bench) Artifacts() string { return filepath.Join(b.dir, artifactsDir) }

// Notes is the directory of documents.
func (b *Bench) Notes() string { return filepath.Join(b.dir, notesDir) }

// SpillDir is the directory of long results.
func (b *Bench) SpillDir() string { return filepath.Join(b.dir, spillDir) }

// Create makes the directories that are missing, and an ignore file that keeps
// spilled results out of git.
func (b *Bench) Create() error { return b.inside(b.create) }

// inside calls write, which makes or changes files of the bench, in such a way that it reaches nothing else.
func (b *Bench) inside(write func() error) error {
	if !filepath.IsAbs(b.dir) {
		return write()
	}
	if err := disk.SharedDir(b.dir); err != nil {
		return fmt.Errorf("make workbench: %w", err)
	}
	place, err := sandbox.New(sandbox.Options{Places: []string{b.dir}})
	if err != nil {
		return err
	}
	return place.Start(write)
}

func (b *Bench) create() error {
	for _, dir := range []string{b.Scripts(), b.Artifacts(), b.Notes()} {
		if err := disk.SharedDir(dir); err != nil {
			return fmt.Errorf("make workbench: %w", err)
		}
	}
	return b.createSpill()
}

func (b *Bench) createSpill() error {
	if err := disk.SharedDir(b.SpillDir()); err != nil {
		return fmt.Errorf("make workbench: %w", err)
	}
	ignore := filepath.Join(b.SpillDir(), ".gitignore")
	if disk.Exists(ignore) {
		return nil // the person's, perhaps changed on purpose
	}
	return disk.WriteFile(ignore, []byte("*\n"), fileMode)
}

func exists(err error) (bool, error) {
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
