package shell

import (
	"fmt"
	"path"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// word is one argument as the program gets it, as far as the line shows it.
type word struct {
	text string // quotes and backslashes undone
	glob bool   // holds a live * ? or [, so it may become any number of file names
	lead bool   // and nothing stands before it: a file name may look like a flag
	dyn  bool   // holds $?, written as 0 in text: digits, but unknown ones
}

// piece is a part of a word: text, and whether the shell still expands it.
type piece struct {
	text string
	live bool
}

// evalWord undoes the quoting of w and refuses every expansion whose value could
// matter.
func evalWord(w *syntax.Word) (word, string) {
	pieces, dyn, reason := piecesOf(w)
	if reason != "" {
		return word{}, reason
	}
	if braces(pieces) {
		return word{}, severalWords
	}
	return assemble(pieces, dyn)
}

const severalWords = "a brace expansion makes words that are not on the line"

// evalArgument is evalWord for an argument of a command, which may become several.
func evalArgument(w *syntax.Word) ([]word, string) {
	pieces, dyn, reason := piecesOf(w)
	if reason != "" {
		return nil, reason
	}
	if !braces(pieces) {
		one, reason := assemble(pieces, dyn)
		return []word{one}, reason
	}
	texts, ok := expandBraces(pieces)
	if !ok || dyn {
		return nil, severalWords
	}
	var words []word
	for _, t := range texts {
		one, reason := assemble([]piece{{t, true}}, false)
		if reason != "" {
			return nil, reason
		}
		words = append(words, one)
	}
	return words, ""
}

// evalArguments returns the words of a call, its name first.
func evalArguments(c *syntax.CallExpr) ([]word, string) {
	var words []word
	for i, a := range c.Args {
		several, reason := evalArgument(a)
		if reason != "" {
			return nil, reason
		}
		// Of a name, and of git's words, nothing may depend on an expansion: flags are put between them.
		if len(several) != 1 && (i == 0 || words[0].text == "git") {
			return nil, severalWords
		}
		words = append(words, several...)
	}
	// As the name of a command a single bracket is no pattern.
	if len(words) > 0 && c.Args[0].Lit() == "[" {
		words[0].glob, words[0].lead = false, false
	}
	return words, ""
}

func piecesOf(w *syntax.Word) (pieces []piece, dyn bool, reason string) {
	var out word
	for _, p := range w.Parts {
		pieces, reason = appendPart(pieces, p, &out)
		if reason != "" {
			return nil, false, reason
		}
	}
	return pieces, out.dyn, ""
}

// assemble joins pieces without a brace expansion.
func assemble(pieces []piece, dyn bool) (word, string) {
	out := word{dyn: dyn}
	var text strings.Builder
	if len(pieces) > 0 && pieces[0].live && len(pieces[0].text) > 1 && pieces[0].text[0] == '~' && strings.IndexByte("+-0123456789", pieces[0].text[1]) >= 0 {
		return word{}, "where the directories of the shell are is unknown"
	}
	for _, p := range pieces {
		if p.live {
			if reason := scanLive(p.text); reason != "" {
				return word{}, reason
			}
			if i := strings.IndexAny(p.text, "*?["); i >= 0 {
				out.glob = true
				out.lead = out.lead || text.Len() == 0 && i == 0
			}
		}
		text.WriteString(p.text)
	}
	out.text = text.String()
	return out, ""
}

func appendPart(pieces []piece, part syntax.WordPart, out *word) ([]piece, string) {
	switch p := part.(type) {
	case *syntax.Lit:
		return unescape(pieces, p.Value, ""), ""
	case *syntax.SglQuoted:
		if !p.Dollar {
			return append(pieces, piece{text: p.Value}), ""
		}
		s, ok := ansiC(p.Value)
		if !ok {
			return nil, "an escape in $'…' is not on the list"
		}
		return append(pieces, piece{text: s}), ""
	case *syntax.DblQuoted:
		if p.Dollar {
			return nil, `a translated string $"…" may be expanded twice`
		}
		for _, q := range p.Parts {
			if l, ok := q.(*syntax.Lit); ok {
				for _, u := range unescape(nil, l.Value, "$`\"\\") {
					pieces = append(pieces, piece{text: u.text})
				}
				continue
			}
			if !exitStatus(q) {
				return nil, expansion(q)
			}
			out.dyn = true
			pieces = append(pieces, piece{text: "0"})
		}
		return pieces, ""
	}
	if exitStatus(part) {
		out.dyn = true
		return append(pieces, piece{text: "0"}), ""
	}
	return nil, expansion(part)
}

// exitStatus reports whether p is $? or ${?}, without anything done to it.
func exitStatus(p syntax.WordPart) bool {
	e, ok := p.(*syntax.ParamExp)
	if !ok || e.Param == nil || e.Param.Value != "?" {
		return false
	}
	return e.Flags == nil && !e.Excl && !e.Length && !e.Width && !e.IsSet &&
		e.Split == 0 && e.GlobSubst == 0 && e.RcExpand == 0 &&
		e.NestedParam == nil && e.Index == nil && len(e.Modifiers) == 0 &&
		e.Slice == nil && e.Repl == nil && e.Names == 0 && e.Exp == nil
}

// expansion is the reason for refusing p.
func expansion(p syntax.WordPart) string {
	switch p.(type) {
	case *syntax.CmdSubst:
		return "a command substitution runs a command"
	case *syntax.ProcSubst:
		return "a process substitution runs a command"
	case *syntax.ArithmExp:
		return "arithmetic evaluates what its words hold"
	case *syntax.ParamExp:
		return "the value of a variable is unknown"
	}
	return "an expansion has an unknown value"
}

// unescape splits raw shell text into live pieces and pieces a backslash has
// quoted. special lists what a backslash quotes; empty means everything.
func unescape(pieces []piece, raw, special string) []piece {
	for raw != "" {
		i := strings.IndexByte(raw, '\\')
		if i < 0 || i == len(raw)-1 {
			return append(pieces, piece{raw, true})
		}
		if i > 0 {
			pieces = append(pieces, piece{raw[:i], true})
		}
		_, n := utf8.DecodeRuneInString(raw[i+1:])
		quoted := raw[i+1 : i+1+n]
		switch {
		case quoted == "\n": // a joined line: nothing is left
		case special == "" || strings.Contains(special, quoted):
			pieces = append(pieces, piece{text: quoted})
		default:
			pieces = append(pieces, piece{text: `\` + quoted})
		}
		raw = raw[i+1+n:]
	}
	return pieces
}

// scanLive refuses unquoted characters that people cannot see, and those they would
// take for syntax of the shell: the reader and bash would understand two lines.
func scanLive(s string) string {
	for _, r := range s {
		switch {
		case r <= unicode.MaxASCII:
		case !unicode.IsGraphic(r) || unicode.In(r, unicode.Zs, unicode.Cf):
			return fmt.Sprintf("the invisible character %U stands outside quotes", r)
		case unicode.Is(lookAlikes, r):
			return fmt.Sprintf("the character %U looks like syntax of the shell and is none; quote it", r)
		}
	}
	return ""
}

// lookAlikes are forms of ASCII characters, and dashes, quotes, bars and semicolons
// of other scripts.
var lookAlikes = &unicode.RangeTable{R16: []unicode.Range16{
	{Lo: 0x037e, Hi: 0x037e, Stride: 1}, // Greek question mark
	{Lo: 0x2010, Hi: 0x201f, Stride: 1}, // dashes, bars, quotation marks
	{Lo: 0x2024, Hi: 0x2026, Stride: 1}, // leaders, ellipsis
	{Lo: 0x2032, Hi: 0x2037, Stride: 1}, // primes
	{Lo: 0x2044, Hi: 0x2044, Stride: 1}, // fraction slash
	{Lo: 0x2212, Hi: 0x2212, Stride: 1}, // minus
	{Lo: 0x2215, Hi: 0x2216, Stride: 1}, // slashes
	{Lo: 0x2223, Hi: 0x2223, Stride: 1}, // bar
	{Lo: 0xfe50, Hi: 0xfe6b, Stride: 1}, // small forms
	{Lo: 0xff01, Hi: 0xff5e, Stride: 1}, // full-width forms
}}

// braces reports whether the pieces may hold a brace expansion. Like bash it starts at every live {, and takes for its end
// the first live } of the same depth that stands behind a comma or two dots of that depth: in "{a},}" the second one.
func braces(pieces []piece) bool {
	var live strings.Builder // quoted text becomes a mark of the same length
	for _, p := range pieces {
		if p.live {
			live.WriteString(p.text)
		} else {
			live.WriteString(strings.Repeat("\x00", len(p.text)))
		}
	}
	s := live.String()
	for {
		i := strings.IndexByte(s, '{')
		if i < 0 {
			return false
		}
		s = s[i+1:]
		if !strings.Contains(s, ",") && !strings.Contains(s, "..") {
			return false
		}
		if closes(s) {
			return true
		}
	}
}

// closes reports whether a brace group, of which s is what follows the opening brace, comes to an end.
func closes(s string) bool {
	depth, separated := 0, false
	for i := range len(s) {
		switch {
		case s[i] == '{':
			depth++
		case s[i] == '}' && depth > 0:
			depth--
		case s[i] == '}' && separated:
			return true
		case depth == 0 && (s[i] == ',' || strings.HasPrefix(s[i:], "..")):
			separated = true
		}
	}
	return false
}

// ansiC undoes the escapes of $'…'. Escapes whose meaning depends on the locale,
// and NUL, which ends the string early, are refused.
func ansiC(s string) (string, bool) {
	const letters, values = `abeEfnrtv\'"?`, "\a\b\x1b\x1b\f\n\r\t\v\\'\"?"
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		if i++; i == len(s) {
			return "", false
		}
		if k := strings.IndexByte(letters, s[i]); k >= 0 {
			b.WriteByte(values[k])
			continue
		}
		base, most, digits := 8, 3, i
		switch s[i] {
		case 'x':
			base, most, digits = 16, 2, i+1
		case 'u':
			base, most, digits = 16, 4, i+1
		case 'U':
			base, most, digits = 16, 8, i+1
		}
		end := digits
		for end < len(s) && end < digits+most && isDigit(s[end], base) {
			end++
		}
		n, err := strconv.ParseUint(s[digits:end], base, 32)
		if err != nil || n == 0 || n > unicode.MaxASCII {
			return "", false
		}
		b.WriteByte(byte(n))
		i = end - 1
	}
	return b.String(), true
}

func isDigit(c byte, base int) bool {
	_, err := strconv.ParseUint(string(c), base, 8)
	return err == nil
}

// endless is the reason for not reading the file w names: one that never ends,
// waits for keys, or shows what is not a file's content. Empty when there is none.
func endless(w word) string {
	const never = "%s may never end or shows the state of a process"
	p := w.text
	if strings.HasPrefix(p, "~") {
		_, p, _ = strings.Cut(p, "/")
		p = "./" + p
	}
	p = path.Clean(p)
	if p == "/" {
		return "reading all of / reaches devices and the state of processes"
	}
	// How many levels lie above the workspace is not on the line.
	if p == ".." || strings.HasSuffix(p, "/..") {
		return fmt.Sprintf("%s may be the root; reading all of it reaches devices and the state of processes", clip(w.text))
	}
	rest, up := strings.CutPrefix(p, "/")
	for strings.HasPrefix(rest, "../") {
		rest, up = rest[3:], true
	}
	if !up || p == "/dev/null" {
		return ""
	}
	first, below, _ := strings.Cut(rest, "/")
	for _, root := range []string{"dev", "proc", "sys"} {
		hit := strings.EqualFold(first, root)
		if w.glob {
			m, err := path.Match(first, root)
			hit = hit || err != nil || m
		}
		if hit && !(root == "proc" && strings.EqualFold(first, root) && procFiles[below]) {
			return fmt.Sprintf(never, clip(w.text))
		}
	}
	return ""
}

// procFiles are the files of /proc that end and tell of the machine, not of a
// process.
var procFiles = set(`cpuinfo meminfo loadavg uptime version mounts stat vmstat
	filesystems swaps partitions diskstats devices net/dev net/tcp net/tcp6 net/udp
	net/unix net/route sys/kernel/hostname sys/kernel/osrelease sys/fs/file-nr
	sys/fs/file-max sys/vm/swappiness sys/kernel/pid_max sys/vm/overcommit_memory`)

// set makes a set of the words of s.
func set(s string) map[string]bool {
	m := map[string]bool{}
	for _, f := range strings.Fields(s) {
		m[f] = true
	}
	return m
}
