package tools

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// passedBy are directories that a search enters only if it begins inside one or its pattern names it: what is in there
// is not the person's own work, and there is much of it.
var passedBy = map[string]bool{".git": true, ".hg": true, ".svn": true, ".flower": true, "node_modules": true}

// errEnough ends a walk that has what it needs.
var errEnough = errors.New("enough")

// file is one that a walk has come to: anything but a directory.
type file struct {
	path  string // resolved
	rel   string // below the root of the search
	entry fs.DirEntry
}

// search is one walk over files, in the order of their paths. Symbolic links to directories are not followed, so that
// it ends. The goroutine that began it owns it; while another one walks, it leaves the fields of the walk alone.
type search struct {
	box   *Box
	root  string          // resolved; a directory, or one file
	named map[string]bool // what the pattern names: entered and looked at whatever the rules say
	shut  []string        // directories that are not entered whatever is named

	// What the walk has to say.
	ignored    int      // files and directories that ignore files leave out
	passed     int      // directories that are entered only if they are named
	passedAs   []string // their names, each once
	unreadable []string // directories and files
	stopped    string   // why it ended early; "" if it saw everything

	// What its user counts.
	files   int // looked at
	large   int // files too large to search
	binary  int // files that are no text
	links   int // symbolic links that were not followed
	special int // pipes, sockets and devices
}

func (b *Box) newSearch(root string, patterns ...string) *search {
	s := &search{box: b, root: root, named: map[string]bool{}, shut: slices.Concat(kernel, b.private)}
	for _, p := range patterns {
		for _, name := range spelledOut(p) {
			s.named[name] = true
		}
	}
	return s
}

// walk calls visit for each file. visit ends the walk with errEnough.
func (s *search) walk(ctx context.Context, visit func(file) error) {
	err := s.start(ctx, visit)
	if err == nil {
		err = ctx.Err() // the last file may have been searched in part only
	}
	if !errors.Is(err, errEnough) {
		s.stop(err)
	}
}

// stop keeps why the search ended early, if it did.
func (s *search) stop(err error) {
	switch {
	case err == nil:
	case errors.Is(err, context.DeadlineExceeded):
		s.stopped = "the time for one search is over"
	case errors.Is(err, context.Canceled):
		s.stopped = "it was interrupted"
	default:
		s.stopped = err.Error()
	}
}

func (s *search) start(ctx context.Context, visit func(file) error) error {
	info, err := os.Lstat(s.root)
	switch {
	case err != nil:
		s.miss(s.root, err)
		return nil
	case inAny(s.shut, s.root):
		return nil
	case !info.IsDir():
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return visit(file{s.root, filepath.Base(s.root), fs.FileInfoToDirEntry(info)})
	}
	ctx, cancel := context.WithCancel(ctx)
	w := &walker{
		search: s, visit: visit,
		ahead: make(chan struct{}, readAhead), busy: make(chan struct{}, 2*runtime.GOMAXPROCS(0)),
	}
	defer w.readers.Wait()
	defer cancel()
	above, left := s.box.rulesAbove(s.root)
	return w.enter(ctx, &folder{path: s.root, rules: above, all: left})
}

// miss records what could not be read. What is gone meanwhile is nothing to search.
func (s *search) miss(path string, err error) {
	if !isGone(err) {
		s.unreadable = append(s.unreadable, s.box.show(path))
	}
}

// gaps says what the search did not look into although it should have; "" if nothing: then what was not found is not
// there.
func (s *search) gaps() string {
	var gaps []string
	if s.stopped != "" {
		gaps = append(gaps, s.stopped)
	}
	if n := len(s.unreadable); n > 0 {
		const most = 3
		names := strings.Join(s.unreadable[:min(n, most)], ", ")
		if n > most {
			names += ", …"
		}
		gaps = append(gaps, fmt.Sprintf("%d unreadable (%s)", n, names))
	}
	if s.large > 0 {
		gaps = append(gaps, plural(s.large, "file")+" too large")
	}
	return strings.Join(gaps, ", ")
}

// looked says what the search covered.
func (s *search) looked() string {
	text := plural(s.files, "file") + " searched"
	if left := s.leftOut(); left != "" {
		text += ", " + left
	}
	return text
}

// leftOut says what the search has met and, as it should, not looked into; "" if nothing.
func (s *search) leftOut() string {
	var parts []string
	if s.binary > 0 {
		parts = append(parts, plural(s.binary, "binary file")+" not searched")
	}
	if s.special > 0 {
		parts = append(parts, plural(s.special, "special file")+" (pipe, socket or device) not read")
	}
	if s.links > 0 {
		parts = append(parts, plural(s.links, "symbolic link")+" not followed")
	}
	if s.passed > 0 {
		slices.Sort(s.passedAs)
		noun := "directories"
		if s.passed == 1 {
			noun = "directory"
		}
		parts = append(parts, fmt.Sprintf("%d %s passed by (%s)", s.passed, noun, strings.Join(s.passedAs, ", ")))
	}
	if s.ignored > 0 {
		parts = append(parts, fmt.Sprintf("%d ignored by ignore files and passed by", s.ignored))
	}
	return strings.Join(parts, ", ")
}

// pass records a directory that is not entered.
func (s *search) pass(name string) {
	s.passed++
	if !slices.Contains(s.passedAs, name) {
		s.passedAs = append(s.passedAs, name)
	}
}

// readAhead bounds the directories that are read before the walk has come to them.
const readAhead = 1024

// walker visits files in order while other goroutines read directories ahead of it.
type walker struct {
	*search
	visit   func(file) error
	ahead   chan struct{} // a place for each directory that was begun ahead and not come to yet
	busy    chan struct{} // a place for each read ahead that goes on now
	readers sync.WaitGroup
}

// folder is a directory of a walk. Who reads it owns it until ready is closed, the walk afterwards.
type folder struct {
	path  string
	rel   string // "" is the root
	rules *rules // those above, and once it was read its own
	all   bool   // it would have been passed by, but was asked for: then all that is in it is

	ready   chan struct{} // closed when it was read; nil: nobody has begun
	entries []fs.DirEntry // without what is passed by
	below   []*folder     // the directories among them
	ignored int
	passed  []string // names of directories in it that are not entered
	err     error
}

// inside is the path of an entry.
func (f *folder) inside(name string) string {
	if f.path == "/" {
		return f.path + name
	}
	return f.path + "/" + name
}

// read fills in the folder.
func (w *walker) read(ctx context.Context, f *folder) {
	entries, err := os.ReadDir(f.path)
	f.err = err // what was read before the error is there
	has := func(name string) bool {
		_, found := slices.BinarySearchFunc(entries, name, func(e fs.DirEntry, name string) int { return strings.Compare(e.Name(), name) })
		return found
	}
	f.rules = w.box.rulesIn(f.rules, f.path, has)
	f.entries = entries[:0]
	for _, e := range entries {
		name, path := e.Name(), f.inside(e.Name())
		fixed := e.IsDir() && passedBy[name]
		left := fixed || !f.all && f.rules.ignored(path, e.IsDir())
		if left && !w.named[name] {
			if fixed {
				f.passed = append(f.passed, name)
			} else {
				f.ignored++
			}
			continue
		}
		if e.IsDir() {
			if inAny(w.shut, path) {
				f.passed = append(f.passed, oneLine(name))
				continue
			}
			f.below = append(f.below, &folder{path: path, rel: f.rel + name + "/", rules: f.rules, all: f.all || left})
		}
		f.entries = append(f.entries, e)
	}
	w.begin(ctx, f.below)
}

// begin starts to read folders that nobody has begun, as far as there are places, and returns those that are left.
func (w *walker) begin(ctx context.Context, folders []*folder) []*folder {
	for i, f := range folders {
		if f.ready != nil {
			continue
		}
		select {
		case w.ahead <- struct{}{}:
		default:
			return folders[i:]
		}
		f.ready = make(chan struct{})
		w.readers.Go(func() {
			defer close(f.ready)
			select {
			case w.busy <- struct{}{}:
				w.read(ctx, f)
				<-w.busy
			case <-ctx.Done():
				f.err = ctx.Err()
			}
		})
	}
	return nil
}

// enter visits the files below a folder.
func (w *walker) enter(ctx context.Context, f *folder) error {
	if f.ready == nil {
		w.read(ctx, f)
	} else {
		<-f.ready
		<-w.ahead
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if f.err != nil {
		w.miss(f.path, f.err)
	}
	w.ignored += f.ignored
	for _, name := range f.passed {
		w.pass(name)
	}
	below, waiting := f.below, f.below
	for _, e := range f.entries {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		var err error
		if e.IsDir() {
			sub := below[0]
			below = below[1:]
			if len(waiting) > len(below) {
				waiting = below
			}
			waiting = w.begin(ctx, waiting)
			err = w.enter(ctx, sub)
		} else {
			err = w.visit(file{f.inside(e.Name()), f.rel + e.Name(), e})
		}
		if err != nil {
			return err
		}
	}
	return nil
}
