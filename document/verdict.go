package document

import "strings"

// State is what a verdict concludes. The zero value is Unclear.
type State int

// What a verdict can conclude.
const (
	Unclear     State = iota // not understood, contradicts itself, or absent
	Achieved                 // the goal is achieved
	NotYet                   // another round may achieve it
	Unreachable              // another round would be useless
)

// String is unclear, achieved, not_yet or unreachable.
func (s State) String() string {
	switch s {
	case Achieved:
		return "achieved"
	case NotYet:
		return "not_yet"
	case Unreachable:
		return "unreachable"
	default:
		return "unclear"
	}
}

// word is the state as a file says it.
func (s State) word() string {
	switch s {
	case Achieved:
		return "达成"
	case NotYet:
		return "未达成"
	case Unreachable:
		return "无法达成"
	default:
		return "不明确"
	}
}

// Verdict is a judge's answer to "is the goal achieved".
type Verdict struct {
	State  State
	Reason string
	Failed []string // the checks that did not pass, one line each
}

// Pass reports whether the round passes: Achieved, and no check failed.
func (v Verdict) Pass() bool { return v.State == Achieved && len(v.Failed) == 0 }

// ParseVerdict reads a verdict out of a model's reply. The conclusion decides,
// nothing else: not the reason, not what is quoted or fenced. Without a
// conclusion only a reply whose text before the first heading is one word of
// the choice (or the digit 1 or 0 and nothing else at all) says something. A
// conclusion of achieved over a list of failed checks contradicts itself and is
// Unclear.
func ParseVerdict(text string) Verdict {
	p := verdictDialect.parse(text)
	v := Verdict{Reason: p.sections[keyReason]}
	conclusion, found := p.sections[keyConclusion]
	switch {
	case found:
		v.State = conclude(conclusion)
	case len(p.repeats) == 0 && p.rest == "":
		v.State = bare(p.preamble, true)
	case len(p.repeats[keyConclusion]) == 0:
		v.State = bare(p.preamble, false)
	}
	for _, b := range p.repeats[keyFailed] {
		if v.Failed = failed(b, v.State); len(v.Failed) > 0 {
			break
		}
	}
	if v.State == Achieved && len(v.Failed) > 0 {
		v.State = Unclear
	}
	return v
}

// Markdown is the verdict in the form ParseVerdict reads.
func (v Verdict) Markdown() string {
	state := v.State
	if state == Achieved && !v.Pass() {
		state = Unclear
	}
	return verdictDialect.file("", "(空)", "", [2]string{keyConclusion, state.word()},
		[2]string{keyReason, v.Reason}, [2]string{keyFailed, bullets(v.Failed)})
}

// failed lists the failed checks under their heading. Prose there is one too,
// unless it only says that there are none: with a state other than Achieved its
// first paragraph, else what speaks of a fault (a polite closing line does not).
func failed(b *block, state State) []string {
	list, loose := items(b.text())
	list = keep(list, func(s string) bool { return !saysNone(s, false) })
	if len(list) > 0 {
		return list
	}
	first, _, _ := strings.Cut(b.text(), "\n\n")
	_, loose1 := items(first)
	for i, s := range loose {
		if saysNone(s, true) {
			continue
		}
		if b.inline && i == 0 || state != Achieved && i < len(loose1) && b.adjacent() || speaksOfFault(s, b.adjacent() && i < len(loose1)) {
			if s = tidyItem(s); s != "" {
				list = append(list, s)
			}
		}
	}
	return list
}

// adjacent reports whether the text begins right under the heading.
func (b *block) adjacent() bool { return len(b.lines) > 0 && b.lines[0] != "" }

func keep(list []string, ok func(string) bool) []string {
	var out []string
	for _, s := range list {
		if ok(s) {
			out = append(out, s)
		}
	}
	return out
}
