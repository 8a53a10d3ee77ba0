package config

import (
	"regexp"
	"strings"
	"unicode"
)

// prepare rewrites the content of a .env file so that the library reads every value as it is meant. By itself it cuts a
// comment only at its last "#" and never at the beginning of a value, drops backslashes and the quotes next to the
// closing one, and expands what only looks like a variable.
//
// The rules, which are those that the implementations for Python, JavaScript and shells agree on where they do:
//
//   - Outside quotes a "#" at the beginning of the value or after a blank begins a comment.
//   - Between double quotes \n, \r, \", \\ and \$ are escapes; any other backslash is one.
//   - Between single quotes everything is itself; \' does not close them.
//   - $NAME and ${NAME} refer to earlier lines, outside single quotes. Any other "$" is one, in ${NAME:-word} too.
//
// data has no NUL: what the library would change stands as a NUL with a letter until restore.
func prepare(data string) string {
	p := preparer{rest: strings.ReplaceAll(data, "\r\n", "\n")}
	for p.statement() {
	}
	return p.out.String() + p.rest
}

// Stand-ins, and what they stand for.
var (
	restore = strings.NewReplacer("\x00b", `\`, "\x00q", `"`, "\x00a", `'`, "\x00d", "$", "\x00c", "}").Replace
	quoting = map[byte]string{'\\': "\x00b", '"': "\x00q", '\'': "\x00a", '$': "\x00d", '}': "\x00c"}
)

// reference is a variable that the library expands: it knows capital letters only.
var reference = regexp.MustCompile(`^\$(?:\{[A-Z_][A-Z0-9_]*\}|[A-Z_][A-Za-z0-9_]*)`)

type preparer struct {
	rest string
	out  strings.Builder
}

// take moves bytes from what is left to what is done.
func (p *preparer) take(n int) {
	p.out.WriteString(p.rest[:n])
	p.rest = p.rest[n:]
}

// until moves what is before the first of some characters; false if there is none of them.
func (p *preparer) until(chars string) bool {
	n := strings.IndexAny(p.rest, chars)
	if n < 0 {
		return false
	}
	p.take(n)
	return true
}

// statement prepares one assignment; false if there is no other, or the rest is for the library to refuse.
func (p *preparer) statement() bool {
	p.take(len(p.rest) - len(strings.TrimLeftFunc(p.rest, unicode.IsSpace)))
	if strings.HasPrefix(p.rest, "#") {
		return p.until("\n")
	}
	if !p.until("=:\n") || p.rest[0] == '\n' {
		return false
	}
	p.take(1)
	p.take(len(p.rest) - len(strings.TrimLeftFunc(p.rest, blank)))
	if p.rest == "" {
		return false
	}
	if quote := p.rest[0]; quote == '"' || quote == '\'' {
		return p.quoted(quote)
	}
	end := strings.IndexAny(p.rest, "\r\n")
	if end < 0 {
		end = len(p.rest)
	}
	value := p.rest[:end]
	p.rest = p.rest[end:]
	p.out.WriteString(protect(withoutComment(value), `$`))
	return true
}

// quoted prepares a value in quotes; false if they do not close.
func (p *preparer) quoted(quote byte) bool {
	escapes := `"\$`
	if quote == '\'' {
		escapes = `'`
	}
	for i := 1; i < len(p.rest); i++ {
		switch {
		case p.rest[i] == '\\' && i+1 < len(p.rest) && strings.IndexByte(escapes, p.rest[i+1]) >= 0:
			i++
		case p.rest[i] == quote:
			value := p.rest[1:i]
			if quote == '"' {
				value = protect(value, escapes)
			} else {
				value = strings.NewReplacer(`\'`, quoting['\\']+quoting['\'']).Replace(value)
			}
			p.out.WriteString(string(quote) + value + string(quote))
			p.rest = p.rest[i+1:]
			return true
		}
	}
	return false
}

// protect puts stand-ins for what the library would change. Behind a backslash each of escapes is itself.
func protect(value, escapes string) string {
	var out strings.Builder
	inQuotes := len(escapes) > 1
	for i := 0; i < len(value); i++ {
		next := byte(0)
		if i+1 < len(value) {
			next = value[i+1]
		}
		switch c := value[i]; {
		case c == '\\' && next != 0 && strings.IndexByte(escapes, next) >= 0:
			out.WriteString(quoting[next])
			i++
		case c == '\\' && inQuotes && next != 'n' && next != 'r':
			out.WriteString(quoting[c])
		case c == '$':
			name := reference.FindString(value[i:])
			if name == "" || strings.ContainsFunc(name, unicode.IsLower) {
				out.WriteString(quoting[c])
				continue
			}
			out.WriteString(name)
			if i += len(name) - 1; i+1 < len(value) && value[i+1] == '}' { // it would go with the name
				out.WriteString(quoting['}'])
				i++
			}
		default:
			out.WriteByte(c)
		}
	}
	return out.String()
}

// withoutComment is a value without quotes up to its comment.
func withoutComment(value string) string {
	before := ' '
	for i, r := range value {
		if r == '#' && blank(before) {
			return strings.TrimRightFunc(value[:i], blank)
		}
		before = r
	}
	return value
}

// blank tells the blanks of the library, which are those that do not end a line.
func blank(r rune) bool {
	switch r {
	case '\t', '\v', '\f', '\r', ' ', 0x85, 0xa0:
		return true
	}
	return false
}
