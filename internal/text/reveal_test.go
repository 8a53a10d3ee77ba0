package text

import (
	"strings"
	"testing"
	"unicode"
)

func TestReveal(t *testing.T) {
	for raw, want := range map[string]string{
		"":                                 "",
		"plain\n\ttext":                    "plain\n\ttext",
		"日本語 ✅ e\u0301":                    "日本語 ✅ e\u0301",
		"delete user\u202etxt.exe":         "delete user<U+202E>txt.exe",
		"ad\u200bmin":                      "ad<U+200B>min",
		"pay\u200dpal":                     "pay<U+200D>pal",
		"👨\u200d👩\u200d👧":                  "👨\u200d👩\u200d👧",
		"می\u200cخواهم":                    "می\u200cخواهم",
		"\x1b[8mrm -rf\x1b[0m":             "<U+001B>[8mrm -rf<U+001B>[0m",
		"good\rbad\r\nnext":                "good<U+000D>bad\nnext",
		"a\u00adb\u200ec\u2061d\U000e0041": "a<U+00AD>b<U+200E>c<U+2061>d<U+E0041>",
		"\u009b2J":                         "<U+009B>2J",
		"a\u3164b":                         "a<U+3164>b",
		"rm a\u2028rm b\u2029":             "rm a<U+2028>rm b<U+2029>",
		"a\ufe0fb\ufe00c\U000e0100":        "a<U+FE0F>b<U+FE00>c<U+E0100>",
		"葛\U000e0100\ufe00":                "葛<U+E0100><U+FE00>",
		"❤\ufe0f ☎\ufe0e 1\ufe0f\u20e3 ©\ufe0f":              "❤\ufe0f ☎\ufe0e 1\ufe0f\u20e3 ©\ufe0f",
		"❤\ufe0f\ufe0f\ufe01 1\ufe0f":                        "❤\ufe0f<U+FE0F><U+FE01> 1<U+FE0F>",
		"a\u034fb\u17b4c\u17b5d\u180be\u180ef\u180d":         "a<U+034F>b<U+17B4>c<U+17B5>d<U+180B>e<U+180E>f<U+180D>",
		"a\u115fb\u1160c\uffa0d\u061ce\u206af\U0001d173":     "a<U+115F>b<U+1160>c<U+FFA0>d<U+061C>e<U+206A>f<U+1D173>",
		"👨\u200d\u200d👩":                                     "👨<U+200D><U+200D>👩",
		"❤\ufe0f\u200d🔥 👩🏽\u200d💻":                           "❤\ufe0f\u200d🔥 👩🏽\u200d💻",
		"👨\u200dx a\ufe0f\u200d🔥 日\u200d本":                   "👨<U+200D>x a<U+FE0F><U+200D>🔥 日<U+200D>本",
		"क्\u200dष क्\u200cष क\u200dष":                       "क्\u200dष क्\u200cष क<U+200D>ष",
		"ا\u200cب س\u200dل":                                  "ا<U+200C>ب س<U+200D>ل",
		"a\u00a0b\u1680c\u2000d\u200ae\u202ff\u205fg\u2800h": "a<U+00A0>b<U+1680>c<U+2000>d<U+200A>e<U+202F>f<U+205F>g<U+2800>h",
		"全\u3000角 «\u00a0oui\u202f»":                         "全\u3000角 «\u00a0oui\u202f»",
		"\u0600١ \u06dd":                                     "\u0600١ \u06dd",
		"\xff":                                               "\uFFFD",
	} {
		got := Reveal(raw)
		if got != want {
			t.Errorf("%q: got %q, want %q", raw, got, want)
		}
		if again := Reveal(got); again != got {
			t.Errorf("%q: twice gives %q", raw, again)
		}
	}
}

// seen are format characters with a look, and the blanks of keyboards.
var seen = map[rune]bool{
	' ': true, '\u3000': true, 0x600: true, 0x601: true, 0x602: true, 0x603: true, 0x604: true, 0x605: true, 0x6dd: true, 0x70f: true,
	0x890: true, 0x891: true, 0x8e2: true, 0x110bd: true, 0x110cd: true,
}

// Nothing that is revealed is left for Sanitise to take out.
func FuzzReveal(f *testing.F) {
	for _, r := range readTable(f, "sanitise.tsv") {
		f.Add(r.cells[0])
	}
	for _, s := range []string{"❤\ufe0f\u200d🔥1\ufe0f\u20e3", "می\u200cخ क्\u200dष", "«\u00a0a\u00a0»\u2028\U000e0100"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := Reveal(s)
		if Reveal(got) != got {
			t.Errorf("%q: twice differs", s)
		}
		last := ' '
		for _, r := range got {
			if r != '\n' && r != '\t' && (r < 0x20 || r >= 0x7f && r < 0xa0 || hidden(r)) {
				t.Errorf("%q: %U is left", s, r)
			}
			if r >= 0x13430 && r <= 0x13455 { // of hieroglyphs
				continue
			}
			if unicode.In(r, unicode.Cf, unicode.Z, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) && !seen[r] {
				switch {
				case !strings.ContainsRune("\u00a0\u202f\u200c\u200d\ufe0e\ufe0f", r):
					t.Errorf("%q: %U is left", s, r)
				case r == last, last < 0x80 && !strings.ContainsRune("\u00a0\u202f\ufe0e\ufe0f", r), last == '\u200d':
					t.Errorf("%q: %U is left behind %U", s, r, last)
				}
			}
			last = r
		}
	})
}
