package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"flower/transcript"
)

// maxContinuations is how often in a row an answer cut by the output limit is continued: an answer of more than four
// times the limit is a model that repeats itself.
const maxContinuations = 3

// maxPauses is how often in a row an answer is paused. The endpoint pauses after ten rounds of its own tools: more than a
// hundred for one answer lead nowhere.
const maxPauses = 10

// conversation is one run of one agent. The goroutine that calls run owns it; tools run beside it and report back to it.
type conversation struct {
	engine  *Engine
	key     Key
	path    string // of events: the subagent's id
	spec    Spec
	emit    func(Event)
	inbox   Inbox
	meter   *Meter // of this conversation; counts in its parent's
	top     *Meter // of the whole run
	abandon bool
	ready   func() // nil once it was called
	line    int    // as in Request
	same    bool
	closing bool
	shrink  bool
	// answering is the context of answers: the one of run, or a wider one under which an answer is finished though the
	// run is to end.
	answering context.Context

	prefix   Prefix
	tools    map[string]boundTool
	messages []transcript.Message // what the model has been told; only ever appended to, but for what recover.go does
	parent   string               // uuid of the last entry
	known    map[string]bool      // uuids of user entries the session holds
	marked   []Mark               // ends of earlier requests that the endpoint may have in its cache
	removed  int                  // results and texts that were taken out when it was loaded
	callIDs  map[string]bool      // of all calls so far
	journal  map[string]OpenCall  // of calls that were open when the session was loaded
	refusal  string               // what the endpoint said of the last answer, if it was a refusal
	carried  carried
	warnings []BudgetLow // not told yet
	repeats  repeats
	result   Result

	withdrawn []string // names of hosted tools in the prefix that are not offered any more
}

func (c *conversation) owns(e *LimitError) bool { return e.meter == c.meter }

// run is the whole life of the conversation; it always emits Finished.
func (c *conversation) run(ctx context.Context, prompt, promptID, title string) (Result, error) {
	err := c.converse(ctx, prompt, promptID, title)
	var lost *StoreError
	if err != nil && ctx.Err() != nil && !errors.As(err, &lost) {
		err = context.Cause(ctx)
	}
	c.result.Usage, c.result.CostUSD, c.result.Unpriced = c.meter.Spent()
	c.emit(Finished{Path: c.path, Result: c.result, Err: err})
	return c.result, err
}

func (c *conversation) converse(ctx context.Context, prompt, promptID, title string) error {
	if err := c.checkPrompt(prompt); err != nil {
		return err
	}
	open, report, err := c.load(ctx)
	if err != nil {
		return err
	}
	c.emit(Started{Path: c.path, Key: c.key, Agent: c.spec.Name, Title: title, Resumed: c.result.Resumed, Report: report})
	if truncated(c.result.StopReason) {
		err = c.refuse(ctx, open)
	} else {
		err = c.settle(ctx, open)
	}
	if err != nil {
		return err
	}
	if prompt != "" && !c.known[promptID] {
		if err := c.checkLimits(); err != nil { // before the session grows by a prompt that nothing will answer
			return err
		}
		if promptID == "" {
			promptID = c.engine.opts.NewID()
		}
		if err := c.say(ctx, promptID, prompt); err != nil {
			return err
		}
	}
	return c.loop(ctx)
}

// loop asks until the model is done.
func (c *conversation) loop(ctx context.Context) error {
	continued, pauses := 0, 0
	silent := false // the last answer said nothing that could be sent back
	for {
		var said, waiting bool
		if paused := c.spokeLast() && c.result.StopReason == StopPauseTurn; !paused && !c.atBoundary(ctx) {
			var err error
			if said, waiting, err = c.hear(ctx); err != nil {
				return err
			}
		}
		if len(c.messages) == 0 {
			return errors.New("run agent: a new session needs a prompt")
		}
		if silent && !said || c.spokeLast() {
			done, err := c.afterAnswer(ctx)
			if done && !waiting || err != nil {
				return err
			}
		}
		if c.full() {
			return &LineError{Context: c.result.Context, Line: c.line}
		}
		resp, err := c.ask(ctx)
		if err != nil {
			return err
		}
		stop := resp.Message.StopReason
		silent = !c.spokeLast()
		if stop != StopPauseTurn {
			pauses = 0
		} else if pauses++; pauses > maxPauses {
			return fmt.Errorf("run agent: the endpoint paused its answer %d times in a row", pauses)
		}
		if stop != StopMaxTokens && !(silent && stop == StopPauseTurn) {
			continued = 0
		} else if continued++; continued > maxContinuations {
			return &CutOffError{Stop: stop, Times: continued}
		}
		if stop == StopMaxTokens {
			silent = false
			err = c.refuseCut(ctx, resp.Message.ToolUses())
		} else {
			err = c.settle(ctx, resp.Message.ToolUses())
		}
		if err != nil {
			return err
		}
	}
}

// atBoundary says that the run is to end at its next message boundary: an answer that was on its way has been the last.
func (c *conversation) atBoundary(ctx context.Context) bool {
	return ctx.Err() != nil && c.answering.Err() == nil
}

// spokeLast says whether the last message is the model's.
func (c *conversation) spokeLast() bool {
	n := len(c.messages)
	return n > 0 && c.messages[n-1].Role == transcript.RoleAssistant
}

// afterAnswer decides what follows when the model has spoken last, in this process or before: nothing (done), or
// another request.
func (c *conversation) afterAnswer(ctx context.Context) (done bool, err error) {
	switch c.result.StopReason {
	case StopPauseTurn: // sent back as it is
		return false, nil
	case StopRefusal:
		return false, &RefusalError{Details: c.refusal}
	case StopContextWindow:
		return false, &ModelError{Kind: Overflow, Message: "the answer was cut by the end of the context window"}
	case StopMaxTokens: // the process ended before it could say so
		return false, c.refuseCut(ctx, nil)
	}
	return true, nil
}

// open says once that the session holds something and is about to be used.
func (c *conversation) open() {
	if c.ready != nil {
		c.ready()
		c.ready = nil
	}
}

// ask sends one request and commits the answer.
func (c *conversation) ask(ctx context.Context) (*Response, error) {
	if err := c.checkLimits(); err != nil {
		return nil, err
	}
	if err := c.engine.opts.Room.Await(ctx); err != nil {
		return nil, err
	}
	c.open()
	resp, err := c.obtain(ctx)
	if err != nil {
		return nil, err
	}
	before := c.result
	c.result.Turns++
	c.result.StopReason = resp.Message.StopReason
	c.result.Context = resp.Message.Usage.Context()
	c.result.Model = resp.Message.Model
	c.refusal = resp.StopDetails
	switch text := resp.Message.PlainText(); {
	case before.StopReason == StopMaxTokens: // the rest of a text that was cut in the middle
		c.result.Text = before.Text + text
	case before.StopReason == StopPauseTurn: // the rest of the same answer
		c.result.Text = strings.Join(slices.DeleteFunc([]string{before.Text, text}, func(s string) bool { return s == "" }), "\n\n")
	case resp.Message.StopReason == StopPauseTurn:
		c.result.Text = text
	case text != "" || resp.Message.StopReason == StopEndTurn:
		c.result.Text = text
	}
	if err := c.commit(ctx, c.engine.opts.NewID(), resp.Message, ""); err != nil {
		c.emit(Wasted{Path: c.path, Usage: resp.Message.Usage, CostUSD: resp.CostUSD, Low: resp.Unpriced, Whole: true})
		c.warn()
		return nil, err
	}
	var paused []transcript.Block
	if c.spokeLast() {
		paused = c.messages[len(c.messages)-1].Content
	}
	c.messages = transcript.Append(c.messages, resp.Message)
	_, total, _ := c.top.Spent()
	c.emit(Answered{
		Path: c.path, Message: resp.Message, Asked: c.model(), Turn: c.result.Turns, Searches: resp.Message.Searches(paused...),
		CostUSD: resp.CostUSD, Unpriced: resp.Unpriced, Total: total,
	})
	c.tellMoney(resp)
	return resp, nil
}

// generate sends one request and counts what it costs, before anything is stored: a failing disk must not hide it.
func (c *conversation) generate(ctx context.Context, req *ModelRequest) (*Response, error) {
	held := c.least()
	if err := c.meter.hold(held); err != nil {
		return nil, err
	}
	var begun *Begun // of an answer that has not come to its end
	resp, err := c.answer(ctx, req, func(d Delta) {
		switch d := d.(type) {
		case Begun:
			c.waste(begun)
			begun = &d
		case Retrying, Waiting:
			c.waste(begun)
			begun = nil
		}
		c.emit(Progress{Path: c.path, Delta: d})
	})
	if err != nil {
		c.meter.pay(held, transcript.Usage{}, 0, false)
		c.waste(begun)
		return nil, err
	}
	resp = c.acceptable(resp, req.Model)
	c.warnings = c.meter.pay(held, resp.Message.Usage, resp.CostUSD, resp.Unpriced)
	return resp, nil
}

// request is the next request.
func (c *conversation) request() *ModelRequest {
	req := &ModelRequest{
		Model: c.model(), MaxTokens: c.spec.MaxTokens,
		System: c.prefix.System, Tools: c.offered(), Messages: c.messages, Marks: slices.Concat(c.marked, []Mark{endOf(c.messages)}),
		Thinking: c.spec.Thinking, Effort: c.spec.Effort, SessionID: c.key.Session,
	}
	if req.MaxTokens == 0 {
		req.MaxTokens = c.engine.opts.MaxTokens
	}
	return req
}

// answer asks the model. When ctx is done an answer on its way is still finished; one that has failed is not asked for
// again.
func (c *conversation) answer(ctx context.Context, req *ModelRequest, sink func(Delta)) (*Response, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	answering, cancel := context.WithCancelCause(c.answering)
	defer cancel(nil)
	var failed atomic.Bool // nothing is on its way
	giveUp := func() {
		if failed.Load() && ctx.Err() != nil {
			cancel(context.Cause(ctx))
		}
	}
	defer context.AfterFunc(ctx, giveUp)()
	return c.engine.opts.Model.Generate(answering, req, func(d Delta) {
		_, retrying := d.(Retrying)
		failed.Store(retrying)
		giveUp()
		sink(d)
	})
}

// acceptable is a copy of an answer that can be stored and sent back, whatever the model made of it. Its message has an
// id and a model, without which an entry does not say why the answer ended. Calls of a refused answer and of one cut by
// the window are not run, so they are not kept either. Each call has a name, an object as input and an id of its own in
// the session, spelled as the API takes them back: what a call has led to (a subagent's work, a person's answer) is found by that id.
func (c *conversation) acceptable(resp *Response, model string) *Response {
	out := *resp
	m := &out.Message
	m.Role, m.Model = transcript.RoleAssistant, firstOf(m.Model, model)
	if m.ID == "" {
		m.ID = "msg_" + c.engine.opts.NewID()
	}
	m.Content = make([]transcript.Block, 0, len(resp.Message.Content))
	for _, b := range resp.Message.Content {
		switch {
		case b.Type == "":
			continue
		case b.Type == transcript.TypeToolUse && (m.StopReason == StopRefusal || m.StopReason == StopContextWindow):
			continue
		case b.Type == transcript.TypeToolUse:
			b = c.acceptableCall(b)
		}
		m.Content = append(m.Content, b)
	}
	return &out
}

func (c *conversation) acceptableCall(b transcript.Block) transcript.Block {
	id, name, input := b.ID, transcript.PlainName(firstOf(b.Name, "unnamed")), b.Input
	if id == "" || c.callIDs[id] || transcript.PlainID(id) != id {
		id = "toolu_" + strings.ReplaceAll(c.engine.opts.NewID(), "-", "")
	}
	if !isObject(input) {
		input = unreadable(input)
	}
	c.callIDs[id] = true
	if id == b.ID && name == b.Name && isObject(b.Input) {
		return b // with all its bytes
	}
	return transcript.ToolUse(id, name, input)
}

// truncated says whether an answer that ended so is not complete: no call in it may be run.
func truncated(stopReason string) bool {
	return stopReason == StopMaxTokens || stopReason == StopRefusal || stopReason == StopContextWindow
}

// refuseCut answers an answer that the output limit has cut: its calls were not run, the rest is to follow.
func (c *conversation) refuseCut(ctx context.Context, calls []transcript.Block) error {
	const cut = "Your answer reached the output limit and was cut. Go on exactly where it stopped; if you were writing a long tool input, send it in smaller parts."
	if err := c.refuse(ctx, calls); err != nil {
		return err
	}
	return c.say(ctx, c.engine.opts.NewID(), cut)
}

// refuse gives calls of an answer that is not complete a result that says so.
func (c *conversation) refuse(ctx context.Context, calls []transcript.Block) error {
	results := make([]ToolResult, len(calls))
	for i, call := range calls {
		results[i] = ErrorResult(notComplete)
		if err := c.store(ctx, call, results[i]); err != nil {
			return err
		}
	}
	c.tell(calls, results)
	return nil
}

// hear hands over what the person said meanwhile. In a session that is about to be left it stays where it is, for the one
// that follows, and waiting says that there is something.
func (c *conversation) hear(ctx context.Context) (said, waiting bool, err error) {
	if !c.full() || c.inbox == nil {
		said, err = c.deliver(ctx)
		return said, false, err
	}
	notes, err := c.inbox.Take(ctx)
	if err != nil {
		return false, false, fmt.Errorf("read inbox: %w", err)
	}
	return false, len(notes) > 0, nil
}

// deliver hands over what the person said meanwhile; said is false if that was nothing.
func (c *conversation) deliver(ctx context.Context) (said bool, err error) {
	if c.inbox == nil {
		return false, nil
	}
	notes, err := c.inbox.Take(ctx)
	if err != nil {
		return false, fmt.Errorf("read inbox: %w", err)
	}
	if len(notes) == 0 {
		return false, nil
	}
	for _, n := range notes {
		if c.known[n.ID] {
			continue
		}
		content, err := c.fit(ctx, []transcript.Block{transcript.Text(n.Text)}, c.limits().text)
		if err == nil {
			err = c.say(ctx, n.ID, content[0].Text)
		}
		if err != nil {
			return false, err
		}
		said = true
	}
	c.open() // a remark is not taken out of the inbox for a session that nobody knows
	delivered := func() error { return c.inbox.Delivered(context.WithoutCancel(ctx), notes) }
	if err := c.engine.opts.Room.Keep(ctx, delivered); err != nil {
		return false, fmt.Errorf("empty inbox: %w", err)
	}
	c.emit(Delivered{Path: c.path, Notes: notes})
	return said, nil
}

// say commits a text of the person's side and adds it to what the model is told.
func (c *conversation) say(ctx context.Context, id, text string) error {
	if strings.TrimSpace(text) == "" {
		return nil // the API refuses blank text
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	m := transcript.Message{Role: transcript.RoleUser, Content: []transcript.Block{transcript.Text(text)}}
	if err := c.commit(ctx, id, m, ""); err != nil {
		return err
	}
	c.known[id] = true
	c.messages = transcript.Append(c.messages, m)
	return nil
}

// commit stores one message. It is not interrupted by a cancelled ctx: what has happened is written down. Only waiting
// for room on the disk is.
func (c *conversation) commit(ctx context.Context, id string, m transcript.Message, denial string) error {
	entry := transcript.NewEntry(c.stamp(), id, c.parent, c.engine.opts.Now(), m)
	entry.ToolDenialKind = denial
	return c.write(ctx, entry)
}

// stamp is what all entries of the conversation say of where they were written.
func (c *conversation) stamp() transcript.Stamp {
	o := &c.engine.opts
	return transcript.Stamp{SessionID: c.key.Session, AgentID: c.path, CWD: o.CWD, GitBranch: o.GitBranch(), Version: o.Version}
}

// write stores an entry that hangs on the last one.
func (c *conversation) write(ctx context.Context, entry transcript.Entry) error {
	o := &c.engine.opts
	write := func() error { return o.Log.Append(context.WithoutCancel(ctx), c.key, entry) }
	if err := o.Room.Keep(ctx, write); err != nil {
		return &StoreError{Session: c.key.Session, Err: err}
	}
	c.parent = entry.UUID
	return nil
}

// StoreError is an entry that could not be stored. Unlike other failures it is reported even if the run was cancelled
// at the same time: something that has happened is not written down.
type StoreError struct {
	Session string
	Err     error
}

// Error implements error.
func (e *StoreError) Error() string {
	return fmt.Sprintf("store entry of session %s: %v", e.Session, e.Err)
}

// Unwrap returns the cause.
func (e *StoreError) Unwrap() error { return e.Err }

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// inputText is a call's input for an error message, bounded.
func inputText(input []byte) string {
	const most = 200
	s := []rune(strings.ToValidUTF8(string(input[:min(len(input), 4*most+4)]), "\uFFFD"))
	if len(s) > most {
		return string(s[:most]) + "…"
	}
	return string(s)
}
