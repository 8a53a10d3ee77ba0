package tools

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// passedBy are directories that a search enters only if it begins inside one or its pattern names it: what is in there
// is not the person's own work, and there is much of it.
var passedBy = map[string]bool{".git": true, ".hg": true, ".svn": true, ".flower": true, "node_modules": true}

// errEnough ends a walk that has what it needs.
var errEnough = errors.New("enough")

// search is one walk over files, in the order of their paths. Symbolic links to directories are not followed, so that
// it ends.
type search struct {
	root  string          // resolved; a directory, or one file
	named map[string]bool // directories of passedBy to enter after all
	shut  []string        // directories that are not entered whatever is named

	files      int    // looked at
	unreadable int    // directories and files
	skipped    int    // files that are binary
	large      int    // files too large to search
	stopped    string // why the walk ended early; "" if it saw everything
}

func (b *Box) newSearch(root string, patterns ...string) *search {
	s := &search{root: root, named: map[string]bool{}, shut: slices.Concat(kernel, b.private)}
	for _, p := range patterns {
		for _, part := range strings.Split(p, "/") {
			s.named[part] = true
		}
	}
	return s
}

// walk calls visit for each file with its resolved path and the path below root. visit ends the walk with errEnough.
func (s *search) walk(ctx context.Context, visit func(path, rel string, d fs.DirEntry) error) {
	err := filepath.WalkDir(s.root, func(path string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) { // gone meanwhile: nothing to search
				s.unreadable++
			}
			return nil
		}
		if d.IsDir() {
			if path != s.root && passedBy[d.Name()] && !s.named[d.Name()] || inAny(s.shut, path) {
				return fs.SkipDir
			}
			return nil
		}
		rel, err := filepath.Rel(s.root, path)
		if err != nil {
			return err
		}
		if rel == "." {
			rel = filepath.Base(path)
		}
		s.files++
		return visit(path, rel, d)
	})
	if err == nil {
		err = ctx.Err() // the last file may have been searched in part only
	}
	switch {
	case err == nil, errors.Is(err, errEnough):
	case errors.Is(err, context.DeadlineExceeded):
		s.stopped = "the time for one search is over"
	case errors.Is(err, context.Canceled):
		s.stopped = "it was interrupted"
	default:
		s.stopped = err.Error()
	}
}

// gaps says what the search did not look into although it should have; "" if nothing: then what was not found is not
// there.
func (s *search) gaps() string {
	var gaps []string
	if s.stopped != "" {
		gaps = append(gaps, s.stopped)
	}
	if s.unreadable > 0 {
		gaps = append(gaps, fmt.Sprintf("%d unreadable", s.unreadable))
	}
	if s.large > 0 {
		gaps = append(gaps, plural(s.large, "file")+" too large")
	}
	return strings.Join(gaps, ", ")
}
