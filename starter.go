package flower

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"flower/document"
	"flower/internal/workbench"
)

// Names of the starter workflow's steps. They are keys on disk and the same in every language.
const (
	StepClarify = "确认需求"
	StepGoal    = "设定目标"
	StepWork    = "干活"
)

// DefaultRounds is how many rounds of work a run may take.
const DefaultRounds = 3

// maxDocumentRounds is how often a document that misses sections is sent back.
const maxDocumentRounds = 3

// StarterOptions configure the built-in workflow.
type StarterOptions struct {
	// Ask is what the person wants, in one sentence. In a directory whose brief is frozen it is a remark: it goes into
	// the brief, to the working agent, and makes the goal be derived again. Empty goes on with what is there.
	Ask string
	// ClarifyOnly stops when the brief is frozen.
	ClarifyOnly bool
	// NoGoal leaves out the goal and its judge.
	NoGoal bool
	// Rounds of work at most in this run; 0 is DefaultRounds. Every run counts anew.
	Rounds int
	// JudgeCanRun lets goal setter and judge run commands.
	JudgeCanRun bool
	// Lang of prompts and documents.
	Lang Lang
}

// ErrNothingToDo is a run without a request in a directory that has nothing to go on with.
var ErrNothingToDo = errors.New("there is nothing to go on with here: say what you want")

// Starter is the built-in workflow: clarify the requirements, set a goal, work until a judge says it is met. Documents
// that are frozen already skip their step.
func Starter(opts StarterOptions) *Workflow {
	if opts.Rounds == 0 {
		opts.Rounds = DefaultRounds
	}
	opts.Ask = strings.TrimSpace(strings.ToValidUTF8(opts.Ask, "\uFFFD"))
	s := &starter{opts}
	w := &Workflow{Begin: s.begin, Steps: []Step{s.clarify()}}
	if !opts.ClarifyOnly {
		if !opts.NoGoal {
			w.Steps = append(w.Steps, s.goal())
		}
		w.Steps = append(w.Steps, s.work())
	}
	return w
}

type starter struct{ StarterOptions }

// sections names a document's sections for the one who has to write them.
func (s *starter) sections(keys []string) string {
	names := make([]string, len(keys))
	for i, key := range keys {
		names[i] = s.say("section."+key, nil)
	}
	return strings.Join(names, ", ")
}

func (s *starter) say(name string, data map[string]any) string { return say(s.Lang, name, data) }

// begin lands what the person said at wake, and what an earlier process took but could not land.
func (s *starter) begin(ctx context.Context, st *State) error {
	rt := st.Runtime
	if !s.NoGoal && !s.ClarifyOnly {
		rt.sayIncomplete(StepGoal, workbench.Goal, readGoal(rt).Complete())
	}
	if !readBrief(rt).Complete() {
		if s.Ask == "" && st.Sessions[StepClarify] == "" {
			return ErrNothingToDo
		}
		rt.sayIncomplete(StepClarify, workbench.Brief, false)
		return nil
	}
	if s.Ask != "" {
		if err := rt.keepRemark(ctx, s.Ask); err != nil {
			return err
		}
	}
	return rt.landRemarks(ctx, document.AddedAtWake)
}

// sayIncomplete says of a document that is there and cannot be used that its step begins again.
func (rt *Runtime) sayIncomplete(step, name string, complete bool) {
	path := rt.bench.NotePath(name)
	if _, err := os.Lstat(path); err == nil && !complete {
		rt.emit(NotContinued{Reason: Incomplete, Step: step, Detail: path})
	}
}

// incomplete refuses a document that misses sections; words say so to its author.
func incomplete(missing, words string) Decision {
	return Decision{Reason: "the document lacks " + missing, next: words, missing: missing}
}

// sendDocumentBack is the OnReject of the steps that write documents.
func sendDocumentBack(st *State, d Decision) string {
	if st.Round >= maxDocumentRounds {
		return ""
	}
	return d.next
}

// clarify asks the person until the brief is complete.
func (s *starter) clarify() Step {
	return Step{
		Name: StepClarify, Agent: Clarifier(s.Lang), Index: true,
		When:   func(st *State) bool { return !readBrief(st.Runtime).Complete() },
		Prompt: func(*State) string { return s.say("clarify.start", map[string]any{"Ask": s.Ask}) },
		ResumePrompt: func(*State) string {
			return s.say("clarify.resume", map[string]any{"Ask": s.Ask})
		},
		Standing: func(*State) string { return s.Ask },
		Gate: func(ctx context.Context, st *State, r StepResult) (Decision, error) {
			brief := document.ParseBrief(r.Text)
			if keys := brief.Missing(); len(keys) > 0 {
				missing := s.sections(keys)
				return incomplete(missing, s.say("clarify.incomplete", map[string]any{"Missing": missing})), nil
			}
			path, err := st.Runtime.freeze(ctx, workbench.Brief, brief.Markdown())
			if err != nil {
				return Decision{}, err
			}
			st.Runtime.emit(BriefFrozen{Path: path, Brief: brief})
			// What the person said during clarification had no brief to go into until now.
			return Accept(), st.Runtime.landRemarks(ctx, document.AddedRunning)
		},
		OnReject: sendDocumentBack,
	}
}

// goal derives the goal from the brief.
func (s *starter) goal() Step {
	return Step{
		Name: StepGoal, Agent: GoalSetter(s.Lang, s.JudgeCanRun),
		When: func(st *State) bool { return !readGoal(st.Runtime).Complete() },
		Prompt: func(st *State) string {
			return s.say("goal.start", map[string]any{"Brief": readBrief(st.Runtime).PromptBlock(), "Again": st.Sessions[StepGoal] != ""})
		},
		Standing: func(st *State) string { return readBrief(st.Runtime).PromptBlock() },
		Gate: func(ctx context.Context, st *State, r StepResult) (Decision, error) {
			goal := document.ParseGoal(r.Text)
			if keys := goal.Missing(); len(keys) > 0 {
				missing := s.sections(keys)
				return incomplete(missing, s.say("goal.incomplete", map[string]any{"Missing": missing})), nil
			}
			path, err := st.Runtime.freeze(ctx, workbench.Goal, goal.Markdown())
			if err != nil {
				return Decision{}, err
			}
			st.Runtime.emit(GoalSet{Path: path, Goal: goal})
			return Accept(), nil
		},
		OnReject: sendDocumentBack,
	}
}

// work lets the coordinator work until the judge is content.
func (s *starter) work() Step {
	step := Step{
		Name: StepWork, Agent: Coordinator(s.Lang), Index: true, Inbox: true,
		Prompt: func(st *State) string {
			return s.say("work.start", map[string]any{
				"Brief": readBrief(st.Runtime).PromptBlock(), "Goal": s.goalBlock(st.Runtime), "Place": st.Runtime.place(s.Lang),
			})
		},
		ResumePrompt: func(st *State) string {
			return s.say("work.resume", map[string]any{"Remarks": st.Runtime.hasRemarks(), "Goal": s.goalBlock(st.Runtime), "Place": st.Runtime.place(s.Lang)})
		},
		Standing: func(st *State) string {
			return strings.TrimSpace(strings.TrimSpace(readBrief(st.Runtime).PromptBlock()+"\n\n"+s.goalBlock(st.Runtime)) + "\n\n" + st.Runtime.place(s.Lang))
		},
	}
	if !s.NoGoal {
		g := &goalGuard{lang: s.Lang, rounds: s.Rounds, canRun: s.JudgeCanRun}
		step.Gate, step.OnReject = g.gate, g.sendBack
	}
	return step
}

func (s *starter) goalBlock(rt *Runtime) string {
	if s.NoGoal {
		return ""
	}
	return readGoal(rt).PromptBlock()
}

func readBrief(rt *Runtime) document.Brief {
	text, _ := readNote(rt.bench.NotePath(workbench.Brief))
	return document.ParseBrief(text)
}

func readGoal(rt *Runtime) document.Goal {
	text, _ := readNote(rt.bench.NotePath(workbench.Goal))
	return document.ParseGoal(text)
}

// freeze writes a document and returns its path. What is in its place, an unfinished document for instance, goes into
// the archive. On a full disk it waits for room: a document that is not on disk is not frozen.
func (rt *Runtime) freeze(ctx context.Context, name, text string) (path string, err error) {
	err = rt.opts.Room.Keep(ctx, func() error {
		path, err = rt.tryFreeze(name, text)
		return err
	})
	return path, err
}

func (rt *Runtime) tryFreeze(name, text string) (string, error) {
	if err := rt.bench.Create(); err != nil {
		return "", err
	}
	if err := rt.retire(name); err != nil {
		return "", fmt.Errorf("put the old %s aside: %w", name, err)
	}
	if err := rt.bench.WriteNote(name, text); err != nil {
		return "", fmt.Errorf("freeze %s: %w", name, err)
	}
	return rt.bench.NotePath(name), nil
}
