package sqlite

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"flower"
	"flower/internal/storetest"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if os.Getenv(childPath) != "" {
		os.Exit(childMain())
	}
	driverSettings() // before a test opens a database by itself: they can only be made before the first lock
	goleak.VerifyTestMain(m)
}

// openAt opens the store at path for a workspace; the caller closes it.
func openAt(t testing.TB, path, workspace string) *Store {
	t.Helper()
	s, err := Open(context.Background(), path, Options{Workspace: workspace})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// openNew opens a new store that is closed when the test ends.
func openNew(t testing.TB) (s *Store, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "runs", "sessions.db")
	s = openAt(t, path, "/w")
	t.Cleanup(func() { noErr(t, s.Close()) })
	return s, path
}

func noErr(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestContract(t *testing.T) {
	var paths sync.Map // store → path
	open := func(t *testing.T, path, workspace string) flower.Store {
		s := openAt(t, path, workspace)
		paths.Store(s, path)
		return s
	}
	storetest.Run(t, storetest.Backend{
		New: func(t *testing.T, workspace string) flower.Store {
			return open(t, filepath.Join(t.TempDir(), "runs", "sessions.db"), workspace)
		},
		View: func(t *testing.T, s flower.Store, workspace string) flower.Store {
			path, _ := paths.Load(s)
			return open(t, path.(string), workspace)
		},
	})
}
