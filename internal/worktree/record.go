package worktree

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"flower/internal/disk"
)

// record is what is on disk about a tree.
type record struct {
	ID     string    `json:"id"`
	Title  string    `json:"title"`
	Branch string    `json:"branch"`
	Path   string    `json:"path"`
	Base   string    `json:"base"`
	Made   time.Time `json:"made"`
	Ready  bool      `json:"ready"` // the checkout is complete: from now on a worker may have been in it
	Done   bool      `json:"done"`  // its worker has come to an end
}

func (r record) tree() Tree {
	return Tree{ID: r.ID, Title: r.Title, Branch: r.Branch, Path: r.Path, Base: r.Base, Done: r.Done}
}

const (
	recordEnd = ".json"
	maxRecord = 64 << 10
)

func (s *Set) recordPath(id string) string { return filepath.Join(s.opts.Dir, id+recordEnd) }

// read returns the record of an id, ErrNone if there is none. One that cannot be read is an error: what it tells of
// must not be made a second time, or be taken away.
func (s *Set) read(id string) (record, error) {
	if !goodID.MatchString(id) {
		return record{}, fmt.Errorf("read record of worktree: %q is no id", id)
	}
	data, err := disk.ReadRegular(s.recordPath(id), maxRecord)
	if errors.Is(err, fs.ErrNotExist) {
		return record{}, ErrNone
	}
	var rec record
	if err == nil {
		err = json.Unmarshal(data, &rec)
	}
	if err == nil && (rec.ID != id || rec.Branch == "" || rec.Base == "" || filepath.Dir(rec.Path) != s.opts.Dir) {
		err = errors.New("it is of another worktree")
	}
	if err != nil {
		return record{}, fmt.Errorf("read record of worktree %s: %w", s.recordPath(id), err)
	}
	return rec, nil
}

func (s *Set) write(rec record) error {
	data, err := json.MarshalIndent(rec, "", "  ")
	if err == nil {
		err = disk.WriteFile(s.recordPath(rec.ID), data, disk.PrivateMode)
	}
	if err != nil {
		return fmt.Errorf("write record of worktree: %w", err)
	}
	return nil
}

func (s *Set) forget(rec record) error {
	if err := os.Remove(s.recordPath(rec.ID)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove record of worktree: %w", err)
	}
	return disk.SyncDir(s.opts.Dir)
}

// records are all that can be read, oldest first, and an error of those that cannot.
func (s *Set) records() ([]record, error) {
	entries, err := os.ReadDir(s.opts.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list worktrees: %w", err)
	}
	var list []record
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), recordEnd)
		if !ok || !goodID.MatchString(id) {
			continue
		}
		rec, err := s.read(id)
		if err != nil {
			return list, err
		}
		list = append(list, rec)
	}
	slices.SortStableFunc(list, func(a, b record) int { return a.Made.Compare(b.Made) })
	return list, nil
}
