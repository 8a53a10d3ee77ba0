// Package ignore reads ignore files: .gitignore, what git reads besides, and .ignore.
//
// Terms: a list is one file, a rule one line of it. The last rule of a list that fits a path decides. A rule speaks of
// paths below the directory of its file, and of a directory as a whole: who walks a tree does not enter what is ignored,
// so rules are never asked about paths below it.
//
// Trust: an ignore file comes from whoever wrote the repository. Patterns become expressions of linear time.
package ignore

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Verdict is what a list says of a path.
type Verdict int

// Verdicts.
const (
	Silent  Verdict = iota // no rule fits
	Ignored                // the last rule that fits leaves it out
	Kept                   // the last rule that fits begins with "!"
)

// List is the rules of one file. The zero value has none. It is safe for concurrent use.
type List struct {
	rules []rule
}

// rule is a line. What is compared is the whole path, or its last name.
type rule struct {
	keep, dirOnly, whole bool

	// The quick forms, which most rules have: head, anything, tail; without star only head. Nil re: one of those.
	head, tail string
	star       bool
	re         *regexp.Regexp
}

// Parse reads an ignore file as git does. What is no pattern is passed over, so there are no errors.
func Parse(text string) List {
	var l List
	for line := range strings.Lines(strings.TrimPrefix(text, "\uFEFF")) {
		line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		if r, ok := parseRule(line); ok {
			l.rules = append(l.rules, r)
		}
	}
	return l
}

// Empty says whether there is no rule at all.
func (l List) Empty() bool { return len(l.rules) == 0 }

// Match says what the list has to say of a path, given from the directory of the list on, with slashes.
func (l List) Match(path string, dir bool) Verdict {
	base := path[strings.LastIndexByte(path, '/')+1:]
	for i := len(l.rules) - 1; i >= 0; i-- {
		r := &l.rules[i]
		if r.dirOnly && !dir {
			continue
		}
		subject := base
		if r.whole {
			subject = path
		}
		switch {
		case !r.fits(subject):
		case r.keep:
			return Kept
		default:
			return Ignored
		}
	}
	return Silent
}

func (r *rule) fits(s string) bool {
	switch {
	case r.re != nil:
		return r.re.MatchString(s)
	case !r.star:
		return s == r.head
	}
	return len(s) >= len(r.head)+len(r.tail) && strings.HasPrefix(s, r.head) && strings.HasSuffix(s, r.tail) &&
		(!r.whole || !strings.Contains(s[len(r.head):len(s)-len(r.tail)], "/"))
}

// special are the characters that are not compared as they stand.
const special = `*?[\`

// parseRule reads one line; false if it holds no pattern, or one that nothing fits.
func parseRule(line string) (r rule, ok bool) {
	if strings.HasPrefix(line, "#") {
		return r, false
	}
	line = trimBlanks(line)
	line, r.keep = strings.CutPrefix(line, "!")
	line, r.dirOnly = strings.CutSuffix(line, "/")
	if line == "" {
		return r, false
	}
	r.whole = strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	if i := strings.IndexAny(line, special); i < 0 {
		r.head = line
		return r, true
	} else if rest := line[i+1:]; line[i] == '*' && !strings.ContainsAny(rest, special) {
		r.head, r.tail, r.star = line[:i], rest, true
		return r, true
	}
	expr, ok := translate(line, r.whole)
	if ok {
		r.re = regexp.MustCompile(`\A(?s:` + expr + `)\z`)
	}
	return r, ok
}

// trimBlanks takes blanks from the end of a line, up to one that is escaped.
func trimBlanks(s string) string {
	end := 0
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s):
			i++
			end = i + 1
		case s[i] != ' ':
			end = i + 1
		}
	}
	return s[:end]
}

// translate turns a pattern into an expression; false if it cannot fit anything. In a whole path ** stands for any
// number of directories where it is all of a name, or the first that is not plain (git compares what is plain by itself
// and takes the rest for a pattern of its own); elsewhere it is *.
func translate(p string, whole bool) (string, bool) {
	var out strings.Builder
	plain := strings.IndexAny(p, special)
	for i := 0; i < len(p); {
		switch c := p[i]; c {
		case '*':
			stars := len(p[i:]) - len(strings.TrimLeft(p[i:], "*"))
			rest := p[i+stars:]
			alone := whole && stars >= 2 && (i == plain || p[i-1] == '/')
			switch {
			case alone && (rest == "" || strings.HasPrefix(rest, `\/`)):
				out.WriteString(`.*`)
			case alone && rest[0] == '/':
				out.WriteString(`(?:.*/)?`)
				stars++
			default:
				out.WriteString(`[^/]*`)
			}
			i += stars
		case '?':
			out.WriteString(`[^/]`)
			i++
		case '[':
			class, size := bracket(p[i:])
			if size == 0 {
				return "", false
			}
			out.WriteString(class)
			i += size
		case '\\':
			if i++; i == len(p) {
				return "", false
			}
			fallthrough
		default:
			_, size := utf8.DecodeRuneInString(p[i:])
			out.WriteString(regexp.QuoteMeta(p[i : i+size]))
			i += size
		}
	}
	return out.String(), true
}

// bracket translates the character class that p begins with, and returns its size; 0 if it is not closed. No class fits
// a slash.
func bracket(p string) (class string, size int) {
	var out strings.Builder
	add := func(low, high rune) {
		if low <= high { // upside down it holds nothing
			fmt.Fprintf(&out, `\x{%x}-\x{%x}`, low, high)
		}
	}
	i := 1
	not := strings.HasPrefix(p[i:], "!") || strings.HasPrefix(p[i:], "^")
	if not {
		add('/', '/')
		i++
	}
	for first := true; i < len(p); first = false {
		if p[i] == ']' && !first {
			if not {
				return `[^` + out.String() + `]`, i + 1
			}
			return `[` + out.String() + none + `]`, i + 1
		}
		if name := posix.FindString(p[i:]); name != "" {
			out.WriteString(posixClass(name))
			i += len(name)
			continue
		}
		if end := strings.IndexByte(p[i:], ']'); strings.HasPrefix(p[i:], "[:") && end > 2 && p[i+end-1] == ':' {
			return "", 0 // a class that nobody knows
		}
		low, n := member(p[i:])
		i += n
		high := low
		if n > 0 && i+1 < len(p) && p[i] == '-' && p[i+1] != ']' {
			high, n = member(p[i+1:])
			i += 1 + n
		}
		if n == 0 {
			return "", 0
		}
		if low != '/' || not {
			add(low, low) // which git takes even from a range that is upside down
		}
		if low <= '/' && '/' <= high && !not {
			add(low, '/'-1)
			add('/'+1, high)
		} else {
			add(low, high)
		}
	}
	return "", 0
}

// none is a member of a class that stands in no name, so that no class is empty.
const none = `\x00`

// posix names classes as git knows them.
var posix = regexp.MustCompile(`^\[:(?:alnum|alpha|blank|cntrl|digit|graph|lower|print|punct|space|upper|xdigit):\]`)

// posixClass is one of those without the slash.
func posixClass(name string) string {
	switch name {
	case "[:graph:]":
		return `!-.0-~`
	case "[:print:]":
		return ` -.0-~`
	case "[:punct:]":
		return `!-.:-@\[-` + "`" + `{-~`
	}
	return name
}

// member reads one character of a class, which may be escaped. Size 0: there is none.
func member(p string) (char rune, size int) {
	if strings.HasPrefix(p, `\`) {
		if char, size = utf8.DecodeRuneInString(p[1:]); size > 0 {
			size++
		}
		return char, size
	}
	return utf8.DecodeRuneInString(p)
}
