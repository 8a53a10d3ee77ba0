package cli

import (
	"os"
	"strings"
	"testing"
	"time"

	"flower/internal/text"
)

// What the documents promise of waiting is what is waited, and what is shown of it.
func TestPromisedBounds(t *testing.T) {
	cli, err := os.ReadFile("../../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	driving, err := os.ReadFile("../../docs/json.md")
	if err != nil {
		t.Fatal(err)
	}
	words := func(doc []byte) string { return strings.Join(strings.Fields(string(doc)), " ") }
	if checkTime != 20*time.Second || !strings.Contains(words(cli), "at most 16 tokens and 20 seconds") || checkTokens != 16 {
		t.Errorf("the check of the settings has %s and %d tokens", text.Span(checkTime), checkTokens)
	}
	if asideGrace != 2*time.Minute || !strings.Contains(words(driving), "an answer on its way is waited for, two minutes at most") {
		t.Errorf("an answer to a side question is waited for %s", text.Span(asideGrace))
	}
	if asideEvents != 60 {
		t.Errorf("a side question comes with %d events", asideEvents)
	}
}
