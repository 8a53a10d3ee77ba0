package config

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

func TestCalibrationKeepsTheSmallest(t *testing.T) {
	c := CalibrationIn(filepath.Join(t.TempDir(), "flower"))
	const url, model = "http://gateway/v1", "m[1m]"
	if n, ok := c.Window(url, model); ok {
		t.Fatalf("an empty table knows %d", n)
	}
	for _, step := range []struct{ record, want int }{{41_000, 41_000}, {60_000, 41_000}, {30_000, 30_000}, {0, 30_000}} {
		if err := c.Record(t.Context(), url, model, step.record, time.Now()); err != nil {
			t.Fatal(err)
		}
		if n, ok := c.Window(url+"/", model); !ok || n != step.want {
			t.Errorf("after %d: %d %v, want %d", step.record, n, ok, step.want)
		}
	}
	if n, ok := c.Window("http://other", model); ok {
		t.Errorf("another endpoint has %d", n)
	}
	if info, err := os.Stat(c.Path()); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}

func TestCalibrationReads(t *testing.T) {
	tests := []struct {
		name, file, content string
		want                int  // of "u|m"; 0 is not known
		aside               bool // the file is moved away by the next Record
	}{
		{"plain", windowsFile, `{"u|m": 41000}`, 41000, false},
		{"the older program's", olderWindowsFile, `{"u|m": 39000}`, 39000, false},
		{"a fraction", windowsFile, `{"u|m": 41000.0}`, 41000, false},
		{"other values stay", windowsFile, `{"u|m": 41000, "note": {"a": [1]}}`, 41000, false},
		{"a text", windowsFile, `{"u|m": "41000"}`, 0, false},
		{"negative", windowsFile, `{"u|m": -1}`, 0, false},
		{"huge", windowsFile, `{"u|m": 1e30}`, 0, false},
		{"a list", windowsFile, `[1]`, 0, true},
		{"null", windowsFile, `null`, 0, true},
		{"empty", windowsFile, ``, 0, true},
		{"torn", windowsFile, `{"u|m": 4`, 0, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, tt.file), []byte(tt.content), 0o600); err != nil {
				t.Fatal(err)
			}
			c := CalibrationIn(dir)
			if n, ok := c.Window("u", "m"); n != tt.want || ok != (tt.want != 0) {
				t.Errorf("%d %v, want %d", n, ok, tt.want)
			}
			if err := c.Record(t.Context(), "u", "other", 7, time.Now()); err != nil {
				t.Fatal(err)
			}
			if n, _ := c.Window("u", "m"); n != tt.want {
				t.Errorf("after another record: %d, want %d", n, tt.want)
			}
			if n, ok := c.Window("u", "other"); !ok || n != 7 {
				t.Errorf("recorded: %d %v", n, ok)
			}
			kept, err := filepath.Glob(c.Path() + ".bad-*")
			if err != nil || (len(kept) == 1) != tt.aside {
				t.Errorf("moved aside: %v, %v", kept, err)
			}
		})
	}
}

func TestCalibrationOfManyAtOnce(t *testing.T) {
	c := CalibrationIn(t.TempDir())
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for j := range 5 {
				if err := c.Record(context.Background(), "u", fmt.Sprint(i), 1000-j, time.Now()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	for i := range 8 {
		if n, ok := c.Window("u", fmt.Sprint(i)); !ok || n != 996 {
			t.Errorf("model %d: %d %v", i, n, ok)
		}
	}
}

func TestNoPlaceForCalibration(t *testing.T) {
	c := CalibrationIn(UserDir([]string{"XDG_CONFIG_HOME=relative", "HOME="}))
	if err := c.Record(t.Context(), "u", "m", 1, time.Now()); err != nil || c.Path() != "" {
		t.Errorf("%v, %q", err, c.Path())
	}
	if _, ok := c.Window("u", "m"); ok {
		t.Error("knows something")
	}
	if got := UserDir([]string{"HOME=/h"}); got != "/h/.config/flower" {
		t.Errorf("user directory %q", got)
	}
}
