package flower

import (
	"flower/agent"
	"flower/document"
)

// Event is something a person may want to see. The set is closed; a printer switches over it.
type Event interface{ flowerEvent() }

// WorkflowStarted opens a run.
type WorkflowStarted struct {
	Run   string // id of the run, as in the manifest
	Woke  int    // which wake this is, from 1
	Steps int
}

// NotContinued says that something of an earlier run is there and cannot be used.
type NotContinued struct {
	Reason Reason
	Step   string // the step concerned, if it is only one
	Detail string // the other path, the file's problem
	Kept   string // where an unusable file was put aside, if it was
	Moved  bool   // of WorkspaceDiffers: nothing is at the other path any more, and Adopt can take the state over
}

// StepStarted opens a step.
type StepStarted struct {
	Name    string
	Index   int // from 1
	Total   int
	Resumed bool // in the session of an earlier run
	Woke    int
}

// StepSkipped says that a step has nothing to do.
type StepSkipped struct {
	Name         string
	Index, Total int
}

// AttemptStarted opens one run of an agent within a step: the step itself, a retry, a round, a judge.
type AttemptStarted struct {
	Step, Label string
	Agent       string
	SessionID   string
	Resumed     bool
}

// AgentEvent is what happens inside an attempt.
type AgentEvent struct {
	Label string
	Event agent.Event
}

// AttemptFinished closes an attempt; its row is in the manifest.
type AttemptFinished struct{ Result StepResult }

// StepFinished closes a step.
type StepFinished struct {
	Name   string
	OK     bool
	Reason string // if not OK
	Err    error  // the same, for those who tell people
}

// BriefFrozen says that the requirements are settled.
type BriefFrozen struct {
	Path  string
	Brief document.Brief
}

// GoalSet says what will be judged.
type GoalSet struct {
	Path string
	Goal document.Goal
}

// CheckStarted says that a check of the goal that is a command is about to be run, before a judge is asked.
type CheckStarted struct{ Label, Command string }

// CheckFinished says what came of it.
type CheckFinished struct {
	Label    string
	Evidence Evidence
}

// Judged is a judge's verdict on a round.
type Judged struct {
	Step          string
	Round, Rounds int
	Verdict       document.Verdict
}

// Asked says that a question waits for the person.
type Asked struct{ Question Question }

// Settled says how a question ended.
type Settled struct {
	Question Question
	Answer   string // what the person said; empty if nobody did
	How      AnswerKind
	Decision bool // flower itself has asked: without an answer the run stops
	Allowed  bool // of a Question about a Permission: the call may be made
}

// NoteTaken is the receipt of a remark: it is durable, and whether it is in the brief.
type NoteTaken struct {
	Text     string
	InBrief  bool
	BriefErr error // there is a brief, and it could not be appended to; nil where there is none yet
}

// Interrupted says that the person stopped the agent, which ends at its next message boundary; the session is kept.
type Interrupted struct{ Label string }

// WindowNear says, once for each session, that its context nears the line at which it is handed over.
type WindowNear struct {
	Label                 string
	Context, Line, Window int // tokens
}

// ModelDiffers says that another model answers than was asked; said once for each pair.
type ModelDiffers struct{ Asked, Answered string }

// HandingOver says that a session is about to be left for a new one.
type HandingOver struct {
	Label   string
	Cause   HandoffCause
	Context int // tokens; 0 is not known
}

// HandedOver says that a new session goes on in another one's place.
type HandedOver struct {
	Label      string
	From, To   string // sessions
	Path       string // of the document
	Degraded   bool   // the document was put together without the model
	Generation int    // how often the step was handed over in this run, from 1
}

// BooksFailed says that lineage or manifest could not be written; said once for each file, tried again at the next write.
type BooksFailed struct {
	Path string
	Err  error
}

// RoomChanged says that the disk is full, so that nothing goes on that could not be stored, or that there is room again.
type RoomChanged struct {
	Path string // the directory in which there must be room
	agent.RoomChange
}

// WorktreesLeft lists, at the end of a run, the worktrees in which there may be work of the workers; whoever started the
// run decides what to do with them. Err is why the list may not be complete.
type WorktreesLeft struct {
	Trees []Worktree
	Err   error
}

// Unguarded says that leases do not work in the run directory, so that nothing keeps another flower out of it or out of
// the sessions; said once. The run goes on.
type Unguarded struct{ Err error }

func (WorkflowStarted) flowerEvent() {}
func (NotContinued) flowerEvent()    {}
func (StepStarted) flowerEvent()     {}
func (StepSkipped) flowerEvent()     {}
func (AttemptStarted) flowerEvent()  {}
func (AgentEvent) flowerEvent()      {}
func (AttemptFinished) flowerEvent() {}
func (StepFinished) flowerEvent()    {}
func (BriefFrozen) flowerEvent()     {}
func (GoalSet) flowerEvent()         {}
func (CheckStarted) flowerEvent()    {}
func (CheckFinished) flowerEvent()   {}
func (Judged) flowerEvent()          {}
func (Asked) flowerEvent()           {}
func (Settled) flowerEvent()         {}
func (NoteTaken) flowerEvent()       {}
func (Interrupted) flowerEvent()     {}
func (WindowNear) flowerEvent()      {}
func (ModelDiffers) flowerEvent()    {}
func (HandingOver) flowerEvent()     {}
func (HandedOver) flowerEvent()      {}
func (BooksFailed) flowerEvent()     {}
func (RoomChanged) flowerEvent()     {}
func (WorktreesLeft) flowerEvent()   {}
func (Unguarded) flowerEvent()       {}
