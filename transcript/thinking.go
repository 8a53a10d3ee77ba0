package transcript

import "strings"

// checkThinking removes the thinking that does not hold any more. A signature covers all that was sent before it, so
// one change invalidates every thinking block behind it; thinking before the change stays as it is.
//
// What the API never accepts (an empty text, thinking at the end of an answer) and what is never fed back (its own
// errors) was in no request, so taking it out is no change. What got lost, and what was filled in for it, is one.
func (h *history) checkThinking() {
	changed := h.cut
	for n := range h.all {
		changed = changed || n.gap || n.entry.repaired
		for _, p := range n.pieces {
			if p.IsThinking() && !p.gone && (changed || p.mangled()) {
				p.remove()
				h.report.Thinking++
			}
			changed = changed || p.edit
		}
	}
}

// mangled says whether bytes of a thinking block were replaced when it was read.
func (p *piece) mangled() bool {
	return p.node.entry.repaired && strings.ContainsRune(p.Thinking+p.Signature+p.Data, '\uFFFD')
}

// dropLastThinking takes away thinking that nothing follows: an answer that broke off, or lost its calls.
func (u *unit) dropLastThinking() {
	for i := len(u.nodes) - 1; i >= 0; i-- {
		pieces := u.nodes[i].pieces
		for j := len(pieces) - 1; j >= 0; j-- {
			switch p := pieces[j]; {
			case p.gone:
			case p.IsThinking():
				p.discard()
			default:
				return
			}
		}
	}
}
