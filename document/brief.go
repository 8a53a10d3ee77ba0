package document

import "strings"

// Brief is what is wanted, in four sections that are all required, and what was
// added later. The zero value is an empty, incomplete brief.
type Brief struct {
	Goal     string // what is to be made
	Accept   string // how one sees that it is right
	Bounds   string // what is not to be done; "none" is an answer
	Unknowns string // open points and assumptions; "none" is an answer
	// Rest is text that belongs to no section and must not be lost: additions,
	// later repetitions of a section, sections of other names; with headings.
	Rest string
}

// The two kinds of additions, the headings AppendToBrief is made for.
const (
	AddedAtWake  = "唤醒时追加" // said when a workspace is woken
	AddedRunning = "运行中补充" // said while a step runs
)

// ParseBrief reads a brief out of a model's reply or a file.
func ParseBrief(text string) Brief {
	p := briefDialect.parse(text, keyGoal, keyAccept)
	s := p.sections
	return Brief{Goal: s[keyGoal], Accept: s[keyAccept], Bounds: s[keyBounds], Unknowns: s[keyUnknowns], Rest: p.rest}
}

// Missing names the sections that are empty, of goal, accept, bounds, unknowns,
// in this order.
func (b Brief) Missing() []string {
	var names []string
	for _, s := range b.sections() {
		if isBlank(clean(s[1]), s[0] == keyGoal || s[0] == keyAccept) {
			names = append(names, s[0])
		}
	}
	return names
}

// Complete reports whether no section is missing.
func (b Brief) Complete() bool { return len(b.Missing()) == 0 }

// Markdown is the brief as it lies on disk. An empty section holds (未填).
// Sections are written as they are: fill them by parsing, which leaves nothing
// in them that reads as a heading.
func (b Brief) Markdown() string {
	return briefDialect.file("需求确认书", "(未填)", b.Rest, b.sections()...)
}

// PromptBlock is the whole brief, additions included, for a model to read.
func (b Brief) PromptBlock() string {
	return briefDialect.file("", "(未填)", b.Rest, b.sections()...)
}

func (b Brief) sections() [][2]string {
	return [][2]string{{keyGoal, b.Goal}, {keyAccept, b.Accept}, {keyBounds, b.Bounds}, {keyUnknowns, b.Unknowns}}
}

// AppendToBrief adds what a person said to the text of a brief's file, under
// "## heading(at)"; heading is AddedAtWake or AddedRunning, at a time of day
// HH:MM:SS. Nothing changes when text is blank or is there as an addition
// already. The sections of the file stay what they were whatever text holds:
// one that looks like structure is quoted line by line, and a fence that file
// left open is closed first, so that it cannot hide the addition.
func AppendToBrief(file, heading, at, text string) (newFile string, changed bool) {
	body := quoteStructure(text)
	if body == "" {
		return file, false
	}
	title := oneLine(heading) + "(" + oneLine(at) + ")"
	added := briefDialect.split("## " + title + "\n" + body)
	body = added[len(added)-1].text()
	for _, b := range briefDialect.split(file) {
		if b.own && b.text() == body {
			return file, false
		}
	}
	return appendBlock(file, "## "+title+"\n"+body), true
}

// isAddition tells the headings of AppendToBrief.
func isAddition(line string) bool {
	n, rest := cutHashes(line)
	rest = strings.TrimSpace(rest)
	return n > 0 && (strings.HasPrefix(rest, AddedAtWake) || strings.HasPrefix(rest, AddedRunning))
}

// appendBlock puts a block at the end of a file, where nothing hides it.
func appendBlock(file, block string) string {
	file = strings.TrimRight(clean(file), "\n")
	var scan scanner
	for line := range strings.SplitSeq(file, "\n") {
		scan.next(line)
	}
	if c := scan.closer(); c != "" {
		file += "\n" + c
	}
	if file != "" {
		file += "\n\n"
	}
	return file + block + "\n"
}

// quoteStructure returns text so that no line of it can be read as structure of
// any document: as it is when that holds already, else every line behind "> ".
func quoteStructure(text string) string {
	text = (&block{lines: trimLines(clean(text))}).text()
	if !hasStructure(text) {
		return text
	}
	return "> " + strings.ReplaceAll(text, "\n", "\n> ")
}

func trimLines(text string) []string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " \t")
	}
	return lines
}

func hasStructure(text string) bool {
	for line := range strings.SplitSeq(text, "\n") {
		s := strings.TrimLeft(line, " \t")
		if isRule(s) || s != "" && strings.Trim(s, "=") == "" || isAmendment(s) {
			return true
		}
		for _, d := range []*dialect{briefDialect, goalDialect} {
			if _, ok := d.parseHeading(s); ok {
				return true
			}
		}
		for n := listMark(s); n > 0; n = listMark(s) {
			s = strings.TrimLeft(s[n:], " \t")
		}
		for _, p := range []string{"#", "＃", "```", "~~~", "<!--"} {
			if strings.HasPrefix(s, p) {
				return true
			}
		}
	}
	return false
}
