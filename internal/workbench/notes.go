package workbench

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"flower/internal/disk"
)

// Names of the notes with a fixed name.
const (
	Brief       = "需求.md"
	Goal        = "目标.md"
	QuestionLog = "问答记录.md"
)

const (
	handoffPrefix = "交接-"
	archiveDir    = "archive"
	handoffsDir   = "交接" // below archiveDir
)

const (
	// maxNote is the largest note read, in bytes: far more than a model can
	// take in.
	maxNote = 16 << 20
	// lockWait bounds the wait for another writer of notes, who needs
	// milliseconds.
	lockWait = 10 * time.Second
)

// HandoffNote is the name of a step's handoff document. A step name that is no
// good file name is changed and gets a hash, so that two steps never share a
// document.
func HandoffNote(step string) string { return handoffPrefix + fileName(step) + ".md" }

// HandoffArchive is the name, below Notes, that an older handoff document of a
// step moves to. The name is free of collisions only as far as now is.
func HandoffArchive(step string, now time.Time) string {
	return filepath.Join(archiveDir, handoffsDir, fileName(step)+"-"+now.Format(disk.StampLayout)+".md")
}

// fileName keeps what a file name can hold on any system that matters here.
func fileName(step string) string {
	const most = 150 // bytes: the limit is 255, and other parts come before and after
	safe := strings.Map(func(r rune) rune {
		if r == '/' || r == '\\' || r == utf8.RuneError || unicode.IsControl(r) {
			return '_'
		}
		return r
	}, step)
	if len(safe) > most {
		safe = strings.ToValidUTF8(safe[:most], "")
	}
	if safe == step && step != "" {
		return safe
	}
	sum := sha256.Sum256([]byte(step))
	return safe + "-" + hex.EncodeToString(sum[:4])
}

// NotePath is where a note is or would be. name is one of the constants or a
// result of HandoffNote or HandoffArchive.
func (b *Bench) NotePath(name string) string { return filepath.Join(b.Notes(), name) }

// ReadNote returns a note and whether it is there.
func (b *Bench) ReadNote(name string) (text string, there bool, err error) {
	if err := checkName(name); err != nil {
		return "", false, err
	}
	data, err := disk.ReadRegular(b.NotePath(name), maxNote)
	if there, err := exists(err); err != nil || !there {
		return "", false, err
	}
	return string(data), true, nil
}

// WriteNote replaces a note atomically.
func (b *Bench) WriteNote(name, text string) error {
	return b.UpdateNote(name, func(string, bool) (string, bool) { return text, true })
}

// AppendNote adds text to the end of a note, on a new line, and makes it if it
// is not there. When it returns, the text is on disk.
func (b *Bench) AppendNote(name, text string) error {
	return b.UpdateNote(name, func(old string, _ bool) (string, bool) {
		if old != "" && !strings.HasSuffix(old, "\n") {
			old += "\n"
		}
		return old + text, text != ""
	})
}

// UpdateNote changes a note by what update makes of it; nothing is written
// when update reports no change. No concurrent update is lost: a lock is held
// meanwhile, so update must be quick and must not change notes itself.
func (b *Bench) UpdateNote(name string, update func(old string, there bool) (text string, changed bool)) (err error) {
	if err := checkName(name); err != nil {
		return err
	}
	// The lock lies with the spilled results because git ignores them.
	if err := b.inside(b.createSpill); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), lockWait)
	defer cancel()
	lock, err := disk.AcquireLock(ctx, filepath.Join(b.SpillDir(), ".notes.lock"))
	if err != nil {
		return fmt.Errorf("change note %s: %w", name, err)
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()

	old, there, err := b.ReadNote(name)
	if err != nil {
		return fmt.Errorf("change note: %w", err)
	}
	text, changed := update(old, there)
	text = b.clean(text)
	if !changed || (there && text == old) {
		return nil
	}
	path := b.NotePath(name)
	return b.inside(func() error {
		if err := disk.SharedDir(filepath.Dir(path)); err != nil {
			return fmt.Errorf("change note: %w", err)
		}
		return disk.WriteFile(path, []byte(text), fileMode)
	})
}

func checkName(name string) error {
	if !filepath.IsLocal(name) || filepath.Clean(name) == "." {
		return fmt.Errorf("note %q: not a name below the notes", name)
	}
	return nil
}

// ArchiveDir makes a new directory for what is put aside at the time now,
// notes/archive/<YYYYmmdd-HHMMSS>, and returns its path; when there is one
// already, -2, -3 … is added.
func (b *Bench) ArchiveDir(now time.Time) (path string, err error) {
	err = b.inside(func() error {
		path, err = b.makeArchiveDir(now)
		return err
	})
	return path, err
}

func (b *Bench) makeArchiveDir(now time.Time) (string, error) {
	parent := b.NotePath(archiveDir)
	if err := disk.SharedDir(parent); err != nil {
		return "", fmt.Errorf("make archive: %w", err)
	}
	base := filepath.Join(parent, now.Format(disk.StampLayout))
	path := base
	err := os.Mkdir(path, 0o777)
	for n := 2; errors.Is(err, os.ErrExist) && n < 1000; n++ {
		path = fmt.Sprintf("%s-%d", base, n)
		err = os.Mkdir(path, 0o777)
	}
	if err != nil {
		return "", fmt.Errorf("make archive: %w", err)
	}
	return path, nil
}

// Archived returns the path of the directory of the archive that has a name.
func (b *Bench) Archived(name string) string { return filepath.Join(b.NotePath(archiveDir), name) }
