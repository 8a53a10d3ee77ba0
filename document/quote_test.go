package document

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestQuotes(t *testing.T) {
	for text, want := range map[string][]string{
		"`go test ./...` exits 0":                {"go test ./..."},
		"running ` ./greet Bob ` prints `Hello`": {"./greet Bob", "Hello"},
		"``echo `date` `` prints today":          {"echo `date`"},
		"```a``` b":                              {"a"},
		"no command":                             nil,
		"an `open one":                           nil,
		"``":                                     nil,
		"`` ` ``":                                {"`"},
		"`a``b` c":                               {"a``b"},
		"`":                                      nil,
		"`a``":                                   nil,
		"` ` and `x`":                            {"x"},
		"`greet.txt` holds hello: `grep -c hello greet.txt` x": {"greet.txt", "grep -c hello greet.txt"},
	} {
		var got []string
		for _, q := range (Check{Text: text}).Quotes() {
			got = append(got, q.Text)
		}
		if strings.Join(got, "|") != strings.Join(want, "|") {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// claimed are items and what they claim about X, the last text in back-ticks that is X.
const claimed = `runs	` + "`X`" + ` exits 0
runs	` + "`X`" + ` exits with 1 and prints no output
runs	` + "`X`" + ` prints 1
runs	` + "`X`" + ` passes
runs	` + "`X`" + ` succeeds
runs	` + "`X`" + ` fails with a message
runs	` + "`X`" + ` does not print a secret
runs	` + "`X`" + ` without arguments prints the usage
runs	` + "`X`" + ` returns exit code 2
runs	` + "`X`" + ` runs without errors
runs	` + "`X`" + ` works
runs	Running ` + "`X`" + ` prints hello
runs	run ` + "`X`" + `
runs	After running ` + "`X`" + ` there is a file
runs	1. ` + "`X`" + ` prints hello
runs	The output of ` + "`X`" + ` is hello
runs	The command ` + "`X`" + ` succeeds
runs	Without arguments, ` + "`X`" + ` prints the usage
runs	With no arguments ` + "`X`" + ` prints the usage
runs	` + "`greet.txt`" + ` holds hello: ` + "`X`" + ` prints 1
runs	` + "`greet.txt`" + ` is there (` + "`X`" + ` exits 0)
runs	The program does not crash: ` + "`X`" + ` exits 2
runs	Tests: ` + "`X`" + ` passes
runs	$ ` + "`X`" + `
runs	` + "`X`" + ` 退出码为 0
runs	` + "`X`" + ` 打印 hello
runs	` + "`X`" + ` 通过
runs	` + "`X`" + ` 成功
runs	` + "`X`" + ` 失败并给出提示
runs	` + "`X`" + ` 的输出是 1
runs	` + "`X`" + ` 没有输出,退出码 0
runs	运行 ` + "`X`" + ` 打印 hello
runs	执行 ` + "`X`" + ` 后出现文件
runs	执行命令 ` + "`X`" + `
runs	不带参数运行 ` + "`X`" + ` 打印用法
runs	文件内容正确:` + "`X`" + ` 打印 1
runs	跑 ` + "`X`" + `,全部通过
runs	` + "`X`" + ` endet mit 0
runs	` + "`X`" + ` を実行すると終了コードは 0
opens	` + "`X`" + `
opens	**` + "`X`" + `**
opens	2) ` + "`X`" + ` (all packages)
opens	` + "`X`" + ` and the file is there
opens	Tests: ` + "`X`" + `
opens	测试:` + "`X`" + `
opens	` + "`X`" + `(全部)
mentioned	No script in the workspace calls ` + "`X`" + ` without asking
mentioned	No script in the workspace runs ` + "`X`" + `
mentioned	The README mentions ` + "`X`" + `
mentioned	The README documents ` + "`X`" + ` and it works
mentioned	The README shows how ` + "`Y`" + ` replaces ` + "`X`" + `
mentioned	README.md contains ` + "`X`" + `
mentioned	` + "`X`" + ` is not called by any script
mentioned	` + "`X`" + ` is never run
mentioned	` + "`X`" + ` is called only after a question, which exits
mentioned	` + "`X`" + ` must not be run
mentioned	` + "`X`" + ` must not run before the backup succeeds
mentioned	` + "`X`" + ` is documented in the README
mentioned	` + "`X`" + ` does not appear in any script
mentioned	Do not run ` + "`X`" + `
mentioned	Never run ` + "`X`" + `
mentioned	It works without running ` + "`X`" + `
mentioned	Instead of ` + "`X`" + ` it asks first
mentioned	The program uses ` + "`Y`" + ` instead of ` + "`X`" + `
mentioned	The help text is ` + "`X`" + `
mentioned	` + "`./greet`" + ` prints ` + "`X`" + `
mentioned	The file ` + "`X`" + ` is there
mentioned	No script does this: ` + "`X`" + `
mentioned	The page has a button for ` + "`X`" + `
mentioned	There is no ` + "`X`" + ` in the code that succeeds
mentioned	It refuses ` + "`X`" + ` and prints a warning
mentioned	Nothing calls ` + "`X`" + `; the tests pass
mentioned	脚本不调用 ` + "`X`" + `
mentioned	工作区里没有脚本调用 ` + "`X`" + `
mentioned	没有任何脚本在未询问时执行 ` + "`X`" + `
mentioned	不要运行 ` + "`X`" + `
mentioned	不得执行 ` + "`X`" + `
mentioned	代码里没有 ` + "`X`" + `
mentioned	README 提到 ` + "`X`" + `
mentioned	README 里说明了 ` + "`X`" + ` 的用法
mentioned	文件包含 ` + "`X`" + `
mentioned	` + "`X`" + ` 不被任何脚本调用
mentioned	` + "`X`" + ` 没有出现在脚本里
mentioned	` + "`X`" + ` 不得在测试成功前运行
mentioned	` + "`X`" + ` 写在 README 里
mentioned	用 ` + "`Y`" + ` 而不是 ` + "`X`" + `
mentioned	` + "`./greet`" + ` 打印 ` + "`X`" + `
mentioned	Kein Skript ruft ` + "`X`" + ` auf
mentioned	Aucun script n'appelle ` + "`X`" + `
mentioned	` + "`X`" + ` を実行しない`

func TestClaims(t *testing.T) {
	names := map[Claim]string{Mentioned: "mentioned", Opens: "opens", Runs: "runs"}
	n := 0
	for row := range strings.SplitSeq(claimed, "\n") {
		want, item, _ := strings.Cut(row, "\t")
		n++
		got := "none"
		for _, q := range (Check{Text: item}).Quotes() {
			if q.Text == "X" {
				got = names[q.Claim]
			}
		}
		if got != want {
			t.Errorf("%s: %s, want %s", item, got, want)
		}
	}
	if n < 80 {
		t.Errorf("%d rows", n)
	}
	if q := (Check{Text: "`X`."}).Quotes(); !q[0].Alone {
		t.Error("an item that is nothing but a command is not alone")
	}
	if q := (Check{Text: "`X` is there"}).Quotes(); q[0].Alone {
		t.Error("an item with words is alone")
	}
}

// FuzzCommandOfACheck holds what is found against the item: every text stands in it between back-ticks, in order, and a
// text of which the item says that no script calls it is never claimed.
func FuzzCommandOfACheck(f *testing.F) {
	for _, s := range []string{"`a`", "``a`b``", "`", "`a``", "` `", "`\x00`", "`a`:`b`", "İ`a`"} {
		f.Add(s)
	}
	for row := range strings.SplitSeq(claimed, "\n") {
		_, item, _ := strings.Cut(row, "\t")
		f.Add(item)
	}
	f.Fuzz(func(t *testing.T, s string) {
		rest := s
		quotes := (Check{Text: s}).Quotes()
		for _, q := range quotes {
			at := afterTicked(rest, q.Text)
			if at < 0 || q.Text == "" {
				t.Fatalf("%q is not in %q between back-ticks", q.Text, rest)
			}
			rest = rest[at:]
		}
		if n := strings.Count(s, "`"); 2*len(quotes) > n {
			t.Fatalf("%d texts of %d back-ticks in %q", len(quotes), n, s)
		}
		if !utf8.ValidString(s) || strings.Contains(s, "`") || strings.TrimSpace(s) == "" {
			return
		}
		for _, item := range []string{"No script calls `" + s + "` without asking", "没有脚本调用 `" + s + "`", "`" + s + "` is never called", "`" + s + "` 不被调用"} {
			for _, q := range (Check{Text: item}).Quotes() {
				if q.Claim != Mentioned {
					t.Fatalf("%q claims %q", item, q.Text)
				}
			}
		}
	})
}

// afterTicked is the index after the first place where text stands in s between back-ticks and blanks, -1 if it does not.
func afterTicked(s, text string) int {
	for from := 0; ; {
		i := strings.Index(s[from:], text)
		if i < 0 {
			return -1
		}
		at := from + i
		left, right := strings.TrimRightFunc(s[:at], unicode.IsSpace), strings.TrimLeftFunc(s[at+len(text):], unicode.IsSpace)
		if strings.HasSuffix(left, "`") && strings.HasPrefix(right, "`") {
			return at + len(text)
		}
		from = at + 1
	}
}
