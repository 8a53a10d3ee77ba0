package tools

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// matcher finds the lines of a text that a pattern matches.
type matcher struct {
	re        *regexp.Regexp
	multiline bool
	whole     bool // the pattern knows where the text begins or ends: no shortcut over lines
}

func newMatcher(pattern string, fold, multiline bool) (matcher, error) {
	flags := "m"
	if fold {
		flags += "i"
	}
	if multiline {
		flags += "s"
	}
	// On its own first, so that the message shows the pattern as it was given and no bracket closes ours.
	_, err := regexp.Compile(pattern)
	if err != nil {
		return matcher{}, fmt.Errorf("the pattern is not a regular expression of RE2, which has no look-around and no back-references: %w", err)
	}
	re, err := regexp.Compile("(?" + flags + ":" + pattern + ")")
	if err != nil {
		return matcher{}, fmt.Errorf("the pattern cannot be used: %w", err)
	}
	whole := strings.Contains(pattern, `\A`) || strings.Contains(pattern, `\z`)
	return matcher{re: re, multiline: multiline, whole: whole}, nil
}

// span is a match: the offset of the first and behind the last line it touches, without the last line feed, and where
// in it the match itself begins.
type span struct{ from, to, at int }

// spans returns the matching lines of body, or in multiline mode the matches with the lines they touch. Line feeds are
// the only line endings. When ctx is done it returns what it has.
func (m matcher) spans(ctx context.Context, body string) []span {
	var found []span
	for from := 0; from < len(body) && ctx.Err() == nil; {
		at, end := from, from
		if !m.whole || m.multiline {
			// One search over the rest is much faster than one for each line, and no line matches before the place
			// it finds: in multi-line mode ^, $ and \b mean the same in a text as in a line of it.
			loc := m.re.FindStringIndex(body[from:])
			if loc == nil {
				break
			}
			at, end = from+loc[0], from+loc[1]
		}
		if at >= len(body) && strings.HasSuffix(body, "\n") {
			break // an empty match behind the last line feed is in no line
		}
		first := strings.LastIndexByte(body[:at], '\n') + 1
		last := at // the last character that is in the match, or where it is empty
		if m.multiline && end > at {
			last = end - 1
		}
		stop := len(body)
		if i := strings.IndexByte(body[last:], '\n'); i >= 0 {
			stop = last + i
		}
		from = stop + 1
		if m.multiline {
			found = append(found, span{first, stop, at - first})
		} else if loc := m.re.FindStringIndex(body[first:stop]); loc != nil {
			found = append(found, span{first, stop, loc[0]})
		}
	}
	return found
}

// sheet collects the answer of a Grep.
type sheet struct {
	query *query
	text  strings.Builder

	files, matches int
	entries        int  // lines or entries so far, shown or not
	shown          int  // of them
	full           bool // there was one more than may be shown
}

// put adds one line or entry, or ends the search.
func (o *sheet) put(line string) error {
	o.entries++
	switch {
	case o.entries <= o.query.offset:
		return nil
	case o.shown >= o.query.limit || o.text.Len() > grepMaxBytes:
		o.full = true
		return errEnough
	}
	o.shown++
	o.text.WriteString(line + "\n")
	return nil
}

// file adds what is to be shown of one file.
func (o *sheet) file(name, body string, spans []span) error {
	if len(spans) == 0 {
		return nil
	}
	o.files++
	o.matches += len(spans)
	switch o.query.mode {
	case modeFiles:
		return o.put(name)
	case modeCount:
		return o.put(name + ":" + strconv.Itoa(len(spans)))
	}
	return o.lines(name, body, spans)
}

// lines adds the lines of spans with their context; groups that do not touch are separated as grep does it.
func (o *sheet) lines(name, body string, spans []span) error {
	lines := strings.Split(strings.TrimSuffix(body, "\n"), "\n")
	context := o.query.before+o.query.after > 0
	next, offset, number := 0, 0, 0 // index of the next line to show; offset and index of a line before all spans
	for i, s := range spans {
		number += strings.Count(body[offset:s.from], "\n")
		offset = s.from
		first, last := number, number+strings.Count(body[s.from:s.to], "\n")
		from := max(next, first-o.query.before)
		gap := ""
		if context && (from > next || next == 0) && o.shown > 0 {
			gap = "--\n"
		}
		to := min(len(lines)-1, last+o.query.after)
		if i+1 < len(spans) { // lines of the next match are shown with it
			to = min(to, last+strings.Count(body[s.to:spans[i+1].from], "\n")-1)
		}
		for n := from; n <= to; n++ {
			sign, at := "-", 0
			if n >= first && n <= last {
				sign = ":"
				if n == first {
					at = s.at
				}
			}
			label := gap + name + sign
			gap = ""
			if o.query.numbers {
				label += strconv.Itoa(n+1) + sign
			}
			if err := o.put(label + window(lines[n], at)); err != nil {
				return err
			}
		}
		next = max(next, to+1)
	}
	return nil
}

// window is the part of a long line around the byte offset at.
func window(line string, at int) string {
	if len(line) <= grepMaxLine {
		return visible(line)
	}
	from := max(0, min(at-grepMaxLine/4, len(line)-grepMaxLine))
	for from > 0 && !utf8.RuneStart(line[from]) {
		from--
	}
	to := min(len(line), from+grepMaxLine)
	for to < len(line) && !utf8.RuneStart(line[to]) {
		to++
	}
	head, tail := "", ""
	if from > 0 {
		head = "… "
	}
	if to < len(line) {
		tail = fmt.Sprintf(" … [%d bytes in this line]", len(line))
	}
	return head + visible(line[from:to]) + tail
}
