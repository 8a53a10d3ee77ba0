package cli

import "strings"

// look is how a mark is set off on a terminal; whole styles the line and not the mark alone. Of the eight colours of a
// terminal only red and magenta are readable on white and on black, whoever has chosen the shades: yellow, green and cyan
// vanish on white, blue on black. The rest is bold, dim, or as it is.
type look struct {
	sgr   string
	whole bool
}

var looks = map[string]look{
	"==": {"1", true}, "=": {"1", false}, "--": {"1", true}, "<-": {"1", true},
	"?": {"1;35", true},
	"!": {"1;31", false}, "x": {"1;31", false}, "+": {"1", false},
	">": {"1", false}, "<": {"1", false},
	".": {"2", true}, "~": {"2", true}, "*": {"2", false},
}

// styled sets a line off that begins with a mark, behind a margin.
func (p *printer) styled(mark, s string) string {
	if !p.opts.styles {
		return s
	}
	return styled(mark, s)
}

func styled(mark, s string) string {
	sign, _, _ := strings.Cut(strings.TrimSpace(mark), " ") // "?   1) " is of a question
	l, ok := looks[sign]
	switch {
	case !ok || s == "":
		return s
	case l.whole:
		return "\x1b[" + l.sgr + "m" + s + "\x1b[0m"
	}
	head, tail := s[:min(len(mark), len(s))], s[min(len(mark), len(s)):]
	if strings.TrimSpace(head) == "" {
		return s
	}
	return "\x1b[" + l.sgr + "m" + head + "\x1b[0m" + tail
}
