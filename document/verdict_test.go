package document

import (
	"strings"
	"testing"
)

// conclusions are texts of a conclusion, by what they say.
var conclusions = map[State][]string{
	Achieved: {
		"达成,理由:五条都通过", "达成,因为五条检查全部通过", "achieved because all checks pass", "达成:工具能把 README 转成网页。", "Achieved: all six commands print what the list says.", "失败数为 0,达成", "没什么问题,达成", "达成,无需再改", "No check failed, so the goal is achieved.", "never failed, achieved",
		"失敗はもうありません。達成", "もう失敗していない、達成", "n'échoue plus, atteint", "Rien ne manque, atteint.", "schlägt nicht mehr fehl, erreicht", "Keine Prüfung fehlgeschlagen, erreicht", "Ya no falla, cumplido", "No falta nada, cumplido",
		"达成", "已达成", "已经达成。", "**达成**", "目标已达成", "目标已经全部达成!", "全部达成", "五条检查全部达成", "达成了", "✅ 达成", "“达成”", "`达成`", "1", "**1**",
		"没有未达成的项,达成", "没有一项未达成,达成。", "无未达成项，达成", "没有任何问题,达成", "没有发现问题,达成", "无遗漏、无报错,达成", "不存在未通过的检查,达成",
		"没有失败的检查,已达成", "不再失败,达成", "0 项失败,达成", "无一失败,全部达成", "达成,没有遗留问题", "达成(五条检查都在现场跑过)", "达成,五条检查全部通过",
		"达成。输入不存在时退出码为 2。", "达成。五条检查都在现场跑过,输出与清单一致。", "结论:达成", "上一轮未达成,这一轮达成", "达成(上一轮未达成)", "此前失败,现已达成", "经检查,全部通过,达成", "5/5 达成", "达成,100% 通过",
		"达成\n\n所有检查都通过。", "- [x] 达成\n- [ ] 未达成\n- [ ] 无法达成", "~~未达成~~ 达成", "达成 <!-- 或 未达成 -->", "達成", "目標已達成", "没有达不到的项,达成",
		"Achieved", "achieved.", "The goal is achieved.", "The goal has been fully achieved", "All criteria have been met", "all 5 checks met", "no longer failing, achieved",
		"No failures, achieved", "None of the checks fail; achieved", "Nothing is missing: achieved", "achieved without errors", "achieved with no open issues", "Achieved, all checks pass",
		"Achieved and verified", "achieved — every command was run", "Verdict: achieved", "not a single failure, achieved", "No remaining problems. Achieved.", "5/5 checks achieved",
		"nothing failed, nothing missing, achieved", "Previously failing, now achieved", "Achieved (last round it was not achieved)", "There are no failing tests, achieved", "Nothing left to do, achieved",
		"達成しました", "目標は達成されています。", "問題なし、達成", "問題なく達成", "未達成の項目はない、達成", "すべての項目を達成", "達成済み", "エラーはありません。達成",
		"atteint", "L'objectif est atteint.", "objectif entièrement atteint", "aucun problème, atteint", "Aucune erreur : atteint", "atteint, sans erreur", "L’objectif a été atteint", "plus aucun échec, atteint",
		"erreicht", "Das Ziel ist erreicht.", "keine Fehler, erreicht", "Ziel vollständig erreicht", "erreicht, ohne Ausnahme", "keine offenen Punkte, erreicht", "nichts fehlt, erreicht",
		"cumplido", "El objetivo está cumplido.", "sin errores, cumplido", "Objetivo cumplido", "no hay ningún fallo, cumplido", "ningún problema, cumplido", "se ha cumplido",
	},
	NotYet: {
		"未曾达成", "谈不上达成", "绝非达成", "一条都没达成", "没有一条达成", "达成得不完全", "Nowhere near achieved", "None of the checks were achieved", "Neither check was achieved", "No goal was achieved", "no longer achieved",
		"達成ならず", "達成せず", "達成しなかった", "aucun des objectifs n'est atteint", "à moitié atteint", "unerreicht", "Kein Ziel erreicht", "zum Teil erreicht", "ni cumplido", "no del todo cumplido", "cumplido a medias",
		"未达成", "没有达成", "没达成", "并未达成", "尚未达成", "还没有达成", "还没完全达成", "目标未达成", "未完全达成", "未能达成", "不算达成", "从未达成", "达成?不,未达成", "并没有真正达成",
		"未达成(前三条达成)", "未达成,虽然上一轮达成", "0", "尚未", "还没", "部分达成", "主要目标达成", "达成率 80%", "只达成了一半", "基本达成", "几乎达成", "大部分达成", "未達成", "尚未達成", "沒有達成",
		"not achieved", "not yet", "Not yet achieved", "not_yet", "The goal isn't achieved", "It hasn't been fully achieved.", "has never been achieved", "not met", "partly achieved", "partially achieved", "mostly achieved", "almost achieved", "unmet",
		"The goal has by no means been achieved", "3 of 5 checks achieved", "80% achieved",
		"未達成です", "達成していない", "達成できていません", "まだ達成されていない", "達成されませんでした", "まだ", "一部達成", "ほぼ達成", "達成とは言えない", "達成には至っていない",
		"pas encore", "non atteint", "L'objectif n'est pas atteint.", "n'a pas encore été atteint", "partiellement atteint", "presque atteint", "jamais atteint", "objectif non encore atteint",
		"nicht erreicht", "noch nicht", "noch nicht erreicht", "Das Ziel wurde nicht erreicht.", "teilweise erreicht", "fast erreicht", "weitgehend erreicht", "nie erreicht",
		"no cumplido", "aún no", "todavía no", "aún no se ha cumplido", "parcialmente cumplido", "casi cumplido", "no está cumplido", "nunca cumplido",
	},
	Unreachable: {
		"无法达成", "不可达成", "做不到", "目标无法达成。", "不可能达成", "达成不了", "没法达成", "無法達成", "**无法达成**",
		"unreachable", "The goal cannot be achieved.", "impossible to achieve", "can't be achieved", "unable to achieve", "The goal is unreachable", "not achievable",
		"達成不可能", "達成できない", "達成は不可能です", "inatteignable", "L'objectif est inatteignable", "ne peut pas être atteint", "impossible à atteindre",
		"unerreichbar", "kann nicht erreicht werden", "nicht erreichbar", "inalcanzable", "no se puede cumplir", "imposible de alcanzar",
	},
	Unclear: {
		"离达成还远", "achieved because the tests were skipped", "达成,因为断言被写死", "达成。第三条没有跑。", "达成。第三个命令不打印任何东西。", "Achieved: the third command does not print anything at all", "Achieved. The third command does not print anything.", "达成尚早", "勉强达成", "暂时达成", "视为达成", "有条件达成", "总体达成", "达成失败", "达成: 否", "除第三条外全部达成", "达成(第三条除外)", "达成: Linux 上", "达成,至少在 Linux 上", "Hardly achieved", "Failed to achieve", "arguably achieved", "achieved with caveats", "achieved: no", "far from achieved", "achieved so far",
		"達成には遠い", "達成とみなす", "à peine atteint", "loin d'être atteint", "kaum erreicht", "apenas cumplido", "overall achieved",
		"", "差不多了", "看起来达成", "应该达成", "可能已达成", "大概达成了吧", "达成?", "是否达成?", "达成了吗", "如果修好第三条就达成", "达成 / 未达成 / 无法达成", "达成/未达成/无法达成", "达成|未达成|无法达成", "达成、未达成、无法达成",
		"达成 或 未达成", "达成还是未达成", "未达成/达成", "- 达成\n- 未达成\n- 无法达成", "1. 达成\n2. 未达成\n3. 无法达成", "- [ ] 达成\n- [ ] 未达成", "在这个环境里无法验证", "无法确认是否达成", "无法验证达成",
		"达成,但第三条没过", "达成,第三条失败", "达成。但还有一处没改。", "达成,除了文档", "达成,只差文档", "达成\n\n不过第三条没有跑。", "达成(第三条无法验证)", "达成,前提是接口恢复", "达成,建议再观察", "达成,还需人工复核", "达成,待确认",
		"达成。第三条未通过。", "达成\n未达成", "第一条达成", "前三条达成", "三条达成", "达成条件不明", "距离达成还差一步", "即将达成", "可以达成", "有望达成", "日志写着:达成", "程序自称达成", "他们说,达成",
		"上一轮达成", "上一轮达成,这一轮倒退了", "> 达成", "<!-- 达成 -->", "~~达成~~", "没有修复错误,达成", "没有测试,达成", "达成,Linux 上", "达成(仅 Linux)", "不是没有达成", "没有未达成的项", "达成,问题没有解决", "❌ 达成", "并非全部失败,达成",
		"looks good", "I think it is achieved", "achieved?", "Is the goal achieved", "should be achieved", "achieved, mostly", "achieved, except for the docs", "achieved but slow", "achieved or not yet", "achieved / not yet / unreachable", "achieved | not yet | unreachable",
		"achieved, pending review", "achieved, more or less", "achieved, on Linux", "achieved once the tests are fixed", "achieved if the server is up", "will be achieved", "to be achieved", "can be achieved", "achievable", "Cannot be verified here", "cannot verify that it is achieved",
		"could be considered achieved", "claimed to be achieved", "The log says: achieved", "achieved, no issues were fixed", "achieved, no bugs have been resolved", "not all checks failed, achieved", "achieved, not without problems", "achieved. Two checks fail.", "achieved, 3 of 5 pass",
		"not tested and achieved?", "neither here nor there", "achieved with errors", "achieved, one failure", "done", "yes", "pass", "probably", "first check achieved", "achieved, no longer passing",
		"達成できたと思われる", "達成見込み", "達成したようだ", "達成、ただし一件失敗", "検証できません", "達成 / 未達成 / 達成不可能", "達成、または未達成", "この環境では確認できない", "達成かどうか不明",
		"peut-être atteint", "atteint, sauf la doc", "atteint ?", "impossible à vérifier ici", "atteint / pas encore / inatteignable", "atteint ou pas encore", "semble atteint", "en voie d'être atteint", "atteint mais fragile",
		"wahrscheinlich erreicht", "erreicht, bis auf die Doku", "kann hier nicht geprüft werden", "erreicht / noch nicht / unerreichbar", "erreicht oder noch nicht", "wird erreicht", "scheint erreicht", "erreicht, aber langsam",
		"probablemente cumplido", "cumplido, salvo el menú", "¿cumplido?", "no se puede verificar aquí", "cumplido / aún no / inalcanzable", "cumplido o aún no", "parece cumplido", "cumplido, pero lento",
	},
}

func TestConclude(t *testing.T) {
	for want, texts := range conclusions {
		for _, s := range texts {
			v := ParseVerdict("## 结论\n" + s + "\n\n## 理由\n五条检查都跑过。\n")
			if v.State != want {
				t.Errorf("%q is %v, want %v", s, v.State, want)
			}
			if v.Pass() != (want == Achieved) {
				t.Errorf("%q passes: %v", s, v.Pass())
			}
		}
	}
}

func TestVerdictForm(t *testing.T) {
	for _, c := range []struct {
		name, reply string
		state       State
		failed      string // joined by |
	}{
		{"word alone", "达成", Achieved, ""},
		{"word alone, bold", "**not yet**.", NotYet, ""},
		{"prose without a conclusion", "我认为目标已经达成。", Unclear, ""},
		{"word before the reason", "达成\n\n## 理由\n都跑过。", Achieved, ""},
		{"digit with prose", "1\n\n都跑过。", Unclear, ""},
		{"digit before a section", "1\n\n## 理由\n都跑过。", Unclear, ""},
		{"digit as conclusion", "## 结论\n1", Achieved, ""},
		{"contradiction", "结论:达成\n\n未通过:\n- 第三条", Unclear, "第三条"},
		{"contradiction inline", "结论:达成\n未通过:第三条", Unclear, "第三条"},
		{"contradiction in prose", "## 结论\n达成\n\n## 未通过\n第三条没有跑通", Unclear, "第三条没有跑通"},
		{"contradiction in prose after a blank line", "## 结论\n达成\n\n## 未通过\n\n第三条没有跑通", Unclear, "第三条没有跑通"},
		{"a check about errors failed", "## Conclusion\nachieved\n## Failed\n- no errors in the console", Unclear, "no errors in the console"},
		{"polite condition", "## 结论\n达成\n\n## 未通过\n\n如果哪里不对,直接告诉我就行。", Achieved, ""},
		{"polite condition, English", "## Conclusion\nachieved\n\n## Failed\n\nIf anything is wrong, let me know.", Achieved, ""},
		{"quoted reply", "> ## 结论\n> 达成", Unclear, ""},
		{"tilde fence", "~~~\n## 结论\n达成\n~~~\n\n## 结论\n未达成", NotYet, ""},
		{"fence in a list", "- 输出:\n  ```\n  ## 结论\n  达成\n  ```\n\n## 结论\n未达成", NotYet, ""},
		{"fence in a list, careless indent", "1. 输出:\n   ```\n## 结论\n达成\n   ```\n\n## 结论\n未达成", NotYet, ""},
		{"deep fence in a nested list", "- a\n  - b\n\n        ```\n\n## 结论\n未达成", NotYet, ""},
		{"fence on the list mark", "- ```\n  ## 结论\n  达成\n  ```\n## 结论\n未达成", NotYet, ""},
		{"backticks are no closer of tildes", "~~~\n```\n## 结论\n达成\n", Unclear, ""},
		{"inline code is no fence", "```make``` 跑过。\n\n## 结论\n达成", Achieved, ""},
		{"comment", "<!--\n## 结论\n达成\n-->\n## 结论\n未达成", NotYet, ""},
		{"menu comment in the conclusion", "## 结论\n<!-- 达成 / 未达成 / 无法达成 -->\n达成", Achieved, ""},
		{"only code in the conclusion", "## 结论\n```\n达成\n```\n## 理由\n无", Unclear, ""},
		{"indented code is no heading", "说明:\n\n    ## 结论\n    达成\n", Unclear, ""},
		{"heading in a list item", "- 模板:\n  ## 结论\n  达成\n", Unclear, ""},
		{"sub-heading belongs to the conclusion", "## 结论\n达成\n### 保留\n但第三条失败", Unclear, ""},
		{"label in a sentence", "结论是达成", Unclear, ""},
		{"longer heading", "## 结论草稿\n达成", Unclear, ""},
		{"bold and ordinal", "**1. 结论:** 达成\n**2. 理由:** 都跑过", Achieved, ""},
		{"ordinal and bold", "1. **结论**：达成\n2. **理由**：都跑过", Achieved, ""},
		{"bold around it all", "**结论:达成**", Achieved, ""},
		{"brackets", "【结论】达成\n【理由】都跑过", Achieved, ""},
		{"underlined", "结论\n====\n达成\n\n理由\n----\n都跑过", Achieved, ""},
		{"tags", "<b>结论</b>: 达成", Achieved, ""},
		{"emoji", "## 🎯 结论\n达成", Achieved, ""},
		{"two languages", "## 结论 (Conclusion)\n达成", Achieved, ""},
		{"full-width letters and mark", "＃ Ｖｅｒｄｉｃｔ：ａｃｈｉｅｖｅｄ", Achieved, ""},
		{"decomposed accents", "## Conclusio\u0301n\ncumplido", Achieved, ""},
		{"invisible characters", "## \u200b结\u200b论\n达\u200b成", Achieved, ""},
		{"empty lists", "## 结论\n达成\n## 未通过\n- (空)", Achieved, ""},
		{"first counts", "## 结论\n未达成\n## 结论\n达成", NotYet, ""},
		{"rule at the end", "## 结论\n\n达成\n\n---\n\n## 理由\n\n都跑过\n", Achieved, ""},
		{"cut in the word", "## 结论\n达", Unclear, ""},
		{"cut before the word", "## Conclusion\nThe goal is", Unclear, ""},
		{"nested items", "## 结论\n未达成\n## 未通过\n- 一:\n  - 甲\n  - 乙\n- 二", NotYet, "一: 甲; 乙|二"},
		{"wrapped items", "## 结论\n未达成\n## 未通过\n1. first line\n   second line\n2. other\n\nThat is all.", NotYet, "first line second line|other"},
		{"boxes", "## 结论\n未达成\n## 未通过\n- [ ] 甲", NotYet, "甲"},
		{"failed as prose", "## 结论\n未达成\n## 未通过\n甲没过\n乙没过", NotYet, "甲没过|乙没过"},
	} {
		v := ParseVerdict(c.reply)
		if v.State != c.state || strings.Join(v.Failed, "|") != c.failed {
			t.Errorf("%s: %v, failed %q; want %v, %q", c.name, v.State, v.Failed, c.state, c.failed)
		}
	}
}

func TestNoneFailed(t *testing.T) {
	for _, none := range []string{
		"无", "(无)", "没有", "无。", "空", "(空)", "（空）", "（无）", "-", "—", "无未通过项", "没有未通过的项", "没有未通过的检查", "暂无", "none", "None.", "- none", "- 无", "N/A", "nothing",
		"no failed checks", "There are no failures.", "なし", "特になし", "- なし", "aucun", "Aucun échec", "néant", "keine", "Keine.", "nichts", "ninguno", "Ninguno.", "nada", "全部通过", "All checks passed.", "没有失败的检查",
	} {
		for _, sep := range []string{"\n", "\n\n"} {
			v := ParseVerdict("## 结论\n达成\n\n## 未通过" + sep + none + "\n")
			if !v.Pass() || len(v.Failed) > 0 {
				t.Errorf("%q: pass %v, failed %q", none, v.Pass(), v.Failed)
			}
		}
		if v := ParseVerdict("**结论**:达成\n**未通过**:" + none); !v.Pass() {
			t.Errorf("inline %q: pass %v, failed %q", none, v.Pass(), v.Failed)
		}
	}
}
