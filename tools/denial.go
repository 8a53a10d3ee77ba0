package tools

import (
	"regexp"
	"strings"
	"time"
)

// Reason is why a call was not made.
type Reason string

// Reasons that ReadDenial tells apart.
const (
	DeniedByPerson Reason = "person"   // who was asked
	DeniedLate     Reason = "late"     // the person did not answer
	DeniedAlone    Reason = "alone"    // nobody was there to be asked
	DeniedCommands Reason = "commands" // only commands that read
	DeniedChanges  Reason = "changes"  // no file may be changed
	DeniedServers  Reason = "servers"  // only tools of servers that read
	DeniedSecret   Reason = "secret"   // it would have gone to a stranger
	DeniedPrivate  Reason = "private"  // networks that the person can allow
	DeniedAddress  Reason = "address"  // no agent may reach it
	DeniedPlace    Reason = "place"    // of a file
	DeniedOther    Reason = "other"
)

// Reasons are all there are.
var Reasons = []Reason{
	DeniedByPerson, DeniedLate, DeniedAlone, DeniedCommands, DeniedChanges, DeniedServers, DeniedSecret, DeniedPrivate, DeniedAddress,
	DeniedPlace, DeniedOther,
}

// Denial is why a call was not made, as its result says it to the model.
type Denial struct {
	Reason Reason
	Said   string        // by the person, with DeniedByPerson
	Waited time.Duration // with DeniedLate
}

// Parts of refusals that are written and read.
const (
	noByPerson  = "The person did not allow this call, and it was not made. "
	noWithWords = noByPerson + "They said: "
	noAnswer    = "Not allowed: the person was asked and did not answer within "
	noPerson    = "Not allowed: this call needs the person's permission, and nobody is there to give it. "
	onlyReads   = "only commands that read and are stale by tomorrow"
	noBash      = "Refused: there is no bash on this machine"
	noChanges   = "Refused: this run must not change any file"
	noServers   = "Refused: this run uses only those tools of servers that are marked as reading"
	noSecrets   = "Refused: the address holds something that looks like a secret"
	noPrivate   = "; only the person can allow private networks, with "
	refused     = "Refused: "
)

var answerLimit = regexp.MustCompile("^" + regexp.QuoteMeta(noAnswer) + `([0-9a-zµ.]+), `)

// ReadDenial reads what the model is told of a call that a guard has refused.
func ReadDenial(tool, said string) Denial {
	if m := answerLimit.FindStringSubmatch(said); m != nil {
		waited, _ := time.ParseDuration(m[1]) // 0 is said as no time
		return Denial{Reason: DeniedLate, Waited: waited}
	}
	if words, ok := strings.CutPrefix(said, noWithWords); ok {
		return Denial{Reason: DeniedByPerson, Said: words}
	}
	why := DeniedOther
	switch begins := func(s string) bool { return strings.HasPrefix(said, s) }; {
	case begins(noByPerson):
		why = DeniedByPerson
	case begins(noPerson):
		why = DeniedAlone
	case tool == Bash && begins(refused):
		why = DeniedCommands
	case begins(noChanges):
		why = DeniedChanges
	case begins(noServers):
		why = DeniedServers
	case begins(noSecrets):
		why = DeniedSecret
	case tool == WebFetch && strings.Contains(said, noPrivate):
		why = DeniedPrivate
	case tool == WebFetch && begins(refused):
		why = DeniedAddress
	case tool == Read, tool == Write, tool == Edit, tool == NotebookEdit, tool == Glob, tool == Grep:
		why = DeniedPlace
	}
	return Denial{Reason: why}
}
