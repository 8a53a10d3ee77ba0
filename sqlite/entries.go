package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unsafe"

	"flower/agent"
	"flower/transcript"
)

// usable says whether a session can have this key. To read and to delete one that none can have is no error: nothing
// is there.
func usable(key agent.Key) bool { return key.Check() == nil }

// Load implements agent.Log. It is one snapshot: entries that are appended meanwhile are not in it.
func (s *Store) Load(ctx context.Context, key agent.Key) ([]json.RawMessage, error) {
	if !usable(key) {
		return nil, nil
	}
	entries, err := s.payloads(ctx, s.stmts.load, key.String())
	if err != nil {
		return nil, fmt.Errorf("load session %s: %w", key, err)
	}
	return entries, nil
}

// Tail implements flower.Store.
func (s *Store) Tail(ctx context.Context, key agent.Key, n int) ([]json.RawMessage, error) {
	if !usable(key) {
		return nil, nil
	}
	entries, err := s.payloads(ctx, s.stmts.tail, key.String(), max(n, 0))
	if err != nil {
		return nil, fmt.Errorf("read end of session %s: %w", key, err)
	}
	slices.Reverse(entries)
	return entries, nil
}

// Has implements flower.Store.
func (s *Store) Has(ctx context.Context, key agent.Key) (bool, error) {
	if !usable(key) {
		return false, nil
	}
	var has bool
	err := s.read(ctx, func() error {
		return s.stmts.has.QueryRowContext(ctx, key.String(), s.workspace).Scan(&has)
	})
	if err != nil {
		return false, fmt.Errorf("look up session %s: %w", key, err)
	}
	return has, nil
}

// payloads returns what a query finds. A session can have many megabytes, which are not copied: the bytes are those of
// the string that the driver has made of a row, and nobody may change them.
func (s *Store) payloads(ctx context.Context, stmt *sql.Stmt, args ...any) ([]json.RawMessage, error) {
	var entries []json.RawMessage
	err := s.read(ctx, func() (err error) {
		entries = nil
		rows, err := stmt.QueryContext(ctx, args...)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, rows.Close()) }()
		for rows.Next() {
			var payload string
			if err := rows.Scan(&payload); err != nil {
				return err
			}
			entries = append(entries, unsafe.Slice(unsafe.StringData(payload), len(payload)))
		}
		return rows.Err()
	})
	return entries, err
}

// Append implements agent.Log: one transaction, whatever the number of entries.
func (s *Store) Append(ctx context.Context, key agent.Key, entries ...transcript.Entry) error {
	if err := s.append(ctx, key, entries); err != nil {
		return fmt.Errorf("append to session %s: %w", key, err)
	}
	return nil
}

func (s *Store) append(ctx context.Context, key agent.Key, entries []transcript.Entry) error {
	if err := key.Check(); err != nil {
		return err
	}
	if len(entries) == 0 {
		return nil
	}
	texts := make([]string, len(entries))
	for i, e := range entries {
		var err error
		if texts[i], err = payload(e); err != nil {
			return err
		}
	}
	return s.write(ctx, "append", func(ctx context.Context, tx *sql.Tx) error {
		at, err := s.readState(ctx, tx, key.String())
		if err != nil {
			return err
		}
		insert := tx.StmtContext(ctx, s.stmts.insert)
		seq := at.next
		for i, e := range entries {
			uid := sql.NullString{String: e.UUID, Valid: e.UUID != ""}
			done, err := insert.ExecContext(ctx, key.String(), seq, uid, texts[i])
			if err != nil {
				return err
			}
			n, err := done.RowsAffected()
			if err != nil {
				return err
			}
			if n == 0 {
				continue // it was there already
			}
			seq += n
			if err := s.record(ctx, tx, key.String(), e); err != nil {
				return err
			}
		}
		if seq == at.next {
			return nil
		}
		now := s.stamp(at.mtime)
		if _, err := tx.StmtContext(ctx, s.stmts.touch).ExecContext(ctx, key.String(), now, seq); err != nil {
			return err
		}
		if at.known {
			return nil
		}
		_, err = tx.StmtContext(ctx, s.stmts.started).ExecContext(ctx, key.String(), s.workspace, now)
		return err
	})
}

// payload is an entry in its stored form. Not json.Marshal: that would escape and compact what the entry keeps byte for
// byte. SQLite text is UTF-8.
func payload(e transcript.Entry) (string, error) {
	data, err := e.MarshalJSON()
	if err != nil {
		return "", fmt.Errorf("encode entry %s: %w", e.UUID, err)
	}
	return strings.ToValidUTF8(string(data), "\uFFFD"), nil
}

// state is where a session stands.
type state struct {
	known bool  // it has been written before
	mtime int64 // of the last write, milliseconds
	next  int64 // the number of the next entry
}

// readState trusts the entries more than meta, which another program may have failed to keep up: numbers stay
// consecutive and are never used twice.
func (s *Store) readState(ctx context.Context, tx *sql.Tx, key string) (state, error) {
	var mtime, next, last sql.NullInt64
	err := tx.StmtContext(ctx, s.stmts.state).QueryRowContext(ctx, key).Scan(&mtime, &next, &last)
	if err != nil {
		return state{}, err
	}
	at := state{known: next.Valid || last.Valid, mtime: mtime.Int64, next: next.Int64}
	if last.Valid {
		at.next = last.Int64 + 1
	}
	return at, nil
}
