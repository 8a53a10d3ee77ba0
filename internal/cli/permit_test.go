package cli

import (
	"slices"
	"strings"
	"testing"

	"flower"
	"flower/internal/text"
)

// A yes and a no of every language are understood, and those of English everywhere; no word is both.
func TestPermitWords(t *testing.T) {
	own := map[text.Lang][2]string{"de": {"ja", "nein"}, "es": {"sí", "no"}, "fr": {"oui", "non"}, "ja": {"はい", "いいえ"}, "zh": {"是", "否"}, "en": {"yes", "no"}}
	for _, lang := range text.Languages() {
		say := text.NewPrinter(lang)
		yes, no := strings.Fields(say.Say("permit.yes")), strings.Fields(say.Say("permit.no"))
		for _, word := range []string{"y", "yes", own[lang][0]} {
			if !slices.Contains(yes, word) {
				t.Errorf("%s: %s is no yes", lang, word)
			}
		}
		for _, word := range []string{"n", "no", own[lang][1]} {
			if !slices.Contains(no, word) {
				t.Errorf("%s: %s is no no", lang, word)
			}
		}
		if slices.ContainsFunc(yes, func(s string) bool { return slices.Contains(no, s) }) {
			t.Errorf("%s: %v and %v", lang, yes, no)
		}
	}
}

// The hint under a question about a call has a time as people say it.
func TestPermitHint(t *testing.T) {
	o := &onceRun{app: &app{Printer: text.NewPrinter("en")}}
	o.timeout = 300
	if got := o.questionHint(flower.Question{}); !strings.Contains(got, "5m)") && !strings.Contains(got, "5m ") || strings.Contains(got, "5m00s") {
		t.Errorf("%q", got)
	}
}

// Another shell than those there are completions for is answered by their names.
func TestCompletionShells(t *testing.T) {
	for _, lang := range text.Languages() {
		var out, errs strings.Builder
		code := Main([]string{"completion", "tcsh"}, []string{"FLOWER_LANG=" + string(lang)}, Stdio{Out: &out, Err: &errs}, Options{Dir: t.TempDir()})
		for _, want := range []string{"bash", "zsh", "fish", "powershell", "tcsh"} {
			if code != exitUsage || !strings.Contains(errs.String(), want) {
				t.Errorf("%s: %d %s", lang, code, errs.String())
			}
		}
	}
}
