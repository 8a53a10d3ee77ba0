package disk_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"flower/internal/disk"
)

// counterPath, when set, makes the test binary one of the processes of
// TestUpdateJSONManyProcesses.
const (
	counterPath    = "DISK_TEST_COUNTER"
	counterUpdates = "DISK_TEST_UPDATES"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(counterPath); path != "" {
		n, err := strconv.Atoi(os.Getenv(counterUpdates))
		for i := 0; i < n && err == nil; i++ {
			err = disk.UpdateJSON(context.Background(), path, increment)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func increment(old []byte) ([]byte, error) {
	n := 0
	if old != nil {
		if err := json.Unmarshal(old, &n); err != nil {
			return nil, err
		}
	}
	return strconv.AppendInt(nil, int64(n+1), 10), nil
}

func TestUpdateJSONManyProcesses(t *testing.T) {
	const processes, updates = 8, 25
	path := filepath.Join(t.TempDir(), "runs", "count.json")
	var running []*exec.Cmd
	for range processes {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), counterPath+"="+path, counterUpdates+"="+strconv.Itoa(updates))
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		running = append(running, cmd)
	}
	for _, cmd := range running {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	if got, want := content(t, path), strconv.Itoa(processes*updates); got != want {
		t.Errorf("count %s, want %s", got, want)
	}
	if got := names(t, filepath.Dir(path)); got != ".count.json.lock count.json" {
		t.Errorf("left %q", got)
	}
	for name, want := range map[string]os.FileMode{"": 0o700, ".count.json.lock": 0o600, "count.json": 0o600} {
		info, err := os.Stat(filepath.Join(filepath.Dir(path), name))
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("mode of %q: %v %v, want %v", name, info, err, want)
		}
	}
}

func TestUpdateJSON(t *testing.T) {
	boom := errors.New("boom")
	tests := []struct {
		name    string
		old     *string
		update  func(old []byte) ([]byte, error)
		want    string
		wantErr error // nil and fails: any error
		fails   bool
	}{
		{name: "absent", update: func(old []byte) ([]byte, error) {
			if old != nil {
				return nil, boom
			}
			return []byte("1"), nil
		}, want: "1"},
		{name: "empty is not absent", old: ptr(""), update: func(old []byte) ([]byte, error) {
			if old == nil {
				return nil, boom
			}
			return []byte("1"), nil
		}, want: "1"},
		{name: "no change", old: ptr("torn {"), update: func([]byte) ([]byte, error) { return nil, nil }, want: "torn {"},
		{name: "error", old: ptr("{}"), update: func([]byte) ([]byte, error) { return []byte("1"), boom }, want: "{}", wantErr: boom, fails: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "d.json")
			if tt.old != nil {
				write(t, path, *tt.old)
			}
			err := disk.UpdateJSON(t.Context(), path, tt.update)
			if (err != nil) != tt.fails || (tt.wantErr != nil && !errors.Is(err, tt.wantErr)) {
				t.Errorf("error %v", err)
			}
			if got := content(t, path); got != tt.want {
				t.Errorf("content %q, want %q", got, tt.want)
			}
			lock, err := disk.TryLock(filepath.Join(filepath.Dir(path), ".d.json.lock"))
			if err != nil {
				t.Fatalf("lock kept: %v", err)
			}
			if err := lock.Unlock(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestUpdateJSONLinksShareALock(t *testing.T) {
	dir := t.TempDir()
	symlink(t, "d.json", dir+"/link.json")
	lock, err := disk.TryLock(dir + "/.d.json.lock")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 1)
	defer cancel()
	err = disk.UpdateJSON(ctx, dir+"/link.json", increment)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("while the other name is locked: %v", err)
	}
	if err := lock.Unlock(); err != nil {
		t.Fatal(err)
	}
	if err := disk.UpdateJSON(t.Context(), dir+"/link.json", increment); err != nil {
		t.Fatal(err)
	}
	if got := content(t, dir+"/d.json"); got != "1" {
		t.Errorf("content %q", got)
	}
}

func ptr(s string) *string { return &s }
