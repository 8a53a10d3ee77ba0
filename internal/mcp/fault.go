package mcp

import "fmt"

// Fault is what is wrong with a list of servers, a server or one of its tools. Its text is English, for logs.
type Fault int

// The faults. Those with a Detail or an Err in the error say so.
const (
	NotJSON      Fault = iota + 1 // Err
	NotList                       // JSON of another form
	NoServers                     // no "mcpServers"
	BadName                       // of a server
	TakenName                     // of a server
	NeitherNor                    // not exactly one of command and url
	UnknownType                   // Detail: the type
	BadURL                        //
	NoVariable                    // Detail: its name
	NotStarted                    // Err
	NoAnswer                      // Detail: for how long; so it is not started
	NotListed                     // its tools; Err
	TooManyTools                  // Detail: how many are offered
	ToolTwice                     // two of one name
	ToolName                      // Detail: how long one may be
	ToolSchema                    // not that of an object, or none; Err
	SchemaSize                    // Detail: how many bytes one may have
	lastFaultEnd
)

var faultTexts = map[Fault]string{
	NotJSON:      "it is no JSON",
	NotList:      "it does not have the form of a list of servers",
	NoServers:    `it has no "mcpServers"`,
	BadName:      "a name is made of at most 40 letters, digits, - and single _",
	TakenName:    "this name is taken",
	NeitherNor:   `it needs either "command" or "url"`,
	UnknownType:  "type %q is not known here; there are stdio and http",
	BadURL:       "its url is no http or https address",
	NoVariable:   "the environment has no %s",
	NotStarted:   "not started",
	NoAnswer:     "not started: no answer within %s",
	NotListed:    "its tools cannot be listed",
	TooManyTools: "it has more than %s tools: the others are left out",
	ToolTwice:    "left out: there is another one of that name",
	ToolName:     "left out: its name has no character or, with the server's, more than %s",
	ToolSchema:   "left out: its schema is not that of an object",
	SchemaSize:   "left out: its schema has more than %s bytes",
}

// Faults are all there are.
func Faults() []Fault {
	var all []Fault
	for f := NotJSON; f < lastFaultEnd; f++ {
		all = append(all, f)
	}
	return all
}

// Error says that a list of servers, a server or one of its tools cannot be used. It repeats no value of the list.
type Error struct {
	Server string // "" if it is the list
	Tool   string // "" if it is the server
	Why    Fault
	Detail string
	Err    error // what the parser, the system or the server said
}

// Error implements error.
func (e *Error) Error() string {
	said := ""
	switch {
	case e.Tool != "":
		said = fmt.Sprintf("tool %q of server %q: ", e.Tool, e.Server)
	case e.Server != "":
		said = fmt.Sprintf("server %q: ", e.Server)
	}
	text := faultTexts[e.Why]
	if e.Detail != "" {
		text = fmt.Sprintf(text, e.Detail)
	}
	said += text
	if e.Err != nil {
		said += ": " + e.Err.Error()
	}
	return said
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }
