package shell

import (
	"encoding/json"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
)

// jqValues are the flags of jq and how many words follow each.
var jqValues = map[string]int{
	"indent": 1, "arg": 2, "argjson": 2,
	"raw-output": 0, "compact-output": 0, "slurp": 0, "null-input": 0, "exit-status": 0,
	"sort-keys": 0, "color-output": 0, "monochrome-output": 0, "ascii-output": 0,
	"join-output": 0, "raw-input": 0, "tab": 0, "stream": 0, "seq": 0,
}

// jqWords are names of jq that print the environment, load code or may never end.
var jqWords = set("env ENV import include modulemeta get_search_list repeat recurse infinite while until def combinations")

// judgeJq reads jq's own flag syntax and scans the filter.
func judgeJq(args []word) string {
	filter := false
	for i := 0; i < len(args); i++ {
		w := args[i]
		// No flag of jq that does harm ends in .json, whatever stands for the star.
		if w.lead && !(filter && strings.HasSuffix(w.text, ".json")) {
			return fmt.Sprintf("a file name matching %s could be taken for a flag; write ./ before it, or quote it", clip(w.text))
		}
		switch {
		case strings.HasPrefix(w.text, "--"):
			n, ok := jqValues[w.text[2:]]
			if !ok || w.glob || w.dyn {
				return fmt.Sprintf("the flag %s is not on the list of harmless ones", clip(w.text))
			}
			if i+n >= len(args) {
				return fmt.Sprintf("the flag %s has no value", w.text)
			}
			for range n {
				if i++; args[i].glob {
					return "the value of a flag is a pattern for file names; quote it"
				}
			}
		case len(w.text) > 1 && w.text[0] == '-':
			if strings.Trim(w.text[1:], "nrscCSaejMR") != "" || w.glob {
				return fmt.Sprintf("the flag %s is not on the list of harmless ones", clip(w.text))
			}
		case !filter:
			if filter = true; w.glob || w.dyn {
				return "the filter is not a plain word"
			}
			if reason := scanJq(w.text); reason != "" {
				return reason
			}
		default:
			if reason := endless(w); reason != "" {
				return reason
			}
		}
	}
	if !filter {
		return "there is no filter"
	}
	return ""
}

// scanJq looks for the names in jqWords outside strings. A field .env is no such
// name. A string that holds \( ) holds code with strings of its own; then every
// name counts, wherever it stands.
func scanJq(s string) string {
	if !jqStays(s) {
		return "a value could grow without bound in the filter"
	}
	nested, times := strings.Contains(s, `\(`), 1
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c == '"' && !nested:
			if i = quoted(s, i); i < 0 {
				return "a string in the filter does not end"
			}
		case c == '#':
			return "the filter holds a comment"
		case isNameStart(c):
			end := nameEnd(s, i)
			field := i > 0 && s[i-1] == '.' && (i == 1 || s[i-2] != '.')
			name := s[i:end]
			if jqWords[name] && !field && !harmlessJq(s, i, end) {
				return fmt.Sprintf("the name %s of the filter is not on the list of harmless ones", name)
			}
			if !field && !jqCallEnds(name, s[end:], &times) {
				return fmt.Sprintf("what %s does in the filter need not end", name)
			}
			i = end
		default:
			i++
		}
	}
	return ""
}

// harmlessJq reports whether the name s[i:end] is the key of an object, or goes down a value instead of calling itself.
func harmlessJq(s string, i, end int) bool {
	rest := strings.TrimLeft(s[end:], " \t\n")
	if s[i:end] == "recurse" {
		return !strings.HasPrefix(rest, "(")
	}
	return strings.HasPrefix(rest, ":") && strings.HasSuffix(strings.TrimRight(s[:i], " \t\n"), "{")
}

// jqCallEnds reports whether a call of name, before rest, ends soon. times is how often the ranges of the filter go round
// together, were they all one in the other.
func jqCallEnds(name, rest string, times *int) bool {
	var args []string
	switch name {
	case "range", "sub", "gsub":
		if args = jqArguments(rest); args == nil { // a key of that name; as a call without arguments it is an error
			return !strings.HasPrefix(strings.TrimLeft(rest, " \t\n"), "(")
		}
	}
	switch name {
	case "range":
		most := 1
		for i, a := range args {
			n := strings.TrimPrefix(a, "-")
			if !small(n) || i == 2 && strings.Trim(n, "0") == "" {
				return false
			}
			v, _ := strconv.Atoi(n)
			most = max(most, v)
		}
		if len(args) > 1 && strings.HasPrefix(args[0], "-") {
			most *= 2
		}
		*times *= most
		return *times <= mostTimes
	case "gsub":
		return len(args) < 3 && neverEmpty(args[0]) || len(args) == 3 && jqFlags.MatchString(args[2]) && neverEmpty(args[0])
	case "sub": // only with the flag g it goes on
		return len(args) < 3 || jqFlags.MatchString(args[2]) && (neverEmpty(args[0]) || !strings.Contains(args[2], "g"))
	}
	return true
}

// jqFlags are flags of a pattern that do not change how it is read.
var jqFlags = regexp.MustCompile(`^"[gis]*"$`)

// jqArguments returns the arguments between the brackets at the front of s, without blanks around them, or nil when that
// is not what stands there.
func jqArguments(s string) []string {
	s = strings.TrimLeft(s, " \t\n")
	if !strings.HasPrefix(s, "(") {
		return nil
	}
	var args []string
	depth, start := 0, 1
	for i := 0; i < len(s); {
		switch s[i] {
		case '"':
			end := quoted(s, i)
			if end < 0 || strings.Contains(s[i:end], `\(`) {
				return nil
			}
			i = end
			continue
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		}
		if depth == 0 || depth == 1 && s[i] == ';' {
			args = append(args, strings.TrimSpace(s[start:i]))
			start = i + 1
		}
		if i++; depth == 0 {
			return args
		}
	}
	return nil
}

// neverEmpty reports whether a pattern, a string of a filter, finds no empty text: some versions replace such a text for
// ever. A pattern that Go does not know is taken for one that may.
func neverEmpty(literal string) bool {
	var pattern string
	if json.Unmarshal([]byte(literal), &pattern) != nil || strings.Contains(pattern, "{,") {
		return false
	}
	re, err := syntax.Parse(pattern, syntax.Perl)
	return err == nil && consumes(re)
}

// consumes reports whether what re finds is at least one character long.
func consumes(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpLiteral:
		return len(re.Rune) > 0
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return true
	case syntax.OpCapture, syntax.OpPlus:
		return consumes(re.Sub[0])
	case syntax.OpRepeat:
		return re.Min > 0 && consumes(re.Sub[0])
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			if consumes(sub) {
				return true
			}
		}
	case syntax.OpAlternate:
		for _, sub := range re.Sub {
			if !consumes(sub) {
				return false
			}
		}
		return true
	}
	return false
}

var (
	// jqNumber is a number where it says how large something becomes: behind a bracket or comma, where it may be an
	// index to fill up to, or beside a star, which repeats a text.
	jqNumber = regexp.MustCompile(`[\[,:*]\s*(\.?\d[\d.]*(?:[eE][-+]?\d+)?)|(\.?\d[\d.]*(?:[eE][-+]?\d+)?)\s*\*`)
	// jqTwice finds two values that are put together.
	jqTwice = regexp.MustCompile(`([.$][\w.$]*)\s*[+,*]\s*([.$][\w.$]*)`)
	// jqRepeated is a text beside a star.
	jqRepeated = regexp.MustCompile(`"\s*\*|\*\s*"`)
	// jqPower is a value beside a star, which in rounds repeats the text it was the round before.
	jqPower = regexp.MustCompile(`(?:^|[^\w\])"])\.\s*\*|\*\s*\.(?:[^\w\["]|$)`)
	// jqRounds are what calls its body again and again with what it made.
	jqRounds = regexp.MustCompile(`\b(reduce|foreach)\b`)
)

// maxTwice is how often a filter may put a value together with itself: each doubles it.
const maxTwice = 3

// jqStays reports whether no value of the filter becomes large by a number or by being doubled again and again.
func jqStays(s string) bool {
	times := 1
	for _, m := range jqNumber.FindAllStringSubmatch(s, -1) {
		n := m[1] + m[2]
		whole, _, _ := strings.Cut(n, ".")
		if whole != "" && !small(whole) || strings.ContainsAny(n, "eE") {
			return false
		}
		if v, _ := strconv.Atoi(whole); strings.Contains(m[0], "*") {
			if times *= max(v, 1); times > mostTimes {
				return false
			}
		}
	}
	twice := 0
	for _, m := range jqTwice.FindAllStringSubmatch(s, -1) {
		if m[1] == m[2] {
			twice++
		}
	}
	rounds := jqRounds.MatchString(s)
	return twice <= maxTwice && (!rounds || twice == 0 && !jqPower.MatchString(s)) && (!jqRepeated.MatchString(s) || !rounds && !strings.Contains(s, "range"))
}
