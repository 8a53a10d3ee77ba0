package shell

import (
	"slices"
	"strings"
)

// sedCommand is one command of a script, as far as it matters for whether the script comes to an end.
type sedCommand struct {
	verb    byte
	address string // as written, without blanks
	block   int    // the index of the { it stands in, or -1
	label   string // of :, b, t and T

	// text holds the parts of s and y.
	text [2]string
}

// notLast is the address of every line but the last.
const notLast = "$!"

// sedEnds reports whether a script comes to an end on every input. All input is finite, so it does if nothing goes round
// for ever without reading a line: every jump back, and D, which starts over with what is left, must either read one each
// time round or run out of line feeds.
func sedEnds(script []sedCommand) bool {
	labels := map[string]int{}
	for i, c := range script {
		if c.verb != ':' {
			continue
		}
		if _, twice := labels[c.label]; twice {
			return false
		}
		labels[c.label] = i
	}
	// The part of the script that goes round for as long as its substitutions find something.
	first, last := len(script), -1
	for i, c := range script {
		target := -1
		if jumps(c) {
			to, known := labels[c.label]
			if !known {
				return false
			}
			if to > i {
				continue
			}
			target = to
		} else if c.verb != 'D' {
			continue
		}
		switch {
		case readsEachTime(script, target, i):
		case c.verb == 't' && calm(script):
			first, last = min(first, target), max(last, i)
		case c.verb == 'D' && calm(script):
		default:
			return false
		}
	}
	for i := first; i <= last; i++ {
		if script[i].verb == 's' && !joins(script[i].text) {
			return false
		}
	}
	return true
}

func jumps(c sedCommand) bool {
	return strings.IndexByte("btT", c.verb) >= 0 && c.label != ""
}

// readsEachTime reports whether no way leads from the command at from, back from that at to, around an n or N: one that is
// reached from the label whatever happens, or one after which nothing is jumped over or into before the jump. A -1 for
// from is the begin of the script.
func readsEachTime(script []sedCommand, from, to int) bool {
	block := -1
	if from >= 0 {
		block = script[from].block
	}
	for i := from + 1; i < to && !jumps(script[i]); i++ {
		if reads(script, i, to) && within(script, block, script[i].block) {
			return true
		}
	}
	for i := to - 1; i > from && script[i].verb != ':'; i-- {
		if reads(script, i, to) && within(script, script[to].block, script[i].block) {
			return true
		}
	}
	return false
}

// reads reports whether the command at i reads a line when it is reached. Where the jump at to is made on all lines but
// the last, so may be the reading.
func reads(script []sedCommand, i, to int) bool {
	c := script[i]
	if c.verb != 'n' && c.verb != 'N' {
		return false
	}
	return c.address == "" || c.address == notLast && guarded(script, to)
}

// guarded reports whether the command at i, or a block it stands in, is for all lines but the last.
func guarded(script []sedCommand, i int) bool {
	for ; i >= 0; i = script[i].block {
		if script[i].address == notLast {
			return true
		}
	}
	return false
}

// within reports whether block is outer or stands in it.
func within(script []sedCommand, block, outer int) bool {
	for ; block != outer; block = script[block].block {
		if block < 0 {
			return false
		}
	}
	return true
}

// calm reports whether no command of the script adds a line feed, other than by reading.
func calm(script []sedCommand) bool {
	return !slices.ContainsFunc(script, func(c sedCommand) bool {
		switch c.verb {
		case 'G', 'g', 'x':
			return true
		case 'y':
			return strings.Contains(c.text[0]+c.text[1], `\`)
		case 's':
			references, plain := replacement(c.text[1])
			return !plain || references > 1
		}
		return false
	})
}

// replacement counts the references to what was found. plain says that nothing else in it could be a line feed.
func replacement(s string) (references int, plain bool) {
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '&':
			references++
		case s[i] != '\\':
		case i+1 == len(s) || s[i+1] == '\n' || isNameStart(s[i+1]):
			return references, false
		default:
			if i++; isDigits(s[i : i+1]) {
				references++
			}
		}
	}
	return references, true
}

// joins reports whether each substitution takes away a line feed.
func joins(text [2]string) bool {
	references, plain := replacement(text[1])
	re := text[0]
	if !plain || references > 0 || strings.ContainsAny(re, "(|") {
		return false
	}
	for i := 0; i < len(re); i++ {
		switch re[i] {
		case '[':
			end := bracketEnd(re[i:], true)
			if end < 0 || end != bracketEnd(re[i:], false) {
				return false
			}
			i += end
		case '\\':
			if i++; i < len(re) && re[i] == 'n' && !optional(re[i+1:]) {
				return true
			}
		}
	}
	return false
}

// bracketEnd returns the index of the bracket that closes the expression at the front of re, or -1.
func bracketEnd(re string, backslash bool) int {
	for i := 1; i < len(re); i++ {
		if re[i] == ']' && !openBracket(re[:i+1], backslash) {
			return i
		}
	}
	return -1
}

// optional reports whether what stands before rest may be missing.
func optional(rest string) bool {
	rest = strings.TrimPrefix(rest, `\`)
	return rest != "" && strings.IndexByte("*?{", rest[0]) >= 0
}
