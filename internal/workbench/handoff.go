package workbench

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"flower/internal/disk"
)

// WriteHandoff writes the handoff document of a step and returns its path. One that is there goes into the archive first;
// after a crash in between the older one is in the archive and none is in its place.
func (b *Bench) WriteHandoff(step, text string, now time.Time) (string, error) {
	name := HandoffNote(step)
	path := b.NotePath(name)
	if disk.Exists(path) {
		if err := b.inside(func() error { return b.archiveHandoff(path, step, now) }); err != nil {
			return "", fmt.Errorf("put the old %s aside: %w", name, err)
		}
	}
	return path, b.WriteNote(name, text)
}

// archiveHandoff moves a document to a name in the archive that is still free.
func (b *Bench) archiveHandoff(path, step string, now time.Time) error {
	target := b.NotePath(HandoffArchive(step, now))
	if err := disk.SharedDir(filepath.Dir(target)); err != nil {
		return err
	}
	base := strings.TrimSuffix(target, ".md")
	for n := 2; disk.Exists(target); n++ {
		if n > 1000 {
			return errors.New("the archive holds a thousand of the same second")
		}
		target = fmt.Sprintf("%s-%d.md", base, n)
	}
	return os.Rename(path, target)
}
