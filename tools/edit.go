package tools

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"flower/agent"
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
			switch c.old {
			case "":
				return unchanged(path, "old_string is empty. To create a file or replace all of it, use Write"), nil
			case c.new:
				return unchanged(path, "old_string and new_string are the same"), nil
			}
			return b.editFile(ctx, s, path, c), nil
		},
	}
}

func (b *Box) editFile(ctx context.Context, s *session, path string, c change) agent.ToolResult {
	return b.revise(ctx, s, path, func(data []byte) (out []byte, said, why string) {
		t, ok := parseText(data)
		switch {
		case !ok:
			return nil, "", "it is not a text file"
		case !utf8.ValidString(t.body) && !isASCII(c.new):
			return nil, "", "it is not UTF-8, and new_string holds characters beyond ASCII, which would mix two encodings. Convert the file or use a command that knows its encoding"
		}
		if strings.ContainsRune(c.new, 0) && t.mark != markUTF16LE && t.mark != markUTF16BE {
			return nil, "", "new_string holds a NUL character, which would make it a binary file"
		}
		body, lines, why := c.apply(t.body)
		if why != "" {
			return nil, "", why
		}
		return text{t.mark, body}.bytes(), fmt.Sprintf("Changed %s: replaced %s, at line %s.", oneLine(path), plural(len(lines), "occurrence"), numbers(lines)), ""
	})
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
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
