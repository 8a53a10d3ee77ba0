package transcript

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
)

// heal makes the conversation acceptable to the API.
func (h *history) heal(keepOpen bool) {
	for n := range h.all {
		if n.role == "" {
			continue
		}
		for _, p := range n.pieces {
			if !p.gone {
				p.heal()
			}
		}
	}
	h.tellApart()
	h.cut = h.startsWithAnswer()
	h.answerCalls(keepOpen)
	h.pairSearches()
	h.checkThinking()
	for _, u := range h.units {
		if u.group != nil {
			u.dropLastThinking()
		}
	}
}

// heal takes away or mends a block that cannot be sent as it is.
func (p *piece) heal() {
	user := p.node.role == RoleUser
	switch p.Type {
	case "":
		p.remove()
	case TypeText:
		if blank(p.Text) {
			p.discard()
		}
	case TypeThinking, TypeRedactedThinking:
		if user {
			p.remove()
		}
	case TypeToolUse:
		switch {
		case user:
			p.remove()
		case !isObject(p.Input):
			p.replace(ToolUse(p.ID, p.Name, nil))
		}
	case TypeImage, TypeDocument:
		if !user {
			p.discard()
		}
	case TypeToolResult:
		if !p.mate.live() {
			p.remove()
			return
		}
		p.healContent()
	}
}

// healContent takes out of the list that a result holds what may not stand there; a result that is an empty string may
// stay.
func (p *piece) healContent() {
	if slices.ContainsFunc(p.Content, p.refusesInside) {
		b := ToolResult(p.ToolUseID, p.IsError, slices.DeleteFunc(slices.Clone(p.Content), p.refusesInside)...)
		p.Block, p.differ = &b, true
	}
}

// refusesInside says whether the API refuses a result for a block in it.
func (b *Block) refusesInside(c Block) bool {
	switch c.Type {
	case TypeText:
		return blank(c.Text) && (c.raw != nil || len(b.Content) > 1) // otherwise it is written as a string
	case "", TypeThinking, TypeRedactedThinking, TypeToolUse, TypeToolResult:
		return true
	}
	return false
}

func isObject(input json.RawMessage) bool {
	input = bytes.TrimSpace(input)
	return len(input) > 0 && input[0] == '{'
}

// startsWithAnswer says whether the first message would not be the user's.
func (h *history) startsWithAnswer() bool {
	for n := range h.all {
		for _, p := range n.pieces {
			if p.live() && !p.IsThinking() {
				return n.role == RoleAssistant
			}
		}
	}
	return false
}

// answerCalls gives every call without a result one that says the outcome is unknown, except the open ones at the end
// if these are to be kept.
func (h *history) answerCalls(keepOpen bool) {
	end := -1
	if keepOpen {
		end = h.openUnit()
	}
	for _, u := range h.units {
		for _, n := range u.nodes {
			n.listed = true // an entry that answers several messages stands only once
		}
	}
	for i, u := range h.units {
		if u.group == nil {
			continue
		}
		var results []*node
		list := func(n *node) {
			if !n.listed {
				n.listed = true
				results = append(results, n)
			}
		}
		for _, c := range u.group.calls {
			switch {
			case !c.live():
			case c.mate.live():
				list(c.mate.node)
			case i == end:
				h.open = append(h.open, c)
			default:
				list(insertResult(c))
				h.report.Inserted = append(h.report.Inserted, c.ID)
			}
		}
		for _, n := range u.results { // those that answer nothing here any more
			list(n)
		}
		u.results = results
	}
}

// openUnit is the place of the last answer if nothing stands behind it but results of its own calls, otherwise -1.
func (h *history) openUnit() int {
	for i := len(h.units) - 1; i >= 0; i-- {
		u := h.units[i]
		if u.group == nil {
			if slices.ContainsFunc(u.nodes, (*node).hasLive) {
				return -1
			}
			continue
		}
		if !slices.ContainsFunc(u.nodes, (*node).hasLive) {
			continue
		}
		for _, n := range u.results {
			if slices.ContainsFunc(n.pieces, func(p *piece) bool { return p.live() && p.Type != TypeToolResult }) {
				return -1
			}
		}
		return i
	}
	return -1
}

// insertResult makes the entry that answers a call. Its uuid comes from the call, so that it is the same every time.
func insertResult(call *piece) *node {
	e := call.node.entry
	m := Message{Role: RoleUser, Content: []Block{UnknownOutcome(call.ID)}}
	n := newNode(&Entry{
		Type: RoleUser, UUID: derivedUUID(e.UUID, call.ID),
		ParentUUID: e.UUID, SessionID: e.SessionID, AgentID: e.AgentID, IsSidechain: e.IsSidechain,
		Timestamp: e.Timestamp, CWD: e.CWD, GitBranch: e.GitBranch, Version: e.Version, UserType: "external", Message: &m,
	}, RoleUser)
	n.parent, n.group, n.kept = call.node, call.node.group, true
	n.pieces[0].edit = true
	n.pieces[0].mate, call.mate = call, n.pieces[0]
	return n
}

// derivedUUID is an id that comes from an entry and a call in it.
func derivedUUID(entry, call string) string {
	sum := sha256.Sum256([]byte(entry + "\x00" + call))
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80 // version 8, made by a rule of one's own
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}
