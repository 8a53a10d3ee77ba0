package transcript

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth is how deep objects and lists may stand in each other, the same as in encoding/json: the stack is finite.
const maxDepth = 10_000

// maxNames and maxName bound what a reader remembers: so many texts of so many bytes.
const (
	maxNames = 4096
	maxName  = 256
)

var errTooDeep = errors.New("objects and lists stand too deep in each other")

// reader goes once through a JSON text, checks it and takes out what is asked for. encoding/json would go through the
// text of a block about ten times, twice for every level that it stands in.
//
// Objects and lists are read with enter and another, which say whether an element follows; the caller reads each with
// exactly one call. After a failure, which err tells, nothing more follows and all that is read is empty.
type reader struct {
	text  []byte
	at    int
	depth int
	err   error
	names map[string]string // texts that come again and again, each kept once

	blocks []Block // of the lists that are not read to their ends yet
	valid  bool    // the text is known to be valid UTF-8
	inside bool    // of a result: see block
	halves bool    // an escape of half a character was read
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.at = len(r.text)
}

// unexpected fails at the present place.
func (r *reader) unexpected(want string) {
	if r.at < len(r.text) {
		r.fail(fmt.Errorf("byte %d is %q, want %s", r.at, r.text[r.at], want))
		return
	}
	r.fail(fmt.Errorf("the text ends at byte %d, want %s", r.at, want))
}

// peek skips white space and returns the byte that comes next, 0 at the end.
func (r *reader) peek() byte {
	for ; r.at < len(r.text); r.at++ {
		switch c := r.text[r.at]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

// enter goes into the object or list that opens here; more is false if it is empty.
func (r *reader) enter(opening byte) (more bool) {
	if r.peek() != opening {
		r.unexpected(string(opening))
		return false
	}
	if r.depth++; r.depth > maxDepth {
		r.fail(errTooDeep)
		return false
	}
	r.at++
	if r.peek() == closing(opening) {
		r.at++
		r.depth--
		return false
	}
	return true
}

// another goes to the next element of the object or list that opened with a byte, or behind it.
func (r *reader) another(opening byte) (more bool) {
	switch r.peek() {
	case ',':
		r.at++
		return true
	case closing(opening):
		r.at++
		r.depth--
		return false
	}
	if r.err == nil {
		r.unexpected("a comma or " + string(closing(opening)))
	}
	return false
}

// closing is the byte that ends what opened with another one: in ASCII they stand two places apart.
func closing(opening byte) byte { return opening + 2 }

// end fails if anything but white space is left.
func (r *reader) end() error {
	if r.err == nil && (r.peek() != 0 || r.at < len(r.text)) {
		r.unexpected("the end")
	}
	return r.err
}

// key reads a member's key and goes to its value. The bytes hold until the next call.
func (r *reader) key() []byte {
	if r.peek() != '"' {
		r.unexpected("a key")
		return nil
	}
	body, decoded := r.quoted()
	if r.peek() != ':' {
		r.unexpected("a colon")
		return nil
	}
	r.at++
	r.peek()
	if decoded < len(body) {
		return []byte(r.unquote(body, decoded))
	}
	return body
}

// string reads a string; ok is false for a value of another type, which is skipped. null is an empty string.
func (r *reader) string() (s string, ok bool) {
	body, decoded, ok := r.stringBody()
	return r.unquote(body, decoded), ok
}

// name is string for texts that come again and again.
func (r *reader) name() (s string, ok bool) {
	body, decoded, ok := r.stringBody()
	if decoded != len(body) || len(body) > maxName || !r.valid {
		return r.unquote(body, decoded), ok
	}
	if s, known := r.names[string(body)]; known {
		return s, ok
	}
	s = string(body)
	if r.names == nil {
		r.names = map[string]string{}
	}
	if len(r.names) < maxNames {
		r.names[s] = s
	}
	return s, ok
}

func (r *reader) stringBody() (body []byte, decoded int, ok bool) {
	if r.peek() == '"' {
		body, decoded = r.quoted()
		return body, decoded, r.err == nil
	}
	return nil, 0, string(r.raw()) == "null"
}

// bool reads true or false; ok is false for a value of another type, which is skipped. null is false.
func (r *reader) bool() (b, ok bool) {
	switch string(r.raw()) {
	case "true":
		return true, true
	case "false", "null":
		return false, true
	}
	return false, false
}

// int reads a whole number; ok is false for anything else, which is skipped. null is 0.
func (r *reader) int() (n int, ok bool) {
	raw := string(r.raw())
	if raw == "null" {
		return 0, true
	}
	n, err := strconv.Atoi(raw)
	return n, err == nil
}

// raw reads a value of any type and returns its bytes, which are those of the text.
func (r *reader) raw() []byte {
	r.peek()
	start := r.at
	r.skip()
	if r.err != nil {
		return nil
	}
	return r.text[start:r.at:r.at]
}

// skip goes behind a value.
func (r *reader) skip() {
	switch c := r.peek(); c {
	case '"':
		r.quoted()
	case '{':
		for more := r.enter(c); more; more = r.another(c) {
			r.key()
			r.skip()
		}
	case '[':
		for more := r.enter(c); more; more = r.another(c) {
			r.skip()
		}
	case 't':
		r.word("true")
	case 'f':
		r.word("false")
	case 'n':
		r.word("null")
	default:
		r.number()
	}
}

func (r *reader) word(w string) {
	if end := r.at + len(w); end <= len(r.text) && string(r.text[r.at:end]) == w {
		r.at = end
		return
	}
	r.unexpected(w)
}

// number goes behind a number: no zeros in front, digits on both sides of a point and in an exponent.
func (r *reader) number() {
	digits := func() {
		start := r.at
		for r.at < len(r.text) && r.text[r.at] >= '0' && r.text[r.at] <= '9' {
			r.at++
		}
		if r.at == start {
			r.unexpected("a value")
		}
	}
	has := func(set string) bool {
		if r.at < len(r.text) && strings.IndexByte(set, r.text[r.at]) >= 0 {
			r.at++
			return true
		}
		return false
	}
	has("-")
	if !has("0") {
		digits()
	}
	if has(".") {
		digits()
	}
	if has("eE") {
		has("+-")
		digits()
	}
}

// special finds the place of the next byte that does not stand for itself in a string, the end if there is none. It looks
// at eight bytes at a time: a byte of a word is found where subtracting borrows its highest bit.
func special(text []byte, at int) int {
	const each, high = 0x0101010101010101, 0x8080808080808080
	for ; at+8 <= len(text); at += 8 {
		w := binary.LittleEndian.Uint64(text[at:])
		quote, slash := w^each*'"', w^each*'\\'
		if found := (w-each*' ')&^w&high | (quote-each)&^quote&high | (slash-each)&^slash&high; found != 0 {
			return at + bits.TrailingZeros64(found)/8
		}
	}
	for at < len(text) && text[at] >= ' ' && text[at] != '"' && text[at] != '\\' {
		at++
	}
	return at
}

// quoted goes behind a string and returns what stands between its quotes, and the length of that once it is decoded.
func (r *reader) quoted() (body []byte, decoded int) {
	text, at := r.text, r.at+1
	start, saved := at, 0
	for {
		at = special(text, at)
		if at >= len(text) || text[at] < ' ' {
			r.at = at
			r.unexpected("the end of a string")
			return nil, 0
		}
		if text[at] == '"' {
			r.at = at + 1
			return text[start:at], at - start - saved
		}
		c, n := escape(text[at:])
		if n == 0 {
			r.at = at
			r.unexpected("an escape")
			return nil, 0
		}
		if c == utf8.RuneError && !bytes.EqualFold(text[at:at+n], []byte(`\ufffd`)) {
			r.halves = true
		}
		at += n
		saved += n - utf8.RuneLen(c)
	}
}

// short are the escapes of one letter.
var short = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// escape reads the escape that text begins with and says how many bytes it has: none if it is not valid. Half a
// character is U+FFFD.
func escape(text []byte) (c rune, n int) {
	if len(text) < 2 {
		return 0, 0
	}
	if c := short[text[1]]; c != 0 {
		return rune(c), 2
	}
	c, ok := escapedRune(text)
	if !ok {
		return 0, 0
	}
	if !utf16.IsSurrogate(c) {
		return c, 6
	}
	if low, ok := escapedRune(text[6:]); ok {
		if pair := utf16.DecodeRune(c, low); pair != utf8.RuneError {
			return pair, 12
		}
	}
	return utf8.RuneError, 6
}

// unquote decodes what stood between the quotes of a string, of which the decoded length is known.
func (r *reader) unquote(body []byte, decoded int) string {
	var s string
	if decoded == len(body) {
		s = string(body)
	} else {
		var out strings.Builder
		out.Grow(decoded)
		for {
			at := bytes.IndexByte(body, '\\')
			if at < 0 {
				break
			}
			out.Write(body[:at])
			c, n := escape(body[at:])
			out.WriteRune(c)
			body = body[at+n:]
		}
		out.Write(body)
		s = out.String()
	}
	if !r.valid && !utf8.ValidString(s) {
		return strings.ToValidUTF8(s, "\uFFFD")
	}
	return s
}
