package ignore

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestMatch(t *testing.T) {
	for _, row := range []struct {
		list, path string
		dir        bool
		want       Verdict
	}{
		{"", "a", false, Silent},
		{"# a\n\n", "# a", false, Silent},
		{`\#a`, "#a", false, Ignored},
		{"a", "a", false, Ignored},
		{"a", "b/a", false, Ignored},
		{"a", "ab", false, Silent},
		{"/a", "a", false, Ignored},
		{"/a", "b/a", false, Silent},
		{"a/", "a", false, Silent},
		{"a/", "b/a", true, Ignored},
		{"a/b", "a/b", false, Ignored},
		{"a/b", "c/a/b", false, Silent},
		{"*.o", "x/y.o", false, Ignored},
		{"*.o\n!y.o", "x/y.o", false, Kept},
		{"!y.o\n*.o", "x/y.o", false, Ignored},
		{`\!a`, "!a", false, Ignored},
		{"a  ", "a", false, Ignored},
		{"a\\ ", "a ", false, Ignored},
		{"a\t", "a", false, Silent},
		{"a\r\nb\r\n", "a", false, Ignored},
		{"\uFEFFa", "a", false, Ignored},
		{"build/*.log", "build/a.log", false, Ignored},
		{"build/*.log", "build/x/a.log", false, Silent},
		{"a/*", "a/b", true, Ignored},
		{"a/**", "a/b/c", false, Ignored},
		{"a/**", "a", true, Silent},
		{"**/a", "a", false, Ignored},
		{"**/a/b", "x/y/a/b", false, Ignored},
		{"a/**/b", "a/b", false, Ignored},
		{"a/**/b", "a/x/y/b", false, Ignored},
		{"a/**b", "a/xb", false, Ignored},
		{"a/**b", "a/x/b", false, Silent},
		{"x**/b", "x/a/b", false, Ignored},
		{"x*y**/b", "x1y/a/b", false, Silent},
		{"***/a", "a", false, Ignored},
		{"a?c", "abc", false, Ignored},
		{"x/a?c", "x/a/c", false, Silent},
		{"[a-c]x", "bx", false, Ignored},
		{"[!a-c]x", "bx", false, Silent},
		{"[^a-c]x", "dx", false, Ignored},
		{"[]a]", "]", false, Ignored},
		{"[a", "[a", false, Silent},
		{"[a", "a", false, Silent},
		{"[z-ab]", "b", false, Ignored},
		{"[z-a]", "z", false, Ignored},
		{"[z-a]", "y", false, Silent},
		{"[[:none:]b]", "b", false, Silent},
		{"[[:digit:]]", "7", false, Ignored},
		{"x/[.-0]y", "x//y", false, Silent},
		{`a\*b`, "a*b", false, Ignored},
		{`a\*b`, "axb", false, Silent},
		{`a\`, "a", false, Silent},
		{"{a,b}", "a", false, Silent},
		{"{a,b}", "{a,b}", false, Ignored},
		{"日*", "日本", false, Ignored},
		{"/", "a", true, Silent},
		{"!", "a", true, Silent},
	} {
		if got := Parse(row.list).Match(row.path, row.dir); got != row.want {
			t.Errorf("%q of %q (directory: %v) is %d, want %d", row.list, row.path, row.dir, got, row.want)
		}
	}
	if !Parse("# nothing\n").Empty() || Parse("a").Empty() {
		t.Error("a list without rules is not empty, or one with a rule is")
	}
}

// FuzzMatch asks git the same. A path is a file in at most two directories.
func FuzzMatch(f *testing.F) {
	for _, list := range []string{
		"a", "/a\n!a", "*.o\n!x.o", "a/", "a/b", "**/b", "a/**", "a/**/c", "a*b?c", "[a-c]", "[!a]x", `\#`, "a ", "a\\ ", "[[:alpha:]]*", "***", "a**b/c", "[z-a]", "[a-", `[\]]`, "x\\", "!!a", "//a", "a//",
		"**/", "/**", "/**/a", "**/**/a", "*/", "/*\n!/a", "[[:punct:]]a", "[[:bad:]]", "[a-[:digit:]]",
	} {
		f.Add(list, "a/b/c")
		f.Add(list, "a")
		f.Add(list, "x.o")
	}
	git, err := exec.LookPath("git")
	if err != nil {
		f.Skip("git is not installed; the table above needs none")
	}
	dir := f.TempDir()
	run := func(t testing.TB, in string, args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), git, args...)
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(in)
		cmd.Env = []string{"HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_LITERAL_PATHSPECS=1", "PATH=" + os.Getenv("PATH")}
		var out bytes.Buffer
		cmd.Stdout = &out
		err := cmd.Run()
		return out.String(), err
	}
	if _, err := run(f, "", "init", "-q"); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, list, path string) {
		names := strings.Split(path, "/")
		if len(list) > 60 || len(path) > 40 || len(names) > 3 || !plain(list+path) || strings.ContainsAny(path, "\n\\\"") {
			return
		}
		for _, name := range names {
			if name == "" || strings.HasPrefix(name, ".") {
				return
			}
		}
		if err := os.WriteFile(filepath.Join(dir, ".gitignore"), []byte(list), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := run(t, path+"\x00", "check-ignore", "--no-index", "--stdin", "-q", "-z")
		var exit *exec.ExitError
		if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
			t.Skip(err) // a path that git does not take
		}
		want, got, l := err == nil, false, Parse(list)
		for i := range names {
			got = got || l.Match(strings.Join(names[:i+1], "/"), i+1 < len(names)) == Ignored
		}
		if got != want {
			t.Errorf("%q of %q: ignored is %v, git says %v", list, path, got, want)
		}
	})
}

// plain leaves out what git compares byte by byte.
func plain(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf || r < ' ' && r != '\n' }) < 0
}
