package demo

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"flower"
	"flower/agent"
	"flower/internal/proc"
	"flower/internal/workbench"
	"flower/messages"
	"flower/sqlite"
	"flower/tools"
)

// TestJobWithoutACommandLine runs the demo's job with the library's parts in place of the command: what the demo shows
// is what the library does.
func TestJobWithoutACommandLine(t *testing.T) {
	for lang := range spoken {
		t.Run(lang, func(t *testing.T) {
			var out strings.Builder
			err := Run(t.Context(), Options{
				Out: &out, Lang: lang, Pace: -1, Environ: os.Environ(),
				Flower: func(ctx context.Context, args, env []string, stdin io.Reader, _ io.Writer) int {
					return job(ctx, t, args, env, stdin)
				},
			})
			if err != nil {
				t.Fatalf("%v\n%s", err, out.String())
			}
			for _, want := range []string{"\n: 9\n", "1/3", "2/3", "3/3"} {
				if !strings.Contains(out.String(), want) {
					t.Errorf("the demo does not say %q:\n%s", want, out.String())
				}
			}
		})
	}
}

// job is flower go in small.
func job(ctx context.Context, t *testing.T, args, env []string, stdin io.Reader) int {
	value := func(flag string) string {
		for i, a := range args {
			if a == flag {
				return args[i+1]
			}
		}
		return ""
	}
	vars := map[string]string{}
	for _, e := range env {
		k, v, _ := strings.Cut(e, "=")
		vars[k] = v
	}
	dir, err := flower.ResolveWorkspace(value("-w"))
	fail := func(err error) int { t.Error(err); return 1 }
	if err != nil {
		return fail(err)
	}
	store, err := sqlite.Open(ctx, filepath.Join(value("-r"), "sessions.db"), sqlite.Options{Workspace: dir})
	if err != nil {
		return fail(err)
	}
	model, err := messages.New(messages.Options{BaseURL: vars["ANTHROPIC_BASE_URL"], APIKey: vars["ANTHROPIC_API_KEY"]})
	if err != nil {
		return fail(err)
	}
	lang := flower.Lang(value("--lang"))
	var human *flower.Human
	lines, err := io.ReadAll(stdin)
	if err != nil {
		return fail(err)
	}
	answers := strings.Split(strings.TrimSpace(string(lines)), "\n")
	human, err = flower.NewHuman(flower.HumanOptions{Workspace: dir, Store: store, Lang: lang, Timeout: time.Minute, Observe: func(ev flower.Event) {
		if asked, ok := ev.(flower.Asked); ok {
			human.Answer(asked.Question.ID, answers[0])
			answers = answers[1:]
		}
	}})
	if err != nil {
		return fail(err)
	}
	bench := workbench.Open(dir)
	toolbox, err := tools.New(tools.Options{
		Workspace: dir, Bench: bench, Environ: proc.ScrubEnv(env), Ask: human.Ask, Inbox: human.Inbox,
	})
	if err != nil {
		return fail(err)
	}
	engine, err := agent.New(agent.Options{
		Model: model, Log: store, Toolbox: toolbox, ModelName: messages.DefaultModel, CWD: dir,
	})
	if err != nil {
		return fail(err)
	}
	var verdicts []string
	rt, err := flower.NewRuntime(flower.RuntimeOptions{
		Workspace: dir, RunDir: value("-r"), Engine: engine, Store: store, Human: human, Lang: lang,
		Observe: func(ev flower.Event) {
			if j, ok := ev.(flower.Judged); ok {
				verdicts = append(verdicts, j.Verdict.State.String())
			}
		},
	})
	if err != nil {
		return fail(err)
	}
	defer func() { _ = rt.Close() }()
	outcome, err := flower.Starter(flower.StarterOptions{Ask: args[len(args)-1], JudgeCanRun: true, Lang: lang}).Run(ctx, rt)
	if err != nil {
		return fail(err)
	}
	if got := strings.Join(verdicts, " "); got != "not_yet achieved" {
		t.Errorf("verdicts: %s", got)
	}
	var labels []string
	for _, r := range outcome.Results {
		labels = append(labels, r.Step)
		if r.SessionID == "" || r.Turns == 0 || r.Usage.Output == 0 {
			t.Errorf("row of %s: %+v", r.Step, r)
		}
	}
	if got := strings.Join(labels, " "); got != "确认需求 设定目标 干活 干活·判定#1 干活#round2 干活·判定#2" {
		t.Errorf("rows: %s", got)
	}
	if outcome.Results[2].SessionID != outcome.Results[4].SessionID {
		t.Error("the second round ran in another session")
	}
	return 0
}
