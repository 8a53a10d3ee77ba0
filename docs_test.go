package flower_test

import (
	"bytes"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode"
)

// documents are the pages that speak of the code; a name in them that does not exist any more is a mistake.
var documents = []string{
	"README.md", "CONTRIBUTING.md", "CHANGELOG.md",
	"docs/design.md", "docs/layout.md", "docs/formats.md", "docs/cli.md", "docs/json.md",
}

// page is a document without its fenced blocks, which hold output and data.
type page struct {
	name  string
	lines []string // fenced lines are empty
}

func readPage(t *testing.T, name string) page {
	t.Helper()
	p := page{name: name}
	fenced := false
	for line := range strings.Lines(readText(t, name)) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
			line = ""
		}
		if fenced {
			line = ""
		}
		p.lines = append(p.lines, line)
	}
	if fenced {
		t.Errorf("%s: a fence is not closed", name)
	}
	return p
}

func readText(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

var codeSpan = regexp.MustCompile("`([^`]+)`")

// spans calls f for everything in back-ticks.
func (p page) spans(f func(line int, text string)) {
	for i, line := range p.lines {
		for _, m := range codeSpan.FindAllStringSubmatch(line, -1) {
			f(i+1, m[1])
		}
	}
}

// tables returns the rows, head left out, of the tables of a document whose first column has one of the given titles.
func (p page) tables(titles ...string) [][]string {
	var rows [][]string
	in := false
	for _, line := range p.lines {
		if !strings.HasPrefix(line, "|") {
			in = false
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		switch {
		case slices.Contains(titles, cells[0]):
			in = true
		case in && !strings.HasPrefix(cells[0], "---"):
			rows = append(rows, cells)
		}
	}
	return rows
}

func code(cell string) string { return strings.Trim(cell, "`") }

// code of the module, as its documents may name it.
type sources struct {
	packages map[string]map[string]bool // package name, then everything declared at its top
	members  map[string]map[string]bool // type name of any package, then its methods and fields
	anything map[string]bool            // all of these names, and those of types
	imports  map[string]bool            // import paths of other modules, tests included
	literals map[string]bool            // string literals outside of tests
}

func readSources(t *testing.T) sources {
	t.Helper()
	s := sources{
		packages: map[string]map[string]bool{}, members: map[string]map[string]bool{}, anything: map[string]bool{},
		imports: map[string]bool{}, literals: map[string]bool{},
	}
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "devtools"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go"):
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			return err
		}
		for _, i := range f.Imports {
			if p, _ := strconv.Unquote(i.Path.Value); strings.Contains(strings.Split(p, "/")[0], ".") {
				s.imports[p] = true
			}
		}
		if !strings.HasSuffix(name, "_test.go") {
			s.add(f)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.packages) < len(layers)-1 || len(s.imports) == 0 {
		t.Fatalf("only %d packages and %d imports were found", len(s.packages), len(s.imports))
	}
	return s
}

func (s sources) add(f *ast.File) {
	if s.packages[f.Name.Name] == nil {
		s.packages[f.Name.Name] = map[string]bool{}
	}
	top := s.packages[f.Name.Name]
	declare := func(name string) { top[name], s.anything[name] = true, true }
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				declare(d.Name.Name)
			} else {
				s.member(receiver(d.Recv.List[0].Type), d.Name.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.ValueSpec:
					for _, n := range spec.Names {
						declare(n.Name)
					}
				case *ast.TypeSpec:
					declare(spec.Name.Name)
					s.fields(spec.Name.Name, spec.Type)
				}
			}
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if text, err := strconv.Unquote(lit.Value); err == nil {
				s.literals[text] = true
			}
		}
		return true
	})
}

func (s sources) fields(name string, of ast.Expr) {
	var list *ast.FieldList
	switch of := of.(type) {
	case *ast.StructType:
		list = of.Fields
	case *ast.InterfaceType:
		list = of.Methods
	default:
		s.member(name, "")
		return
	}
	s.member(name, "")
	for _, field := range list.List {
		for _, n := range field.Names {
			s.member(name, n.Name)
		}
	}
}

func (s sources) member(of, name string) {
	if s.members[of] == nil {
		s.members[of] = map[string]bool{}
	}
	s.members[of][name] = true
	s.anything[name] = true
}

func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// has says whether a dotted name is one of ours: package.Name, package.Type.Member or Type.Member.
func (s sources) has(parts []string) bool {
	if top, ok := s.packages[parts[0]]; ok && top[parts[1]] {
		return len(parts) == 2 || s.members[parts[1]][parts[2]]
	}
	return len(parts) == 2 && s.members[parts[0]][parts[1]]
}

var (
	pathLike   = regexp.MustCompile(`^\.?[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9._-]+)*/?$`)
	dottedName = regexp.MustCompile(`^[A-Za-z_]\w*(\.[A-Za-z_]\w*){1,2}(\(\))?$`)
	camelCase  = regexp.MustCompile(`^[A-Z][a-z0-9]+[A-Z]\w*$`)

	// fileNames have a point in them and are no dotted names of Go.
	fileNames = regexp.MustCompile(`\.(json|db|md|go|mod|sum|yml|tmpl|txt|sql|sh|env)$`)
)

// elsewhere are the beginnings of paths that are not in the repository: in a run directory, in a workspace.
var elsewhere = []string{"runs", "runs/", ".flower", ".flower/", "scripts/", "artifacts/", "notes/", "spill/", "archive/", "subagents/"}

// notOurs are names that documents say of other things.
var notOurs = map[string]bool{
	"lineage.json": true, "manifest.json": true, "sessions.db": true, "INDEX.md": true, ".env": true, ".gitignore": true,
	"WebSearch": true, "mcp.json": true, ".mcp.json": true,
}

// TestDocumentsNameWhatExists checks paths, identifiers and links.
func TestDocumentsNameWhatExists(t *testing.T) {
	s := readSources(t)
	for _, name := range documents {
		p := readPage(t, name)
		seen := 0
		p.spans(func(line int, text string) {
			seen++
			if why := s.wrong(text); why != "" {
				t.Errorf("%s:%d: `%s` %s", name, line, text, why)
			}
		})
		if seen == 0 {
			t.Errorf("%s names nothing: is it still read?", name)
		}
		p.checkLinks(t)
	}
}

// wrong says what is wrong with a span of code, "" if nothing is.
func (s sources) wrong(text string) string {
	if notOurs[text] || slices.ContainsFunc(elsewhere, func(e string) bool {
		return text == e || strings.HasSuffix(e, "/") && strings.HasPrefix(text, e)
	}) {
		return ""
	}
	isPath := pathLike.MatchString(text) && (strings.Contains(text, "/") || fileNames.MatchString(text))
	switch {
	case isPath && (s.outside(text) || exists(text)):
	case isPath && exists("internal/"+text):
		return "stands in internal/"
	case isPath:
		return "is no path of the repository"
	case dottedName.MatchString(text):
		if !s.has(strings.Split(strings.TrimSuffix(text, "()"), ".")) {
			return "is declared nowhere"
		}
	case camelCase.MatchString(text):
		if !s.anything[text] {
			return "is declared nowhere"
		}
	}
	return ""
}

// outside says whether a path is that of a package elsewhere: of another module, or of the standard library.
func (s sources) outside(p string) bool {
	if first, _, ok := strings.Cut(p, "/"); ok && strings.Contains(first[1:], ".") {
		return true
	}
	info, err := os.Stat(filepath.Join(goRoot(), "src", filepath.FromSlash(p)))
	return err == nil && info.IsDir()
}

// goRoot is where the standard library lies, also for a test that was built with paths left out.
var goRoot = sync.OnceValue(func() string {
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return build.Default.GOROOT
	}
	return strings.TrimSpace(string(out))
})

func exists(name string) bool {
	_, err := os.Stat(filepath.FromSlash(name))
	return err == nil
}

var link = regexp.MustCompile(`\[[^\]]+\]\(([^)\s]+)\)`)

func (p page) checkLinks(t *testing.T) {
	t.Helper()
	for i, line := range p.lines {
		for _, m := range link.FindAllStringSubmatch(line, -1) {
			target, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			if target = path.Join(path.Dir(p.name), target); m[1][0] == '#' {
				target = p.name
			}
			if !exists(target) {
				t.Errorf("%s:%d: the link to %s leads nowhere", p.name, i+1, m[1])
			} else if anchor != "" && !slices.Contains(readPage(t, target).anchors(), anchor) {
				t.Errorf("%s:%d: %s has no heading for #%s", p.name, i+1, target, anchor)
			}
		}
	}
}

// anchors are the names by which headings can be linked to.
func (p page) anchors() []string {
	var names []string
	for _, line := range p.lines {
		title := strings.TrimLeft(line, "#")
		if title == line || !strings.HasPrefix(title, " ") {
			continue
		}
		names = append(names, strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
				return unicode.ToLower(r)
			}
			return -1
		}, strings.TrimSpace(title)))
	}
	return names
}

// TestDocumentsCheckIsAwake tries the check above on names that are wrong.
func TestDocumentsCheckIsAwake(t *testing.T) {
	s := readSources(t)
	for _, bad := range []string{
		"agent/motor.go", "internal/clii", "motor.go", "cli/exit.go", "agent.Motor", "Engine.Stop", "flower.Starter.Ask",
		"agent.Engine.Stop", "StepWorking", "nowhere.Load", "conversation.settles()",
	} {
		if s.wrong(bad) == "" {
			t.Errorf("%q passes for right", bad)
		}
	}
	for _, good := range []string{
		"agent/engine.go", "internal/cli", "docs/", "agent.Engine", "Engine.Run", "flower.Step.Gate", "conversation.settle()",
		"StepWork", "go/parser", "github.com/google/uuid", "runs/lineage.json", "lineage.json", "go test ./...", "ok",
	} {
		if why := s.wrong(good); why != "" {
			t.Errorf("%q %s", good, why)
		}
	}
}

// TestDesignKnowsTheLayers compares the table of layers with the one that is enforced.
func TestDesignKnowsTheLayers(t *testing.T) {
	said := map[string]int{}
	for _, row := range readPage(t, "docs/design.md").tables("layer") {
		n, err := strconv.Atoi(row[0])
		if err != nil {
			t.Fatalf("layer %q: %v", row[0], err)
		}
		name := "flower/" + code(row[1])
		if code(row[1]) == "flower" {
			name = "flower"
		}
		said[name] = n
	}
	for name, layer := range layers {
		if got, ok := said[name]; !ok || got != layer {
			t.Errorf("docs/design.md has %s in layer %d (there: %v), it is in %d", name, got, ok, layer)
		}
		delete(said, name)
	}
	for name := range said {
		t.Errorf("docs/design.md has the package %s, which is in no layer", name)
	}
}

// TestDesignKnowsTheDependencies compares the table of modules with go.mod and with what is imported.
func TestDesignKnowsTheDependencies(t *testing.T) {
	var modules, direct []string
	for line := range strings.Lines(readText(t, "go.mod")) {
		fields := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "require "))
		if len(fields) < 2 || !strings.Contains(fields[0], ".") {
			continue
		}
		modules = append(modules, fields[0])
		if !strings.Contains(line, "// indirect") {
			direct = append(direct, fields[0])
		}
	}
	s := readSources(t)
	for imported := range s.imports {
		of := ""
		for _, m := range modules {
			if (imported == m || strings.HasPrefix(imported, m+"/")) && len(m) > len(of) {
				of = m
			}
		}
		if of == "" {
			t.Errorf("%s is imported and in no module of go.mod", imported)
		} else if !slices.Contains(direct, of) {
			direct = append(direct, of)
		}
	}
	var said []string
	for _, row := range readPage(t, "docs/design.md").tables("module") {
		if len(row) == 3 {
			said = append(said, code(row[0]))
		}
	}
	for _, m := range direct {
		if !slices.Contains(said, m) {
			t.Errorf("docs/design.md does not say why %s is there", m)
		}
	}
	for _, m := range said {
		if !slices.Contains(direct, m) {
			t.Errorf("docs/design.md says why %s is there, but nothing imports it", m)
		}
	}
}

// TestReadmeCommands checks that the two commands that do everything are the ones that are tried before a change lands.
func TestReadmeCommands(t *testing.T) {
	readme, ci := readText(t, "README.md"), readText(t, ".ci/run")
	for _, command := range []string{"go run ./cmd/flower demo", "go test ./..."} {
		if !strings.Contains(readme, "\n"+command+"\n") {
			t.Errorf("README.md has no line %q", command)
		}
	}
	if !strings.Contains(ci, "\ngo test ./...\n") || !strings.Contains(ci, `"$bin/flower" demo`) {
		t.Error(".ci/run does not call the commands of the README")
	}
}

// TestDocumentsAreTidy keeps paths of one machine and blanks at the ends of lines out.
func TestDocumentsAreTidy(t *testing.T) {
	for _, name := range documents {
		for i, line := range bytes.Split([]byte(readText(t, name)), []byte("\n")) {
			if bytes.Contains(line, []byte("/root/")) || bytes.HasSuffix(line, []byte(" ")) {
				t.Errorf("%s:%d: a path of one machine, or a blank at the end", name, i+1)
			}
		}
	}
}

// flag is one flag as the code declares it.
type flag struct{ name, short string }

// declared reads flags and exit codes out of the command line's code.
func declared(t *testing.T) (flags []flag, exits []string, commands []string) {
	t.Helper()
	kinds := regexp.MustCompile(`^(String|StringSlice|StringArray|Bool|Int|Float64|Duration|)(Var)?(P)?$`)
	files, err := filepath.Glob("internal/cli/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("internal/cli: %v, %v", files, err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				sel, ok := n.Fun.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				kind := kinds.FindStringSubmatch(sel.Sel.Name)
				if kind == nil || len(n.Args) < 3 {
					return true
				}
				args := n.Args
				if kind[2] != "" {
					args = args[1:]
				}
				fl := flag{name: literal(args[0])}
				if kind[3] != "" {
					fl.short = literal(args[1])
				}
				if fl.name != "" {
					flags = append(flags, fl)
				}
			case *ast.ValueSpec:
				for i, id := range n.Names {
					if strings.HasPrefix(id.Name, "exit") && i < len(n.Values) {
						if lit, ok := n.Values[i].(*ast.BasicLit); ok && lit.Kind == token.INT {
							exits = append(exits, lit.Value)
						}
					}
				}
			case *ast.KeyValueExpr:
				if id, ok := n.Key.(*ast.Ident); ok && id.Name == "Use" {
					if use := strings.Fields(literal(n.Value)); len(use) > 0 && use[0] != "flower" && use[0] != "\x1f" {
						commands = append(commands, use[0])
					}
				}
			}
			return true
		})
	}
	return flags, exits, commands
}

// literal is the text of a string literal, or of the first one of a sum of strings; "" for anything else.
func literal(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		s, _ := strconv.Unquote(e.Value)
		return s
	case *ast.BinaryExpr:
		return literal(e.X)
	}
	return ""
}

// TestCommandLinePage compares docs/cli.md with the code: flags, commands, exit codes, variables of the environment.
func TestCommandLinePage(t *testing.T) {
	p := readPage(t, "docs/cli.md")
	flags, exits, commands := declared(t)
	if len(flags) == 0 || len(exits) == 0 || len(commands) == 0 {
		t.Fatalf("found %d flags, %d exit codes, %d commands", len(flags), len(exits), len(commands))
	}
	var inTable []string
	for _, row := range p.tables("flag") {
		inTable = append(inTable, row[0])
	}
	for _, f := range flags {
		want := "`--" + f.name + "`"
		if f.short != "" {
			want = "`-" + f.short + "`, " + want
		}
		if !slices.Contains(inTable, want) {
			t.Errorf("docs/cli.md has no row for the flag %s", want)
		}
	}
	long := regexp.MustCompile("--([a-z-]+)")
	for _, cell := range inTable {
		m := long.FindStringSubmatch(cell)
		if m == nil || !slices.ContainsFunc(flags, func(f flag) bool { return f.name == m[1] }) && m[1] != "help" && m[1] != "version" {
			t.Errorf("docs/cli.md has a row for %s, which is no flag", cell)
		}
	}

	var codes []string
	for _, row := range p.tables("exit code") {
		codes = append(codes, row[0])
	}
	slices.Sort(codes)
	slices.Sort(exits)
	if !slices.Equal(codes, exits) {
		t.Errorf("docs/cli.md has the exit codes %v, the code %v", codes, exits)
	}

	var names []string
	for _, row := range p.tables("command") {
		names = append(names, strings.Fields(code(row[0]) + " -")[1:]...) // of a command of a command both words
	}
	for _, c := range commands {
		if !slices.Contains(names, c) {
			t.Errorf("docs/cli.md has no row for the command %s", c)
		}
	}

	s := readSources(t)
	variables := p.tables("variable")
	if len(variables) == 0 {
		t.Error("docs/cli.md has no table of variables")
	}
	for _, row := range variables {
		if !s.literals[code(row[0])] {
			t.Errorf("docs/cli.md has the variable %s, which no code reads", row[0])
		}
	}
}
