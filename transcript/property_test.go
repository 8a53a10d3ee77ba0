package transcript

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// script writes histories as a run of flower or Claude Code would.
type script struct {
	*rapid.T
	entries []Entry
	parent  string
	n       int
}

func (s *script) id(kind string) string {
	s.n++
	return fmt.Sprintf("%s-%d", kind, s.n)
}

func (s *script) add(parent string, m Message, set func(*Entry)) string {
	id := s.id("e")
	e := Entry{Type: m.Role, UUID: id, ParentUUID: parent, SessionID: "s", Timestamp: "2026-01-01T00:00:00.000Z", UserType: "external", Message: &m}
	if set != nil {
		set(&e)
	}
	raw, err := e.MarshalJSON()
	if err != nil {
		s.Fatal(err)
	}
	e, err = ParseEntry(raw)
	if err != nil {
		s.Fatal(err)
	}
	s.entries = append(s.entries, e)
	return id
}

func (s *script) chance(percent int, label string) bool {
	return rapid.IntRange(1, 100).Draw(s.T, label) <= percent
}

func (s *script) prompt() {
	s.parent = s.add(s.parent, Message{Role: RoleUser, Content: []Block{Text(s.id("words"))}}, nil)
}

// answer adds one answer with its results, whole or a block a line, and the results in one entry or several.
func (s *script) answer(healthy bool) {
	m := Message{Role: RoleAssistant, ID: s.id("msg"), Model: "m", StopReason: "end_turn", Usage: Usage{Input: s.n}}
	if s.chance(50, "thinking") {
		m.Content = append(m.Content, Thinking("so", s.id("sig")))
	}
	m.Content = append(m.Content, Text(s.id("answer")))
	calls := rapid.IntRange(0, 3).Draw(s.T, "calls")
	for range calls {
		command := "make all"
		if !healthy && s.chance(70, "looks") {
			command = "ls"
		}
		m.Content = append(m.Content, ToolUse(s.id("toolu"), "Bash", mustEncode(map[string]string{"command": command})))
	}
	owner := map[string]string{}
	if s.chance(50, "lines") {
		for _, b := range m.Content {
			part := m
			part.Content = []Block{b}
			s.parent = s.add(s.parent, part, nil)
			owner[b.ID] = s.parent
		}
	} else {
		s.parent = s.add(s.parent, m, nil)
		for _, b := range m.Content {
			owner[b.ID] = s.parent
		}
	}
	var results []Block
	for _, c := range m.ToolUses() {
		output := s.id("output")
		if !healthy && s.chance(10, "large") {
			output += strings.Repeat(" and more", 2000)
		}
		results = append(results, ToolResult(c.ID, false, Text(output)))
	}
	if len(results) == 0 {
		return
	}
	if s.chance(50, "one entry") {
		s.parent = s.add(s.parent, Message{Role: RoleUser, Content: results}, nil)
		return
	}
	for _, r := range results {
		var set func(*Entry)
		if !healthy {
			switch rapid.IntRange(0, 5).Draw(s.T, "fate") {
			case 0:
				r = ToolResult(r.ToolUseID, true, Text("not for you"))
				set = func(e *Entry) { e.ToolDenialKind = DeniedByRule }
			case 1:
				r = ToolResult(r.ToolUseID, true, Text(interruptedMark+" by user]"))
			}
		}
		s.parent = s.add(owner[r.ToolUseID], Message{Role: RoleUser, Content: []Block{r}}, set)
	}
}

func (s *script) write(healthy bool) {
	for range rapid.IntRange(1, 6).Draw(s.T, "prompts") {
		s.prompt()
		turns := rapid.IntRange(0, 4).Draw(s.T, "turns")
		for range turns {
			s.answer(healthy)
		}
		if !healthy && s.chance(20, "rewind") && len(s.entries) > 0 {
			s.parent = rapid.SampledFrom(s.entries).Draw(s.T, "to").UUID
		}
		if !healthy && s.chance(20, "forget") {
			e := ThinkingDropped(Stamp{SessionID: "s"}, s.id("note"), s.parent, time.Unix(0, 0), rapid.SampledFrom([]string{"", "none"}).Draw(s.T, "from"))
			s.entries, s.parent = append(s.entries, e), e.UUID
		}
		if !healthy && s.chance(20, "failure") {
			s.parent = s.add(s.parent, Message{Role: RoleAssistant, ID: s.id("msg"), Model: SyntheticModel, Content: []Block{Text("API Error")}}, func(e *Entry) { e.IsAPIError = true })
		}
	}
}

// harm does one kind of damage to a history.
func harm(t *rapid.T, list []Entry) []Entry {
	if len(list) == 0 {
		return list
	}
	i := rapid.IntRange(0, len(list)-1).Draw(t, "at")
	other := rapid.SampledFrom(list).Draw(t, "other")
	e := list[i]
	switch rapid.IntRange(0, 12).Draw(t, "harm") {
	case 0, 1:
		return slices.Delete(slices.Clone(list), i, i+1)
	case 2:
		return slices.Insert(slices.Clone(list), i, other)
	case 3:
		e = e.WithParent(other.UUID)
	case 4:
		e = e.WithParent("nowhere")
	case 5:
		e = e.WithParent("")
	case 6: // another place in the file
		list = slices.Delete(slices.Clone(list), i, i+1)
		return slices.Insert(list, rapid.IntRange(0, len(list)).Draw(t, "to"), e)
	case 7: // a note of the harness
		e = reread(t, e, func(m map[string]any) { m["isMeta"] = true })
	case 8: // a note that is no message
		e = reread(t, e, func(m map[string]any) { delete(m, "message"); m["type"] = "system" })
	case 9:
		e = reread(t, e, func(m map[string]any) { delete(m, "message") })
	case 10, 11, 12:
		if e.Message == nil {
			return list
		}
		m := *e.Message
		m.Content = harmBlocks(t, m.Content, other)
		e = e.WithMessage(m)
	}
	list = slices.Clone(list)
	list[i] = e
	return list
}

func harmBlocks(t *rapid.T, blocks []Block, other Entry) []Block {
	blocks = slices.Clone(blocks)
	if len(blocks) == 0 {
		return []Block{Text("")}
	}
	i := rapid.IntRange(0, len(blocks)-1).Draw(t, "block")
	switch rapid.IntRange(0, 6).Draw(t, "harm to block") {
	case 0:
		return slices.Delete(blocks, i, i+1)
	case 1:
		return slices.Insert(blocks, i, Text(" \n"))
	case 2:
		if other.Message != nil && len(other.Message.Content) > 0 {
			return slices.Insert(blocks, i, other.Message.Content...)
		}
	case 3:
		blocks[i] = ToolUse("", "", json.RawMessage(`"text"`))
	case 4:
		blocks[i] = ToolResult("toolu-3", false, Text("again"))
	case 5:
		return append(blocks, Thinking("more", "sig-more"))
	case 6:
		return append(blocks, Text("some more words"))
	}
	return blocks
}

func reread(t *rapid.T, e Entry, change func(map[string]any)) Entry {
	var m map[string]any
	raw, err := e.MarshalJSON()
	if err == nil {
		err = json.Unmarshal(raw, &m)
	}
	if err != nil {
		t.Fatal(err)
	}
	change(m)
	e, err = ParseEntry(mustEncode(m))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestHealthyHistoryStays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := script{T: t}
		s.write(true)
		want := mustEncode(s.entries)
		got := Prepare(s.entries, Options{Trim: true})
		if !reflect.DeepEqual(got.Report, Report{}) {
			t.Fatalf("reports %+v", got.Report)
		}
		if len(got.Entries) != len(s.entries) || string(mustEncode(s.entries)) != string(want) {
			t.Fatalf("%d entries of %d", len(got.Entries), len(s.entries))
		}
		stored := byUUID(s.entries)
		for _, e := range got.Entries {
			if !reflect.DeepEqual(e, stored[e.UUID]) {
				t.Fatalf("%s has changed", e.UUID)
			}
		}
		if err := Validate(got.Messages); err != nil {
			t.Fatal(err)
		}
		if last := s.entries[len(s.entries)-1]; got.Leaf != last.UUID && byUUID(got.Entries)[got.Leaf].Message.Role != last.Message.Role {
			t.Fatalf("leaf is %s, want %s", got.Leaf, last.UUID)
		}
		// A process that grows the same conversation message by message sends the same.
		var grown []Message
		for i := 0; i < len(got.Entries); {
			m := Message{Role: got.Entries[i].Message.Role}
			for id := got.Entries[i].Message.ID; i < len(got.Entries) && got.Entries[i].Message.ID == id; i++ {
				m.Content = append(m.Content, got.Entries[i].Message.Content...)
			}
			grown = Append(grown, m)
		}
		for i := range got.Messages {
			if a, b := mustEncode(got.Messages[i].Content), mustEncode(grown[i].Content); string(a) != string(b) {
				t.Fatalf("message %d\n%s\n%s", i, a, b)
			}
		}
	})
}

// damaged is a history with some damage.
func damaged(t *rapid.T) []Entry {
	s := script{T: t}
	s.write(false)
	list := s.entries
	for range rapid.IntRange(0, 4).Draw(t, "harms") {
		list = harm(t, list)
	}
	return list
}

func drawOptions(t *rapid.T) Options {
	opts := Options{Trim: rapid.Bool().Draw(t, "trim"), KeepOpenCalls: rapid.Bool().Draw(t, "keep open")}
	if rapid.Bool().Draw(t, "shrink") {
		opts.MaxText, opts.MaxRequest, opts.NoSpill = 10_000, 50_000, rapid.Bool().Draw(t, "no files")
	}
	return opts
}

func damagedIsHealed(t *rapid.T) {
	list, opts := damaged(t), drawOptions(t)
	want := mustEncode(list)
	got := Prepare(list, opts)
	if string(mustEncode(list)) != string(want) {
		t.Fatal("Prepare has changed its input")
	}
	sendableNow(t, got)
	sameAgain(t, got, opts)
	if t.Failed() {
		for _, e := range list {
			t.Log(sketch(e))
		}
		for _, e := range got.Entries {
			t.Log("out", sketch(e))
		}
	}
}

func TestDamagedHistoryIsHealed(t *testing.T) { rapid.Check(t, damagedIsHealed) }

func FuzzDamagedHistory(f *testing.F) { f.Fuzz(rapid.MakeFuzz(damagedIsHealed)) }

// sketch is an entry in one short line.
func sketch(e Entry) string {
	line := fmt.Sprintf("%s < %s %s", e.UUID, e.ParentUUID, e.Type)
	if e.Message == nil {
		return line
	}
	line += " " + e.Message.ID
	for _, b := range e.Message.Content {
		line += fmt.Sprintf(" [%s %s%s%s %.10s]", b.Type, b.ID, b.ToolUseID, b.Signature, b.PlainText())
	}
	return line
}

// sendableNow checks that the messages are accepted once the open calls are answered.
func sendableNow(t interface{ Errorf(string, ...any) }, p Prepared) {
	if len(p.Messages) == 0 {
		if len(p.Entries) > 0 || p.Leaf != "" {
			t.Errorf("no messages of %d entries, leaf %q", len(p.Entries), p.Leaf)
		}
		return
	}
	messages := p.Messages
	if len(p.Open) > 0 {
		m := Message{Role: RoleUser}
		for _, c := range p.Open {
			m.Content = append(m.Content, UnknownOutcome(c.ID))
		}
		messages = Append(messages, m)
	}
	if err := Validate(messages); err != nil {
		t.Errorf("%v", err)
	}
	if p.Leaf == "" || !slices.ContainsFunc(p.Entries, func(e Entry) bool { return e.UUID == p.Leaf }) {
		t.Errorf("leaf %q is none of the entries", p.Leaf)
	}
}
