package document

import (
	"strings"
	"unicode/utf8"
)

// Goal is how success is recognised: a statement and the checks that decide.
// Both are required. The zero value is an empty, incomplete goal.
type Goal struct {
	Statement string
	Checks    []Check
	// Rest is text that belongs to neither and must not be lost: amendments
	// after (已修改), later repetitions, sections of other names.
	Rest string
}

// Check is one item of a goal's checklist.
type Check struct {
	Text         string // one line, without list mark and without the mark below
	Unverifiable bool   // the item says that it cannot be checked where we are
	Why          string // the reason given for that; may be empty
}

// String is the item as it stands in the file, without its list mark.
func (c Check) String() string {
	switch {
	case !c.Unverifiable:
		return c.Text
	case c.Why == "":
		return c.Text + " [" + unverifiableHere + "]"
	}
	return c.Text + " [" + unverifiableHere + ":" + c.Why + "]"
}

const unverifiableHere = "此环境无法验证"

// unverifiableMarks are the words of the mark in six languages, folded.
var unverifiableMarks = foldAll(unverifiableHere, "此环境无法检查", "此环境不可验证", "无法在此环境验证", "在此环境无法验证", "本环境无法验证", "当前环境无法验证",
	"cannot be verified here", "can't be verified here", "cannot be checked here", "cannot be verified in this environment",
	"not verifiable here", "unverifiable here",
	"この環境では検証できない", "この環境では検証できません", "この環境では検証不可", "この環境では確認できない",
	"invérifiable ici", "non vérifiable ici", "ne peut pas être vérifié ici", "impossible à vérifier ici",
	"hier nicht prüfbar", "hier nicht überprüfbar", "kann hier nicht geprüft werden", "hier nicht verifizierbar",
	"no verificable aquí", "no se puede verificar aquí", "no se puede comprobar aquí")

// amended stands before changes made to a goal after it was set.
const amended = "(已修改)"

// ParseGoal reads a goal out of a model's reply or a file. Checks are the list
// items of their section, or the text on its heading line; prose is none.
func ParseGoal(text string) Goal {
	p := goalDialect.parse(text, keyStatement, keyChecks)
	g := Goal{Statement: p.sections[keyStatement], Rest: p.rest}
	for _, b := range p.repeats[keyChecks] {
		for _, item := range b.items() {
			if c := parseCheck(item); c.Text != "" {
				g.Checks = append(g.Checks, c)
			}
		}
		if len(g.Checks) > 0 {
			break
		}
	}
	return g
}

// Missing names what is empty, of statement and checks.
func (g Goal) Missing() []string {
	var names []string
	if isBlank(clean(g.Statement), true) {
		names = append(names, keyStatement)
	}
	if len(g.Checks) == 0 {
		names = append(names, keyChecks)
	}
	return names
}

// Complete reports whether there are a statement and at least one check.
func (g Goal) Complete() bool { return len(g.Missing()) == 0 }

// Markdown is the goal as it lies on disk.
func (g Goal) Markdown() string {
	list := make([]string, len(g.Checks))
	for i, c := range g.Checks {
		list[i] = c.String()
	}
	return goalDialect.file("", "(未填)", g.Rest, [2]string{keyStatement, g.Statement}, [2]string{keyChecks, bullets(list)})
}

// PromptBlock is the whole goal, amendments included, for a model to read.
func (g Goal) PromptBlock() string { return g.Markdown() }

// AppendToGoal adds a change to the text of a goal's file, after the mark
// (已修改), with the same guarantees as AppendToBrief.
func AppendToGoal(file, text string) (newFile string, changed bool) {
	body := quoteStructure(text)
	if body == "" {
		return file, false
	}
	for _, b := range goalDialect.split(file) {
		if b.own && b.text() == body {
			return file, false
		}
	}
	return appendBlock(file, amended+"\n"+body), true
}

// isAmendment tells the line after which a goal's changes stand.
func isAmendment(line string) bool {
	_, rest := cutHashes(line)
	rest = strings.TrimLeft(rest, " \t*")
	return strings.HasPrefix(rest, amended) || strings.HasPrefix(rest, "（已修改）")
}

// parseCheck takes the marks "[cannot be verified here: reason]" off an item.
func parseCheck(item string) Check {
	var c Check
	var why []string
	rest := item
	for {
		i := strings.IndexAny(rest, "[［【")
		if i < 0 {
			c.Text += rest
			break
		}
		_, size := utf8.DecodeRuneInString(rest[i:])
		reason, n, ok := cutUnverifiable(rest[i+size:])
		if !ok {
			c.Text += rest[:i+size]
			rest = rest[i+size:]
			continue
		}
		c.Text += rest[:i]
		rest = rest[i+size+n:]
		c.Unverifiable = true
		if reason != "" {
			why = append(why, reason)
		}
	}
	if !c.Unverifiable {
		return Check{Text: item}
	}
	c.Text = tidyItem(strings.Join(strings.Fields(c.Text), " "))
	c.Why = strings.Join(strings.Fields(strings.Join(why, "; ")), " ")
	return c
}

// cutUnverifiable reads the inside of a mark, after its bracket; n is how far
// the mark goes, its closing bracket included.
func cutUnverifiable(s string) (reason string, n int, ok bool) {
	h := head(s)
	i := strings.IndexFunc(h, func(r rune) bool { return isColon(r) || strings.ContainsRune("[［【]］】", r) })
	if i < 0 || !unverifiableMarks[fold(strings.TrimSpace(h[:i]))] {
		return "", 0, false
	}
	const maxReason = 2000 // bytes; keeps hostile lines linear
	inside := s[:min(len(s), maxReason)]
	end, depth := -1, 0
	for i, r := range inside {
		switch r {
		case '[', '［', '【':
			depth++
		case ']', '］', '】':
			if end < 0 || depth == 0 {
				end = i
			}
			depth--
		}
		if depth < 0 {
			break
		}
	}
	if end < i {
		return "", 0, false
	}
	_, size := utf8.DecodeRuneInString(s[end:])
	if end > i {
		_, w := utf8.DecodeRuneInString(s[i:])
		reason = s[i+w : end]
	}
	return strings.TrimSpace(reason), end + size, true
}

func foldAll(words ...string) map[string]bool {
	m := map[string]bool{}
	for _, w := range words {
		m[fold(w)] = true
	}
	return m
}
