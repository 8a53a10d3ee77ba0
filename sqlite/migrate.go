package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// migration is one step of the schema. Steps are only ever added at the end.
type migration struct {
	name, script string
}

// migrations holds all steps in the order of their file names; the version of a database is how many it has seen.
var migrations = func() []migration {
	names, err := fs.Glob(migrationFiles, "migrations/*.sql")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	var all []migration
	for _, name := range names {
		script, err := migrationFiles.ReadFile(name)
		if err != nil {
			panic(err) // it is embedded
		}
		all = append(all, migration{name: name[len("migrations/"):], script: string(script)})
	}
	return all
}()

// migrate brings the schema up to date: all missing steps or, on an error, none.
func (s *Store) migrate(ctx context.Context) error {
	err := s.write(ctx, "migrate", func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS flower_schema (
			version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied INTEGER NOT NULL)`)
		if err != nil {
			return err
		}
		// Asked again inside the transaction: another process may have been first.
		var version int
		err = tx.QueryRowContext(ctx, `SELECT coalesce(max(version), 0) FROM flower_schema`).Scan(&version)
		if err != nil {
			return err
		}
		if version > len(migrations) {
			return ErrNewer
		}
		for i, m := range migrations[version:] {
			if _, err := tx.ExecContext(ctx, m.script); err != nil {
				return fmt.Errorf("apply %s: %w", m.name, err)
			}
			_, err := tx.ExecContext(ctx, `INSERT INTO flower_schema VALUES (?, ?, ?)`,
				version+i+1, m.name, s.now().UnixMilli())
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("migrate schema: %w", err)
	}
	return nil
}
