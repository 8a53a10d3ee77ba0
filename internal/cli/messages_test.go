package cli

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"flower/document"
	"flower/internal/text"
	"flower/tools"
)

var messageID = regexp.MustCompile(`^[a-z]+(\.[a-z_]+)*$`)

// TestMessagesExist finds the ids in the source: each must be in the catalogue, and the catalogue must hold nothing that
// is not said. The words of other strings that look like ids are told apart by their first part.
func TestMessagesExist(t *testing.T) {
	data, err := os.ReadFile("../text/catalogue/en.json")
	if err != nil {
		t.Fatal(err)
	}
	var catalogue map[string]json.RawMessage
	if err := json.Unmarshal(data, &catalogue); err != nil {
		t.Fatal(err)
	}
	groups := map[string]bool{}
	for id := range catalogue {
		if group, _, ok := strings.Cut(id, "."); ok {
			groups[group] = true
		}
	}
	used := map[string]bool{}
	for _, s := range []document.State{document.Achieved, document.NotYet, document.Unreachable, document.Unclear} {
		used["judged."+s.String()], used["verdict."+s.String()] = true, true // made from the state
	}
	for _, harm := range strings.Fields("deletes git hidden idle sends system waits writes") { // what package shell calls them
		used["unfit."+harm] = true
	}
	for _, r := range tools.Reasons {
		used["denied."+string(r)] = true
	}
	for s := range literals(t) {
		group, _, dotted := strings.Cut(s, ".")
		if dotted && messageID.MatchString(s) && groups[group] {
			used[s] = true
		} else if _, ok := catalogue[s]; ok {
			used[s] = true
		}
	}
	for id := range used {
		if _, ok := catalogue[id]; !ok {
			t.Errorf("the catalogue lacks %s", id)
		}
	}
	for id := range catalogue {
		if !used[id] {
			t.Errorf("nobody says %s", id)
		}
	}
}

// literals are the string literals of the sources that speak to people.
func literals(t *testing.T) map[string]bool {
	t.Helper()
	var files []string
	for _, pattern := range []string{"*.go", "../tui/*.go"} {
		some, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, some...)
	}
	found := map[string]bool{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if s, err := strconv.Unquote(lit.Value); err == nil {
					found[s] = true
				}
			}
			return true
		})
	}
	return found
}

// A message that no catalogue has is written between double brackets; nothing that is printed may hold one.
func noMissing(t *testing.T, printed string) {
	t.Helper()
	if i := strings.Index(printed, "[["); i >= 0 {
		t.Errorf("a message is missing: %.40s", printed[i:])
	}
	for _, lang := range text.Languages() {
		if strings.Contains(printed, "<no value>") {
			t.Errorf("%s: a message lacks a value", lang)
		}
	}
}
