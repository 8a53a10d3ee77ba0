package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"flower"
	"flower/internal/text"
)

// reporter tells of what happens in a run: a person, by a printer, or a program, by an eventStream. It is safe for
// concurrent use.
type reporter interface {
	Event(flower.Event)
	// Notice tells something that is no event of the run, by a message of the catalogue under a mark.
	Notice(mark, id string, data ...text.Data)
	// Wake says, before a run, what is remembered, and how large the working context is, in tokens.
	Wake(where string, w flower.Wake, context int)
	// storeLost says that the store could not be used, and where it is now.
	storeLost(why error, kept string)
	// storeCopied says that the store got another form, and where it is in the old one.
	storeCopied(path string)
	// unkeptBudget says that the budget cannot be kept for want of the model's price.
	unkeptBudget(model string)
}

// eventStream writes events as lines of JSON: each has its type, the time and the run before its own keys. It begins
// with start, and nothing comes after end. It is safe for concurrent use.
type eventStream struct {
	say     *text.Printer
	screen  *screen
	now     func() time.Time
	began   time.Time
	verbose bool
	// workspace is absolute, symbolic links followed
	workspace string
	patience  time.Duration  // how long a question waits; not above 0: it does not
	budget    float64        // USD; 0 is none
	prices    string         // where a person's table of prices is looked for
	pieces    *pieces        // nil: answers are told when they are whole
	pipe      chan os.Signal // nobody listens: a closed output is an error of the write, and does not kill

	mu       sync.Mutex
	run      string
	total    float64
	unpriced bool
	ended    bool
	last     endEvent // what is known of it
}

// write writes one event.
func (s *eventStream) write(ev record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	_, s.ended = ev.(endEvent)
	line, err := encodeEvent(ev, s.now(), s.run)
	if err != nil { // no type has anything in it that cannot be encoded
		line, _ = encodeEvent(errorEvent{Message: oneLine(err.Error())}, s.now(), s.run)
	}
	s.screen.JSON(line)
}

// encodeEvent puts what all events have before what one has.
func encodeEvent(ev record, at time.Time, run string) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	head := struct {
		Type string  `json:"type"`
		Time *string `json:"time"`
		Run  *string `json:"run"`
	}{ev.eventType(), stampJSON(at), orNull(run)}
	if err := enc.Encode(head); err != nil {
		return nil, fmt.Errorf("encode event: %w", err)
	}
	first := strings.TrimSuffix(buf.String(), "}\n")
	buf.Reset()
	if err := enc.Encode(ev); err != nil {
		return nil, fmt.Errorf("encode event: %w", err)
	}
	rest := strings.TrimPrefix(buf.String(), "{")
	if rest != "}\n" {
		first += ","
	}
	return []byte(first + rest), nil
}

// count adds a cost to the sum, and returns the sum.
func (s *eventStream) count(usd float64, unpriced bool) (total float64, low bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total += usd
	s.unpriced = s.unpriced || unpriced
	return s.total, s.unpriced
}

// ends adds to what the last event will say.
func (s *eventStream) ends(add func(*endEvent)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	add(&s.last)
}

func (s *eventStream) end() endEvent {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.last
	e.Files = orEmpty(e.Files)
	return e
}

// of says which run the events are about from now on.
func (s *eventStream) of(run string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.run = run
}

// Notice implements reporter.
func (s *eventStream) Notice(_, id string, data ...text.Data) {
	s.write(noticeEvent{noticeCode(id), oneLine(s.say.Say(id, data...))})
}

// noticeCode is what a message of the catalogue is called in events.
func noticeCode(id string) string { return strings.ReplaceAll(id, ".", "_") }

func (s *eventStream) storeLost(why error, kept string) {
	what := s.say.Say("fresh.store", text.Data{"Detail": explainer{Printer: s.say}.explain(why)})
	if kept != "" {
		what += s.say.Say("fresh.kept", text.Data{"Path": kept})
	}
	s.write(noticeEvent{noticeCode("fresh.store"), what})
}

func (s *eventStream) storeCopied(path string) { s.Notice("", "store.copied", text.Data{"Path": path}) }

func (s *eventStream) unkeptBudget(model string) {
	s.Notice("", "price.nobudget", text.Data{"Model": oneLine(model), "Budget": plainDollars(s.budget), "Path": s.prices})
}

// refuse says that a line of input was not taken.
func (s *eventStream) refuse(line orderLine, why error) {
	kept, hint := line.text, ""
	if len(kept) > maxEventWord {
		kept = strings.ToValidUTF8(kept[:maxEventWord], "") + "[...]"
	}
	var wrong *orderError
	if errors.As(why, &wrong) {
		hint = wrong.hint
	}
	s.write(errorEvent{Message: oneLine(why.Error()), Hint: hint, Line: line.n, Input: kept})
}

func (s *eventStream) asideAsked(q sideQuestion) { s.write(asideStartedEvent{q.id, q.text}) }

func (s *eventStream) asideDone(q sideQuestion, row flower.StepResult, err error) {
	s.write(asideFinishedEvent{
		ID: q.id, Text: q.text, OK: err == nil, Answer: row.Text, Error: errorText(err), Session: row.SessionID,
		CostUSD: row.CostUSD, Unpriced: row.Unpriced, Usage: row.Usage,
	})
}

func (s *eventStream) asideWaits() {
	s.Notice("", "aside.waits", text.Data{"Time": text.Span(asideGrace)})
}

// startEvents makes standard output a stream of events, and standard error the place for everything else, if --json is
// given. Questions wait for patience; not above 0 they do not.
func (a *app) startEvents(command string, patience time.Duration, budget float64) {
	if !a.global.json {
		return
	}
	a.openEvents()
	a.events.patience, a.events.budget = patience, budget
	workspace := a.abs(a.global.workspace)
	if real, err := flower.ResolveWorkspace(workspace); err == nil {
		workspace = real
	}
	a.events.workspace = workspace
	if a.global.partial {
		a.events.pieces = newPieces(a.events.screen.Secretless, 0, a.events.write)
	}
	a.events.write(startEvent{eventSchema, release(), command, workspace, a.abs(a.global.runDir)})
}

func (a *app) openEvents() {
	a.events = &eventStream{say: a.Printer, screen: a.out, now: a.Now, began: a.Now(), verbose: a.global.verbose, pipe: make(chan os.Signal, 1)}
	a.out = a.err
	signal.Notify(a.events.pipe, syscall.SIGPIPE) // supervise does the same, and begins later
}

// endEvents writes the last events of a command line that was to write JSON. A run that a signal has ended does not wait
// for a reader that reads nothing.
func (a *app) endEvents(err error, code int) {
	if a.events == nil {
		if err == nil {
			return // it has written what it had to say
		}
		a.openEvents()
	}
	s := a.events
	written := make(chan struct{})
	go func() {
		defer close(written)
		end := s.end()
		end.OK, end.ExitCode = code == exitOK, code
		end.DurationS = since(s.began, a.Now())
		if code != exitOK {
			message := a.explainer().alone(err)
			end.Error = &message
			s.write(errorEvent{Message: message, Hint: a.hint(err), ExitCode: &code})
		}
		s.write(end)
	}()
	if stopped(err) {
		grace := time.NewTimer(hurryGrace)
		defer grace.Stop()
		select {
		case <-written:
		case <-grace.C: // it is left behind with the program
		}
	} else {
		<-written
	}
	signal.Stop(s.pipe)
}

// unread is closed when the reader of what the command has to say has gone away.
func (a *app) unread() <-chan struct{} {
	if a.events != nil {
		return a.events.screen.unread
	}
	return a.out.unread
}

// asksJSON finds --json among the arguments, for errors that come before all of them are parsed.
func asksJSON(args []string) bool {
	for _, arg := range args {
		switch arg {
		case "--":
			return false
		case "--json", "--json=true":
			return true
		}
	}
	return false
}
