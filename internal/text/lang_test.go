package text

import (
	"encoding/json"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestChoose(t *testing.T) {
	tests := []struct {
		name  string
		asked string
		env   map[string]string
		want  Lang
		bad   bool
	}{
		{name: "nothing says anything", want: English},
		{name: "asked", asked: "zh", env: map[string]string{"FLOWER_LANG": "en", "LANG": "en_US.UTF-8"}, want: "zh"},
		{name: "asked as a locale", asked: "zh_CN.UTF-8", want: "zh"},
		{name: "asked for one that is not there", asked: "tlh", want: English, bad: true},
		{name: "the error is in the person's language", asked: "tlh", env: map[string]string{"LANG": "de_DE"}, want: "de", bad: true},
		{name: "FLOWER_LANG before the locale", env: map[string]string{"FLOWER_LANG": "zh", "LC_ALL": "en_GB"}, want: "zh"},
		{name: "FLOWER_LANG that is not there", env: map[string]string{"FLOWER_LANG": "xx", "LANG": "zh_TW"}, want: "zh"},
		{name: "LC_ALL before LANG", env: map[string]string{"LC_ALL": "C", "LANG": "zh_CN.UTF-8"}, want: English},
		{name: "LC_MESSAGES before LANG", env: map[string]string{"LC_MESSAGES": "zh_CN", "LANG": "de_DE"}, want: "zh"},
		{name: "LANG", env: map[string]string{"LANG": "zh_CN.UTF-8"}, want: "zh"},
		{name: "the other languages", asked: "ja", want: "ja"},
		{name: "German by the locale", env: map[string]string{"LANG": "de_AT.UTF-8@euro"}, want: "de"},
		{name: "French by LC_MESSAGES", env: map[string]string{"LC_MESSAGES": "fr_CA", "LANG": "en_US"}, want: "fr"},
		{name: "Spanish by FLOWER_LANG", env: map[string]string{"FLOWER_LANG": "es-MX", "LANG": "ja_JP.eucJP"}, want: "es"},
		{name: "a locale without a catalogue", env: map[string]string{"LANG": "tlh_KL.UTF-8"}, want: English},
		{name: "POSIX", env: map[string]string{"LANG": "POSIX"}, want: English},
	}
	for _, tt := range tests {
		got, err := Choose(tt.asked, func(name string) string { return tt.env[name] })
		var unknown *UnknownLangError
		if got != tt.want || errors.As(err, &unknown) != tt.bad {
			t.Errorf("%s: got %q, %v", tt.name, got, err)
		}
	}
}

// messages reads a catalogue: id to the forms of the message.
func messages(t *testing.T, lang Lang) map[string]map[string]string {
	t.Helper()
	data, err := catalogues.ReadFile("catalogue/" + string(lang) + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		t.Fatalf("%s: %v", lang, err)
	}
	all := map[string]map[string]string{}
	for id, value := range raw {
		var one string
		forms := map[string]string{}
		if json.Unmarshal(value, &one) == nil {
			forms["other"] = one
		} else if err := json.Unmarshal(value, &forms); err != nil {
			t.Fatalf("%s: %s: %v", lang, id, err)
		}
		all[id] = forms
	}
	return all
}

// place is what a message fills in, also where that only decides whether something is said.
var place = regexp.MustCompile(`{{(?:if )?\.(\w+)}}`)

// plurals are the forms of words beside numbers that each language has (cardinals of the Unicode CLDR).
var plurals = map[Lang][]string{
	"de": {"one", "other"}, "en": {"one", "other"}, "es": {"many", "one", "other"}, "fr": {"many", "one", "other"}, "ja": {"other"}, "zh": {"other"},
}

// places are the names a message fills in.
func places(forms map[string]string) []string {
	names := map[string]bool{}
	for _, form := range forms {
		for _, m := range place.FindAllStringSubmatch(form, -1) {
			names[m[1]] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

func TestCataloguesAreComplete(t *testing.T) {
	english := messages(t, English)
	if len(english) < 50 {
		t.Fatalf("only %d messages", len(english))
	}
	if want := []Lang{"de", "en", "es", "fr", "ja", "zh"}; !slices.Equal(Languages(), want) {
		t.Errorf("there are %v, want %v", Languages(), want)
	}
	for _, lang := range Languages() {
		other := messages(t, lang)
		for id, forms := range english {
			got, ok := other[id]
			if !ok {
				t.Errorf("%s lacks %s", lang, id)
				continue
			}
			for name, form := range got {
				if strings.TrimSpace(form) == "" {
					t.Errorf("%s: %s (%s) is empty", lang, id, name)
				}
				if Sanitise(form) != form {
					t.Errorf("%s: %s holds control characters", lang, id)
				}
			}
			// Where English has forms, so has every language, each its own; and no other message has any.
			if needs := plurals[lang]; len(forms) > 1 && !slices.Equal(slices.Sorted(maps.Keys(got)), needs) {
				t.Errorf("%s: %s has the forms %v, the language has %v", lang, id, slices.Sorted(maps.Keys(got)), needs)
			} else if len(forms) == 1 && len(got) != 1 {
				t.Errorf("%s: %s has forms, English has none", lang, id)
			}
			// "one" may leave the number out, so places are compared over all forms of a message; N may be left out.
			want, have := places(forms), places(got)
			want, have = without(want, "N"), without(have, "N")
			if !slices.Equal(want, have) {
				t.Errorf("%s: %s fills in %v, English %v", lang, id, have, want)
			}
		}
		for id := range other {
			if _, ok := english[id]; !ok {
				t.Errorf("%s has %s, which English does not have", lang, id)
			}
		}
	}
}

func without(names []string, name string) []string {
	return slices.DeleteFunc(names, func(n string) bool { return n == name })
}

// Every message is said by the library itself, in every language: a form that does not parse, or a plural that the
// language needs and the catalogue lacks, shows here.
func TestEveryMessageIsSaid(t *testing.T) {
	for _, lang := range Languages() {
		p := NewPrinter(lang)
		for id, forms := range messages(t, lang) {
			data := Data{}
			for _, name := range places(forms) {
				data[name] = "VALUE"
			}
			for _, n := range []int{0, 1, 2, 1_000_000} {
				if len(forms) > 1 || slices.Contains(places(forms), "N") {
					data["N"] = n
				}
				said := p.Say(id, data)
				if strings.Contains(said, "[[") || strings.Contains(said, "{{") || strings.Contains(said, "<no value>") || said == "" {
					t.Errorf("%s: %s is said as %q", lang, id, said)
				}
			}
		}
	}
}

func TestSay(t *testing.T) {
	if got, want := NewPrinter("zh").Say("wake.goal", Data{"N": 15}), "目标 15 条"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := NewPrinter(English).Say("wake.goal", Data{"N": 1}), "goal of 1 check"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for lang, want := range map[Lang][3]string{
		"de": {"Ziel mit 0 Prüfpunkten", "Ziel mit 1 Prüfpunkt", "Ziel mit 2 Prüfpunkten"},
		"es": {"objetivo de 0 comprobaciones", "objetivo de 1 comprobación", "objetivo de 2 comprobaciones"},
		"fr": {"objectif à 0 contrôle", "objectif à 1 contrôle", "objectif à 2 contrôles"}, // zero is singular
		"ja": {"目標 0 項目", "目標 1 項目", "目標 2 項目"},
	} {
		for n, want := range want {
			if got := NewPrinter(lang).Say("wake.goal", Data{"N": n}); got != want {
				t.Errorf("%s: got %q, want %q", lang, got, want)
			}
		}
	}
	if got, want := NewPrinter("tlh").Say("step.work"), "work"; got != want {
		t.Errorf("a language without a catalogue: got %q, want %q", got, want)
	}
	if got, want := NewPrinter("zh").Say("no.such.message"), "[[no.such.message]]"; got != want {
		t.Errorf("a message nobody has: got %q, want %q", got, want)
	}
}
