package transcript

// Options of Prepare. The zero value cleans without trimming.
type Options struct {
	// Trim replaces old, big text results by pointers to files. Off by default.
	Trim bool
	// TrimAll trims the newest ones as well, whatever Trim says: for a history that does not fit its window.
	TrimAll bool
	// AgentID selects the conversation: "" is the main thread, otherwise that subagent's entries.
	AgentID string
	// KeepOpenCalls leaves the calls of a last assistant message that have no result as they are and reports them
	// in Prepared.Open, for a caller that can settle them itself. By default they get a result that says the
	// outcome is unknown. Only calls after which nothing stands but results of the same message are left open; if there
	// are such results, the last of Prepared.Messages is a user message with these alone, and Append brings the missing
	// ones into it in the order of the calls.
	KeepOpenCalls bool
	// MaxText is how many bytes one text of the user's side may have, MaxResult the same of the texts of one result: longer
	// ones become pointers to files with their beginning. 0 does not limit.
	MaxText, MaxResult int
	// MaxRequest is how many bytes Messages may have, by Weigh: above it the oldest of what is large goes, until half of
	// it is left. 0 does not limit. The API's own limits of images hold in any case.
	MaxRequest int
	// PlainSearches says that requests do not offer the endpoint's search of the web: searches in the history become text.
	PlainSearches bool
	// NoSpill says that there are no files to move these texts to: all but their beginning is lost.
	NoSpill bool
}

// Spill is a text that Prepare has moved out of the history: the caller writes it before it sends the history.
type Spill struct {
	Name string // <first 16 hex digits of the SHA-256>.txt
	Text string
}

// Prepared is a history that the API accepts.
type Prepared struct {
	// Entries stay, in the order they are sent, with the parents that hold now. Among them are results made for calls
	// that had none; their ids depend on the calls alone. Preparing Entries again changes nothing.
	Entries []Entry
	// Messages are what is sent: roles alternate, calls and results are paired and in order.
	Messages []Message
	// Spills are the texts that the pointers in Messages point to.
	Spills []Spill
	// Open are the calls without a result at the end, if Options.KeepOpenCalls is set.
	Open []Block
	// Same is how many of Messages, from the first, are certainly as they were sent before: all of them if nothing but
	// thinking that no longer holds was touched.
	Same int
	// Leaf is the uuid of the stored entry that the conversation's next entry hangs on; "" if none stays.
	Leaf string
	// Report says what was done.
	Report Report
}

// Report counts what Prepare changed; it is zero for a history that needs nothing.
type Report struct {
	Dropped     []string // uuids of entries left out, those of branches that a person has left included
	Repaired    []string // uuids of entries whose parent is not there or makes a cycle: something before them is lost
	Damaged     int      // entries that could not be used; lines that could not be read are counted by ParseHistory
	Expired     int
	Trimmed     int
	Interrupted int
	Denials     int
	Thinking    int      // thinking blocks removed behind a change
	Oversize    int      // results, texts and images that were too large
	Searches    int      // of the web that became text
	Inserted    []string // ids of calls that got a result
}

// Prepare makes the history that is sent out of the entries that are stored. It is pure: the entries stay as they are,
// and the same entries give the same bytes, which caches and the signatures of thinking blocks depend on.
//
// First the conversation is read out of the graph that the entries form. Then, in this order: expire (results of
// commands whose output is stale by now), trim (big results, if asked for), prune (errors of the API, older denials,
// interruptions), shrink (what is too large to be sent), heal (what the API would refuse) and relink (what hung on a
// dropped entry; last, because heal can empty one). Thinking stays byte for byte up to the first change of something that
// was sent before, and goes behind it, and where an entry made by ThinkingDropped says that it was refused.
func Prepare(entries []Entry, opts Options) Prepared {
	h := newHistory(entries, opts)
	h.expire()
	var spills []Spill
	switch {
	case opts.TrimAll:
		spills = h.trim(0)
	case opts.Trim:
		spills = h.trim(trimKeep)
	}
	h.prune()
	spills = append(spills, h.shrink(opts)...)
	if opts.PlainSearches {
		h.plainSearches()
	}
	h.heal(opts.KeepOpenCalls)
	h.relink() // behind heal, which also drops entries
	p := Prepared{Entries: h.entries(), Messages: h.messages(), Spills: spills, Same: h.same, Leaf: h.leafID()}
	for _, c := range h.open {
		p.Open = append(p.Open, *c.Block)
	}
	p.Report = h.report
	return p
}
