package messages

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// The figures in the texts of an overflow that are the most tokens an endpoint takes, not how many there were.
var statedWindows = sync.OnceValue(func() []*regexp.Regexp {
	const n = `(\d[\d,_]*)`
	return []*regexp.Regexp{
		regexp.MustCompile(`> ?` + n),
		regexp.MustCompile(`max(?:imum)?[ _-](?:context|input|prompt)[ _-](?:length|size|window|tokens)\D{0,12}` + n),
		regexp.MustCompile(`context[ _-]?(?:window|length|size|limit)(?: is| of)?(?: only)?:? \(?` + n),
		regexp.MustCompile(n + `[ -]?tokens? (?:maximum|limit|context|window)`),
		regexp.MustCompile(`上下文(?:长度|窗口)?\D{0,8}` + n),
	}
})

// statedWindow is the context window, in tokens, that the text of an overflow names; 0 if it names none.
func statedWindow(text string) int {
	text = strings.ToLower(text)
	for _, p := range statedWindows() {
		m := p.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		n, err := strconv.Atoi(strings.NewReplacer(",", "", "_", "").Replace(m[1]))
		if err == nil && n >= 1_000 && n <= 100*million {
			return n
		}
	}
	return 0
}
