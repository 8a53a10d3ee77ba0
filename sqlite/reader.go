package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"flower"
	"flower/agent"
)

// ErrUnsettled says that a database could not be read without changing it: it was changed all the time, or a
// transaction of another program was cut in it. Opening it for writing settles that.
var ErrUnsettled = errors.New("database is being changed")

const (
	// settleWait is how long a database is waited for that changes while it is read.
	settleWait = 5 * time.Second
	// settlePause is the pause between two attempts; it has to be longer than tick.
	settlePause = tick + 5*time.Millisecond
)

// Reader reads a store without writing a byte, neither into the file nor beside it: on a read-only disk, while another
// process writes, after one that was killed. Every call sees one state of the store, that of the last transaction that
// was complete when it began. A store that is not there, or not yet, reads as an empty one.
//
// It is safe for concurrent use; calls take turns. Outside of Linux no Store on the same file may be open in the same
// process: when the Reader closes the file the Store's locks are lost.
type Reader struct {
	path, workspace string

	mu   sync.Mutex
	snap *snapshot // the last one, nil: none
}

// OpenReadOnly returns a reader of the database at path; of opts only Workspace is used. It is no error if nothing is
// there. Errors are ErrNotDatabase, ErrNewer, ErrUnsettled or those of the file system.
func OpenReadOnly(ctx context.Context, path string, opts Options) (*Reader, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", path, err)
	}
	r := &Reader{path: path, workspace: opts.Workspace}
	if err := r.view(ctx, func(*snapshot) error { return nil }); err != nil {
		return nil, fmt.Errorf("open store %s: %w", path, errors.Join(err, r.Close()))
	}
	return r, nil
}

// Close releases the files. A reader can be used again afterwards.
func (r *Reader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.drop()
}

func (r *Reader) drop() error {
	s := r.snap
	if r.snap = nil; s == nil {
		return nil
	}
	return s.close()
}

// view runs f on one state of the database, again if it was not one state. f is not run if there is no database. What
// f has collected counts only if view returns nil.
func (r *Reader) view(ctx context.Context, f func(*snapshot) error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for deadline := time.Now().Add(settleWait); ; {
		err := r.attempt(ctx, f)
		if !errors.Is(err, errMoved) {
			return err
		}
		if time.Now().After(deadline) {
			return ErrUnsettled
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(settlePause):
		}
	}
}

func (r *Reader) attempt(ctx context.Context, f func(*snapshot) error) error {
	if r.snap != nil && !r.snap.fresh() {
		if err := r.drop(); err != nil {
			return err
		}
	}
	if r.snap == nil {
		s, err := takeSnapshot(ctx, r.path)
		if s == nil {
			return err
		}
		r.snap = s
	}
	var err error
	if !r.snap.empty {
		err = f(r.snap)
	}
	if r.snap.moved() {
		return errors.Join(errMoved, r.drop())
	}
	if err != nil {
		return refuse(err)
	}
	return nil
}

// hides is the condition that a session is of another workspace; ?1 and ?2 as in hidden.
func (s *snapshot) hides() string {
	if s.version == 0 {
		return `(?2 = '-')` // nothing is recorded; both parameters have to be there
	}
	return hidden
}

// Load returns all entries of a session in stored order; see agent.Log.
func (r *Reader) Load(ctx context.Context, key agent.Key) ([]json.RawMessage, error) {
	entries, err := r.payloads(ctx, key, `SELECT payload FROM entries WHERE store_key = ? ORDER BY seq`, key.String())
	if err != nil {
		return nil, fmt.Errorf("load session %s: %w", key, err)
	}
	return entries, nil
}

// Tail returns the last n entries of a session, oldest first.
func (r *Reader) Tail(ctx context.Context, key agent.Key, n int) ([]json.RawMessage, error) {
	entries, err := r.payloads(ctx, key, `SELECT payload FROM entries WHERE store_key = ? ORDER BY seq DESC LIMIT ?`, key.String(), max(n, 0))
	if err != nil {
		return nil, fmt.Errorf("read end of session %s: %w", key, err)
	}
	slices.Reverse(entries)
	return entries, nil
}

func (r *Reader) payloads(ctx context.Context, key agent.Key, query string, args ...any) ([]json.RawMessage, error) {
	var entries []json.RawMessage
	if !usable(key) {
		return nil, nil
	}
	err := r.view(ctx, func(s *snapshot) error {
		entries = nil
		return each(ctx, s.db, func(rows *sql.Rows) error {
			var payload []byte
			err := rows.Scan(&payload)
			entries = append(entries, payload)
			return err
		}, query, args...)
	})
	return entries, err
}

// each calls f for every row of a query.
func each(ctx context.Context, db *sql.DB, f func(*sql.Rows) error, query string, args ...any) (err error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := f(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// Has says whether the session has entries and was made in this workspace.
func (r *Reader) Has(ctx context.Context, key agent.Key) (bool, error) {
	info, err := r.Session(ctx, key)
	return info.Entries > 0, err
}

// Session describes one session in the time that a look into an index takes; the zero value is one that is not there,
// or of another workspace.
func (r *Reader) Session(ctx context.Context, key agent.Key) (flower.SessionInfo, error) {
	var info flower.SessionInfo
	if !usable(key) {
		return info, nil
	}
	err := r.view(ctx, func(s *snapshot) error {
		var entries, mtime int64
		err := s.db.QueryRowContext(ctx, `
			SELECT coalesce((SELECT max(seq) + 1 FROM entries WHERE store_key = ?1), 0),
				coalesce((SELECT mtime FROM meta WHERE store_key = ?1), 0)
			WHERE NOT `+s.hides(), key.String(), r.workspace).Scan(&entries, &mtime)
		if errors.Is(err, sql.ErrNoRows) {
			err = nil
		}
		info = flower.SessionInfo{}
		if entries > 0 {
			info = flower.SessionInfo{ID: key.Session, Entries: int(entries), Changed: time.UnixMilli(mtime)}
		}
		return err
	})
	if err != nil {
		return flower.SessionInfo{}, fmt.Errorf("look up session %s: %w", key, err)
	}
	return info, nil
}

// Thread is a main thread with its subagents.
type Thread struct {
	flower.SessionInfo
	Subagents []string // ids, in order of their last change
}

// Sessions lists the main threads of a project, the one written last first.
func (r *Reader) Sessions(ctx context.Context, project string) ([]Thread, error) {
	list, err := r.threads(ctx, project, project)
	if err != nil {
		return nil, fmt.Errorf("list sessions of %s: %w", project, err)
	}
	return list, nil
}

// Thread describes one session with its subagents; the zero value is one that is not there.
func (r *Reader) Thread(ctx context.Context, key agent.Key) (Thread, error) {
	if !usable(key) {
		return Thread{}, nil
	}
	list, err := r.threads(ctx, key.Project, key.Project+"/"+key.Session)
	for _, t := range list {
		if t.ID == key.Session {
			return t, err
		}
	}
	if err != nil {
		return Thread{}, fmt.Errorf("look up session %s: %w", key, err)
	}
	return Thread{}, nil
}

// threads lists what is stored at and below a key.
func (r *Reader) threads(ctx context.Context, project, below string) ([]Thread, error) {
	var found map[string]*Thread
	err := r.view(ctx, func(s *snapshot) error {
		found = map[string]*Thread{}
		filter := ""
		if s.version > 0 {
			filter = `AND (?2 = '' OR NOT EXISTS (
				SELECT 1 FROM flower_sessions WHERE store_key = m.store_key AND workspace NOT IN ('', ?2)))`
		}
		return each(ctx, s.db, func(rows *sql.Rows) error {
			var key string
			var mtime, entries int64
			if err := rows.Scan(&key, &mtime, &entries); err != nil {
				return err
			}
			id, sub, _ := strings.Cut(strings.TrimPrefix(key, project+"/"), "/")
			t := found[id]
			if t == nil {
				t = &Thread{}
				found[id] = t
			}
			if agentID, ok := strings.CutPrefix(sub, "subagents/agent-"); ok {
				t.Subagents = append(t.Subagents, agentID)
			} else if sub == "" {
				t.SessionInfo = flower.SessionInfo{ID: id, Entries: int(entries), Changed: time.UnixMilli(mtime)}
			}
			return nil
		}, `SELECT m.store_key, m.mtime, (SELECT max(seq) + 1 FROM entries WHERE store_key = m.store_key) n
			FROM meta m
			WHERE (m.store_key = ?1 OR m.store_key > ?1 || '/' AND m.store_key < ?1 || '0') AND n > 0 `+filter+`
			ORDER BY m.mtime, m.store_key`, below, r.workspace)
	})
	if err != nil {
		return nil, err
	}
	var list []Thread
	for _, t := range found {
		if t.ID != "" { // subagents whose main thread is gone are nobody's
			list = append(list, *t)
		}
	}
	slices.SortFunc(list, func(a, b Thread) int {
		return cmp.Or(b.Changed.Compare(a.Changed), cmp.Compare(a.ID, b.ID))
	})
	return list, nil
}

// PendingNotes is how many remarks of a person nobody has read yet.
func (r *Reader) PendingNotes(ctx context.Context, project string) (int, error) {
	n := 0
	err := r.view(ctx, func(s *snapshot) error {
		if s.version == 0 {
			return nil
		}
		return s.db.QueryRowContext(ctx, `SELECT count(*) FROM flower_inbox WHERE project = ? AND delivered IS NULL`, project).Scan(&n)
	})
	if err != nil {
		return 0, fmt.Errorf("read inbox: %w", err)
	}
	return n, nil
}

// Count is how many main threads a project has, found without looking at each: those of another workspace with the same
// key are among them.
func (r *Reader) Count(ctx context.Context, project string) (int, error) {
	n := 0
	err := r.view(ctx, func(s *snapshot) error {
		return s.db.QueryRowContext(ctx, `
			SELECT count(*) FROM meta WHERE store_key > ?1 || '/' AND store_key < ?1 || '0'
				AND instr(substr(store_key, length(?1) + 2), '/') = 0`, project).Scan(&n)
	})
	if err != nil {
		return 0, fmt.Errorf("count sessions of %s: %w", project, err)
	}
	return n, nil
}
