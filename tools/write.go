package tools

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

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
	defer b.paths.hold(fold(real))()
	if ctx.Err() != nil {
		return agent.ErrorResult("Interrupted before anything was written.")
	}
	old, err := disk.ReadRegular(real, maxEditBytes)
	isNew, remark := errors.Is(err, fs.ErrNotExist), ""
	switch {
	case isNew:
		if other := twin(real); other != "" {
			remark = fmt.Sprintf(" Beside it there is %q, which differs only in case or in how its characters are composed.", b.show(other))
		}
	case err != nil:
		return b.refuse(path, err)
	case string(old) == string(content):
		s.saw(real, content)
		return agent.TextResult(fmt.Sprintf("%s has exactly this content already; nothing was written.", oneLine(path)))
	default:
		if why := s.stale(real, old); why != "" {
			return agent.ErrorResult(fmt.Sprintf("%s was not written: %s.", oneLine(path), why))
		}
		if remark, err = replaceable(real); err != nil {
			return b.refuse(path, err)
		}
		remark += reshaped(old, content)
	}
	if err := b.store(real, content); err != nil {
		return b.refuse(path, err)
	}
	s.saw(real, content)
	verb := "Replaced"
	if isNew {
		verb = "Created"
	}
	r := agent.TextResult(fmt.Sprintf("%s %s (%s, %s).", verb, oneLine(path), plural(countLines(string(content)), "line"), plural(len(content), "byte")) + remark)
	if !isNew {
		r.Display = compare(b.show(real), plain(old), plain(content)).String()
	}
	return r
}

// store writes a file, and makes its directory. The path was judged before, and a command that runs at the same time may
// have turned a part of it into a link since: where commands are confined, this is, too.
func (b *Box) store(real string, content []byte) error {
	return b.files.Start(func() error {
		if err := disk.SharedDir(filepath.Dir(real)); err != nil {
			return err
		}
		return disk.WriteFile(real, content, newFileMode)
	})
}

// newFileMode is the permission of files that did not exist, less the umask.
const newFileMode fs.FileMode = 0o666

// reshaped is a remark on what a new content does not share with the old one, although the model may not have meant it:
// Read shows neither line endings nor marks.
func reshaped(old, new []byte) string {
	was, wasText := parseText(old)
	is, isText := parseText(new)
	if !wasText || !isText {
		return ""
	}
	var lost []string
	switch {
	case was.mark == is.mark:
	case was.mark == markUTF8:
		lost = append(lost, "began with a byte order mark")
	case was.mark != "":
		lost = append(lost, "was UTF-16")
	}
	if strings.Contains(was.body, "\r\n") && !strings.Contains(is.body, "\r\n") && strings.Contains(is.body, "\n") {
		lost = append(lost, "had CRLF line endings")
	}
	if len(lost) == 0 {
		return ""
	}
	return " The old content " + strings.Join(lost, " and ") + "; the new one is as you gave it. Edit keeps such things."
}
