package transcript

import (
	"slices"
	"strings"
)

// denialsKept is how many denied calls stay: the newest shows the model what is not allowed, more teach it nothing.
const denialsKept = 1

// interruptedMark is what Claude Code writes into the result of a call that a person has stopped.
const interruptedMark = "[Request interrupted"

// prune drops errors that were shown as messages and all but the newest denials, and makes interruptions neutral.
func (h *history) prune() {
	for n := range h.all {
		if !n.synthetic() {
			continue
		}
		for _, p := range n.pieces {
			if n.entry.IsAPIError {
				p.discard() // is never fed back
			} else {
				p.remove()
			}
		}
	}
	var denied []*piece
	for _, r := range h.results {
		switch {
		case r.node.protected():
		case r.denied:
			denied = append(denied, r)
		case r.interrupted():
			r.replace(ToolResult(r.ToolUseID, false, Text(interruptedNote)))
			h.report.Interrupted++
		}
	}
	for _, r := range denied[:max(0, len(denied)-denialsKept)] {
		r.mate.remove()
		r.remove()
		h.report.Denials++
	}
}

// markDenied finds the results of the entry that say a guard refused the call: the errors in it, or all if there is none.
func (n *node) markDenied() {
	if n.entry.ToolDenialKind != DeniedByRule {
		return
	}
	failed := slices.ContainsFunc(n.pieces, func(p *piece) bool { return p.Type == TypeToolResult && p.IsError })
	for _, p := range n.pieces {
		p.denied = p.Type == TypeToolResult && (p.IsError || !failed)
	}
}

// interrupted says whether the result is what is left of a call that a person has stopped.
func (p *piece) interrupted() bool {
	return p.IsError && strings.Contains(p.PlainText(), interruptedMark)
}
