package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"flower/agent"
	"flower/transcript"
)

// record brings the journal up to date with an entry, in the entry's own transaction.
func (s *Store) record(ctx context.Context, tx *sql.Tx, key string, e transcript.Entry) error {
	made, done := agent.JournalOf(e)
	for _, call := range made {
		if _, err := tx.StmtContext(ctx, s.stmts.made).ExecContext(ctx, key, call.ID, agent.InputHash(call.Input)); err != nil {
			return err
		}
	}
	for _, id := range done {
		if _, err := tx.StmtContext(ctx, s.stmts.done).ExecContext(ctx, key, id, s.now().UnixMilli()); err != nil {
			return err
		}
	}
	return nil
}

// Begin implements agent.Log.
func (s *Store) Begin(ctx context.Context, key agent.Key, callID string) error {
	err := key.Check()
	if err == nil {
		err = s.write(ctx, "begin", func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.StmtContext(ctx, s.stmts.begun).ExecContext(ctx, key.String(), callID, s.now().UnixMilli())
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("begin call of session %s: %w", key, err)
	}
	return nil
}

// OpenCalls implements agent.Log.
func (s *Store) OpenCalls(ctx context.Context, key agent.Key) (map[string]agent.OpenCall, error) {
	open := map[string]agent.OpenCall{}
	if !usable(key) {
		return open, nil
	}
	err := s.read(ctx, func() (err error) {
		clear(open)
		rows, err := s.reader.QueryContext(ctx, `
			SELECT call_id, input, started IS NOT NULL FROM flower_calls WHERE store_key = ? AND finished IS NULL`, key.String())
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, rows.Close()) }()
		for rows.Next() {
			var id string
			var call agent.OpenCall
			if err := rows.Scan(&id, &call.Input, &call.Begun); err != nil {
				return err
			}
			open[id] = call
		}
		return rows.Err()
	})
	if err != nil {
		return nil, fmt.Errorf("read calls of session %s: %w", key, err)
	}
	return open, nil
}
