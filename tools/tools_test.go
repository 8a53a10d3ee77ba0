package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"go.uber.org/goleak"

	"flower/agent"
)

// TestMain looks for goroutines that were left. Those that wait for a command's processes to be gone end with them, which
// package proc tests.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("flower/internal/proc.startChild.func3"),
		goleak.IgnoreAnyFunction("flower/internal/proc.(*child).awaitEnd.func1"), goleak.IgnoreAnyFunction("flower/internal/proc.(*child).wake.func1"))
}

// fixture is a Box over a workspace, seen by one session.
type fixture struct {
	t     *testing.T
	box   *Box
	dir   string
	spec  agent.Spec
	env   agent.Env
	tools map[string]agent.Tool
}

var allTools = []string{Bash, Read, Write, Edit, NotebookEdit, Glob, Grep, TodoWrite, WebFetch, Agent, Ask, Inbox}

func newFixture(t *testing.T, change func(*Options)) *fixture {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(dir, "work") // what lies beside it is removed too
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	opts := Options{Workspace: dir, Environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "LANG=C.UTF-8"}}
	if change != nil {
		change(&opts)
	}
	box, err := New(opts)
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{t: t, box: box, dir: dir}
	f.use(agent.Spec{Name: "worker", Tools: allTools}, agent.Env{Key: agent.Key{Project: "p", Session: "s"}})
	return f
}

// use makes the tools of an agent.
func (f *fixture) use(spec agent.Spec, env agent.Env) {
	f.t.Helper()
	list, err := f.box.Tools(spec, env)
	if err != nil {
		f.t.Fatal(err)
	}
	f.spec, f.env, f.tools = spec, env, map[string]agent.Tool{}
	for _, tool := range list {
		f.tools[tool.Name] = tool
	}
}

// as is the same box as another session sees it.
func (f *fixture) as(session string) *fixture {
	g := *f
	g.use(f.spec, agent.Env{Key: agent.Key{Project: "p", Session: session}})
	return &g
}

type in map[string]any

// result runs a call.
func (f *fixture) result(name string, input in) agent.ToolResult {
	f.t.Helper()
	r, err := f.run(context.Background(), name, input)
	if err != nil {
		f.t.Fatalf("%s: %v", name, err)
	}
	return r
}

func (f *fixture) run(ctx context.Context, name string, input in) (agent.ToolResult, error) {
	data, err := json.Marshal(input)
	if err != nil {
		f.t.Fatal(err)
	}
	return f.tools[name].Run(ctx, agent.Call{ID: "toolu_1", Name: name, Input: data, Key: f.env.Key})
}

// ok runs a call that must succeed and returns its text.
func (f *fixture) ok(name string, input in) string {
	f.t.Helper()
	r := f.result(name, input)
	if r.IsError {
		f.t.Fatalf("%s(%v) is an error: %s", name, input, textOf(r))
	}
	return textOf(r)
}

// fails runs a call that must give an error result and returns its text.
func (f *fixture) fails(name string, input in) string {
	f.t.Helper()
	r := f.result(name, input)
	if !r.IsError || r.Denied {
		f.t.Fatalf("%s(%v) is no plain error (error %v, denied %v): %s", name, input, r.IsError, r.Denied, textOf(r))
	}
	return textOf(r)
}

// denied runs a call that a guard must refuse and returns its text.
func (f *fixture) denied(name string, input in) string {
	f.t.Helper()
	r := f.result(name, input)
	if !r.IsError || !r.Denied {
		f.t.Fatalf("%s(%v) was not denied: %s", name, input, textOf(r))
	}
	return textOf(r)
}

func textOf(r agent.ToolResult) string {
	var parts []string
	for _, b := range r.Content {
		parts = append(parts, b.Text)
	}
	return strings.Join(parts, "\n")
}

// file writes a file below the workspace and returns its path.
func (f *fixture) file(name, content string) string {
	f.t.Helper()
	path := filepath.Join(f.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		f.t.Fatal(err)
	}
	return path
}

// content reads a file below the workspace.
func (f *fixture) content(name string) string {
	f.t.Helper()
	data, err := os.ReadFile(filepath.Join(f.dir, name))
	if err != nil {
		f.t.Fatal(err)
	}
	return string(data)
}

func wants(t *testing.T, got string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(got, p) {
			t.Errorf("result lacks %q:\n%s", p, got)
		}
	}
}

func TestNewChecksOptions(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"", "relative", file, file + "/below", t.TempDir() + "/missing"} {
		if _, err := New(Options{Workspace: dir}); err == nil {
			t.Errorf("workspace %q was accepted", dir)
		}
	}
}

func TestToolsOfASpec(t *testing.T) {
	spawn := func(context.Context, agent.Spawn) (agent.ToolResult, error) { return agent.ToolResult{}, nil }
	sub := []agent.Spec{{Name: "worker", Description: "does things"}}
	tests := []struct {
		name    string
		spec    agent.Spec
		env     agent.Env
		want    []string
		unknown bool
	}{
		{name: "order of the spec", spec: agent.Spec{Tools: []string{Grep, Read, Ask}}, want: []string{Grep, Read, Ask}},
		{name: "no tools", spec: agent.Spec{}},
		{name: "not offered here", spec: agent.Spec{Tools: []string{WebFetch, Read, WebSearch}}, want: []string{WebFetch, Read}},
		{name: "unknown", spec: agent.Spec{Tools: []string{Read, "Reed"}}, unknown: true},
		{name: "case counts", spec: agent.Spec{Tools: []string{"bash"}}, unknown: true},
		{name: "no subagents, no Agent", spec: agent.Spec{Tools: []string{Agent, Read}}, env: agent.Env{Spawn: spawn}, want: []string{Read}},
		{name: "nothing to start them", spec: agent.Spec{Tools: []string{Agent}, Subagents: sub}},
		{name: "subagents", spec: agent.Spec{Tools: []string{Agent}, Subagents: sub}, env: agent.Env{Spawn: spawn}, want: []string{Agent}},
	}
	box, err := New(Options{Workspace: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			list, err := box.Tools(test.spec, test.env)
			if errors.Is(err, errUnknownTool) != test.unknown || !test.unknown && err != nil {
				t.Fatalf("error %v", err)
			}
			var got []string
			for _, tool := range list {
				got = append(got, tool.Name)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

// Every tool states a schema that can be resolved and refuses what it does not know, and a description.
func TestSpecsOfTools(t *testing.T) {
	f := newFixture(t, nil)
	f.use(agent.Spec{Tools: allTools, Subagents: []agent.Spec{{Name: "worker", Description: "does things"}}},
		agent.Env{Spawn: func(context.Context, agent.Spawn) (agent.ToolResult, error) { return agent.ToolResult{}, nil }})
	again := []string{Read, Glob, Grep, TodoWrite, WebFetch, Agent, Ask, Inbox}
	for _, name := range allTools {
		tool, ok := f.tools[name]
		if !ok {
			t.Errorf("%s is missing", name)
			continue
		}
		var schema jsonschema.Schema
		if err := json.Unmarshal(tool.InputSchema, &schema); err != nil {
			t.Errorf("schema of %s: %v", name, err)
		} else if _, err := schema.Resolve(nil); err != nil {
			t.Errorf("schema of %s: %v", name, err)
		}
		if schema.Type != "object" || schema.AdditionalProperties == nil {
			t.Errorf("schema of %s does not describe a closed object", name)
		}
		for param := range schema.Properties {
			if schema.Properties[param].Type == "" {
				t.Errorf("schema of %s: %s has no type", name, param)
			}
		}
		if len(tool.Description) < 200 {
			t.Errorf("%s has no description to speak of", name)
		}
		if tool.Again != slices.Contains(again, name) {
			t.Errorf("Again of %s is %v", name, tool.Again)
		}
		wants(t, f.fails(name, in{"nonsense": 1, "command": "true", "file_path": "x", "notebook_path": "x", "cell_number": 0, "new_source": "x", "content": "x", "pattern": "x", "old_string": "x",
			"new_string": "y", "question": "x", "description": "x", "prompt": "x", "url": "x", "todos": []any{}}), "unknown parameter", `"nonsense"`)
	}
}

func TestBadParameters(t *testing.T) {
	f := newFixture(t, nil)
	f.file("a.txt", "one\ntwo\nthree\n")
	tests := []struct {
		tool  string
		input in
		want  string
	}{
		{Read, in{}, `"file_path" is missing`},
		{Read, in{"file_path": nil}, `"file_path" is missing`},
		{Read, in{"file_path": "  "}, `"file_path" is empty`},
		{Read, in{"file_path": 7}, `"file_path" must be a string`},
		{Read, in{"file_path": "a.txt", "limit": 0}, `"limit" must be a whole number`},
		{Read, in{"file_path": "a.txt", "limit": 1.5}, `"limit" must be a whole number`},
		{Read, in{"file_path": "a.txt", "offset": -1}, `"offset" must be a whole number`},
		{Read, in{"file_path": "a.txt", "offset": "ten"}, `"offset" must be a whole number`},
		{Read, in{"file_path": "a.txt", "offset": []int{1}}, `"offset" must be a whole number`},
		{Read, in{"file_path": "a.txt", "offset": 1e300}, `"offset" must be a whole number`},
		{Read, in{"file_path": "a\x00b"}, "NUL"},
		{Read, in{"file_path": "~/a.txt"}, "not expanded"},
		{Edit, in{"file_path": "a.txt", "old_string": "one", "new_string": "1", "replace_all": "maybe"}, `"replace_all" must be true or false`},
		{Grep, in{"pattern": "x", "output_mode": "lines"}, `"output_mode" must be one of`},
		{Grep, in{"pattern": ""}, `"pattern" is empty`},
		{Grep, in{"pattern": "("}, "not a regular expression"},
		{Grep, in{"pattern": "(?=x)"}, "look-around"},
		{Grep, in{"pattern": "x", "type": "klingon"}, "go, haskell"},
		{Grep, in{"pattern": "x", "glob": "[a"}, "not valid"},
		{Glob, in{"pattern": "[a"}, "not valid"},
		{Glob, in{"pattern": "*", "path": "a.txt"}, "is a file"},
		{TodoWrite, in{"todos": "none"}, `"todos" must be a list`},
		{TodoWrite, in{"todos": []in{{"content": "x", "status": "done", "activeForm": "x"}}}, "status of item 1"},
		{TodoWrite, in{"todos": []in{{"content": " ", "status": "pending", "activeForm": "x"}}}, "item 1 has no content"},
		{Ask, in{"question": "  "}, `"question" is empty`},
		{Ask, in{"question": "which?", "options": "a"}, `"options" must be a list`},
	}
	for _, test := range tests {
		t.Run(fmt.Sprint(test.tool, test.input), func(t *testing.T) {
			f := *f
			f.t = t
			wants(t, f.fails(test.tool, test.input), test.want)
		})
	}
}

func TestLenientParameters(t *testing.T) {
	f := newFixture(t, nil)
	f.file("a.txt", "one\ntwo\nthree\n")
	want := f.ok(Read, in{"file_path": "a.txt", "offset": 2, "limit": 1})
	wants(t, want, "     2\ttwo\n")
	for _, input := range []in{
		{"file_path": "a.txt", "offset": "2", "limit": " 1 "},
		{"file_path": "a.txt", "offset": 2.0, "limit": "1.0"},
		{"file_path": f.dir + "/a.txt", "offset": 2, "limit": 1},
	} {
		if got := f.ok(Read, input); strings.ReplaceAll(got, f.dir+"/", "") != want {
			t.Errorf("%v: %q, want %q", input, got, want)
		}
	}
	if _, bad := decode(json.RawMessage(`[1]`)).bad(); !bad {
		t.Error("a list was taken for an object")
	}
	if _, bad := decode(json.RawMessage(`null`)).bad(); !bad {
		t.Error("null was taken for an object")
	}
}

func TestTodoWrite(t *testing.T) {
	f := newFixture(t, nil)
	got := f.ok(TodoWrite, in{"todos": []in{
		{"content": "Look", "status": "completed", "activeForm": "Looking"},
		{"content": "Write\nit", "status": "in_progress", "activeForm": "Writing\nit"},
		{"content": "检查", "status": "pending", "activeForm": "在检查"},
	}})
	if want := "[x] Look\n[>] Writing it\n[ ] 检查\n[1 of 3 done, 1 in progress]"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if todos := f.box.Todos(f.env.Key); len(todos) != 3 || todos[2].Content != "检查" {
		t.Errorf("kept %v", todos)
	}
	if todos := f.box.Todos(agent.Key{Session: "other"}); len(todos) != 0 {
		t.Errorf("another session has %v", todos)
	}
	wants(t, f.ok(TodoWrite, in{"todos": []in{}}), "empty")
}

func TestAgent(t *testing.T) {
	var got []agent.Spawn
	spawn := func(_ context.Context, s agent.Spawn) (agent.ToolResult, error) {
		got = append(got, s)
		return agent.TextResult("report"), nil
	}
	f := newFixture(t, nil)
	one := []agent.Spec{{Name: "worker", Description: "does things"}}
	two := append(one, agent.Spec{Name: "scout", Description: "finds things"})

	f.use(agent.Spec{Tools: []string{Agent}, Subagents: two}, agent.Env{Spawn: spawn})
	wants(t, f.tools[Agent].Description, "- worker: does things\n- scout: finds things\n")
	wants(t, f.fails(Agent, in{"description": "d", "prompt": "p"}), "worker, scout")
	wants(t, f.fails(Agent, in{"description": "d", "prompt": "p", "subagent_type": "boss"}), `"boss"`)
	wants(t, f.fails(Agent, in{"description": "d", "prompt": " ", "subagent_type": "scout"}), `"prompt" is empty`)
	if len(got) != 0 {
		t.Fatalf("started %v", got)
	}
	if text := f.ok(Agent, in{"description": "d", "prompt": "p", "subagent_type": "scout"}); text != "report" {
		t.Errorf("got %q", text)
	}
	f.use(agent.Spec{Tools: []string{Agent}, Subagents: one}, agent.Env{Spawn: spawn})
	f.ok(Agent, in{"description": "d", "prompt": "p"})
	want := []agent.Spawn{
		{CallID: "toolu_1", Agent: "scout", Title: "d", Prompt: "p"},
		{CallID: "toolu_1", Agent: "worker", Title: "d", Prompt: "p"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestHuman(t *testing.T) {
	failure := errors.New("terminal gone")
	var fail error
	f := newFixture(t, func(o *Options) {
		o.Ask = func(_ context.Context, id, question string, options []string) (string, error) {
			return fmt.Sprint(id, question, options), fail
		}
		o.Inbox = func(context.Context) (string, error) { return " \n", fail }
	})
	if got := f.ok(Ask, in{"question": "which?", "options": []string{"a", "b"}}); got != "p/s/toolu_1which?[a b]" {
		t.Errorf("got %q", got)
	}
	if got := f.ok(Inbox, in{}); got != nothingNew {
		t.Errorf("got %q", got)
	}
	fail = failure
	for name, input := range map[string]in{Ask: {"question": "?"}, Inbox: {}} {
		if _, err := f.run(context.Background(), name, input); !errors.Is(err, failure) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	f = newFixture(t, nil)
	wants(t, f.ok(Ask, in{"question": "?"}), "Nobody can be asked")
	wants(t, f.ok(Inbox, in{}), "nothing new")
}

// The descriptions state figures of the code.
func TestDescriptionsStateTheBounds(t *testing.T) {
	tests := []struct {
		text string
		want []string
	}{
		{readText, []string{fmt.Sprintf("At most %d lines, %d characters of a line and 100,000 bytes", readLines, readColumns)}},
		{writeText, []string{fmt.Sprintf("more than %d MiB", maxEditBytes>>20)}},
		{editText, []string{fmt.Sprintf("more than %d MiB", maxEditBytes>>20)}},
		{globText, []string{fmt.Sprintf("at most %d,", globFiles)}},
		{grepText, []string{fmt.Sprintf("(default %d,", grepEntries), fmt.Sprintf("larger than %d MiB", grepMaxFile>>20)}},
		{bashText, []string{fmt.Sprintf("%d by default, %d at most", defaultCommandTimeout.Milliseconds(), maxCommandTimeout.Milliseconds()),
			fmt.Sprintf("%d characters and more are moved", spillFrom)}},
	}
	for _, test := range tests {
		wants(t, test.text, test.want...)
	}
	for dir := range passedBy {
		wants(t, globText, dir)
		wants(t, grepText, dir)
	}
	if readBytes != 100_000 {
		t.Error("read.md states another bound of bytes")
	}
}
