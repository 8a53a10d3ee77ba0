package tools

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/diff"

	"flower/agent"
	"flower/internal/disk"
)

//go:embed edit.md
var editText string

func (b *Box) edit(s *session, _ agent.Spec, _ agent.Env) agent.Tool {
	return agent.Tool{
		ToolSpec: agent.ToolSpec{Name: Edit, Description: editText, InputSchema: json.RawMessage(`{
"type":"object",
"properties":{
"file_path":{"type":"string","description":"Absolute path of the file, or one relative to the workspace"},
"old_string":{"type":"string","description":"The text to replace, exactly as it stands in the file"},
"new_string":{"type":"string","description":"The text to put in its place; empty removes it"},
"replace_all":{"type":"boolean","default":false,"description":"Replace every occurrence. Default false: there must be exactly one"}
},
"required":["file_path","old_string","new_string"],
"additionalProperties":false}`)},
		Run: func(ctx context.Context, call agent.Call) (agent.ToolResult, error) {
			p := decode(call.Input)
			path := p.filled("file_path")
			c := change{old: p.text("old_string"), new: p.text("new_string"), all: p.boolean("replace_all", false)}
			if r, bad := p.bad(); bad {
				return r, nil
			}
			return b.editFile(ctx, s, path, c), nil
		},
	}
}

func (b *Box) editFile(ctx context.Context, s *session, path string, c change) agent.ToolResult {
	failed := func(why string) agent.ToolResult {
		return agent.ErrorResult(fmt.Sprintf("%s was not changed: %s.", oneLine(path), why))
	}
	real, err := b.changeable(path)
	if err != nil {
		return b.refuse(path, err)
	}
	switch c.old {
	case "":
		return failed("old_string is empty. To create a file or replace all of it, use Write")
	case c.new:
		return failed("old_string and new_string are the same")
	}
	defer b.paths.hold(real)()
	if ctx.Err() != nil {
		return failed("interrupted")
	}
	data, err := disk.ReadRegular(real, maxEditBytes)
	if err != nil {
		return b.refuse(path, err)
	}
	if why := s.stale(real, data); why != "" {
		return failed(why)
	}
	t, ok := parseText(data)
	if !ok {
		return failed("it is not a text file")
	}
	if !utf8.ValidString(t.body) && !isASCII(c.new) {
		return failed("it is not UTF-8, and new_string holds characters beyond ASCII, which would mix two encodings. Convert the file or use a command that knows its encoding")
	}
	body, lines, why := c.apply(t.body)
	if why != "" {
		return failed(why)
	}
	out := text{t.mark, body}.bytes()
	if err := disk.WriteFile(real, out, newFileMode); err != nil {
		return b.refuse(path, err)
	}
	s.saw(real, out)
	r := agent.TextResult(fmt.Sprintf("Changed %s: replaced %s, at line %s.", oneLine(path), plural(len(lines), "occurrence"), numbers(lines)))
	r.Display = shortDiff(b.show(real), []byte(t.body), []byte(body))
	return r
}

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
}

// numbers lists a few line numbers.
func numbers(lines []int) string {
	const most = 10
	var words []string
	for i, n := range lines {
		if i == most {
			words = append(words, "…")
			break
		}
		words = append(words, fmt.Sprint(n))
	}
	return strings.Join(words, ", ")
}

// Bounds of a difference that is shown to a person. Comparing very long texts would take longer than changing them.
const (
	maxDiffInput = 1 << 20
	maxDiffLines = 40
)

// shortDiff is the unified difference of two versions of a file, for people; "" if there is none worth showing.
func shortDiff(name string, old, new []byte) string {
	if len(old)+len(new) > maxDiffInput || !utf8.Valid(old) || !utf8.Valid(new) {
		return ""
	}
	d := strings.TrimSuffix(string(diff.Diff(name, old, name, new)), "\n")
	_, d, _ = strings.Cut(d, "\n") // "diff old new"
	lines := strings.Split(d, "\n")
	if len(lines) > maxDiffLines {
		lines = append(lines[:maxDiffLines], fmt.Sprintf("… %d more lines", len(lines)-maxDiffLines))
	}
	return strings.Join(lines, "\n")
}
