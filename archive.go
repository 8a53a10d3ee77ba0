package flower

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"flower/internal/disk"
	"flower/internal/workbench"
)

// archivingFile, in the run directory, is there while a history is put aside. It names the directory of the archive, so
// that a process that dies in between leaves no half state: whoever sees it takes the history for gone, and the next run
// finishes.
const archivingFile = "archiving.json"

// maxArchiving bounds what is read of it, in bytes.
const maxArchiving = 4096

// archiveName is what a directory of the archive is called.
var archiveName = regexp.MustCompile(`^\d{8}-\d{6}(-\d+)?$`)

type archiving struct {
	Archive string `json:"archive"`
}

// readArchiving returns the name of the archive that is being filled; false if none is. The error says that what is there
// cannot be used.
func readArchiving(runDir string) (name string, ok bool, err error) {
	data, err := disk.ReadRegular(filepath.Join(runDir, archivingFile), maxArchiving)
	if err != nil {
		if absent(err) {
			err = nil
		}
		return "", false, err
	}
	var a archiving
	if json.Unmarshal(data, &a) != nil || !archiveName.MatchString(a.Archive) {
		return "", false, errUnusable
	}
	return a.Archive, true, nil
}

// Archive puts the history of a workspace aside so that the next run starts something new: lineage, brief and goal move
// together into .flower/notes/archive/<time>/, or none of them does. Remarks nobody has read go with them. The store
// keeps its sessions. It returns the archive's directory, "" if there was nothing to move. When the process dies meanwhile
// the next run finishes it.
func (rt *Runtime) Archive(ctx context.Context) (string, error) {
	if err := rt.finishArchive(ctx); err != nil {
		return "", err
	}
	moves := movesOf(rt.history())
	if len(moves) == 0 {
		return "", rt.emptyInbox(ctx)
	}
	dir, err := rt.bench.ArchiveDir(rt.opts.Now())
	if err == nil {
		if err = rt.startArchive(filepath.Base(dir), moves, dir); err != nil {
			err = errors.Join(err, os.Remove(dir))
		}
	}
	if err != nil {
		return "", fmt.Errorf("archive: %w", err)
	}
	if err := rt.emptyInbox(ctx); err != nil {
		return dir, err
	}
	return dir, rt.endArchive()
}

// history is what is put aside.
func (rt *Runtime) history() []string {
	return []string{
		filepath.Join(rt.opts.RunDir, lineageFile), rt.bench.NotePath(workbench.Brief), rt.bench.NotePath(workbench.Goal),
	}
}

// startArchive notes what is about to be done and moves the files. On an error nothing has moved and nothing is noted.
func (rt *Runtime) startArchive(name string, moves []disk.Move, dir string) error {
	note := filepath.Join(rt.opts.RunDir, archivingFile)
	data, err := marshal(archiving{name})
	if err != nil {
		return fmt.Errorf("encode note: %w", err)
	}
	if err := errors.Join(disk.PrivateDir(rt.opts.RunDir), disk.WriteFile(note, data, disk.PrivateMode)); err != nil {
		return err
	}
	if err := disk.MoveAll(into(dir, moves)); err != nil {
		return errors.Join(err, os.Remove(note))
	}
	return nil
}

func (rt *Runtime) endArchive() error {
	err := os.Remove(filepath.Join(rt.opts.RunDir, archivingFile))
	if err == nil {
		err = disk.SyncDir(rt.opts.RunDir)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("end archive: %w", err)
	}
	return nil
}

// finishArchive finishes what a process that has died began. A note that cannot be used is put aside.
func (rt *Runtime) finishArchive(ctx context.Context) error {
	name, ok, err := readArchiving(rt.opts.RunDir)
	if err != nil {
		kept, err := disk.Quarantine(filepath.Join(rt.opts.RunDir, archivingFile), rt.opts.Now())
		if err != nil {
			return fmt.Errorf("finish archive: %w", err)
		}
		rt.emit(NotContinued{Reason: Unreadable, Detail: archivingFile, Kept: kept})
		return nil
	}
	if !ok {
		return nil
	}
	dir := rt.bench.Archived(name)
	if err := disk.SharedDir(dir); err != nil {
		return fmt.Errorf("finish archive: %w", err)
	}
	moves := into(dir, movesOf(rt.history()))
	for _, m := range moves {
		if err := rt.makeWay(m.To); err != nil {
			return fmt.Errorf("finish archive: %w", err)
		}
	}
	if err := disk.MoveAll(moves); err != nil {
		return fmt.Errorf("finish archive: %w", err)
	}
	if err := rt.emptyInbox(ctx); err != nil {
		return err
	}
	return rt.endArchive()
}

// makeWay clears the target of a move that was cut: the empty file, or directory, that has taken the name, or the copy
// whose original is still there.
func (rt *Runtime) makeWay(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().IsRegular() && info.Size() == 0:
		return os.Remove(path)
	}
	_, err = disk.Quarantine(path, rt.opts.Now())
	return err
}

// emptyInbox takes out the remarks that nobody has read: they belong to what was put aside.
func (rt *Runtime) emptyInbox(ctx context.Context) error {
	project := ProjectKey(rt.workspace)
	notes, err := rt.opts.Store.PendingNotes(ctx, project)
	if err == nil {
		err = rt.opts.Store.MarkDelivered(ctx, project, noteIDs(notes))
	}
	if err != nil {
		return fmt.Errorf("empty inbox: %w", err)
	}
	return nil
}

// archive moves files together into a new directory of the archive and returns its path, "" if there was nothing to
// move.
func (rt *Runtime) archive(paths ...string) (string, error) {
	moves := movesOf(paths)
	if len(moves) == 0 {
		return "", nil
	}
	dir, err := rt.bench.ArchiveDir(rt.opts.Now())
	if err != nil {
		return "", err
	}
	if err := disk.MoveAll(into(dir, moves)); err != nil {
		return "", errors.Join(err, os.Remove(dir))
	}
	return dir, nil
}

// movesOf are the moves of those paths at which something is, still without their targets.
func movesOf(paths []string) (moves []disk.Move) {
	for _, path := range paths {
		if disk.Exists(path) {
			moves = append(moves, disk.Move{From: path})
		}
	}
	return moves
}

// into gives moves their targets.
func into(dir string, moves []disk.Move) []disk.Move {
	for i, m := range moves {
		moves[i].To = filepath.Join(dir, filepath.Base(m.From))
	}
	return moves
}
