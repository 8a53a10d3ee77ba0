package cli

import (
	"fmt"
	"strings"

	"flower/internal/text"
	"flower/tools"
)

// outcome says in the language of the interface how a call ended, where its tool has written that for the model, in
// English, as the last line of a result or as what people see of it; false where it has not.
func (p *printer) outcome(tool, status, display string) (string, bool) {
	switch tool {
	case tools.Bash:
		if exit, ok := tools.ReadExit(status); ok {
			return p.exit(exit), true
		}
	case tools.Glob, tools.Grep:
		if found, ok := tools.ReadFound(status); ok {
			return p.found(found), true
		}
	case tools.Read:
		if page, ok := tools.ReadPage(display); ok {
			return p.page(page), true
		}
	}
	return "", false
}

// denied says why a call was not made.
func (p *printer) denied(d tools.Denial) string {
	id, data := "denied."+string(d.Reason), text.Data{}
	switch {
	case d.Said != "":
		id, data["Said"] = "denied.person.said", oneLine(d.Said)
	case d.Reason == tools.DeniedLate:
		data["Time"] = text.Span(d.Waited)
	}
	return p.Say(id, data)
}

// exit says how a command ended. That it went well goes without saying.
func (p *printer) exit(e tools.Exit) string {
	var parts []string
	switch {
	case e.Unknown:
		parts = append(parts, p.Say("exit.unknown"))
	case e.Code != 0:
		parts = append(parts, p.Say("exit.code", text.Data{"Code": e.Code}))
	}
	if e.Signal != "" {
		parts = append(parts, e.Signal)
	}
	parts = append(parts, e.Ran.String())
	switch {
	case e.TimedOut:
		parts = append(parts, p.Say("error.time"))
	case e.Interrupted:
		parts = append(parts, p.Say("tui.stopped"))
	}
	if e.Background > 0 {
		parts = append(parts, p.Say("exit.left", text.Data{"N": e.Background}))
	}
	return strings.Join(parts, " · ")
}

// found says what a search came to.
func (p *printer) found(f tools.Found) string {
	parts := []string{p.Say("outcome.none")}
	if f.Matches > 0 {
		parts[0] = p.Say("outcome.matches", text.Data{"N": f.Matches})
	}
	if f.Files > 0 {
		parts = append(parts, p.Say("outcome.files", text.Data{"N": f.Files}))
	}
	if f.Incomplete {
		parts = append(parts, p.Say("outcome.incomplete"))
	}
	return strings.Join(parts, " · ")
}

// page says which part of a file was read.
func (p *printer) page(g tools.Page) string {
	if g.First == 1 && g.Last == g.Total && !g.More {
		return p.Say("lines", text.Data{"N": g.Total})
	}
	total := fmt.Sprint(g.Total)
	if g.More {
		total = ">=" + total
	}
	return p.Say("outcome.part", text.Data{"From": g.First, "To": g.Last, "All": total})
}
