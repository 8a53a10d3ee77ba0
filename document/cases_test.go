package document

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// want is the expected parse of a reply; a key that is absent is not judged.
type want struct {
	Complete     *bool           `json:"complete"`
	Missing      *[]string       `json:"missing"`
	Sections     map[string]text `json:"sections"`
	Statement    *text           `json:"statement"`
	Checks       *[]string       `json:"checks"`
	CheckCount   *int            `json:"check_count"`
	Unverifiable *[]int          `json:"unverifiable"`
	Pass         *bool           `json:"pass"`
	State        *string         `json:"state"`
	Reason       *text           `json:"reason"`
	Failed       *[]string       `json:"failed"`
	Anywhere     []string        `json:"anywhere"`
}

type text struct {
	Text  *string  `json:"text"`
	Has   []string `json:"has"`
	Lacks []string `json:"lacks"`
}

// squeeze removes what does not count in a comparison.
func squeeze(s string) string {
	var lines []string
	for line := range strings.Lines(strings.ReplaceAll(s, "\r\n", "\n")) {
		if line = strings.TrimRight(line, " \t\n"); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

func (w text) check(t *testing.T, name, got string) {
	t.Helper()
	got = squeeze(got)
	if w.Text != nil && got != squeeze(*w.Text) {
		t.Errorf("%s = %q, want %q", name, got, squeeze(*w.Text))
	}
	for _, s := range w.Has {
		if !strings.Contains(got, squeeze(s)) {
			t.Errorf("%s = %q lacks %q", name, got, s)
		}
	}
	for _, s := range w.Lacks {
		if strings.Contains(got, squeeze(s)) {
			t.Errorf("%s = %q holds %q", name, got, s)
		}
	}
}

func equal[T any](t *testing.T, name string, got T, want *T) {
	t.Helper()
	if want != nil && !reflect.DeepEqual(got, *want) {
		t.Errorf("%s = %#v, want %#v", name, got, *want)
	}
}

func list[T any](s []T) []T { return append([]T{}, s...) }

func readCases(tb testing.TB, kind string) map[string]string {
	tb.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", kind, "*.md"))
	if err != nil || len(paths) < 15 {
		tb.Fatalf("cases of %s: %d, %v", kind, len(paths), err)
	}
	m := map[string]string{}
	for _, p := range paths {
		raw, err := os.ReadFile(p)
		if err != nil {
			tb.Fatal(err)
		}
		m[p] = string(raw)
	}
	return m
}

func TestCases(t *testing.T) {
	for _, kind := range []string{"brief", "goal", "verdict", "handoff"} {
		for path, reply := range readCases(t, kind) {
			t.Run(filepath.ToSlash(strings.TrimSuffix(path, ".md")), func(t *testing.T) {
				raw, err := os.ReadFile(strings.TrimSuffix(path, ".md") + ".json")
				if err != nil {
					t.Fatal(err)
				}
				var w want
				if err := json.Unmarshal(raw, &w); err != nil {
					t.Fatal(err)
				}
				checkCase(t, kind, reply, w)
			})
		}
	}
}

func checkCase(t *testing.T, kind, reply string, w want) {
	var whole string
	sections := map[string]string{}
	switch kind {
	case "brief":
		b := ParseBrief(reply)
		for _, s := range b.sections() {
			sections[s[0]] = s[1]
		}
		equal(t, "missing", list(b.Missing()), w.Missing)
		equal(t, "complete", b.Complete(), w.Complete)
		whole = b.PromptBlock()
	case "handoff":
		h := ParseHandoff(reply)
		for _, s := range h.sections() {
			sections[s[0]] = s[1]
		}
		equal(t, "missing", list(h.Missing()), w.Missing)
		equal(t, "complete", h.Complete(), w.Complete)
		whole = h.PromptBlock()
	case "goal":
		g := ParseGoal(reply)
		checks, marked := []string{}, []int{}
		for i, c := range g.Checks {
			checks = append(checks, c.Text)
			if c.Unverifiable {
				marked = append(marked, i)
			}
		}
		if w.Statement != nil {
			w.Statement.check(t, "statement", g.Statement)
		}
		equal(t, "checks", checks, w.Checks)
		equal(t, "check count", len(checks), w.CheckCount)
		equal(t, "unverifiable", marked, w.Unverifiable)
		equal(t, "missing", list(g.Missing()), w.Missing)
		equal(t, "complete", g.Complete(), w.Complete)
		whole = g.PromptBlock()
	case "verdict":
		v := ParseVerdict(reply)
		equal(t, "pass", v.Pass(), w.Pass)
		equal(t, "state", v.State.String(), w.State)
		equal(t, "failed", list(v.Failed), w.Failed)
		if w.Reason != nil {
			w.Reason.check(t, "reason", v.Reason)
		}
		whole = v.Markdown()
	}
	for name, s := range w.Sections {
		s.check(t, name, sections[name])
	}
	for _, s := range w.Anywhere {
		if !strings.Contains(whole, s) {
			t.Errorf("%q is lost in %q", s, whole)
		}
	}
}
