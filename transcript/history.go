package transcript

import (
	"encoding/json"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// parseShare is how many bytes of a history one goroutine takes at a time: about a millisecond of work.
const parseShare = 256 << 10

// ParseHistory reads stored lines. Lines that are no entries are left out and counted: runs of NUL and torn JSON, as a
// power loss leaves them, and objects whose known keys have the wrong types. The entries keep the lines, which must not
// be changed any more. A long history is read by several goroutines.
func ParseHistory(lines []json.RawMessage) (entries []Entry, damaged int) {
	entries = make([]Entry, len(lines))
	bad := make([]bool, len(lines))
	shares := shareOut(lines)
	spread(len(shares)-1, func(share int) {
		var r reader
		for at := shares[share]; at < shares[share+1]; at++ {
			var err error
			entries[at], err = r.entry(lines[at])
			bad[at] = err != nil
		}
	})
	kept := entries[:0]
	for i, e := range entries {
		if !bad[i] {
			kept = append(kept, e)
		}
	}
	clear(entries[len(kept):])
	return kept, len(lines) - len(kept)
}

// spread calls do with the numbers from 0 to n-1, on all processors, and waits for all of it.
func spread(n int, do func(i int)) {
	var next atomic.Int64
	work := func() {
		for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
			do(i)
		}
	}
	var others sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) - 1 {
		others.Go(work)
	}
	work()
	others.Wait()
}

// shareOut returns the places between which the lines are cut into shares, first and last place included.
func shareOut(lines []json.RawMessage) []int {
	places := []int{0}
	size := 0
	for i, line := range lines {
		if size += len(line); size >= parseShare {
			places = append(places, i+1)
			size = 0
		}
	}
	if last := len(lines); places[len(places)-1] < last {
		places = append(places, last)
	}
	return places
}

// node is an entry at work in the pipeline.
type node struct {
	entry  *Entry   // not to be changed: what is changed is another one
	at     int      // place in stored order
	role   string   // of its message; "" for entries that are none
	unfit  bool     // cannot stay: should be a message and is none, or hangs between two entries of one answer
	pieces []*piece // the message's blocks

	parent   *node // nil is a root
	gap      bool  // its stored parent is not there or makes a cycle: something before it is lost
	children []*node
	up       *node  // the nearest ancestor that speaks
	group    *group // what it belongs to, if anything
	words    bool   // see graph.findWords
	holder   *group // the last group that has listed it as a satellite
	listed   bool   // among the results of a unit
	home     *unit

	onPath bool  // an ancestor of the newest leaf, or that leaf
	kept   bool  // part of the conversation
	out    bool  // part of the result
	place  int   // place in the result
	now    *node // where it hangs in the result
}

// piece is a block at work in the pipeline.
type piece struct {
	*Block // not to be changed
	node   *node
	mate   *piece // of a call its result, of a result its call
	denied bool   // of a result: see markDenied
	gone   bool
	edit   bool // is not, or not where it is, what was sent before: thinking behind it does not hold any more
	differ bool // is not what is stored
}

// live says whether the piece is there and its node is part of the conversation.
func (p *piece) live() bool { return p != nil && !p.gone && p.node.kept }

// remove takes a piece out that was sent before.
func (p *piece) remove() { p.gone, p.edit, p.differ = true, true, true }

// discard takes a piece out that no request can have held, since the API refuses it: no signature covers it.
func (p *piece) discard() { p.gone, p.differ = true, true }

// replace puts another block in the place of one that was sent before.
func (p *piece) replace(b Block) { p.Block, p.edit, p.differ = &b, true, true }

// group is one answer of the model with what belongs to it: Claude Code stores an answer in several entries, one for each
// block, chained and with the same message id; the results hang anywhere and are found by the ids of their calls.
type group struct {
	id         string
	members    []*node // its entries, parents before children
	calls      []*piece
	satellites []*node // entries with results of its calls
}

// answered says whether any result of the group's calls is stored.
func (g *group) answered() bool { return len(g.satellites) > 0 }

// unit is a stretch of the conversation: an answer with the entries of its results in call order, or a single entry.
type unit struct {
	nodes   []*node
	results []*node
	group   *group // nil of a single entry
}

// history is the conversation at work.
type history struct {
	nodes []*node // all entries of the conversation's thread, in stored order
	units []*unit // those that are kept, in the order they are sent
	leaf  *node   // the newest one
	cut   bool    // the beginning is lost: the first message is not the user's
	first *node   // where the first change of something that was sent before is; nil if there is none
	same  int     // see Prepared.Same; known when the messages are made
	open  []*piece

	report Report
}

// newHistory reads the conversation out of the graph the entries form.
func newHistory(entries []Entry, opts Options) *history {
	h := &history{}
	g := newGraph(entries, opts.AgentID, &h.report)
	h.nodes = g.nodes
	h.leaf = g.keep()
	h.units = g.units()
	return h
}

// thread says whether the entry belongs to the conversation of an agent; "" is the main thread.
func thread(e *Entry, agentID string) bool {
	if agentID == "" {
		return !e.IsSidechain
	}
	return e.AgentID == agentID
}

// conversation says who speaks in the entry: "" if it is no message. ok is false for a message that cannot be used.
func conversation(e *Entry) (role string, ok bool) {
	if e.Type != RoleUser && e.Type != RoleAssistant && (e.Type != "" || e.Message == nil) {
		return "", true
	}
	if e.Message == nil {
		return "", false
	}
	for _, r := range []string{e.Message.Role, e.Type} {
		if r == RoleUser || r == RoleAssistant {
			return r, true
		}
	}
	return "", false
}

func newNode(e *Entry, role string) *node {
	n := &node{entry: e, role: role}
	if role == "" || len(e.Message.Content) == 0 {
		return n
	}
	pieces := make([]piece, len(e.Message.Content))
	n.pieces = make([]*piece, len(pieces))
	for i := range pieces {
		pieces[i] = piece{Block: &e.Message.Content[i], node: n}
		n.pieces[i] = &pieces[i]
	}
	n.markDenied()
	return n
}

// protected entries are not edited by expire, trim and prune.
func (n *node) protected() bool { return n.entry.IsMeta || n.entry.IsCompactSummary }

// synthetic entries were written by a harness in the model's place.
func (n *node) synthetic() bool {
	return n.entry.IsAPIError || n.role == RoleAssistant && n.entry.Message.Model == SyntheticModel
}

func (n *node) hasLive() bool { return slices.ContainsFunc(n.pieces, (*piece).live) }

// hasLiveResult says whether the node still answers a call.
func (n *node) hasLiveResult() bool {
	return slices.ContainsFunc(n.pieces, func(p *piece) bool { return p.live() && p.mate.live() })
}

// results yields the results of calls that are kept, in the order they are sent.
func (h *history) results(yield func(call, result *piece) bool) {
	for _, u := range h.units {
		if u.group == nil {
			continue
		}
		for _, c := range u.group.calls {
			if c.live() && c.mate.live() && !yield(c, c.mate) {
				return
			}
		}
	}
}

// all yields the conversation's nodes in the order they are sent.
func (h *history) all(yield func(*node) bool) {
	for _, u := range h.units {
		for _, list := range [2][]*node{u.nodes, u.results} {
			for _, n := range list {
				if !yield(n) {
					return
				}
			}
		}
	}
}

// blank says whether the API refuses a text block with this text.
func blank(text string) bool { return strings.TrimSpace(text) == "" }

// onlyText says whether a result holds nothing but text.
func onlyText(result *Block) bool {
	return !slices.ContainsFunc(result.Content, func(b Block) bool { return b.Type != TypeText })
}
