package tools

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"flower/agent"
	"flower/internal/disk"
)

//go:embed write.md
var writeText string

func (b *Box) write(s *session, _ agent.Spec, _ agent.Env) agent.Tool {
	return agent.Tool{
		ToolSpec: agent.ToolSpec{Name: Write, Description: writeText, InputSchema: json.RawMessage(`{
"type":"object",
"properties":{
"file_path":{"type":"string","description":"Absolute path of the file, or one relative to the workspace"},
"content":{"type":"string","description":"The whole new content of the file"}
},
"required":["file_path","content"],
"additionalProperties":false}`)},
		Run: func(ctx context.Context, call agent.Call) (agent.ToolResult, error) {
			p := decode(call.Input)
			path, content := p.filled("file_path"), p.text("content")
			if r, bad := p.bad(); bad {
				return r, nil
			}
			return b.writeFile(ctx, s, path, []byte(content)), nil
		},
	}
}

func (b *Box) writeFile(ctx context.Context, s *session, path string, content []byte) agent.ToolResult {
	real, err := b.changeable(path)
	if err != nil {
		return b.refuse(path, err)
	}
	defer b.paths.hold(real)()
	if ctx.Err() != nil {
		return agent.ErrorResult("Interrupted before anything was written.")
	}
	old, err := disk.ReadRegular(real, maxEditBytes)
	isNew := errors.Is(err, fs.ErrNotExist)
	switch {
	case isNew:
	case err != nil:
		return b.refuse(path, err)
	case string(old) == string(content):
		s.saw(real, content)
		return agent.TextResult(fmt.Sprintf("%s has exactly this content already; nothing was written.", oneLine(path)))
	default:
		if why := s.stale(real, old); why != "" {
			return agent.ErrorResult(fmt.Sprintf("%s was not written: %s.", oneLine(path), why))
		}
	}
	if err := disk.SharedDir(filepath.Dir(real)); err != nil {
		return b.refuse(path, err)
	}
	if err := disk.WriteFile(real, content, newFileMode); err != nil {
		return b.refuse(path, err)
	}
	s.saw(real, content)
	verb := "Replaced"
	if isNew {
		verb = "Created"
	}
	r := agent.TextResult(fmt.Sprintf("%s %s (%s, %s).", verb, oneLine(path), plural(countLines(string(content)), "line"), plural(len(content), "byte")))
	if !isNew {
		r.Display = shortDiff(b.show(real), old, content)
	}
	return r
}

// newFileMode is the permission of files that did not exist, less the umask.
const newFileMode fs.FileMode = 0o666
