package transcript

import "slices"

// relink decides which entries stay and hangs those whose parent is dropped on the nearest ancestor that stays, so that
// what stays is one conversation again, whoever reads it.
func (h *history) relink() {
	var stay []*node
	talk := false // any message at all
	for n := range h.all {
		if n.stays() {
			n.out, n.place = true, len(stay)
			talk = talk || n.role != ""
			stay = append(stay, n)
		}
	}
	for _, n := range stay {
		n.now = n.nearest()
		if n.role == "" && (!talk || !n.onPath && n.now == nil) {
			n.out = false // a note that has nothing to hang on
		}
	}
	for _, n := range stay {
		n.now = n.nearest()
	}
	h.thread()
	for _, n := range stay {
		n.keepApart()
		uuid := ""
		if n.now != nil {
			uuid = n.now.entry.UUID
		}
		if n.out && uuid != n.entry.ParentUUID {
			e := n.entry.WithParent(uuid)
			n.entry = &e
		}
	}
	for _, n := range h.nodes {
		if !n.out {
			h.report.Dropped = append(h.report.Dropped, n.entry.UUID)
		}
	}
}

// stays says whether the entry has still something to say where it hangs. Off the way from the leaf to the root only
// what belongs to an answer may hang: anything else would be another branch.
func (n *node) stays() bool {
	switch {
	case n.role == "":
		return n.kept && !n.unfit
	case !n.hasLive():
		return false
	case n.onPath || n.role == RoleAssistant:
		return true
	case n.words:
		return slices.ContainsFunc(n.group.calls, (*piece).live)
	}
	return n.hasLiveResult()
}

// nearest is the node's nearest ancestor that stays. What belongs to an answer stays with it: where the way up leaves
// the answer, it is the last of its own entries before n, and a result beside the way hangs on its call.
func (n *node) nearest() *node {
	if !n.onPath && n.parent != nil && !n.parent.out {
		for _, p := range n.pieces {
			if p.Type == TypeToolResult && p.live() && p.mate.live() {
				return p.mate.node
			}
		}
	}
	for p := n.parent; p != nil; p = p.parent {
		if p.out {
			return p
		}
		if g := n.group; g != nil && p == g.members[0] {
			for _, m := range slices.Backward(g.members) {
				if m.out && m.place < n.place {
					return m
				}
			}
		}
	}
	return nil
}

// thread leads the way from the leaf to the root through every answer that stays. An answer can have come beside it, when
// the entry was dropped on which both hung; what follows at that place is then hung behind the answer.
func (h *history) thread() {
	if h.leaf != nil && !h.leaf.out {
		h.leaf.place = len(h.nodes) + len(h.units) // behind all others
		h.leaf = h.leaf.nearest()
	}
	way := way{h.leaf: nil}
	for n := h.leaf; n != nil; n = n.now {
		way.lead(n.now, n)
	}
	for _, u := range h.units {
		if u.group == nil {
			continue
		}
		var last *node
		on := false
		for _, m := range u.nodes {
			if m.out {
				last = m
				on = on || way.has(m)
			}
		}
		if last == nil || on {
			continue
		}
		if next := way.detour(last); next == nil {
			h.leaf = last
		}
	}
}

// way tells of every node on the way from the leaf to the root what comes next below it, nil of the leaf. The root hangs on
// nil.
type way map[*node]*node

func (w way) has(n *node) bool {
	_, on := w[n]
	return on
}

func (w way) lead(from, next *node) { w[from] = next }

// detour leads the way through the node and what is above it, at the place where these are sent. It returns what comes
// next below the node now, nil if the way ends there.
func (w way) detour(last *node) *node {
	top := last
	for top.now != nil && !w.has(top.now) {
		w.lead(top.now, top)
		top = top.now
	}
	above, next := top.now, w[top.now]
	for next != nil && next.place < last.place {
		above, next = next, w[next]
	}
	w.lead(above, top)
	top.now = above
	w.lead(last, next)
	if next != nil {
		next.now = last
	}
	return next
}

// keepApart takes care that an answer does not hang directly on another one with the same message id, which would make
// it a part of that: it hangs on the last result of that one instead.
func (n *node) keepApart() {
	p := n.now
	if p == nil || p.role != RoleAssistant || n.role != RoleAssistant || p.group == n.group || p.group.id != n.group.id {
		return
	}
	for _, c := range slices.Backward(p.group.calls) {
		if !c.live() || !c.mate.live() || !c.mate.node.out {
			continue
		}
		above := c.mate.node
		for above != nil && above != n && above != p {
			above = above.now
		}
		if above == p {
			n.now = c.mate.node
			return
		}
	}
}

// leafID is the stored entry that the next one hangs on.
func (h *history) leafID() string {
	if h.leaf == nil {
		return ""
	}
	return h.leaf.entry.UUID
}
