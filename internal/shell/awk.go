package shell

import (
	"fmt"
	"regexp"
	"strings"
)

// awkFlags: a long flag of one awk is a program file to another, so there are none.
var awkFlags = &program{short: "F:v:"}

var awkAssign = regexp.MustCompile(`^[A-Za-z_][A-Za-z_0-9]*=`)

// judgeAwk judges flags, which end with the program, then the program, then files
// and assignments.
func judgeAwk(args []word) string {
	i := 0
	var given []string
	for ; i < len(args) && strings.HasPrefix(args[i].text, "-") && args[i].text != "--"; i++ {
		var next *word
		if i+1 < len(args) {
			next = &args[i+1]
		}
		fs, used, reason := awkFlags.flags(args[i].text, next)
		if reason != "" {
			return reason
		}
		if args[i].glob || args[i].dyn {
			return fmt.Sprintf("the flag %s is not a plain word", clip(args[i].text))
		}
		for _, f := range fs {
			if f.name == "v" && (!awkAssign.MatchString(f.value.text) || !harmlessAwkName(f.value.text)) {
				return fmt.Sprintf("%s is not a plain assignment", clip(f.value.text))
			}
			if f.name == "v" {
				given = append(given, f.value.text)
			}
		}
		if used {
			i++
		}
	}
	if i < len(args) && args[i].text == "--" {
		i++
	}
	if i >= len(args) || args[i].glob || args[i].dyn {
		return "the program is not a plain word"
	}
	for _, w := range args[i+1:] {
		if awkAssign.MatchString(w.text) {
			given = append(given, w.text)
		}
	}
	if reason := scanAwk(args[i].text, given); reason != "" {
		return reason
	}
	for _, w := range args[i+1:] {
		// A dash after the program is a flag to some versions.
		if len(w.text) > 1 && w.text[0] == '-' {
			return fmt.Sprintf("the flag %s stands after the program", clip(w.text))
		}
		if awkAssign.MatchString(w.text) && !harmlessAwkName(w.text) {
			return fmt.Sprintf("%s is not a plain assignment", clip(w.text))
		}
		if reason := endless(w); reason != "" {
			return reason
		}
	}
	return ""
}

func harmlessAwkName(assignment string) bool {
	name, _, _ := strings.Cut(assignment, "=")
	return !awkRefused[name]
}

// awkRefused are the names that start programs, read or write files, show the
// environment, reach other names by name, or need not end.
var awkRefused = set(`system getline close fflush ENVIRON PROCINFO SYMTAB FUNCTAB ARGV ARGC ARGIND
	function func while do switch load include extension`)

// awkCalls are the names that may stand before a bracket. Functions of the program's
// own are not among them: they may call themselves for ever.
var awkCalls = set(`if for print printf return in exit delete else length substr index split sub gsub
	gensub match sprintf toupper tolower int sqrt exp log sin cos atan2 rand srand strftime systime
	mktime asort asorti patsplit strtonum and or xor lshift rshift compl BEGIN END next`)

// awkKeywords are names after which a slash begins a regular expression.
var awkKeywords = set("print printf return in else exit delete if for case BEGIN END")

// awkScanner takes a program apart into tokens, front to back.
type awkScanner struct {
	src string
	pos int
	// tokens are those read, without blanks and comments; a line feed is one.
	tokens []string
	// after tells what the last token makes of a slash.
	after slash
	// output: print stands in this statement, so > would write a file.
	output bool
}

// slash is what a slash means.
type slash int

const (
	regex  slash = iota // begins a regular expression
	divide              // divides
	either              // depends on the grammar
)

// scanAwk returns the reason for refusing program, or "". given are the assignments NAME=value from outside it.
func scanAwk(program string, given []string) string {
	s := &awkScanner{src: program}
	for s.pos < len(s.src) {
		start := s.pos
		if reason := s.token(); reason != "" {
			return reason
		}
		if t := s.src[start:s.pos]; t == "\n" || strings.Trim(t, " \t\r\n\\") != "" && t[0] != '#' {
			s.tokens = append(s.tokens, t)
		}
	}
	return awkEnds(s.tokens, given)
}

// token judges one token and moves behind it.
func (s *awkScanner) token() string {
	c := s.src[s.pos]
	switch {
	case c == ' ' || c == '\t' || c == '\r':
		s.pos++
	case c == '\n':
		// No end of a statement here: after a comma the statement goes on.
		// And in brackets some versions let the expression go on.
		s.pos++
		if s.after != regex {
			s.after = either
		}
	case c == '\\':
		if !strings.HasPrefix(s.src[s.pos:], "\\\n") {
			return "the program holds a backslash outside text"
		}
		s.pos += 2
	case c == '#':
		line, _, _ := strings.Cut(s.src[s.pos:], "\n")
		if strings.HasSuffix(line, `\`) {
			return "a comment in the program ends with a backslash"
		}
		s.pos += len(line)
	case c == '"':
		if s.pos = quoted(s.src, s.pos); s.pos < 0 {
			return "a text in the program does not end"
		}
		s.after = divide
	case isDigits(string(c)) || c == '.':
		for s.pos < len(s.src) && (isDigits(s.src[s.pos:s.pos+1]) || s.src[s.pos] == '.') {
			s.pos++
		}
		s.after = divide
	case isNameStart(c):
		return s.name()
	case c == '/':
		return s.slash()
	default:
		return s.operator()
	}
	return ""
}

// name judges a keyword, function or variable.
func (s *awkScanner) name() string {
	end := nameEnd(s.src, s.pos)
	name := s.src[s.pos:end]
	s.pos = end
	if awkRefused[name] {
		return fmt.Sprintf("the name %s of the program is not on the list of harmless ones", name)
	}
	call := strings.HasPrefix(strings.TrimLeft(s.src[end:], " \t"), "(")
	if call && !awkCalls[name] {
		return fmt.Sprintf("the function %s is not on the list of harmless ones", name)
	}
	s.output = s.output || name == "print" || name == "printf"
	switch {
	case awkKeywords[name]:
		s.after = regex
	case awkCalls[name]:
		s.after = either
	default:
		s.after = divide
	}
	return ""
}

// slash reads a regular expression or a division.
func (s *awkScanner) slash() string {
	if s.after != regex {
		s.pos++
		if s.after == either && strings.Contains(s.src[s.pos:], "/") {
			return "a slash in the program could divide or begin a pattern"
		}
		s.after = regex
		return ""
	}
	end := delimited(s.src[s.pos+1:], '/', true)
	if end < 0 {
		return "a pattern in the program does not end"
	}
	s.pos += end + 2
	s.after = either
	return ""
}

// operator judges everything that is no word.
func (s *awkScanner) operator() string {
	rest := s.src[s.pos:]
	c := rest[0]
	s.after = regex
	switch {
	case strings.HasPrefix(rest, "||"), strings.HasPrefix(rest, "&&"):
		s.pos += 2
		return ""
	case strings.HasPrefix(rest, "++"), strings.HasPrefix(rest, "--"):
		s.pos += 2
		s.after = either
		return ""
	case c == '>' && s.output:
		return "print with > writes a file"
	case c == '>' && strings.HasPrefix(rest, ">>"):
		return ">> writes a file"
	case strings.IndexByte(";{}", c) >= 0:
		s.output = false
	case c == ')', c == '$':
		s.after = either
	case c == ']':
		s.after = divide
	case strings.IndexByte("(,[<>=!~+-*%^?:", c) < 0:
		return fmt.Sprintf("%s in the program is not on the list of harmless ones", clip(string(c)))
	}
	s.pos++
	return ""
}
