package cli

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"flower"
	"flower/agent"
	"flower/internal/text"
	"flower/messages"
	"flower/tools"
	"flower/transcript"
)

// showSession writes a stored session for people.
func (a *app) showSession(ctx context.Context, id string) error {
	// What is configured as a secret is not shown; a configuration that cannot be used is no reason not to show the rest.
	_, _, _ = a.loadConfig()
	return a.onShelf(ctx, func(s *shelf) error {
		t, err := s.find(ctx, id)
		if err != nil {
			return err
		}
		c, err := s.threadsOf(ctx, t)
		if err != nil {
			return err
		}
		r := &replay{conversation: c, verbose: a.global.verbose, prices: a.prices, at: t.Changed}
		r.p = newPrinter(a.Printer, printOptions{
			screen: a.out, width: func() int { return a.lineWidth(a.stdio.Out) }, now: func() time.Time { return r.at },
			workspace: s.workspace, verbose: r.verbose,
		})
		lineage, steps := s.steps()
		s.write(r.p, []shelved{t}, lineage, steps)
		r.all()
		return nil
	})
}

// replay writes a conversation as it would have been written while it went on, with everything that was said.
type replay struct {
	*conversation
	p       *printer
	verbose bool
	prices  messages.Prices
	at      time.Time          // of the entry that is written
	paused  []transcript.Block // of the answer before, if it was paused
}

func (r *replay) all() {
	r.thread(r.main, "")
	for _, id := range r.lost {
		r.subagent(id, transcript.Block{})
	}
	if n := r.damaged(); n > 0 {
		r.p.say("! ", "history.damaged", text.Data{"N": n})
	}
}

// answers are the answers of the model by the place of their first entry: Claude Code stores one in several entries
// with the same message id.
func answers(entries []transcript.Entry) map[int]transcript.Message {
	first, all := map[string]int{}, map[int]transcript.Message{}
	for i, e := range entries {
		if e.Message == nil || e.Message.Role != transcript.RoleAssistant {
			continue
		}
		at, again := first[e.Message.ID]
		if !again || e.Message.ID == "" {
			first[e.Message.ID], all[i] = i, *e.Message
			continue
		}
		m := all[at]
		m.Content = append(m.Content[:len(m.Content):len(m.Content)], e.Message.Content...)
		m.Usage = e.Message.Usage
		all[at] = m
	}
	return all
}

// reply is what a call was answered.
type reply struct {
	block  transcript.Block
	denied bool
	at     time.Time
}

func replies(entries []transcript.Entry) map[string]reply {
	all := map[string]reply{}
	for _, e := range entries {
		if e.Message == nil || e.Message.Role != transcript.RoleUser {
			continue
		}
		at, _ := time.Parse(time.RFC3339, e.Timestamp)
		for _, b := range e.Message.Content {
			if b.Type == transcript.TypeToolResult {
				all[b.ToolUseID] = reply{b, e.ToolDenialKind != "", at}
			}
		}
	}
	return all
}

// thread writes one conversation; path is a subagent's id.
func (r *replay) thread(t *thread, path string) {
	said, results := answers(t.entries), replies(t.entries)
	turn := 0
	for i, e := range t.entries {
		if at, err := time.Parse(time.RFC3339, e.Timestamp); err == nil {
			r.at = at
		}
		m, answered := said[i]
		switch {
		case e.Message == nil:
		case e.IsAPIError:
			r.in(path, func() { r.p.block("! ", e.Message.PlainText()) })
		case answered:
			turn++
			r.answer(m, path, turn)
			for _, call := range m.ToolUses() {
				result, ok := results[call.ID]
				r.call(path, call, result, ok)
			}
		case e.Message.Role == transcript.RoleUser:
			r.prompt(e, path)
		}
	}
}

// in writes in the gutter of a conversation.
func (r *replay) in(path string, f func()) {
	r.p.enter(path)
	f()
	r.p.margin = ""
}

// prompt writes what was said to the model.
func (r *replay) prompt(e transcript.Entry, path string) {
	said := strings.TrimSpace(e.Message.PlainText())
	if said == "" {
		return
	}
	if path == "" {
		r.p.gap()
	}
	r.in(path, func() {
		r.p.block("-- ", r.p.Say("show.prompt", text.Data{"When": r.at.In(time.Local).Format("2006-01-02 15:04:05")}))
		r.p.block("   ", said)
	})
	if path == "" {
		r.p.gap()
	}
}

// answer writes what the model said, and what is known of its cost.
func (r *replay) answer(m transcript.Message, path string, turn int) {
	r.in(path, func() {
		for _, b := range m.Content {
			if r.verbose && b.Type == transcript.TypeThinking && strings.TrimSpace(b.Thinking) != "" {
				r.p.block("~ ", b.Thinking)
			}
		}
		r.p.searches(m.Searches(r.paused...))
		if r.paused = nil; m.StopReason == agent.StopPauseTurn {
			r.paused = m.Content
		}
		if said := m.PlainText(); strings.TrimSpace(said) != "" {
			r.p.block("", said)
		}
		usd, known := r.prices.Cost(m.Model, m.Usage)
		r.p.count(usd, !known, m.Usage)
		if path == "" || r.verbose {
			r.p.say(". ", "turn", text.Data{
				"Turn": turn, "Tokens": text.Tokens(m.Usage.Context()), "Cost": cost(r.p.Printer, usd, !known, m.Usage), "Total": text.Dollars(r.p.total, r.p.unpriced),
			})
		}
	})
}

// call writes one call of a tool with its result.
func (r *replay) call(path string, call transcript.Block, result reply, ok bool) {
	if id, started := r.started[call.ID]; started && path == "" {
		r.subagent(id, call)
		if !result.block.IsError {
			return
		}
	}
	if !ok {
		r.in(path, func() {
			r.p.line("! " + call.Name + " " + r.p.argument(call.Name, call.Input) + "  (" + r.p.Say("show.open") + ")")
		})
		return
	}
	done := agent.ToolResult{Content: result.block.Content, IsError: result.block.IsError, Denied: result.denied}
	words := oneLine(resultText(done))
	switch {
	case done.IsError || !quiet(call.Name):
		if (call.Name == tools.Edit || call.Name == tools.NotebookEdit) && !done.IsError {
			done.Display = replaced(call.Input)
		}
		r.p.agentEvent(agent.ToolFinished{Path: path, ID: call.ID, Name: call.Name, Input: call.Input, Result: done})
	case call.Name == tools.Ask:
		var q flower.Question
		_ = json.Unmarshal(call.Input, &struct {
			Text    *string   `json:"question"`
			Options *[]string `json:"options"`
		}{&q.Text, &q.Options}) // a question without words was answered nevertheless
		r.p.asked(q)
		r.p.say("+ ", "answer.given", text.Data{"Answer": words, "Question": oneLine(q.Text)})
		r.p.gap()
	case words != "":
		r.in(path, func() { r.p.block("+ ", resultText(done)) })
	}
}

// replaced shows an edit as the lines taken out and put in.
func replaced(input json.RawMessage) string {
	var in struct {
		Old  string `json:"old_string"`
		New  string `json:"new_string"`
		Cell string `json:"new_source"`
	}
	_ = json.Unmarshal(input, &in) // the tool has accepted it
	var out strings.Builder
	for _, part := range []struct{ mark, lines string }{{"-", in.Old}, {"+", in.New}, {"+", in.Cell}} {
		for line := range strings.Lines(part.lines) {
			out.WriteString(part.mark + " " + strings.TrimSuffix(line, "\n") + "\n")
		}
	}
	return out.String()
}

// subagent writes a subagent's conversation where it was started; the call is empty if it is not known.
func (r *replay) subagent(id string, call transcript.Block) {
	t := r.subagents[id]
	if len(t.entries) == 0 {
		return
	}
	var in struct {
		Title string `json:"description"`
		Agent string `json:"subagent_type"`
	}
	_ = json.Unmarshal(call.Input, &in) // one without a title has none
	if in.Agent == "" {
		in.Agent = "agent"
	}
	began, err := time.Parse(time.RFC3339, t.entries[0].Timestamp)
	if err == nil {
		r.at = began
	}
	before, unpriced := r.p.total, r.p.unpriced
	r.p.unpriced = false
	r.p.agentEvent(agent.Started{Path: id, Agent: in.Agent, Title: in.Title})
	r.thread(t, id)
	r.p.agentEvent(agent.Finished{Path: id, Result: agent.Result{
		Turns: len(answers(t.entries)), CostUSD: r.p.total - before, Unpriced: r.p.unpriced, Context: contextOf(t.entries),
	}})
	r.p.unpriced = r.p.unpriced || unpriced
}

// contextOf is the context of a conversation's last answer, also of a subagent's.
func contextOf(entries []transcript.Entry) int {
	for i := len(entries) - 1; i >= 0; i-- {
		if m := entries[i].Message; m != nil && m.Role == transcript.RoleAssistant && m.Usage.Context() > 0 {
			return m.Usage.Context()
		}
	}
	return 0
}
