package cli

import (
	"strings"
	"testing"

	"flower"
	"flower/internal/text"
)

// TestChineseIsExact compares the words that other programs and people's documents quote, letter by letter.
func TestChineseIsExact(t *testing.T) {
	var out strings.Builder
	p := newPrinter(text.NewPrinter("zh"), printOptions{screen: newScreen(&out, false), width: func() int { return 80 }})
	p.Wake("~/explore/test-ide", flower.Wake{Waking: true, Checks: 15, Woke: 2}, 80_200)
	p.Wake("~/x", flower.Wake{Woke: 0}, 0)
	p.rule(p.stepName(flower.StepWork), 3, 3, p.Say("step.resumed", text.Data{"Woke": 3}))
	want := "<- 在 ~/explore/test-ide 接上上次  需求已确认 · 目标 15 条 · 干活上下文 80.2K · 第 3 次唤醒\n" +
		"<- 在 ~/x 接上上次  第 1 次唤醒\n" +
		"== 干活 ==============================  3/3  <- 接上次 · 第 3 次唤醒\n"
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
	for id, want := range map[string]string{
		"prompt.new":   "要做什么? 一句话就够,回车开始(Ctrl-C 退出)",
		"prompt.wake":  "接着上次? 直接回车 = 接着做;也可以说点新的;/new = 重开一件事(Ctrl-C 退出)",
		"step.clarify": "确认需求", "step.goal": "设定目标", "step.work": "干活",
	} {
		if got := p.Say(id); got != want {
			t.Errorf("%s: got %s, want %s", id, got, want)
		}
	}
	if got := []string{flower.StepClarify, flower.StepGoal, flower.StepWork}; strings.Join(got, " ") != "确认需求 设定目标 干活" {
		t.Errorf("steps are called %v", got)
	}
	if got := flower.JudgeLabel(flower.StepWork, 2); got != "干活·判定#2" {
		t.Errorf("a judge is called %s", got)
	}
}
