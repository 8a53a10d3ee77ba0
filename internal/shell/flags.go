package shell

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// program is what one program, or one sub-command of it, may be given. The zero
// value takes operands of any number and no flag at all.
type program struct {
	// short lists the allowed one-letter flags the way getopt does: "ab:c::" means
	// that b needs a value, glued or as the next word, and c takes one only glued.
	short string
	// long lists the allowed long flags with the same colons, blanks between them.
	// "name" takes no value, "name:" needs one, "name::" takes one after = only.
	long string

	digits bool // -20 is a flag, on its own or among letters
	tame   bool // no flag the program has does harm, so a file name may be taken for one
	first  bool // flags count only before the operands; after them they are refused
	apart  bool // the value of a one-letter flag is the next word, never glued
	none   bool // no operands
	max    int  // most operands; 0 means any number
	reads  bool // operands and values may name files whose content is read
	text   bool // the first operand is a pattern and no file, unless -e, -f or --regexp is there

	// check judges what the lists cannot: the reason for a refusal, or "".
	check func(call) string
	// whole replaces everything above.
	whole func(args []word) string
}

// flag is a flag of a call: one letter or a long name, without dashes.
type flag struct {
	name  string
	value word
	has   bool // a value was given
}

// call is a command line split into flags and operands.
type call struct {
	flags    []flag
	operands []word
	dashes   int // operands before the --; all of them without one
}

// has reports whether one of the flags was given.
func (c call) has(names ...string) bool {
	for _, f := range c.flags {
		for _, n := range names {
			if f.name == n {
				return true
			}
		}
	}
	return false
}

// kind of value a flag takes.
type kind int

const (
	unknown kind = iota
	bare
	needs
	glued
)

// judge returns the reason for refusing args, or "".
func (p *program) judge(args []word) string {
	if p.whole != nil {
		return p.whole(args)
	}
	c, reason := p.split(args)
	if reason != "" {
		return reason
	}
	if reason := wideFlag(c.flags); reason != "" {
		return reason
	}
	if p.none && len(c.operands) > 0 {
		return fmt.Sprintf("%s is an argument too many", clip(c.operands[0].text))
	}
	if p.max > 0 {
		if len(c.operands) > p.max {
			return fmt.Sprintf("%s is an argument too many", clip(c.operands[p.max].text))
		}
		for _, o := range c.operands {
			if o.glob {
				return "a pattern may become more arguments than are harmless"
			}
		}
	}
	if p.reads {
		if reason := p.readable(c); reason != "" {
			return reason
		}
	}
	if p.check != nil {
		return p.check(c)
	}
	return ""
}

// readable judges the files a call reads.
func (p *program) readable(c call) string {
	files := c.operands
	if p.text && len(files) > 0 && !c.has("e", "f", "regexp", "file") {
		files = files[1:]
	}
	for _, f := range c.flags {
		if f.has && f.name != "e" && f.name != "regexp" {
			files = append(files[:len(files):len(files)], f.value)
		}
	}
	for _, w := range files {
		if reason := endless(w); reason != "" {
			return reason
		}
	}
	return ""
}

// split sorts args into flags and operands. Flags count after operands too: a
// program that does not see them there gets an operand that was judged as a flag.
func (p *program) split(args []word) (call, string) {
	c := call{dashes: -1}
	for i := 0; i < len(args); i++ {
		w := args[i]
		if c.dashes >= 0 || !strings.HasPrefix(w.text, "-") || w.text == "-" {
			if w.lead && !p.tame && c.dashes < 0 {
				return c, fmt.Sprintf("a file name matching %s could be taken for a flag; write ./ before it, or quote it", clip(w.text))
			}
			c.operands = append(c.operands, w)
			continue
		}
		if w.dyn || w.glob && !p.valueOnly(w) {
			return c, fmt.Sprintf("the flag %s is not a plain word", clip(w.text))
		}
		if w.text == "--" {
			c.dashes = len(c.operands)
			continue
		}
		if p.first && len(c.operands) > 0 {
			return c, fmt.Sprintf("the flag %s stands after an operand", clip(w.text))
		}
		var next *word
		if i+1 < len(args) {
			next = &args[i+1]
		}
		fs, used, reason := p.flags(w.text, next)
		if reason != "" {
			return c, reason
		}
		if w.glob {
			fs[0].value.glob = true
		}
		c.flags = append(c.flags, fs...)
		if used {
			i++
		}
	}
	if c.dashes < 0 {
		c.dashes = len(c.operands)
	}
	return c, ""
}

// valueOnly reports whether a pattern for file names stands only in the value of a long flag: whatever it becomes, this
// flag stays in front. In a tame program no value does harm.
func (p *program) valueOnly(w word) bool {
	name, _, ok := strings.Cut(w.text, "=")
	return ok && p.tame && strings.HasPrefix(name, "--") && !strings.ContainsAny(name, "*?[")
}

// flags takes one word that begins with a dash apart. used says that next was
// taken as a value.
func (p *program) flags(text string, next *word) (fs []flag, used bool, reason string) {
	if name, ok := strings.CutPrefix(text, "--"); ok {
		return p.longFlag(name, next)
	}
	for s := text[1:]; s != ""; {
		_, n := utf8.DecodeRuneInString(s)
		letter, rest := s[:n], s[n:]
		s = rest
		switch p.shortKind(letter) {
		case bare:
			fs = append(fs, flag{name: letter})
		case glued:
			fs = append(fs, flag{letter, word{text: rest}, rest != ""})
			return fs, false, ""
		case needs:
			if rest != "" {
				if p.apart && !isDigits(rest) {
					return nil, false, fmt.Sprintf("the value of -%s is glued to it", letter)
				}
				return append(fs, flag{letter, word{text: rest}, true}), false, ""
			}
			v, reason := p.value(letter, next)
			return append(fs, flag{letter, v, true}), true, reason
		default:
			return nil, false, fmt.Sprintf("the flag %s is not on the list of harmless ones", clip("-"+letter))
		}
	}
	return fs, false, ""
}

func (p *program) longFlag(name string, next *word) (fs []flag, used bool, reason string) {
	name, v, has := strings.Cut(name, "=")
	f := flag{name, word{text: v}, has}
	switch k := p.longKind(name); {
	case k == glued, k == bare && !has, k == needs && has:
		return []flag{f}, false, ""
	case k == needs:
		f.value, reason = p.value(name, next)
		f.has = true
		return []flag{f}, true, reason
	}
	return nil, false, fmt.Sprintf("the flag %s is not on the list of harmless ones", clip("--"+name))
}

// value is the next word as the value of the flag name. A word that looks like a
// flag is one to every version of the program in which name takes no value, so it is
// refused where that could matter.
func (p *program) value(name string, next *word) (word, string) {
	if next == nil {
		return word{}, fmt.Sprintf("the flag %s has no value", clip(name))
	}
	if next.glob {
		return word{}, fmt.Sprintf("the value of the flag %s is a pattern for file names; quote it", clip(name))
	}
	t := next.text
	if name == "sort" && gitSortKeys[t] {
		return *next, ""
	}
	if !p.tame && name != "e" && name != "regexp" && len(t) > 1 && t[0] == '-' && !isDigits(t[1:]) {
		return word{}, fmt.Sprintf("%s could be taken for a flag", clip(t))
	}
	return *next, ""
}

func (p *program) shortKind(letter string) kind {
	if p.digits && isDigits(letter) {
		return bare
	}
	i := strings.Index(p.short, letter)
	if letter == ":" || i < 0 {
		return unknown
	}
	return colons(p.short[i+len(letter):])
}

func (p *program) longKind(name string) kind {
	if name == "" || strings.Contains(name, ":") {
		return unknown
	}
	for f := range strings.FieldsSeq(p.long) {
		if tail, ok := strings.CutPrefix(f, name); ok && strings.Trim(tail, ":") == "" {
			return colons(tail)
		}
	}
	return unknown
}

func colons(tail string) kind {
	switch {
	case strings.HasPrefix(tail, "::"):
		return glued
	case strings.HasPrefix(tail, ":"):
		return needs
	}
	return bare
}

// subcommand judges the first operand against table and the rest with what it
// finds there. global lists the flags that may stand before it.
func subcommand(table map[string]*program, global *program, args []word) string {
	for len(args) > 0 && strings.HasPrefix(args[0].text, "-") {
		w := args[0]
		var next *word
		if len(args) > 1 {
			next = &args[1]
		}
		if w.glob || w.dyn || w.text == "-" || w.text == "--" {
			return fmt.Sprintf("%s before the sub-command is not on the list", clip(w.text))
		}
		_, used, reason := global.flags(w.text, next)
		if reason != "" {
			return reason
		}
		args = args[1:]
		if used {
			args = args[1:]
		}
	}
	if len(args) == 0 {
		if p := table[""]; p != nil {
			return p.judge(nil)
		}
		return "there is no sub-command"
	}
	name := args[0]
	p := table[name.text]
	if p == nil || name.text == "" || name.glob || name.dyn {
		return fmt.Sprintf("the sub-command %s is not on the list of harmless ones", clip(name.text))
	}
	if reason := p.judge(args[1:]); reason != "" {
		return name.text + ": " + reason
	}
	return ""
}
