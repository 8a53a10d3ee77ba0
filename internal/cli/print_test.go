package cli

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"flower"
	"flower/agent"
	"flower/document"
	"flower/internal/text"
	"flower/transcript"
)

var update = flag.Bool("update", false, "write the golden files")

// clock goes on by a second and a half with every look.
func clock() func() time.Time {
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	return func() time.Time {
		now = now.Add(1500 * time.Millisecond)
		return now
	}
}

func testPrinter(out *strings.Builder, lang text.Lang, width int, verbose bool) *printer {
	return newPrinter(text.NewPrinter(lang), printOptions{
		screen: newScreen(out, false), width: func() int { return width }, now: clock(), workspace: "/home/me/shop", verbose: verbose, prices: "~/.config/flower/prices.json",
		hint: func(q flower.Question) string { return fmt.Sprintf("(%d)", len(q.Options)) },
	})
}

func in(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}

func says(path, said string, turn int) flower.Event {
	m := transcript.Message{Role: transcript.RoleAssistant, Content: []transcript.Block{transcript.Text(said)}}
	m.Usage = transcript.Usage{Input: 200, CacheRead: 80_000, Output: 300}
	return event(agent.Answered{Path: path, Message: m, Turn: turn, CostUSD: 0.0123, Total: 0.5})
}

func event(ev agent.Event) flower.Event { return flower.AgentEvent{Label: "干活", Event: ev} }

// unpriced is an answer of a model whose price is not known.
func unpriced(path, model string) flower.Event {
	m := transcript.Message{Role: transcript.RoleAssistant, Model: model, Usage: transcript.Usage{Input: 1200, Output: 30}}
	return event(agent.Answered{Path: path, Message: m, Turn: 2, Unpriced: true})
}

func used(path, name string, input any, r agent.ToolResult, took time.Duration) flower.Event {
	return event(agent.ToolFinished{Path: path, ID: "x", Name: name, Input: in(input), Result: r, Elapsed: took})
}

// noon is about when that day is.
var noon = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

// day is a recorded run with everything that can happen in it.
func day() []flower.Event {
	question := flower.Question{ID: "q", Text: "Which of the two shops is meant, the one in the old town or the new one by the river?", Options: []string{"old town", "新店,在河边"}}
	goal := document.Goal{Statement: "it sells", Checks: []document.Check{
		{Text: "`./shop --help` exits with 0"}, {Text: "付款页面在手机上可用,字号不小于十六像素,按钮够大", Unverifiable: true, Why: "no phone here"},
	}}
	edit := agent.TextResult("done")
	edit.Display = "--- a\n+++ b\n@@ -1 +1,2 @@\n-old\n+new\n+more"
	read := agent.TextResult("     1\tx")
	read.Display = "/home/me/shop/main.go: lines 1-20 of 214 lines"
	return []flower.Event{
		flower.WorkflowStarted{Run: "20261129-120000-abcdef", Woke: 3, Steps: 3},
		flower.NotContinued{Reason: flower.WorkspaceDiffers, Detail: "/home/me/old-shop", Kept: "/home/me/shop/runs/lineage.json.bad-1"},
		flower.NotContinued{Reason: flower.SessionNotInStore, Step: flower.StepWork, Detail: "47395075-bec7-466e-80cd-f4d60b360235"},
		flower.NotContinued{Reason: flower.WrongType, Step: flower.StepWork},
		flower.StepSkipped{Name: flower.StepClarify, Index: 1, Total: 3},
		flower.StepStarted{Name: flower.StepGoal, Index: 2, Total: 3},
		flower.AttemptStarted{Step: flower.StepGoal, Label: flower.StepGoal, Agent: "goal setter", SessionID: "s1"},
		flower.Asked{Question: question},
		flower.Settled{Question: question, Answer: "新店,在河边", How: flower.Given},
		flower.Settled{Question: question, How: flower.TimedOut},
		flower.Settled{Question: question, How: flower.OverMax},
		flower.Settled{Question: question, How: flower.Nobody, Decision: true},
		flower.GoalSet{Path: "/home/me/shop/.flower/notes/目标.md", Goal: goal},
		flower.StepFinished{Name: flower.StepGoal, OK: true},
		flower.StepStarted{Name: flower.StepWork, Index: 3, Total: 3, Resumed: true, Woke: 3},
		flower.AttemptStarted{Step: flower.StepWork, Label: flower.StepWork, Agent: "coordinator", SessionID: "s2", Resumed: true},
		event(agent.Progress{Delta: agent.Retrying{Attempt: 1, Wait: 4 * time.Second, Err: errors.New("endpoint answered 529 overloaded_error: Overloaded")}}),
		event(agent.Progress{Path: "a1", Delta: agent.Waiting{Outage: agent.Offline, Since: noon, Limit: time.Hour, Err: errors.New("endpoint not reached: dial tcp: lookup api.example: no such host")}}),
		event(agent.Progress{Path: "a2", Delta: agent.Waiting{Outage: agent.Offline, Since: noon, Limit: time.Hour, Err: errors.New("the same"), Known: true}}),
		event(agent.Progress{Path: "a2", Delta: agent.OutageOver{Outage: agent.Offline, Waited: 2*time.Hour + 3*time.Minute}}),
		event(agent.Progress{Delta: agent.Waiting{Outage: agent.Portal, Since: noon, Err: errors.New(`endpoint answered 200: a web page: "Guest Wi-Fi"`)}}),
		event(agent.Progress{Delta: agent.OutageOver{Outage: agent.Portal, Waited: 15 * time.Second}}),
		event(agent.Progress{Delta: agent.Waiting{Outage: agent.Busy, Since: noon, Limit: time.Hour, Err: errors.New("endpoint answered 529 overloaded_error: Overloaded")}}),
		event(agent.Progress{Delta: agent.Waiting{Outage: agent.Busy, Since: noon, Limit: time.Hour, Until: noon.Add(20 * time.Hour), Err: errors.New("endpoint answered 429 rate_limit_error: limit reached")}}),
		event(agent.Progress{Delta: agent.OutageOver{Outage: agent.Busy, Waited: 20*time.Hour + 10*time.Second}}),
		event(agent.Progress{Delta: agent.TextDelta{Text: "never shown"}}),
		says("", "I hand out two parts.\n\n先做付款,再做目录。两个执行者同时做,互不碰对方的文件,这样最快。", 1),
		event(agent.Started{Path: "a1", Agent: "worker", Title: "the payment page"}),
		event(agent.Started{Path: "a2", Agent: "worker", Title: "the catalogue", Resumed: true, Report: transcript.Report{Damaged: 2}}),
		used("a1", "Read", map[string]any{"file_path": "/home/me/shop/main.go"}, read, time.Millisecond),
		used("a2", "Bash", map[string]any{"command": "go test ./...\n  -run  Shop"}, agent.ErrorResult("FAIL\n[exit code 1, ran 3.2s]"), 3200*time.Millisecond),
		used("a1", "Edit", map[string]any{"file_path": "/home/me/shop/main.go"}, edit, 150*time.Millisecond),
		used("a2", "Write", map[string]any{"file_path": "/elsewhere/a/very/long/path/that/does/not/fit/into/any/line/of/a/terminal.go", "content": "a\nb\n"}, agent.TextResult("written"), 0),
		used("a1", "Bash", map[string]any{"command": "rm -rf /"}, agent.DeniedResult("Refused: rm is not on the list, which is intended."), 0),
		used("a2", "Grep", map[string]any{"pattern": "结算", "path": "/home/me/shop/web"}, agent.TextResult("a\nb\n[2 matches in 1 file]"), 0),
		says("a2", "one\ntwo\nthree\nfour", 1),
		event(agent.Finished{Path: "a1", Result: agent.Result{Turns: 4, CostUSD: 1.5, Context: 31_000}}),
		event(agent.Finished{Path: "a2", Result: agent.Result{Turns: 1, Context: 950}, Err: errors.New("limit of 1 turns reached")}),
		used("", "TodoWrite", map[string]any{"todos": []map[string]string{
			{"content": "the payment page", "status": "completed", "activeForm": "x"}, {"content": "the catalogue", "status": "in_progress", "activeForm": "x"}, {"content": "目录", "status": "pending", "activeForm": "x"},
		}}, agent.TextResult("ok"), 0),
		flower.NoteTaken{Text: "also gift cards", InBrief: true},
		event(agent.Delivered{Notes: []agent.Note{{Text: "also gift cards"}}}),
		event(agent.Amended{Report: transcript.Report{Oversize: 3}}),
		event(agent.Amended{Path: "a2", Report: transcript.Report{Thinking: 1}}),
		event(agent.Repeating{Path: "a2", Name: "Bash", Times: 5}),
		flower.WindowNear{Label: flower.StepWork, Context: 131_000, Line: 150_000, Window: 200_000},
		flower.ModelDiffers{Asked: "claude-opus-5-5", Answered: "glm-5"},
		flower.HandingOver{Label: flower.StepWork, Context: 151_200},
		flower.HandedOver{Label: flower.StepWork, From: "s2", To: "s4", Path: "/home/me/shop/.flower/notes/交接-干活.md", Generation: 1},
		flower.HandingOver{Label: flower.StepWork, Cause: flower.Overflow},
		flower.HandingOver{Label: flower.StepWork, Cause: flower.Redefined},
		flower.HandedOver{Label: flower.StepWork, From: "s4", To: "s5", Path: "/home/me/shop/.flower/notes/交接-干活.md", Degraded: true, Generation: 2},
		event(agent.CacheMissed{Tokens: 80_200, ExtraUSD: 0.38, Age: 12 * time.Minute}),
		event(agent.CacheMissed{Path: "a2", Tokens: 950, Age: 30 * time.Second}),
		event(agent.BudgetLow{SpentUSD: 8.1, LimitUSD: 10}),
		event(agent.BudgetLow{Path: "a2", SpentUSD: 0.41, LimitUSD: 0.5, Agent: "oracle"}),
		event(agent.Wasted{Usage: transcript.Usage{Input: 80_000, Output: 1}, CostUSD: 0.016, Low: true}),
		event(agent.Wasted{Path: "a2", Usage: transcript.Usage{Input: 100, Output: 700}, CostUSD: 0.0144, Whole: true}),
		unpriced("", "a-model-nobody-knows"), unpriced("a2", "a-model-nobody-knows"), unpriced("a2", "another"),
		flower.Interrupted{Label: flower.StepWork},
		flower.AttemptStarted{Step: flower.StepWork, Label: flower.JudgeLabel(flower.StepWork, 1), Agent: "judge", SessionID: "s3"},
		flower.CheckStarted{Command: "./shop list"},
		flower.CheckFinished{Evidence: flower.Evidence{ExitCode: 1, Output: "a\nb\nc\nd\ne\nno such thing"}},
		flower.CheckStarted{Command: "go test ./..."},
		flower.CheckFinished{Evidence: flower.Evidence{}},
		flower.CheckStarted{Command: "./shop serve"},
		flower.CheckFinished{Evidence: flower.Evidence{ExitCode: -1, Problem: "stopped after 5m0s"}},
		flower.Judged{Step: flower.StepWork, Round: 1, Rounds: 3, Verdict: document.Verdict{State: document.NotYet, Reason: "The catalogue is empty.", Failed: []string{"`./shop list` prints at least one thing"}}},
		flower.AttemptStarted{Step: flower.StepWork, Label: flower.StepWork + "#round2", Agent: "coordinator", SessionID: "s2", Resumed: true},
		flower.Judged{Step: flower.StepWork, Round: 2, Rounds: 3, Verdict: document.Verdict{State: document.Achieved, Reason: "It sells."}},
		flower.RoomChanged{Path: "/home/me/shop/runs", RoomChange: agent.RoomChange{Full: true, Free: 1_234_567, Need: agent.DefaultRoom}},
		flower.RoomChanged{Path: "/home/me/shop/runs", RoomChange: agent.RoomChange{Free: 1 << 32, Need: agent.DefaultRoom}},
		flower.RoomChanged{Path: "/home/me/shop/runs", RoomChange: agent.RoomChange{Full: true, Free: 1 << 32, Need: agent.DefaultRoom, Err: errors.New("disk quota exceeded")}},
		flower.BooksFailed{Path: "/home/me/shop/runs/manifest.json", Err: errors.New("no space left on device")},
		flower.StepFinished{Name: flower.StepWork, OK: false, Reason: "gone wrong"},
		flower.StepStarted{Name: "eine eigene Stufe mit einem sehr langen Namen", Index: 10, Total: 12},
		flower.AttemptStarted{Step: "x", Label: "x#retry1"},
	}
}

func TestPrinter(t *testing.T) {
	for _, lang := range text.Languages() {
		for _, width := range []int{80, 40} {
			name := fmt.Sprintf("print-%s-%d.golden", lang, width)
			t.Run(name, func(t *testing.T) {
				var out strings.Builder
				p := testPrinter(&out, lang, width, false)
				p.Wake("~/explore/test-ide", flower.Wake{Waking: true, Checks: 15, Woke: 2}, 80_200)
				for _, ev := range day() {
					p.Event(ev)
				}
				noMissing(t, out.String())
				for i, line := range strings.Split(out.String(), "\n") {
					if w := text.Width(line); i > 0 && w > width { // the first line is one line whatever the width
						t.Errorf("%d cells: %s", w, line)
					}
				}
				golden(t, name, out.String())
			})
		}
	}
}

// A goal and a verdict are told once: in their own form, or, where that does not hold all, in the words of the model.
func TestDocumentsAreToldOnce(t *testing.T) {
	goalAttempt := flower.AttemptStarted{Step: flower.StepGoal, Label: flower.StepGoal}
	judgeAttempt := flower.AttemptStarted{Step: flower.StepWork, Label: flower.JudgeLabel(flower.StepWork, 1)}
	set := flower.GoalSet{Goal: document.Goal{Statement: "It sells.", Checks: []document.Check{{Text: "it runs"}}}}
	judged := func(v document.Verdict) flower.Judged {
		return flower.Judged{Step: flower.StepWork, Round: 1, Rounds: 3, Verdict: v}
	}
	for name, tt := range map[string]struct {
		events  []flower.Event
		verbose bool
		want    bool // the words of the model are shown
	}{
		"a goal":                 {[]flower.Event{goalAttempt, says("", "MODEL", 1), set}, false, false},
		"a goal, verbose":        {[]flower.Event{goalAttempt, says("", "MODEL", 1), set}, true, true},
		"not accepted":           {[]flower.Event{goalAttempt, says("", "MODEL", 1), goalAttempt}, false, true},
		"the step fails":         {[]flower.Event{goalAttempt, says("", "MODEL", 1), flower.StepFinished{Name: flower.StepGoal}}, false, true},
		"a verdict":              {[]flower.Event{judgeAttempt, says("", "MODEL", 1), judged(document.Verdict{State: document.NotYet, Reason: "r"})}, false, false},
		"a verdict with nothing": {[]flower.Event{judgeAttempt, says("", "MODEL", 1), judged(document.Verdict{State: document.NotYet})}, false, true},
		"an unclear one":         {[]flower.Event{judgeAttempt, says("", "MODEL", 1), judged(document.Verdict{State: document.Unclear, Reason: "r"})}, false, true},
		"work":                   {[]flower.Event{flower.AttemptStarted{Step: flower.StepWork, Label: flower.StepWork}, says("", "MODEL", 1)}, false, true},
	} {
		var out strings.Builder
		p := testPrinter(&out, text.English, 80, tt.verbose)
		for _, ev := range tt.events {
			p.Event(ev)
		}
		if n := strings.Count(out.String(), "MODEL"); n > 1 || (n == 1) != tt.want {
			t.Errorf("%s: the words of the model are shown %d times in\n%s", name, n, out.String())
		}
	}
}

// Where the person is asked at an interrupt, nothing else says that there was one.
func TestInterruptIsToldOnce(t *testing.T) {
	for asks, want := range map[bool]string{false: "! interrupted; the session is kept\n", true: ""} {
		var out strings.Builder
		p := testPrinter(&out, text.English, 80, false)
		p.opts.asks = asks
		p.Event(flower.Interrupted{})
		if out.String() != want {
			t.Errorf("asks=%v: %q, want %q", asks, out.String(), want)
		}
	}
}

// What a call did and how it ended share the line: neither is cut for room that the other does not need.
func TestCallsShareTheLine(t *testing.T) {
	long := strings.Repeat("long ", 20)
	for want, ev := range map[string]flower.Event{
		"x Write a.txt  (not allowed: use tabs)\n":                                           used("", "Write", map[string]any{"file_path": "a.txt"}, agent.DeniedResult("The person did not allow this call, and it was not made. They said: use tabs"), 0),
		"x Write a.txt  (not allowed: no answer within 5m)\n":                                used("", "Write", map[string]any{"file_path": "a.txt"}, agent.DeniedResult("Not allowed: the person was asked and did not answer within 5m0s, so the call was not made."), 0),
		"x Bash rm -rf build  (refused: only commands that read)\n":                          used("", "Bash", map[string]any{"command": "rm -rf build"}, agent.DeniedResult(`Refused: "rm" is not on the list of commands, which is intended.`), 0),
		"* Bash long long long long long long long long long long long long lo...  (1.5s)\n": used("", "Bash", map[string]any{"command": long}, agent.TextResult("[exit code 0, ran 1.5s]"), 0),
		"! Bash long long long long long long l...  (x x x x x x x x x x x x x x x x x...\n": used("", "Bash", map[string]any{"command": long}, agent.ErrorResult(strings.Repeat("x ", 60)), 0),
		"* Glob *.go  (3 matches)\n":                                                         used("", "Glob", map[string]any{"pattern": "*.go"}, agent.TextResult("[3 matches]"), 0),
		"* Grep x  (no match · 0.2s)\n":                                                      used("", "Grep", map[string]any{"pattern": "x"}, agent.TextResult(`[no match for "x" in .: 3 files searched]`), 200*time.Millisecond),
		"* Grep x  (2 matches · 1 file)\n":                                                   used("", "Grep", map[string]any{"pattern": "x"}, agent.TextResult("[2 matches in 1 file; 3 files searched]"), 0),
		"! Bash false  (exit code 1 · 12ms)\n":                                               used("", "Bash", map[string]any{"command": "false"}, agent.ErrorResult("[exit code 1, ran 12ms]"), 0),
		"! Bash sleep 9  (exit code 143 · SIGTERM · 1.1s)\n":                                 used("", "Bash", map[string]any{"command": "sleep 9"}, agent.ErrorResult("[exit code 143, ended by SIGTERM, ran 1.1s]"), 0),
		"! Bash sleep 9  (stopped after 5m0s)\n":                                             used("", "Bash", map[string]any{"command": "sleep 9"}, agent.ErrorResult("[stopped after 5m0s]"), 0),
	} {
		var out strings.Builder
		p := testPrinter(&out, text.English, 80, false)
		p.Event(ev)
		if out.String() != want {
			t.Errorf("got  %swant %s", out.String(), want)
		}
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := "testdata/" + name
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (go test -update writes it anew):\n%s", path, got)
	}
}

// The forms that people know from before are exact.
func TestExactLines(t *testing.T) {
	var out strings.Builder
	p := testPrinter(&out, "zh", 80, false)
	p.Wake("~/explore/test-ide", flower.Wake{Waking: true, Checks: 15, Woke: 2}, 80_200)
	p.Event(flower.StepStarted{Name: flower.StepWork, Index: 3, Total: 3, Resumed: true, Woke: 3})
	want := "<- 在 ~/explore/test-ide 接上上次  需求已确认 · 目标 15 条 · 干活上下文 80.2K · 第 3 次唤醒\n" +
		"\n== 干活 ==============================  3/3  <- 接上次 · 第 3 次唤醒\n"
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
	for id, want := range map[string]string{
		"prompt.wake": "接着上次? 直接回车 = 接着做;也可以说点新的;/new = 重开一件事(Ctrl-C 退出)",
		"prompt.new":  "要做什么? 一句话就够,回车开始(Ctrl-C 退出)",
	} {
		if got := p.Say(id); got != want {
			t.Errorf("%s is %q, want %q", id, got, want)
		}
	}
	// What is not known is left out.
	out.Reset()
	p.Wake("/x", flower.Wake{Woke: 1}, 0)
	if got, want := out.String(), "<- 在 /x 接上上次  第 2 次唤醒\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestVerbose(t *testing.T) {
	var out strings.Builder
	p := testPrinter(&out, text.English, 80, true)
	for _, ev := range []flower.Event{
		flower.AttemptStarted{Step: "x", Label: "x", Agent: "worker", SessionID: "the-session"},
		event(agent.ToolStarted{Name: "Bash", Input: in(map[string]any{"command": "sleep 100"})}),
		event(agent.Answered{Message: transcript.Message{Content: []transcript.Block{transcript.Thinking("I wonder.", "sig")}}}),
		used("", "Bash", map[string]any{"command": "ls"}, agent.TextResult("a\nb\n[exit code 0]"), 0),
	} {
		p.Event(ev)
	}
	for _, want := range []string{". session the-session (worker)\n", "  Bash sleep 100 ...\n", "~ I wonder.\n", "    a\n    b\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
}

// Models, tools and files cannot control the terminal or make flower's own lines, and half a secret is not shown either.
func TestHostileTexts(t *testing.T) {
	const secret = "a-very-secret-key-of-forty-characters-00"
	var out strings.Builder
	s := newScreen(&out, true)
	s.hide(func(t string) string { return strings.ReplaceAll(t, secret, "[redacted]") })
	p := newPrinter(text.NewPrinter(text.English), printOptions{screen: s, width: func() int { return 40 }, now: clock()})
	evil := "\x1b[2J\x1b[8mhidden \x1b]0;t\x07" + secret[:20] + "\x1b[1m" + secret[20:] + "\rback"
	p.Event(says("", evil, 1))
	p.Event(used("", "Bash", map[string]any{"command": "curl " + secret + "\n== done"}, agent.ErrorResult(evil), 0))
	p.Event(flower.Asked{Question: flower.Question{Text: evil, Options: []string{evil}}})
	p.Event(event(agent.Started{Path: "p", Agent: "\x1b[31mworker", Title: evil}))
	p.Event(flower.StepStarted{Name: "a\x1b[2Kb", Index: 1, Total: 1})
	got := out.String()
	for _, bad := range []string{"\x1b[2J", "\x1b]", "\r", "\x1b[2K", secret[:10], secret[30:], "\n== done"} {
		if strings.Contains(got, bad) {
			t.Errorf("%q is in %q", bad, got)
		}
	}
	for line := range strings.Lines(got) {
		line = strings.TrimSuffix(line, "\n")
		if strings.Contains(line, "\x1b") && !strings.HasSuffix(line, "\x1b[0m") {
			t.Errorf("a style goes on behind %q", line)
		}
	}
}

func TestScreenWriter(t *testing.T) {
	var out strings.Builder
	s := newScreen(&out, false)
	for _, piece := range []string{"one \x1b[", "2Jtwo\nthr", "ee\n"} {
		if n, err := s.Write([]byte(piece)); n != len(piece) || err != nil {
			t.Fatalf("wrote %d, %v", n, err)
		}
	}
	if got, want := out.String(), "one two\nthree\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
