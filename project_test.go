package flower

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestProjectKey: the short ones are counted by hand, the hashes come from another implementation of h*31+c in base 36.
func TestProjectKey(t *testing.T) {
	for _, test := range []struct{ path, key string }{
		{"/", "-"},
		{"/home/ada/shop", "-home-ada-shop"},
		{"/home/ada/my_app.v2", "-home-ada-my-app-v2"},
		{"/home/ada/A b+c", "-home-ada-A-b-c"},
		{"/home/ada/-", "-home-ada--"},
		{"/donn\u00e9es", "-donn-es"},
		{"/donne\u0301es", "-donn-es"}, // the same name as some file systems spell it
		{"/项目/a", "----a"},
		{"/😀", "---"}, // two UTF-16 units
		{"/" + strings.Repeat("a", 199), "-" + strings.Repeat("a", 199)},
		{"/" + strings.Repeat("a", 200), "-" + strings.Repeat("a", 199) + "-b6ymvl"},
		{"/" + strings.Repeat("花园", 120), strings.Repeat("-", 200) + "-y33zqp"},
		{"/" + strings.Repeat("😀", 110), strings.Repeat("-", 200) + "-kaqd5"},
		{"/home/ada/" + strings.Repeat("very-long-directory-name/", 10), "-home-ada-" + strings.Repeat("very-long-directory-name-", 10)[:190] + "-b5jvgu"},
	} {
		if got := ProjectKey(test.path); got != test.key {
			t.Errorf("%q:\n got %q\nwant %q", test.path, got, test.key)
		}
	}
}

func TestProjectKeys(t *testing.T) {
	for _, test := range []struct {
		path string
		want []string
	}{
		{"/home/ada/my_app.v2", []string{"-home-ada-my-app-v2"}},
		{"/home/ada/a b+c", []string{"-home-ada-a-b-c", "-home-ada-a b+c"}},
		{"/项目_x", []string{"----x", "-项目-x"}},
	} {
		if got := projectKeys(test.path); !slices.Equal(got, test.want) {
			t.Errorf("%q: %q, want %q", test.path, got, test.want)
		}
	}
}

// TestSymlinkedWorkspace: every way to a directory is the same workspace, with the same lineage.
func TestSymlinkedWorkspace(t *testing.T) {
	w := newWorld(t)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(w.dir, link); err != nil {
		t.Fatal(err)
	}
	first := w.must(&Workflow{Steps: []Step{step("one")}})
	w.opts = func(o *RuntimeOptions) { o.Workspace = link + "/." }
	second := w.must(&Workflow{Steps: []Step{step("one")}})
	if second.Woke != 2 || second.Sessions["one"] != first.Sessions["one"] || w.rt.Workspace() != w.dir {
		t.Errorf("wake %d in %s: %v, before %v", second.Woke, w.rt.Workspace(), second.Sessions, first.Sessions)
	}
	if got := WakeState(link, w.runs); got.Woke != 2 || len(got.Problems) != 0 {
		t.Errorf("%+v", got)
	}
	t.Chdir(link)
	if got, err := ResolveWorkspace(""); err != nil || got != w.dir {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := ResolveWorkspace(filepath.Join(link, "missing")); err == nil {
		t.Error("no error")
	}
}
