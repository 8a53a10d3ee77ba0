package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"flower"
	"flower/internal/disk"
)

// Adopted says what Adopt has done.
type Adopted struct {
	Sessions int    // main threads that have moved
	Copy     string // the database as it was before, "" if nothing moved
}

// Adopt hands the sessions of another path over to the store's workspace, after a copy of the database was made: their keys,
// with those of their subagents and of all that is recorded of them, and the remarks that wait. It is one transaction. A
// session that has entries under its new key already stays where it is, and so does one that was started at a third
// path. Doing it again does nothing.
func (s *Store) Adopt(ctx context.Context, from string) (Adopted, error) {
	done, err := s.adopt(ctx, from)
	if err != nil {
		return Adopted{}, fmt.Errorf("adopt sessions of %s: %w", from, err)
	}
	return done, nil
}

func (s *Store) adopt(ctx context.Context, from string) (done Adopted, err error) {
	if s.workspace == "" || from == "" || from == s.workspace {
		return Adopted{}, errors.New("no two workspaces")
	}
	lock, err := disk.AcquireLock(ctx, lockName(s.path))
	if err != nil {
		return Adopted{}, err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	a := &adoption{from: from, to: s.workspace, project: flower.ProjectKey(s.workspace)}
	if err := s.write(ctx, "adopt", a.plan); err != nil || len(a.moves) == 0 && a.notes == 0 {
		return Adopted{}, err
	}
	if done.Copy, err = copyBefore(ctx, s.path, "adopt", s.now()); err != nil {
		return Adopted{}, fmt.Errorf("copy the store first: %w", err)
	}
	if err := s.write(ctx, "adopt", a.run); err != nil {
		return Adopted{}, err
	}
	done.Sessions = len(a.moves)
	return done, nil
}

// adoption moves sessions from one workspace to another.
type adoption struct {
	from, to string
	project  string              // of to
	moves    map[string]string   // of main threads: old store keys to new ones
	notes    int                 // remarks under the old keys
	tables   map[string][]string // columns to change, by table
}

// keyColumns are the names of columns that hold a store key or a project key.
var keyColumns = []string{"store_key", "project_key", "project"}

// plan finds out what there is to move. It is asked again in the transaction that moves.
func (a *adoption) plan(ctx context.Context, tx *sql.Tx) error {
	a.moves, a.notes, a.tables = map[string]string{}, 0, map[string][]string{}
	rows, err := tx.QueryContext(ctx, `
		SELECT t.name, c.name FROM sqlite_schema t, pragma_table_info(t.name) c WHERE t.type = 'table' ORDER BY t.name`)
	if err != nil {
		return err
	}
	err = eachPair(rows, func(table, column string) {
		if slices.Contains(keyColumns, column) {
			a.tables[table] = append(a.tables[table], column)
		}
	})
	if err != nil {
		return err
	}
	for _, old := range a.projects() {
		if err := a.planProject(ctx, tx, old); err != nil {
			return err
		}
	}
	return nil
}

// projects are the keys under which sessions of the old path may stand.
func (a *adoption) projects() []string { return flower.ProjectKeys(a.from) }

func (a *adoption) planProject(ctx context.Context, tx *sql.Tx, old string) error {
	rows, err := tx.QueryContext(ctx, `
		SELECT k.store_key, coalesce(f.workspace, '') FROM (
			SELECT store_key FROM meta WHERE store_key > ?1 || '/' AND store_key < ?1 || '0'
			UNION SELECT store_key FROM entries WHERE store_key > ?1 || '/' AND store_key < ?1 || '0'
			UNION SELECT store_key FROM flower_sessions WHERE store_key > ?1 || '/' AND store_key < ?1 || '0') k
		LEFT JOIN flower_sessions f ON f.store_key = k.store_key ORDER BY k.store_key`, old)
	if err != nil {
		return err
	}
	var found []string
	err = eachPair(rows, func(key, workspace string) {
		session := key[len(old)+1:]
		mine := workspace == a.from || workspace == "" && old != a.project
		if !strings.Contains(session, "/") && mine {
			found = append(found, key)
		}
	})
	if err != nil {
		return err
	}
	for _, key := range found {
		to := a.project + key[len(old):]
		if to != key {
			var taken bool
			if err := tx.QueryRowContext(ctx, `SELECT `+occupied, to).Scan(&taken); err != nil {
				return err
			}
			if taken || slices.Contains(slices.Collect(maps.Values(a.moves)), to) {
				continue
			}
		}
		a.moves[key] = to
	}
	if old == a.project {
		return nil
	}
	var notes int
	err = tx.QueryRowContext(ctx, `SELECT count(*) FROM flower_inbox WHERE project = ? AND delivered IS NULL`, old).Scan(&notes)
	a.notes += notes
	return err
}

// eachPair runs f on rows of two texts.
func eachPair(rows *sql.Rows, f func(a, b string)) (err error) {
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var x, y string
		if err := rows.Scan(&x, &y); err != nil {
			return err
		}
		f(x, y)
	}
	return rows.Err()
}

// run moves everything.
func (a *adoption) run(ctx context.Context, tx *sql.Tx) error {
	if err := a.plan(ctx, tx); err != nil {
		return err
	}
	for from, to := range a.moves {
		for table, columns := range a.tables {
			if !slices.Contains(columns, "store_key") {
				continue
			}
			_, err := tx.ExecContext(ctx, `UPDATE `+quote(table)+`
				SET store_key = ?2 || substr(store_key, length(?1) + 1) WHERE `+family, from, to)
			if err != nil {
				return err
			}
		}
		// An answer's call stands below the thread that has asked.
		_, err := tx.ExecContext(ctx, `UPDATE OR IGNORE flower_answers
			SET call_id = ?2 || substr(call_id, length(?1) + 1) WHERE call_id > ?1 || '/' AND call_id < ?1 || '0'`, from, to)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `UPDATE flower_sessions SET workspace = ?2 WHERE workspace = ?3 AND `+family, to, a.to, a.from)
		if err != nil {
			return err
		}
	}
	for _, old := range a.projects() {
		if old == a.project {
			continue
		}
		for table, columns := range a.tables {
			for _, column := range columns {
				if column == "store_key" {
					continue
				}
				_, err := tx.ExecContext(ctx, `UPDATE OR IGNORE `+quote(table)+` SET `+column+` = ?2 WHERE `+column+` = ?1`, old, a.project)
				if err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// quote is a name as SQL takes it.
func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
