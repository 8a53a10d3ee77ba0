package tools

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// entry is a line of the answer of Grep.
type entry struct {
	text string
	gap  bool // it does not touch what is before it
}

// hits are the entries of some files, in their order. Whoever searches the files owns them.
type hits struct {
	query          *query
	files, matches int
	entries        []entry
	size           int  // bytes of entries that can be shown
	full           bool // there are more than one answer holds
}

// put adds an entry, unless there are more already than one answer can hold.
func (h *hits) put(e entry) {
	if n := len(h.entries) - h.query.offset; n > h.query.limit || n > 0 && h.size > grepMaxBytes {
		h.full = true
	}
	if h.full {
		return
	}
	if len(h.entries) >= h.query.offset {
		h.size += len(e.text)
	}
	h.entries = append(h.entries, e)
}

// file adds what is to be shown of one file.
func (h *hits) file(name, body string, spans []span) {
	if len(spans) == 0 {
		return
	}
	h.files++
	h.matches += len(spans)
	switch h.query.mode {
	case modeFiles:
		h.put(entry{text: name})
	case modeCount:
		h.put(entry{text: name + ":" + strconv.Itoa(len(spans))})
	default:
		h.lines(name, body, spans)
	}
}

// lines adds the lines of spans with their context; groups that do not touch are separated as grep does it.
func (h *hits) lines(name, body string, spans []span) {
	q := h.query
	lines := strings.Split(strings.TrimSuffix(body, "\n"), "\n")
	context := q.before+q.after > 0
	next, offset, number := 0, 0, 0 // index of the next line to show; offset and index of a line before all spans
	for i, s := range spans {
		number += strings.Count(body[offset:s.from], "\n")
		offset = s.from
		first, last := number, number+strings.Count(body[s.from:s.to], "\n")
		from := max(next, first-q.before)
		gap := context && (from > next || next == 0)
		to := min(len(lines)-1, last+q.after)
		if i+1 < len(spans) { // lines of the next match are shown with it
			to = min(to, last+strings.Count(body[s.to:spans[i+1].from], "\n")-1)
		}
		for n := from; n <= to && !h.full; n++ {
			sign, at := "-", 0
			if n >= first && n <= last {
				sign = ":"
				if n == first {
					at = s.at
				}
			}
			label := name + sign
			if q.numbers {
				label += strconv.Itoa(n+1) + sign
			}
			h.put(entry{label + window(lines[n], at), gap})
			gap = false
		}
		next = max(next, to+1)
	}
}

// sheet is the answer of a Grep.
type sheet struct {
	query *query
	text  strings.Builder

	files, matches int
	entries        int  // lines or entries so far, shown or not
	shown          int  // of them
	full           bool // there was one more than may be shown
}

// add takes over the entries that still belong to the answer; errEnough if there are more.
func (o *sheet) add(h *hits) error {
	o.files += h.files
	o.matches += h.matches
	for _, e := range h.entries {
		o.entries++
		switch {
		case o.entries <= o.query.offset:
			continue
		case o.shown >= o.query.limit || o.text.Len() > grepMaxBytes:
			o.full = true
			return errEnough
		}
		if e.gap && o.shown > 0 {
			o.text.WriteString("--\n")
		}
		o.shown++
		o.text.WriteString(e.text + "\n")
	}
	if h.full {
		o.full = true
		return errEnough
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
