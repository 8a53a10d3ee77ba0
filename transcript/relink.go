package transcript

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

// hang is the node's nearest ancestor that stays. Where the way up leaves an answer of which other entries stay, it is
// the last of these before n: the answer would become another branch.
func (n *node) hang() *node {
	for p := n.parent; p != nil; p = p.parent {
		if p.out {
			return p
		}
		if g := p.group; g != nil && (p.parent == nil || p.parent.group != g) {
			for i := len(g.members) - 1; i >= 0; i-- {
				if m := g.members[i]; m.out && m.place < n.place {
					return m
				}
			}
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
