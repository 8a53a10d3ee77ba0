package shell

import "strings"

// sedFlags leave out -i, which writes, and -f, which hides the script.
var sedFlags = &program{short: "nEruzse:l:", long: `quiet silent regexp-extended expression:
	null-data zero-terminated separate unbuffered line-length: posix sandbox`}

// judgeSed judges the flags, then the script: every -e on a line of its own, or the
// first operand.
func judgeSed(args []word) string {
	c, reason := sedFlags.split(args)
	if reason != "" {
		return reason
	}
	var scripts []string
	for _, f := range c.flags {
		if f.name == "l" && !isDigits(f.value.text) {
			return "the value of -l is no number; some versions take it for the script"
		}
		if f.name == "e" || f.name == "expression" {
			if f.value.dyn {
				return "the script is not a plain word"
			}
			scripts = append(scripts, f.value.text)
		}
	}
	files := c.operands
	if scripts == nil {
		if len(files) == 0 || files[0].glob || files[0].dyn {
			return "the script is not a plain word"
		}
		scripts, files = []string{files[0].text}, files[1:]
	}
	for _, f := range files {
		if reason := endless(f); reason != "" {
			return reason
		}
	}
	if !readSed(strings.Join(scripts, "\n")) {
		return "the script holds a command that is not on the list of harmless ones"
	}
	return ""
}

// sedScript is a script being read, front to back. Every method takes what it reads
// off the front and reports whether it understood it.
type sedScript struct {
	rest     string
	commands []sedCommand
	block    int // the index of the innermost open {, or -1
}

// readSed reports whether script is understood whole, only prints, and comes to an end.
func readSed(script string) bool {
	s := &sedScript{rest: script, block: -1}
	for {
		s.rest = strings.TrimLeft(s.rest, " \t\n;")
		if s.rest == "" {
			return s.block < 0 && sedEnds(s.commands)
		}
		if !s.command() {
			return false
		}
	}
}

// command reads addresses and one command.
func (s *sedScript) command() bool {
	before := s.rest
	addressed, ok := s.addresses()
	if !ok || s.rest == "" {
		return false
	}
	address := strings.Map(notBlank, before[:len(before)-len(s.rest)])
	c := sedCommand{verb: s.rest[0], address: address, block: s.block}
	s.rest = s.rest[1:]
	switch c.verb {
	case '#':
		if addressed {
			return false
		}
		_, s.rest, _ = strings.Cut(s.rest, "\n")
		return true
	case '}':
		if s.block < 0 || addressed {
			return false
		}
		s.block = s.commands[s.block].block
		return s.end()
	case '{':
		s.block = len(s.commands)
	default:
		if !s.arguments(&c, addressed) {
			return false
		}
	}
	s.commands = append(s.commands, c)
	return true
}

// arguments reads what stands behind the letter of a command.
func (s *sedScript) arguments(c *sedCommand, addressed bool) bool {
	switch c.verb {
	case '=', 'd', 'D', 'g', 'G', 'h', 'H', 'n', 'N', 'p', 'P', 'x', 'z', 'F':
		return s.end()
	case 'l', 'q', 'Q':
		s.rest = strings.TrimLeft(s.rest, " ")
		s.rest = strings.TrimLeft(s.rest, "0123456789")
		return s.end()
	case 's':
		if !s.parts(c) {
			return false
		}
		s.rest = strings.TrimLeft(s.rest, "gpiIMm0123456789") // e and w are not on the list
		return s.end()
	case 'y':
		return s.parts(c) && s.end()
	case ':':
		c.label = s.label()
		return !addressed && c.label != "" && s.end()
	case 'b', 't', 'T':
		c.label = s.label()
		return s.end()
	case 'a', 'i', 'c':
		return s.text()
	}
	return false // e, w, W, r, R and what is unknown
}

func notBlank(r rune) rune {
	if r == ' ' || r == '\t' {
		return -1
	}
	return r
}

// addresses reads up to two addresses and the marks of negation.
func (s *sedScript) addresses() (some, ok bool) {
	some, ok = s.address(false)
	if !ok {
		return some, false
	}
	s.blanks()
	if some && strings.HasPrefix(s.rest, ",") {
		s.rest = s.rest[1:]
		s.blanks()
		second, ok := s.address(true)
		if !second || !ok {
			return true, false
		}
		s.blanks()
	}
	if some && strings.HasPrefix(s.rest, "!") {
		s.rest = s.rest[1:]
		s.blanks()
	}
	return some, true
}

func (s *sedScript) address(second bool) (some, ok bool) {
	if s.rest == "" {
		return false, true
	}
	switch c := s.rest[0]; {
	case c == '$':
		s.rest = s.rest[1:]
		return true, true
	case second && (c == '+' || c == '~'):
		s.rest = s.rest[1:]
		return true, s.number()
	case isDigits(s.rest[:1]):
		s.number()
		if strings.HasPrefix(s.rest, "~") {
			s.rest = s.rest[1:]
			return true, s.number()
		}
		return true, true
	case c == '/' || c == '\\':
		if c == '\\' {
			s.rest = s.rest[1:]
		}
		delim, ok := s.delimiter()
		if _, closed := s.until(delim, true); !ok || !closed {
			return true, false
		}
		s.rest = strings.TrimLeft(s.rest, "IM")
		return true, true
	}
	return false, true
}

func (s *sedScript) number() bool {
	before := len(s.rest)
	s.rest = strings.TrimLeft(s.rest, "0123456789")
	return len(s.rest) < before
}

func (s *sedScript) blanks() { s.rest = strings.TrimLeft(s.rest, " \t") }

// end wants the command to end here.
func (s *sedScript) end() bool {
	s.blanks()
	return s.rest == "" || strings.ContainsRune(";\n}#", rune(s.rest[0]))
}

// delimiter takes the character that separates the parts of s, y and \cREc.
func (s *sedScript) delimiter() (byte, bool) {
	if s.rest == "" {
		return 0, false
	}
	c := s.rest[0]
	s.rest = s.rest[1:]
	return c, c > ' ' && c < 0x7f && c != '\\' && (c == '_' || !isNameStart(c)) && !isDigits(string(c)) && c != ';' && c != '{' && c != '}'
}

// until takes text up to and with delim, and returns it without.
func (s *sedScript) until(delim byte, regex bool) (text string, ok bool) {
	end := delimited(s.rest, delim, regex)
	if end < 0 {
		return "", false
	}
	text, s.rest = s.rest[:end], s.rest[end+1:]
	return text, true
}

// delimited returns the index of the delim that ends text at the front of s, or -1
// when none does on its line. In a regular expression a delim inside brackets ends
// nothing; a version that thinks otherwise finds the bracket open and gives up before
// it runs anything. Where only the meaning of a backslash decides, the answer is -1.
func delimited(s string, delim byte, regex bool) int {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
			if i < len(s) && s[i] == '\n' && regex {
				return -1
			}
		case '\n':
			return -1
		case delim:
			if !regex {
				return i
			}
			one, other := openBracket(s[:i], true), openBracket(s[:i], false)
			if one != other {
				return -1
			}
			if !one {
				return i
			}
		}
	}
	return -1
}

// openBracket reports whether a regular expression ends inside a bracket expression.
// backslash says whether one in brackets quotes the next character.
func openBracket(re string, backslash bool) bool {
	open, start := false, 0
	for i := 0; i < len(re); i++ {
		switch {
		case re[i] == '\\' && (!open || backslash):
			i++
		case !open && re[i] == '[':
			open, start = true, i+1
			if strings.HasPrefix(re[start:], "^") {
				start++
			}
		case open && re[i] == ']' && i > start:
			open = false
		case open && re[i] == '[' && i+1 < len(re) && strings.IndexByte(":.=", re[i+1]) >= 0:
			end := strings.Index(re[i+2:], re[i+1:i+2]+"]")
			if end < 0 {
				return true
			}
			i += end + 3
		}
	}
	return open
}

// parts reads the two texts of s and y.
func (s *sedScript) parts(c *sedCommand) bool {
	delim, ok := s.delimiter()
	for i := 0; ok && i < len(c.text); i++ {
		c.text[i], ok = s.until(delim, c.verb == 's' && i == 0)
	}
	return ok
}

// label takes the name after :, b, t and T.
func (s *sedScript) label() string {
	s.blanks()
	n := nameEnd(s.rest, 0)
	name := s.rest[:n]
	s.rest = s.rest[n:]
	return name
}

// text reads the text of a, i and c, which ends with the line.
func (s *sedScript) text() bool {
	line, rest, _ := strings.Cut(s.rest, "\n")
	if strings.Trim(line, " \t") == "" || strings.Contains(line, `\`) {
		return false
	}
	s.rest = rest
	return true
}
