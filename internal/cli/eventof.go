package cli

import (
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"flower"
	"flower/agent"
	"flower/transcript"
)

const (
	// maxEventOutput bounds what an event says of a tool's result, in bytes: enough to show, and lines stay short.
	maxEventOutput = 16 << 10
	// maxEventInput bounds a call's input; above it each text in it is cut to maxEventWord bytes.
	maxEventInput = 16 << 10
	maxEventWord  = 1 << 10
)

// Event writes what happened; it is the run's observer.
func (s *eventStream) Event(ev flower.Event) {
	if out := s.eventOf(ev); out != nil {
		s.write(out)
	}
}

// eventOf is what programs are told of an event; nil is nothing.
func (s *eventStream) eventOf(ev flower.Event) record {
	switch ev := ev.(type) {
	case flower.WorkflowStarted:
		return runStartedEvent{ev.Woke, ev.Steps}
	case flower.NotContinued:
		return notContinuedEvent{string(ev.Reason), ev.Step, ev.Detail, ev.Kept, ev.Moved}
	case flower.StepStarted:
		return stepStartedEvent{ev.Name, ev.Index, ev.Total, ev.Resumed, ev.Woke}
	case flower.StepSkipped:
		return stepSkippedEvent{ev.Name, ev.Index, ev.Total}
	case flower.StepFinished:
		return stepFinishedEvent{ev.Name, ev.OK, ev.Reason}
	case flower.AttemptStarted:
		return attemptStartedEvent{ev.Step, ev.Label, ev.Agent, ev.SessionID, ev.Resumed}
	case flower.AttemptFinished:
		return attemptFinished(ev.Result)
	case flower.AgentEvent:
		return s.agentEventOf(ev.Label, ev.Event)
	case flower.BriefFrozen:
		return briefEvent{ev.Path}
	case flower.GoalSet:
		return goalOf(ev)
	case flower.CheckStarted:
		return checkStartedEvent{ev.Label, ev.Command}
	case flower.CheckFinished:
		e := ev.Evidence
		return checkFinishedEvent{ev.Label, e.Command, e.ExitCode, e.Problem, e.Output, e.DurationS, e.Dir}
	case flower.Judged:
		v := ev.Verdict
		return verdictEvent{ev.Step, ev.Round, ev.Rounds, v.State.String(), v.Reason, orEmpty(v.Failed)}
	case flower.Asked:
		return s.questionOf(ev.Question)
	case flower.Settled:
		answer := answerEvent{ID: ev.Question.ID, Text: ev.Answer, How: string(ev.How), Decision: ev.Decision}
		if ev.Question.Permission != nil {
			answer.Allowed = &ev.Allowed
		}
		return answer
	case flower.NoteTaken:
		return remarkEvent{ev.Text, ev.InBrief, errorText(ev.BriefErr)}
	}
	return rareEventOf(ev)
}

func (s *eventStream) questionOf(q flower.Question) record {
	e := questionEvent{
		ID: q.ID, Text: q.Text, Options: orEmpty(q.Options), AskedAt: stampJSON(q.AskedAt), TimeoutS: max(0, s.patience.Seconds()),
	}
	if p := q.Permission; p != nil {
		e.Permission = &permissionRecord{p.Tool, p.Input}
	}
	return e
}

// rareEventOf is about what most runs never see.
func rareEventOf(ev flower.Event) record {
	switch ev := ev.(type) {
	case flower.Interrupted:
		return interruptedEvent{ev.Label}
	case flower.WindowNear:
		return windowNearEvent{ev.Label, ev.Context, ev.Line, ev.Window}
	case flower.ModelDiffers:
		return modelDiffersEvent{ev.Asked, ev.Answered}
	case flower.HandingOver:
		cause := map[flower.HandoffCause]string{
			flower.Full: "full", flower.Overflow: "overflow", flower.Redefined: "redefined",
		}[ev.Cause]
		return handingOverEvent{ev.Label, cause, ev.Context}
	case flower.HandedOver:
		return handedOverEvent{ev.Label, ev.From, ev.To, ev.Path, ev.Degraded, ev.Generation}
	case flower.BooksFailed:
		return booksFailedEvent{ev.Path, errorText(ev.Err)}
	case flower.RoomChanged:
		return roomEvent{ev.Path, ev.Full, ev.Free, ev.Need, errorText(ev.Err)}
	case flower.WorktreesLeft:
		return worktreesOf(ev)
	case flower.Unguarded:
		return unguardedEvent{errorText(ev.Err)}
	}
	return nil
}

func worktreesOf(ev flower.WorktreesLeft) record {
	e := worktreesEvent{Trees: []worktreeRecord{}, Error: errorText(ev.Err)}
	for _, t := range ev.Trees {
		e.Trees = append(e.Trees, worktreeRecord{
			Title: t.Title, Branch: t.Branch, Dir: t.Path, Base: t.Base, Commits: t.Commits, Uncommitted: t.Uncommitted,
			Ignored: t.Ignored, Merged: t.Merged, Done: t.Done, Gone: t.Gone, Whole: t.Whole, Problem: t.Problem,
		})
	}
	return e
}

func attemptFinished(r flower.StepResult) record {
	return attemptFinishedEvent{
		Label: r.Step, Session: r.SessionID, OK: r.OK, Error: r.Error, Turns: r.Turns, Context: r.Context,
		DurationS: r.EndedAt.Sub(r.StartedAt).Seconds(), CostUSD: r.CostUSD, Unpriced: r.Unpriced, Usage: r.Usage,
	}
}

func goalOf(ev flower.GoalSet) record {
	checks := []goalCheck{}
	for _, c := range ev.Goal.Checks {
		checks = append(checks, goalCheck{c.Text, c.Unverifiable, c.Why})
	}
	return goalEvent{ev.Path, ev.Goal.Statement, checks}
}

func (s *eventStream) agentEventOf(label string, ev agent.Event) record {
	at := func(path string) inside { return inside{label, path} }
	s.follow(label, ev)
	switch ev := ev.(type) {
	case agent.Started:
		return agentStartedEvent{at(ev.Path), ev.Agent, ev.Title, ev.Key.Session, ev.Resumed, ev.Report.Damaged}
	case agent.Finished:
		r := ev.Result
		return agentFinishedEvent{at(ev.Path), ev.Err == nil, errorText(ev.Err), r.Turns, r.Context, r.CostUSD, r.Unpriced, r.Usage}
	case agent.Progress:
		return deltaEventOf(at(ev.Path), ev.Delta)
	case agent.Answered:
		return s.messageOf(at(ev.Path), ev)
	case agent.ToolStarted:
		input, cut := s.inputOf(ev.Input)
		return toolStartedEvent{at(ev.Path), ev.ID, ev.Name, input, cut}
	case agent.ToolFinished:
		output, size, cut := s.cut(resultText(ev.Result))
		display, _, _ := s.cut(ev.Result.Display)
		return toolFinishedEvent{
			at(ev.Path), ev.ID, ev.Name, !ev.Result.IsError, ev.Result.Denied, output, size, cut, display, ev.Elapsed.Seconds(),
		}
	case agent.Repeating:
		return repeatingEvent{at(ev.Path), ev.Name, ev.Times}
	case agent.Delivered:
		texts := []string{}
		for _, n := range ev.Notes {
			texts = append(texts, n.Text)
		}
		return remarksDeliveredEvent{at(ev.Path), texts}
	case agent.Withdrawn:
		return toolWithdrawnEvent{at(ev.Path), ev.Tool, ev.Reason}
	case agent.Amended:
		return historyChangedEvent{at(ev.Path), ev.Report.Oversize + ev.Report.Trimmed, ev.Report.Thinking}
	case agent.BudgetLow:
		return budgetLowEvent{at(ev.Path), ev.Agent, ev.SpentUSD, ev.LimitUSD}
	case agent.Wasted:
		s.count(ev.CostUSD, ev.Low)
		return wastedEvent{at(ev.Path), ev.CostUSD, ev.Low, ev.Whole, ev.Usage}
	case agent.CacheMissed:
		return cacheMissedEvent{at(ev.Path), ev.Tokens, ev.ExtraUSD, ev.Age.Seconds()}
	}
	return nil
}

// follow hands out the pieces of answers, if they are wanted.
func (s *eventStream) follow(label string, ev agent.Event) {
	if s.pieces == nil {
		return
	}
	switch ev := ev.(type) {
	case agent.Progress:
		s.pieces.delta(inside{label, ev.Path}, ev.Delta, s.verbose)
	case agent.Answered:
		s.pieces.whole(inside{label, ev.Path})
	case agent.Wasted:
		s.pieces.void(inside{label, ev.Path})
	case agent.Finished:
		s.pieces.void(inside{label, ev.Path})
	}
}

// deltaEventOf is about an answer on its way; what it says is told in pieces, or when it is whole.
func deltaEventOf(at inside, d agent.Delta) record {
	name := map[agent.Outage]string{agent.Offline: "offline", agent.Portal: "portal", agent.Busy: "busy"}
	switch d := d.(type) {
	case agent.Retrying:
		return retryEvent{at, d.Attempt, d.Wait.Seconds(), errorText(d.Err)}
	case agent.Waiting:
		return waitingEvent{at, name[d.Outage], errorText(d.Err), stampJSON(d.Since), stampJSON(d.Until), d.Limit.Seconds(), d.Known}
	case agent.OutageOver:
		return outageOverEvent{at, name[d.Outage], d.Waited.Seconds()}
	}
	return nil
}

func (s *eventStream) messageOf(at inside, ev agent.Answered) record {
	total, unpriced := s.count(ev.CostUSD, ev.Unpriced)
	var thinking []string
	for _, b := range ev.Message.Content {
		if s.verbose && b.Type == transcript.TypeThinking {
			thinking = append(thinking, b.Thinking)
		}
	}
	return messageEvent{
		inside: at, Turn: ev.Turn, Text: ev.Message.PlainText(), Thinking: strings.Join(thinking, "\n"),
		Searches: searchesOf(ev.Searches), Model: ev.Message.Model,
		Context: ev.Message.Usage.Context(), CostUSD: ev.CostUSD, TotalUSD: total, Unpriced: unpriced, Usage: ev.Message.Usage,
	}
}

func searchesOf(made []transcript.Search) []searchRecord {
	list := []searchRecord{}
	for _, s := range made {
		r := searchRecord{Query: s.Query, Results: []foundRecord{}, Error: s.Failed}
		for _, f := range s.Results {
			r.Results = append(r.Results, foundRecord{f.Title, f.URL})
		}
		list = append(list, r)
	}
	return list
}

// cut takes the middle out of a long text. Secrets go first: half of one would not be recognised.
func (s *eventStream) cut(t string) (kept string, size int, cut bool) {
	size = len(t)
	if t = s.screen.Secretless(t); len(t) <= maxEventOutput {
		return t, size, false
	}
	head, tail := maxEventOutput/2, len(t)-maxEventOutput/2
	for head > 0 && !utf8.RuneStart(t[head]) {
		head--
	}
	for tail < len(t) && !utf8.RuneStart(t[tail]) {
		tail++
	}
	return t[:head] + "\n[...]\n" + t[tail:], size, true
}

// inputOf is a call's input, with long texts cut. What is no JSON, or too large all the same, is a text.
func (s *eventStream) inputOf(input json.RawMessage) (out json.RawMessage, cut bool) {
	if len(input) <= maxEventInput && json.Valid(input) {
		return input, false
	}
	var v any
	if json.Unmarshal(input, &v) == nil {
		short, err := json.Marshal(s.shorten(v))
		if err == nil && len(short) <= maxEventInput {
			return short, true
		}
	}
	kept, _, _ := s.cut(strings.ToValidUTF8(string(input), "\uFFFD"))
	quoted, err := json.Marshal(kept)
	if err != nil {
		return json.RawMessage("null"), true
	}
	return quoted, true
}

func (s *eventStream) shorten(v any) any {
	switch v := v.(type) {
	case string:
		if v = s.screen.Secretless(v); len(v) > maxEventWord {
			return strings.ToValidUTF8(v[:maxEventWord], "") + "[...]"
		}
		return v
	case []any:
		for i := range v {
			v[i] = s.shorten(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = s.shorten(v[k])
		}
	}
	return v
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return oneLine(err.Error())
}

// orEmpty is a list that becomes [] and never null.
func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// orNull is a text that becomes null if it is empty.
func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// Wake says what is remembered.
func (s *eventStream) Wake(_ string, w flower.Wake, context int) {
	s.write(wakeEvent{w.Waking, w.Checks, context, w.Woke + 1})
}

// running tells of the flower that is at work here.
func (s *eventStream) running(o flower.Owner) {
	s.write(runningEvent{
		PID: o.PID, Host: o.Host, StartedAt: stampJSON(o.Started), Run: o.Run, Workspace: o.Workspace, Step: o.Step,
		CostUSD: o.CostUSD, Unpriced: o.Unpriced,
	})
}

// since is a duration in seconds, for events.
func since(began, now time.Time) float64 { return now.Sub(began).Seconds() }
