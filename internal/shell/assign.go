package shell

import (
	"fmt"
	"regexp"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// harmlessAssigns are the variables that may stand before a command, with the values they may have: they choose a
// language, a time zone, or switch something off. No variable leads to a program or a file of the workspace.
var harmlessAssigns = map[string]*regexp.Regexp{
	"LANG":                regexp.MustCompile(localeValue),
	"LC_ALL":              regexp.MustCompile(localeValue),
	"LC_COLLATE":          regexp.MustCompile(localeValue),
	"LC_CTYPE":            regexp.MustCompile(localeValue),
	"LC_NUMERIC":          regexp.MustCompile(localeValue),
	"LC_TIME":             regexp.MustCompile(localeValue),
	"TZ":                  regexp.MustCompile(`^[A-Z][A-Za-z0-9_+-]*(/[A-Z][A-Za-z0-9_+-]*)*$`),
	"NO_COLOR":            regexp.MustCompile(`^1?$`),
	"CLICOLOR":            regexp.MustCompile(`^0$`),
	"COLUMNS":             regexp.MustCompile(`^[0-9]{1,4}$`),
	"TERM":                regexp.MustCompile(`^dumb$`),
	"PAGER":               regexp.MustCompile(`^(cat)?$`),
	"GIT_PAGER":           regexp.MustCompile(`^(cat)?$`),
	"GIT_OPTIONAL_LOCKS":  regexp.MustCompile(`^0$`),
	"GIT_TERMINAL_PROMPT": regexp.MustCompile(`^0$`),
}

// localeValue leaves out encodings in which a byte may mean something else to bash than to the judgement.
const localeValue = `^(C|POSIX|(C|[a-z]{2}_[A-Z]{2})\.(UTF-8|utf8))$`

// judgeAssigns judges what stands before the name of a command.
func judgeAssigns(assigns []*syntax.Assign) string {
	for _, a := range assigns {
		if a.Name == nil || a.Append || a.Naked || a.Index != nil || a.Array != nil {
			return "an assignment changes how the next command works"
		}
		var value word
		if a.Value != nil {
			var reason string
			if value, reason = evalWord(a.Value); reason != "" {
				return reason
			}
		}
		allowed := harmlessAssigns[a.Name.Value]
		if allowed == nil || value.dyn || value.glob || strings.Contains(value.text, "\n") || !allowed.MatchString(value.text) {
			return fmt.Sprintf("an assignment to %s changes how the next command works", clip(a.Name.Value))
		}
	}
	return ""
}
