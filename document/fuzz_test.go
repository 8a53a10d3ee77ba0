package document

import (
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func seed(f *testing.F, kind string) {
	for _, reply := range readCases(f, kind) {
		f.Add(reply)
	}
	for _, s := range hostile(200) {
		f.Add(s)
	}
}

// hostile are inputs made of what the parsers look for, n times.
func hostile(n int) map[string]string {
	m := map[string]string{"bytes": strings.Repeat("\xff\x00\n", n), "escape": "目标: ## 边界\n===\n1. 边界\n    - a\n         ```\n- ```\n  ## 边界\n"}
	for _, s := range []string{
		"#", "# ", "## 目标\n", "**", "*", "_", "- ", "1. ", "> ", "```\n", "~~~\n~~~\n", "<!--", "<!-- -->\n", "[", "[此环境无法验证:", "[此环境无法验证:]", "]", "(", "达成", "未", "没有", "not ", "achieved, ", "/", ":", "目标:", "结论:达成\n", "- a\n  - b\n",
		"\t", " ", "\r", "～", "é", "e\u0301", "\u0301", "1/", "9", "5/5 ", "~~", "~~a", "【", "<b>", "(已修改)\n", "## 唤醒时追加(1)\n", "---\n", "- - - ", "I", "一", "①", "\n", "- 无\n", "无", "`", "達", "a: ", "   ", "。", "上一轮(", "issue", "n't ",
	} {
		m[s] = strings.Repeat(s, n)
		m["sections "+s] = "## 目标\n" + m[s] + "\n## 判定清单\n- " + m[s] + "\n## 结论\n" + m[s] + "\n## 未通过\n" + m[s]
	}
	return m
}

func valid(t *testing.T, texts ...string) {
	t.Helper()
	for _, s := range texts {
		if !utf8.ValidString(s) || strings.ContainsRune(s, 0) {
			t.Fatalf("not valid text: %q", s)
		}
	}
}

func same(t *testing.T, from string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("parsed again:\n%#v\nwas\n%#v\nthrough\n%q", got, want, from)
	}
}

func FuzzBrief(f *testing.F) {
	seed(f, "brief")
	f.Fuzz(func(t *testing.T, s string) {
		b := ParseBrief(s)
		md := b.Markdown()
		valid(t, md, b.PromptBlock())
		same(t, md, ParseBrief(md), b)
		same(t, b.PromptBlock(), ParseBrief(b.PromptBlock()), b)
		// A remark never changes the sections, whatever it holds.
		const file = "## 目标\n甲\n## 验收标准\n(未填)\n- 乙\n  ```"
		for _, pair := range [][2]string{{file, s}, {s, "说一句"}} {
			out, _ := AppendToBrief(pair[0], AddedRunning, "01:02:03", pair[1])
			after := ParseBrief(out)
			same(t, out, after.sections(), ParseBrief(pair[0]).sections())
			if again, changed := AppendToBrief(out, AddedRunning, "01:02:03", pair[1]); changed {
				t.Fatalf("added twice: %q", again)
			}
		}
	})
}

func FuzzGoal(f *testing.F) {
	seed(f, "goal")
	f.Fuzz(func(t *testing.T, s string) {
		g := ParseGoal(s)
		md := g.Markdown()
		valid(t, md)
		same(t, md, ParseGoal(md), g)
		for _, c := range g.Checks {
			if c.Text == "" || strings.Contains(c.String(), "\n") {
				t.Fatalf("check %q", c.Text)
			}
		}
	})
}

func FuzzVerdict(f *testing.F) {
	seed(f, "verdict")
	for _, texts := range conclusions {
		for _, s := range texts {
			f.Add("## 结论\n" + s)
		}
	}
	f.Fuzz(func(t *testing.T, s string) {
		v := ParseVerdict(s)
		md := v.Markdown()
		valid(t, md)
		same(t, md, ParseVerdict(md), v)
		if v.Pass() {
			for _, not := range []string{"未达成", "not yet", "无法达成"} {
				if ParseVerdict("## 结论\n" + not + "\n" + s).Pass() {
					t.Fatalf("passes after %q: %q", not, s)
				}
			}
		}
	})
}

func FuzzHandoff(f *testing.F) {
	seed(f, "handoff")
	f.Fuzz(func(t *testing.T, s string) {
		h := ParseHandoff(s)
		md := h.Markdown(s)
		valid(t, md, h.PromptBlock())
		same(t, md, ParseHandoff(md), h)
	})
}

// TestLinear parses long runs of everything the parsers look for. The limit is
// far above what linear code needs and far below what anything else does.
func TestLinear(t *testing.T) {
	const limit = 10 * time.Second
	for name, s := range hostile(5000) {
		s = strings.Repeat(s, 1+100_000/len(s))
		start := time.Now()
		b := ParseBrief(s)
		_ = b.Markdown()
		_, _ = AppendToBrief(s, AddedAtWake, "1", s)
		_ = ParseGoal(s).Markdown()
		_ = ParseVerdict(s).Markdown()
		_ = ParseHandoff(s).Markdown("x")
		if d := time.Since(start); d > limit {
			t.Errorf("%q took %v", name, d)
		} else if d > time.Second {
			t.Logf("%q took %v for %d bytes", name, d, len(s))
		}
	}
}

func BenchmarkParse(b *testing.B) {
	var reply strings.Builder
	for reply.Len() < 1<<20 {
		reply.WriteString("五条检查里的一条,输出与清单一致,`make` exits with 0.\n- an item of a list\n\n```go\nfunc f() {}\n```\n\n")
	}
	body := reply.String()
	for name, parse := range map[string]func(string){
		"brief":   func(s string) { ParseBrief("## 目标\n" + s + "\n## 边界\nx\n") },
		"goal":    func(s string) { ParseGoal("# 目标\ng\n# 判定清单\n" + s) },
		"verdict": func(s string) { ParseVerdict("## 结论\n" + s) },
		"handoff": func(s string) { ParseHandoff("## 现在在做什么\n" + s + "\n## 下一步\nx\n") },
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				parse(body)
			}
		})
	}
}
