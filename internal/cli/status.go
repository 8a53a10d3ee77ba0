package cli

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"flower"
	"flower/document"
	"flower/internal/disk"
	"flower/internal/text"
)

// statusCommand says what a directory remembers, and writes nothing.
func (a *app) statusCommand() *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: a.Say("cmd.status"), Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return a.runStatus() },
	}
}

func (a *app) runStatus() error {
	workspace, runDir := a.abs(a.global.workspace), a.abs(a.global.runDir)
	if real, err := flower.ResolveWorkspace(workspace); err == nil {
		workspace = real
	}
	wake := flower.WakeState(workspace, runDir)
	rows, rowsErr := flower.ReadManifest(runDir)

	p := newPrinter(a.Printer, printOptions{
		screen: a.out, width: func() int { return a.lineWidth(a.stdio.Out) }, now: a.Now, workspace: workspace,
	})
	s := &status{app: a, p: p}
	home := a.getenv("HOME")
	s.field("status.workspace", tilde(workspace, home))
	s.field("status.rundir", tilde(runDir, home))
	s.documents(wake)
	s.field("status.wakes", fmt.Sprint(wake.Woke))
	s.steps(wake)
	s.runs(rows)
	for _, problem := range wake.Problems {
		p.Event(problem)
	}
	if rowsErr != nil {
		p.block("! ", oneLine(rowsErr.Error()))
	}
	next := "status.next.fresh"
	if wake.Waking || wake.Steps[flower.StepClarify] != "" {
		next = "status.next.wake"
	}
	s.field("status.next", a.Say(next))
	return nil
}

// status writes names and values in two columns.
type status struct {
	*app
	p *printer
}

// maxDocument bounds what is read of a goal.
const maxDocument = 16 << 20

// nameWidth is the width of the column of names, in cells.
const nameWidth = 12

func (s *status) field(id, value string) {
	name := ""
	if id != "" {
		name = s.Say(id)
	}
	s.p.block(text.Fit(name, nameWidth)+" ", value)
}

func (s *status) documents(wake flower.Wake) {
	switch {
	case wake.Waking:
		s.field("status.brief", s.Say("status.frozen", text.Data{"Path": s.p.path(wake.Brief)}))
	case wake.Brief != "":
		s.field("status.brief", s.Say("status.incomplete", text.Data{"Path": s.p.path(wake.Brief)}))
	default:
		s.field("status.brief", s.Say("status.none"))
	}
	if wake.Goal == "" {
		s.field("status.goal", s.Say("status.none"))
		return
	}
	s.field("status.goal", s.Say("status.checks", text.Data{"N": wake.Checks, "Path": s.p.path(wake.Goal)}))
	data, err := disk.ReadRegular(wake.Goal, maxDocument)
	if err != nil {
		return // it was there a moment ago; the number of checks stands above
	}
	for i, c := range document.ParseGoal(string(data)).Checks {
		s.field("", fmt.Sprintf("%d. %s", i+1, c.String()))
	}
}

func (s *status) steps(wake flower.Wake) {
	id := "status.steps"
	for _, name := range stepOrder(wake.Steps) {
		s.field(id, s.p.stepName(name)+"  "+wake.Steps[name])
		id = ""
	}
	if len(wake.Steps) == 0 {
		s.field(id, s.Say("status.none"))
	}
}

// stepOrder is the built-in steps in the order they run, then the others by name.
func stepOrder(steps map[string]string) []string {
	builtIn := []string{flower.StepClarify, flower.StepGoal, flower.StepWork}
	order := slices.Sorted(maps.Keys(steps))
	slices.SortStableFunc(order, func(a, b string) int {
		place := func(name string) int {
			if i := slices.Index(builtIn, name); i >= 0 {
				return i
			}
			return len(builtIn)
		}
		return place(a) - place(b)
	})
	return order
}

// runs sums up the manifest.
func (s *status) runs(rows []flower.StepResult) {
	if len(rows) == 0 {
		s.field("status.last", s.Say("status.none"))
		return
	}
	runs := map[string]bool{}
	var total, last float64
	var unpriced, lastUnpriced bool
	lastRow := rows[0]
	for _, row := range rows {
		runs[row.Run] = true
		total += row.CostUSD
		unpriced = unpriced || row.Unpriced
		if row.EndedAt.After(lastRow.EndedAt) {
			lastRow = row
		}
	}
	began := lastRow.StartedAt
	for _, row := range rows {
		if row.Run == lastRow.Run {
			last += row.CostUSD
			lastUnpriced = lastUnpriced || row.Unpriced
			if row.StartedAt.Before(began) {
				began = row.StartedAt
			}
		}
	}
	ended := s.Say("status.ok", text.Data{"Step": s.p.label(lastRow.Step)})
	if !lastRow.OK {
		ended = s.Say("status.failed", text.Data{"Step": s.p.label(lastRow.Step), "Reason": oneLine(lastRow.Error)})
	}
	s.field("status.last", s.Say("status.run", text.Data{
		"When": lastRow.EndedAt.In(time.Local).Format("2006-01-02 15:04"), "Time": elapsed(lastRow.EndedAt.Sub(began)),
		"Cost": dollars(last, lastUnpriced), "Ended": ended,
	}))
	s.field("status.total", s.Say("status.sum", text.Data{"N": len(runs), "Cost": dollars(total, unpriced)}))
}
