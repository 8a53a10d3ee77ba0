package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"flower"
	"flower/internal/text"
	"flower/tools"
)

// permitTimeout is how long a question about a call of once waits: the person is there, or soon will be, and a script
// that was left alone ends in bearable time.
const permitTimeout = 5 * time.Minute

// shownLines is how much is shown of what a call would write; commands are shown in full.
const shownLines = 60

// permits asks a person about calls that the mode of a single agent does not allow by itself.
func (a *app) permits(human *flower.Human, patience time.Duration) func(context.Context, tools.PermitRequest) (tools.Permit, error) {
	return func(ctx context.Context, r tools.PermitRequest) (tools.Permit, error) {
		s, err := human.Permit(ctx, flower.Question{
			ID: r.ID, Text: a.permitText(r.Tool, r.Input), Options: []string{a.Say("permit.allow"), a.Say("permit.refuse")},
			Permission: &flower.Permission{
				Tool: r.Tool, Input: r.Input, Yes: strings.Fields(a.Say("permit.yes")), No: strings.Fields(a.Say("permit.no")),
			},
		})
		if err != nil {
			return tools.Permit{}, err
		}
		p := tools.Permit{Allowed: s.Allowed}
		switch s.How {
		case flower.Given:
			p.Declined, p.Said = !s.Allowed, s.Answer
		case flower.Skipped:
			p.Declined = true
		case flower.TimedOut:
			p.Waited = patience
		case flower.Nobody, flower.OverMax: // nobody has said anything
		}
		return p, nil
	}
}

// permitText is what a person decides by: the question, and what the call would do below it, behind bars so that nothing
// in it passes for ours. Whoever shows it reveals what is hidden in it.
func (a *app) permitText(tool string, input json.RawMessage) string {
	var out strings.Builder
	out.WriteString(a.Say("permit.question", text.Data{"Tool": tool}))
	for _, line := range a.callLines(tool, input) {
		out.WriteString("\n| " + line)
	}
	return out.String()
}

// callLines is what a call would do.
func (a *app) callLines(tool string, input json.RawMessage) []string {
	var in struct {
		Command string `json:"command"`
		Path    string `json:"file_path"`
		Content string `json:"content"`
		Old     string `json:"old_string"`
		New     string `json:"new_string"`
		All     bool   `json:"replace_all"`
	}
	_ = json.Unmarshal(input, &in) // what does not fit is shown as it is
	switch {
	case tool == tools.Bash && in.Command != "":
		return strings.Split(in.Command, "\n")
	case tool == tools.Write && in.Path != "":
		return append([]string{in.Path}, a.someLines("+ ", in.Content)...)
	case tool == tools.Edit && in.Path != "":
		head := in.Path
		if in.All {
			head += " (" + a.Say("permit.everywhere") + ")"
		}
		return slices.Concat([]string{head}, a.someLines("- ", in.Old), a.someLines("+ ", in.New))
	}
	var pretty bytes.Buffer
	if json.Indent(&pretty, input, "", "  ") != nil {
		return strings.Split(string(input), "\n")
	}
	return strings.Split(pretty.String(), "\n")
}

// someLines is the beginning of a text; that there is more is said.
func (a *app) someLines(mark, s string) []string {
	if s == "" {
		return nil
	}
	lines := strings.Split(strings.TrimSuffix(s, "\n"), "\n")
	more := len(lines) - shownLines
	lines = slices.Clone(lines[:min(len(lines), shownLines)])
	for i := range lines {
		lines[i] = mark + lines[i]
	}
	if more > 0 {
		lines = append(lines, "  "+a.Say("permit.more", text.Data{"N": more}))
	}
	return lines
}
