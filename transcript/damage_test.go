package transcript

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// hit damages stored lines as accidents do, and says which entries are damaged by it: the others are healthy.
func hit(t *rapid.T, lines []json.RawMessage, damaged map[string]bool) []json.RawMessage {
	at := rapid.IntRange(0, len(lines)-1).Draw(t, "line")
	e, err := ParseEntry(lines[at])
	if err != nil {
		return lines // hit twice
	}
	lines = slices.Clone(lines)
	switch rapid.SampledFrom([]string{"lost", "torn", "nul", "twice", "bytes", "half", "blank", "parent", "cycle"}).Draw(t, "accident") {
	case "lost":
		damaged[e.UUID] = true
		return slices.Delete(lines, at, at+1)
	case "torn":
		damaged[e.UUID] = true
		lines[at] = lines[at][:rapid.IntRange(0, len(lines[at])-1).Draw(t, "length")]
	case "nul":
		damaged[e.UUID] = true
		lines[at] = bytes.Repeat([]byte{0}, len(lines[at]))
	case "twice":
		lines = slices.Insert(lines, rapid.IntRange(at, len(lines)).Draw(t, "again"), lines[at])
	case "bytes":
		damaged[e.UUID] = true
		lines[at] = bytes.ReplaceAll(lines[at], []byte("-"), []byte("\xff\xc0-"))
	case "half":
		damaged[e.UUID] = true
		lines[at] = bytes.Replace(lines[at], []byte(`"text":"`), []byte(`"text":"\ud83d`), 1)
	case "blank":
		lines[at] = bytes.Replace(lines[at], []byte(`"content":[`), []byte(`"content":[{"type":"text","text":" \n"},`), 1)
	case "parent":
		lines[at] = mustEncode(e.WithParent("nowhere"))
	case "cycle":
		lines[at] = mustEncode(e.WithParent(e.UUID))
	}
	return lines
}

// linear is a healthy history as flower writes it: a list.
func linear(t *rapid.T) []json.RawMessage {
	s := script{T: t}
	s.write(true)
	var lines []json.RawMessage
	parent := ""
	for _, e := range s.entries {
		lines = append(lines, mustEncode(e.WithParent(parent)))
		parent = e.UUID
	}
	return lines
}

// onlyTheDamagedIsLost checks that accidents take away what they hit, and nothing else that was said or done.
func onlyTheDamagedIsLost(t *rapid.T) {
	lines := linear(t)
	whole, _ := ParseHistory(lines)
	gone := map[string]bool{}
	for range rapid.IntRange(1, 3).Draw(t, "accidents") {
		if len(lines) > 0 {
			lines = hit(t, lines, gone)
		}
	}
	entries, _ := ParseHistory(lines)
	got := Prepare(entries, Options{})
	sendableNow(t, got)
	sameAgain(t, got, Options{})
	said := map[string]bool{}
	for _, m := range got.Messages {
		for _, b := range m.Content {
			said[essence(b)] = true
		}
	}
	calls := map[string]bool{}
	for _, e := range whole {
		for _, c := range e.Message.ToolUses() {
			calls[c.ID] = !gone[e.UUID]
		}
	}
	for _, e := range whole {
		for _, b := range e.Message.Content {
			lost := gone[e.UUID] || b.IsThinking() || b.Type == TypeToolResult && !calls[b.ToolUseID]
			if !lost && !said[essence(b)] {
				t.Errorf("%s is healthy, and is lost: %s", essence(b), e.UUID)
			}
		}
	}
	if t.Failed() {
		for _, e := range entries {
			t.Log(sketch(e))
		}
		for _, e := range got.Entries {
			t.Log("out", sketch(e))
		}
	}
}

func essence(b Block) string {
	return fmt.Sprintf("%s %s%s %s", b.Type, b.ID, b.ToolUseID, strings.TrimSpace(b.PlainText()))
}

func TestOnlyTheDamagedIsLost(t *testing.T) { rapid.Check(t, onlyTheDamagedIsLost) }

func FuzzOnlyTheDamagedIsLost(f *testing.F) { f.Fuzz(rapid.MakeFuzz(onlyTheDamagedIsLost)) }
