package flower

import (
	"context"
	"fmt"
	"strings"
	"time"

	"flower/document"
	"flower/internal/workbench"
)

// goalGuard holds the gate of a working step: after each round a judge that has seen nothing of the work decides. It never
// goes through lineage: every round and every wake gets a new session, a fresh pair of eyes.
type goalGuard struct {
	lang   Lang
	rounds int
	canRun bool
}

// JudgeLabel is the manifest label of the judge of a step's round.
func JudgeLabel(step string, round int) string { return fmt.Sprintf("%s·判定#%d", step, round) }

// gate asks a judge and acts on its verdict.
func (g *goalGuard) gate(ctx context.Context, st *State, r StepResult) (Decision, error) {
	rt := st.Runtime
	step := baseName(r.Step)
	goal := readGoal(rt)
	if !goal.Complete() {
		return Decision{}, fmt.Errorf("judge by %s: %w", workbench.Goal, ErrNoGoal)
	}
	var verdict document.Verdict
	label := JudgeLabel(step, st.Round)
	st.still.compare(rt.look())
	evidence := rt.evidence(ctx, label, goal)
	if ctx.Err() != nil {
		return Decision{}, context.Cause(ctx)
	}
	trees, whole := rt.judged(ctx)
	prompt := say(g.lang, "judge.start", map[string]any{
		"Brief": readBrief(rt).PromptBlock(), "Goal": goal.PromptBlock(), "Evidence": evidence, "Worktrees": trees, "Whole": whole,
	})
	result, err := rt.Run(ctx, Attempt{
		Step: step, Label: label, Agent: Judge(g.lang, g.canRun),
		Prompt: prompt, Standing: func() string { return prompt },
		Annotate: func(row *StepResult) {
			row.Evidence = evidence
			if row.OK {
				verdict = document.ParseVerdict(row.Text)
				row.Verdict = verdict.State.String()
			}
		},
	})
	if err != nil {
		return Decision{}, &JudgeError{err}
	}
	rt.emit(Judged{Step: step, Round: st.Round, Rounds: g.rounds, Verdict: verdict})
	switch {
	case verdict.Pass():
		return Decision{Pass: true, Verdict: &verdict}, nil
	case verdict.State == document.Unreachable:
		return g.unreachable(ctx, st, result, verdict)
	case st.Round >= g.rounds:
		return Decision{}, judgedAbort(RoundsUsed, st.Round, fmt.Sprintf("not achieved after %d rounds", st.Round), verdict)
	case st.still.rounds >= maxStillRounds:
		return Decision{}, judgedAbort(StandingStill, st.still.rounds,
			fmt.Sprintf("stuck: %d rounds in a row have changed nothing in the workspace", st.still.rounds), verdict)
	}
	st.still.judged = rt.look() // judging may have changed something too
	next := say(g.lang, "work.notyet", map[string]any{
		"Reason": verdict.Reason, "Failed": verdict.Failed, "Round": st.Round + 1, "Rounds": g.rounds,
		"Unclear": verdict.State == document.Unclear, "Still": st.still.rounds > 0,
	})
	return Decision{Reason: "not achieved yet" + because(verdict), Verdict: &verdict, next: next}, nil
}

// sendBack is the step's OnReject.
func (g *goalGuard) sendBack(_ *State, d Decision) string { return d.next }

// unreachable asks the person what to do with a goal that the judge holds for unreachable.
func (g *goalGuard) unreachable(ctx context.Context, st *State, judged StepResult, v document.Verdict) (Decision, error) {
	stop := judgedAbort(GoalUnreachable, st.Round, "the judge holds the goal for unreachable", v)
	stop.ForPerson = true
	human := st.Runtime.opts.Human
	if human == nil {
		return Decision{}, stop
	}
	text := func(name string) string { return say(g.lang, "unreachable."+name, nil) }
	accept, change, wrong := text("accept"), text("change"), text("wrong")
	question := say(g.lang, "unreachable.question", map[string]any{"Reason": v.Reason, "Failed": v.Failed})
	said, how, err := human.Decide(ctx, judged.SessionID+"/unreachable", question, []string{accept, change, wrong})
	if err == nil && how == Given && said == change {
		said, how, err = human.Decide(ctx, judged.SessionID+"/change", text("ask"), nil)
		if err == nil && how == Given {
			return g.change(ctx, st, said, v)
		}
	}
	switch {
	case err != nil:
		return Decision{}, err
	case how != Given:
		return Decision{}, stop
	case said == accept:
		return Decision{Pass: true, Reason: "accepted by the person", Verdict: &v}, nil
	case said == wrong:
		said = ""
	}
	// Anything else is the person's own words against the verdict.
	return g.again(st, v, DisagreedTooLate, "the person disagrees", say(g.lang, "work.disagree", map[string]any{"Reason": v.Reason, "Remark": said}))
}

// judgedAbort ends the workflow after a verdict.
func judgedAbort(cause AbortCause, rounds int, what string, v document.Verdict) *Abort {
	a := &Abort{Reason: what + because(v), Cause: cause, Rounds: rounds, Unclear: v.State == document.Unclear}
	if !a.Unclear {
		a.Judge = oneLine(v.Reason)
	}
	return a
}

// again sends the work back on the person's word, if there is a round left; otherwise the workflow ends for cause.
func (g *goalGuard) again(st *State, v document.Verdict, cause AbortCause, reason, words string) (Decision, error) {
	if st.Round >= g.rounds {
		return Decision{}, &Abort{
			Cause: cause, Rounds: st.Round,
			Reason: fmt.Sprintf("%s, but no round is left after %d; run flower again to go on", reason, st.Round), ForPerson: true,
		}
	}
	return Decision{Reason: reason, Verdict: &v, next: words}, nil
}

// change writes the person's change into goal and brief and sends the work back.
func (g *goalGuard) change(ctx context.Context, st *State, said string, v document.Verdict) (Decision, error) {
	rt := st.Runtime
	err := rt.updateNote(ctx, workbench.Goal, func(old string, _ bool) (string, bool) {
		return document.AppendToGoal(old, said)
	})
	if err == nil {
		err = rt.updateNote(ctx, workbench.Brief, func(old string, _ bool) (string, bool) {
			return document.AppendToBrief(old, document.AddedRunning, rt.opts.Now().Format(time.TimeOnly), said)
		})
	}
	if err != nil {
		return Decision{}, fmt.Errorf("change the goal: %w", err)
	}
	words := say(g.lang, "work.changed", map[string]any{"Change": said, "Goal": readGoal(rt).PromptBlock()})
	return g.again(st, v, GoalChangedTooLate, "the goal was changed", words)
}

// because is a verdict's reason as the end of a sentence.
func because(v document.Verdict) string {
	switch {
	case v.State == document.Unclear:
		return ": the judge gave no clear verdict"
	case v.Reason == "":
		return ""
	}
	return ": " + oneLine(v.Reason)
}

// baseName is the step's name without a suffix.
func baseName(label string) string {
	if i := strings.IndexAny(label, "#·"); i >= 0 {
		return label[:i]
	}
	return label
}

// oneLine is a text on one line, bounded, for reasons and errors.
func oneLine(s string) string {
	const most = 300
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
