package tools

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"flower/agent"
	"flower/internal/workbench"
	"flower/transcript"
)

// call runs a handler made of a result and guards, the first one innermost.
func call(t *testing.T, result agent.ToolResult, guards ...agent.Middleware) (agent.ToolResult, error) {
	t.Helper()
	var h agent.Handler = func(context.Context, agent.Call) (agent.ToolResult, error) { return result, nil }
	for _, g := range guards {
		h = g(h)
	}
	return h(context.Background(), agent.Call{Name: "Some", Input: []byte("{}")})
}

func TestRedacted(t *testing.T) {
	redact := func(s string) string { return strings.ReplaceAll(s, "hunter2", "***") }
	image := transcript.Image("image/png", "hunter2")
	r, err := call(t, agent.ToolResult{
		Content: []transcript.Block{transcript.Text("a hunter2"), image, transcript.Text("\xFF")},
		Display: "hunter2", IsError: true, Denied: true,
	}, redacted(redact))
	if err != nil || !r.IsError || !r.Denied || r.Display != "***" || r.Content[0].Text != "a ***" || r.Content[2].Text != "\uFFFD" {
		t.Errorf("got %+v, %v", r, err)
	}
	if r, _ := call(t, agent.TextResult("hunter2"), redacted(nil)); textOf(r) != "hunter2" {
		t.Errorf("got %q", textOf(r))
	}
}

func TestSpilled(t *testing.T) {
	var kept string
	spill := func(s string) (string, error) { kept = s; return "/w/.flower/spill/0123.txt", nil }
	full := errors.New("disk full")
	status := "[exit code 0]"
	tests := []struct {
		name, text string
		spilled    bool
		status     bool
	}{
		{"short", "x", false, false},
		{"3999 characters", strings.Repeat("字", 3999), false, false},
		{"4000 characters", strings.Repeat("字", 4000), true, false},
		{"many bytes, few characters", strings.Repeat("👍", 3999), false, false},
		{"status line", strings.Repeat("line\n", 1000) + status, true, true},
		{"one long last line in brackets", "[" + strings.Repeat("x", 5000) + "]", true, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			kept = ""
			image := transcript.Image("image/png", "AA==")
			given := agent.ToolResult{Content: []transcript.Block{transcript.Text(test.text), image}, IsError: true}
			r, err := call(t, given, spilled(spill))
			if err != nil || !r.IsError || len(r.Content) != 2 || r.Content[1].Type != transcript.TypeImage {
				t.Fatalf("got %+v, %v", r, err)
			}
			got := r.Content[0].Text
			if !test.spilled {
				if got != test.text || kept != "" {
					t.Errorf("changed to %q", got)
				}
				return
			}
			if kept != test.text {
				t.Errorf("kept %d bytes of %d", len(kept), len(test.text))
			}
			if n := utf8.RuneCountInString(got); n > spillShown+300 {
				t.Errorf("%d characters are left", n)
			}
			wants(t, got, "/w/.flower/spill/0123.txt", string([]rune(test.text)[:spillShown])+" …", "Read it with offset and limit")
			if strings.HasSuffix(got, "\n"+status) != test.status {
				t.Errorf("ends with %q", lastLine(got))
			}
			r, err = call(t, given, spilled(func(string) (string, error) { return "", full }))
			if err != nil || utf8.RuneCountInString(r.Content[0].Text) > spillShown+300 {
				t.Errorf("got %+v, %v", r, err)
			}
			wants(t, r.Content[0].Text, "could not be written")
		})
	}
}

// Secrets are gone before a result is written to a file; a spilled file is read without being moved again.
func TestGuardsTogether(t *testing.T) {
	f := newFixture(t, func(o *Options) {
		o.Bench = workbench.Open(o.Workspace)
		o.Redact = func(s string) string { return strings.ReplaceAll(s, "hunter2", "[secret]") }
	})
	f.file("long", strings.Repeat("a line with hunter2 in it\n", 2000))
	r := f.result(Bash, in{"command": "cat long; exit 3"})
	text := textOf(r)
	wants(t, text, "a line with [secret] in it", "[exit code 3, ran ")
	if utf8.RuneCountInString(text) > 1500 || !r.IsError {
		t.Errorf("%d characters, error %v", utf8.RuneCountInString(text), r.IsError)
	}
	_, path, _ := strings.Cut(text, "are in ")
	path, _, _ = strings.Cut(path, ":")
	data, err := os.ReadFile(filepath.Join(f.dir, path))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(data), "hunter2") || strings.Count(string(data), "[secret]") != 2000 {
		t.Error("the file is not the redacted output")
	}
	got := f.ok(Read, in{"file_path": path})
	wants(t, got, "\n  2000\ta line with [secret] in it")

	wants(t, f.ok(Grep, in{"pattern": "line", "output_mode": "content"}), "[long result: ", "[the first 250 entries after offset 0")
	f.ok(Write, in{"file_path": f.box.opts.Bench.Dir() + "/artifacts/x.md", "content": "x"})

	// A bench outside of the workspace is named by its absolute path.
	f = newFixture(t, func(o *Options) { o.Bench = workbench.OpenAt(o.Workspace, workbench.OutsideDir(o.Workspace)) })
	_, path, _ = strings.Cut(f.ok(Bash, in{"command": "seq 5000"}), "are in ")
	path, _, _ = strings.Cut(path, ":")
	if !filepath.IsAbs(path) {
		t.Errorf("the pointer is %q", path)
	}
	wants(t, f.ok(Read, in{"file_path": path, "offset": 4999}), "  4999\t4999\n  5000\t5000")
}
