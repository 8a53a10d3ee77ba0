package agent

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"flower/transcript"
)

// Tools that the endpoint runs itself are offered like others, but whether it has them is known for certain only when it
// has taken a request with them. Where it has not, the session goes on without: that changes what every request begins
// with, so it is written down and stays so.

// refused says whether the endpoint has refused to run a tool for a model.
func (e *Engine) refused(model, tool string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.hosted[model+"\x00"+tool]
}

// refuse notes that it has; first is false if that is not new.
func (e *Engine) refuse(model, tool string) (first bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	key := model + "\x00" + tool
	first = !e.hosted[key]
	if e.hosted == nil {
		e.hosted = map[string]bool{}
	}
	e.hosted[key] = true
	return first
}

// offered are the tools that requests offer: those of the prefix without the ones that were withdrawn.
func (c *conversation) offered() []ToolSpec {
	if len(c.withdrawn) == 0 {
		return c.prefix.Tools
	}
	return slices.DeleteFunc(slices.Clone(c.prefix.Tools), func(t ToolSpec) bool {
		return len(t.Hosted) > 0 && slices.Contains(c.withdrawn, t.Name)
	})
}

func (c *conversation) offersHosted() bool {
	return slices.ContainsFunc(c.offered(), func(t ToolSpec) bool { return len(t.Hosted) > 0 })
}

// withdrawLost withdraws the tools of the endpoint that the session was begun with and that are not to be had now: it goes
// on at another endpoint, or the person does not want them.
func (c *conversation) withdrawLost(ctx context.Context, entries []transcript.Entry, p transcript.Prepared, now []ToolSpec) (transcript.Prepared, error) {
	var lost []string
	for _, t := range c.offered() {
		has := slices.ContainsFunc(now, func(n ToolSpec) bool { return n.Name == t.Name && len(n.Hosted) > 0 })
		if len(t.Hosted) > 0 && !has {
			lost = append(lost, t.Name)
		}
	}
	if len(lost) == 0 {
		return p, nil
	}
	c.parent = p.Leaf
	before := thinkingIn(p.Messages)
	for _, name := range lost {
		notes, err := c.withdraw(ctx, name, before > 0)
		if err != nil {
			return p, err
		}
		entries = append(entries, notes...)
	}
	p = transcript.Prepare(entries, c.prepareOptions())
	return p, nil
}

// withdraw writes down that a tool is not offered any more, and gives up the thinking so far, if there is any: it was
// signed for another set of tools.
func (c *conversation) withdraw(ctx context.Context, tool string, thinking bool) ([]transcript.Entry, error) {
	note := transcript.ToolWithdrawn(c.stamp(), c.engine.opts.NewID(), c.parent, c.engine.opts.Now(), tool)
	if err := c.write(ctx, note); err != nil {
		return nil, err
	}
	c.withdrawn = append(c.withdrawn, tool)
	notes := []transcript.Entry{note}
	if thinking {
		forgotten, err := c.forget(ctx, "")
		if err != nil {
			return nil, err
		}
		notes = append(notes, forgotten)
	}
	return notes, nil
}

// withdrawRefused withdraws a tool of the endpoint's own that it has refused a request for. again is false for other
// failures.
func (c *conversation) withdrawRefused(ctx context.Context, failed error) (again bool, err error) {
	var failure *ModelError
	if !errors.As(failed, &failure) || !refusesTools[failure.Status] {
		return false, nil
	}
	tool := c.namedTool(failure.Message)
	if tool == "" {
		return false, nil
	}
	thinking := thinkingIn(c.messages)
	if _, err := c.withdraw(ctx, tool, thinking > 0); err != nil {
		return false, err
	}
	// A search that is in this history already says nothing about other sessions.
	if inHistory.MatchString(failure.Message) || c.engine.refuse(c.model(), tool) {
		c.emit(Withdrawn{Path: c.path, Tool: tool, Reason: failure.Message})
	}
	c.carried.whole = false
	if thinking == 0 && !slices.ContainsFunc(c.messages, hasHosted) {
		return true, nil
	}
	return true, c.reload(ctx, transcript.MaxRequestBytes)
}

func hasHosted(m transcript.Message) bool {
	return slices.ContainsFunc(m.Content, func(b transcript.Block) bool { return b.Type == transcript.TypeServerToolUse })
}

// refusesTools are the statuses with which endpoints refuse a tool: the API's own for a bad request and for one that is not
// allowed, and those of gateways.
var refusesTools = map[int]bool{
	http.StatusBadRequest: true, http.StatusForbidden: true, http.StatusUnprocessableEntity: true, http.StatusNotImplemented: true,
}

// inHistory is how endpoints name what is wrong with a message.
var inHistory = regexp.MustCompile(`\bmessages[.\[]\d`)

// toolPlace is how endpoints name a tool by its place in the request.
var toolPlace = regexp.MustCompile(`\btools[.\[](\d{1,4})\b`)

// namedTool finds the tool of the endpoint's own that an error names: by its name in the API, with any punctuation, by
// its type, or by its place.
func (c *conversation) namedTool(message string) string {
	plain := strings.NewReplacer("_", " ", "-", " ").Replace(strings.ToLower(message))
	place := -1
	if m := toolPlace.FindStringSubmatch(message); m != nil {
		place, _ = strconv.Atoi(m[1]) // digits, not too many
	}
	for i, t := range c.offered() {
		var v struct {
			Name string `json:"name"`
			Type string `json:"type"`
		}
		if len(t.Hosted) == 0 || json.Unmarshal(t.Hosted, &v) != nil {
			continue
		}
		named := v.Name != "" && strings.Contains(plain, strings.ReplaceAll(v.Name, "_", " "))
		if place == i || place < 0 && (named || strings.Contains(plain, "server tool")) || place >= 0 && named {
			return t.Name
		}
	}
	return ""
}
