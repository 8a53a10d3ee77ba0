package tools

import "strings"

// mostSpellings bounds the patterns that the braces of one are taken apart into. What is beyond them is still matched, but
// not entered where it would be passed by.
const mostSpellings = 256

// spelledOut are the names that a pattern of Glob, or of Grep's glob, asks for by writing them: the parts of its paths, in
// each of the alternatives that braces give. A pattern that excludes asks for nothing.
func spelledOut(pattern string) []string {
	if strings.HasPrefix(pattern, "!") {
		return nil
	}
	var names []string
	for _, p := range withoutBraces(pattern, mostSpellings) {
		for _, part := range strings.Split(p, "/") {
			names = append(names, unescaped(part))
		}
	}
	return names
}

// withoutBraces are the patterns that one with braces stands for, at most so many.
func withoutBraces(pattern string, most int) []string {
	open, alternatives, end := firstBraces(pattern)
	if alternatives == nil {
		return []string{pattern}
	}
	var all []string
	for _, a := range alternatives {
		if len(all) == most {
			break
		}
		all = append(all, withoutBraces(pattern[:open]+a+pattern[end:], most-len(all))...)
	}
	return all
}

// firstBraces finds the first pair of braces, what stands in it between commas, and where it ends; nil if there is none.
func firstBraces(pattern string) (open int, alternatives []string, end int) {
	depth, from, class := 0, 0, false
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '\\':
			i++
		case class:
			class = c != ']'
		case c == '[':
			class = true
		case c == '{':
			if depth++; depth == 1 {
				open, from = i, i+1
			}
		case c == ',' && depth == 1:
			alternatives, from = append(alternatives, pattern[from:i]), i+1
		case c == '}' && depth > 0:
			if depth--; depth == 0 {
				return open, append(alternatives, pattern[from:i]), i + 1
			}
		}
	}
	return 0, nil, 0
}

// unescaped is a part of a path as it is meant where it holds no wildcards.
func unescaped(name string) string {
	var out strings.Builder
	for i := 0; i < len(name); i++ {
		if name[i] == '\\' && i+1 < len(name) {
			i++
		}
		out.WriteByte(name[i])
	}
	return out.String()
}
