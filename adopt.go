package flower

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"flower/internal/disk"
)

// A directory that was moved is not recognised: its lineage names another path. Whether it was moved or copied nobody can
// see, except that after a move nothing is left at the old path. Adopt takes the state over then, because somebody says so.

// Origin is the path of another workspace, from which the state in a run directory comes.
type Origin struct {
	Path string
	// Gone says that nothing is there any more, or that it leads here: the directory was moved, not copied.
	Gone bool

	file string // the lineage that names it
}

// Errors of Adopt.
var (
	ErrNothingToAdopt = errors.New("nothing here comes from another directory")
	ErrOriginExists   = errors.New("the directory this one comes from is still there: this is a copy")
)

// FindOrigin says from where the state in a run directory ("" is DefaultRunDir) comes, if it is not the workspace's own.
// That is what lineage says, or else the newest lineage that a run has put aside because its directory was moved. It
// writes nothing.
func FindOrigin(workspace, runDir string) (Origin, bool) {
	if runDir == "" {
		runDir = DefaultRunDir
	}
	workspace, err := ResolveWorkspace(workspace)
	if err != nil {
		return Origin{}, false
	}
	path := filepath.Join(runDir, lineageFile)
	if o, ok := originOf(path, workspace); ok {
		return o, true
	}
	aside, _ := filepath.Glob(filepath.Join(globQuote(runDir), lineageFile+".bad-*"))
	slices.Sort(aside)
	for _, path := range slices.Backward(aside) {
		if o, ok := originOf(path, workspace); ok && o.Gone {
			return o, true
		}
	}
	return Origin{}, false
}

// globQuote is a path that a pattern may begin with.
func globQuote(path string) string {
	var out []byte
	for _, b := range []byte(path) {
		if b == '*' || b == '?' || b == '[' || b == '\\' {
			out = append(out, '\\')
		}
		out = append(out, b)
	}
	return string(out)
}

// originOf reads one lineage; false if it is of this workspace or no lineage.
func originOf(file, workspace string) (Origin, bool) {
	data, err := disk.ReadRegular(file, maxBook)
	if err != nil {
		return Origin{}, false
	}
	o, err := parseObject(data)
	var path string
	if err != nil || json.Unmarshal(o.values["workspace"], &path) != nil || path == workspace || !filepath.IsAbs(path) {
		return Origin{}, false
	}
	return Origin{Path: path, Gone: gone(path, workspace), file: file}, true
}

// gone says that a workspace is not at path any more, because nothing is or because it is here.
func gone(path, workspace string) bool {
	_, err := os.Stat(path)
	if err != nil {
		return absent(err)
	}
	real, err := ResolveWorkspace(path)
	return err == nil && real == workspace
}

// AdoptOptions say what to adopt.
type AdoptOptions struct {
	Workspace string // "" is the current directory
	RunDir    string // "" is DefaultRunDir
	// Sessions moves the sessions of the path from to the workspace, in the store; required. Doing it again must be
	// harmless: it is done again after a process has died behind it.
	Sessions func(ctx context.Context, from string) error
	Now      func() time.Time // nil is time.Now
}

// Adopt takes over the state of a directory that was moved: its sessions, and then the lineage that names them. A process
// that dies in between leaves the lineage as it was; adopting again finishes. It returns the old path. Errors are
// ErrNothingToAdopt, ErrOriginExists, *InUse if a flower works in the run directory, what Sessions returned, or those of
// the file system.
func Adopt(ctx context.Context, opts AdoptOptions) (from string, err error) {
	if opts.RunDir == "" {
		opts.RunDir = DefaultRunDir
	}
	if opts.Workspace == "" {
		opts.Workspace = "."
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	workspace, err := ResolveWorkspace(opts.Workspace)
	if err != nil {
		return "", fmt.Errorf("find workspace: %w", err)
	}
	if _, ok := FindOrigin(workspace, opts.RunDir); !ok {
		return "", ErrNothingToAdopt // before anything is written
	}
	host, _ := os.Hostname() // "" says as much
	owner := Owner{PID: os.Getpid(), Host: host, Started: opts.Now(), Workspace: workspace}
	lease, err := takeLease(filepath.Join(opts.RunDir, runLeaseFile), "", owner)
	var busy *InUse
	if errors.As(err, &busy) {
		return "", err
	}
	if err == nil { // where leases do not work, flowers run without
		defer func() { _ = lease.Release() }() // it is free in any case
	}
	origin, ok := FindOrigin(workspace, opts.RunDir)
	switch {
	case !ok:
		return "", ErrNothingToAdopt
	case !origin.Gone:
		return origin.Path, ErrOriginExists
	}
	if err := opts.Sessions(ctx, origin.Path); err != nil {
		return origin.Path, err
	}
	return origin.Path, origin.become(ctx, filepath.Join(opts.RunDir, lineageFile), workspace, opts.Now())
}

// become makes the lineage that names the origin that of the workspace, at path. A present one is put aside.
func (o Origin) become(ctx context.Context, path, workspace string, now time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, bookWait)
	defer cancel()
	aside := o.file != path
	if aside && !readable(path) {
		if _, err := putAside(ctx, path, now); err != nil {
			return err
		}
	}
	err := disk.UpdateJSON(ctx, path, func(old []byte) ([]byte, error) {
		data, err := disk.ReadRegular(o.file, maxBook)
		if err != nil {
			return nil, err
		}
		lineage, err := parseObject(data)
		if err != nil {
			return nil, err
		}
		if aside && old != nil {
			if _, err := disk.Quarantine(realPath(path), now); err != nil {
				return nil, err
			}
		}
		lineage.put("workspace", workspace)
		if data, err = marshal(lineage); err != nil {
			return nil, fmt.Errorf("encode lineage: %w", err)
		}
		return indent(data), nil
	})
	if err != nil || !aside {
		return err
	}
	// It is not found again: its steps are in use now.
	used := filepath.Join(filepath.Dir(o.file), lineageFile+".adopted-"+now.Format(disk.StampLayout))
	if err := os.Rename(o.file, used); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("rename what was adopted: %w", err)
	}
	return nil
}
