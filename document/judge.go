package document

import "strings"

// sense is what a clause contributes to a conclusion.
type sense int

const (
	neutralSense sense = iota // harmless: supports or says nothing
	unknownSense              // not understood: tolerated outside the deciding sentence only
	vagueSense                // speaks of achieving without saying that it is achieved
	blockSense                // takes something back: never a pass
	achievedSense
	notYetSense
	unreachableSense
)

func (s sense) state() State {
	switch s {
	case achievedSense:
		return Achieved
	case notYetSense:
		return NotYet
	case unreachableSense:
		return Unreachable
	default:
		return Unclear
	}
}

// minExplanation is the number of words from which a clause that is not
// understood counts as an explanation when it follows "achieved:". Shorter ones
// are more likely to narrow it ("achieved: on Linux").
const minExplanation = 5

// conclude understands the text of a conclusion. The first clause that states a
// verdict counts. Achieved needs more: a clause made of nothing but words that
// may stand there, every other clause of its sentence understood and harmless,
// and nothing anywhere in the conclusion that takes it back.
func conclude(text string) State {
	switch strings.Trim(fold(text), " \n*_`.。!()[]\"'") {
	case "1":
		return Achieved
	case "0":
		return NotYet
	}
	cs := clauses(plain(text))
	senses := make([]sense, len(cs))
	for i := range cs {
		senses[i] = cs[i].sense()
	}
	introduced(cs, senses)
	ignorePast(cs, senses)
	first, win := Unclear, -1
	for i, s := range senses {
		state := s.state()
		if state == Unclear {
			continue
		}
		if first == Unclear {
			first = state
		} else if state != first && (cs[i].before == '/' || first == Achieved) {
			return Unclear // a choice repeated, or a contradiction
		}
		if s == achievedSense && win < 0 {
			win = i
		}
	}
	if first != Achieved {
		return first
	}
	explained := cs[win].after == ':' || cs[win].after == '-'
	for i, s := range senses {
		lead := cs[i].sentence == cs[win].sentence
		if explained && i > win && s == unknownSense && len(cs[i].words) >= minExplanation {
			continue
		}
		if s == blockSense || lead && (s == unknownSense || s == vagueSense) {
			return Unclear
		}
	}
	if cs[win].before == '/' || cs[win].after == '/' {
		return Unclear
	}
	return Achieved
}

// introduced looks at clauses before a colon. "Open items: none" is harmless as
// a whole; "the log says: achieved" is no verdict of the one who writes.
func introduced(cs []clause, senses []sense) {
	for i := 1; i < len(cs); i++ {
		if cs[i].before != ':' {
			continue
		}
		switch {
		case cs[i].every(noneWord | filler):
			if senses[i-1] == notYetSense || senses[i-1] == blockSense && !cs[i-1].has(reserve|partial|impossible) {
				senses[i-1], senses[i] = neutralSense, neutralSense
			}
		case senses[i] == achievedSense && !cs[i-1].every(filler|whole) && !cs[i-1].onlyDenies():
			senses[i] = vagueSense
		}
	}
}

// ignorePast drops remarks about an earlier round: a clause, or a whole
// bracket, that begins so and does not say that things still are so.
func ignorePast(cs []clause, senses []sense) {
	groups := map[int]bool{}
	for i := range cs {
		c := &cs[i]
		g := c.group
		if _, known := groups[g]; g != 0 && !known {
			groups[g] = c.pastFirst()
		}
		if g != 0 && c.has(still) {
			groups[g] = false
		}
	}
	for i := range cs {
		c := &cs[i]
		if senses[i] != achievedSense && (groups[c.group] || c.group == 0 && c.pastFirst() && !c.has(still)) {
			senses[i] = neutralSense
		}
	}
}

func (c *clause) pastFirst() bool {
	for i, w := range c.words {
		if i < 2 && w.is(past) {
			return true
		}
	}
	return false
}

func (c *clause) has(k class) bool {
	for _, w := range c.words {
		if w.is(k) {
			return true
		}
	}
	return false
}

func (c *clause) every(k class) bool {
	for _, w := range c.words {
		if !w.is(k) {
			return false
		}
	}
	return true
}

// tally is a clause with harmless negations ("no errors") set aside.
type tally struct {
	paired    []bool // words of harmless pairs
	anyPair   bool
	negations int // that remain
	faults    int // that remain
}

// sense reads one clause by itself.
func (c *clause) sense() sense {
	t := c.tally()
	takesBack := c.has(reserve) || c.question || t.faults > 0 || c.has(repair) && c.has(negation|postfix|impossible)
	if c.has(impossible | hopeless) {
		return c.hopelessSense()
	}
	if c.has(able) && t.negations == 1 && c.has(achieved|achieving) {
		if takesBack {
			return blockSense
		}
		return unreachableSense
	}
	if c.has(achieved | achieving) {
		weak := !c.has(achieved)
		switch {
		case t.negations == 1 && !c.question:
			return notYetSense
		case t.negations == 2 && !takesBack && !c.has(partial|portion):
			return neutralSense
		case t.negations > 0:
			return blockSense
		case c.has(partial|portion) && !c.question && !weak:
			return notYetSense
		case takesBack || c.has(partial):
			return blockSense
		case !weak && c.says(t):
			return achievedSense
		case !weak:
			return vagueSense
		}
	}
	switch {
	case c.has(notYet) && c.every(notYet|filler|suffix):
		return notYetSense
	case takesBack || c.has(partial) || t.negations > 0:
		return blockSense
	case c.has(portion):
		return vagueSense
	case t.anyPair || c.has(good) || c.every(filler|whole|item|suffix|noneWord):
		return neutralSense
	}
	return unknownSense
}

// hopelessSense reads a clause that says that something cannot be.
func (c *clause) hopelessSense() sense {
	cannot := false
	for _, w := range c.words {
		if cannot && w.is(verify) && !w.is(achieved|achieving) {
			return blockSense
		}
		cannot = cannot || w.is(impossible)
	}
	negations := 0
	for _, w := range c.words {
		if w.is(negation|postfix) && !w.is(impossible|hopeless) {
			negations++
		}
	}
	switch {
	case negations == 1 && !c.has(impossible|reserve) && !c.question:
		return neutralSense // "nothing is unreachable"
	case negations > 0 || c.question || c.has(reserve):
		return blockSense
	case c.has(hopeless | achieved | achieving), c.every(impossible | filler | suffix):
		return unreachableSense
	}
	return blockSense
}

// tally pairs negations with the faults they deny. Between the two only words
// may stand that keep the meaning, so "no errors" is harmless and "no fix for
// the errors" is not.
func (c *clause) tally() tally {
	t := tally{paired: make([]bool, len(c.words))}
	keeps := between | item | number | filler | whole | fault
	open, lastFault := -1, -1
	negated := false
	for i, w := range c.words {
		switch {
		case w.is(postfix) && (lastFault >= 0 || !w.is(negation)):
			if lastFault >= 0 {
				t.paired[i], t.paired[lastFault] = true, true
			}
			lastFault = -1
		case w.is(negation):
			if w.is(concord) && negated {
				t.paired[i] = true // adds nothing to the negation before
				continue
			}
			open, negated = i, true
		case w.is(fault):
			lastFault = i
			if open >= 0 && !c.deniesWhole(open) {
				t.paired[i], t.paired[open] = true, true
			}
		case !w.is(keeps) && !(w.is(concord) && negated) || w.is(achieved):
			open, lastFault = -1, -1
		}
	}
	for i, w := range c.words {
		switch {
		case t.paired[i]:
			t.anyPair = t.anyPair || w.is(fault)
		case w.is(negation | postfix):
			t.negations++
		case w.is(fault):
			t.faults++
		}
	}
	return t
}

// onlyDenies tells a clause that is a denied fault and nothing else.
func (c *clause) onlyDenies() bool {
	t := c.tally()
	for i, w := range c.words {
		if !t.paired[i] && !w.is(between|item|filler|whole) {
			return false
		}
	}
	return t.anyPair && !c.has(reserve|partial|repair)
}

// deniesWhole tells "not all": what follows is not denied but limited.
func (c *clause) deniesWhole(i int) bool {
	return i+1 < len(c.words) && c.words[i+1].is(whole)
}

// says checks that a clause with a word of success has nothing else in it that
// could change the meaning. Checks and figures need a word for all of them.
func (c *clause) says(t tally) bool {
	if len(c.words) > 0 && c.words[0].is(aux) {
		return false
	}
	all := c.has(whole)
	seen, wholeAfter := false, false
	for i, w := range c.words {
		switch {
		case t.paired[i]:
			// "achieved with no errors"; before the word only where negations
			// follow what they deny.
			if !seen && !c.has(postfix) {
				return false
			}
		case w.is(reserve | partial | portion | negation | postfix | fault | impossible | hopeless | able | repair):
			return false
		case w.is(achieved):
			seen = true
		case seen && w.is(suffix):
			wholeAfter = wholeAfter || w.is(whole)
		case seen && (w.is(whole) || wholeAfter && w.is(item|filler) || w.text == "with" || w.text == "found"):
			wholeAfter = wholeAfter || w.is(whole)
		case seen:
			return false
		case w.is(item | number):
			if !all {
				return false
			}
		case !w.is(filler | whole):
			return false
		}
	}
	return true
}

// bare understands a reply without a conclusion: one word of the choice alone.
// alone tells that there is nothing else in the reply.
func bare(text string, alone bool) State {
	if len(text) > maxLabel || strings.Contains(text, "\n") {
		return Unclear
	}
	state := conclude(text)
	word := strings.Trim(fold(text), " *_`.。!\"'")
	if word == "1" || word == "0" {
		if !alone {
			return Unclear
		}
		return state
	}
	cs := clauses(plain(text))
	if len(cs) != 1 || state == Achieved && !cs[0].every(achieved) && word != "已达成" || len(cs[0].words) > 4 {
		return Unclear
	}
	return state
}

// saysNone tells a text that says that a list is empty. Prose may also say that
// everything is well.
func saysNone(text string, prose bool) bool {
	if isBlank(text, true) {
		return true
	}
	if len(text) > 4*maxLabel {
		return false
	}
	cs := clauses(plain(text))
	none, covered := false, true
	for _, c := range cs {
		for _, w := range splitNone(c) {
			none = none || w.is(noneWord)
			covered = covered && (w.is(noneWord) || noneFiller[w.text])
		}
	}
	if none && covered {
		return true
	}
	if !prose {
		return false
	}
	for i := range cs {
		if cs[i].sense() != neutralSense {
			return false
		}
	}
	return len(cs) > 0
}

// splitNone joins neighbouring words of a clause that are one word of the
// none-vocabulary ("未" and "通过").
func splitNone(c clause) []word {
	var out []word
	for i := 0; i < len(c.words); i++ {
		w := c.words[i]
		if i+1 < len(c.words) {
			if pair := w.text + c.words[i+1].text; noneFiller[pair] {
				w = word{pair, 0}
				i++
			}
		}
		out = append(out, w)
	}
	return out
}

// speaksOfFault tells prose that says that something did not pass. Conditions
// ("if anything is wrong, tell me") do not, unless near says that the text
// stands where the failed checks are listed.
func speaksOfFault(text string, near bool) bool {
	cs := clauses(plain(text))
	conditional := map[int]bool{}
	for _, c := range cs {
		if c.has(reserve) && !near {
			conditional[c.sentence] = true
		}
	}
	for i := range cs {
		t := cs[i].tally()
		if !conditional[cs[i].sentence] && (t.faults > 0 || t.negations == 1) {
			return true
		}
	}
	return false
}
