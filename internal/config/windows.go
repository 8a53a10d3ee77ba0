package config

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"time"

	"flower/internal/disk"
)

// Names of the files, in the person's configuration directory, of context windows that were found out by overflowing
// them. The second is the Python program's, which is read and never written.
const (
	windowsFile      = "windows.json"
	olderWindowsFile = ".windows"
)

// windowsWait bounds the wait for another process that writes the same file, which takes milliseconds.
const windowsWait = 5 * time.Second

// Calibration is the file of context windows that turned out smaller than they were said to be: for an endpoint and a
// model the size, in tokens, at which an overflow happened. It is safe for concurrent use, also by several processes.
type Calibration struct {
	path  string // "" if there is no place for it
	older string
}

// UserDir is flower's directory among the person's configuration files, "" when the environment ("NAME=value") does not
// say where those are.
func UserDir(environ []string) string {
	return userDir(fromEnviron(environ))
}

// CalibrationIn is the calibration kept in a directory, made when it is missed; "" keeps none.
func CalibrationIn(dir string) Calibration {
	if dir == "" {
		return Calibration{}
	}
	return Calibration{path: filepath.Join(dir, windowsFile), older: filepath.Join(dir, olderWindowsFile)}
}

// Path is the file that Record writes; "" if there is no place for one.
func (c Calibration) Path() string { return c.path }

// Window is the smallest size at which a model overflowed at an endpoint; false if none is known. What cannot be read
// counts as absent.
func (c Calibration) Window(baseURL, model string) (tokens int, known bool) {
	for _, path := range []string{c.path, c.older} {
		if path == "" {
			continue
		}
		data, err := disk.ReadRegular(path, disk.MaxDocument)
		if err != nil {
			continue
		}
		table, _ := windowTable(data)
		if n, ok := tokensOf(table[windowKey(baseURL, model)]); ok && (!known || n < tokens) {
			tokens, known = n, true
		}
	}
	return tokens, known
}

// Record keeps the size of an overflow; of several the smallest stays. A file that is no such table is moved aside.
func (c Calibration) Record(ctx context.Context, baseURL, model string, tokens int, now time.Time) error {
	if c.path == "" || tokens <= 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, windowsWait)
	defer cancel()
	err := disk.UpdateJSON(ctx, c.path, func(old []byte) ([]byte, error) {
		table, ok := windowTable(old)
		if !ok {
			if _, err := disk.Quarantine(c.path, now); err != nil {
				return nil, err
			}
		}
		key := windowKey(baseURL, model)
		if n, known := tokensOf(table[key]); known && n <= tokens {
			return nil, nil
		}
		table[key] = json.RawMessage(fmt.Sprint(tokens))
		return encodeTable(table)
	})
	if err != nil {
		return fmt.Errorf("keep the window of %s: %w", model, err)
	}
	return nil
}

func windowKey(baseURL, model string) string { return strings.TrimRight(baseURL, "/") + "|" + model }

// windowTable reads the file; values that are no sizes are kept as they are. An absent or empty file is an empty table.
func windowTable(data []byte) (table map[string]json.RawMessage, ok bool) {
	table = make(map[string]json.RawMessage)
	if len(bytes.TrimSpace(data)) == 0 {
		return table, data == nil
	}
	if json.Unmarshal(data, &table) != nil || table == nil {
		return make(map[string]json.RawMessage), false
	}
	return table, true
}

func tokensOf(raw json.RawMessage) (int, bool) {
	var n float64
	if len(raw) == 0 || json.Unmarshal(raw, &n) != nil || n < 1 || n > math.MaxInt32 {
		return 0, false
	}
	return int(n), true
}

func encodeTable(table map[string]json.RawMessage) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(table)
	return out.Bytes(), err
}
