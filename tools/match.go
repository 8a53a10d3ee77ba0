package tools

import (
	"context"
	"fmt"
	"regexp"
	"strings"
)

// matcher finds the lines of a text that a pattern matches.
type matcher struct {
	re        *regexp.Regexp
	multiline bool
	whole     bool // the pattern knows where the text begins or ends: no shortcut over lines
	needle    needle
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
	return matcher{re: re, multiline: multiline, whole: whole, needle: needleOf(re.String())}, nil
}

// span is a match: the offset of the first and behind the last line it touches, without the last line feed, and where
// in it the match itself begins.
type span struct{ from, to, at int }

// spans returns the matching lines of body, or in multiline mode the matches with the lines they touch. Line feeds are
// the only line endings. When ctx is done it returns what it has.
func (m matcher) spans(ctx context.Context, body string) []span {
	var found []span
	hay, quick := m.needle.hay(body)
	if quick && !strings.Contains(hay, m.needle.text) {
		return nil
	}
	for from := 0; from < len(body) && ctx.Err() == nil; {
		at, end := from, from
		switch {
		case quick && !m.multiline:
			i := strings.Index(hay[from:], m.needle.text)
			if i < 0 {
				return found
			}
			at = from + i
		case !m.whole || m.multiline:
			// One search over the rest is much faster than one for each line, and no line matches before the place
			// it finds: in multi-line mode ^, $ and \b mean the same in a text as in a line of it.
			loc := m.re.FindStringIndex(body[from:])
			if loc == nil {
				return found
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
