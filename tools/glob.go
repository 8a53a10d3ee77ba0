package tools

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

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
	var found []match
	fits := fitting(rest)
	s := b.newSearch(root, pattern)
	s.walk(ctx, func(f file) error {
		s.files++
		if f.entry.Type()&fs.ModeSymlink != 0 {
			if info, err := os.Stat(f.path); err == nil && info.IsDir() {
				s.links++
			}
		}
		if fits(f) {
			found = append(found, match{file: f})
		}
		return nil
	})
	newestFirst(found)
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
		return agent.ErrorResult(fmt.Sprintf("[incomplete: no match so far, but there may be some: %s; %s. Search below a smaller directory]", gaps, s.looked()))
	case len(found) == 0:
		return agent.TextResult(fmt.Sprintf("[no match for %q below %s: %s]", pattern, b.show(root), s.looked()))
	case len(found) > globFiles:
		fmt.Fprintf(&out, "[the newest %d of %s", globFiles, plural(len(found), "match"))
	default:
		fmt.Fprintf(&out, "[%s", plural(len(found), "match"))
	}
	if left := s.leftOut(); left != "" {
		out.WriteString("; " + left)
	}
	if gaps != "" {
		out.WriteString("; incomplete: " + gaps)
	}
	return agent.TextResult(out.String() + "]")
}

// fitting says which files a valid pattern means. Most speak of the last name only.
func fitting(pattern string) func(file) bool {
	if name, ok := strings.CutPrefix(pattern, "**/"); ok && !strings.ContainsAny(name, "/{") {
		return func(f file) bool {
			ok, _ := doublestar.Match(name, f.entry.Name())
			return ok
		}
	}
	return func(f file) bool {
		ok, _ := doublestar.Match(pattern, f.rel)
		return ok
	}
}

// match is a file that Glob has found.
type match struct {
	file
	at int64 // when it was changed last, in nanoseconds
}

// newestFirst orders files by their last change, and by path where that is the same. The system is asked for many files
// at once.
func newestFirst(found []match) {
	var asking sync.WaitGroup
	for part := range slices.Chunk(found, max(64, len(found)/(4*runtime.GOMAXPROCS(0)))) {
		asking.Go(func() {
			for i := range part {
				if info, err := part[i].entry.Info(); err == nil {
					part[i].at = info.ModTime().UnixNano()
				}
			}
		})
	}
	asking.Wait()
	slices.SortStableFunc(found, func(a, b match) int { return cmp.Compare(b.at, a.at) })
}
