package workbench

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"path/filepath"

	"flower/internal/disk"
)

// spillMode: results hold what commands print, which is nobody else's business.
const spillMode fs.FileMode = 0o600

// spillHeld is how much of a stream is held in memory before there is a file:
// as many bytes as a result can have that is short enough for a conversation.
const spillHeld = 16 << 10

// Spill writes text to the spill directory, named by the first 16 hex digits
// of its SHA-256, and returns the path relative to the workspace. Writing the
// same text again does nothing.
func (b *Bench) Spill(text string) (string, error) {
	text = b.clean(text)
	sum := sha256.Sum256([]byte(text))
	path, there := b.spilled(sum[:], int64(len(text)))
	if there {
		return b.relative(path), nil
	}
	err := b.inside(func() error {
		if err := b.createSpill(); err != nil {
			return err
		}
		return disk.WriteFile(path, []byte(text), spillMode)
	})
	if err != nil {
		return "", fmt.Errorf("spill: %w", err)
	}
	return b.relative(path), nil
}

// spilled is where content with this hash is or would be, and whether it is
// there: the size lets a file that somebody truncated be written again.
func (b *Bench) spilled(sum []byte, size int64) (path string, there bool) {
	path = filepath.Join(b.SpillDir(), hex.EncodeToString(sum[:8])+".txt")
	info, err := os.Lstat(path)
	return path, err == nil && info.Mode().IsRegular() && info.Size() == size
}

// relative names a path as seen from the workspace.
func (b *Bench) relative(path string) string {
	rel, err := filepath.Rel(b.workspace, path)
	if err != nil {
		return path // one of the two is relative: the full path is right too
	}
	return rel
}

// Stream is a result that is spilled while it comes, byte for byte, secrets
// included: who writes has taken them out. One that
// turns out to be short needs no file. It is for one goroutine.
type Stream struct {
	bench *Bench
	sum   hash.Hash
	size  int64
	held  []byte   // while there is no file
	file  *os.File // temporary
}

// NewStream begins a stream. It must be ended with Keep or Drop.
func (b *Bench) NewStream() *Stream { return &Stream{bench: b, sum: sha256.New()} }

// Write implements io.Writer.
func (s *Stream) Write(p []byte) (int, error) {
	if s.file == nil && len(s.held)+len(p) > spillHeld {
		if err := s.open(); err != nil {
			return 0, err
		}
	}
	n := len(p)
	if s.file == nil {
		s.held = append(s.held, p...)
	} else {
		var err error
		if n, err = s.file.Write(p); err != nil {
			return n, fmt.Errorf("spill: %w", err)
		}
	}
	s.size += int64(n)
	_, _ = s.sum.Write(p[:n]) // a hash never fails
	return n, nil
}

// open makes the file, and writes to it what was held.
func (s *Stream) open() error { return s.bench.inside(s.create) }

func (s *Stream) create() error {
	if err := s.bench.createSpill(); err != nil {
		return err
	}
	f, err := os.CreateTemp(s.bench.SpillDir(), ".stream-*") // with mode 0600
	if err != nil {
		return fmt.Errorf("spill: %w", err)
	}
	if _, err := f.Write(s.held); err != nil {
		return errors.Join(fmt.Errorf("spill: %w", err), f.Close(), os.Remove(f.Name()))
	}
	s.file, s.held = f, nil
	return nil
}

// Keep makes a file of what was written, named like one of Spill, and returns
// its path relative to the workspace.
func (s *Stream) Keep() (path string, err error) {
	err = s.bench.inside(func() error {
		path, err = s.keep()
		return err
	})
	return path, err
}

func (s *Stream) keep() (string, error) {
	if s.file == nil {
		if err := s.create(); err != nil {
			return "", err
		}
	}
	path, there := s.bench.spilled(s.sum.Sum(nil), s.size)
	if there {
		s.Drop()
		return s.bench.relative(path), nil
	}
	f := s.file
	s.file = nil
	err := errors.Join(f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return "", errors.Join(fmt.Errorf("spill: %w", err), os.Remove(f.Name()))
	}
	if err := disk.SyncDir(s.bench.SpillDir()); err != nil {
		return "", fmt.Errorf("spill: %w", err)
	}
	return s.bench.relative(path), nil
}

// Drop forgets what was written. It does nothing after Keep.
func (s *Stream) Drop() {
	if s.file == nil {
		return
	}
	_, _ = s.file.Close(), os.Remove(s.file.Name()) // ignored by git, and never looked at
	s.file = nil
}
