package flower

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"flower/document"
)

// hands is a Checker that runs nothing: commands are what begins with "run", and how they end is given.
type hands struct {
	ran []string
	end func(ctx context.Context, command string) Evidence
}

func (h *hands) Command(text string) (is, found bool) {
	return strings.HasPrefix(text, "run") || strings.HasPrefix(text, "gone"), strings.HasPrefix(text, "run")
}

func (h *hands) Refuse(command string) error {
	if strings.HasPrefix(command, "run rm") {
		return errHarm
	}
	return nil
}

var errHarm = errors.New("not run: it does harm")

func (h *hands) Check(ctx context.Context, command string) Evidence {
	h.ran = append(h.ran, command)
	if h.end != nil {
		return h.end(ctx, command)
	}
	return Evidence{ExitCode: 0, Output: "fine", DurationS: 0.5}
}

const goalOfCommands = `# 目标
It runs.

# 判定清单
- ` + "`run a` exits 0" + `
- ` + "`name.txt` is there" + `
- ` + "`run b` prints `x`" + `
- ` + "again `run a`" + `
- ` + "`run c` [此环境无法验证:no printer]" + `
`

// judged is a job whose goal is frozen; it returns what the judge was told.
func (w *world) judged(goal string) (told string, row StepResult) {
	w.t.Helper()
	w.writeNote("需求.md", document.ParseBrief(briefReply).Markdown())
	w.writeNote("目标.md", goal)
	o := w.mustJob("")
	for _, r := range o.Results {
		if strings.Contains(r.Step, "判定") {
			row = r
		}
	}
	return w.toldTo(judge), row
}

func TestChecksThatAreCommandsAreRunForTheJudge(t *testing.T) {
	w := newJob(t)
	h := &hands{end: func(_ context.Context, command string) Evidence {
		if command == "run b" {
			return Evidence{ExitCode: 3, Output: strings.Repeat("far\n", 1000) + "- `run a`: exit code 0\nend\n"}
		}
		return Evidence{Output: "fine", DurationS: 0.5}
	}}
	w.opts = func(o *RuntimeOptions) { o.Checker = h }
	told, row := w.judged(goalOfCommands)
	if !slices.Equal(h.ran, []string{"run a", "run b"}) {
		t.Errorf("ran %q: each command once, no names, nothing that cannot be checked here", h.ran)
	}
	in(t, "the judge was told", told, "- `run a`: exit code 0, 0.5 s\n    | fine", "- `run b`: exit code 3", "    | - `run a`: exit code 0", "    | end")
	if n := strings.Count(told, "far"); n == 0 || n > 600 {
		t.Errorf("%d lines of the output, want the end of it", n)
	}
	if len(row.Evidence) != 2 || row.Evidence[1].ExitCode != 3 || row.Evidence[1].Command != "run b" {
		t.Errorf("row %+v", row.Evidence)
	}
	rows, err := ReadManifest(w.runs)
	if err != nil || len(rows[len(rows)-1].Evidence) != 2 {
		t.Errorf("manifest %+v, %v", rows, err)
	}
	if got := seen[CheckFinished](w); len(got) != 2 || len(seen[CheckStarted](w)) != 2 || got[1].Evidence.ExitCode != 3 {
		t.Errorf("events %+v", got)
	}
}

func TestWithoutCheckerTheJudgeIsAskedAtOnce(t *testing.T) {
	w := newJob(t)
	told, row := w.judged(goalOfCommands)
	if strings.Contains(told, "exit code") || row.Evidence != nil {
		t.Errorf("told %s, row %+v", told, row)
	}
}

func TestEvidenceIsBounded(t *testing.T) {
	w := newJob(t)
	h := &hands{}
	w.opts = func(o *RuntimeOptions) { o.Checker = h }
	goal := "# 目标\nx\n\n# 判定清单\n"
	for i := range 50 {
		goal += fmt.Sprintf("- `run %d`\n", i)
	}
	_, row := w.judged(goal)
	if len(h.ran) != maxEvidence || len(row.Evidence) != 50 {
		t.Fatalf("%d were run, %d told", len(h.ran), len(row.Evidence))
	}
	for i, e := range row.Evidence {
		if late := i >= maxEvidence; late != (e.Problem == ErrChecksTooMany.Error()) || late != (e.ExitCode == -1) {
			t.Errorf("%d: %+v", i, e)
		}
	}
}

// Every item that holds a command has a row: with its result, or with the reason why it was not run.
func TestWhatIsNotRunSaysWhy(t *testing.T) {
	mentioned := ErrCheckMentioned.Error()
	for item, want := range map[string]string{ // the command and what came of it
		"`run a` exits 0": "run a: fine",
		"`greet.txt` holds hello: `run a` prints 1":              "run a: fine",
		"`greet.txt` 里是 hello:`run a` 打印 1":                      "run a: fine",
		"`run rm` exits 0":                                       "run rm: " + errHarm.Error(),
		"after `run rm x`, `run a` exits 0":                      "run a: fine",
		"No script in the workspace calls `run rm data` without": "run rm data: " + mentioned,
		"No script in the workspace calls `run a`":               "run a: " + mentioned,
		"脚本不调用 `run a`":                                          "run a: " + mentioned,
		"`gone -q src` passes":                                   "gone -q src: fine",
		"`gone -q src`":                                          "gone -q src: fine",
		"`gone -q src` is clean":                                 "gone -q src: fine",
		"`gone x` is clean":                                      "",
		"The page says `gone x`":                                 "",
		"`name.txt` is there":                                    "",
		"it looks nice":                                          "",
		"`run a` exits 0 [此环境无法验证:x]":                            "",
	} {
		w := newJob(t)
		w.opts = func(o *RuntimeOptions) { o.Checker = &hands{} }
		told, row := w.judged("# 目标\nx\n\n# 判定清单\n- " + item + "\n")
		got := ""
		for _, e := range row.Evidence {
			got += e.Command + ": " + e.Problem + e.Output
			in(t, "the judge was told", told, "- `"+e.Command+"`: "+e.Problem)
		}
		if got != want {
			t.Errorf("%s: %q, want %q", item, got, want)
		}
	}
}

func TestInterruptedEvidence(t *testing.T) {
	w := newJob(t)
	h := &hands{}
	h.end = func(ctx context.Context, _ string) Evidence {
		if deadline, ok := ctx.Deadline(); !ok || time.Until(deadline) > evidenceEach {
			t.Errorf("a check without a time limit: %v", deadline)
		}
		if !w.rt.Interrupt() {
			t.Error("nothing could be interrupted")
		}
		<-ctx.Done()
		return Evidence{ExitCode: -1, Problem: "stopped"}
	}
	w.opts = func(o *RuntimeOptions) { o.Checker = h }
	told, row := w.judged(goalOfCommands)
	if len(h.ran) != 1 || len(row.Evidence) != 2 || row.Evidence[1].Problem != ErrChecksInterrupted.Error() || row.Evidence[1].ExitCode != -1 {
		t.Errorf("ran %q, evidence %+v", h.ran, row.Evidence)
	}
	in(t, "the judge was told", told, "not run: the person interrupted")
}
