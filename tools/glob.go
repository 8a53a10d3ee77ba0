package tools

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"flower/agent"
)

//go:embed glob.md
var globText string

// globFiles is how many names one answer of Glob holds, stated in glob.md.
const globFiles = 100

func (b *Box) glob(_ *session, _ agent.Spec, _ agent.Env) agent.Tool {
	return agent.Tool{
		ToolSpec: agent.ToolSpec{Name: Glob, Description: globText, InputSchema: json.RawMessage(`{
"type":"object",
"properties":{
"pattern":{"type":"string","description":"Pattern of file names, such as **/*.go or src/**/*.{ts,tsx}"},
"path":{"type":"string","description":"Directory to search below. Default: the workspace"}
},
"required":["pattern"],
"additionalProperties":false}`)},
		Again: true, Looks: true,
		Run: func(ctx context.Context, call agent.Call) (agent.ToolResult, error) {
			p := decode(call.Input)
			pattern, path := p.filled("pattern"), p.textOr("path", "")
			if r, bad := p.bad(); bad {
				return r, nil
			}
			return b.findFiles(ctx, pattern, path), nil
		},
	}
}

// below resolves the directory or file that a search begins at; "" is the workspace.
func (b *Box) below(path string) (string, fs.FileInfo, error) {
	if path == "" {
		path = b.workspace
	}
	real, err := b.readable(path)
	if err != nil {
		return "", nil, err
	}
	info, err := os.Stat(real)
	return real, info, err
}

// aim splits a pattern into a directory to begin at and a pattern below it.
func aim(pattern, path string) (dir, rest string) {
	base, rest := doublestar.SplitPattern(pattern)
	switch {
	case filepath.IsAbs(base):
		return base, rest
	case base != ".":
		return filepath.Join(path, base), rest // Join("", base) is below the workspace
	case !strings.Contains(pattern, "/"):
		rest = "**/" + rest // a bare name means a file of that name anywhere
	}
	return path, rest
}

func (b *Box) findFiles(ctx context.Context, pattern, path string) agent.ToolResult {
	if !doublestar.ValidatePattern(pattern) {
		return agent.ErrorResult(fmt.Sprintf("The pattern %q is not valid: a bracket, a brace or a backslash is not closed.", pattern))
	}
	dir, rest := aim(pattern, path)
	root, info, err := b.below(dir)
	if err != nil {
		if path == "" {
			path = dir
		}
		return b.refuse(path, err)
	}
	if !info.IsDir() {
		return agent.ErrorResult(oneLine(dir) + " is a file; Glob searches below a directory.")
	}
	ctx, cancel := context.WithTimeout(ctx, b.opts.SearchTimeout)
	defer cancel()
	type match struct {
		path string
		at   time.Time
	}
	var found []match
	s := b.newSearch(root, pattern)
	s.walk(ctx, func(path, rel string, d fs.DirEntry) error {
		if ok, _ := doublestar.Match(rest, rel); !ok { // the pattern has been checked
			return nil
		}
		m := match{path: path}
		if info, err := d.Info(); err == nil {
			m.at = info.ModTime()
		}
		found = append(found, m)
		return nil
	})
	sort.SliceStable(found, func(i, j int) bool { return found[i].at.After(found[j].at) })
	var out strings.Builder
	for i, m := range found {
		if i == globFiles {
			break
		}
		out.WriteString(b.show(m.path) + "\n")
	}
	gaps := s.gaps()
	switch {
	case len(found) == 0 && gaps != "":
		return agent.ErrorResult(fmt.Sprintf("[incomplete: no match among %s, but there may be some: %s. Search below a smaller directory]", plural(s.files, "file"), gaps))
	case len(found) == 0:
		return agent.TextResult(fmt.Sprintf("[no match for %q below %s: %s searched]", pattern, b.show(root), plural(s.files, "file")))
	case len(found) > globFiles:
		fmt.Fprintf(&out, "[the newest %d of %s", globFiles, plural(len(found), "match"))
	default:
		fmt.Fprintf(&out, "[%s", plural(len(found), "match"))
	}
	if gaps != "" {
		out.WriteString("; incomplete: " + gaps)
	}
	return agent.TextResult(out.String() + "]")
}
