package tools

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp/syntax"
	"strings"
	"sync/atomic"
	"unicode"
)

// ripgrep asks the program of that name which files can hold a match at all; what they hold and how it is shown is
// decided here, so that the answer is the same without it. It is safe for concurrent use; nil stands for no such program.
type ripgrep struct {
	path string
	args []string
	off  atomic.Bool // it has failed once: everything is searched here
}

// rgFrom is the number of files, or their size in bytes, for which starting a program is worth it.
const (
	rgFromFiles = 64
	rgFromBytes = 8 << 20
)

// ripgrep returns nil if the program is not there, would not understand the pattern, or would gain nothing: where a plain
// text has to be in every match, looking for that costs less than reading every file in another program; and what fits an
// empty text is in almost every file.
func (b *Box) ripgrep(q *query) *ripgrep {
	path := b.program("rg")
	if path == "" || q.match.needle.text != "" || q.match.re.MatchString("") {
		return nil
	}
	expr, ok := rust(q.match.re.String(), q.match.multiline)
	if !ok {
		return nil
	}
	// Binary files are told apart and counted here, encodings by their mark in both places: so whatever may be binary is a
	// candidate, which is what holds a NUL, or in UTF-16 what cannot be decoded.
	expr = `(?:` + expr + `)|\x00|\x{fffd}`
	args := []string{"--no-config", "--no-ignore", "--text", "--files-with-matches", "--null", "--color=never", "--no-mmap", "--threads=1"}
	if q.match.multiline {
		args = append(args, "--multiline")
	}
	return &ripgrep{path: path, args: append(args, "--regexp="+expr, "--")}
}

// candidates returns the files that have to be searched.
func (r *ripgrep) candidates(ctx context.Context, files []file) []file {
	if r == nil || r.off.Load() {
		return files
	}
	size, ask := int64(0), make([]string, 0, len(files))
	kept := map[string]bool{}
	for _, f := range files {
		info, err := f.entry.Info()
		if err != nil || info.Size() > grepMaxFile {
			kept[f.path] = true // to be counted
			continue
		}
		size += info.Size()
		ask = append(ask, f.path)
	}
	if len(ask) == 0 || len(files) < rgFromFiles && size < rgFromBytes {
		return files
	}
	cmd := exec.CommandContext(ctx, r.path, append(r.args[:len(r.args):len(r.args)], ask...)...)
	cmd.Env = []string{}
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) { // 1: nothing found
		if ctx.Err() == nil {
			r.off.Store(true)
		}
		return files
	}
	for name := range bytes.SplitSeq(out, []byte{0}) {
		kept[string(name)] = true
	}
	var left []file
	for _, f := range files {
		if kept[f.path] {
			left = append(left, f)
		}
	}
	return left
}

// foreign fits a byte that is not UTF-8, which package regexp takes for U+FFFD.
const foreign = `(?-u:[\x80-\xff])`

// rust translates an expression of package regexp into one of ripgrep that fits wherever the first one does, and perhaps
// elsewhere: here CRLF counts as LF, the mark at the beginning is gone, and \w and \b are ASCII. False: it cannot be done.
func rust(expr string, multiline bool) (string, bool) {
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return "", false
	}
	w := rustWriter{multiline: multiline, ok: true}
	w.write(re)
	return w.out.String(), w.ok
}

type rustWriter struct {
	out       strings.Builder
	multiline bool
	ok        bool
}

func (w *rustWriter) write(re *syntax.Regexp) {
	switch re.Op {
	case syntax.OpEmptyMatch:
		w.out.WriteString(`(?:)`)
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			class := []rune{r, r}
			for f := unicode.SimpleFold(r); re.Flags&syntax.FoldCase != 0 && f != r; f = unicode.SimpleFold(f) {
				class = append(class, f, f)
			}
			w.class(class)
		}
	case syntax.OpCharClass:
		w.class(re.Rune)
	case syntax.OpAnyCharNotNL:
		w.class([]rune{0, '\n' - 1, '\n' + 1, unicode.MaxRune})
	case syntax.OpAnyChar:
		w.class([]rune{0, unicode.MaxRune})
	case syntax.OpBeginLine, syntax.OpBeginText:
		w.out.WriteString(`(?:(?m:^)\x{feff}?)`)
	case syntax.OpEndLine, syntax.OpEndText:
		w.out.WriteString(`(?:\r?(?m:$))`)
	case syntax.OpWordBoundary:
		w.out.WriteString(`(?-u:\b)`)
	case syntax.OpNoWordBoundary:
		w.out.WriteString(`(?-u:\B)`)
	case syntax.OpCapture, syntax.OpConcat:
		w.join(re.Sub, "")
	case syntax.OpAlternate:
		w.join(re.Sub, "|")
	case syntax.OpStar:
		w.repeat(re.Sub[0], "*")
	case syntax.OpPlus:
		w.repeat(re.Sub[0], "+")
	case syntax.OpQuest:
		w.repeat(re.Sub[0], "?")
	case syntax.OpRepeat:
		most := ""
		if re.Max >= 0 {
			most = fmt.Sprint(re.Max)
		}
		w.repeat(re.Sub[0], fmt.Sprintf("{%d,%s}", re.Min, most))
	default: // nothing fits
		w.ok = false
	}
}

func (w *rustWriter) join(subs []*syntax.Regexp, between string) {
	w.out.WriteString("(?:")
	for i, sub := range subs {
		if i > 0 {
			w.out.WriteString(between)
		}
		w.write(sub)
	}
	w.out.WriteString(")")
}

func (w *rustWriter) repeat(sub *syntax.Regexp, times string) {
	w.join([]*syntax.Regexp{sub}, "")
	w.out.WriteString(times)
}

// class writes a set of characters, given as ranges.
func (w *rustWriter) class(ranges []rune) {
	var set, more strings.Builder
	add := func(low, high rune) {
		if low <= high {
			fmt.Fprintf(&set, `\x{%x}-\x{%x}`, low, high)
		}
	}
	for i := 0; i < len(ranges); i += 2 {
		low, high := ranges[i], ranges[i+1]
		if low <= unicode.ReplacementChar && unicode.ReplacementChar <= high {
			more.WriteString("|" + foreign)
		}
		if low <= '\n' && '\n' <= high {
			if w.multiline {
				more.WriteString(`|\r\n`)
			} else { // no line holds one, and ripgrep refuses a pattern that asks for it
				add(low, '\n'-1)
				low = '\n' + 1
			}
		}
		const firstHalf, lastHalf = 0xd800, 0xdfff // of pairs, which are no characters
		if low <= lastHalf && high >= firstHalf {
			add(low, firstHalf-1)
			low = lastHalf + 1
		}
		add(low, high)
	}
	switch {
	case set.Len() == 0:
		w.ok = false
	case more.Len() > 0:
		w.out.WriteString(`(?:[` + set.String() + `]` + more.String() + `)`)
	case len(ranges) == 2 && ranges[0] == ranges[1]:
		fmt.Fprintf(&w.out, `\x{%x}`, ranges[0])
	default:
		w.out.WriteString(`[` + set.String() + `]`)
	}
}
