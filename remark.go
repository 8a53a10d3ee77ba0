package flower

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"flower/agent"
	"flower/document"
	"flower/internal/disk"
	"flower/internal/workbench"
)

// What a person says at wake lands in three places: in the brief, so that later steps read it; in the working agent's
// conversation; and in the goal, which is derived again, so that it is judged. The store's inbox is the durable record
// from which the other places are filled: a process that dies half way leaves the rest to the next one.

// notebook is where a person's remarks go: the store's inbox, and the brief.
type notebook struct {
	store   Store
	project string
	bench   *workbench.Bench
	now     func() time.Time
}

// take makes a remark durable, on a full disk as soon as room allows, and appends it to the frozen brief. An error says
// that it is not kept.
func (b notebook) take(ctx context.Context, room *agent.Room, text string) (NoteTaken, error) {
	note := agent.Note{ID: uuid.NewString(), Text: text, At: b.now()}
	if err := room.Keep(ctx, func() error { return b.store.AddNote(ctx, b.project, note) }); err != nil {
		return NoteTaken{}, fmt.Errorf("keep remark: %w", err)
	}
	taken := NoteTaken{Text: text}
	err := b.bench.UpdateNote(workbench.Brief, func(old string, there bool) (string, bool) {
		if !there {
			return "", false
		}
		file, changed := document.AppendToBrief(old, document.AddedRunning, note.At.Format(time.TimeOnly), text)
		taken.InBrief = true
		return file, changed
	})
	if err != nil {
		taken.InBrief = false
		if disk.Exists(b.bench.NotePath(workbench.Brief)) {
			taken.BriefErr = err
		}
	}
	return taken, nil
}

// remarkText is a remark as it is kept; "" is nothing.
func remarkText(said string) string { return strings.ToValidUTF8(strings.TrimSpace(said), "\uFFFD") }

// keepRemark makes a remark durable. One that waits already, because the process that took it died, is not kept twice.
// The goal is derived again even if the brief holds the same words: they may have come while the agent worked, after
// the goal was set.
func (rt *Runtime) keepRemark(ctx context.Context, text string) error {
	if err := rt.retireGoal(ctx); err != nil {
		return err
	}
	project := ProjectKey(rt.workspace)
	waiting, err := rt.opts.Store.PendingNotes(ctx, project)
	if err != nil {
		return fmt.Errorf("read inbox: %w", err)
	}
	if slices.ContainsFunc(waiting, func(n agent.Note) bool { return n.Text == text }) {
		return nil
	}
	note := agent.Note{ID: uuid.NewString(), Text: text, At: rt.opts.Now()}
	if err := rt.opts.Room.Keep(ctx, func() error { return rt.opts.Store.AddNote(ctx, project, note) }); err != nil {
		return fmt.Errorf("keep what you said: %w", err)
	}
	return nil
}

// landRemarks brings every waiting remark into the brief that is not there yet, under a heading. The goal goes first:
// without one, the goal step runs, and a remark that is in the brief but not in the goal would never be judged.
func (rt *Runtime) landRemarks(ctx context.Context, heading string) error {
	notes, err := rt.opts.Store.PendingNotes(ctx, ProjectKey(rt.workspace))
	if err != nil {
		return fmt.Errorf("read inbox: %w", err)
	}
	for _, n := range notes {
		landed := false
		add := func(old string, there bool) (string, bool) {
			if !there {
				return "", false
			}
			file, changed := document.AppendToBrief(old, heading, n.At.Format(time.TimeOnly), n.Text)
			landed = changed
			return file, changed
		}
		if old, there, err := rt.bench.ReadNote(workbench.Brief); err != nil {
			return fmt.Errorf("read the brief: %w", err)
		} else if _, changed := add(old, there); !changed {
			continue
		}
		if err := rt.retireGoal(ctx); err != nil {
			return err
		}
		if err := rt.updateNote(ctx, workbench.Brief, add); err != nil {
			return fmt.Errorf("append to the brief: %w", err)
		}
		if landed {
			rt.emit(NoteTaken{Text: n.Text, InBrief: true})
		}
	}
	return nil
}

// retireGoal puts the goal aside, as soon as there is room to do so.
func (rt *Runtime) retireGoal(ctx context.Context) error {
	if err := rt.opts.Room.Keep(ctx, func() error { return rt.retire(workbench.Goal) }); err != nil {
		return fmt.Errorf("put the old goal aside: %w", err)
	}
	return nil
}

// updateNote changes a document, as soon as there is room to do so.
func (rt *Runtime) updateNote(ctx context.Context, name string, change func(old string, there bool) (string, bool)) error {
	return rt.opts.Room.Keep(ctx, func() error { return rt.bench.UpdateNote(name, change) })
}

// retire moves a document into the archive, if there is one.
func (rt *Runtime) retire(name string) error {
	_, err := rt.archive(rt.bench.NotePath(name))
	return err
}

// inbox hands the remarks of a workspace to the agent that works, whether or not a person is there now. It implements
// agent.Inbox.
type inbox struct {
	store   Store
	project string
	lang    Lang
}

// Take implements agent.Inbox.
func (b inbox) Take(ctx context.Context) ([]agent.Note, error) {
	notes, err := b.store.PendingNotes(ctx, b.project)
	if err != nil {
		return nil, err // the engine says what it was about
	}
	for i := range notes {
		notes[i].Text = say(b.lang, "note", map[string]any{"Time": notes[i].At.Format(time.TimeOnly), "Text": notes[i].Text})
	}
	return notes, nil
}

// Delivered implements agent.Inbox.
func (b inbox) Delivered(ctx context.Context, notes []agent.Note) error {
	return b.store.MarkDelivered(ctx, b.project, noteIDs(notes))
}

func (rt *Runtime) hasRemarks() bool {
	notes, err := rt.opts.Store.PendingNotes(context.Background(), ProjectKey(rt.workspace))
	return err == nil && len(notes) > 0
}

func noteIDs(notes []agent.Note) []string {
	ids := make([]string, len(notes))
	for i, n := range notes {
		ids[i] = n.ID
	}
	return ids
}
