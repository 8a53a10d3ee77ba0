package flower

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"flower/internal/disk"
)

// NewRunID returns the id of a run: the time it began and six random hex digits.
func NewRunID(at time.Time) string {
	var b [3]byte
	_, _ = rand.Read(b[:]) // never fails since Go 1.24
	return at.Format("20060102-150405") + "-" + hex.EncodeToString(b[:])
}

// manifest is this process's hand on manifest.json. It is safe for concurrent use: a signal handler may write the row in
// flight.
type manifest struct {
	dir string
	run string
	now func() time.Time
	// redact takes secrets out of texts; nil takes out nothing.
	redact func(string) string

	mu      sync.Mutex
	rows    []StepResult
	written int    // of rows
	seen    []byte // the manifest as it was when they were written
}

func (m *manifest) path() string { return filepath.Join(m.dir, manifestFile) }

// add appends a row and writes all of this run's rows; rows of other runs stay as they are. A row that could not be
// written goes with the next one.
func (m *manifest) add(ctx context.Context, row StepResult) (kept string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rows = append(m.rows, m.redacted(row))
	var all []byte
	kept, err = updateBook(ctx, m.path(), m.now(), func(old []byte) (_ []byte, err error) {
		var ok bool
		if all, ok, err = m.follow(old); !ok && err == nil {
			all, err = m.merge(old)
		}
		return all, err
	})
	if err == nil {
		m.seen, m.written = all, len(m.rows)
	}
	return kept, err
}

// redacted is a row without secrets in the texts that models, tools and endpoints have a part in.
func (m *manifest) redacted(row StepResult) StepResult {
	if m.redact == nil {
		return row
	}
	row.Text, row.Error = m.redact(row.Text), m.redact(row.Error)
	row.Errors = slices.Clone(row.Errors)
	for i, text := range row.Errors {
		row.Errors[i] = m.redact(text)
	}
	return row
}

// merge puts this run's rows in the place of those that a manifest has of it.
func (m *manifest) merge(old []byte) ([]byte, error) {
	all, ok := otherRows(old, m.run)
	if !ok {
		return nil, errUnusable
	}
	for _, r := range m.rows {
		raw, err := marshal(r)
		if err != nil {
			return nil, fmt.Errorf("encode row of step %s: %w", r.Step, err)
		}
		all = append(all, raw)
	}
	data, err := marshal(all)
	if err != nil {
		return nil, fmt.Errorf("encode manifest: %w", err)
	}
	return indent(data), nil
}

// manifestEnd is what a manifest that has rows ends with.
const manifestEnd = "\n]"

// follow is merge for a manifest that others have only added rows to since this run wrote it, as they do: nothing but
// what is new has to be looked at. That keeps the time for which the lock is held short where there are thousands of
// rows. It says false of any other manifest.
func (m *manifest) follow(old []byte) (_ []byte, ok bool, _ error) {
	known, whole := bytes.CutSuffix(m.seen, []byte(manifestEnd))
	added, begins := bytes.CutPrefix(old, known)
	rest, ends := bytes.CutSuffix(old, []byte(manifestEnd))
	if !whole || !begins || !ends || len(rest) < len(known) || !foreign(added, m.run) {
		return nil, false, nil
	}
	data, err := marshal(m.rows[m.written:])
	if err != nil {
		return nil, false, fmt.Errorf("encode rows of run %s: %w", m.run, err)
	}
	data = bytes.TrimPrefix(indent(data), []byte("["))
	return append(append(rest, ','), data...), true, nil
}

// foreign says whether what stands behind the rows of a manifest is its end, or rows of other runs and its end.
func foreign(added []byte, run string) bool {
	if string(added) == manifestEnd {
		return true
	}
	if !bytes.HasPrefix(added, []byte(",")) {
		return false
	}
	own := false
	ok := scanRows(slices.Concat([]byte("["), added[1:]), func(row manifestRow) { own = own || row.Run == run })
	return ok && !own
}

// otherRows returns the rows that other runs have written, byte for byte; false if the file is no manifest.
func otherRows(data []byte, run string) ([]json.RawMessage, bool) {
	if data == nil {
		return nil, true
	}
	if oneValue(data) != nil {
		return nil, false
	}
	var rows []json.RawMessage
	if json.Unmarshal(data, &rows) != nil || rows == nil {
		return nil, false
	}
	kept := rows[:0]
	for _, raw := range rows {
		var row struct {
			Run string `json:"run"`
		}
		if json.Unmarshal(raw, &row) == nil && row.Run == run {
			continue
		}
		kept = append(kept, raw)
	}
	return kept, true
}

// ReadManifest returns the rows of a run directory's manifest, oldest first; none if there is no manifest. Rows that
// cannot be read are left out. It writes nothing.
func ReadManifest(runDir string) ([]StepResult, error) {
	data, err := disk.ReadRegular(filepath.Join(runDir, manifestFile), maxBook)
	if err != nil && absent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read manifest: %w", err)
	}
	if rows, ok := plainRows(data); ok {
		return rows, nil
	}
	var raws []json.RawMessage
	if err := json.Unmarshal(data, &raws); err != nil {
		return nil, fmt.Errorf("read manifest: %w", err)
	}
	rows := make([]StepResult, 0, len(raws))
	for _, raw := range raws {
		var row StepResult
		if json.Unmarshal(raw, &row) == nil && row.Step != "" {
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// plainRows reads a manifest in which every row has the usual form.
func plainRows(data []byte) ([]StepResult, bool) {
	rows := make([]StepResult, 0, bytes.Count(data, []byte(`"step":`)))
	ok := scanRows(data, func(row manifestRow) {
		if row.Step != "" {
			rows = append(rows, row.result())
		}
	})
	return rows, ok
}
