package cli

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"flower"
	"flower/document"
	"flower/internal/text"
	"flower/internal/tui"
	"flower/transcript"
)

// Widths of the plain printer, in cells.
const (
	defaultWidth = 80
	leastWidth   = 40 // narrower terminals break lines themselves
	ruleWidth    = 38 // of a step rule before its number
)

// printer writes what happens as lines, one after the other: nothing is ever moved or overwritten, so that it reads the
// same on a terminal, in a pipe and in a log. It is safe for concurrent use.
//
// The first column says what a line is:
//
//	==   a step           *  a tool was used      >  work was handed out
//	--   a round          !  something failed     <  work came back
//	?    a question       x  a guard said no      .  context and cost
//	w1|  from worker 1    +  something is settled
//
// A question stands below a row of question marks; an answer to one of the person's own is "<", like other work.
type printer struct {
	*text.Printer
	opts printOptions

	mu       sync.Mutex
	total    float64
	unpriced bool
	usage    transcript.Usage
	unknown  map[string]bool    // models without a price that were named
	workers  map[string]*worker // by event path
	crew     tui.Crew           // their names
	margin   string             // of what is written now: a worker's gutter
	folded   bool               // what workers do is kept back
	kept     []string           // of it, the last lines
	lost     bool               // the store was put aside
	failed   string             // what to say of a failed step if the run goes on without it
	formal   bool               // the attempt's last words are a document, which is told in a shorter form
	draft    string             // that document, until it is known what it was
}

type printOptions struct {
	screen    *screen
	width     func() int       // cells of a line now
	now       func() time.Time // for how long workers took
	workspace string           // paths below it are shortened
	verbose   bool
	hint      func(flower.Question) string // what is said under a question; nil says nothing
	lastWords bool                         // the last answer is written elsewhere
	budget    float64                      // USD; 0 is none
	prices    string                       // where a person's table of prices is looked for
	fold      bool                         // workers begin folded: that they start and end is written, not what they do
	styles    bool                         // marks are set off from the text by colour
	asks      bool                         // the person is asked at an interrupt, which says it
}

// keptLines is how much of what folded workers do can be shown later, in lines.
const keptLines = 400

// worker is a subagent as people see it.
type worker struct {
	short string // "w1"
	began time.Time
}

func newPrinter(p *text.Printer, opts printOptions) *printer {
	return &printer{Printer: p, opts: opts, unknown: map[string]bool{}, workers: map[string]*worker{}, folded: opts.fold}
}

// width is the number of cells lines may have.
func (p *printer) width() int { return max(leastWidth, p.opts.width()) }

// line writes one line, cut to the width. Texts are cleaned before they are cut: half a secret is not recognised.
func (p *printer) line(s string) {
	s = strings.ReplaceAll(p.opts.screen.Clean(s), "\n", " ")
	s = text.Truncate(s, p.width()-text.Width(p.margin))
	mark, _, _ := strings.Cut(s, " ")
	p.write(p.margin + p.styled(mark, s) + "\n")
}

// write writes lines that are cleaned, or keeps them back while their worker is folded.
func (p *printer) write(lines string) {
	if p.margin == "" || !p.folded {
		p.opts.screen.Text(lines)
		return
	}
	p.kept = append(p.kept, lines)
	if len(p.kept) > keptLines {
		p.kept = p.kept[len(p.kept)-keptLines:]
	}
}

// Fold keeps back what workers do from now on, or shows it, beginning with what was kept back last.
func (p *printer) Fold(folded bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.folded = folded
	id := "fold.on"
	if !folded {
		id = "fold.off"
	}
	p.say(". ", id)
	if folded {
		return
	}
	for _, lines := range p.kept {
		p.opts.screen.Text(lines)
	}
	p.kept = nil
}

// block writes a text under a mark, wrapped; lines after the first stand under the text. An address of the web is left
// in one piece.
func (p *printer) block(mark, s string) {
	s = p.opts.screen.Clean(strings.TrimSpace(s))
	lead := mark
	width := p.width() - text.Width(p.margin+mark)
	var out strings.Builder
	for _, line := range text.Lines(s, width) {
		out.WriteString(p.margin + p.styled(mark, strings.TrimRight(lead+line, " ")) + "\n")
		lead = strings.Repeat(" ", text.Width(mark))
	}
	p.write(out.String())
}

// gap writes an empty line.
func (p *printer) gap() { p.opts.screen.Line("") }

// say writes a message of the catalogue, wrapped under a mark.
func (p *printer) say(mark, id string, data ...text.Data) { p.block(mark, p.Say(id, data...)) }

// Aside writes the answer to a side question under a mark.
func (p *printer) Aside(mark, title, answer string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.block(mark, title)
	if answer != "" {
		p.block("  ", answer)
	}
}

// Notice implements reporter.
func (p *printer) Notice(mark, id string, data ...text.Data) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.say(mark, id, data...)
}

// Wake writes the one line that says what is remembered.
func (p *printer) Wake(where string, w flower.Wake, context int) {
	var parts []string
	if w.Waking {
		parts = append(parts, p.Say("wake.brief"))
	}
	if w.Checks > 0 {
		parts = append(parts, p.Say("wake.goal", text.Data{"N": w.Checks}))
	}
	if context > 0 {
		parts = append(parts, p.Say("wake.context", text.Data{"Tokens": text.Tokens(context)}))
	}
	parts = append(parts, p.Say("wake.number", text.Data{"Woke": w.Woke + 1}))
	where = strings.ReplaceAll(where, "\n", " ")
	p.mu.Lock()
	defer p.mu.Unlock()
	// One line whatever the width: a terminal breaks it, nothing else should.
	p.opts.screen.Line(p.Say("wake.line", text.Data{"Where": where, "What": strings.Join(parts, " · ")}))
}

// rule is the line that opens a step.
func (p *printer) rule(name string, index, total int, note string) {
	width := p.width()
	count := fmt.Sprintf("  %d/%d", index, total)
	tail := count
	if note != "" {
		tail += "  " + note
	}
	head := "== " + name + " "
	if room := width - text.Width(tail); text.Width(head)+2 <= room {
		p.opts.screen.Line(p.styled("==", head+strings.Repeat("=", max(2, min(ruleWidth, room)-text.Width(head)))+tail))
		return
	}
	// Too narrow for all of it: the note goes below.
	head = text.Truncate("== "+name, width-text.Width(count)-3) + " "
	fill := max(2, min(ruleWidth, width-text.Width(count))-text.Width(head))
	p.opts.screen.Line(p.styled("==", head+strings.Repeat("=", fill)+count))
	if note != "" {
		p.block("   ", note)
	}
}

// explain says an error.
func (p *printer) explain(err error) string { return explainer{Printer: p.Printer}.explain(err) }

// stepName is a step as people read it.
func (p *printer) stepName(name string) string { return stepName(p.Printer, name) }

func stepName(p *text.Printer, name string) string {
	switch name {
	case flower.StepClarify:
		return p.Say("step.clarify")
	case flower.StepGoal:
		return p.Say("step.goal")
	case flower.StepWork:
		return p.Say("step.work")
	}
	return name
}

// Event writes what happened; it is the run's observer.
func (p *printer) Event(ev flower.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch ev := ev.(type) {
	case flower.WorkflowStarted:
		if p.opts.verbose {
			p.say(". ", "run.started", text.Data{"Run": ev.Run, "Woke": ev.Woke})
		}
	case flower.NotContinued:
		p.notContinued(ev)
	case flower.StepStarted:
		p.goneOn()
		p.gap()
		note := ""
		if ev.Resumed {
			note = p.Say("step.resumed", text.Data{"Woke": ev.Woke})
		}
		p.rule(p.stepName(ev.Name), ev.Index, ev.Total, note)
	case flower.StepSkipped:
		p.goneOn()
		p.gap()
		p.rule(p.stepName(ev.Name), ev.Index, ev.Total, p.Say("step.skipped"))
	case flower.AttemptStarted:
		p.undraft()
		p.attempt(ev)
	case flower.AgentEvent:
		p.agentEvent(ev.Event)
	case flower.StepFinished:
		p.undraft()
		if !ev.OK {
			reason := oneLine(ev.Reason)
			if ev.Err != nil {
				reason = p.explain(ev.Err)
			}
			p.failed = p.Say("step.failed", text.Data{"Step": p.stepName(ev.Name), "Reason": reason})
		}
	case flower.BriefFrozen:
		p.say("+ ", "brief.frozen", text.Data{"Path": p.path(ev.Path)})
	case flower.GoalSet:
		p.goal(ev)
	case flower.CheckStarted:
		p.say("* ", "check.runs", text.Data{"Command": oneLine(ev.Command)})
	case flower.CheckFinished:
		p.checked(ev.Evidence)
	case flower.Judged:
		p.judged(ev)
	case flower.Asked:
		p.asked(ev.Question)
	case flower.Settled:
		p.settled(ev)
	case flower.NoteTaken:
		p.noteTaken(ev)
	case flower.Interrupted:
		if !p.opts.asks {
			p.say("! ", "interrupted")
		}
	case flower.WorktreesLeft:
		p.worktrees(ev)
	case flower.Unguarded:
		p.say("! ", "unguarded", text.Data{"Err": p.explain(ev.Err)})
	case flower.RoomChanged:
		p.roomChanged(ev)
	case flower.WindowNear, flower.ModelDiffers, flower.HandingOver, flower.HandedOver:
		p.window(ev)
	case flower.BooksFailed:
		p.say("! ", "books.failed", text.Data{"Path": p.path(ev.Path), "Err": p.explain(ev.Err)})
	}
}

// goneOn says that a step failed when that did not end the run; the run's own end says it otherwise.
func (p *printer) goneOn() {
	if p.failed != "" {
		p.block("! ", p.failed)
		p.failed = ""
	}
}

// notContinued says in one line why something of an earlier run is not used.
func (p *printer) notContinued(ev flower.NotContinued) {
	if p.lost && ev.Reason == flower.SessionNotInStore {
		return // said once, of the store
	}
	id := map[flower.Reason]string{
		flower.WorkspaceDiffers: "fresh.copied", flower.SessionNotInStore: "fresh.session", flower.EmptyID: "fresh.noid",
		flower.WrongType: "fresh.type", flower.Unreadable: "fresh.unreadable",
		flower.Incomplete: "fresh.incomplete", flower.WrongCount: "fresh.count",
	}[ev.Reason]
	switch {
	case ev.Reason == flower.WorkspaceDiffers && ev.Detail == "":
		id = "fresh.nowhere"
	case ev.Moved:
		id = "fresh.moved"
	}
	if ev.Reason == flower.WrongType && ev.Step != "" {
		id = "fresh.badid"
	}
	detail := ev.Detail
	if ev.Reason == flower.Incomplete {
		detail = p.path(detail)
	}
	what := p.Say(id, text.Data{"Step": p.stepName(ev.Step), "Detail": oneLine(detail)})
	if ev.Kept != "" {
		what += p.Say("fresh.kept", text.Data{"Path": p.path(ev.Kept)})
	}
	p.block("! ", what)
}

// storeLost says that the store could not be used, and where it is now.
func (p *printer) storeLost(why error, kept string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lost = true
	what := p.Say("fresh.store", text.Data{"Detail": p.explain(why)})
	if kept != "" {
		what += p.Say("fresh.kept", text.Data{"Path": p.path(kept)})
	}
	p.block("! ", what)
}

// storeCopied says that the store got another form, and where it is in the old one.
func (p *printer) storeCopied(path string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.say("+ ", "store.copied", text.Data{"Path": p.path(path)})
}

// attempt opens a round, a retry or a judge; the first attempt at a step needs no line beside the step's.
func (p *printer) attempt(ev flower.AttemptStarted) {
	p.formal = !p.opts.verbose && (ev.Step == flower.StepGoal || strings.Contains(ev.Label, "·判定#"))
	if what := p.suffix(strings.TrimPrefix(ev.Label, ev.Step)); what != "" {
		p.gap()
		p.block("-- ", what)
	}
	if p.opts.verbose {
		p.say(". ", "attempt.session", text.Data{"Session": ev.SessionID, "Agent": p.agentName(ev.Agent)})
	}
}

// undraft writes the document that was kept back, because it will not be told in another form.
func (p *printer) undraft() {
	if p.draft != "" {
		p.block("", p.draft)
	}
	p.draft = ""
}

// suffix says what the end of a manifest label means; "" for the first attempt at a step.
func (p *printer) suffix(s string) string {
	var n int
	switch {
	case scan(s, "#round%d", &n):
		return p.Say("attempt.round", text.Data{"Number": n})
	case scan(s, "#retry%d", &n):
		return p.Say("attempt.retry", text.Data{"Number": n})
	case scan(s, "·判定#%d", &n):
		return p.Say("attempt.judge", text.Data{"Number": n})
	}
	return s
}

// label is a manifest label as people read it.
func (p *printer) label(label string) string {
	at := strings.IndexAny(label, "#·")
	if at < 0 {
		return p.stepName(label)
	}
	return p.Say("label", text.Data{"Step": p.stepName(label[:at]), "Part": p.suffix(label[at:])})
}

func scan(s, format string, n *int) bool {
	got, err := fmt.Sscanf(s, format, n)
	return err == nil && got == 1
}

// goal says what will be judged, and at once what cannot be.
func (p *printer) goal(ev flower.GoalSet) {
	p.draft = ""
	checks := ev.Goal.Checks
	p.say("+ ", "goal.set", text.Data{"N": len(checks), "Path": p.path(ev.Path)})
	p.block("  ", p.opts.screen.Reveal(ev.Goal.Statement))
	unverifiable := 0
	for i, c := range checks {
		line, mark := p.opts.screen.Reveal(c.Text), "  "
		if c.Unverifiable {
			unverifiable++
			mark = "! "
			if c.Why != "" {
				line += " (" + p.opts.screen.Reveal(c.Why) + ")"
			}
		}
		p.block(fmt.Sprintf("%s%d. ", mark, i+1), line)
	}
	if unverifiable > 0 {
		p.say("! ", "goal.unverifiable", text.Data{"N": unverifiable})
	}
}

// checked says what came of a check that is a command; where that was not 0, which may just be what the check wants,
// also the end of what it printed.
func (p *printer) checked(e flower.Evidence) {
	switch {
	case e.Problem != "":
		p.say("! ", "check.problem", text.Data{"Problem": p.problem(e)})
	case e.ExitCode == 0:
		p.say("+ ", "check.passed")
		return
	default:
		p.say("- ", "check.failed", text.Data{"Code": e.ExitCode})
	}
	lines := strings.Split(e.Output, "\n")
	for _, line := range lines[max(0, len(lines)-checkLines):] {
		if line != "" {
			p.block("  | ", line)
		}
	}
}

// problem says why a check has no exit code.
func (p *printer) problem(e flower.Evidence) string {
	if e.Err == nil {
		return e.Problem
	}
	return p.explain(e.Err)
}

// checkLines is how much is shown of what a failed check printed.
const checkLines = 5

// judged writes a verdict. What the judge said goes before it where the verdict does not hold it.
func (p *printer) judged(ev flower.Judged) {
	if v := ev.Verdict; v.State != document.Unclear && (v.Reason != "" || len(v.Failed) > 0) {
		p.draft = ""
	}
	p.undraft()
	mark := "! "
	if ev.Verdict.Pass() {
		mark = "+ "
	}
	line := p.Say("judged."+ev.Verdict.State.String(), text.Data{"Round": ev.Round, "Rounds": ev.Rounds})
	if reason := oneLine(ev.Verdict.Reason); reason != "" {
		line = p.Say("judged.because", text.Data{"Verdict": line, "Reason": reason})
	}
	p.block(mark, line)
	for _, f := range ev.Verdict.Failed {
		p.block("  - ", f)
	}
}

// asked writes a question so that it is not overlooked.
func (p *printer) asked(q flower.Question) {
	p.gap()
	p.opts.screen.Line(p.styled("?", strings.Repeat("?", p.width())))
	reveal := p.opts.screen.Reveal // the person decides by it
	p.block("? ", reveal(q.Text))
	for i, o := range q.Options {
		p.block(fmt.Sprintf("?   %d) ", i+1), reveal(o))
	}
	if p.opts.hint != nil {
		if hint := p.opts.hint(q); hint != "" {
			p.block("? ", hint)
		}
	}
}

func (p *printer) settled(ev flower.Settled) {
	id := map[flower.AnswerKind]string{
		flower.Given: "answer.given", flower.Skipped: "answer.skipped", flower.TimedOut: "answer.timeout",
		flower.Nobody: "answer.nobody", flower.OverMax: "answer.quota",
	}[ev.How]
	if ev.Question.Permission != nil {
		p.permitted(ev)
		return
	}
	if ev.Decision {
		switch ev.How {
		case flower.Skipped:
			id = "decide.skipped"
		case flower.TimedOut:
			id = "decide.timeout"
		case flower.Nobody:
			id = "decide.nobody"
		case flower.Given, flower.OverMax: // said as of any question
		}
	}
	p.say("+ ", id, text.Data{"Answer": ev.Answer, "Question": oneLine(ev.Question.Text)})
	p.gap()
}

// permitted says what became of a question about a call.
func (p *printer) permitted(ev flower.Settled) {
	id := map[flower.AnswerKind]string{
		flower.Given: "permit.words", flower.Skipped: "permit.refused", flower.TimedOut: "permit.timeout", flower.Nobody: "permit.nobody",
	}[ev.How]
	mark := "x "
	if ev.Allowed {
		mark, id = "+ ", "permit.allowed"
	}
	p.say(mark, id, text.Data{"Answer": ev.Answer})
	p.gap()
}

// noteTaken is the receipt of a remark.
func (p *printer) noteTaken(ev flower.NoteTaken) {
	data := text.Data{"Text": oneLine(ev.Text)}
	switch {
	case ev.InBrief:
		p.say("+ ", "note.inbrief", data)
	case ev.BriefErr != nil:
		data["Err"] = p.explain(ev.BriefErr)
		p.say("! ", "note.notinbrief", data)
	default:
		p.say("+ ", "note.taken", data)
	}
}

// roomChanged says that the run waits for room on the disk, or goes on.
func (p *printer) roomChanged(ev flower.RoomChanged) {
	data := text.Data{"Path": p.path(ev.Path), "Free": text.Bytes(ev.Free), "Need": text.Bytes(ev.Need)}
	switch {
	case !ev.Full:
		p.say("+ ", "room.again", data)
	case ev.Free >= 0 && ev.Free < ev.Need:
		p.say("! ", "room.full", data)
	default: // a quota, or a limit of files
		data["Err"] = p.explain(ev.Err)
		p.say("! ", "room.refused", data)
	}
}

// path shortens a path below the workspace.
func (p *printer) path(path string) string {
	if rest, ok := strings.CutPrefix(path, p.opts.workspace+"/"); ok && p.opts.workspace != "" {
		return rest
	}
	return path
}
