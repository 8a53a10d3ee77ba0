package transcript

// Options of Prepare. The zero value cleans without trimming.
type Options struct {
	// Trim replaces old, big text results by pointers to files. Off by default.
	Trim bool
	// AgentID selects the conversation: "" is the main thread, otherwise that subagent's entries.
	AgentID string
	// KeepOpenCalls leaves the calls of a last assistant message that have no result as they are and reports them
	// in Prepared.Open, for a caller that can settle them itself. By default they get a result that says the
	// outcome is unknown.
	KeepOpenCalls bool
}

// Spill is a text that Prepare has moved out of the history: the caller writes it before it sends the history.
type Spill struct {
	Name string // <first 16 hex digits of the SHA-256>.txt
	Text string
}

// Prepared is a history that the API accepts.
type Prepared struct {
	// Entries stay, in the order they are sent, with the parents that hold now.
	Entries []Entry
	// Messages are what is sent: roles alternate, calls and results are paired and in order.
	Messages []Message
	// Spills are the texts that the pointers in Messages point to.
	Spills []Spill
	// Open are the calls without a result at the end, if Options.KeepOpenCalls is set.
	Open []Block
	// Report says what was done.
	Report Report
}

// Report counts what Prepare changed.
type Report struct {
	Dropped     []string // uuids of entries left out
	Damaged     int      // entries that could not be read or used
	Expired     int
	Trimmed     int
	Interrupted int
	Denials     int
	Thinking    int      // thinking blocks removed behind a change
	Inserted    []string // ids of calls that got a result
}
