package flower

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/template/parse"

	"flower/agent"
	"flower/document"
)

// variants are all data with which the code renders each message. A message that is not named here has no data.
var variants = func() map[string][]map[string]any {
	failed := []any{[]string(nil), []string{"it prints HH:MM", "<b>&"}}
	texts := []any{"", "Some words.\nAnd more <b>&amp;."}
	some := texts[1:]
	return map[string][]map[string]any{
		"clarify.start":      every("Ask", some),
		"clarify.resume":     every("Ask", texts),
		"clarify.incomplete": every("Missing", some),
		"goal.start":         every("Brief", some, "Again", flags),
		"goal.incomplete":    every("Missing", some),
		"work.start":         every("Brief", some, "Goal", texts, "Place", texts),
		"work.resume":        every("Remarks", flags, "Goal", texts, "Place", texts),
		"place":              append(every("Bench", some, "Isolated", flags, "Former", []any{[]Worktree(nil), []Worktree{{Branch: "b", Path: "/w/b", Whole: true}}}), map[string]any{"Bench": "", "Isolated": true, "Former": []Worktree(nil)}),
		"work.notyet":        every("Reason", texts, "Failed", failed, "Round", []any{2}, "Rounds", []any{3}, "Unclear", flags, "Still", flags),
		"work.disagree":      every("Reason", texts, "Remark", texts),
		"work.changed":       every("Change", some, "Goal", some),
		"judge.start": every("Brief", some, "Goal", some, "Evidence", []any{[]Evidence(nil), []Evidence{
			{Command: "go test ./...", ExitCode: 1, Output: "FAIL\n<b>"}, {Command: "true", Dir: "/w/t"}, {Command: "sleep 9", ExitCode: -1, Problem: "out of time"},
		}}, "Worktrees", []any{[]Worktree(nil), []Worktree{{Branch: "b", Path: "/w/b", Whole: true}, {Branch: "c", Gone: true}}}, "Whole", texts),
		"interrupted":          every("Remark", texts, "Follows", flags),
		"index":                every("Index", some, "Bench", some),
		"note":                 every("Time", []any{"05:06:07"}, "Text", some),
		"inbox":                every("Count", []any{0, 1, 2}),
		"answer.quota":         every("Max", []any{0, 1, 20}),
		"aside":                every("Question", some, "Events", []any{[]string(nil), []string{"05:06:07 <b> one", "two"}}),
		"handoff.ask":          every("Redefined", flags),
		"handoff.incomplete":   every("Missing", some),
		"handoff.start":        every("Standing", texts, "Document", some, "Path", some, "Written", flags, "Pending", texts),
		"assembled.doing":      every("Said", texts, "Answered", texts, "Todo", failed),
		"assembled.decided":    every("Decided", texts, "Questions", texts),
		"assembled.deadends":   every("DeadEnds", texts),
		"assembled.scene":      every("Tasks", failed, "Files", failed, "Session", some),
		"language":             every("Language", []any{"German"}),
		"unreachable.question": every("Reason", texts, "Failed", failed),
	}
}()

var flags = []any{false, true}

// every returns all combinations of named values.
func every(pairs ...any) []map[string]any {
	all := []map[string]any{{}}
	for i := 0; i < len(pairs); i += 2 {
		var next []map[string]any
		for _, data := range all {
			for _, v := range pairs[i+1].([]any) {
				d := maps.Clone(data)
				d[pairs[i].(string)] = v
				next = append(next, d)
			}
		}
		all = next
	}
	return all
}

// messages are the names of all templates of a language, files of definitions left out.
func messages(lang Lang) []string {
	var names []string
	for _, t := range prompts[lang]().Templates() {
		if t.Tree != nil && !parse.IsEmptyTree(t.Root) {
			names = append(names, t.Name())
		}
	}
	slices.Sort(names)
	return names
}

func TestLanguagesSayTheSame(t *testing.T) {
	for lang := range prompts {
		equal(t, "messages of "+string(lang), messages(lang), messages(English))
	}
	if n := len(messages(English)); n < 35 {
		t.Errorf("only %d messages", n)
	}
	for name := range variants {
		if !slices.Contains(messages(English), name) {
			t.Errorf("there is no message %s", name)
		}
	}
}

func TestEveryMessageRenders(t *testing.T) {
	for lang := range prompts {
		for _, name := range messages(lang) {
			data := variants[name]
			if data == nil {
				data = []map[string]any{nil}
			}
			for _, d := range data {
				text := say(lang, name, d)
				for _, bad := range []string{"<no value>", "{{", "\n\n\n", "%!", " \n", "&lt;", "()", ":\n\n\n"} {
					if strings.Contains(text, bad) {
						t.Errorf("%s %s %v holds %q:\n%s", lang, name, d, bad, text)
					}
				}
				if text == "" || text != strings.TrimSpace(text) {
					t.Errorf("%s %s %v: %q", lang, name, d, text)
				}
				for key, v := range d { // what is told must get through
					if s, ok := v.(string); ok && s != "" && !strings.Contains(text, s) {
						t.Errorf("%s %s: %s is lost:\n%s", lang, name, key, text)
					}
				}
			}
		}
	}
	if say("fr", "answer.skipped", nil) != say(English, "answer.skipped", nil) {
		t.Error("a language without prompts does not get the English ones")
	}
}

// Who speaks another language gets roles in English that are told so, and that are the same roles.
func TestSpokenLanguages(t *testing.T) {
	roles := func(lang Lang) []agent.Spec {
		return []agent.Spec{Clarifier(lang), GoalSetter(lang, false), Coordinator(lang), Worker(lang), Judge(lang, true), Oracle(lang)}
	}
	for lang, name := range spoken {
		for _, id := range []string{"accept", "change", "wrong", "ask"} {
			if said := say(lang, "unreachable."+id, nil); said == say(English, "unreachable."+id, nil) {
				t.Errorf("%s: the person is asked in English: %s", lang, said)
			}
		}
		for i, s := range roles(lang) {
			english := roles(English)[i]
			if !strings.HasPrefix(s.Instructions, english.Instructions+"\n\n") || !strings.Contains(s.Instructions, "in "+name+" ") {
				t.Errorf("%s %s: %s", lang, s.Name, s.Instructions)
			}
			if s.Fingerprint() != english.Fingerprint() {
				t.Errorf("%s %s is another role", lang, s.Name)
			}
		}
	}
	if got := Judge("tlh", false).Instructions; got != Judge(English, false).Instructions {
		t.Errorf("a language that nobody knows: %s", got)
	}
}

// TestMessagesAreUsedAsTabled reads the calls in the code: every message is used, with the data it is rendered with above.
func TestMessagesAreUsedAsTabled(t *testing.T) {
	used := map[string]bool{}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			for i, arg := range call.Args {
				name, ok := stringOf(arg)
				if !ok {
					continue
				}
				used[name], used["unreachable."+name], used[name+".md"] = true, true, true
				if i+1 < len(call.Args) && slices.Contains(messages(English), name) {
					checkKeys(t, name, call.Args[i+1])
				}
			}
			return true
		})
	}
	for _, name := range messages(English) {
		if !used[name] && !strings.HasPrefix(name, "section.") {
			t.Errorf("message %s is not used", name)
		}
	}
}

func stringOf(e ast.Expr) (string, bool) {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	s, err := strconv.Unquote(lit.Value)
	return s, err == nil
}

// checkKeys compares the keys of a call's data with the table.
func checkKeys(t *testing.T, name string, data ast.Expr) {
	t.Helper()
	var keys, want []string
	if lit, ok := data.(*ast.CompositeLit); ok {
		for _, e := range lit.Elts {
			key, _ := stringOf(e.(*ast.KeyValueExpr).Key)
			keys = append(keys, key)
		}
	}
	if v := variants[name]; v != nil {
		want = slices.Sorted(maps.Keys(v[0]))
	}
	slices.Sort(keys)
	equal(t, "data of "+name, keys, want)
}

func TestSectionNamesAreKnown(t *testing.T) {
	for _, lang := range []Lang{English, Chinese} {
		for _, keys := range [][]string{document.Brief{}.Missing(), document.Goal{}.Missing()} {
			for _, key := range keys {
				if say(lang, "section."+key, nil) == "" {
					t.Errorf("%s: section %s has no name", lang, key)
				}
			}
		}
	}
}

// roles are all agents in one language.
func roles(lang Lang) map[string]struct{ text, marker string } {
	list := map[string]struct{ text, marker string }{}
	for name, text := range map[string]string{
		"clarifier": Clarifier(lang).Instructions, "goal setter": GoalSetter(lang, false).Instructions,
		"judge": Judge(lang, false).Instructions, "coordinator": Coordinator(lang).Instructions,
		"worker": Worker(lang).Instructions, "oracle": Oracle(lang).Instructions,
	} {
		marker := "# Role: "
		if lang == Chinese {
			marker = "# 角色:"
		}
		list[name] = struct{ text, marker string }{text, marker}
	}
	return list
}

func TestRolesAreMarked(t *testing.T) {
	for _, lang := range []Lang{English, Chinese} {
		seen := map[string]bool{}
		for name, role := range roles(lang) {
			first, rest, _ := strings.Cut(role.text, "\n")
			title, ok := strings.CutPrefix(first, role.marker)
			if !ok || seen[title] || len(rest) < 100 {
				t.Errorf("%s %s begins with %q", lang, name, first)
			}
			if lang == English && title != name {
				t.Errorf("%s is marked %q", name, title)
			}
			seen[title] = true
		}
	}
}

// TestRolesNameTheirTools: a tool in the text of a role is one that it has.
func TestRolesNameTheirTools(t *testing.T) {
	all := []string{
		toolAsk, toolInbox, toolAgent, toolTodo, toolBash, toolRead, toolWrite, toolEdit, toolNotebook, toolGlob, toolGrep, toolWebFetch, toolWebSearch,
	}
	for _, lang := range []Lang{English, Chinese} {
		coordinator := Coordinator(lang)
		if !coordinator.EphemeralShell || len(coordinator.Subagents) != 1 || coordinator.Subagents[0].Description == "" {
			t.Errorf("coordinator %+v", coordinator)
		}
		if o := Oracle(lang).Limits; o.Turns != 12 || o.CostUSD != 0.50 {
			t.Errorf("oracle's limits %+v", o)
		}
		for canRun, want := range map[bool]bool{false: false, true: true} {
			if got := slices.Contains(Judge(lang, canRun).Tools, toolBash); got != want {
				t.Errorf("judge that can run %v has a shell: %v", canRun, got)
			}
		}
		for _, s := range []struct {
			name  string
			tools []string
			text  string
		}{
			{"clarifier", Clarifier(lang).Tools, Clarifier(lang).Instructions},
			{"coordinator", coordinator.Tools, coordinator.Instructions},
			{"oracle", Oracle(lang).Tools, Oracle(lang).Instructions},
		} {
			for _, tool := range all {
				if strings.Contains(s.text, "`"+tool+"`") && !slices.Contains(s.tools, tool) {
					t.Errorf("%s %s is told of %s", lang, s.name, tool)
				}
			}
			for _, tool := range []string{toolWrite, toolEdit, toolNotebook} {
				if slices.Contains(s.tools, tool) {
					t.Errorf("%s %s has %s", lang, s.name, tool)
				}
			}
		}
	}
}

// form is the document that a role's prompt asks for: its headings, each with something under it.
func form(instructions, under string) string {
	_, asked, _ := strings.Cut(instructions[1:], "\n#") // behind the marker line
	var out strings.Builder
	for line := range strings.Lines("#" + asked) {
		if strings.HasPrefix(line, "#") {
			fmt.Fprintf(&out, "%s\n%s\n\n", strings.TrimSpace(line), under)
		}
	}
	return out.String()
}

func TestDocumentsAskedForAreRead(t *testing.T) {
	for _, lang := range []Lang{English, Chinese} {
		b := document.ParseBrief(form(Clarifier(lang).Instructions, "words"))
		if !b.Complete() || b.Rest != "" {
			t.Errorf("%s: brief %+v", lang, b)
		}
		g := document.ParseGoal(form(GoalSetter(lang, false).Instructions, "- words"))
		if !g.Complete() || g.Rest != "" || len(g.Checks) != 1 {
			t.Errorf("%s: goal %+v", lang, g)
		}
		// The words that the judge may choose from, one after the other.
		_, rest, _ := strings.Cut(Judge(lang, false).Instructions, "\n## ")
		choice := strings.Split(rest, "\n")[1]
		words := strings.FieldsFunc(choice, func(r rune) bool { return strings.ContainsRune(":：,，", r) })
		var states []document.State
		for _, word := range words {
			if word = strings.TrimSpace(word); word == "or" || word == "或者" {
				continue
			}
			reply := strings.Replace(form(Judge(lang, false).Instructions, ""), "\n\n", "\n"+word+"\n", 1)
			states = append(states, document.ParseVerdict(reply).State)
		}
		if !slices.Equal(states, []document.State{document.Achieved, document.NotYet, document.Unreachable}) {
			t.Errorf("%s: of %q the verdicts %v", lang, choice, states)
		}
		// Where the prompt shows how a check is marked that cannot be made here, the mark is understood.
		text := GoalSetter(lang, false).Instructions
		mark := text[strings.Index(text, "`["):]
		mark = strings.Trim(mark[:strings.Index(mark, "]`")+2], "`")
		g = document.ParseGoal("# Goal\nx\n# Checklist\n- it flies " + mark)
		if len(g.Checks) != 1 || !g.Checks[0].Unverifiable || g.Checks[0].Text != "it flies" {
			t.Errorf("%s: %q gives %+v", lang, mark, g.Checks)
		}
	}
}

// TestRolesAreTheSameInEveryLanguage: choosing another language must not make sessions begin anew.
func TestRolesAreTheSameInEveryLanguage(t *testing.T) {
	for name, role := range map[string]func(Lang) agent.Spec{
		"clarifier": Clarifier, "coordinator": Coordinator, "worker": Worker, "oracle": Oracle,
		"judge":       func(l Lang) agent.Spec { return Judge(l, false) },
		"goal setter": func(l Lang) agent.Spec { return GoalSetter(l, false) },
	} {
		if role(English).Fingerprint() != role(Chinese).Fingerprint() {
			t.Errorf("%s: another fingerprint in Chinese", name)
		}
	}
	if Judge(English, true).Fingerprint() == Judge(English, false).Fingerprint() {
		t.Error("commands make no difference to the judge's fingerprint")
	}
}
