package tui

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"flower"
	"flower/agent"
	"flower/internal/text"
	"flower/tools"
)

// activity is what is going on, as the events of a run tell it. It keeps no text that was not cut to a line. One
// goroutine uses it.
type activity struct {
	clean    func(string) string // what may be shown of a text; nil is all
	stepName func(string) string // as people read it; nil is the name
	window   int                 // tokens; 0 is unknown

	busy     bool      // an attempt runs
	stopped  time.Time // since when it is interrupted; zero: it is not
	step     string
	index    int
	total    int
	turn     int
	context  int // tokens of the main thread after its last answer
	cost     float64
	unpriced bool
	full     time.Time // since when the disk is full; zero: it is not

	main    thread
	workers []*thread // subagents at work, the one that began first first
	crew    Crew
}

// thread is what one conversation does.
type thread struct {
	path  string
	name  string // short, of a subagent
	title string
	began time.Time

	doing doing
	since time.Time
	bytes int    // of the answer so far
	tool  string // that is being called in the answer

	calls  []call    // that run now
	trying time.Time // since when requests fail; zero: they do not
	try    int       // the attempt that failed; 0 while an outage is waited out
	outage agent.Outage
}

// doing tells what a thread is at when it runs no tool.
type doing int

const (
	resting doing = iota
	thinking
	writing
	calling // writes a call's input
)

type call struct {
	id    string
	name  string // of the tool
	what  string // name and argument, on one line
	since time.Time
}

func (t *thread) to(d doing, now time.Time) {
	if t.doing != d {
		t.doing, t.since = d, now
	}
}

// own is the first call that runs and waits for nobody else; nil if there is none.
func (t *thread) own() *call {
	for i, c := range t.calls {
		if c.name != tools.Agent && c.name != tools.Ask {
			return &t.calls[i]
		}
	}
	return nil
}

// handsOut says whether all it does is to wait for subagents.
func (t *thread) handsOut() bool {
	agents := slices.ContainsFunc(t.calls, func(c call) bool { return c.name == tools.Agent })
	return agents && t.own() == nil && t.trying.IsZero()
}

// event takes what happened; it reports whether the screen should follow at once rather than with its next tick.
func (a *activity) event(ev flower.Event, now time.Time) bool {
	switch ev := ev.(type) {
	case flower.StepStarted:
		a.step, a.index, a.total = ev.Name, ev.Index, ev.Total
		if a.stepName != nil {
			a.step = a.stepName(ev.Name)
		}
		a.step = a.line(a.step)
		a.context, a.turn = 0, 0
	case flower.Interrupted:
		a.stopped = now
	case flower.AttemptStarted:
		a.busy, a.stopped = true, time.Time{}
		a.main = thread{began: now, doing: thinking, since: now}
	case flower.AttemptFinished:
		a.busy = false
		a.workers = nil
	case flower.WindowNear:
		a.window = ev.Window
	case flower.RoomChanged:
		a.full = time.Time{}
		if ev.Full {
			a.full = now
		}
	case flower.AgentEvent:
		return a.agent(ev.Event, now)
	}
	return true
}

func (a *activity) agent(ev agent.Event, now time.Time) bool {
	switch ev := ev.(type) {
	case agent.Started:
		a.stopped = time.Time{}
		t := a.thread(ev.Path, ev.Agent, now)
		t.title = a.line(ev.Title)
		t.calls = nil // of an attempt that was interrupted
		t.to(thinking, now)
	case agent.Progress:
		return a.progress(ev, now)
	case agent.Answered:
		a.cost += ev.CostUSD
		a.unpriced = a.unpriced || ev.Unpriced
		if ev.Path == "" {
			a.context, a.turn = ev.Message.Usage.Context(), ev.Turn
		}
		t := a.thread(ev.Path, "", now)
		t.trying, t.try, t.bytes = time.Time{}, 0, 0
		t.to(resting, now)
	case agent.Wasted:
		a.cost += ev.CostUSD
		a.unpriced = a.unpriced || ev.Low
	case agent.ToolStarted:
		t := a.thread(ev.Path, "", now)
		t.calls = append(t.calls, call{id: ev.ID, name: ev.Name, what: a.line(ev.Name + " " + argument(ev.Input)), since: now})
	case agent.ToolFinished:
		t := a.thread(ev.Path, "", now)
		t.calls = slices.DeleteFunc(t.calls, func(c call) bool { return c.id == ev.ID })
		if len(t.calls) == 0 {
			t.doing, t.since = thinking, now
		}
	case agent.Finished:
		a.workers = slices.DeleteFunc(a.workers, func(t *thread) bool { return t.path == ev.Path && ev.Path != "" })
	}
	return true
}

// progress takes a piece of an answer: many a second, of which a person needs to see one now and then.
func (a *activity) progress(ev agent.Progress, now time.Time) bool {
	t := a.thread(ev.Path, "", now)
	before := t.doing
	switch d := ev.Delta.(type) {
	case agent.Retrying:
		if t.trying.IsZero() {
			t.trying = now
		}
		t.try, t.bytes = d.Attempt, 0
		return true
	case agent.Waiting:
		t.trying, t.try, t.outage, t.bytes = d.Since, 0, d.Outage, 0
		return true
	case agent.OutageOver: // the request itself is sent again by and by
		return true
	case agent.ThinkingDelta:
		t.to(thinking, now)
	case agent.TextDelta:
		t.bytes += len(d.Text)
		t.to(writing, now)
	case agent.ToolDelta:
		t.tool, t.bytes = a.line(d.Name), d.Bytes
		t.to(calling, now)
	}
	again := !t.trying.IsZero() // an answer comes again
	t.trying = time.Time{}
	return again || t.doing != before
}

// thread finds a conversation, or begins to follow it.
func (a *activity) thread(path, agentName string, now time.Time) *thread {
	if path == "" {
		return &a.main
	}
	for _, t := range a.workers {
		if t.path == path {
			return t
		}
	}
	t := &thread{path: path, name: a.crew.Name(path, agentName), began: now, doing: thinking, since: now}
	a.workers = append(a.workers, t)
	return t
}

// argument is the part of a call's input that tells it from others.
func argument(input json.RawMessage) string {
	var in struct {
		Command     string `json:"command"`
		FilePath    string `json:"file_path"`
		Pattern     string `json:"pattern"`
		URL         string `json:"url"`
		Query       string `json:"query"`
		Description string `json:"description"`
	}
	_ = json.Unmarshal(input, &in) // what does not fit is not shown
	for _, s := range []string{in.Command, in.FilePath, in.Pattern, in.URL, in.Query, in.Description} {
		if s != "" {
			return s
		}
	}
	return ""
}

// maxLine is how much of a text of others is kept for one line, in bytes.
const maxLine = 400

// line is the beginning of a text on one line. It is cleaned as a whole: half a secret is not recognised.
func (a *activity) line(s string) string {
	if a.clean != nil {
		s = a.clean(s)
	}
	s = strings.Join(strings.Fields(text.Plain(s)), " ")
	return strings.ToValidUTF8(s[:min(len(s), maxLine)], "")
}

// decided is line for a text a person decides by: what is hidden in it is shown, unless it would part a secret.
func (a *activity) decided(s string) string {
	if plain := text.Plain(s); a.clean != nil && a.clean(plain) != plain {
		return a.line(plain)
	}
	return a.line(text.Reveal(s))
}
