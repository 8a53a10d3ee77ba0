package sqlite

import (
	"context"
	"strings"
	"testing"

	"flower/internal/storetest"
)

func TestCheck(t *testing.T) {
	ctx := context.Background()
	s, _ := openNew(t)
	noErr(t, s.Check(ctx))
	noErr(t, s.Append(ctx, shared, storetest.Entries("a", 3)...))
	noErr(t, s.Check(ctx))
	if _, err := s.writer.Exec(`DELETE FROM entries WHERE seq = 1`); err != nil {
		t.Fatal(err)
	}
	if err := s.Check(ctx); err == nil || !strings.Contains(err.Error(), shared.String()+" has gaps") {
		t.Errorf("a missing entry: %v", err)
	}
}
