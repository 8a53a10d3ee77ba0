package shell

import (
	"regexp"
	"strconv"
	"strings"
)

// plainBraces is a word with one brace group of plain alternatives and nothing quoted.
var plainBraces = regexp.MustCompile(`^([A-Za-z0-9_./=*?-]*)\{([A-Za-z0-9_./*?,-]*)\}([A-Za-z0-9_./*?-]*)$`)

// plainRange is a group that counts.
var plainRange = regexp.MustCompile(`^(0|[1-9][0-9]{0,2})\.\.(0|[1-9][0-9]{0,2})$`)

// maxRange is the most words that a group may count to.
const maxRange = 100

// expandBraces returns the words that the shell makes of one with a brace expansion, so that each can be judged. ok is
// false for all but the plainest: no quotes, no nesting, no letters or steps that count, no empty word.
func expandBraces(pieces []piece) (words []string, ok bool) {
	var text strings.Builder
	for _, p := range pieces {
		if !p.live {
			return nil, false
		}
		text.WriteString(p.text)
	}
	m := plainBraces.FindStringSubmatch(text.String())
	if m == nil {
		return nil, false
	}
	before, group, after := m[1], m[2], m[3]
	alternatives := strings.Split(group, ",")
	if len(alternatives) == 1 {
		if alternatives, ok = count(group); !ok {
			return nil, false
		}
	}
	for _, a := range alternatives {
		w := before + a + after
		if w == "" {
			return nil, false
		}
		words = append(words, w)
	}
	return words, true
}

// count returns the words of a group like 1..5.
func count(group string) ([]string, bool) {
	m := plainRange.FindStringSubmatch(group)
	if m == nil {
		return nil, false
	}
	from, _ := strconv.Atoi(m[1]) // three digits at most
	to, _ := strconv.Atoi(m[2])
	step := 1
	if to < from {
		step = -1
	}
	if (to-from)*step >= maxRange {
		return nil, false
	}
	words := []string{m[1]}
	for n := from; n != to; {
		n += step
		words = append(words, strconv.Itoa(n))
	}
	return words, true
}
