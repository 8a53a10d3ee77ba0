package flower

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"flower/agent"
	"flower/document"
	"flower/internal/disk"
	"flower/internal/workbench"
)

// What a person says at wake lands in three places: in the brief, so that later steps read it; in the working agent's
// conversation; and in the goal, which is derived again, so that it is judged. The store's inbox is the durable record
// from which the other places are filled: a process that dies half way leaves the rest to the next one.

// keepRemark makes a remark durable.
func (rt *Runtime) keepRemark(ctx context.Context, text string) error {
	note := agent.Note{ID: uuid.NewString(), Text: text, At: rt.opts.Now()}
	if err := rt.opts.Store.AddNote(ctx, ProjectKey(rt.workspace), note); err != nil {
		return fmt.Errorf("keep what you said: %w", err)
	}
	return nil
}

// landRemarks brings every waiting remark into the brief that is not there yet. The goal goes first: without one, the
// goal step runs, and a remark that is in the brief but not in the goal would never be judged.
func (rt *Runtime) landRemarks(ctx context.Context) error {
	notes, err := rt.opts.Store.PendingNotes(ctx, ProjectKey(rt.workspace))
	if err != nil {
		return fmt.Errorf("read inbox: %w", err)
	}
	for _, n := range notes {
		old, there, err := rt.bench.ReadNote(workbench.Brief)
		if err != nil || !there {
			return err
		}
		if _, changed := document.AppendToBrief(old, additionAtWake, n.At.Format("15:04:05"), n.Text); !changed {
			continue
		}
		if err := rt.retireGoal(); err != nil {
			return fmt.Errorf("put the old goal aside: %w", err)
		}
		err = rt.bench.UpdateNote(workbench.Brief, func(old string, _ bool) (string, bool) {
			return document.AppendToBrief(old, additionAtWake, n.At.Format("15:04:05"), n.Text)
		})
		if err != nil {
			return fmt.Errorf("append to the brief: %w", err)
		}
		rt.emit(NoteTaken{Text: n.Text, InBrief: true})
	}
	return nil
}

// retireGoal moves the goal into the archive.
func (rt *Runtime) retireGoal() error {
	if _, there, err := rt.bench.ReadNote(workbench.Goal); err != nil || !there {
		return err
	}
	dir, err := rt.bench.ArchiveDir(rt.opts.Now())
	if err != nil {
		return err
	}
	return disk.MoveAll([]disk.Move{{From: rt.bench.NotePath(workbench.Goal), To: dir + "/" + workbench.Goal}})
}

func (rt *Runtime) hasRemarks() bool {
	notes, err := rt.opts.Store.PendingNotes(context.Background(), ProjectKey(rt.workspace))
	return err == nil && len(notes) > 0
}

// Archive puts the history of a workspace aside so that the next run starts something new: lineage, brief and goal move
// together into .flower/notes/archive/<time>/, or none of them does. Remarks nobody has read go with them. The store
// keeps its sessions. It returns the archive's directory, "" if there was nothing to move.
func (rt *Runtime) Archive(ctx context.Context) (string, error) {
	wake := WakeState(rt.workspace, rt.opts.RunDir)
	var moves []disk.Move
	for _, path := range []string{rt.opts.RunDir + "/" + lineageFile, wake.Brief, wake.Goal} {
		if path != "" && disk.Exists(path) {
			moves = append(moves, disk.Move{From: path})
		}
	}
	if len(moves) == 0 {
		return "", nil
	}
	dir, err := rt.bench.ArchiveDir(rt.opts.Now())
	if err != nil {
		return "", fmt.Errorf("make archive: %w", err)
	}
	for i := range moves {
		name := moves[i].From[strings.LastIndexByte(moves[i].From, '/')+1:]
		moves[i].To = dir + "/" + name
	}
	if err := disk.MoveAll(moves); err != nil {
		return "", fmt.Errorf("archive: %w", err)
	}
	notes, err := rt.opts.Store.PendingNotes(ctx, ProjectKey(rt.workspace))
	if err != nil {
		return dir, fmt.Errorf("read inbox: %w", err)
	}
	ids := make([]string, len(notes))
	for i, n := range notes {
		ids[i] = n.ID
	}
	return dir, rt.opts.Store.MarkDelivered(ctx, ProjectKey(rt.workspace), ids)
}
