package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"flower"
	"flower/agent"
	"flower/transcript"
)

// Import stores a whole session, all of its threads or none: threads maps the sub-path of each, "" is the main thread,
// to its entries. Entries whose uuid comes twice in a thread are stored once. Of key only project and session are used;
// flower.ErrSessionExists says that something is stored there already, whatever workspace it is of.
func (s *Store) Import(ctx context.Context, key agent.Key, threads map[string][]transcript.Entry) error {
	texts := map[string][]string{}
	for sub, entries := range threads {
		at := agent.Key{Project: key.Project, Session: key.Session, SubPath: sub}
		if err := at.Check(); err != nil {
			return fmt.Errorf("import session %s: %w", at, err)
		}
		for _, e := range entries {
			text, err := payload(e)
			if err != nil {
				return fmt.Errorf("import session %s: %w", at, err)
			}
			texts[at.String()] = append(texts[at.String()], text)
		}
	}
	key.SubPath = ""
	err := s.write(ctx, "import", func(ctx context.Context, tx *sql.Tx) error {
		var taken bool
		if err := tx.QueryRowContext(ctx, `SELECT `+occupied, key.String()).Scan(&taken); err != nil {
			return err
		}
		if taken {
			return flower.ErrSessionExists
		}
		now := s.stamp(0)
		for sub, entries := range threads {
			at := agent.Key{Project: key.Project, Session: key.Session, SubPath: sub}.String()
			if err := s.importThread(ctx, tx, at, now, entries, texts[at]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("import session %s: %w", key, err)
	}
	return nil
}

func (s *Store) importThread(ctx context.Context, tx *sql.Tx, key string, now int64, entries []transcript.Entry, texts []string) error {
	insert := tx.StmtContext(ctx, s.stmts.insert)
	next := int64(0)
	for i, e := range entries {
		done, err := insert.ExecContext(ctx, key, next, sql.NullString{String: e.UUID, Valid: e.UUID != ""}, texts[i])
		if err != nil {
			return err
		}
		n, err := done.RowsAffected()
		if err != nil {
			return err
		}
		next += n
	}
	if _, err := tx.StmtContext(ctx, s.stmts.touch).ExecContext(ctx, key, now, next); err != nil {
		return err
	}
	_, err := tx.StmtContext(ctx, s.stmts.started).ExecContext(ctx, key, s.workspace, now)
	return err
}
