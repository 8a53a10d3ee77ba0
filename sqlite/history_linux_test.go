package sqlite

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"

	"flower/internal/storetest"
)

// bytesRead is how much this process has read by system calls, from files or from the system's cache of them.
func bytesRead(t *testing.T) int {
	t.Helper()
	data, err := os.ReadFile("/proc/self/io")
	noErr(t, err)
	line, _, _ := bytes.Cut(data, []byte("\n"))
	n, err := strconv.Atoi(string(bytes.TrimPrefix(line, []byte("rchar: "))))
	noErr(t, err)
	return n
}

// TestLoadReadsOneSession checks that to load a session little more is read than that session, whatever else the store
// holds.
func TestLoadReadsOneSession(t *testing.T) {
	ctx := context.Background()
	s, path := openNew(t)
	session := storetest.LongSession(500)
	size := sizeOf(t, session)
	for i, part := range slices.Collect(slices.Chunk(session, 100)) { // its pages lie among those of others
		fillOthers(t, s, fmt.Sprint("beside", i), 4*size)
		noErr(t, s.Append(ctx, shared, part...))
	}
	noErr(t, s.Close())
	s = openAt(t, path, "/w")
	t.Cleanup(func() { noErr(t, s.Close()) })
	before := bytesRead(t)
	lines, err := s.Load(ctx, shared)
	noErr(t, err)
	read := bytesRead(t) - before
	if len(lines) != len(session) {
		t.Fatalf("%d entries, want %d", len(lines), len(session))
	}
	whole, err := os.Stat(path)
	noErr(t, err)
	// A row that does not fill its last page shares it or wastes it: never more than as much again, for rows this small
	// at most three times.
	if read > 4*size || int64(read) > whole.Size()/4 {
		t.Errorf("read %d bytes to load %d; the store has %d", read, size, whole.Size())
	}

}
