package agent

import (
	"context"
	"fmt"

	"flower/transcript"
)

// load brings back what the session holds, or stores the prefix of a new one. It returns the calls that were left
// without a result.
func (c *conversation) load(ctx context.Context) ([]transcript.Block, transcript.Report, error) {
	tools, err := c.bind()
	if err != nil {
		return nil, transcript.Report{}, err
	}
	entries, damaged, err := c.stored(ctx)
	if err != nil {
		return nil, transcript.Report{}, err
	}
	known, err := c.loadPrefix(ctx, tools)
	if err != nil {
		return nil, transcript.Report{}, err
	}
	c.withdrawn = transcript.Withdrawn(entries)
	p := transcript.Prepare(entries, c.prepareOptions())
	if known {
		p, err = c.withdrawLost(ctx, entries, p, tools)
	} else {
		p, err = c.adopt(ctx, entries, p)
	}
	if err != nil {
		return nil, p.Report, err
	}
	p.Report.Damaged += damaged
	c.result.Resumed = len(entries) > 0
	for _, e := range p.Entries {
		if e.Message != nil && e.Message.Role == transcript.RoleAssistant {
			c.result.Context = e.Message.Usage.Context()
			c.result.StopReason = e.Message.StopReason
			c.result.Model = e.Message.Model
			c.carried = carriedOver(e)
		}
	}
	c.carried.loaded(p.Report)
	c.result.Text = lastText(p.Messages, c.result.StopReason)
	return p.Open, p.Report, c.take(ctx, p)
}

// stored reads the session's entries.
func (c *conversation) stored(ctx context.Context) (entries []transcript.Entry, damaged int, err error) {
	lines, err := c.engine.opts.Log.Load(ctx, c.key)
	if err != nil {
		return nil, 0, fmt.Errorf("load session %s: %w", c.key.Session, err)
	}
	entries, damaged = transcript.ParseHistory(lines)
	return entries, damaged, nil
}

func (c *conversation) prepareOptions() transcript.Options {
	o := &c.engine.opts
	most := c.limits()
	return transcript.Options{
		Trim: o.Trim, TrimAll: c.shrink && o.Spill != nil, AgentID: c.path, KeepOpenCalls: true,
		MaxText: most.text, MaxResult: most.result, MaxRequest: transcript.MaxRequestBytes, NoSpill: o.Spill == nil,
		PlainSearches: !c.offersHosted(),
	}
}

// take makes a prepared history the conversation's own.
func (c *conversation) take(ctx context.Context, p transcript.Prepared) error {
	for _, s := range p.Spills {
		if err := c.spill(ctx, s); err != nil {
			return err
		}
	}
	c.messages, c.parent = p.Messages, p.Leaf
	c.known, c.callIDs = make(map[string]bool), make(map[string]bool)
	for _, m := range p.Messages {
		for _, call := range m.ToolUses() {
			c.callIDs[call.ID] = true
		}
	}
	for _, e := range p.Entries {
		if e.Type == transcript.RoleUser {
			c.known[e.UUID] = true
		}
	}
	c.marked = earlierEnds(p.Messages, p.Same)
	c.removed = p.Report.Oversize + p.Report.Trimmed + p.Report.Expired
	return nil
}

// spill writes a text that was moved out of the conversation.
func (c *conversation) spill(ctx context.Context, s transcript.Spill) error {
	o := &c.engine.opts
	if err := o.Room.Keep(ctx, func() error { return o.Spill(s) }); err != nil {
		return fmt.Errorf("move a text out of session %s: %w", c.key.Session, err)
	}
	return nil
}

// loadPrefix takes the stored prefix, or the agent's own where there is none: known is false then, and adopt stores it.
func (c *conversation) loadPrefix(ctx context.Context, tools []ToolSpec) (known bool, err error) {
	prefix, known, err := c.engine.opts.Log.Prefix(ctx, c.key)
	if err != nil {
		return false, fmt.Errorf("load prefix of session %s: %w", c.key.Session, err)
	}
	own := Prefix{System: c.spec.Instructions, Tools: tools, Definition: c.spec.Fingerprint()}
	if known && c.same {
		if err := prefix.changes(own); err != nil {
			return false, err
		}
	}
	if !known {
		prefix = own
	}
	c.prefix = prefix
	return known, nil
}

// adopt stores the prefix of a session that has none: a new one, or one that another program has written. That one's
// thinking was signed for another prefix; it is given up once and for all, and before the prefix is stored, which would
// make the session look like one of ours.
func (c *conversation) adopt(ctx context.Context, entries []transcript.Entry, p transcript.Prepared) (transcript.Prepared, error) {
	if _, from := transcript.DropThinking(p.Messages, 0, 0); from != "" {
		c.parent = p.Leaf
		note, err := c.forget(ctx, "")
		if err != nil {
			return p, err
		}
		before := thinkingIn(p.Messages)
		p = transcript.Prepare(append(entries, note), c.prepareOptions())
		p.Report.Thinking += before
	}
	o := &c.engine.opts
	if err := o.Room.Keep(ctx, func() error { return o.Log.SetPrefix(ctx, c.key, c.prefix) }); err != nil {
		return p, fmt.Errorf("store prefix of session %s: %w", c.key.Session, err)
	}
	return p, nil
}

// lastText is the text of the last answer: of one that still stands, or of one that was cut and is to be continued.
func lastText(messages []transcript.Message, stop string) string {
	for i := len(messages) - 1; i >= 0; i-- {
		if messages[i].Role == transcript.RoleAssistant {
			return messages[i].PlainText()
		}
		if stop != StopMaxTokens {
			break
		}
	}
	return ""
}

// earlierEnds finds where requests have ended that the endpoint may still have in its cache: the last one, which ended
// before the last answer, and, if the history has changed since, the last one before the change. The endpoint looks back
// only a limited number of blocks from a mark, so each has to be named.
func earlierEnds(messages []transcript.Message, same int) []Mark {
	var ends []Mark
	last := len(messages) - 1
	for last > 0 && messages[last].Role != transcript.RoleAssistant {
		last--
	}
	for i := min(same, last) - 1; i >= 0; i-- {
		if messages[i].Role == transcript.RoleUser {
			ends = append(ends, endOf(messages[:i+1]))
			break
		}
	}
	if last > 0 && same < last {
		ends = append(ends, endOf(messages[:last]))
	}
	return ends
}

func endOf(messages []transcript.Message) Mark {
	last := len(messages) - 1
	return Mark{Message: last, Block: len(messages[last].Content) - 1}
}
