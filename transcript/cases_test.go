package transcript

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// wanted is what a case file says.
type wanted struct {
	Kind    string
	Options struct{ Trim bool }
	Order   []string
	Dropped []string
	NotMain []string `json:"not_main"`
	MayGo   []string `json:"may_go"`

	Inserted []struct {
		ID    string `json:"tool_use_id"`
		After string
	}
	Replaced []struct {
		ID    string `json:"tool_use_id"`
		Why   string
		Spill string
	}
	BlocksGone []struct{ UUID, Block string } `json:"blocks_gone"`

	Parents      map[string]string
	Unchanged    []string
	NotError     []string `json:"not_error"`
	ThinkingKept []string `json:"thinking_kept"`
	ThinkingGone []string `json:"thinking_gone"`
	DamagedLines int      `json:"damaged_lines"`
	Reported     bool
}

var repeat = regexp.MustCompile(`"@REPEAT (\d+) ([^"]*)@"`)

// expand writes out the strings that the case files abbreviate: "@REPEAT N TEXT@" is TEXT, repeated and cut to N
// characters.
func expand(line []byte) []byte {
	return repeat.ReplaceAllFunc(line, func(m []byte) []byte {
		parts := repeat.FindSubmatch(m)
		n, _ := strconv.Atoi(string(parts[1]))
		text := []rune(string(parts[2]))
		out := make([]rune, n)
		for i := range out {
			out[i] = text[i%len(text)]
		}
		return []byte(strconv.Quote(string(out)))
	})
}

func caseLines(t testing.TB, path string) []json.RawMessage {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var lines []json.RawMessage
	for line := range bytes.SplitSeq(bytes.TrimSuffix(data, []byte("\n")), []byte("\n")) {
		lines = append(lines, expand(line))
	}
	return lines
}

func caseFiles(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/cases/*.jsonl")
	if err != nil || len(files) < 30 {
		t.Fatalf("found %d case files: %v", len(files), err)
	}
	return files
}

func TestCases(t *testing.T) {
	for _, file := range caseFiles(t) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".jsonl"), func(t *testing.T) {
			var want wanted
			data, err := os.ReadFile(strings.TrimSuffix(file, "l"))
			if err == nil {
				err = json.Unmarshal(data, &want)
			}
			if err != nil {
				t.Fatal(err)
			}
			entries, damaged := ParseHistory(caseLines(t, file))
			opts := Options{Trim: want.Options.Trim}
			got := Prepare(entries, opts)
			c := checker{T: t, want: want, got: got, before: byUUID(entries), after: byUUID(got.Entries)}
			c.order()
			c.parents()
			c.results()
			c.inserted()
			c.blocks()
			c.thinking()
			if damaged != want.DamagedLines {
				t.Errorf("%d damaged lines, want %d", damaged, want.DamagedLines)
			}
			if want.Reported && damaged+got.Report.Damaged+len(got.Report.Repaired) == 0 {
				t.Error("the damage is not reported")
			}
			if err := Validate(got.Messages); err != nil {
				t.Error(err)
			}
			sameAgain(t, got, opts)
		})
	}
}

type checker struct {
	*testing.T
	want          wanted
	got           Prepared
	before, after map[string]Entry
}

func byUUID(entries []Entry) map[string]Entry {
	m := map[string]Entry{}
	for _, e := range entries {
		if _, twice := m[e.UUID]; !twice {
			m[e.UUID] = e
		}
	}
	return m
}

func (c checker) order() {
	var got, want []string
	for _, e := range c.got.Entries {
		if _, stored := c.before[e.UUID]; stored {
			got = append(got, e.UUID)
		}
	}
	for _, id := range c.want.Order {
		if slices.Contains(got, id) || !slices.Contains(c.want.MayGo, id) {
			want = append(want, id)
		}
	}
	if !slices.Equal(got, want) {
		c.Errorf("order\n got %v\nwant %v", got, want)
	}
	if !slices.Equal(c.got.Report.Dropped, c.want.Dropped) && len(c.got.Report.Dropped)+len(c.want.Dropped) > 0 {
		c.Errorf("dropped %v, want %v", c.got.Report.Dropped, c.want.Dropped)
	}
	for _, id := range slices.Concat(c.want.Dropped, c.want.NotMain) {
		if _, there := c.after[id]; there {
			c.Errorf("%s is still there", id)
		}
	}
}

func (c checker) parents() {
	for id, e := range c.after {
		old, stored := c.before[id]
		if !stored || slices.Contains(c.want.MayGo, id) {
			continue
		}
		want, moved := c.want.Parents[id]
		if !moved {
			want = old.ParentUUID
		}
		if e.ParentUUID != want {
			c.Errorf("%s hangs on %q, want %q", id, e.ParentUUID, want)
		}
		raw, _ := e.MarshalJSON()
		if again, err := ParseEntry(raw); err != nil || again.ParentUUID != want {
			c.Errorf("%s is written with parent %q, %v", id, again.ParentUUID, err)
		}
	}
}

func resultsOf(entries map[string]Entry) map[string]Block {
	m := map[string]Block{}
	for _, e := range entries {
		if e.Message == nil {
			continue
		}
		for _, b := range e.Message.Content {
			if b.Type == TypeToolResult {
				m[b.ToolUseID] = b
			}
		}
	}
	return m
}

func (c checker) results() {
	before, after := resultsOf(c.before), resultsOf(c.after)
	sent := map[string]Block{}
	for _, m := range c.got.Messages {
		for _, b := range m.Content {
			if b.Type == TypeToolResult {
				sent[b.ToolUseID] = b
			}
		}
	}
	replaced := map[string]bool{}
	for _, r := range c.want.Replaced {
		replaced[r.ID] = true
		text := after[r.ID].PlainText()
		if text == before[r.ID].PlainText() || !isNote(text) || sent[r.ID].PlainText() != text {
			c.Errorf("%s is not replaced: %.60q", r.ID, text)
		}
		if r.Spill == "" {
			continue
		}
		i := slices.IndexFunc(c.got.Spills, func(s Spill) bool { return s.Name == r.Spill })
		if i < 0 || c.got.Spills[i].Text != before[r.ID].PlainText() || !strings.Contains(text, ".flower/spill/"+r.Spill) {
			c.Errorf("%s is not spilled to %s: %q", r.ID, r.Spill, text)
		}
	}
	for id, b := range after {
		if old, there := before[id]; there && !replaced[id] && !reflect.DeepEqual(old, b) {
			c.Errorf("%s is not the same: %.60q", id, b.PlainText())
		}
	}
	for _, id := range c.want.NotError {
		if after[id].IsError || sent[id].IsError {
			c.Errorf("%s is an error", id)
		}
	}
	for _, id := range c.want.Unchanged {
		if !reflect.DeepEqual(c.before[id].Message, c.after[id].Message) {
			c.Errorf("message of %s has changed", id)
		}
	}
}

func (c checker) inserted() {
	var ids []string
	for _, i := range c.want.Inserted {
		ids = append(ids, i.ID)
		found := false
		for _, e := range c.got.Entries {
			if e.Message != nil && len(e.Message.Content) == 1 && e.Message.Content[0].ToolUseID == i.ID {
				found = e.ParentUUID == i.After && strings.Contains(e.Message.Content[0].PlainText(), "outcome unknown")
			}
		}
		if !found {
			c.Errorf("no result inserted for %s after %s", i.ID, i.After)
		}
	}
	if !slices.Equal(c.got.Report.Inserted, ids) {
		c.Errorf("inserted %v, want %v", c.got.Report.Inserted, ids)
	}
}

func (c checker) blocks() {
	for _, g := range c.want.BlocksGone {
		for _, b := range c.after[g.UUID].Message.Content {
			if g.Block == "tool_use "+b.ID || g.Block == "empty text" && b.Type == TypeText && b.Text == "" {
				c.Errorf("%s of %s is still there", g.Block, g.UUID)
			}
		}
	}
	for _, m := range c.got.Messages {
		raw, err := m.MarshalJSON()
		if err != nil || !utf8.Valid(raw) || !sendable(raw) {
			c.Errorf("message cannot be sent: %v", err)
		}
	}
}

func (c checker) thinking() {
	sent := map[string]Block{}
	for _, m := range c.got.Messages {
		for _, b := range m.Content {
			if b.IsThinking() {
				sent[b.Signature+b.Data] = b
			}
		}
	}
	for _, s := range c.want.ThinkingGone {
		if _, there := sent[s]; there {
			c.Errorf("thinking %s is still there", s)
		}
	}
	for _, s := range c.want.ThinkingKept {
		for _, e := range c.before {
			for _, b := range e.Message.Content {
				if b.IsThinking() && b.Signature+b.Data == s && !bytes.Equal(b.raw, sent[s].raw) {
					c.Errorf("thinking %s is %s", s, sent[s].raw)
				}
			}
		}
	}
}

// sameAgain checks that preparing what was prepared changes nothing, also after it was written and read.
func sameAgain(t interface {
	Helper()
	Errorf(string, ...any)
}, first Prepared, opts Options) {
	t.Helper()
	var lines []json.RawMessage
	for _, e := range first.Entries {
		raw, err := e.MarshalJSON()
		if err != nil {
			t.Errorf("write entry: %v", err)
		}
		lines = append(lines, raw)
	}
	again, damaged := ParseHistory(lines)
	for name, entries := range map[string][]Entry{"as returned": first.Entries, "as written": again} {
		second := Prepare(entries, opts)
		if !reflect.DeepEqual(second.Report, Report{}) || damaged > 0 || len(second.Spills) > 0 {
			t.Errorf("%s: the second run reports %+v, %d damaged, %d spills", name, second.Report, damaged, len(second.Spills))
		}
		if a, b := mustEncode(first.Entries), mustEncode(second.Entries); !bytes.Equal(a, b) {
			t.Errorf("%s: the second run changes the entries\n%s\n%s", name, a, b)
		}
		if a, b := mustEncode(first.Messages), mustEncode(second.Messages); !bytes.Equal(a, b) {
			t.Errorf("%s: the second run changes the messages\n%s\n%s", name, a, b)
		}
		if a, b := mustEncode(first.Open), mustEncode(second.Open); !bytes.Equal(a, b) {
			t.Errorf("%s: the second run has other open calls: %s, %s", name, a, b)
		}
	}
}
