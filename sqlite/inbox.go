package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"flower/agent"
)

var errNoID = errors.New("empty id")

// AddNote implements flower.Store. A note whose id is known, delivered or not, changes nothing. Its time is kept to the
// millisecond.
func (s *Store) AddNote(ctx context.Context, project string, note agent.Note) error {
	err := errNoID
	if note.ID != "" {
		err = s.write(ctx, "note", func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, `
				INSERT INTO flower_inbox (id, project, text, at) VALUES (?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
				note.ID, project, strings.ToValidUTF8(note.Text, "\uFFFD"), note.At.UnixMilli())
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("add note: %w", err)
	}
	return nil
}

// PendingNotes implements flower.Store. The order is the one in which the notes were added: a clock can be set back.
func (s *Store) PendingNotes(ctx context.Context, project string) ([]agent.Note, error) {
	var notes []agent.Note
	err := s.read(ctx, func() (err error) {
		notes = nil
		rows, err := s.reader.QueryContext(ctx, `
			SELECT id, text, at FROM flower_inbox WHERE project = ? AND delivered IS NULL ORDER BY rowid`, project)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, rows.Close()) }()
		for rows.Next() {
			var note agent.Note
			var at int64
			if err := rows.Scan(&note.ID, &note.Text, &at); err != nil {
				return err
			}
			note.At = time.UnixMilli(at)
			notes = append(notes, note)
		}
		return rows.Err()
	})
	if err != nil {
		return nil, fmt.Errorf("read inbox: %w", err)
	}
	return notes, nil
}

// MarkDelivered implements flower.Store. Ids that are not pending in the project are ignored.
func (s *Store) MarkDelivered(ctx context.Context, project string, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	err := s.write(ctx, "delivered", func(ctx context.Context, tx *sql.Tx) error {
		for _, id := range ids {
			_, err := tx.ExecContext(ctx, `
				UPDATE flower_inbox SET delivered = ? WHERE id = ? AND project = ? AND delivered IS NULL`,
				s.now().UnixMilli(), id, project)
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("mark notes delivered: %w", err)
	}
	return nil
}

// Answer implements flower.Store.
func (s *Store) Answer(ctx context.Context, callID string) (string, bool, error) {
	var answer string
	err := s.read(ctx, func() error {
		return s.reader.QueryRowContext(ctx, `SELECT answer FROM flower_answers WHERE call_id = ?`, callID).Scan(&answer)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return "", false, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("look up answer to %s: %w", callID, err)
	}
	return answer, true, nil
}

// SetAnswer implements flower.Store.
func (s *Store) SetAnswer(ctx context.Context, callID, answer string) error {
	err := errNoID
	if callID != "" {
		err = s.write(ctx, "answer", func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, `
				INSERT INTO flower_answers (call_id, answer, at) VALUES (?, ?, ?) ON CONFLICT (call_id) DO NOTHING`,
				callID, strings.ToValidUTF8(answer, "\uFFFD"), s.now().UnixMilli())
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("record answer: %w", err)
	}
	return nil
}
