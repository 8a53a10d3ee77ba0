package sqlite

import (
	"context"
	"database/sql"
	"fmt"
)

// statements are those run often enough to be worth compiling once.
type statements struct {
	state, insert, touch, started *sql.Stmt // of the writer
	made, begun, done             *sql.Stmt // of the writer, for the journal
	load, tail, has, prefix       *sql.Stmt // of the readers
}

// A store key, or one of its subagents': ?1 is the key, and "0" is the character after "/".
const family = `(store_key = ?1 OR store_key > ?1 || '/' AND store_key < ?1 || '0')`

// occupied is true if anything is stored under the key ?1 or below.
const occupied = `(EXISTS (SELECT 1 FROM entries WHERE ` + family + `)
	OR EXISTS (SELECT 1 FROM meta WHERE ` + family + `)
	OR EXISTS (SELECT 1 FROM flower_sessions WHERE ` + family + `))`

// hidden is true if the session ?1 was started in another workspace than ?2.
const hidden = `(?2 <> '' AND EXISTS (SELECT 1 FROM flower_sessions WHERE store_key = ?1 AND workspace NOT IN ('', ?2)))`

func (s *statements) prepare(ctx context.Context, writer, reader *sql.DB) error {
	for _, p := range []struct {
		stmt **sql.Stmt
		db   *sql.DB
		text string
	}{
		{&s.state, writer, `
			SELECT m.mtime, m.next_seq, (SELECT max(seq) FROM entries WHERE store_key = ?1)
			FROM (SELECT 1) LEFT JOIN meta m ON m.store_key = ?1`},
		{&s.insert, writer, `
			INSERT INTO entries (store_key, seq, uid, payload) VALUES (?, ?, ?, ?)
			ON CONFLICT (store_key, uid) WHERE uid IS NOT NULL DO NOTHING`},
		{&s.touch, writer, `
			INSERT INTO meta (store_key, mtime, next_seq) VALUES (?, ?, ?)
			ON CONFLICT (store_key) DO UPDATE SET mtime = excluded.mtime, next_seq = excluded.next_seq`},
		{&s.started, writer, `
			INSERT INTO flower_sessions (store_key, workspace, created) VALUES (?, ?, ?)
			ON CONFLICT (store_key) DO NOTHING`},
		{&s.made, writer, `
			INSERT INTO flower_calls (store_key, call_id, input) VALUES (?, ?, ?) ON CONFLICT (store_key, call_id) DO NOTHING`},
		{&s.begun, writer, `
			INSERT INTO flower_calls (store_key, call_id, input, started) VALUES (?, ?, '', ?)
			ON CONFLICT (store_key, call_id) DO UPDATE SET started = coalesce(started, excluded.started)`},
		{&s.done, writer, `
			UPDATE flower_calls SET finished = ?3 WHERE store_key = ?1 AND call_id = ?2 AND finished IS NULL`},
		{&s.load, reader, `SELECT payload FROM entries WHERE store_key = ? ORDER BY seq`},
		{&s.tail, reader, `SELECT payload FROM entries WHERE store_key = ? ORDER BY seq DESC LIMIT ?`},
		{&s.has, reader, `SELECT EXISTS (SELECT 1 FROM entries WHERE store_key = ?1) AND NOT ` + hidden},
		{&s.prefix, reader, `SELECT system, tools, definition FROM flower_sessions WHERE store_key = ? AND system IS NOT NULL`},
	} {
		stmt, err := p.db.PrepareContext(ctx, p.text)
		if err != nil {
			return fmt.Errorf("prepare statement: %w", err)
		}
		*p.stmt = stmt
	}
	return nil
}
