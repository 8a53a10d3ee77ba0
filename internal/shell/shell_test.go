package shell

import (
	_ "embed"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"mvdan.cc/sh/v3/syntax"
)

//go:embed testdata/ephemeral.tsv
var ephemeralTSV string

type row struct {
	kind, command, why string
	want               bool
}

// table reads testdata/ephemeral.tsv.
func table(tb testing.TB) []row {
	tb.Helper()
	var rows []row
	kind, header := "", true
	for n, line := range strings.Split(strings.TrimSuffix(ephemeralTSV, "\n"), "\n") {
		if k, ok := strings.CutPrefix(line, "# kind: "); ok {
			kind = k
		}
		if strings.HasPrefix(line, "#") {
			continue
		}
		if header {
			header = false
			continue
		}
		cells := strings.Split(line, "\t")
		if len(cells) != 3 {
			tb.Fatalf("line %d has %d cells", n+1, len(cells))
		}
		want, err := strconv.ParseBool(cells[1])
		if err != nil {
			tb.Fatalf("line %d: %v", n+1, err)
		}
		rows = append(rows, row{kind, cell(tb, cells[0]), cells[2], want})
	}
	return rows
}

// cell undoes the escapes of the table.
func cell(tb testing.TB, s string) string {
	tb.Helper()
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		i++
		digits := 0
		switch s[i] {
		case '\\':
			b.WriteByte('\\')
		case 'n':
			b.WriteByte('\n')
		case 't':
			b.WriteByte('\t')
		case 'r':
			b.WriteByte('\r')
		case '0':
			b.WriteByte(0)
		case 'x':
			digits = 2
		case 'u':
			digits = 4
		default:
			tb.Fatalf("unknown escape in %q", s)
		}
		if digits > 0 {
			n, err := strconv.ParseUint(s[i+1:i+1+digits], 16, 32)
			if err != nil {
				tb.Fatal(err)
			}
			b.WriteRune(rune(n))
			i += digits
		}
	}
	return b.String()
}

func TestEphemeral(t *testing.T) {
	rows := table(t)
	if len(rows) < 400 {
		t.Fatalf("the table has only %d rows", len(rows))
	}
	for i, r := range rows {
		t.Run(fmt.Sprintf("%03d %s", i, r.kind), func(t *testing.T) { expect(t, r.command, r.want) })
	}
}

// expect checks the judgement of a line, and that a refusal has a fit reason.
func expect(t *testing.T, command string, want bool) {
	t.Helper()
	ok, why := Explain(command)
	if ok != want || Ephemeral(command) != want {
		t.Errorf("Explain(%q) = %v, %q; want %v", command, ok, why, want)
	}
	if ok != (why == "") {
		t.Errorf("Explain(%q) = %v with the reason %q", command, ok, why)
	}
	if strings.ContainsFunc(why, unicode.IsControl) || len(why) > 300 {
		t.Errorf("Explain(%q) gives a reason unfit for one line: %q", command, why)
	}
}

func TestExplain(t *testing.T) {
	for _, c := range []struct{ command, word string }{
		{"rm -rf x", `"rm"`},
		{"git push", `"push"`},
		{"sort -o x", `"-o"`},
		{"ls > out", `"out"`},
		{"PATH=. ls", "assignment"},
		{"echo $(ls)", "substitution"},
		{"sort *.txt", "./"},
		{"ls &", "background"},
		{"for f in a; do ls; done", "loop"},
		{"cat /dev/zero", "never end"},
		{"ls \"", "not valid bash"},
		{strings.Repeat("a", maxLine+1), "longer"},
		{"ls \xff", "UTF-8"},
	} {
		ok, why := Explain(c.command)
		if ok || !strings.Contains(why, c.word) {
			t.Errorf("Explain(%q) = %v, %q; want a reason with %q", c.command, ok, why, c.word)
		}
	}
}

func TestDirs(t *testing.T) {
	for command, want := range map[string]string{
		"ls":                                  "",
		"cd sub && git status":                "sub",
		"cd /a && git status":                 "/a",
		"cd a && cd b && git status":          "a b a/b",
		"(cd a && git log); cd ../b && ls":    "a ../b b",
		"cd x && rm y":                        "",
		"cd a && cd ../c && cd /d && git log": "a ../c c /d",
		"git -C a log; ls":                    "a",
		"cd a && git -C b -P -C /c log":       "a b a/b /c",
	} {
		if got := strings.Join(Dirs(command), " "); got != want {
			t.Errorf("%s: %q, want %q", command, got, want)
		}
	}
}

// neverFlags are arguments that no accepted call of a program may have, whatever else stands there. The word after -e is
// a text, and behind -- there are no flags.
var neverFlags = map[string]*regexp.Regexp{
	"git":  regexp.MustCompile(`^(-O|--(output|ext-diff|textconv|paginate|exec-path|git-dir|work-tree|config-env|show-signature|open-files-in-pager|edit|delete|unset|add)(=.*)?)$`),
	"sort": regexp.MustCompile(`^(-o|-T|--o|--c.*prog|--files0)`),
	"sed":  regexp.MustCompile(`^(-i|-f|-n[if]|--in|--fi)`),
	"awk":  regexp.MustCompile(`^(-[fEilodp]|--.)`),
	"gawk": regexp.MustCompile(`^(-[fEilodp]|--.)`),
	"tail": regexp.MustCompile(`^(-[fF]|--f|--retry|--pid)`),
	"find": regexp.MustCompile(`^-(exec|ok|delete|fprint|fls|files0)`),
	"rg":   regexp.MustCompile(`^(-z|--pre$|--pre=|--hostname-bin|--search-zip)`),
	"fd":   regexp.MustCompile(`^(-x|-X|-l|--exec|--list)`),
	"tree": regexp.MustCompile(`^(-o|-R|--output|--fromfile)`),
	"date": regexp.MustCompile(`^(-s|-f|--s|--f)`),
}

// noNeverFlags checks the words of one call.
func noNeverFlags(t *testing.T, words []word) {
	t.Helper()
	never := neverFlags[words[0].text]
	if never == nil {
		return
	}
	for i, w := range words[1:] {
		before := words[i].text
		if w.text == "--" {
			return
		}
		if value := before == "-e" || findTests[before] == 1 || before == "-d" || before == "-C" || before == "--date"; !value && never.MatchString(w.text) {
			t.Fatalf("accepted %q for %s", w.text, words[0].text)
		}
	}
}

// FuzzEphemeral checks on accepted lines, with a tree of its own, that every program
// is on the list and nothing is written, and asks bash what it makes of the line.
func FuzzEphemeral(f *testing.F) {
	o := newOracle(f)
	for _, r := range table(f) {
		f.Add(r.command)
	}
	for _, c := range lines(acceptedList + refusedList) {
		f.Add(c)
	}
	f.Fuzz(func(t *testing.T, command string) {
		ok, why := Explain(command)
		if ok != (why == "") {
			t.Fatalf("%v with the reason %q", ok, why)
		}
		hardened := Harden(command)
		if !ok {
			if hardened != command {
				t.Fatalf("a refused line was changed to %q", hardened)
			}
			return
		}
		if len(hardened) <= maxLine && !Ephemeral(hardened) {
			t.Fatalf("hardening made %q of an accepted line, which is refused", hardened)
		}
		file, err := syntax.NewParser().Parse(strings.NewReader(command), "")
		if err != nil {
			t.Fatalf("accepted, but: %v", err)
		}
		syntax.Walk(file, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.CallExpr:
				words, reason := evalArguments(n)
				if reason != "" || programs[words[0].text] == nil {
					t.Fatalf("accepted the program %v", words)
				}
				noNeverFlags(t, words)
			case *syntax.Assign:
				if !regexp.MustCompile(`^(LANG|LC_[A-Z]+|TZ|NO_COLOR|CLICOLOR|COLUMNS|TERM|(GIT_)?PAGER|GIT_OPTIONAL_LOCKS|GIT_TERMINAL_PROMPT)$`).MatchString(n.Name.Value) {
					t.Fatalf("accepted an assignment to %s", n.Name.Value)
				}
			case *syntax.CmdSubst, *syntax.ProcSubst, *syntax.ArithmExp, *syntax.FuncDecl:
				t.Fatalf("accepted a %T", n)
			case *syntax.Redirect:
				target, _ := evalWord(n.Word)
				input := n.Op == syntax.RdrIn
				copies := n.Op == syntax.DplOut && (isDigits(target.text) || target.text == "-")
				if !input && !copies && target.text != "/dev/null" {
					t.Fatalf("accepted a redirection to %q", target.text)
				}
			}
			return true
		})
		o.check(t, command)
	})
}

func BenchmarkEphemeral(b *testing.B) {
	rows := table(b)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		Ephemeral(rows[n%len(rows)].command)
		n++
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "lines/s")
}
