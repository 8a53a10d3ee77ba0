package document

import "testing"

func TestCommandOfACheck(t *testing.T) {
	for text, want := range map[string]string{
		"`go test ./...` exits 0":                "go test ./...",
		"running ` ./greet Bob ` prints `Hello`": "./greet Bob",
		"``echo `date` `` prints today":          "echo `date`",
		"```a``` b":                              "a",
		"no command":                             "",
		"an `open one":                           "",
		"``":                                     "",
		"`` ` ``":                                "`",
		"`a``b` c":                               "a``b",
		"`":                                      "",
		"`a``":                                   "",
	} {
		if got := (Check{Text: text}).Command(); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func FuzzCommandOfACheck(f *testing.F) {
	for _, s := range []string{"`a`", "``a`b``", "`", "`a``"} {
		f.Add(s)
	}
	f.Fuzz(func(_ *testing.T, s string) { _ = (Check{Text: s}).Command() })
}
