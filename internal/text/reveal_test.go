package text

import "testing"

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
		"\xff":                             "\uFFFD",
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

// Nothing that is revealed is left for Sanitise to take out.
func FuzzReveal(f *testing.F) {
	for _, r := range readTable(f, "sanitise.tsv") {
		f.Add(r.cells[0])
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := Reveal(s)
		if Reveal(got) != got {
			t.Errorf("%q: twice differs", s)
		}
		for _, r := range got {
			if r != '\n' && r != '\t' && (r < 0x20 || r == 0x7f || hidden(r)) {
				t.Errorf("%q: %U is left", s, r)
			}
		}
	})
}
