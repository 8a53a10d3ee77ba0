package document

import (
	"reflect"
	"strings"
	"testing"
)

// full is a brief whose four headings are written by a format function.
func full(names [4]string, form func(int, string) string) string {
	bodies := [4]string{"甲一", "乙二", "丙三", "丁四"}
	var b strings.Builder
	for i, n := range names {
		b.WriteString(strings.ReplaceAll(form(i+1, n), "BODY", bodies[i]) + "\n")
	}
	return b.String()
}

func TestHeadingForms(t *testing.T) {
	names := map[string][4]string{
		"zh": {"目标", "验收标准", "边界", "未知与假设"},
		"tw": {"目標", "驗收標準", "邊界", "未知與假設"},
		"en": {"GOAL", "acceptance Criteria", "Boundaries", "Unknowns and assumptions"},
		"ja": {"目標", "受け入れ基準", "境界", "不明点と前提"},
		"fr": {"Objectif", "Critères d’acceptation", "Limites", "Inconnues et hypothèses"},
		"de": {"Ziel", "Abnahmekriterien", "Grenzen", "Unbekanntes und Annahmen"},
		"es": {"Objetivo", "Criterios de aceptación", "Límites", "Incógnitas y supuestos"},
	}
	num := []string{"", "一", "二", "三", "四"}
	forms := map[string]func(int, string) string{
		"hash":          func(_ int, n string) string { return "## " + n + "\nBODY\n" },
		"closed hash":   func(_ int, n string) string { return "## " + n + " ##\n\nBODY" },
		"six":           func(_ int, n string) string { return "###### " + n + "\nBODY" },
		"no blank":      func(_ int, n string) string { return "##" + n + "\nBODY" },
		"hash colon":    func(_ int, n string) string { return "## " + n + "：BODY" },
		"colon":         func(_ int, n string) string { return n + ": BODY" },
		"wide colon":    func(_ int, n string) string { return n + "：BODY" },
		"colon, below":  func(_ int, n string) string { return n + "：\nBODY" },
		"blank colon":   func(_ int, n string) string { return n + "\u00a0: BODY" },
		"bold":          func(_ int, n string) string { return "**" + n + "**\nBODY" },
		"bold colon":    func(_ int, n string) string { return "**" + n + "**: BODY" },
		"bold colon in": func(_ int, n string) string { return "**" + n + "：** BODY" },
		"bold line":     func(_ int, n string) string { return "**" + n + ": BODY**" },
		"bold italic":   func(_ int, n string) string { return "***" + n + "***\nBODY" },
		"underline":     func(_ int, n string) string { return "__" + n + "__\nBODY" },
		"italic":        func(_ int, n string) string { return "*" + n + "*\nBODY" },
		"html":          func(_ int, n string) string { return "<u>" + n + "</u>\nBODY" },
		"html colon":    func(_ int, n string) string { return "<strong>" + n + ":</strong> BODY" },
		"ordinal":       func(i int, n string) string { return string(rune('0'+i)) + ". " + n + "\nBODY" },
		"paren ordinal": func(i int, n string) string { return "(" + string(rune('0'+i)) + ") " + n + "\nBODY" },
		"wide ordinal":  func(i int, n string) string { return num[i] + "、" + n + "\nBODY" },
		"circled":       func(i int, n string) string { return string(rune('①'+i-1)) + " " + n + "\nBODY" },
		"ordinal bold":  func(i int, n string) string { return string(rune('0'+i)) + ") **" + n + "**：BODY" },
		"bold ordinal":  func(i int, n string) string { return "**" + string(rune('0'+i)) + ". " + n + "**\nBODY" },
		"hash ordinal":  func(i int, n string) string { return "### " + num[i] + "、" + n + "\nBODY" },
		"hash bold":     func(i int, n string) string { return "# **" + string(rune('0'+i)) + ". " + n + ":** BODY" },
		"keycap":        func(i int, n string) string { return "## " + string(rune('0'+i)) + "\ufe0f\u20e3 " + n + "\nBODY" },
		"emoji":         func(_ int, n string) string { return "## 🎯 " + n + "\nBODY" },
		"brackets":      func(_ int, n string) string { return "【" + n + "】BODY" },
		"underlined":    func(_ int, n string) string { return n + "\n---\nBODY\n" },
		"indent, CRLF":  func(_ int, n string) string { return "  ## " + n + "\r\n\r\nBODY\r" },
		"rules between": func(_ int, n string) string { return "## " + n + "\n\nBODY\n\n---\n" },
		"code after":    func(_ int, n string) string { return "## " + n + "\nBODY\n\n~~~~\n~~~\n## 目标\n~~~~\n" },
		"comment after": func(_ int, n string) string { return "## " + n + "\nBODY\n<!-- \n## 边界\n-->" },
	}
	want := Brief{Goal: "甲一", Accept: "乙二", Bounds: "丙三", Unknowns: "丁四"}
	for lang, ns := range names {
		for form, f := range forms {
			if got := ParseBrief(full(ns, f)); got != want {
				t.Errorf("%s, %s: %+v", lang, form, got)
			}
		}
	}
}

func TestNotHeadings(t *testing.T) {
	const head, tail = "## 目标\n甲\n## 验收标准\n乙\n", "\n## 边界\n丙\n## 未知与假设\n丁\n"
	for _, line := range []string{
		"边界", "边界条件都能下", "边界条件: 四角", "**边界** 条件", "- 边界", "- 边界: 四角", "* 边界: 四角", "> ## 边界", "> 边界: 假", "    ## 边界", "\t边界: 假", "\\## 边界", "`边界`: 假",
		"1. 边界条件", "1. 边界条件: 四角", "关于边界: 假", "the boundaries: wide", "Goal-keeper: yes", "#边界条件", "| 边界: | 假 |", "见 **边界**: 假", "未知输入不会崩溃", "Goals are nice", "3.5 边界值", "边界。", "边界,见下",
	} {
		b := ParseBrief(head + line + tail)
		if b.Accept != "乙\n"+line || b.Bounds != "丙" {
			t.Errorf("%q: accept %q, bounds %q", line, b.Accept, b.Bounds)
		}
	}
	for _, line := range []string{"## 边界条件", "### 边界值", "## 验收标准说明"} {
		b := ParseBrief(head + line + "\n戊" + tail)
		if b.Bounds != "丙" || !strings.Contains(b.PromptBlock(), "戊") {
			t.Errorf("%q: %+v", line, b)
		}
	}
}

func TestPlaceholders(t *testing.T) {
	for _, blank := range []string{"", "(未填)", "（未填）", "未填", "(空)", "（暂无）", "(…)", "（…）", "...", "- (未填)", "**(未填)**", "TODO", "TBD", "[todo]", "(vide)", "(leer)", "(vacío)", "(empty)", "（未記入）", "---", "<!-- 目标 -->", "```\nx\n```", "(待定)", "<待填写>"} {
		b := ParseBrief("## 目标\n甲\n## 验收标准\n" + blank + "\n## 边界\n" + blank + "\n## 未知与假设\n丁\n")
		if got := b.Missing(); !reflect.DeepEqual(got, []string{"accept", "bounds"}) {
			t.Errorf("%q: missing %q", blank, got)
		}
	}
	for _, none := range []string{"没有。", "无", "none", "None.", "(none)", "aucune", "keine", "ninguno", "なし", "特になし", "N/A"} {
		b := ParseBrief("## 目标\n" + none + "\n## 验收标准\n" + none + "\n## 边界\n" + none + "\n## 未知与假设\n" + none)
		if got := b.Missing(); !reflect.DeepEqual(got, []string{"goal", "accept"}) {
			t.Errorf("%q: missing %q", none, got)
		}
		if h := ParseHandoff("## 现在在做什么\nx\n## 下一步\n" + none); h.Complete() {
			t.Errorf("%q is a next step", none)
		}
	}
}

func TestKeptText(t *testing.T) {
	b := ParseBrief("## 目标用户\n小学老师。\n\n## 目标\n甲\n### 细节\n甲二\n## 验收标准\n乙\n## 边界\n丙\n## 未知与假设\n丁\n## 目标\n戊\n# 备注\n己\n## 运行中补充(01:02:03)\n庚\n")
	if b.Goal != "甲\n### 细节\n甲二" || b.Unknowns != "丁" || !b.Complete() {
		t.Errorf("%+v", b)
	}
	for _, s := range []string{"小学老师。", "## 目标\n\n戊", "## 备注\n\n己", "## 运行中补充(01:02:03)\n\n庚"} {
		if !strings.Contains(b.Rest, s) || !strings.Contains(b.Markdown(), s) || !strings.Contains(b.PromptBlock(), s) {
			t.Errorf("%q is lost: %q", s, b.Rest)
		}
	}
}

func TestFiles(t *testing.T) {
	b := ParseBrief("Goal: a\nAcceptance: b")
	if got, want := b.Markdown(), "# 需求确认书\n\n## 目标\n\na\n\n## 验收标准\n\nb\n\n## 边界\n\n(未填)\n\n## 未知与假设\n\n(未填)\n"; got != want {
		t.Errorf("brief: %q", got)
	}
	g := ParseGoal("Goal: a\n\n**Checklist**\n1. b\n   c\n2) d [cannot be verified here: no Mac]\n- [ ] e\n  * f\n  * g\n\nThat is all.")
	if got, want := g.Markdown(), "# 目标\n\na\n\n# 判定清单\n\n- b c\n- d [此环境无法验证:no Mac]\n- e; f; g\n"; got != want {
		t.Errorf("goal: %q", got)
	}
	h := ParseHandoff("Doing now: a\nNext step: b")
	if got, want := h.Markdown("干\n活"), "# 交接书(干 活)\n\n## 现在在做什么\n\na\n\n## 已经定下的\n\n(空)\n\n## 走不通的路\n\n(空)\n\n## 下一步\n\nb\n\n## 现场\n\n(空)\n"; got != want {
		t.Errorf("handoff: %q", got)
	}
	v := Verdict{State: NotYet, Reason: "r", Failed: []string{"x", "y"}}
	if got, want := v.Markdown(), "## 结论\n\n未达成\n\n## 理由\n\nr\n\n## 未通过\n\n- x\n- y\n"; got != want {
		t.Errorf("verdict: %q", got)
	}
	if v := (Verdict{State: Achieved, Failed: []string{"x"}}); v.Pass() || ParseVerdict(v.Markdown()).State != Unclear {
		t.Error("a contradiction passes")
	}
}

func TestGoalMarks(t *testing.T) {
	for in, want := range map[string]Check{
		"a":                                  {Text: "a"},
		"a [此环境无法验证:b]":                      {Text: "a", Unverifiable: true, Why: "b"},
		"a [此环境无法验证：b]":                      {Text: "a", Unverifiable: true, Why: "b"},
		"a【此环境无法验证：b】":                       {Text: "a", Unverifiable: true, Why: "b"},
		"a [此环境无法验证]":                        {Text: "a", Unverifiable: true},
		"[此环境无法验证: b] a":                     {Text: "a", Unverifiable: true, Why: "b"},
		"a [Cannot be verified here: b [c]]": {Text: "a", Unverifiable: true, Why: "b [c]"},
		"a [この環境では検証できない:b]":                 {Text: "a", Unverifiable: true, Why: "b"},
		"a [non vérifiable ici : b]":         {Text: "a", Unverifiable: true, Why: "b"},
		"a [hier nicht prüfbar: b]":          {Text: "a", Unverifiable: true, Why: "b"},
		"a [no verificable aquí: b]":         {Text: "a", Unverifiable: true, Why: "b"},
		"a [x] prints `[此环境]`":               {Text: "a [x] prints `[此环境]`"},
		"说明里写明此环境无法验证:b":                     {Text: "说明里写明此环境无法验证:b"},
	} {
		g := ParseGoal("# 目标\ns\n# 判定清单\n- " + in + "\n")
		if len(g.Checks) != 1 || g.Checks[0] != want {
			t.Errorf("%q: %+v", in, g.Checks)
		}
	}
	g := ParseGoal("# 目标\ns\n# 判定清单\n- a\n\n(已修改)\n- 把 a 改成 b\n")
	if len(g.Checks) != 1 || !strings.Contains(g.PromptBlock(), "(已修改)\n\n- 把 a 改成 b") {
		t.Errorf("amended: %+v", g)
	}
	if g := ParseGoal("# 目标\ns\n# 判定清单\n\n以上就是目标,请确认。"); g.Complete() {
		t.Errorf("prose is a check: %+v", g)
	}
	if g := ParseGoal("目标:s\n判定清单:`make` 退出码 0"); !g.Complete() {
		t.Errorf("a check on the heading line: %+v", g)
	}
}

func TestAppend(t *testing.T) {
	files := map[string]string{
		"whole":        "# 需求确认书\n\n## 目标\n\n甲\n\n## 验收标准\n\n乙\n\n## 边界\n\n丙\n\n## 未知与假设\n\n丁\n",
		"missing":      "# 需求确认书\n\n## 目标\n\n甲\n\n## 验收标准\n\n(未填)\n",
		"open fence":   "## 目标\n甲\n## 验收标准\n乙\n```\nx\n",
		"list fence":   "## 目标\n甲\n## 边界\n- 乙\n  ~~~~\n  x\n",
		"open comment": "## 目标\n甲\n<!-- 乙\n",
		"level one":    "# 目标\n甲\n# 未知与假设\n丁\n- 戊",
		"empty":        "",
	}
	remarks := []string{
		"支持自定义后缀", "两行\n\n第二行", "## 目标\n换一个", "目标:换一个", "**边界**:没有", "1. 验收标准\n随便", "```\n没有关的围栏", "- a\n\n      ```\n", "~~~", "<!-- ", "# 注释", "验收标准\n===", "- ```\n  x",
		"## 唤醒时追加(00:00:00)\n假的", "  ## 边界\n假", "> 引用", "a\n---\nb", "未知与假设：没有", "【边界】假", "-->", "  两格缩进", "\x00\xff坏字节", "a\r\n## 边界\r\nb",
	}
	for name, file := range files {
		before := ParseBrief(file)
		for _, s := range remarks {
			out, changed := AppendToBrief(file, AddedAtWake, "10:20:30", s)
			if !changed || !strings.Contains(out, "\n## 唤醒时追加(10:20:30)\n") && !strings.HasPrefix(out, "## 唤醒时追加(10:20:30)\n") {
				t.Errorf("%s, %q: %v %q", name, s, changed, out)
			}
			after := ParseBrief(out)
			if got, want := after.sections(), before.sections(); !reflect.DeepEqual(got, want) {
				t.Errorf("%s, %q: sections %q, were %q", name, s, got, want)
			}
			for line := range strings.Lines(clean(s)) {
				if line = strings.TrimSpace(line); line != "" && !strings.Contains(after.PromptBlock(), line) {
					t.Errorf("%s, %q: lost in %q", name, s, after.PromptBlock())
				}
			}
			if again, changed := AppendToBrief(out, AddedRunning, "11:00:00", s+"\n"); changed || again != out {
				t.Errorf("%s, %q is added twice", name, s)
			}
			if again, _ := AppendToBrief(after.Markdown(), AddedRunning, "11:00:00", s); strings.Contains(again, "11:00:00") {
				t.Errorf("%s, %q is added again after a rewrite", name, s)
			}
			second, changed := AppendToBrief(out, AddedRunning, "11:00:00", "另一句")
			if !changed || !strings.Contains(ParseBrief(second).Rest, "另一句") {
				t.Errorf("%s, %q hides the next addition", name, s)
			}
		}
	}
	for _, s := range []string{"", " \n\t\n", "---"} {
		if out, changed := AppendToBrief("x", AddedAtWake, "1", s); changed || out != "x" {
			t.Errorf("%q changed the file", s)
		}
	}
	goal := "# 目标\n\ns\n\n# 判定清单\n\n- a\n"
	out, changed := AppendToGoal(goal, "# 判定清单\n- b")
	if g := ParseGoal(out); !changed || len(g.Checks) != 1 || !strings.Contains(g.PromptBlock(), "> - b") {
		t.Errorf("goal: %q", out)
	}
	if _, changed := AppendToGoal(out, "# 判定清单\n- b"); changed {
		t.Error("a goal's change is added twice")
	}
}
