package document

// Handoff is what a session leaves to the one that continues its work. Doing
// and Next are required, the other three may be empty.
type Handoff struct {
	Doing    string // the work at hand
	Decided  string // what is settled, with reasons
	DeadEnds string // what was tried and does not work
	Next     string // the very next step
	Scene    string // files and other places to look at
	// Rest is text that belongs to no section and must not be lost: later
	// repetitions, sections of other names; with headings.
	Rest string
}

// ParseHandoff reads a handoff out of a model's reply or a file.
func ParseHandoff(text string) Handoff {
	p := handoffDialect.parse(text, keyDoing, keyNext)
	s := p.sections
	return Handoff{Doing: s[keyDoing], Decided: s[keyDecided], DeadEnds: s[keyDeadEnds], Next: s[keyNext], Scene: s[keyScene], Rest: p.rest}
}

// Missing names the required sections that are empty, of doing and next.
func (h Handoff) Missing() []string {
	var names []string
	for _, s := range [][2]string{{keyDoing, h.Doing}, {keyNext, h.Next}} {
		if isBlank(clean(s[1]), true) {
			names = append(names, s[0])
		}
	}
	return names
}

// Complete reports whether no required section is missing.
func (h Handoff) Complete() bool { return len(h.Missing()) == 0 }

// Markdown is the handoff of a step as it lies on disk. An empty section holds
// (空).
func (h Handoff) Markdown(step string) string {
	return handoffDialect.file("交接书("+oneLine(step)+")", "(空)", h.Rest, h.sections()...)
}

// PromptBlock is the whole handoff for a model to read.
func (h Handoff) PromptBlock() string {
	return handoffDialect.file("", "(空)", h.Rest, h.sections()...)
}

func (h Handoff) sections() [][2]string {
	return [][2]string{
		{keyDoing, h.Doing}, {keyDecided, h.Decided}, {keyDeadEnds, h.DeadEnds},
		{keyNext, h.Next}, {keyScene, h.Scene},
	}
}
