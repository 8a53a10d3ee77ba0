package tools

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"sort"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"flower/agent"
	"flower/internal/disk"
)

//go:embed grep.md
var grepText string

// Bounds of Grep, stated in grep.md except for the last two, which keep an answer within memory.
const (
	grepEntries  = 250
	grepMaxFile  = 32 << 20 // bytes
	grepMaxLine  = 500      // characters of a line that are shown
	grepMaxBytes = 1 << 20  // of the answer
)

// Output modes.
const (
	modeFiles   = "files_with_matches"
	modeContent = "content"
	modeCount   = "count"
)

func (b *Box) grep(_ *session, _ agent.Spec, _ agent.Env) agent.Tool {
	return agent.Tool{
		ToolSpec: agent.ToolSpec{Name: Grep, Description: grepText, InputSchema: json.RawMessage(`{
"type":"object",
"properties":{
"pattern":{"type":"string","description":"Regular expression (RE2 syntax)"},
"path":{"type":"string","description":"Directory or file to search. Default: the workspace"},
"glob":{"type":"string","description":"Only files whose names match, such as *.go or src/**/*.ts; !*.md excludes"},
"type":{"type":"string","description":"Only files of this kind, such as go, py, js, ts, rust, java, md"},
"output_mode":{"type":"string","enum":["files_with_matches","content","count"],"description":"Default files_with_matches"},
"-A":{"type":"integer","minimum":0,"description":"Lines to show after each match (content)"},
"-B":{"type":"integer","minimum":0,"description":"Lines to show before each match (content)"},
"-C":{"type":"integer","minimum":0,"description":"Lines to show before and after each match (content)"},
"context":{"type":"integer","minimum":0,"description":"The same as -C"},
"-n":{"type":"boolean","default":true,"description":"Show line numbers (content). Default true"},
"-i":{"type":"boolean","default":false,"description":"Ignore case"},
"multiline":{"type":"boolean","default":false,"description":"Let matches span lines and . match line feeds"},
"head_limit":{"type":"integer","minimum":0,"description":"Show at most this many lines or entries. Default 250; 0 is no limit"},
"offset":{"type":"integer","minimum":0,"description":"Skip this many lines or entries first. Default 0"}
},
"required":["pattern"],
"additionalProperties":false}`)},
		Again: true, Looks: true,
		Run: func(ctx context.Context, call agent.Call) (agent.ToolResult, error) {
			q, bad := newQuery(call.Input)
			if bad != nil {
				return *bad, nil
			}
			return b.searchText(ctx, q), nil
		},
	}
}

// query is a call of Grep.
type query struct {
	pattern, path string
	match         matcher
	include       func(rel string) bool
	globs         []string // for the directories they name

	mode          string
	before, after int
	numbers       bool
	limit, offset int
}

func newQuery(input json.RawMessage) (*query, *agent.ToolResult) {
	p := decode(input)
	q := &query{
		pattern: p.text("pattern"), path: p.textOr("path", ""),
		mode:    p.choice("output_mode", modeFiles, modeContent, modeCount),
		numbers: p.boolean("-n", true),
		limit:   p.integer("head_limit", grepEntries, 0, math.MaxInt32), offset: p.integer("offset", 0, 0, math.MaxInt32),
	}
	around := p.integer("-C", p.integer("context", 0, 0, 1000), 0, 1000)
	q.before, q.after = p.integer("-B", around, 0, 1000), p.integer("-A", around, 0, 1000)
	glob, kind := p.textOr("glob", ""), p.textOr("type", "")
	fold, multiline := p.boolean("-i", false), p.boolean("multiline", false)
	if q.pattern == "" {
		p.fail("parameter %q is empty", "pattern")
	}
	if r, bad := p.bad(); bad {
		return nil, &r
	}
	var err error
	if q.match, err = newMatcher(q.pattern, fold, multiline); err == nil {
		q.globs = splitGlobs(glob)
		q.include, err = filter(q.globs, kind)
	}
	if err != nil {
		r := agent.ErrorResult(err.Error())
		return nil, &r
	}
	if q.limit == 0 {
		q.limit = math.MaxInt32
	}
	return q, nil
}

// splitGlobs separates patterns at blanks, and at commas that stand in no braces.
func splitGlobs(s string) []string {
	depth := 0
	return strings.FieldsFunc(s, func(r rune) bool {
		switch r {
		case '{':
			depth++
		case '}':
			depth--
		}
		return r == ' ' || r == ',' && depth <= 0
	})
}

// kinds are the file types by the names that ripgrep gives them.
var kinds = map[string]string{
	"c": "*.{c,h}", "cpp": "*.{cc,cpp,cxx,hh,hpp,hxx,h}", "cs": "*.cs", "css": "*.{css,scss,less}",
	"docker": "*{Dockerfile,.dockerfile}", "go": "*.go", "haskell": "*.hs", "html": "*.{html,htm}", "java": "*.java",
	"js": "*.{js,jsx,mjs,cjs,vue}", "json": "*.{json,jsonl}", "kotlin": "*.{kt,kts}", "lua": "*.lua",
	"make": "{Makefile,makefile,GNUmakefile,*.mk}", "markdown": "*.{md,markdown,mdx}", "md": "*.{md,markdown,mdx}",
	"php": "*.php", "proto": "*.proto", "py": "*.{py,pyi}", "rb": "*.rb", "ruby": "*.rb", "rust": "*.rs",
	"scala": "*.scala", "sh": "*.{sh,bash,zsh}", "sql": "*.sql", "swift": "*.swift", "tex": "*.{tex,bib}",
	"toml": "*.toml", "ts": "*.{ts,tsx,mts,cts}", "txt": "*.txt", "xml": "*.{xml,xsd,xsl,svg}", "yaml": "*.{yaml,yml}",
	"zig": "*.zig",
}

// filter decides which files are searched: those of the kind that match a glob, if there are globs that include, and
// none that excludes.
func filter(globs []string, kind string) (func(rel string) bool, error) {
	var include, exclude []string
	for _, g := range globs {
		name := strings.TrimPrefix(g, "!")
		if !doublestar.ValidatePattern(name) || name == "" {
			return nil, fmt.Errorf("the glob %q is not valid", g)
		}
		name = strings.TrimPrefix(name, "./")
		if !strings.Contains(name, "/") {
			name = "**/" + name
		}
		name = strings.TrimPrefix(name, "/")
		if strings.HasPrefix(g, "!") {
			exclude = append(exclude, name)
		} else {
			include = append(include, name)
		}
	}
	ofKind := ""
	if kind != "" {
		if ofKind = kinds[strings.ToLower(kind)]; ofKind == "" {
			var names []string
			for name := range kinds {
				names = append(names, name)
			}
			sort.Strings(names)
			return nil, fmt.Errorf("the type %q is not known; there are: %s. Use glob for others", clip(kind, 40), strings.Join(names, ", "))
		}
		ofKind = "**/" + ofKind
	}
	matches := func(patterns []string, rel string) bool {
		for _, p := range patterns {
			if ok, _ := doublestar.Match(p, rel); ok {
				return true
			}
		}
		return false
	}
	return func(rel string) bool {
		return (ofKind == "" || matches([]string{ofKind}, rel)) && (len(include) == 0 || matches(include, rel)) && !matches(exclude, rel)
	}, nil
}

func (b *Box) searchText(ctx context.Context, q *query) agent.ToolResult {
	root, info, err := b.below(q.path)
	if err == nil && !info.IsDir() && !info.Mode().IsRegular() {
		err = &disk.NotRegularError{Path: root, Mode: info.Mode()}
	}
	if err != nil {
		return b.refuse(q.path, err)
	}
	if info.Mode().IsRegular() {
		q.include = func(string) bool { return true } // a file that is named itself is searched whatever its name is
	}
	ctx, cancel := context.WithTimeout(ctx, b.opts.SearchTimeout)
	defer cancel()
	s := b.newSearch(root, q.globs...)
	out := &sheet{query: q}
	s.seek(ctx, q, out)
	return out.result(s, b.show(root), info.Mode().IsRegular())
}

// result is one of a few answers, told apart by the status line: found, nothing there, or not known. where is the
// directory, or the one file, that was named.
func (o *sheet) result(s *search, where string, isFile bool) agent.ToolResult {
	gaps := s.gaps()
	if o.entries == 0 {
		switch {
		case gaps != "":
			return agent.ErrorResult(fmt.Sprintf("[incomplete: no match so far, but there may be some: %s; %s. Narrow the search with path, glob or type]", gaps, s.looked()))
		case s.files == 0 && isFile && s.binary > 0:
			return agent.ErrorResult(fmt.Sprintf("[incomplete: %s is a binary file and was not searched. Use a command that knows its format]", where))
		case s.files == 0 && s.leftOut() == "":
			return agent.TextResult(fmt.Sprintf("[no file to search: none below %s fits glob and type]", where))
		case s.files == 0:
			return agent.TextResult(fmt.Sprintf("[no file searched: below %s none fits glob and type apart from what was left out: %s]", where, s.leftOut()))
		}
		return agent.TextResult(fmt.Sprintf("[no match for %q in %s: %s]", o.query.pattern, where, s.looked()))
	}
	status := fmt.Sprintf("[%s in %s; %s", plural(o.matches, "match"), plural(o.files, "file"), s.looked())
	switch {
	case o.full:
		status = fmt.Sprintf("[the first %d entries after offset %d; more follow: go on with offset %d, or narrow the search",
			o.shown, o.query.offset, o.query.offset+o.shown)
	case o.shown == 0:
		status = fmt.Sprintf("[nothing behind offset %d: there are %d entries", o.query.offset, o.entries)
	}
	if gaps != "" {
		status += "; incomplete: " + gaps
	}
	return agent.TextResult(o.text.String() + status + "]")
}
