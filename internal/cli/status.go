package cli

import (
	"context"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"flower"
	"flower/internal/text"
)

// statusCommand says what a directory remembers, and writes nothing.
func (a *app) statusCommand() *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: a.Say("cmd.status"), Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return a.supervise(func(ctx context.Context, _ *watch) error { return a.runStatus(ctx, a.global.json) })
		},
	}
}

// statusGC is how much the heap of status may grow, in per cent, before it is collected.
const statusGC = 400

func (a *app) runStatus(ctx context.Context, asJSON bool) error {
	workspace, runDir := a.abs(a.global.workspace), a.abs(a.global.runDir)
	if real, err := flower.ResolveWorkspace(workspace); err == nil {
		workspace = real
	}
	// It ends before the garbage of reading long books would matter, and collecting it would take a quarter of the time.
	defer debug.SetGCPercent(debug.SetGCPercent(statusGC))
	now := lookAt(ctx, workspace, runDir)
	if asJSON {
		return a.out.writeJSON(now)
	}
	p := newPrinter(a.Printer, printOptions{
		screen: a.out, width: func() int { return a.lineWidth(a.stdio.Out) }, now: a.Now, workspace: workspace,
	})
	s := &status{app: a, p: p, state: now}
	s.print()
	return nil
}

// status writes names and values in two columns.
type status struct {
	*app
	*state
	p *printer
}

// nameWidth is the width of the column of names, in cells.
const nameWidth = 12

func (s *status) field(id, value string) {
	name := ""
	if id != "" {
		name = s.Say(id)
	}
	s.p.block(text.Fit(name, nameWidth)+" ", value)
}

func (s *status) print() {
	home := s.getenv("HOME")
	s.field("status.workspace", tilde(s.Workspace, home))
	s.field("status.rundir", tilde(s.RunDir, home))
	s.documents()
	s.field("status.wakes", fmt.Sprint(s.Wakes))
	s.steps()
	if r := s.Running; r != nil {
		s.field("status.running", who(s.Printer, r.owner)+" · "+s.at(r.owner))
	}
	if s.Inbox > 0 {
		s.field("status.inbox", s.Say("status.notes", text.Data{"N": s.Inbox}))
	}
	s.runs()
	for _, problem := range s.notContinued {
		s.p.Event(problem)
	}
	for _, problem := range s.Problems[len(s.notContinued):] {
		s.p.block("! ", s.explainer().alone(problem.err))
	}
	next := "status.next.fresh"
	if s.Waking || s.has(flower.StepClarify) {
		next = "status.next.wake"
	}
	s.field("status.next", s.Say(next))
}

func (s *status) documents() {
	switch {
	case s.Brief == nil:
		s.field("status.brief", s.Say("status.none"))
	case s.Brief.Complete:
		s.field("status.brief", s.Say("status.frozen", text.Data{"Path": s.p.path(s.Brief.Path)}))
	default:
		s.field("status.brief", s.Say("status.incomplete", text.Data{"Path": s.p.path(s.Brief.Path)}))
	}
	if s.Goal == nil {
		s.field("status.goal", s.Say("status.none"))
		return
	}
	s.field("status.goal", s.Say("status.checks", text.Data{"N": len(s.Goal.Checks), "Path": s.p.path(s.Goal.Path)}))
	for i, c := range s.Goal.Checks {
		line := fmt.Sprintf("%d. %s", i+1, c.Text)
		switch {
		case c.Unverifiable && c.Why != "":
			line += " [" + s.Say("status.unverifiable") + ": " + c.Why + "]"
		case c.Unverifiable:
			line += " [" + s.Say("status.unverifiable") + "]"
		}
		s.field("", line)
	}
}

// steps writes two lines for each: which session, and how it stands.
func (s *status) steps() {
	id := "status.steps"
	for _, st := range s.Steps {
		name, session := s.p.stepName(st.Name), ""
		if st.Session != nil {
			session = *st.Session
		}
		line := strings.TrimSpace(name + "  " + session)
		fits := session == "" || nameWidth+1+text.Width(line) <= s.p.width()
		if !fits {
			line = name
		}
		s.field(id, line)
		id = ""
		if !fits {
			s.p.block("  ", session) // it is there to be copied
		}
		var parts []string
		if st.Stored {
			parts = append(parts, s.Say("status.entries", text.Data{"N": st.Entries}))
		}
		if st.Context > 0 {
			parts = append(parts, s.Say("status.context", text.Data{"Tokens": text.Tokens(st.Context)}))
		}
		if st.Attempts > 0 {
			parts = append(parts, cost(s.Printer, st.CostUSD, st.Unpriced, st.Usage))
		}
		if !st.last.IsZero() {
			parts = append(parts, minuteOf(st.last))
		}
		if len(parts) > 0 {
			s.p.block(text.Fit("", nameWidth+3), strings.Join(parts, " · "))
		}
	}
	if len(s.Steps) == 0 {
		s.field(id, s.Say("status.none"))
	}
}

// has says whether a step has a session.
func (s *status) has(step string) bool {
	for _, st := range s.Steps {
		if st.Name == step && st.Session != nil {
			return true
		}
	}
	return false
}

func (s *status) runs() {
	last := s.LastRun
	if last == nil {
		s.field("status.last", s.Say("status.none"))
		s.asides()
		return
	}
	ended := s.Say("status.ok", text.Data{"Step": s.p.label(last.Step)})
	if last.OK && last.verdict != "" { // that the judge ended well says nothing of the work
		ended = s.Say("status.judged", text.Data{"Step": s.p.label(last.Step), "Verdict": s.Say("verdict." + last.verdict)})
	}
	if !last.OK {
		// The books are English, as logs are.
		reason := ""
		switch {
		case last.Error == nil:
		case *last.Error == flower.KilledBySignal:
			reason = s.Say("status.killed")
		default:
			reason = oneLine(*last.Error)
		}
		ended = s.Say("status.failed", text.Data{"Step": s.p.label(last.Step), "Reason": reason})
	}
	s.field("status.last", s.Say("status.run", text.Data{
		"When": minuteOf(last.ended), "Time": text.Elapsed(last.ended.Sub(last.began).Round(time.Millisecond)),
		"Cost": cost(s.Printer, last.CostUSD, last.Unpriced, last.Usage), "Ended": ended,
	}))
	s.asides()
	s.field("status.total", s.Say("status.sum", text.Data{"N": s.Totals.Runs, "Cost": cost(s.Printer, s.Totals.CostUSD, s.Totals.Unpriced, s.Totals.Usage)}))
}

// asides says what side questions have cost; their books are not those of the work.
func (s *status) asides() {
	if a := s.Asides; a != nil {
		s.field("status.asides", s.Say("status.asked", text.Data{"N": a.Questions, "Cost": cost(s.Printer, a.CostUSD, a.Unpriced, a.Usage)}))
	}
}
