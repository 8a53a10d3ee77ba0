package transcript

import "slices"

// relink decides which entries stay and hangs those whose parent is dropped on the nearest ancestor that stays.
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
		if n.role == "" && (!talk || !n.onPath && n.hang() == nil) {
			n.out = false // a note that has nothing to hang on
		}
	}
	for _, n := range stay {
		if !n.out {
			continue
		}
		p := n.hang()
		uuid := ""
		if p != nil {
			uuid = p.entry.UUID
		}
		if uuid != n.entry.ParentUUID {
			n.entry = n.entry.WithParent(uuid)
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
		return n.kept && !n.broken
	case !n.hasLive():
		return false
	case n.onPath || n.role == RoleAssistant:
		return true
	case n.words:
		for _, c := range n.group.calls {
			if c.live() {
				return true
			}
		}
		return false
	}
	return n.hasLiveResult()
}

// hang is the node's nearest ancestor that stays. Where the way up leaves an answer without meeting an entry of it that
// stays, though there are some, it is the last of these before n: the answer would become another branch.
func (n *node) hang() *node {
	var note *node // inside of an answer that is not n's
	for p := n.parent; p != nil; p = p.parent {
		switch {
		case !p.out:
		case note != nil:
			return note
		case p.role != "" || p.group == nil || p.group == n.group:
			return p
		default:
			note = p
		}
		if g := p.group; g != nil && (p.parent == nil || p.parent.group != g) {
			if m := g.lastBefore(n); m != nil {
				return m
			}
			if note != nil {
				return note
			}
		}
	}
	return nil
}

// lastBefore is the last of the answer's own entries that stays and is sent before n.
func (g *group) lastBefore(n *node) *node {
	for _, m := range slices.Backward(g.members) {
		if m.out && m.role != "" && m.place < n.place {
			return m
		}
	}
	return nil
}

// leafID is the stored entry that the next one hangs on.
func (h *history) leafID() string {
	if h.leaf == nil {
		return ""
	}
	if !h.leaf.out {
		h.leaf.place = len(h.nodes) + len(h.units) // behind all others
		if p := h.leaf.hang(); p != nil {
			return p.entry.UUID
		}
		return ""
	}
	return h.leaf.entry.UUID
}
