package text

import (
	"strings"
	"unicode/utf8"
)

// Control characters.
const (
	bel = 0x07
	can = 0x18
	sub = 0x1a
	esc = 0x1b

	c1DCS = 0x90
	c1SOS = 0x98
	c1CSI = 0x9b
	c1ST  = 0x9c
	c1OSC = 0x9d
	c1PM  = 0x9e
	c1APC = 0x9f
)

// maxSGR is the longest SGR that stays, in bytes of its numbers; nobody styles with more.
const maxSGR = 64

// Sanitise returns what of a text may be written to a terminal: printable text, line feeds, and SGR. Gone are all other
// control sequences, also unfinished ones, control characters, and characters that hide text or turn its direction.
// A tab becomes a blank; bytes that are not UTF-8 become U+FFFD. Doing it twice changes nothing.
func Sanitise(s string) string {
	if clean(s) {
		return s
	}
	c := scanner{s: s}
	c.out.Grow(len(s))
	for c.at < len(c.s) {
		c.step()
	}
	return c.out.String()
}

// Plain is Sanitise without SGR.
func Plain(s string) string {
	s = Sanitise(s)
	for {
		from := strings.IndexByte(s, esc)
		if from < 0 {
			return s
		}
		length := strings.IndexByte(s[from:], 'm') + 1 // there is one: only complete SGR is left
		s = s[:from] + s[from+length:]
	}
}

// clean recognises the texts that stay as they are without a copy.
func clean(s string) bool {
	for i := range len(s) {
		if b := s[i]; b != '\n' && (b < 0x20 || b >= 0x7f) {
			return false
		}
	}
	return true
}

// scanner walks once over a text.
type scanner struct {
	s   string
	at  int
	out strings.Builder
}

// next takes one character; ok is false at the end.
func (c *scanner) next() (r rune, ok bool) {
	if c.at >= len(c.s) {
		return 0, false
	}
	r, size := utf8.DecodeRuneInString(c.s[c.at:])
	c.at += size
	return r, true
}

// peek looks at the next byte; 0 at the end.
func (c *scanner) peek() byte {
	if c.at >= len(c.s) {
		return 0
	}
	return c.s[c.at]
}

// step takes one character or one sequence.
func (c *scanner) step() {
	r, _ := c.next()
	switch {
	case r == esc:
		c.escape()
	case r == c1CSI:
		c.csi()
	case r == c1OSC:
		c.str(true)
	case r == c1DCS, r == c1SOS, r == c1PM, r == c1APC:
		c.str(false)
	case r == '\t':
		c.out.WriteByte(' ')
	case r == '\n':
		c.out.WriteByte('\n')
	case r < 0x20, r >= 0x7f && r < 0xa0, hidden(r):
	default:
		c.out.WriteRune(r) // U+FFFD for a byte that is no UTF-8
	}
}

// hidden tells the characters that turn the direction of what follows, and those that are there and are not seen. The
// joiners stay: scripts and emoji need them.
func hidden(r rune) bool {
	switch {
	case r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
		return true
	case r == 0x200b, r == 0x2060, r == 0xfeff:
		return true
	}
	return false
}

// escape follows an ESC.
func (c *scanner) escape() {
	switch b := c.peek(); {
	case b == '[':
		c.at++
		c.csi()
	case b == ']':
		c.at++
		c.str(true)
	case b == 'P', b == 'X', b == '^', b == '_':
		c.at++
		c.str(false)
	case b >= 0x20 && b < 0x30:
		for c.peek() >= 0x20 && c.peek() < 0x30 {
			c.at++
		}
		if b := c.peek(); b >= 0x30 && b < 0x7f {
			c.at++
		}
	case b >= 0x30 && b < 0x7f:
		c.at++
	}
	// What cannot belong to a sequence stays: the ESC alone is gone.
}

// csi follows the introducer: parameters, intermediates, one final character. SGR is written in its short form.
func (c *scanner) csi() {
	from := c.at
	for c.peek() >= 0x30 && c.peek() < 0x40 {
		c.at++
	}
	params := c.s[from:c.at]
	plain := c.at
	for c.peek() >= 0x20 && c.peek() < 0x30 {
		c.at++
	}
	intermediates := c.at > plain
	final := c.peek()
	if final < 0x40 || final >= 0x7f {
		return // unfinished, or broken off by what cannot belong to it
	}
	c.at++
	if final == 'm' && !intermediates && len(params) <= maxSGR && strings.Trim(params, "0123456789;") == "" {
		c.out.WriteString("\x1b[" + params + "m")
	}
}

// str follows the introducer of a string, which hides everything up to its end: ST, for OSC also BEL. CAN, SUB and
// another escape sequence break it off.
func (c *scanner) str(osc bool) {
	for {
		r, ok := c.next()
		switch {
		case !ok, r == c1ST, r == can, r == sub, osc && r == bel:
			return
		case r == esc:
			if c.peek() == '\\' {
				c.at++
			} else {
				c.at-- // the ESC begins the next sequence
			}
			return
		}
	}
}
