package tools

import (
	"regexp/syntax"
	"strings"
)

// needle is a text that stands in everything an expression matches, so that most of what does not match is passed over
// without the expression. The zero value is none.
type needle struct {
	text string // in lower case if fold is set
	fold bool   // in any case; then text is ASCII
}

// needleOf finds the longest one in one line of an expression.
func needleOf(expr string) needle {
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return needle{}
	}
	return longest(re.Simplify())
}

func longest(re *syntax.Regexp) (best needle) {
	switch re.Op {
	case syntax.OpLiteral:
		text := string(re.Rune)
		fold := re.Flags&syntax.FoldCase != 0
		// A foreign byte counts as U+FFFD in an expression.
		if strings.ContainsAny(text, "\n\uFFFD") || fold && !isASCII(text) {
			return needle{}
		}
		if fold {
			text = strings.ToLower(text)
		}
		return needle{text, fold}
	case syntax.OpCapture, syntax.OpPlus:
		return longest(re.Sub[0])
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			if n := longest(sub); len(n.text) > len(best.text) {
				best = n
			}
		}
	default: // nothing that must stand there as it is
	}
	return best
}

// hay is the body as the needle is to be looked for in it; false if there is no needle, or if characters beyond ASCII
// may be another case of its letters.
func (n needle) hay(body string) (string, bool) {
	switch {
	case n.text == "":
		return "", false
	case !n.fold:
		return body, true
	case !isASCII(body):
		return "", false
	}
	return strings.ToLower(body), true
}
