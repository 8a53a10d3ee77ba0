package transcript

import "slices"

// entries returns what stays, with the messages as they are now. Notes stand behind the unit they hang on.
func (h *history) entries() []Entry {
	for _, u := range h.units {
		for _, list := range [2][]*node{u.nodes, u.results} {
			for _, n := range list {
				n.home = u
			}
		}
	}
	notes := map[*unit][]*node{} // nil is the beginning
	for n := range h.all {
		if n.out && n.role == "" {
			anchor := n.now
			for anchor != nil && anchor.role == "" {
				anchor = anchor.now
			}
			var after *unit
			if anchor != nil {
				after = anchor.home
			}
			notes[after] = append(notes[after], n)
		}
	}
	list := make([]Entry, 0, len(h.nodes))
	add := func(nodes []*node, all bool) {
		for _, n := range nodes {
			if n.out && (all || n.role != "") {
				list = append(list, n.render())
			}
		}
	}
	add(notes[nil], true)
	for _, u := range h.units {
		add(u.nodes, false)
		add(u.results, false)
		add(notes[u], true)
	}
	return list
}

// render writes the entry anew if blocks of it are gone or others.
func (n *node) render() Entry {
	differ := func(p *piece) bool { return p.differ }
	if !slices.ContainsFunc(n.pieces, differ) {
		return *n.entry
	}
	m := *n.entry.Message
	m.Content = make([]Block, 0, len(n.pieces))
	for _, p := range n.pieces {
		if !p.gone {
			m.Content = append(m.Content, *p.Block)
		}
	}
	e := n.entry.withMessage(&m)
	if slices.ContainsFunc(n.pieces, func(p *piece) bool { return p.differ && p.Type == TypeToolResult }) {
		e = e.withoutMember("toolUseResult") // a second copy of a result
	}
	denied := func(p *piece) bool { return p.denied }
	if slices.ContainsFunc(n.pieces, denied) && !slices.ContainsFunc(n.pieces, func(p *piece) bool { return p.denied && p.live() }) {
		e = e.withoutMember("toolDenialKind") // what is left in the entry was not denied
		e.ToolDenialKind = ""
	}
	return e
}

// messages returns what is sent.
func (h *history) messages() []Message {
	list := make([]Message, 0, 2*len(h.units)+1)
	say := func(m Message) {
		switch last := len(list) - 1; {
		case len(m.Content) == 0:
		case last >= 0 && list[last].Role == m.Role:
			m.Content = append(list[last].Content, m.Content...)
			list[last] = m
		default:
			list = append(list, m)
		}
	}
	if h.cut {
		say(Message{Role: RoleUser, Content: []Block{Text(lostStartNote)}})
	}
	changed := func(role string) { // what comes next, of this role, is not as it was
		h.same = len(list)
		if h.same > 0 && list[h.same-1].Role == role {
			h.same--
		}
	}
	if h.cut {
		changed(RoleUser)
	}
	for _, u := range h.units {
		m := Message{Role: RoleUser}
		for _, n := range u.nodes {
			if n.out && n.role == RoleAssistant {
				m = *n.entry.Message // the last entry of an answer has the final usage
				m.Role = n.role
			}
		}
		m.Content = words(nil, u.nodes)
		if !h.cut && h.first != nil && slices.Contains(u.nodes, h.first) {
			changed(m.Role)
		}
		say(m)
		if u.group == nil {
			continue
		}
		answer := make([]Block, 0, len(u.group.calls)) // mostly that is all
		if !h.cut && h.first != nil && slices.Contains(u.results, h.first) {
			changed(RoleUser)
		}
		for _, c := range u.group.calls {
			if c.live() && c.mate.live() {
				answer = append(answer, *c.mate.Block)
			}
		}
		say(Message{Role: RoleUser, Content: words(answer, u.results)})
	}
	if !h.cut && h.first == nil {
		h.same = len(list)
	}
	return list
}

// words adds the blocks of entries that stay, but for results, which come with their calls. The blocks of an entry that is
// sent as it is stored are not copied.
func words(to []Block, nodes []*node) []Block {
	for _, n := range nodes {
		switch {
		case !n.out:
		case len(to) == 0 && n.role != "" && !slices.ContainsFunc(n.pieces, func(p *piece) bool { return p.differ || p.Type == TypeToolResult }):
			to = slices.Clip(n.entry.Message.Content)
		default:
			for _, p := range n.pieces {
				if !p.gone && p.Type != TypeToolResult {
					to = append(to, *p.Block)
				}
			}
		}
	}
	return to
}
