package text

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Wrap breaks a text into lines of at most n cells: at blanks where it can, next to a wide character otherwise, and
// inside a word that is longer than a line. The path of a file is broken behind a slash, and only if it is longer than a
// line. Line breaks of the text stay. n below 2 counts as 2, so that every character fits.
func Wrap(s string, n int) []string {
	var lines []string
	for line := range strings.SplitSeq(s, "\n") {
		lines = append(lines, wrap(line, max(n, 2), false)...)
	}
	return lines
}

// Lines is Wrap for what was written in lines, as models do: what goes on in a further line of an item of a list, a
// quotation or an indented line stands under its beginning, and an address of the web that is longer than a line stays
// in one piece, so that it can be opened; the terminal breaks it.
func Lines(s string, n int) []string {
	n = max(n, 2)
	var lines []string
	for line := range strings.SplitSeq(s, "\n") {
		lead := item.FindString(line)
		hang := Width(lead)
		if hang > n/2 {
			lead, hang = "", 0
		}
		for _, piece := range wrap(line[len(lead):], n-hang, true) {
			lines = append(lines, lead+piece)
			lead = strings.Repeat(" ", hang)
		}
	}
	return lines
}

// item is what stands before the words of a line: blanks, the mark of an item, of a quotation or of a row of a table.
var item = regexp.MustCompile(`^ *(?:(?:[-*+>|]|[0-9]{1,3}[.)]) +(?:\[[ xX>]\] +)?)?`)

// wrap breaks one line. whole keeps addresses of the web in one piece, whatever their length.
func wrap(line string, n int, whole bool) []string {
	var lines []string
	for {
		head, rest := split(line, n)
		if rest == "" {
			return append(lines, line)
		}
		at := len(head)
		if soft := breakAt(line, len(head)); soft > 0 {
			at = soft
		}
		if strings.HasPrefix(strings.TrimLeft(line[at:], " "), dot) { // it stays with what it stands behind
			if before := breakAt(line, len(strings.TrimRight(line[:at], " "))-1); before > 0 {
				at = before
			}
		}
		at = apart(line, at, len(head), n, whole)
		lines = append(lines, strings.TrimRight(line[:at], " "))
		if line = strings.TrimLeft(line[at:], " "); line == "" {
			return lines
		}
	}
}

// dot stands between the parts of a line.
const dot = "· "

// apart moves a break at a place up to limit out of an address or a path.
func apart(line string, at, limit, n int, whole bool) int {
	from, to, address := solid(line, at)
	switch {
	case from >= at || at >= to: // in none
		return at
	case address && whole && from == 0:
		if strings.Trim(line[to:], closing+" ") == "" {
			return len(line) // a mark that closes the sentence does not stand alone
		}
		return len(line) - len(strings.TrimLeft(line[to:], closing))
	case strings.TrimSpace(line[:from]) != "" && (address && whole || Width(line[from:to]) <= n):
		return from
	case strings.TrimSpace(line[:from]) != "":
		return at
	}
	if slash := strings.LastIndexByte(line[:limit], '/') + 1; slash > from+1 {
		return slash
	}
	return limit
}

// longest is how far an address or a path is looked for, in bytes: what is longer is broken like any other word.
const longest = 2048

// scheme is the beginning of an address of the web.
var scheme = regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://`)

// solid finds the address or path around a place in a line; from and to are 0 if there is none.
func solid(line string, at int) (from, to int, address bool) {
	start := max(strings.LastIndexByte(line[:at], ' ')+1, at-longest)
	end := min(len(line), at+longest)
	if i := strings.IndexByte(line[at:end], ' '); i >= 0 {
		end = at + i
	}
	word := line[start:end]
	if !strings.Contains(word, "/") {
		return 0, 0, false
	}
	for _, m := range scheme.FindAllStringIndex(word, -1) {
		stop := len(word)
		if i := strings.IndexFunc(word[m[1]:], ends); i >= 0 {
			stop = m[1] + i
		}
		if a := at - start; m[0] < a && a < stop {
			return start + opened(word, m[0]), start + stop, true
		}
	}
	a := at - start
	left := strings.LastIndexFunc(word[:a], func(r rune) bool { return !named(r) })
	if left >= 0 {
		_, size := utf8.DecodeRuneInString(word[left:])
		left += size
	}
	left = max(left, 0)
	right := len(word)
	if i := strings.IndexFunc(word[a:], func(r rune) bool { return !named(r) }); i >= 0 {
		right = a + i
	}
	path := word[left:right]
	path = strings.TrimLeftFunc(path, func(r rune) bool { return r >= utf8.RuneSelf })
	left = right - len(path)
	// What follows at its end may be words of a language without blanks.
	path = strings.TrimRightFunc(path, func(r rune) bool { return r >= utf8.RuneSelf })
	if !strings.Contains(path, "/") || path == "/" {
		return 0, 0, false
	}
	return start + opened(word, left), start + left + len(path), false
}

// opened moves a beginning before the marks that open what begins there.
func opened(word string, at int) int { return len(strings.TrimRight(word[:at], opening)) }

// named says whether a character may stand in a path as people write it.
func named(r rune) bool {
	if r < utf8.RuneSelf {
		return r > ' ' && !strings.ContainsRune(":;,()\"'<>|`[]{}", r)
	}
	return unicode.IsLetter(r)
}

// ends says whether a character does not belong to an address of the web any more.
func ends(r rune) bool {
	return r <= ' ' || strings.ContainsRune("\"'<>`|\\^{}", r) || r >= utf8.RuneSelf && !unicode.IsLetter(r) && !unicode.IsMark(r)
}

// closing are the marks that belong to what stands before them, opening those that belong to what follows.
const (
	closing = ",.;:!?)]}%、。，；：！？）】》」』”’"
	opening = "([{（【《「『“‘`\"'"
)

// breakAt is the last place up to limit where a line may be broken: beside a blank or a wide character, but not before a
// mark that closes something or behind one that opens something, and behind something other than blanks. 0 if there is
// none.
func breakAt(s string, limit int) int {
	best, at := 0, 0
	seen, soft, opens := false, false, false // something was there; the character before allows a break, or forbids it
	g := cells.StringGraphemes(s)
	for at <= limit && g.Next() {
		v := g.Value()
		here := v == " " || g.Width() == 2
		if seen && !opens && (soft || here) && !strings.Contains(closing, v) {
			best = at
		}
		at += len(v)
		seen = seen || v != " "
		soft, opens = here, v != "\"" && v != "'" && v != "`" && strings.Contains(opening, v)
	}
	return best
}
