package transcript

import "slices"

// graph finds the conversation in stored entries. They form a tree by their parents, but not a list: the entries of one
// answer belong together by message id, and a result belongs to its call wherever it hangs. A walk from the newest leaf
// to the root alone would lose results; taking everything would send what a person has rewound.
type graph struct {
	nodes []*node // in stored order
	order []*node // parents before children, otherwise in stored order
	calls map[callKey]*piece
}

// callKey names a call: its id is unique only among the calls of one answer.
type callKey struct {
	of *group
	id string
}

func newGraph(entries []Entry, agentID string, report *Report) *graph {
	g := &graph{calls: map[callKey]*piece{}}
	byID := g.collect(entries, agentID, report)
	g.link(byID, report)
	g.matchResults()
	g.groupAnswers()
	g.findWords()
	return g
}

// collect makes nodes of the thread's entries; of entries with the same uuid the first one counts.
func (g *graph) collect(entries []Entry, agentID string, report *Report) map[string]*node {
	byID := make(map[string]*node, len(entries))
	for i := range entries {
		e := &entries[i]
		if !thread(e, agentID) {
			continue
		}
		role, ok := conversation(e)
		if !ok || e.UUID == "" && role != "" {
			report.Damaged++ // without a uuid it has no place among the others
		}
		if e.UUID == "" || byID[e.UUID] != nil {
			continue
		}
		n := newNode(e, role)
		n.unfit = !ok
		n.at = len(g.nodes)
		byID[e.UUID] = n
		g.nodes = append(g.nodes, n)
	}
	return byID
}

// link hangs every node on its parent. A node whose parent is not there hangs on the one stored before it, and so does
// the first node of a cycle.
func (g *graph) link(byID map[string]*node, report *Report) {
	l := linker{linked: make([]bool, len(g.nodes)), waiting: map[*node][]*node{}}
	mend := func(n *node) (before *node) {
		if !n.gap {
			n.gap = true
			report.Repaired = append(report.Repaired, n.entry.UUID)
		}
		if n.at > 0 {
			before = g.nodes[n.at-1]
		}
		return before
	}
	for _, n := range g.nodes {
		parent := byID[n.entry.ParentUUID]
		if parent == nil && n.entry.ParentUUID != "" {
			parent = mend(n)
		}
		if parent != nil && !l.linked[parent.at] {
			l.waiting[parent] = append(l.waiting[parent], n) // for a parent that is stored later
			continue
		}
		l.attach(n, parent)
	}
	for _, n := range g.nodes { // what waits still waits for itself, and all before it is linked
		if !l.linked[n.at] {
			l.attach(n, mend(n))
		}
	}
	g.order = l.order
}

// linker hangs nodes on parents that are linked already, and with them all that waited for them.
type linker struct {
	order   []*node
	linked  []bool
	waiting map[*node][]*node
}

func (l *linker) attach(n, parent *node) {
	n.parent = parent
	for todo := []*node{n}; len(todo) > 0; {
		n := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		l.linked[n.at] = true
		l.order = append(l.order, n)
		if n.parent != nil {
			n.parent.children = append(n.parent.children, n)
		}
		for _, c := range slices.Backward(l.waiting[n]) { // the stack turns them round again
			if !l.linked[c.at] {
				c.parent = n
				todo = append(todo, c)
			}
		}
	}
}

// matchResults finds the call of every result: the nearest one stored before it with this id that has none yet,
// otherwise the first one behind it.
func (g *graph) matchResults() {
	calls := map[string][]*piece{} // unanswered, in stored order
	var early []*piece
	for _, n := range g.nodes {
		if n.synthetic() {
			continue // is pruned whatever it holds
		}
		for _, p := range n.pieces {
			p.respell()
			switch {
			case p.Type == TypeToolUse && n.role == RoleAssistant:
				if p.ID == "" || p.Name == "" {
					p.remove() // of no use to the API
					continue
				}
				if calls[p.ID] != nil { // taken: it may have been sent, and answered, under its other id
					calls[p.alias()] = append(calls[p.alias()], p)
				}
				calls[p.ID] = append(calls[p.ID], p)
			case p.Type == TypeToolResult && n.role == RoleUser:
				open := calls[p.ToolUseID]
				for len(open) > 0 && open[len(open)-1].mate != nil { // under another id
					open = open[:len(open)-1]
				}
				if len(open) == 0 {
					early = append(early, p)
					continue
				}
				marry(open[len(open)-1], p)
				calls[p.ToolUseID] = open[:len(open)-1]
			}
		}
	}
	for _, p := range early {
		open := calls[p.ToolUseID]
		i := slices.IndexFunc(open, func(c *piece) bool { return c.mate == nil && c.node.at > p.node.at })
		if i >= 0 {
			marry(open[i], p)
			calls[p.ToolUseID] = open[i+1:]
		}
	}
}

// groupAnswers puts the entries of one answer together: the same message id and chained, with nothing between them but
// notes and what cannot be sent. The id alone is not enough, some gateways give all their answers the same one.
func (g *graph) groupAnswers() {
	for _, n := range g.order {
		if n.parent != nil {
			n.up = n.parent.up
			if n.parent.speaks() {
				n.up = n.parent
			}
		}
		if n.role != RoleAssistant {
			continue
		}
		id := n.entry.Message.ID
		if p := n.up; p != nil && p.role == RoleAssistant && id != "" && p.group.id == id {
			n.group = p.group
			for between := n.parent; between != p; between = between.parent {
				between.unfit = true // it would have to move with the answer's entries
			}
		} else {
			n.group = &group{id: id}
		}
		g.join(n.group, n)
	}
	for _, n := range g.nodes {
		if n.role == RoleAssistant && n == n.group.members[0] {
			n.group.findSatellites()
		}
	}
}

// speaks says whether the entry holds anything that can be sent.
func (n *node) speaks() bool {
	return n.role != "" && !n.synthetic() && slices.ContainsFunc(n.pieces, func(p *piece) bool {
		switch p.Type {
		case TypeText:
			return !blank(p.Text)
		case TypeToolResult:
			return p.mate != nil
		case "":
			return false
		}
		return !p.gone
	})
}

// join adds an entry to an answer. The second call with one id in an answer is of no use to the API.
func (g *graph) join(to *group, n *node) {
	to.members = append(to.members, n)
	for _, p := range n.pieces {
		if p.Type != TypeToolUse || p.gone || n.synthetic() {
			continue
		}
		key := callKey{of: to, id: p.ID}
		first := g.calls[key]
		if first == nil {
			g.calls[key] = p
			to.calls = append(to.calls, p)
			continue
		}
		if first.mate == nil && p.mate != nil {
			marry(first, p.mate)
		} else if p.mate != nil {
			p.mate.mate = nil
		}
		p.mate = nil
		p.remove()
	}
}

// findSatellites lists the entries with results of the answer's calls, in the order of the calls.
func (g *group) findSatellites() {
	for _, c := range g.calls {
		if c.mate == nil || c.mate.node.holder == g {
			continue
		}
		n := c.mate.node
		n.holder = g
		g.satellites = append(g.satellites, n)
		if n.group == nil {
			n.group = g
		}
	}
}

func marry(call, result *piece) { call.mate, result.mate = result, call }

// findWords finds what a person said while a tool ran: words that hang on the entry of an answered call itself, as a
// side leaf. A rewound prompt never hangs there, it hangs on a result or on an answer without calls.
func (g *graph) findWords() {
	for _, n := range g.nodes {
		if n.role != RoleUser || n.group != nil || n.up == nil || n.up != n.parent || n.up.role != RoleAssistant || !n.up.group.answered() {
			continue
		}
		if !slices.ContainsFunc(n.children, func(c *node) bool { return c.role != "" }) {
			n.words, n.group = true, n.up.group
		}
	}
}

// newestLeaf is the message that was stored last and that nothing hangs on. A leaf that only belongs to an answer the conversation
// goes on from elsewhere, such as a result that came late, does not count.
func (g *graph) newestLeaf() *node {
	// below is what the leaves under a node belong to, if that is one thing, and several if it is not.
	type leaves struct {
		of      any
		several bool
	}
	below := make([]leaves, len(g.nodes))
	goesOn := map[*group]bool{}
	var ends []*node
	for i := len(g.order) - 1; i >= 0; i-- {
		n := g.order[i]
		b := &below[n.at]
		if b.of == nil && n.role != "" {
			ends = append(ends, n)
			b.of = n
			if n.group != nil {
				b.of = n.group
			}
		}
		if n.group != nil && (b.several || b.of != n.group) {
			goesOn[n.group] = true
		}
		if n.parent != nil && b.of != nil {
			p := &below[n.parent.at]
			p.several = p.several || b.several || p.of != nil && p.of != b.of
			p.of = b.of
		}
	}
	var newest, last *node
	for _, n := range ends {
		if n.newer(last) {
			last = n
		}
		if !goesOn[n.group] && n.newer(newest) {
			newest = n
		}
	}
	if newest == nil {
		return last
	}
	return newest
}

// newer compares two leaves by when what they hang on was stored: a late result does not make its branch a newer one.
func (n *node) newer(other *node) bool {
	if other == nil {
		return true
	}
	a, b := n.stem(), other.stem()
	return a.at > b.at || a == b && n.at > other.at
}

// stem is what a result hangs on, and any other node itself.
func (n *node) stem() *node {
	s := n
	for s.role == RoleUser && s.group != nil && s.group == n.group && s.up != nil {
		s = s.up
	}
	return s
}

// hangsBelow says whether the node or one above it is an entry of the answer itself.
func (n *node) hangsBelow(g *group) bool {
	for ; n != nil; n = n.parent {
		if n.role == RoleAssistant && n.group == g {
			return true
		}
	}
	return false
}

// keep marks the nodes of the conversation: the way from the newest leaf to the root, the answers on it with all their
// entries and results, and the notes that hang on these. It returns the leaf.
func (g *graph) keep() *node {
	leaf := g.newestLeaf()
	if leaf != nil && leaf.group != nil && !leaf.hangsBelow(leaf.group) {
		leaf = leaf.group.members[len(leaf.group.members)-1] // a result that has got somewhere else
	}
	for n := leaf; n != nil; n = n.parent {
		n.onPath, n.kept = true, true
		if n.role != RoleAssistant || n != n.group.members[0] {
			continue
		}
		for _, list := range [][]*node{n.group.members, n.group.satellites} {
			for _, m := range list {
				m.kept = true
			}
		}
	}
	for _, n := range g.order {
		switch {
		case n.words && n.group.members[0].kept, n.role == "" && n.parent != nil && n.parent.kept:
			n.kept = true
		case n.kept && n.role == RoleUser && n.group != nil && !n.words && !n.group.members[0].kept:
			n.group = n.answersKept()
		}
	}
	return leaf
}

// answersKept is the first answer of the conversation that the entry holds a result for.
func (n *node) answersKept() *group {
	for _, p := range n.pieces {
		if p.Type == TypeToolResult && p.mate != nil && p.mate.node.kept {
			return p.mate.node.group
		}
	}
	return nil
}

// units brings the kept nodes into the order they are sent: an answer's entries together, its results behind it.
func (g *graph) units() []*unit {
	var list []*unit
	done := make([]bool, len(g.nodes))
	add := func(to []*node, nodes ...*node) []*node {
		for _, n := range nodes {
			if n.kept && !done[n.at] {
				done[n.at] = true
				to = append(to, n)
			}
		}
		return to
	}
	for _, n := range g.order {
		switch {
		case !n.kept || done[n.at]:
		case n.role == RoleAssistant:
			u := &unit{group: n.group}
			u.nodes = add(nil, n.group.members...)
			u.results = add(nil, n.group.satellites...)
			list = append(list, u)
		case n.group != nil && !n.words && n.group.members[0].kept:
			// comes with its answer
		default:
			list = append(list, &unit{nodes: add(nil, n)})
		}
	}
	return list
}
