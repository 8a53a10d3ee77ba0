package cli

import (
	"encoding/json"
	"fmt"
	"strings"

	"flower/agent"
	"flower/internal/text"
	"flower/tools"
	"flower/transcript"
)

// workerName is what the subagents that do the work are called among agents.
const workerName = "worker"

// Lines of a worker's words that are shown unless everything is asked for.
const workerLines = 3

// agentEvent writes what happens inside an attempt.
func (p *printer) agentEvent(ev agent.Event) {
	defer func() { p.margin = "" }()
	switch ev := ev.(type) {
	case agent.Started:
		p.started(ev)
	case agent.Progress:
		p.progress(ev)
	case agent.Answered:
		p.answered(ev)
	case agent.BudgetLow:
		p.budgetLow(ev)
	case agent.Wasted:
		p.wasted(ev)
	case agent.CacheMissed:
		p.cacheMissed(ev)
	case agent.ToolStarted:
		if p.opts.verbose && !quiet(ev.Name) {
			p.enter(ev.Path)
			p.line("  " + ev.Name + " " + p.argument(ev.Name, ev.Input) + " ...")
		}
	case agent.ToolFinished:
		if !quiet(ev.Name) || ev.Result.IsError {
			p.enter(ev.Path)
			p.tool(ev)
		}
	case agent.Delivered:
		p.enter(ev.Path)
		p.say("+ ", "note.delivered", text.Data{"N": len(ev.Notes)})
	case agent.Repeating:
		p.enter(ev.Path)
		p.say("! ", "repeating", text.Data{"Tool": ev.Name, "N": ev.Times})
	case agent.Withdrawn:
		p.enter(ev.Path)
		p.say("! ", "search.withdrawn", text.Data{"Tool": ev.Tool, "Reason": oneLine(ev.Reason)})
	case agent.Amended:
		p.enter(ev.Path)
		p.amended(ev.Report)
	case agent.Finished:
		p.finished(ev)
	}
}

// amended tells what the endpoint did not take.
func (p *printer) amended(r transcript.Report) {
	if r.Oversize > 0 || r.Trimmed > 0 {
		p.say("! ", "history.oversize", text.Data{"N": r.Oversize + r.Trimmed})
	}
	if r.Thinking > 0 {
		p.say("! ", "history.thinking", text.Data{"N": r.Thinking})
	}
}

// progress writes what an answer on its way meets. An outage is everybody's, so it stands in nobody's gutter.
func (p *printer) progress(ev agent.Progress) {
	switch d := ev.Delta.(type) {
	case agent.Retrying:
		p.enter(ev.Path)
		p.say("! ", "retry", text.Data{"Attempt": d.Attempt, "Wait": text.Elapsed(d.Wait), "Err": p.explain(d.Err)})
	case agent.Waiting:
		p.waiting(d)
	case agent.OutageOver:
		p.outageOver(d)
	}
}

// quiet tells the tools whose doings are told elsewhere: questions and answers, workers that start and end, remarks.
func quiet(tool string) bool {
	return tool == tools.Ask || tool == tools.Agent || tool == tools.Inbox
}

// enter sets the gutter for what comes from a conversation.
func (p *printer) enter(path string) {
	if path != "" {
		p.margin = p.worker(path, workerName).short + "| "
	}
}

// worker finds a subagent, or begins to follow it.
func (p *printer) worker(path, agentName string) *worker {
	if w, ok := p.workers[path]; ok {
		return w
	}
	w := &worker{short: p.crew.Name(path, agentName), began: p.opts.now()}
	p.workers[path] = w
	return w
}

func (p *printer) started(ev agent.Started) {
	if ev.Path != "" {
		w := p.worker(ev.Path, ev.Agent)
		w.began = p.opts.now()
		id := "worker.started"
		if ev.Resumed {
			id = "worker.resumed"
		}
		p.say("> ", id, text.Data{"Short": w.short, "Agent": p.agentName(ev.Agent), "Title": oneLine(ev.Title)})
	}
	if ev.Report.Damaged > 0 {
		p.enter(ev.Path)
		p.say("! ", "history.damaged", text.Data{"N": ev.Report.Damaged})
	}
}

// agentName is a subagent's kind as people read it.
func (p *printer) agentName(name string) string { return agentName(p.Printer, name) }

func agentName(p *text.Printer, name string) string {
	if name == workerName {
		return p.Say("agent.worker")
	}
	return name
}

func (p *printer) finished(ev agent.Finished) {
	if ev.Path == "" {
		return
	}
	w := p.worker(ev.Path, "")
	data := text.Data{
		"Short": w.short, "N": ev.Result.Turns, "Time": text.Elapsed(p.opts.now().Sub(w.began)),
		"Cost": cost(p.Printer, ev.Result.CostUSD, ev.Result.Unpriced, ev.Result.Usage), "Tokens": text.Tokens(ev.Result.Context),
	}
	if ev.Err != nil {
		data["Err"] = p.explain(ev.Err)
		p.say("< ", "worker.failed", data)
		return
	}
	p.say("< ", "worker.finished", data)
}

// answered writes what the model said, and what it cost.
func (p *printer) answered(ev agent.Answered) {
	p.count(ev.CostUSD, ev.Unpriced, ev.Message.Usage)
	p.enter(ev.Path)
	if ev.Unpriced {
		p.noPrice(ev.Message.Model)
	}
	if p.opts.verbose {
		for _, b := range ev.Message.Content {
			if b.Type == transcript.TypeThinking && strings.TrimSpace(b.Thinking) != "" {
				p.block("~ ", b.Thinking)
			}
		}
	}
	p.searches(ev.Searches)
	said := strings.TrimSpace(ev.Message.PlainText())
	if ev.Path != "" && !p.opts.verbose {
		said = head(said, workerLines)
	}
	last := ev.Path == "" && len(ev.Message.ToolUses()) == 0
	switch {
	case said == "" || last && p.opts.lastWords:
	case last && p.formal:
		p.draft = said
	default:
		p.block("", said)
	}
	if ev.Path == "" || p.opts.verbose {
		p.say(". ", "turn", text.Data{
			"Turn": ev.Turn, "Tokens": text.Tokens(ev.Message.Usage.Context()),
			"Cost": cost(p.Printer, ev.CostUSD, ev.Unpriced, ev.Message.Usage), "Total": text.Dollars(p.total, p.unpriced),
		})
	}
}

// searches writes a line about each search that the endpoint has made for an answer.
func (p *printer) searches(list []transcript.Search) {
	clean := p.opts.screen.Clean // before anything is cut
	for _, s := range list {
		mark, ended := "* ", p.Say("search.results", text.Data{"N": len(s.Results)})
		if s.Failed != "" {
			mark, ended = "! ", oneLine(s.Failed)
		}
		ended = "  (" + clean(ended) + ")"
		room := p.width() - text.Width(p.margin+mark)
		ended = text.Truncate(ended, room/2)
		p.line(mark + text.Truncate(clean(tools.WebSearch+" "+oneLine(s.Query)), room-text.Width(ended)) + ended)
		if p.opts.verbose {
			for _, f := range s.Results {
				p.line("    " + oneLine(f.Title) + "  " + oneLine(f.URL))
			}
		}
	}
}

// head is the beginning of a text, n lines of it.
func head(s string, n int) string {
	lines := strings.SplitN(s, "\n", n+1)
	if len(lines) <= n {
		return s
	}
	return strings.Join(lines[:n], "\n") + " ..."
}

// tool writes one line about a call: its name, what tells it from others, how it ended.
func (p *printer) tool(ev agent.ToolFinished) {
	mark := "* "
	switch {
	case ev.Result.Denied:
		mark = "x "
	case ev.Result.IsError:
		mark = "! "
	}
	if ev.Name == tools.TodoWrite && !ev.Result.IsError {
		p.todo(ev.Input)
		return
	}
	clean := p.opts.screen.Clean // before anything is cut
	used, ended := clean(ev.Name+" "+p.argument(ev.Name, ev.Input)), clean(p.ended(ev))
	if ev.Name != tools.Bash && ev.Elapsed.Seconds() >= 0.1 {
		ended = strings.TrimPrefix(ended+" · "+text.Elapsed(ev.Elapsed), " · ")
	}
	if ended != "" {
		ended = "  (" + ended + ")"
	}
	room := p.width() - text.Width(p.margin+mark)
	ended = text.Truncate(ended, max(room/2, room-text.Width(used)))
	p.line(mark + text.Truncate(used, room-text.Width(ended)) + ended)
	if p.opts.verbose {
		p.block("    ", displayed(ev.Result))
	}
}

// displayed is a result for people.
func displayed(r agent.ToolResult) string {
	if r.Display != "" {
		return r.Display
	}
	return resultText(r)
}

func resultText(r agent.ToolResult) string {
	var texts []string
	for _, b := range r.Content {
		if b.Type == transcript.TypeText {
			texts = append(texts, b.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// ended says in a few words how a call ended: what the tool itself says of it, if it does.
func (p *printer) ended(ev agent.ToolFinished) string {
	said := resultText(ev.Result)
	if !ev.Result.IsError && (ev.Name == tools.Write || ev.Name == tools.Edit || ev.Name == tools.NotebookEdit) {
		return p.changed(ev)
	}
	said = strings.TrimSpace(said)
	if ev.Result.Denied {
		return p.denied(tools.ReadDenial(ev.Name, said))
	}
	if words, ok := p.outcome(ev.Name, said[strings.LastIndexByte(said, '\n')+1:], oneLine(ev.Result.Display)); ok {
		return words
	}
	if status := lastLine(said); strings.HasPrefix(status, "[") && strings.HasSuffix(status, "]") {
		return status[1 : len(status)-1]
	}
	switch {
	case ev.Result.IsError:
		return firstLine(said)
	case ev.Name == tools.Read && strings.Contains(ev.Result.Display, ": "): // an image
		return oneLine(ev.Result.Display[strings.LastIndex(ev.Result.Display, ": ")+2:])
	case strings.TrimSpace(said) == "":
		return ""
	}
	lines := strings.Count(strings.TrimSpace(said), "\n") + 1
	return p.Say("lines", text.Data{"N": lines})
}

// changed says how much a file has changed; of a new one, how long it is.
func (p *printer) changed(ev agent.ToolFinished) string {
	if added, removed := changes(ev.Result.Display); added+removed > 0 {
		return fmt.Sprintf("+%d -%d", added, removed)
	}
	var in struct {
		Content string `json:"content"`
	}
	_ = json.Unmarshal(ev.Input, &in) // the tool has accepted it
	return p.Say("lines", text.Data{"N": strings.Count(strings.TrimSuffix(in.Content, "\n"), "\n") + 1})
}

// changes counts the lines a diff adds and removes.
func changes(diff string) (added, removed int) {
	for line := range strings.Lines(diff) {
		switch {
		case strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "---"):
		case strings.HasPrefix(line, "+"):
			added++
		case strings.HasPrefix(line, "-"):
			removed++
		default: // the last line, of what is not shown
			var lines, more, less int
			if n, _ := fmt.Sscanf(line, "… %d more lines: +%d -%d", &lines, &more, &less); n == 3 {
				added, removed = added+more, removed+less
			}
		}
	}
	return added, removed
}

// argument is the part of a call's input that tells it from others.
func (p *printer) argument(tool string, input json.RawMessage) string {
	var in struct {
		Command     string `json:"command"`
		FilePath    string `json:"file_path"`
		Notebook    string `json:"notebook_path"`
		Pattern     string `json:"pattern"`
		Path        string `json:"path"`
		URL         string `json:"url"`
		Query       string `json:"query"`
		Description string `json:"description"`
	}
	_ = json.Unmarshal(input, &in) // what does not fit is shown as it is
	path := p.path(in.Path)
	switch {
	case tool == tools.Bash && in.Command != "":
		return oneLine(in.Command)
	case in.FilePath != "":
		return oneLine(p.path(in.FilePath))
	case in.Notebook != "":
		return oneLine(p.path(in.Notebook))
	case in.Pattern != "" && path != "":
		return oneLine(in.Pattern + "  " + path)
	case in.Pattern != "":
		return oneLine(in.Pattern)
	case in.URL != "":
		return oneLine(in.URL)
	case in.Query != "":
		return oneLine(in.Query)
	case in.Description != "":
		return oneLine(in.Description)
	}
	if rest := oneLine(string(input)); rest != "{}" {
		return rest
	}
	return ""
}

// todo writes the to-do list.
func (p *printer) todo(input json.RawMessage) {
	var in struct {
		Todos []tools.Todo `json:"todos"`
	}
	_ = json.Unmarshal(input, &in) // the tool has accepted it
	marks := map[string]string{"pending": "[ ]", "in_progress": "[>]", "completed": "[x]"}
	for _, t := range in.Todos {
		p.block("  "+marks[t.Status]+" ", oneLine(t.Content))
	}
}
