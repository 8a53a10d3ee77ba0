package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"flower"
	"flower/internal/text"
	"flower/internal/workbench"
)

// maxRequest is the longest request, in bytes: what is longer is a document and belongs into a file.
const maxRequest = 256 << 10

// place is where a run works, checked.
type place struct {
	workspace string // absolute, resolved
	runDir    string // absolute
	home      string // for "~"
}

// manifest is the path of the run's books.
func (p place) manifest() string { return filepath.Join(p.runDir, "manifest.json") }

// short is a path below the workspace without that.
func (p place) short(path string) string {
	if rest, ok := strings.CutPrefix(path, p.workspace+"/"); ok && p.workspace != "" {
		return rest
	}
	return path
}

// findPlace checks the workspace and the run directory before anything is written: a run must not fail over them when
// it has begun to cost money.
func (a *app) findPlace() (place, error) {
	p := place{runDir: a.abs(a.global.runDir), home: a.getenv("HOME")}
	// An empty name, of a variable that a script has forgotten to set, must not mean the current directory.
	switch {
	case a.global.workspace == "":
		return place{}, a.badPlace("place.missing", "place.workspace", `""`)
	case a.global.runDir == "":
		return place{}, a.badPlace("place.missing", "place.rundir", `""`)
	}
	workspace := a.abs(a.global.workspace)
	if err := a.checkDir(workspace, "place.workspace", true); err != nil {
		return place{}, err
	}
	var err error
	if p.workspace, err = flower.ResolveWorkspace(workspace); err != nil {
		return place{}, &usageError{err}
	}
	bench := workbench.Open(p.workspace)
	for _, dir := range []string{bench.Dir(), bench.Notes(), bench.SpillDir()} {
		if err := a.checkDir(dir, "place.bench", false); err != nil {
			return place{}, err
		}
	}
	if err := a.checkDir(p.runDir, "place.rundir", false); err != nil {
		return place{}, err
	}
	// SQLite makes its two files beside the store with the store's mode: one that was opened read-only once would stay so
	// when the store is writable again.
	for _, suffix := range []string{"", "-wal", "-shm"} {
		store := filepath.Join(p.runDir, storeFile+suffix)
		if err := unix.Access(store, unix.R_OK|unix.W_OK); errors.Is(err, fs.ErrPermission) {
			return place{}, a.badPlace("place.denied", "place.rundir", store)
		}
	}
	return p, nil
}

// abs is a path seen from the current directory.
func (a *app) abs(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(a.Dir, path)
}

// checkDir says what is wrong with a directory that will be written to. One that is not there is fine unless it must be,
// if it can be made.
func (a *app) checkDir(path, what string, must bool) error {
	bad := func(id string) error { return a.badPlace(id, what, path) }
	if strings.ContainsRune(path, 0) {
		return bad("place.missing")
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && must:
		return bad("place.missing")
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Lstat(path); err == nil {
			return bad("place.missing") // a link to nowhere: no directory can be made in its place
		}
		if parent := filepath.Dir(path); parent != path {
			return a.checkDir(parent, what, false)
		}
		return bad("place.missing")
	case errors.Is(err, unix.ENOTDIR):
		return bad("place.file")
	case errors.Is(err, fs.ErrPermission):
		return bad("place.denied")
	case err != nil:
		return &usageError{&aboutError{a.Say(what), err}}
	case !info.IsDir():
		return bad("place.file")
	case unix.Access(path, unix.R_OK|unix.W_OK|unix.X_OK) != nil:
		return bad("place.denied")
	}
	return nil
}

func (a *app) badPlace(id, what, path string) error {
	return &usageError{spoken(a.Say(id, text.Data{"What": a.Say(what), "Path": path}))}
}

// checkRequest says why a text cannot be a request.
func (a *app) checkRequest(s string) error {
	switch {
	case len(s) > maxRequest:
		return &usageError{spoken(a.Say("request.long", text.Data{"KiB": maxRequest >> 10}))}
	case !utf8.ValidString(s):
		return &usageError{spoken(a.Say("request.utf8"))}
	}
	return nil
}
