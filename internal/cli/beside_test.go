package cli

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"flower/internal/text"
)

// TestStoreLostIsSaidAtOnce: an old store has gone, whatever becomes of the new one.
func TestStoreLostIsSaidAtOnce(t *testing.T) {
	d := newShelfDir(t)
	path := filepath.Join(d.dir, "runs", storeFile)
	if err := errors.Join(os.Mkdir(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("no store"), 0o600)); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	a := &app{stdio: Stdio{Out: &out}, Printer: text.NewPrinter("en")}
	asked := 0
	a.Now = func() time.Time {
		if asked++; asked == 2 { // first for the old one's new name, then by the new one
			cancel()
		}
		return time.Now()
	}
	show := newPrinter(a.Printer, printOptions{screen: newScreen(&out, false), width: func() int { return 1000 }, now: a.Now, workspace: d.dir})
	store, err := a.openStore(ctx, place{workspace: d.dir, runDir: filepath.Dir(path)}, show)
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("opened %v, %v", store != nil, err)
	}
	if !strings.HasPrefix(out.String(), "! starting with a new store: ") {
		t.Errorf("said %q", &out)
	}
}
