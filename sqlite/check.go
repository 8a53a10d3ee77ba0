package sqlite

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Check reads the whole file and says whether it is intact, SQLite's own structures and numbers of entries both. It takes
// as long as reading everything does and does not stop others from writing.
func (s *Store) Check(ctx context.Context) error {
	err := s.read(ctx, func() error { return s.check(ctx) })
	if err != nil {
		return fmt.Errorf("check store: %w", err)
	}
	return nil
}

func (s *Store) check(ctx context.Context) (err error) {
	rows, err := s.reader.QueryContext(ctx, `
		SELECT integrity_check FROM pragma_integrity_check WHERE integrity_check <> 'ok'
		UNION ALL
		SELECT store_key || ' has gaps' FROM entries GROUP BY store_key HAVING min(seq) <> 0 OR max(seq) <> count(*) - 1`)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var faults []string
	for rows.Next() {
		var fault string
		if err := rows.Scan(&fault); err != nil {
			return err
		}
		faults = append(faults, fault)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if len(faults) > 0 {
		return errors.New(strings.Join(faults, "; "))
	}
	return nil
}
