package shell

import (
	"fmt"
	"regexp"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Harm is what keeps a line from being run as a check.
type Harm string

// The harms. What a line does is found in its syntax alone; what is not understood is Hidden.
const (
	Idle    Harm = "idle"    // it succeeds or fails whatever the work is like
	Deletes Harm = "deletes" // it deletes, moves, truncates or overwrites
	Writes  Harm = "writes"  // a redirection goes into a file
	Git     Harm = "git"     // it changes a repository
	Sends   Harm = "sends"   // it publishes, pushes, or sends data to others
	System  Harm = "system"  // it ends processes, installs, or changes the system
	Waits   Harm = "waits"   // it waits for a person, or never ends
	Hidden  Harm = "hidden"  // what it starts cannot be seen in the line
)

// harms are the sentences of the harms, for the books and for a model.
var harms = map[Harm]string{
	Idle:    "%s says nothing about the work",
	Deletes: "%s deletes, moves or overwrites",
	Writes:  "it writes into the file %s",
	Git:     "%s may change the repository",
	Sends:   "%s publishes or sends data",
	System:  "%s changes the system or ends processes",
	Waits:   "%s waits for a person or never ends",
	Hidden:  "what %s starts cannot be seen in the line",
}

// UnfitError is a line that must not be run as a check.
type UnfitError struct {
	Harm Harm
	Word string // the program, or the file, that it is about; without control characters
}

// Error implements error.
func (e *UnfitError) Error() string { return "not run: " + fmt.Sprintf(harms[e.Harm], "`"+e.Word+"`") }

// Unfit says why a bash line must not be run to see whether it succeeds: an *UnfitError, nil if it may be. Every simple
// command of it is looked at, through programs that start others, shells with -c, substitutions, subshells and functions.
// A check looks or builds; what deletes, overwrites, publishes, sends, ends, installs or changes a repository is refused,
// and so is what cannot be seen. Programs of the project itself, and build tools, may run: what they do is bounded by the
// sandbox, and this keeps mistakes from doing harm; it is no guard against malice.
func Unfit(line string) error {
	j := &fitness{temporary: map[string]bool{}}
	if e := j.line(line, 0); e != nil {
		e.Word = plainText(e.Word)
		return e
	}
	return nil
}

// fitness is the judgement of one line.
type fitness struct {
	temporary map[string]bool // variables that hold the name of a file made by mktemp
	proves    bool            // a command says something about the work
	idle      string          // the last that does not
	calls     int             // how many were judged: each may start others, and where one begins is not always certain
}

// maxCalls is how many commands of a line are judged. Lines people write have a few.
const maxCalls = 1000

// maxNested is how deep shells with -c may stand in each other.
const maxNested = 4

func (j *fitness) line(line string, depth int) *UnfitError {
	if depth > maxNested || scanSource(line) != "" { // on such text bash and the parser could disagree
		return &UnfitError{Hidden, "the line"}
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
	if err != nil {
		return &UnfitError{Hidden, "the line"}
	}
	j.findTemporary(file)
	var bad *UnfitError
	syntax.Walk(file, func(n syntax.Node) bool {
		if bad == nil {
			bad = j.node(n, depth)
		}
		return bad == nil
	})
	if bad == nil && depth == 0 && !j.proves {
		if j.idle == "" {
			j.idle = "the line"
		}
		return &UnfitError{Idle, j.idle}
	}
	return bad
}

// node judges one node of the tree; those below it come by themselves.
func (j *fitness) node(n syntax.Node, depth int) *UnfitError {
	switch n := n.(type) {
	case *syntax.Word:
		for _, p := range n.Parts {
			if l, is := p.(*syntax.Lit); is && scanLive(l.Value) != "" {
				return &UnfitError{Hidden, l.Value} // typeset quotes and dashes are none
			}
		}
	case *syntax.TestClause, *syntax.ArithmCmd:
		j.proves = true
	case *syntax.Redirect:
		return j.redirect(n)
	case *syntax.Assign:
		if n.Name != nil && steering.MatchString(n.Name.Value) {
			return &UnfitError{Hidden, n.Name.Value + "="}
		}
	case *syntax.CallExpr:
		if len(n.Args) == 0 {
			return nil
		}
		words := argumentsOf(n)
		if e := j.call(words, depth); e != nil {
			return e
		}
		if idle(words) {
			j.idle = words[0].text
		} else {
			j.proves = true
		}
	}
	return nil
}

// steering are variables that name programs which others start, or code that a shell runs.
var steering = regexp.MustCompile(`^(GIT_.*|LD_.*|DYLD_.*|BASH_ENV|ENV|PS4|PROMPT_COMMAND|BASH_FUNC.*|SHELLOPTS|BASHOPTS)$`)

// findTemporary notes the variables that hold the name of a file made by mktemp, and nothing else anywhere in the line.
func (j *fitness) findTemporary(file *syntax.File) {
	other := map[string]bool{}
	syntax.Walk(file, func(n syntax.Node) bool {
		a, ok := n.(*syntax.Assign)
		if !ok || a.Name == nil {
			return true
		}
		if isMktemp(a.Value) && !a.Append && !other[a.Name.Value] {
			j.temporary[a.Name.Value] = true
		} else {
			other[a.Name.Value] = true
			delete(j.temporary, a.Name.Value)
		}
		return true
	})
}

// isMktemp reports whether w is $(mktemp), with flags at most.
func isMktemp(w *syntax.Word) bool {
	part := only1(w)
	if q, ok := part.(*syntax.DblQuoted); ok && len(q.Parts) == 1 {
		part = q.Parts[0]
	}
	s, ok := part.(*syntax.CmdSubst)
	if !ok || len(s.Stmts) != 1 {
		return false
	}
	c, ok := s.Stmts[0].Cmd.(*syntax.CallExpr)
	return ok && len(c.Args) == 1 && c.Args[0].Lit() == "mktemp" && len(c.Assigns) == 0
}

// only1 is the one part of a word, nil if it has none or several.
func only1(w *syntax.Word) syntax.WordPart {
	if w == nil || len(w.Parts) != 1 {
		return nil
	}
	return w.Parts[0]
}

// streams are what a redirection may write to: nothing that is kept.
var streams = set("/dev/null /dev/stdout /dev/stderr /dev/tty - 1 2")

// redirect refuses what opens a file for writing, but for nowhere, the streams, and a file that mktemp has made.
func (j *fitness) redirect(r *syntax.Redirect) *UnfitError {
	switch r.Op {
	case syntax.RdrIn, syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc, syntax.DplIn:
		return nil
	}
	w, reason := evalWord(r.Word)
	if reason == "" && !w.glob && !w.dyn && (streams[w.text] || r.Op == syntax.DplOut && isDigits(w.text)) {
		if !isDigits(w.text) || r.Op == syntax.DplOut {
			return nil
		}
	}
	part := only1(r.Word)
	if q, ok := part.(*syntax.DblQuoted); ok && len(q.Parts) == 1 {
		part = q.Parts[0]
	}
	if p, ok := part.(*syntax.ParamExp); ok && p.Param != nil && j.temporary[p.Param.Value] &&
		p.Exp == nil && p.Repl == nil && p.Slice == nil && p.Index == nil && !p.Excl && !p.Length {
		return nil
	}
	return &UnfitError{Writes, source(r.Word)}
}

// argumentsOf are the words of a call; one that holds an expansion is dyn, and its text is what stands before that.
func argumentsOf(c *syntax.CallExpr) []word {
	var words []word
	for _, a := range c.Args {
		several, reason := evalArgument(a)
		if reason != "" {
			several = []word{{text: prefixOf(a), dyn: true}}
		}
		words = append(words, several...)
	}
	if len(words) > 0 && c.Args[0].Lit() == "[" {
		words[0].glob, words[0].lead = false, false
	}
	return words
}

// prefixOf is the literal text at the beginning of a word.
func prefixOf(w *syntax.Word) string {
	var b strings.Builder
	for _, p := range w.Parts {
		switch p := p.(type) {
		case *syntax.Lit:
			b.WriteString(p.Value)
			continue
		case *syntax.SglQuoted:
			b.WriteString(p.Value)
			continue
		case *syntax.DblQuoted:
			for _, q := range p.Parts {
				l, ok := q.(*syntax.Lit)
				if !ok {
					return b.String()
				}
				b.WriteString(l.Value)
			}
			continue
		}
		break
	}
	return b.String()
}

// source is a word as it was written.
func source(w *syntax.Word) string {
	var b strings.Builder
	_ = syntax.NewPrinter().Print(&b, w) // a strings.Builder takes everything
	return b.String()
}

// plainText is a word for people: short, and without control characters and back-ticks.
func plainText(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == '`' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	if r := []rune(s); len(r) > 40 {
		s = string(r[:40]) + "…"
	}
	return s
}

var (
	// saying are programs that succeed or fail whatever the work is like.
	saying = set("true false : echo printf cd pwd export set sleep date exit read clear pushd popd wait mktemp")
	// filters do nothing when nothing is given to them.
	filters = set(`cat sort uniq wc head tail grep egrep fgrep rg sed awk tr cut tee xargs less more jq python python3 node
		ruby perl php lua bash sh zsh fish dash ts-node deno bun psql sqlite3 mysql bc dc test time type file id name find ls
		which command env host size link split join paste column expand look last from write mail users groups who w tty
		stat diff cmp touch mkdir rm cp mv git go npm cargo docker curl`)
)

// idle reports whether a call proves nothing.
func idle(words []word) bool {
	name := words[0].text
	return saying[name] || len(words) == 1 && filters[name]
}

// IsIdle reports whether a text is one word that is the name of a program and says nothing when it is run alone: it names
// a value or a tool more often than a check.
func IsIdle(text string) bool {
	name := strings.TrimSpace(text)
	return saying[name] || filters[name]
}
