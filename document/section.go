package document

import (
	"slices"
	"strings"
)

// block is a heading with the text under it. The text before the first heading
// is a block without a heading.
type block struct {
	key   string // section, "" when the heading names none
	title string // heading line as it is kept, "" for the first block
	level int
	own   bool // opened by the dialect's own rule (an addition, an amendment)
	raw   bool // the heading is kept without #
	lines []string
	// inline: the text begins on the heading line.
	inline bool
}

// text is the block's text in its one canonical form: no blank lines at the
// ends, never two in a row, no rules (---) at the ends.
func (b *block) text() string {
	lines := b.lines
	for len(lines) > 0 && isRuleOrBlank(lines[0]) {
		lines = lines[1:]
	}
	for len(lines) > 0 && isRuleOrBlank(lines[len(lines)-1]) {
		lines = lines[:len(lines)-1]
	}
	out := make([]string, 0, len(lines))
	for _, l := range lines {
		if l == "" && out[len(out)-1] == "" {
			continue
		}
		out = append(out, l)
	}
	return strings.Join(out, "\n")
}

func isRuleOrBlank(line string) bool {
	s := strings.TrimSpace(line)
	if s == "" {
		return true
	}
	return isRule(s)
}

// isRule tells a thematic break: three or more of one of - * _ and blanks.
func isRule(s string) bool {
	return s != "" && strings.IndexByte("-*_", s[0]) >= 0 && strings.Count(s, s[:1]) >= 3 && strings.Trim(s, s[:1]+" \t") == ""
}

// split cuts a text into blocks. It is the one place where structure is found.
func (d *dialect) split(text string) []*block {
	cur := &block{level: 7}
	blocks := []*block{cur}
	var scan scanner
	lines := strings.Split(clean(text), "\n")
	for i := 0; i < len(lines); i++ {
		shown, may := scan.next(lines[i])
		if !may {
			cur.lines = append(cur.lines, shown)
			continue
		}
		next := ""
		if i+1 < len(lines) {
			next = lines[i+1]
		}
		h, form := d.heading(strings.TrimLeft(shown, " \t"), next)
		switch {
		case form != notHeading && (h.key != "" || h.level <= cur.level):
			cur = &block{key: h.key, title: h.title, level: h.level, own: form == ownMarked || form == ownPlain, raw: form == ownPlain}
			blocks = append(blocks, cur)
			scan.section(h)
			if h.inline != "" {
				cur.inline = true
				cur.lines = append(cur.lines, d.escape(h.inline, next))
				scan.next(cur.lines[0])
			}
			if form == underlined {
				i++
			}
		case form != notHeading && h.level < 3:
			// A heading inside a section: deep enough to stay inside.
			cur.lines = append(cur.lines, strings.TrimRight("### "+h.title, " "))
			scan.section(h)
		default:
			cur.lines = append(cur.lines, shown)
		}
	}
	return blocks
}

// headingForm says how a line is a heading.
type headingForm int

const (
	notHeading headingForm = iota
	marked                 // #, ordinal, emphasis, colon
	underlined             // by the line after it
	ownMarked              // by the dialect's own rule, with #
	ownPlain               // by the dialect's own rule, without
)

// heading reads a line, its indent gone; next is the line after it. Headings of
// the dialect's own rule have level 1: they end whatever is open.
func (d *dialect) heading(line, next string) (heading, headingForm) {
	if d.opens != nil && d.opens(line) {
		if n, rest := cutHashes(line); n > 0 {
			return heading{level: 1, title: strings.TrimSpace(rest)}, ownMarked
		}
		return heading{level: 1, title: line}, ownPlain
	}
	if h, ok := d.parseHeading(line); ok {
		return h, marked
	}
	if u := strings.TrimSpace(next); len(u) >= 2 && (u[0] == '=' || u[0] == '-') && strings.Trim(u, u[:1]) == "" && len(line) <= maxLabel {
		if key, inline, _ := d.parseLabel(line, true); key != "" && inline == "" {
			return heading{key: key, level: 2, title: line}, underlined
		}
	}
	return heading{}, notHeading
}

// escape makes a text that is put on a line of its own read as text there.
func (d *dialect) escape(line, next string) string {
	var scan scanner
	shown, may := scan.next(line)
	if shown == line && scan.mark == 0 {
		if _, form := d.heading(line, next); !may || form == notHeading {
			return line
		}
	}
	return `\` + line
}

// parts is a text cut by a dialect: its sections and what belongs to none.
type parts struct {
	sections map[string]string
	repeats  map[string][]*block // all blocks of a section, in order
	preamble string
	rest     string
}

// parse fills the sections: the first text of each that is not empty counts.
// required sections do not accept "none" as a text.
func (d *dialect) parse(text string, required ...string) parts {
	blocks := d.split(text)
	p := parts{sections: map[string]string{}, repeats: map[string][]*block{}, preamble: blocks[0].text()}
	first := 0 // level of the first section
	for _, b := range blocks {
		if b.key != "" {
			first = b.level
			break
		}
	}
	var rest []string
	seen := false
	for _, b := range blocks[1:] {
		body := b.text()
		seen = seen || b.key != "" || b.own
		switch {
		case b.key != "":
			p.repeats[b.key] = append(p.repeats[b.key], b)
			if isBlank(body, slices.Contains(required, b.key)) {
				continue
			}
			if _, taken := p.sections[b.key]; !taken {
				p.sections[b.key] = body
				continue
			}
			b.title = fileHeading[b.key]
		case !b.own && body == "":
			continue
		case !seen && (b.level < first || onlyQuotes(body)):
			continue // the document's title and the notes under it
		}
		rest = append(rest, d.render(b.title, b.raw, body))
	}
	p.rest = strings.Join(rest, "\n\n")
	return p
}

func (d *dialect) render(title string, raw bool, body string) string {
	if !raw {
		title = strings.Repeat("#", d.level) + " " + title
	}
	if body == "" {
		return title
	}
	return title + "\n\n" + body
}

// file renders a document: title, sections in order, rest.
func (d *dialect) file(title, empty, rest string, sections ...[2]string) string {
	var b strings.Builder
	if title != "" {
		b.WriteString("# " + title + "\n\n")
	}
	for i, s := range sections {
		if i > 0 {
			b.WriteString("\n\n")
		}
		body := s[1]
		if body == "" {
			body = empty
		}
		b.WriteString(d.render(fileHeading[s[0]], false, body))
	}
	if rest != "" {
		b.WriteString("\n\n" + rest)
	}
	return strings.TrimRight(clean(b.String()), "\n") + "\n"
}

// fileHeading is the heading of each section on disk.
var fileHeading = map[string]string{
	keyGoal: "目标", keyAccept: "验收标准", keyBounds: "边界", keyUnknowns: "未知与假设",
	keyStatement: "目标", keyChecks: "判定清单",
	keyConclusion: "结论", keyReason: "理由", keyFailed: "未通过",
	keyDoing: "现在在做什么", keyDecided: "已经定下的", keyDeadEnds: "走不通的路", keyNext: "下一步", keyScene: "现场",
}

// isBlank tells a text that fills nothing in: empty, or placeholders only.
// strict: "none" fills nothing in either.
func isBlank(text string, strict bool) bool {
	for line := range strings.Lines(text) {
		if len(line) > maxLabel || !isPlaceholder(line, strict) {
			return false
		}
	}
	return true
}

func isPlaceholder(line string, strict bool) bool {
	s := fold(line)
	s = strings.TrimLeft(s, "-*+•> \t\\")
	s = strings.Trim(s, "*_`~ .。…-—–·/")
	if s == "" {
		return true
	}
	inner := strings.Trim(s, "()[]【】<>{}「」\"“”*_ .。…!")
	if inner == "" || blanks[inner] || strict && nothings[inner] {
		return true
	}
	bracketed := inner != s && strings.ContainsAny(s[:1], "([<{") || strings.HasPrefix(s, "【") || strings.HasPrefix(s, "「")
	return bracketed && (bracketedBlanks[inner] || strings.Trim(inner, "-—. ") == "")
}

func onlyQuotes(text string) bool {
	for line := range strings.Lines(text) {
		if s := strings.TrimSpace(line); s != "" && s[0] != '>' {
			return false
		}
	}
	return true
}
