package flower

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"flower/agent"
	"flower/document"
)

// Workflow is a list of steps that are worked through in order. The zero value of every field continues what an earlier
// run in the same workspace and run directory has begun. A Workflow is not changed by running it.
type Workflow struct {
	Steps []Step
	// Begin runs before the first step, with the sessions of earlier runs in State; an error ends the run, which then
	// does not count as a wake. Nil does nothing.
	Begin func(context.Context, *State) error
	// Fresh starts every step in a new session and leaves lineage alone.
	Fresh bool
}

// Step is one unit of a workflow.
type Step struct {
	// Name is the key under which the step's session continues across processes; it is required, unique, and holds no
	// "#" and no "·". Renaming a step cuts its lineage.
	Name  string
	Agent agent.Spec
	// Prompt makes the text that starts the step. Required.
	Prompt func(*State) string
	// ResumePrompt makes the text that is sent instead when the step goes on in a session of an earlier run. Nil, or an
	// empty text, sends Prompt again.
	ResumePrompt func(*State) string

	// ResumeFrom runs this step in the session of another step. It wins over lineage, and is an error if that step
	// has none.
	ResumeFrom string
	// Fork branches off that session instead of going on in it.
	Fork bool

	// When says whether there is anything to do; nil always does it.
	When func(*State) bool
	// Gate judges the result; nil accepts what ended well.
	Gate Gate
	// OnReject makes the text with which a rejected result is sent back into the same session. Nil, or an empty text,
	// makes the rejection a failure.
	OnReject func(*State, Decision) string
	// Retries is how often a failed step is started again from scratch: with Prompt, in a new session or as ResumeFrom
	// says. Default 0.
	Retries int
	// OnFail says what a failed step means for the rest. Default Stop.
	OnFail OnFail
	// Reduce takes what later steps need from an accepted result into State.Values; nil keeps the text under the step's
	// name.
	Reduce func(*State, StepResult)

	// Standing makes the text that every session of the step must know word for word: one that takes over from a full one
	// begins with it. Nil is none.
	Standing func(*State) string
	// Index puts the workbench's index into the first message of a new session.
	Index bool
	// Inbox delivers the person's remarks to this step.
	Inbox bool
}

// Say returns a Prompt of fixed text.
func Say(text string) func(*State) string { return func(*State) string { return text } }

// OnFail says what happens when a step has failed.
type OnFail int

const (
	// Stop ends the workflow.
	Stop OnFail = iota
	// Skip leaves the step out: nothing of it reaches the later steps, which are run.
	Skip
	// Continue goes on as if the step had ended well.
	Continue
)

// Gate decides whether a result passes. An error ends the step as failed; *Abort ends the workflow.
type Gate func(ctx context.Context, s *State, r StepResult) (Decision, error)

// Decision is a gate's word.
type Decision struct {
	Pass    bool
	Reason  string            // why not
	Verdict *document.Verdict // of a judge, if there was one

	next    string // of the goal guard: what the next round is told
	missing string // of a document: the sections it lacks
}

// Accept passes a result.
func Accept() Decision { return Decision{Pass: true} }

// Reject sends a result back.
func Reject(reason string) Decision { return Decision{Reason: reason} }

// AbortCause says why the goal guard ended a workflow.
type AbortCause int

// The causes. OtherCause is that of a gate of somebody else's: what there is to say is in Abort.Reason.
const (
	OtherCause         AbortCause = iota
	RoundsUsed                    // not achieved after Abort.Rounds rounds
	StandingStill                 // Abort.Rounds rounds in a row have changed nothing
	GoalUnreachable               // the judge says so
	DisagreedTooLate              // the person disagrees with the judge, and no round is left
	GoalChangedTooLate            // the person has changed the goal, and no round is left
)

// Abort is the error with which a gate ends the whole workflow.
type Abort struct {
	Reason string // in English
	Cause  AbortCause
	Rounds int
	// Judge is what the judge said of it, one line; "" if nothing. Unclear says that the verdict was not clear.
	Judge   string
	Unclear bool
	// ForPerson says that only a person can decide how to go on.
	ForPerson bool
}

// Error implements error.
func (e *Abort) Error() string { return e.Reason }

// RejectedError is a result that a gate did not accept.
type RejectedError struct {
	Reason  string // in English
	Missing string // sections that a document lacks; "" if it is for something else
}

// Error implements error.
func (e *RejectedError) Error() string { return "not accepted: " + e.Reason }

// JudgeError is a judge that came to no verdict.
type JudgeError struct{ Err error }

// Error implements error.
func (e *JudgeError) Error() string { return fmt.Sprintf("the judge could not decide: %v", e.Err) }

// Unwrap returns the cause.
func (e *JudgeError) Unwrap() error { return e.Err }

// ErrNoGoal is a goal that is gone or lacks something when a judge is to use it.
var ErrNoGoal = errors.New("the goal is gone or not complete")

// FullError is a context window that is full and cannot be left.
type FullError struct{ Err error }

// Error implements error.
func (e *FullError) Error() string { return fmt.Sprintf("the context window is full: %v", e.Err) }

// Unwrap returns the cause.
func (e *FullError) Unwrap() error { return e.Err }

// StepError is a step that failed.
type StepError struct {
	Step string
	Err  error
}

// Error implements error.
func (e *StepError) Error() string { return fmt.Sprintf("step %s: %v", e.Step, e.Err) }

// Unwrap returns the cause.
func (e *StepError) Unwrap() error { return e.Err }

// State is what the functions of a workflow's steps see of the run. It belongs to the goroutine that runs the workflow.
type State struct {
	Runtime *Runtime
	// Woke is which wake this is; 1 in a directory without lineage.
	Woke int
	// Sessions maps step names to the sessions that are alive, those of earlier runs included.
	Sessions map[string]string
	// Results are the last results of the steps that ran.
	Results map[string]StepResult
	// Values is what Reduce has kept.
	Values map[string]any
	// Round counts the rounds of the step that runs, from 1.
	Round int

	still stillness // of the step that is judged
}

// Outcome is how a workflow ended.
type Outcome struct {
	Woke     int
	Sessions map[string]string
	Results  []StepResult // every attempt, judges included, in order
	CostUSD  float64
	Unpriced bool // some cost is not known
}

var errNoSteps = errors.New("the workflow has no steps")

// check finds the mistakes that would only show in the middle of a run.
func (w *Workflow) check() error {
	if len(w.Steps) == 0 {
		return errNoSteps
	}
	seen := make(map[string]bool)
	for i, s := range w.Steps {
		switch {
		case s.Name == "":
			return fmt.Errorf("step %d has no name", i+1)
		case strings.ContainsAny(s.Name, "#·\x00\r\n"):
			return fmt.Errorf("step %q: a name holds no #, no · and no line break", s.Name)
		case !utf8.ValidString(s.Name):
			return fmt.Errorf("step %q: a name is valid UTF-8", s.Name)
		case seen[s.Name]:
			return fmt.Errorf("step %q is there twice", s.Name)
		case s.Prompt == nil:
			return fmt.Errorf("step %q has no prompt", s.Name)
		case s.Fork && s.ResumeFrom == "":
			return fmt.Errorf("step %q: Fork needs ResumeFrom", s.Name)
		case s.ResumeFrom != "" && s.ResumeFrom != s.Name && !seen[s.ResumeFrom]:
			return fmt.Errorf("step %q: there is no earlier step %q to resume from", s.Name, s.ResumeFrom)
		}
		seen[s.Name] = true
	}
	return nil
}
