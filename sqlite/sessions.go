package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"flower"
	"flower/agent"
)

// Prefix implements agent.Log.
func (s *Store) Prefix(ctx context.Context, key agent.Key) (agent.Prefix, bool, error) {
	if !usable(key) {
		return agent.Prefix{}, false, nil
	}
	var p agent.Prefix
	var tools []byte
	err := s.read(ctx, func() error {
		return s.stmts.prefix.QueryRowContext(ctx, key.String()).Scan(&p.System, &tools, &p.Definition)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return agent.Prefix{}, false, nil
	}
	if err == nil {
		p.Tools, err = decodeTools(tools)
	}
	if err != nil {
		return agent.Prefix{}, false, fmt.Errorf("read prefix of session %s: %w", key, err)
	}
	return p, true, nil
}

// SetPrefix implements agent.Log; another prefix than the first is flower.ErrPrefixDiffers.
func (s *Store) SetPrefix(ctx context.Context, key agent.Key, p agent.Prefix) error {
	if err := s.setPrefix(ctx, key, p); err != nil {
		return fmt.Errorf("set prefix of session %s: %w", key, err)
	}
	return nil
}

func (s *Store) setPrefix(ctx context.Context, key agent.Key, p agent.Prefix) error {
	if err := key.Check(); err != nil {
		return err
	}
	tools, err := encodeTools(p.Tools)
	if err != nil {
		return err
	}
	return s.write(ctx, "prefix", func(ctx context.Context, tx *sql.Tx) error {
		var system, old sql.NullString
		err := tx.QueryRowContext(ctx, `SELECT system, tools FROM flower_sessions WHERE store_key = ?`, key.String()).
			Scan(&system, &old)
		switch {
		case err != nil && !errors.Is(err, sql.ErrNoRows):
			return err
		case system.Valid && system.String == p.System && old.String == tools:
			return nil
		case system.Valid:
			return flower.ErrPrefixDiffers
		}
		// A session that another program started was made in a place we do not know.
		at, err := s.readState(ctx, tx, key.String())
		if err != nil {
			return err
		}
		workspace := s.workspace
		if at.known {
			workspace = ""
		}
		_, err = tx.ExecContext(ctx, `
			INSERT INTO flower_sessions (store_key, workspace, system, tools, definition, created) VALUES (?, ?, ?, ?, ?, ?)
			ON CONFLICT (store_key) DO UPDATE
			SET system = excluded.system, tools = excluded.tools, definition = excluded.definition`,
			key.String(), workspace, p.System, tools, p.Definition, s.now().UnixMilli())
		return err
	})
}

// encodeTools writes tools as JSON with their schemas byte for byte, which no encoder of the standard library does.
func encodeTools(tools []agent.ToolSpec) (string, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	field := func(name, value string) error {
		out.WriteString(name)
		err := enc.Encode(value)
		out.Truncate(out.Len() - 1) // the encoder's line feed
		return err
	}
	out.WriteByte('[')
	for i, t := range tools {
		if i > 0 {
			out.WriteByte(',')
		}
		if err := errors.Join(field(`{"name":`, t.Name), field(`,"description":`, t.Description)); err != nil {
			return "", err
		}
		for _, m := range []struct {
			key   string
			value json.RawMessage
		}{{"input_schema", t.InputSchema}, {"hosted", t.Hosted}} {
			if len(m.value) == 0 {
				continue
			}
			if !json.Valid(m.value) {
				return "", fmt.Errorf("encode tool %s: its %s is not JSON", t.Name, m.key)
			}
			out.WriteString(`,"` + m.key + `":`)
			out.Write(m.value)
		}
		out.WriteByte('}')
	}
	out.WriteByte(']')
	return strings.ToValidUTF8(out.String(), "\uFFFD"), nil
}

// decodeTools returns nil for an empty list.
func decodeTools(data []byte) ([]agent.ToolSpec, error) {
	var tools []agent.ToolSpec
	if err := json.Unmarshal(data, &tools); err != nil {
		return nil, err
	}
	if len(tools) == 0 {
		return nil, nil
	}
	return tools, nil
}

// Sessions implements flower.Store.
func (s *Store) Sessions(ctx context.Context, project string) ([]flower.SessionInfo, error) {
	var list []flower.SessionInfo
	err := s.read(ctx, func() (err error) {
		list = nil
		rows, err := s.reader.QueryContext(ctx, `
			SELECT substr(store_key, length(?1) + 2), mtime,
				(SELECT count(*) FROM entries WHERE store_key = m.store_key)
			FROM meta m
			WHERE store_key > ?1 || '/' AND store_key < ?1 || '0'
				AND instr(substr(store_key, length(?1) + 2), '/') = 0
				AND EXISTS (SELECT 1 FROM entries WHERE store_key = m.store_key)
				AND (?2 = '' OR NOT EXISTS (
					SELECT 1 FROM flower_sessions WHERE store_key = m.store_key AND workspace NOT IN ('', ?2)))
			ORDER BY mtime DESC, store_key`, project, s.workspace)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, rows.Close()) }()
		for rows.Next() {
			var info flower.SessionInfo
			var mtime int64
			if err := rows.Scan(&info.ID, &mtime, &info.Entries); err != nil {
				return err
			}
			info.Changed = time.UnixMilli(mtime)
			list = append(list, info)
		}
		return rows.Err()
	})
	if err != nil {
		return nil, fmt.Errorf("list sessions of %s: %w", project, err)
	}
	return list, nil
}

// Delete implements flower.Store. A session of another workspace is not there.
func (s *Store) Delete(ctx context.Context, key agent.Key) error {
	if !usable(key) {
		return nil
	}
	err := s.write(ctx, "delete", func(ctx context.Context, tx *sql.Tx) error {
		var other bool
		if err := tx.QueryRowContext(ctx, `SELECT `+hidden, key.String(), s.workspace).Scan(&other); err != nil || other {
			return err
		}
		for _, table := range []string{"entries", "meta", "flower_sessions", "flower_calls"} {
			if _, err := tx.ExecContext(ctx, `DELETE FROM `+table+` WHERE `+family, key.String()); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("delete session %s: %w", key, err)
	}
	return nil
}

// Fork implements flower.Store. Its errors are flower.ErrNoSession and flower.ErrSessionExists.
func (s *Store) Fork(ctx context.Context, from, to agent.Key) error {
	err := errors.Join(from.Check(), to.Check())
	if err == nil {
		err = s.write(ctx, "fork", func(ctx context.Context, tx *sql.Tx) error {
			return s.fork(ctx, tx, from.String(), to.String())
		})
	}
	if err != nil {
		return fmt.Errorf("fork session %s to %s: %w", from, to, err)
	}
	return nil
}

func (s *Store) fork(ctx context.Context, tx *sql.Tx, from, to string) error {
	var there, taken bool
	err := tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM entries WHERE store_key = ?1) AND NOT `+hidden,
		from, s.workspace).Scan(&there)
	if err != nil {
		return err
	}
	if !there {
		return flower.ErrNoSession
	}
	err = tx.QueryRowContext(ctx, `SELECT `+occupied, to).Scan(&taken)
	if err != nil {
		return err
	}
	if taken {
		return flower.ErrSessionExists
	}
	now := s.stamp(0)
	for _, text := range []string{`
		INSERT INTO entries (store_key, seq, uid, payload)
		SELECT ?2 || substr(store_key, length(?1) + 1), seq, uid, payload FROM entries WHERE ` + family, `
		INSERT INTO meta (store_key, mtime, next_seq)
		SELECT store_key, ?3, max(seq) + 1 FROM entries
		WHERE store_key = ?2 OR store_key > ?2 || '/' AND store_key < ?2 || '0' GROUP BY store_key`, `
		INSERT INTO flower_sessions (store_key, workspace, system, tools, definition, created)
		SELECT ?2 || substr(store_key, length(?1) + 1), ?4, system, tools, definition, ?3 FROM flower_sessions WHERE ` + family, `
		INSERT INTO flower_calls (store_key, call_id, input, started, finished)
		SELECT ?2 || substr(store_key, length(?1) + 1), call_id, input, started, finished FROM flower_calls WHERE finished IS NOT NULL AND ` + family, `
		INSERT INTO flower_sessions (store_key, workspace, created)
		SELECT store_key, ?4, ?3 FROM meta
		WHERE store_key = ?2 OR store_key > ?2 || '/' AND store_key < ?2 || '0'
		ON CONFLICT (store_key) DO NOTHING`,
	} {
		if _, err := tx.ExecContext(ctx, text, from, to, now, s.workspace); err != nil {
			return err
		}
	}
	return nil
}
