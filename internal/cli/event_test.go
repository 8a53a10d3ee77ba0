package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"flower"
	"flower/agent"
	"flower/document"
	"flower/internal/text"
	"flower/sqlite"
	"flower/transcript"
)

const (
	schemaFile = "../../docs/json-schema.json"
	schemaPage = "../../docs/json.md"
)

// allEvents are all types of events; TestEventTypesAreKnown keeps the list whole.
var allEvents = []record{
	startEvent{}, wakeEvent{}, promptEvent{}, inputEndedEvent{}, noticeEvent{}, runningEvent{}, errorEvent{}, endEvent{},
	runStartedEvent{}, notContinuedEvent{}, stepStartedEvent{}, stepSkippedEvent{}, stepFinishedEvent{}, attemptStartedEvent{},
	attemptFinishedEvent{}, interruptedEvent{}, windowNearEvent{}, modelDiffersEvent{}, handingOverEvent{}, handedOverEvent{},
	booksFailedEvent{}, roomEvent{}, unguardedEvent{}, worktreesEvent{}, briefEvent{}, goalEvent{}, checkStartedEvent{}, checkFinishedEvent{},
	verdictEvent{}, questionEvent{}, answerEvent{}, remarkEvent{}, remarksDeliveredEvent{}, statusEvent{}, pieceEvent{}, piecesVoidEvent{}, asideStartedEvent{}, asideFinishedEvent{}, agentStartedEvent{},
	agentFinishedEvent{}, messageEvent{}, toolStartedEvent{}, toolFinishedEvent{}, repeatingEvent{}, toolWithdrawnEvent{}, historyChangedEvent{},
	retryEvent{}, waitingEvent{}, outageOverEvent{}, budgetLowEvent{}, wastedEvent{}, cacheMissedEvent{},
}

// unsaid are events of agents that programs are not told of.
var unsaid = []string{"ToolDelta"}

var errSick = errors.New("it is\nsick")

// happenings is every event there is, with something in each field.
var happenings = []flower.Event{
	flower.WorkflowStarted{Run: "r", Woke: 2, Steps: 3},
	flower.NotContinued{Reason: flower.WorkspaceDiffers, Step: "s", Detail: "/old", Kept: "/kept", Moved: true},
	flower.StepStarted{Name: "s", Index: 1, Total: 3, Resumed: true, Woke: 2},
	flower.StepSkipped{Name: "s", Index: 1, Total: 3},
	flower.StepFinished{Name: "s", Reason: "why"},
	flower.AttemptStarted{Step: "s", Label: "s#round2", Agent: "a", SessionID: "id", Resumed: true},
	flower.AttemptFinished{Result: flower.StepResult{Step: "s", OK: true, Usage: transcript.Usage{CacheWrite1h: 1}}},
	flower.BriefFrozen{Path: "/brief"},
	flower.GoalSet{Path: "/goal", Goal: document.Goal{Statement: "g", Checks: []document.Check{{Text: "c", Unverifiable: true, Why: "w"}}}},
	flower.GoalSet{},
	flower.CheckStarted{Label: "l", Command: "true"},
	flower.CheckFinished{Label: "l", Evidence: flower.Evidence{Command: "true", Problem: "p", Output: "o", DurationS: 1, Dir: "/w"}},
	flower.Judged{Step: "s", Round: 1, Rounds: 3, Verdict: document.Verdict{State: document.NotYet, Reason: "r", Failed: []string{"f"}}},
	flower.Judged{},
	flower.Asked{Question: flower.Question{ID: "q", Text: "t", Options: []string{"a", "b"}, AskedAt: time.Unix(1, 0)}},
	flower.Asked{},
	flower.Settled{Question: flower.Question{ID: "q"}, Answer: "a", How: flower.Given, Decision: true},
	flower.Asked{Question: flower.Question{ID: "q", Options: []string{"a"}, Permission: &flower.Permission{Tool: "Bash", Input: json.RawMessage(`{"command": "true"}`)}}},
	flower.Settled{Question: flower.Question{ID: "q", Permission: &flower.Permission{Tool: "Bash"}}, How: flower.Given, Allowed: true},
	flower.NoteTaken{Text: "n", InBrief: true, BriefErr: errSick},
	flower.Interrupted{Label: "l"},
	flower.WindowNear{Label: "l", Context: 1, Line: 2, Window: 3},
	flower.ModelDiffers{Asked: "a", Answered: "b"},
	flower.HandingOver{Label: "l", Cause: flower.Overflow, Context: 1},
	flower.HandedOver{Label: "l", From: "a", To: "b", Path: "/d", Degraded: true, Generation: 1},
	flower.BooksFailed{Path: "/b", Err: errSick},
	flower.RoomChanged{Path: "/r", RoomChange: agent.RoomChange{Full: true, Free: -1, Need: 2, Err: errSick}},
	flower.RoomChanged{},
	flower.WorktreesLeft{
		Trees: []flower.Worktree{{
			Title: "t", Branch: "flower/t", Path: "/w/t", Base: "c", Commits: 1, Uncommitted: 2, Ignored: 3, Merged: true, Done: true, Gone: true, Whole: true, Problem: "p",
		}, {}},
		Err: errSick,
	},
	flower.Unguarded{Err: errSick},
	by(agent.Started{Path: "p", Key: agent.Key{Session: "id"}, Agent: "a", Title: "t", Resumed: true, Report: transcript.Report{Damaged: 1}}),
	by(agent.Finished{Path: "p", Result: agent.Result{Turns: 1}, Err: errSick}),
	by(agent.Finished{}),
	by(agent.Answered{Path: "p", Turn: 1, CostUSD: 1, Message: transcript.Message{Model: "m", Content: []transcript.Block{
		{Type: transcript.TypeThinking, Thinking: "hm"}, {Type: transcript.TypeText, Text: "said"},
	}}}),
	by(agent.Progress{Path: "p", Delta: agent.TextDelta{Text: "sa"}}),
	by(agent.Progress{Path: "p", Delta: agent.ThinkingDelta{Text: "hm"}}),
	by(agent.Progress{Path: "p", Delta: agent.Begun{}}),
	by(agent.ToolStarted{Path: "p", ID: "i", Name: "Read", Input: json.RawMessage(`{"file_path": "x"}`)}),
	by(agent.ToolFinished{Path: "p", ID: "i", Name: "Read", Result: agent.ToolResult{IsError: true, Denied: true, Display: "d"}}),
	by(agent.Repeating{Path: "p", Name: "Read", Times: 3}),
	by(agent.Delivered{Path: "p", Notes: []agent.Note{{Text: "n"}}}),
	by(agent.Withdrawn{Path: "p", Tool: "WebSearch", Reason: "unknown"}),
	by(agent.Amended{Path: "p", Report: transcript.Report{Oversize: 1, Trimmed: 1, Thinking: 1}}),
	by(agent.BudgetLow{Path: "p", SpentUSD: 4, LimitUSD: 5, Agent: "a"}),
	by(agent.Wasted{Path: "p", CostUSD: 1, Low: true, Whole: true}),
	by(agent.CacheMissed{Path: "p", Tokens: 1, ExtraUSD: 1, Age: time.Second}),
	by(agent.Progress{Path: "p", Delta: agent.Retrying{Attempt: 1, Wait: time.Second, Err: errSick}}),
	by(agent.Progress{Path: "p", Delta: agent.Waiting{Outage: agent.Portal, Err: errSick, Since: time.Unix(1, 0), Until: time.Unix(2, 0), Limit: time.Hour, Known: true}}),
	by(agent.Progress{Path: "p", Delta: agent.Waiting{Outage: agent.Offline, Err: errSick}}),
	by(agent.Progress{Path: "p", Delta: agent.OutageOver{Outage: agent.Busy, Waited: time.Second}}),
}

func by(ev agent.Event) flower.Event { return flower.AgentEvent{Label: "l", Event: ev} }

// streamTo is a command line that writes events into out.
func streamTo(out io.Writer, in string) *app {
	a := &app{Options: Options{Now: func() time.Time { return time.Unix(3, 0) }, Dir: "/"}, Printer: text.NewPrinter("en")}
	a.out, a.err = newScreen(out, false), newScreen(&bytes.Buffer{}, false)
	a.stdio = Stdio{In: strings.NewReader(in)}
	a.global = globalFlags{workspace: "/", runDir: "/runs", json: true}
	return a
}

// TestEventsMatchTheSchema emits every type of event as the program does, validates each line by docs/json-schema.json,
// keys that are not in there included, and sees that nothing is in there that is never emitted.
func TestEventsMatchTheSchema(t *testing.T) {
	var out bytes.Buffer
	a := streamTo(&out, "{\"type\":\"remark\",\"text\":\"\"}\nno JSON\n{\"type\":\"status\"}\n")
	a.startEvents("go", time.Minute, 1)
	s := a.events
	s.verbose = true
	s.pieces = newPieces(s.screen.Secretless, 0, s.write)
	s.Wake("", flower.Wake{Waking: true, Checks: 1}, 2)
	s.Notice("! ", "sandbox.none")
	s.storeLost(errors.Join(errSick), "/kept")
	s.storeCopied("/copy")
	s.unkeptBudget("m")
	s.running(flower.Owner{PID: 1, Started: time.Unix(1, 0)})
	orders := newOrders(a)
	if said, ok, err := orders.request(t.Context(), "wake"); said != (wish{}) || !ok || err != nil {
		t.Errorf("an empty remark: %+v %v %v", said, ok, err)
	}
	orders.serve(t.Context(), testHuman(t, s))
	s.asideAsked(sideQuestion{"1", "why?"})
	s.asideDone(sideQuestion{"1", "why?"}, flower.StepResult{Text: "so", SessionID: "id"}, errSick)
	s.asideWaits()
	s.of("the-run")
	for _, ev := range happenings {
		s.Event(ev)
	}
	tally := &tally{}
	for _, ev := range happenings {
		tally.Event(ev)
	}
	s.ends(tally.fill)
	a.endEvents(&usageError{errSick}, exitUsage)
	s.Event(flower.Interrupted{}) // after the end: nothing

	defs, strict := readSchema(t), map[string]*jsonschema.Resolved{}
	seen := map[string]bool{}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	for i, line := range lines {
		var head struct{ Type, Time, Run string }
		if err := json.Unmarshal([]byte(line), &head); err != nil {
			t.Fatalf("line %d: %v: %s", i+1, err, line)
		}
		if strict[head.Type] == nil {
			strict[head.Type] = resolve(t, defs[head.Type])
		}
		var value any
		_ = json.Unmarshal([]byte(line), &value)
		if err := strict[head.Type].Validate(value); err != nil {
			t.Errorf("%v: %s", err, line)
		}
		seen[head.Type] = true
		if (head.Type == "start") != (i == 0) || (head.Type == "end") != (i == len(lines)-1) {
			t.Errorf("line %d of %d is %s", i+1, len(lines), head.Type)
		}
	}
	for name := range defs {
		if !seen[name] && name != "input" {
			t.Errorf("the schema has %s, which is never emitted", name)
		}
	}
}

func testHuman(t *testing.T, s *eventStream) *flower.Human {
	t.Helper()
	dir := t.TempDir()
	store, err := sqlite.Open(t.Context(), filepath.Join(dir, storeFile), sqlite.Options{Workspace: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	human, err := flower.NewHuman(flower.HumanOptions{Workspace: dir, Store: store, Observe: s.Event})
	if err != nil {
		t.Fatal(err)
	}
	return human
}

// readSchema returns the types that the schema defines; they take keys that are not named, those returned do not.
func readSchema(t *testing.T) map[string]*jsonschema.Schema {
	t.Helper()
	data, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(data, &schema); err != nil {
		t.Fatal(err)
	}
	for _, def := range schema.Defs {
		visit(def, func(s *jsonschema.Schema) {
			if s.Properties != nil {
				s.AdditionalProperties = &jsonschema.Schema{Not: &jsonschema.Schema{}}
			}
		})
	}
	return schema.Defs
}

func resolve(t *testing.T, s *jsonschema.Schema) *jsonschema.Resolved {
	t.Helper()
	if s == nil {
		t.Fatal("the schema does not have this type")
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return resolved
}

func visit(s *jsonschema.Schema, f func(*jsonschema.Schema)) {
	f(s)
	for _, p := range s.Properties {
		visit(p, f)
	}
	if s.Items != nil {
		visit(s.Items, f)
	}
}

// TestSchemaIsThatOfTheCode compares docs/json-schema.json with what the types say; with -update it writes it.
func TestSchemaIsThatOfTheCode(t *testing.T) {
	schema := &jsonschema.Schema{
		Schema: "https://json-schema.org/draft/2020-12/schema", Title: "A line that flower go and flower once write with --json",
		Description: "Types and keys may be added: ignore those you do not know. $defs/input is a line of standard input.",
		Defs:        map[string]*jsonschema.Schema{"input": inputSchema(t)},
	}
	for _, ev := range allEvents {
		schema.Defs[ev.eventType()] = schemaOf(t, ev)
		schema.OneOf = append(schema.OneOf, &jsonschema.Schema{Ref: "#/$defs/" + ev.eventType()})
	}
	want, err := json.MarshalIndent(schema, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, '\n')
	if *update {
		if err := os.WriteFile(schemaFile, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(schemaFile); err != nil || !bytes.Equal(got, want) {
		t.Errorf("docs/json-schema.json is not what the types say (%v): go test ./internal/cli -run Schema -update", err)
	}
}

func schemaOf(t *testing.T, ev record) *jsonschema.Schema {
	t.Helper()
	s, err := jsonschema.ForType(reflect.TypeOf(ev), &jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[json.RawMessage](): {},
	}})
	if err != nil {
		t.Fatal(err)
	}
	visit(s, func(s *jsonschema.Schema) {
		s.AdditionalProperties = nil
		if s.Items != nil { // lists are never null
			s.Types, s.Type = nil, "array"
		}
	})
	name := any(ev.eventType())
	head := map[string]*jsonschema.Schema{
		"type": {Const: &name}, "time": {Type: "string", Format: "date-time"}, "run": {Types: []string{"null", "string"}},
	}
	if s.Properties == nil {
		s.Properties = map[string]*jsonschema.Schema{}
	}
	for key, p := range head {
		if s.Properties[key] != nil {
			t.Errorf("%s has a key %s of its own", ev.eventType(), key)
		}
		s.Properties[key] = p
	}
	s.PropertyOrder = slices.Concat([]string{"type", "time", "run"}, s.PropertyOrder)
	s.Required = slices.Concat([]string{"type", "time", "run"}, s.Required)
	return s
}

// inputSchema is what parseOrder takes; TestParseOrder validates its lines by it.
func inputSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	var s jsonschema.Schema
	if err := json.Unmarshal([]byte(`{
		"type": "object",
		"properties": {
			"type": {"enum": ["request", "answer", "remark", "aside", "interrupt", "status", "new"]},
			"id": {"type": "string", "description": "of an answer: the question's; of an aside: what its events are to carry"},
			"text": {"type": ["string", "null"], "description": "of an answer, empty skips the question"},
			"option": {"type": ["integer", "null"], "minimum": 1, "description": "of an answer, instead of a text"},
			"options": {"type": "array", "items": {"type": "integer", "minimum": 1}, "minItems": 1, "uniqueItems": true, "description": "the same: several"},
			"decline": {"const": true, "description": "the same: no answer"}
		},
		"required": ["type"],
		"additionalProperties": false,
		"oneOf": [
			{"properties": {"type": {"enum": ["request", "remark"]}, "id": false, "text": {"type": "string"}, "option": {"type": "null"}, "options": false, "decline": false}, "required": ["text"]},
			{"properties": {"type": {"const": "aside"}, "text": {"type": "string"}, "option": {"type": "null"}, "options": false, "decline": false}, "required": ["text"]},
			{"properties": {"type": {"enum": ["interrupt", "new"]}, "id": false, "option": {"type": "null"}, "options": false, "decline": false}},
			{"properties": {"type": {"const": "status"}, "id": false, "text": {"type": "null"}, "option": {"type": "null"}, "options": false, "decline": false}},
			{"properties": {"type": {"const": "answer"}, "id": {"minLength": 1}, "text": {"type": "string"}, "option": {"type": "null"}, "options": false, "decline": false}, "required": ["id", "text"]},
			{"properties": {"type": {"const": "answer"}, "id": {"minLength": 1}, "text": {"type": "null"}, "option": {"type": "integer"}, "options": false, "decline": false}, "required": ["id", "option"]},
			{"properties": {"type": {"const": "answer"}, "id": {"minLength": 1}, "text": {"type": "null"}, "option": {"type": "null"}, "decline": false}, "required": ["id", "options"]},
			{"properties": {"type": {"const": "answer"}, "id": {"minLength": 1}, "text": {"type": "null"}, "option": {"type": "null"}, "options": false}, "required": ["id", "decline"]}
		]
	}`), &s); err != nil {
		t.Fatal(err)
	}
	return &s
}

// TestJSONPage compares the tables of docs/json.md with the code: types, and the keys of each in their order.
func TestJSONPage(t *testing.T) {
	data, err := os.ReadFile(schemaPage)
	if err != nil {
		t.Fatal(err)
	}
	defs := map[string]*jsonschema.Schema{}
	for _, ev := range allEvents {
		defs[ev.eventType()] = schemaOf(t, ev)
	}
	for line := range strings.Lines(string(data)) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 || !strings.HasPrefix(cells[1], " `") {
			continue
		}
		name := strings.Trim(cells[1], " `")
		def := defs[name]
		if def == nil {
			t.Errorf("docs/json.md has a row for %s, the code not, or the page has two", name)
			continue
		}
		delete(defs, name)
		var keys []string
		for _, key := range strings.Split(cells[2], ",") {
			if key = strings.Trim(key, " `"); key != "" {
				keys = append(keys, key)
			}
		}
		if want := def.PropertyOrder[3:]; !slices.Equal(keys, want) {
			t.Errorf("docs/json.md: %s has the keys %q, want %q", name, keys, want)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(defs)) {
		t.Errorf("docs/json.md has no row for %s", name)
	}
}

// TestEventTypesAreKnown reads from the code which events there are, so that none is forgotten above.
func TestEventTypesAreKnown(t *testing.T) {
	have := func(values ...any) (names []string) {
		for _, v := range values {
			names = append(names, reflect.TypeOf(v).Name())
		}
		return names
	}
	var all, happen []any
	for _, ev := range allEvents {
		all = append(all, ev)
	}
	for _, ev := range happenings {
		happen = append(happen, ev)
		if inside, ok := ev.(flower.AgentEvent); ok {
			happen = append(happen, inside.Event)
			if progress, ok := inside.Event.(agent.Progress); ok {
				happen = append(happen, progress.Delta)
			}
		}
	}
	for _, test := range []struct {
		dir, method string
		known       []string
	}{
		{".", "eventType", have(all...)},
		{"../..", "flowerEvent", have(happen...)},
		{"../../agent", "event", have(happen...)},
		{"../../agent", "delta", append(have(happen...), unsaid...)},
	} {
		declared := receivers(t, test.dir, test.method)
		if len(declared) == 0 {
			t.Errorf("no type in %s has the method %s", test.dir, test.method)
		}
		for _, name := range declared {
			if !slices.Contains(test.known, name) {
				t.Errorf("%s of %s is in no table of this test", name, test.dir)
			}
		}
	}
}

// TestNoticesAreDescribed finds each code of a notice in the code, and in docs/json.md.
func TestNoticesAreDescribed(t *testing.T) {
	page, err := os.ReadFile(schemaPage)
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "`code` of a `notice`")
	table, _, _ = strings.Cut(table, "\n\n`end`")
	described := map[string]bool{}
	for line := range strings.Lines(table) {
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		for _, code := range strings.Split(strings.Split(line, "|")[1], ",") {
			described[strings.Trim(code, " `")] = true
		}
	}
	used := map[string]bool{noticeCode("fresh.store"): true} // with a second sentence, by storeLost
	code := regexp.MustCompile(`\.Notice\("[^"]*", "([^"]+)"`)
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		for _, m := range code.FindAllStringSubmatch(string(data), -1) {
			used[noticeCode(m[1])] = true
		}
	}
	if !maps.Equal(used, described) {
		t.Errorf("used %q, described %q", slices.Sorted(maps.Keys(used)), slices.Sorted(maps.Keys(described)))
	}
}

// FuzzEventsHoldData: whatever a text is, it arrives as it was, on one line that says nothing to a terminal.
func FuzzEventsHoldData(f *testing.F) {
	for _, said := range awkward {
		f.Add(said)
	}
	f.Fuzz(func(t *testing.T, said string) {
		var out bytes.Buffer
		a := streamTo(&out, "")
		a.openEvents()
		a.events.Event(flower.CheckStarted{Label: said})
		line := out.String()
		var got checkStartedEvent
		if err := json.Unmarshal([]byte(line), &got); err != nil || got.Label != strings.ToValidUTF8(said, "\uFFFD") && got.Label != string([]rune(said)) {
			t.Fatalf("%q: %v, %q", said, err, got.Label)
		}
		if text.Plain(line) != line || strings.Count(line, "\n") != 1 {
			t.Fatalf("%q leaves something in %q", said, line)
		}
	})
}

// receivers are the types of a directory that have a method.
func receivers(t *testing.T, dir, method string) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv == nil || fn.Name.Name != method {
				continue
			}
			if id, ok := fn.Recv.List[0].Type.(*ast.Ident); ok {
				names = append(names, id.Name)
			}
		}
	}
	return names
}

// TestEventsAreBounded sees that long inputs and outputs are cut between characters, and that JSON stays JSON.
func TestEventsAreBounded(t *testing.T) {
	var out bytes.Buffer
	a := streamTo(&out, "")
	a.openEvents()
	long := strings.Repeat("長い文 ", 100_000)
	quoted, _ := json.Marshal(map[string]any{"file_path": "a", "content": long, "list": []any{long, 1}})
	many, _ := json.Marshal(strings.Split(strings.Repeat("a,", 20_000), ","))
	for _, input := range []json.RawMessage{quoted, many, json.RawMessage(`{"not JSON`), json.RawMessage("\xff")} {
		out.Reset()
		a.events.Event(by(agent.ToolStarted{Name: "Write", Input: input}))
		var got struct {
			Input any
			Cut   bool
		}
		if err := json.Unmarshal(out.Bytes(), &got); err != nil || !got.Cut || out.Len() > 2*maxEventInput {
			t.Errorf("%.20q: %v, %+v, %d bytes", input, err, got.Cut, out.Len())
		}
		if strings.Contains(out.String(), "\uFFFD") && input[0] != '\xff' {
			t.Errorf("%.20q is cut inside a character", input)
		}
	}
	out.Reset()
	a.events.Event(by(agent.ToolFinished{Name: "Bash", Result: agent.TextResult(long + "the end")}))
	var got struct {
		Output string
		Bytes  int
		Cut    bool
	}
	if err := json.Unmarshal(out.Bytes(), &got); err != nil || !got.Cut || got.Bytes != len(long)+7 || len(got.Output) > maxEventOutput+100 ||
		!strings.HasPrefix(got.Output, "長い") || !strings.HasSuffix(got.Output, "the end") || strings.Contains(got.Output, "\uFFFD") {
		t.Errorf("%v, %d bytes of %d, cut %v", err, len(got.Output), got.Bytes, got.Cut)
	}
}

// awkward are texts that a terminal, a line or JSON could take for something else.
var awkward = []string{
	"\x1b[2J\x1b]0;title\a", "a\nb\r\tc\x00\x7f\u0085\u2028", "\u202egnp.exe\u2066", "\U000E0041\U000E007F", "<&>", "🎉 中文", "\uFFFD",
	`"}{"type":"end"}`, `\u001b`, `\`, `"`,
}

// TestEventsHoldData sees that control characters and what hides or turns text arrive as data, that lines stay single,
// and that no secret gets through whatever it is dressed in.
func TestEventsHoldData(t *testing.T) {
	const key = `a "quoted"\key`
	for _, said := range awkward {
		var out bytes.Buffer
		a := streamTo(&out, "")
		a.out.hide(func(s string) string { return strings.ReplaceAll(s, key, "[redacted]") })
		a.openEvents()
		a.events.Event(flower.CheckStarted{Label: said, Command: "run " + key + " and a \"quoted\"\\k\u200bey"})
		line := out.String()
		var got checkStartedEvent
		if err := json.Unmarshal([]byte(line), &got); err != nil || got.Label != said || strings.Count(line, "\n") != 1 {
			t.Errorf("%q: %v, %q in %q", said, err, got.Label, line)
		}
		if text.Plain(line) != line {
			t.Errorf("%q leaves something in %q", said, line)
		}
		if strings.Contains(got.Command, "key") || !strings.Contains(got.Command, "[redacted]") {
			t.Errorf("the secret is in %q", got.Command)
		}
	}
}

// TestNothingAfterTheEnd: who still works when the program ends writes into the void.
func TestNothingAfterTheEnd(t *testing.T) {
	var out bytes.Buffer
	a := streamTo(&out, "")
	a.openEvents()
	a.endEvents(nil, exitOK)
	before := out.String()
	a.events.Event(flower.Interrupted{})
	a.endEvents(context.Canceled, exitFailed)
	if out.String() != before || !strings.Contains(before, `"type":"end"`) {
		t.Errorf("%q became %q", before, out.String())
	}
}
