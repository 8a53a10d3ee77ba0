package flower

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"flower/agent"
	"flower/document"
	"flower/internal/workbench"
)

// The agents by the first line of their instructions.
const (
	clarifier   = "# Role: clarifier"
	goalSetter  = "# Role: goal setter"
	coordinator = "# Role: coordinator"
	judge       = "# Role: judge"
)

const (
	briefReply = "Here is what I understood.\n\n## Goal\na clock\n\n## Acceptance criteria\n`./clock` prints the time\n\n" +
		"## Boundaries\nno network\n\n## Unknowns and assumptions\nnone\n"
	goalReply = "# Goal\n\nA clock that runs.\n\n# Checklist\n\n- `./clock` exits 0\n- it prints HH:MM\n"
	achieved  = "## Conclusion\nachieved\n\n## Reason\nran it\n\n## Failed\n"
	notYet    = "## Conclusion\nnot yet\n\n## Reason\nno seconds\n\n## Failed\n- it prints HH:MM\n"
	noWay     = "## Conclusion\nunreachable\n\n## Reason\nno terminal\n\n## Failed\n- it prints HH:MM\n"
)

// newJob is a world whose agents do their parts at once.
func newJob(t *testing.T) *world {
	w := newWorld(t)
	w.play[clarifier] = inOrder(briefReply)
	w.play[goalSetter] = inOrder(goalReply)
	w.play[coordinator] = inOrder("work done")
	w.play[judge] = inOrder(achieved)
	return w
}

// job is one run of the starter workflow; the zero ask is a bare run.
func (w *world) job(said string) (*Outcome, error) {
	return w.run(Starter(StarterOptions{Ask: said, Lang: English}))
}

func (w *world) mustJob(said string) *Outcome {
	w.t.Helper()
	o, err := w.job(said)
	if err != nil {
		w.t.Fatal(err)
	}
	return o
}

// told is all that agents of one role were told in the last run.
func (w *world) toldTo(role string) string {
	var all []string
	for _, a := range w.asked {
		if a.Agent == role {
			all = append(all, a.Text())
		}
	}
	return strings.Join(all, "\n---\n")
}

func TestStarterFromNothing(t *testing.T) {
	w := newJob(t)
	o := w.mustJob("a clock, please")
	equal(t, "agents", w.agents(), []string{clarifier, goalSetter, coordinator, judge})
	equal(t, "rows", w.rows(), []string{"确认需求", "设定目标", "干活", "干活·判定#1"})
	rows, err := ReadManifest(w.runs)
	if err != nil {
		t.Fatal(err)
	}
	for i, verdict := range []string{"", "", "", "achieved"} {
		r := rows[i]
		if r.Verdict != verdict || r.Run != w.rt.RunID() || r.SessionID == "" || r.Turns != 1 || r.CostUSD != 0.25 || r.Model != "m" {
			t.Errorf("row %+v", r)
		}
	}
	steps := WakeState(w.dir, w.runs).Steps
	if len(steps) != 3 || steps[StepWork] != rows[2].SessionID || o.Sessions[StepClarify] != rows[0].SessionID {
		t.Errorf("lineage %v", steps)
	}
	wantBrief := "# 需求确认书\n\n## 目标\n\na clock\n\n## 验收标准\n\n`./clock` prints the time\n\n## 边界\n\nno network\n\n## 未知与假设\n\nnone\n"
	if got := w.note(workbench.Brief); got != wantBrief {
		t.Errorf("brief:\n%s\nwant:\n%s", got, wantBrief)
	}
	wantGoal := "# 目标\n\nA clock that runs.\n\n# 判定清单\n\n- `./clock` exits 0\n- it prints HH:MM\n"
	if got := w.note(workbench.Goal); got != wantGoal {
		t.Errorf("goal:\n%s\nwant:\n%s", got, wantGoal)
	}
	in(t, "clarifier", w.toldTo(clarifier), "a clock, please")
	in(t, "goal setter", w.toldTo(goalSetter), "`./clock` prints the time")
	in(t, "coordinator", w.toldTo(coordinator), "`./clock` prints the time", "it prints HH:MM")
	in(t, "judge", w.toldTo(judge), "`./clock` prints the time", "it prints HH:MM")
	notIn(t, "judge", w.toldTo(judge), "work done")
	if b := seen[BriefFrozen](w); len(b) != 1 || b[0].Brief.Goal != "a clock" || b[0].Path != WakeState(w.dir, w.runs).Brief {
		t.Errorf("%+v", b)
	}
	if g := seen[GoalSet](w); len(g) != 1 || len(g[0].Goal.Checks) != 2 || g[0].Path != WakeState(w.dir, w.runs).Goal {
		t.Errorf("%+v", g)
	}
	if j := seen[Judged](w); len(j) != 1 || j[0].Round != 1 || j[0].Rounds != 3 || !j[0].Verdict.Pass() || j[0].Step != StepWork {
		t.Errorf("%+v", j)
	}
	if state := WakeState(w.dir, w.runs); !state.Waking || state.Checks != 2 || state.Woke != 1 {
		t.Errorf("%+v", state)
	}
	if n := w.archived(); len(n) != 0 {
		t.Errorf("archived %v", n)
	}
}

func TestNothingToDo(t *testing.T) {
	w := newJob(t)
	for _, said := range []string{"", " \n\t"} {
		if _, err := w.job(said); !errors.Is(err, ErrNothingToDo) {
			t.Errorf("%q: %v", said, err)
		}
	}
	if files, _ := os.ReadDir(w.dir); len(files) != 0 {
		t.Errorf("written: %v", files)
	}
}

func TestIncompleteDocumentsAreSentBack(t *testing.T) {
	for _, test := range []struct {
		role, step, partial, missing, full string
	}{
		{clarifier, StepClarify, "## Goal\na clock\n\n## Boundaries\nnone\n", "Acceptance criteria, Unknowns and assumptions", briefReply},
		{clarifier, StepClarify, "```\n" + briefReply + "```", "Goal, Acceptance criteria, Boundaries, Unknowns and assumptions", briefReply},
		{goalSetter, StepGoal, "# Goal\n\nA clock.\n", "Checklist", goalReply},
		{goalSetter, StepGoal, "no idea", "Goal, Checklist", goalReply},
	} {
		w := newJob(t)
		w.play[test.role] = inOrder(test.partial, test.partial, test.full)
		o := w.mustJob("a clock")
		rows := w.rows()
		at := slices.Index(rows, test.step)
		equal(t, "rows", rows[at:at+3], []string{test.step, test.step + "#round2", test.step + "#round3"})
		texts := w.texts(o.Sessions[test.step])
		if len(texts) != 3 {
			t.Fatalf("said %q", texts)
		}
		in(t, "second prompt", texts[1], "Missing or empty: "+test.missing+".")

		w = newJob(t)
		w.play[test.role] = inOrder(test.partial)
		_, err := w.job("a clock")
		if err == nil {
			t.Fatal("an incomplete document passed")
		}
		in(t, "error", err.Error(), test.step, "the document lacks "+test.missing)
		if slices.Contains(w.agents(), coordinator) {
			t.Error("work began")
		}
	}
}

func TestFrozenDocumentsSkipTheirStep(t *testing.T) {
	w := newJob(t)
	w.writeNote(workbench.Brief, brief.Markdown())
	w.mustJob("")
	equal(t, "agents", w.agents(), []string{goalSetter, coordinator, judge})
	in(t, "coordinator", w.toldTo(coordinator), "no network", "it prints HH:MM")

	w = newJob(t)
	w.writeNote(workbench.Brief, brief.Markdown())
	w.writeNote(workbench.Goal, "# 目标\n\nfrozen\n\n# 判定清单\n\n- frozen check\n")
	w.mustJob("")
	equal(t, "agents", w.agents(), []string{coordinator, judge})
	in(t, "coordinator", w.toldTo(coordinator), "no network", "frozen check")
	in(t, "judge", w.toldTo(judge), "no network", "frozen check")
	equal(t, "skipped", []string{seen[StepSkipped](w)[0].Name, seen[StepSkipped](w)[1].Name}, []string{StepClarify, StepGoal})
}

// TestUnfinishedDocumentsAreKept: what stands in the place of a document goes into the archive.
func TestUnfinishedDocumentsAreKept(t *testing.T) {
	w := newJob(t)
	w.writeNote(workbench.Brief, "## 目标\n\nhalf a thought of the person's\n")
	if err := os.Mkdir(workbench.Open(w.dir).NotePath(workbench.Goal), 0o755); err != nil {
		t.Fatal(err)
	}
	w.mustJob("a clock")
	equal(t, "archive", w.archived(), []string{workbench.Goal, workbench.Brief})
	in(t, "brief", w.note(workbench.Brief), "a clock")
}

func TestCrashInsideClarify(t *testing.T) {
	w := newJob(t)
	w.play[clarifier] = failing(1)
	if _, err := w.job("a clock, please"); err == nil {
		t.Fatal("no error")
	}
	session := WakeState(w.dir, w.runs).Steps[StepClarify]
	w.play[clarifier] = inOrder(briefReply)
	o := w.mustJob("")
	texts := w.texts(session)
	if o.Sessions[StepClarify] != session || len(texts) != 2 || o.Woke != 2 {
		t.Fatalf("session %s, said %q", session, texts)
	}
	in(t, "resume prompt", texts[1], "not a new task")
	notIn(t, "resume prompt", texts[1], "a clock, please")

	// With words: they are in the prompt.
	w = newJob(t)
	w.play[clarifier] = failing(1)
	_, _ = w.job("a clock, please")
	w.play[clarifier] = inOrder(briefReply)
	w.mustJob("in green")
	last := w.texts(w.asked[0].Session)[1]
	in(t, "resume prompt", last, "not a new task", "in green")
	notIn(t, "resume prompt", last, "a clock, please")
}

func TestWakeWithWords(t *testing.T) {
	w := newJob(t)
	w.human = newPerson(t, w, HumanOptions{Timeout: -1}).Human
	first := w.mustJob("a clock")
	at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.Local)
	w.now = func() time.Time { return at }
	oldGoal := w.note(workbench.Goal)
	w.play[goalSetter] = inOrder(strings.Replace(goalReply, "HH:MM", "HH:MM in green", 1))
	second := w.mustJob("in green")
	equal(t, "agents", w.agents(), []string{goalSetter, coordinator, judge})
	for _, s := range []string{StepClarify, StepGoal, StepWork} {
		if first.Sessions[s] != second.Sessions[s] {
			t.Errorf("%s: session %s became %s", s, first.Sessions[s], second.Sessions[s])
		}
	}
	in(t, "brief", w.note(workbench.Brief), "\n## 唤醒时追加(05:06:07)\nin green\n")
	in(t, "goal", w.note(workbench.Goal), "HH:MM in green")
	archived, err := filepath.Glob(filepath.Join(w.dir, ".flower/notes/archive/20260304-050607/*"))
	if err != nil || len(archived) != 1 || string(read(t, archived[0])) != oldGoal {
		t.Errorf("archive %v, %v", archived, err)
	}
	in(t, "goal setter", w.toldTo(goalSetter), "in green", "anew")
	in(t, "coordinator", w.toldTo(coordinator), "same conversation", "HH:MM in green")
	in(t, "judge", w.toldTo(judge), "HH:MM in green")
	if n := strings.Count(strings.Join(w.texts(first.Sessions[StepWork]), "\n"), "The person says (05:06:07):\n\nin green"); n != 1 {
		t.Errorf("said %d times to the coordinator", n)
	}
	if n := seen[NoteTaken](w); len(n) != 1 || n[0] != (NoteTaken{Text: "in green", InBrief: true}) {
		t.Errorf("%+v", n)
	}

	// Nothing said: nothing appended, nothing derived, nothing extra.
	before := w.note(workbench.Brief)
	w.mustJob("")
	equal(t, "agents", w.agents(), []string{coordinator, judge})
	if w.note(workbench.Brief) != before || len(w.archived()) != 1 {
		t.Error("a bare wake changed the documents")
	}
	notIn(t, "coordinator", w.toldTo(coordinator), "The person says", "has something to add")

	// The same words once more: said again and derived again, not written again.
	w.mustJob("in green")
	equal(t, "agents", w.agents(), []string{goalSetter, coordinator, judge})
	if w.note(workbench.Brief) != before {
		t.Errorf("written twice:\n%s", w.note(workbench.Brief))
	}
	in(t, "coordinator", w.toldTo(coordinator), "has something to add", "The person says (05:06:07):\n\nin green")
}

// TestCrashWhileWordsLand starts from every state in which a process can have died between taking the person's words and
// handing them over: the next bare run brings them to all three places, once.
func TestCrashWhileWordsLand(t *testing.T) {
	appended := func(w *world) {
		text, _ := document.AppendToBrief(w.note(workbench.Brief), document.AddedAtWake, "05:06:07", "in green")
		w.writeNote(workbench.Brief, text)
	}
	noGoal := func(w *world) {
		if err := os.Remove(workbench.Open(w.dir).NotePath(workbench.Goal)); err != nil {
			w.t.Fatal(err)
		}
	}
	for _, test := range []struct {
		name string
		at   func(*world)
	}{
		{"kept", func(*world) {}},
		{"kept, goal archived", noGoal},
		{"kept, goal archived, appended", func(w *world) { noGoal(w); appended(w) }},
		{"kept, goal step failed", func(w *world) {
			w.play[goalSetter] = failing(1)
			if _, err := w.job(""); err == nil {
				w.t.Fatal("no error")
			}
			w.play[goalSetter] = inOrder(goalReply)
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newJob(t)
			w.human = newPerson(t, w, HumanOptions{Timeout: -1}).Human
			first := w.mustJob("a clock")
			note := agent.Note{ID: uuid.NewString(), Text: "in green", At: time.Date(2026, 3, 4, 5, 6, 7, 0, time.Local)}
			if err := w.store.AddNote(t.Context(), ProjectKey(w.dir), note); err != nil {
				t.Fatal(err)
			}
			test.at(w)
			w.mustJob("")
			equal(t, "agents", w.agents(), []string{goalSetter, coordinator, judge})
			if n := strings.Count(w.note(workbench.Brief), "in green"); n != 1 {
				t.Errorf("%d times in the brief", n)
			}
			in(t, "goal setter", w.toldTo(goalSetter), "in green")
			if n := strings.Count(strings.Join(w.texts(first.Sessions[StepWork]), "\n"), "in green"); n != 1 {
				t.Errorf("%d times in the work", n)
			}
			w.mustJob("")
			equal(t, "agents of a later run", w.agents(), []string{coordinator, judge})
		})
	}

	// Taken, and the person says it again because the process died: it is one remark.
	w := newJob(t)
	w.human = newPerson(t, w, HumanOptions{Timeout: -1}).Human
	w.mustJob("a clock")
	w.play[goalSetter] = failing(1)
	_, _ = w.job("in green")
	w.play[goalSetter] = inOrder(goalReply)
	o := w.mustJob("in green")
	if n := strings.Count(strings.Join(w.texts(o.Sessions[StepWork]), "\n"), "in green"); n != 1 {
		t.Errorf("%d times in the work", n)
	}
}

// TestRemarksDuringClarification wait for the brief.
func TestRemarksDuringClarification(t *testing.T) {
	w := newJob(t)
	p := newPerson(t, w, HumanOptions{Timeout: -1})
	w.human = p.Human
	w.play[clarifier] = func(ask) (string, error) { return briefReply, p.Say(t.Context(), "in green") }
	w.mustJob("a clock")
	in(t, "brief", w.note(workbench.Brief), "## 运行中补充(", "in green")
	in(t, "goal setter", w.toldTo(goalSetter), "in green")
	in(t, "coordinator", w.toldTo(coordinator), "in green")
}

func TestRounds(t *testing.T) {
	w := newJob(t)
	w.play[judge] = inOrder(notYet, "hard to say", achieved)
	o := w.mustJob("a clock")
	equal(t, "rows", w.rows(), []string{
		"确认需求", "设定目标", "干活", "干活·判定#1", "干活#round2", "干活·判定#2", "干活#round3", "干活·判定#3",
	})
	texts := w.texts(o.Sessions[StepWork])
	if len(texts) != 3 {
		t.Fatalf("said %q", texts)
	}
	in(t, "second round", texts[1], "not achieved yet", "round 2 of 3", "no seconds", "- it prints HH:MM")
	in(t, "third round", texts[2], "no clear verdict", "round 3 of 3")
	var verdicts, judges []string
	for _, r := range o.Results {
		if r.Verdict != "" {
			verdicts, judges = append(verdicts, r.Verdict), append(judges, r.SessionID)
		}
	}
	equal(t, "verdicts", verdicts, []string{"not_yet", "unclear", "achieved"})
	slices.Sort(judges)
	if len(slices.Compact(judges)) != 3 {
		t.Error("judges share a session")
	}

	// At the next wake the count starts again.
	w.play[judge] = inOrder(notYet)
	_, err := w.job("")
	var abort *Abort
	if !errors.As(err, &abort) || abort.ForPerson {
		t.Errorf("%v", err)
	}
	in(t, "error", fmt.Sprint(err), "not achieved after 3 rounds", "no seconds")
	equal(t, "agents", w.agents(), []string{coordinator, judge, coordinator, judge, coordinator, judge})
	if f := seen[StepFinished](w); len(f) != 1 || f[0].OK {
		t.Errorf("%+v", f)
	}
	if j := seen[Judged](w); j[0].Round != 1 || j[2].Round != 3 {
		t.Errorf("%+v", j)
	}
}

func TestRoundsOption(t *testing.T) {
	w := newJob(t)
	w.play[judge] = inOrder("neither")
	_, err := w.run(Starter(StarterOptions{Ask: "a clock", Rounds: 1}))
	in(t, "error", fmt.Sprint(err), "no clear verdict")
	equal(t, "agents", w.agents(), []string{clarifier, goalSetter, coordinator, judge})
}

// TestNeverAPass: verdicts that must not end the work.
func TestNeverAPass(t *testing.T) {
	for _, said := range []string{
		"没有达成", "## 结论\n未达成\n", "cannot be verified here", "## Conclusion\nachieved\n\n## Failed\n- it prints HH:MM\n", "Looks good to me!",
	} {
		w := newJob(t)
		w.play[judge] = inOrder(said)
		if _, err := w.run(Starter(StarterOptions{Ask: "a clock", Rounds: 1})); err == nil {
			t.Errorf("%q passed", said)
		}
	}
}

func TestBrokenJudge(t *testing.T) {
	w := newJob(t)
	w.play[judge] = failing(9)
	_, err := w.job("a clock")
	in(t, "error", fmt.Sprint(err), StepWork, "the judge could not decide")
	equal(t, "rows", w.rows(), []string{"确认需求", "设定目标", "干活", "干活·判定#1: endpoint not reached: broken"})

	// The goal disappears while the work goes on: there is nothing to judge by.
	w = newJob(t)
	w.play[coordinator] = func(ask) (string, error) {
		return "done", os.Remove(workbench.Open(w.dir).NotePath(workbench.Goal))
	}
	if _, err = w.job("a clock"); err == nil || slices.Contains(w.agents(), judge) {
		t.Errorf("%v", err)
	}
}

func TestUnreachable(t *testing.T) {
	for _, test := range []struct {
		name    string
		answers []string // of the person; "-" leaves
		rounds  int
		err     string // "" ends well
		next    []string
	}{
		{"accept", []string{"1"}, 3, "", nil},
		{"change", []string{"2", "only hours"}, 3, "", []string{"changed the goal", "only hours", "(已修改)"}},
		{"wrong", []string{"3"}, 3, "", []string{"disagrees", "no terminal"}},
		{"own words", []string{"use a pty"}, 3, "", []string{"disagrees", "use a pty"}},
		{"skipped", []string{""}, 3, "unreachable: no terminal", nil},
		{"nobody", []string{"-"}, 3, "unreachable: no terminal", nil},
		{"change to nothing", []string{"2", ""}, 3, "unreachable: no terminal", nil},
		{"wrong, last round", []string{"3"}, 1, "no round is left", nil},
		{"change, last round", []string{"2", "only hours"}, 1, "no round is left", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newJob(t)
				p := newPerson(t, w, HumanOptions{})
				w.human = p.Human
				w.play[judge] = inOrder(noWay, achieved)
				go func() {
					for _, said := range test.answers {
						if synctest.Wait(); said == "-" {
							p.Leave()
							continue
						}
						p.answer(t, said)
					}
				}()
				_, err := w.run(Starter(StarterOptions{Ask: "a clock", Rounds: test.rounds}))
				var abort *Abort
				if (test.err == "") != (err == nil) || err != nil && (!errors.As(err, &abort) || !abort.ForPerson) {
					t.Fatalf("error %v", err)
				}
				in(t, "error", fmt.Sprint(err), test.err)
				q := p.settled()[0].Question
				if len(q.Options) != 3 {
					t.Errorf("options %q", q.Options)
				}
				in(t, "question", q.Text, "no terminal", "- it prints HH:MM")
				if changed := strings.HasPrefix(test.name, "change") && test.answers[1] != ""; changed {
					in(t, "goal", w.note(workbench.Goal), "(已修改)\nonly hours\n")
					in(t, "brief", w.note(workbench.Brief), "## 运行中补充(", "only hours")
				} else {
					notIn(t, "goal", w.note(workbench.Goal), "已修改")
				}
				var rounds []string
				for _, a := range w.asked {
					if a.Agent == coordinator && a.Turn > 1 {
						rounds = append(rounds, a.Text())
					}
				}
				if (len(rounds) == 1) != (test.next != nil) {
					t.Fatalf("sent back with %q", rounds)
				}
				if test.next != nil {
					in(t, "second round", rounds[0], test.next...)
				}
				synctest.Wait()
			})
		})
	}

	w := newJob(t) // a run without a person
	w.play[judge] = inOrder(noWay)
	_, err := w.job("a clock")
	var abort *Abort
	if !errors.As(err, &abort) || !abort.ForPerson {
		t.Error(err)
	}
}

func TestNoGoalAndClarifyOnly(t *testing.T) {
	w := newJob(t)
	w.must(Starter(StarterOptions{Ask: "a clock", NoGoal: true, Lang: English}))
	equal(t, "agents", w.agents(), []string{clarifier, coordinator})
	if w.note(workbench.Goal) != "" {
		t.Error("a goal was set")
	}
	notIn(t, "coordinator", w.toldTo(coordinator), "will be judged")

	w = newJob(t)
	w.must(Starter(StarterOptions{Ask: "a clock", ClarifyOnly: true}))
	equal(t, "agents", w.agents(), []string{clarifier})
	w.mustJob("")
	equal(t, "agents after", w.agents(), []string{goalSetter, coordinator, judge})

	// Words to a frozen brief without work: they wait for the work.
	w.human = newPerson(t, w, HumanOptions{Timeout: -1}).Human
	w.must(Starter(StarterOptions{Ask: "in green", ClarifyOnly: true}))
	if len(w.asked) != 0 {
		t.Errorf("agents %v", w.agents())
	}
	in(t, "brief", w.note(workbench.Brief), "in green")
	w.mustJob("")
	equal(t, "agents after", w.agents(), []string{goalSetter, coordinator, judge})
	in(t, "coordinator", w.toldTo(coordinator), "in green")
}

func TestStarterSpeaksChinese(t *testing.T) {
	w := newWorld(t)
	w.play["# 角色:澄清者"] = inOrder("## 目标\n一个时钟\n\n## 验收标准\n能跑\n\n## 边界\n无\n\n## 未知与假设\n无\n")
	w.play["# 角色:目标制定者"] = inOrder("# 目标\n\n能看时间。\n\n# 判定清单\n\n- 能跑\n")
	w.play["# 角色:判定者"] = inOrder("## 结论\n未达成\n\n## 理由\n没跑\n\n## 未通过\n- 能跑\n", "## 结论\n达成\n\n## 理由\n跑了\n\n## 未通过\n")
	w.must(Starter(StarterOptions{Ask: "一个时钟", Lang: Chinese}))
	equal(t, "agents", w.agents(), []string{
		"# 角色:澄清者", "# 角色:目标制定者", "# 角色:协调者", "# 角色:判定者", "# 角色:协调者", "# 角色:判定者",
	})
	in(t, "second round", w.asked[4].Text(), "第 2 轮,共 3 轮", "没跑")
}

// TestRequestsAreCleaned: what a person types is made text.
func TestRequestsAreCleaned(t *testing.T) {
	w := newJob(t)
	long := strings.Repeat("a very long wish ", 1<<15)
	w.mustJob("  a\xffclock\n" + long)
	got := w.toldTo(clarifier)
	in(t, "clarifier", got, "a\uFFFDclock", strings.TrimSpace(long))
}

// TestSameWorkflowTwice: a Workflow holds no state of a run.
func TestSameWorkflowTwice(t *testing.T) {
	wf := Starter(StarterOptions{Ask: "a clock", Lang: English})
	done := make(chan error, 2)
	for range 2 {
		w := newJob(t)
		w.play[judge] = inOrder(notYet, notYet, achieved)
		go func() {
			_, err := wf.Run(context.WithoutCancel(t.Context()), w.start())
			done <- err
		}()
	}
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// TestRemarkWithoutAHuman: what is said at wake reaches the working agent also where nobody is there to answer.
func TestRemarkWithoutAHuman(t *testing.T) {
	w := newJob(t)
	w.mustJob("a clock")
	rt := w.start()
	rt.opts.Human = nil
	if _, err := Starter(StarterOptions{Ask: "in green", Lang: English}).Run(t.Context(), rt); err != nil {
		t.Fatal(err)
	}
	in(t, "the coordinator", w.toldTo(coordinator), "in green")
	if notes, err := w.store.PendingNotes(t.Context(), ProjectKey(w.dir)); err != nil || len(notes) != 0 {
		t.Errorf("%d remarks still wait, %v", len(notes), err)
	}
}
