package flower

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"flower/internal/disk"
)

// Reason names why something of an earlier run is not used. Nothing of it is an error.
type Reason string

// The reasons.
const (
	WorkspaceDiffers  Reason = "workspace_differs"    // the directory was copied or moved
	SessionNotInStore Reason = "session_not_in_store" // the store does not know the session
	EmptyID           Reason = "empty_id"
	WrongType         Reason = "wrong_type"  // valid JSON of another shape
	Incomplete        Reason = "incomplete"  // a document that lacks sections, or is damaged
	Unreadable        Reason = "unreadable"  // torn, empty, not JSON, not a regular file
	WrongCount        Reason = "wrong_count" // the number of wakes is none and begins anew; the sessions are used
)

const (
	lineageFile  = "lineage.json"
	manifestFile = "manifest.json"

	// maxWoke bounds the number of wakes that is believed: more is not a count of ours.
	maxWoke = 1_000_000_000
)

// lineage is the content of lineage.json as far as it fits this workspace.
type lineage struct {
	woke    int
	steps   map[string]string // alive ones only
	refused []refusal
	aside   bool // it is put aside before the next write: something in it is not usable and would be overwritten
	rest    object
}

// refusal is one thing that was not used.
type refusal struct {
	reason Reason
	step   string
	detail string
}

// said is what people are told of it in a workspace.
func (r refusal) said(workspace string) NotContinued {
	return NotContinued{
		Reason: r.reason, Step: r.step, Detail: r.detail,
		Moved: r.reason == WorkspaceDiffers && filepath.IsAbs(r.detail) && gone(r.detail, workspace),
	}
}

// parseLineage reads lineage.json. has says whether the store knows a session.
func parseLineage(data []byte, workspace string, has func(id string) bool) lineage {
	l := lineage{steps: make(map[string]string)}
	refuse := func(r Reason, detail string) lineage {
		return lineage{steps: map[string]string{}, aside: true, refused: []refusal{{reason: r, detail: detail}}}
	}
	o, err := parseObject(data)
	switch {
	case errors.Is(err, errWrongType):
		return refuse(WrongType, err.Error())
	case err != nil:
		return refuse(Unreadable, err.Error())
	}
	l.rest = o
	var path string
	if raw, ok := o.values["workspace"]; !ok {
		return refuse(WorkspaceDiffers, "")
	} else if json.Unmarshal(raw, &path) != nil || string(raw) == "null" {
		return refuse(WrongType, "workspace is not a string")
	}
	if path != workspace {
		return refuse(WorkspaceDiffers, path)
	}
	if raw, ok := o.values["woke"]; ok && (json.Unmarshal(raw, &l.woke) != nil || l.woke < 0 || l.woke > maxWoke) {
		l.woke, l.aside = 0, true
		l.refused = append(l.refused, refusal{reason: WrongCount, detail: "woke is not a number of wakes"})
	}
	raw, ok := o.values["steps"]
	if !ok {
		return l
	}
	steps, err := parseObject(raw)
	if err != nil {
		return refuse(WrongType, "steps is not an object")
	}
	for _, name := range steps.keys {
		if id, r := liveID(steps.values[name], has); r == "" {
			l.steps[name] = id
		} else {
			l.refused = append(l.refused, refusal{reason: r, step: name, detail: id})
		}
	}
	return l
}

// liveID reads a session id and checks it; the reason is empty if it can be used.
func liveID(raw json.RawMessage, has func(string) bool) (string, Reason) {
	var id string
	switch {
	case string(raw) == "null" || json.Unmarshal(raw, &id) != nil:
		return "", WrongType
	case id == "":
		return "", EmptyID
	case !has(id):
		return id, SessionNotInStore
	}
	return id, ""
}

// lineageBook is this process's hand on lineage.json. The goroutine that runs the workflow owns it. Every write merges
// what this process knows into what the file holds now, so that other processes' steps survive.
type lineageBook struct {
	dir       string // run dir
	workspace string
	now       func() time.Time
	mine      map[string]string // steps of this process
	order     []string          // of mine, as they came
	before    int               // wakes before this one, as loaded
	woke      int               // 0 until wake
}

func newLineageBook(dir, workspace string, now func() time.Time) *lineageBook {
	return &lineageBook{dir: dir, workspace: workspace, now: now, mine: make(map[string]string)}
}

func (b *lineageBook) path() string { return filepath.Join(b.dir, lineageFile) }

// load reads the file; a missing one is an empty lineage.
func (b *lineageBook) load(has func(id string) bool) lineage {
	l := readLineage(b.path(), b.workspace, has)
	b.before = l.woke
	return l
}

func readLineage(path, workspace string, has func(string) bool) lineage {
	data, err := disk.ReadRegular(path, maxBook)
	if err != nil && absent(err) {
		return lineage{steps: map[string]string{}}
	}
	if err != nil {
		return lineage{steps: map[string]string{}, aside: true, refused: []refusal{{reason: Unreadable, detail: err.Error()}}}
	}
	return parseLineage(data, workspace, has)
}

// wake counts this run and returns which wake it is, also when that could not be written; it then goes with the next
// write. kept is where an unusable file was put.
func (b *lineageBook) wake(ctx context.Context) (woke int, kept string, err error) {
	b.woke = b.before + 1
	kept, err = b.update(ctx, func(l lineage) { b.woke = l.woke + 1 })
	return b.woke, kept, err
}

// remember records the session of a step; it is on disk when remember returns without an error, and otherwise goes with
// the next write.
func (b *lineageBook) remember(ctx context.Context, step, id string) (kept string, err error) {
	if _, there := b.mine[step]; !there {
		b.order = append(b.order, step)
	}
	b.mine[step] = id
	return b.update(ctx, func(lineage) {})
}

// update writes what this process knows. look sees what the file held until now.
func (b *lineageBook) update(ctx context.Context, look func(lineage)) (kept string, err error) {
	alive := func(string) bool { return true } // dead ids of other steps are left as they are
	var saved lineage                          // from a file that was put aside
	return updateBook(ctx, b.path(), b.now(), func(old []byte) ([]byte, error) {
		l := saved
		if old != nil {
			if l = parseLineage(old, b.workspace, alive); l.aside {
				saved = l
				return nil, errUnusable
			}
		}
		look(l)
		return b.merge(l)
	})
}

// merge lays this process's knowledge over the file's.
func (b *lineageBook) merge(l lineage) ([]byte, error) {
	o := l.rest
	steps := object{}
	if raw, ok := o.values["steps"]; ok {
		if old, err := parseObject(raw); err == nil {
			steps = old
		}
	}
	for _, name := range b.order {
		steps.put(name, b.mine[name])
	}
	o.put("workspace", b.workspace)
	o.put("woke", max(b.woke, l.woke))
	o.put("steps", steps)
	data, err := marshal(o)
	if err != nil {
		return nil, fmt.Errorf("encode lineage: %w", err)
	}
	return indent(data), nil
}
