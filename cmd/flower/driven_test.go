package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"flower/modeltest"
)

// kill ends the flower as a power failure would.
func (d *driven) kill() {
	d.t.Helper()
	if err := d.cmd.Process.Kill(); err != nil {
		d.t.Fatal(err)
	}
	_ = d.cmd.Wait() // it was killed
}

// order is a line of input about a question.
func orderAbout(question map[string]any, rest string) string {
	id, _ := json.Marshal(question["id"])
	return fmt.Sprintf(`{"type":"answer","id":%s,%s}`, id, rest)
}

// refused waits for the error about line n, which says why and what to do.
func (d *driven) refused(n int, why string) {
	d.t.Helper()
	got := d.until("error")
	if got["line"] != float64(n) || !strings.Contains(got["message"].(string), why) || got["exit_code"] != nil || got["hint"] == "" {
		d.t.Errorf("line %d, want %q: %v", n, why, got)
	}
}

// TestDrivenAside asks beside the work, sees how things stand, and tries what makes no sense then.
func TestDrivenAside(t *testing.T) {
	server := modeltest.Start(t, modeltest.Options{Player: curious(), BindThinking: true})
	d := startDriven(t, server, "--asks", "0", "x")
	d.until("goal")
	d.until("agent_started")
	d.say(`{"type":"aside","text":"what is it doing","id":"mine"}`)
	if got := d.until("aside_started"); got["id"] != "mine" || got["text"] != "what is it doing" {
		t.Errorf("the receipt is %v", got)
	}
	if got := d.until("aside_finished"); got["id"] != "mine" || got["ok"] != true || got["answer"] != "It thinks about two files." || got["cost_usd"] == 0.0 {
		t.Errorf("the answer is %v", got)
	}
	d.say(`{"type":"status"}`)
	state := d.until("status")["state"].(map[string]any)
	running, _ := state["running"].(map[string]any)
	asides, _ := state["asides"].(map[string]any)
	if running["pid"] != float64(d.cmd.Process.Pid) || asides["questions"] != 1.0 {
		t.Errorf("the state is %v", state)
	}
	d.say(`{"type":"new"}`)
	d.refused(3, "a run is at work")
	d.say(`{"type":"aside","text":"  "}`)
	d.refused(4, "an empty text")
	d.say(`{"type":"interrupt","text":"be quick"}`)
	d.until("remark")
	end := d.end()
	if end["ok"] != true {
		t.Errorf("the end is %v", end)
	}
	for _, r := range server.Requests() {
		if r.Role() != modeltest.Oracle && r.Says("what is it doing") {
			t.Errorf("the side question has reached the %s", r.Role())
		}
	}
	d = driveIn(t, server, d.cmd.Dir, "status")
	var now struct {
		Totals, Asides struct {
			Cost      float64 `json:"cost_usd"`
			Questions int
		}
	}
	if err := json.NewDecoder(d.out).Decode(&now); err != nil {
		t.Fatal(err)
	}
	_ = d.cmd.Wait() // what it wrote was read
	if sum := end["cost_usd"].(float64) + now.Asides.Cost; now.Asides.Questions != 1 || now.Asides.Cost <= 0 || now.Totals.Cost < sum-1e-9 || now.Totals.Cost > sum+1e-9 {
		t.Errorf("%+v beside %v of the work", now, end["cost_usd"])
	}
}

// TestDrivenNew begins something else at wake.
func TestDrivenNew(t *testing.T) {
	server := modeltest.Start(t, modeltest.Options{Player: job(judgeByFiles), BindThinking: true})
	d := startDriven(t, server, "--timeout", "0", "x")
	if end := d.end(); end["ok"] != true {
		t.Fatalf("the end is %v", end)
	}
	d = driveIn(t, server, d.cmd.Dir, "--timeout", "0")
	if what := d.until("prompt")["for"]; what != "wake" {
		t.Errorf("asked for %v", what)
	}
	d.say(`{"type":"aside","text":"why"}`)
	d.refused(1, "nothing is at work")
	d.say(`{"type":"status"}`)
	d.until("status")
	d.say(`{"type":"new","text":"another greeting"}`)
	if got := d.until("notice"); got["code"] != "archived" {
		t.Errorf("got %v", got)
	}
	if end := d.end(); end["ok"] != true {
		t.Errorf("the end is %v", end)
	}
	if !strings.Contains(d.stream.String(), `"type":"step_started"`) || strings.Contains(d.stream.String(), `"resumed":true`) {
		t.Error("it did not begin anew")
	}
}

// TestDrivenPermission asks about a call: what allows it, what does not, and that it is asked again after a kill.
func TestDrivenPermission(t *testing.T) {
	for _, test := range []struct {
		name, answer string
		args         []string
		how          string
		allowed      bool
		told         string // to the model
	}{
		{"by option", `"option":1`, nil, "answered", true, "ran"},
		{"by word", `"text":"YES"`, nil, "answered", true, "ran"},
		{"refused", `"option":2`, nil, "skipped", false, "did not allow"},
		{"declined", `"decline":true`, nil, "skipped", false, "did not allow"},
		{"empty", `"text":""`, nil, "skipped", false, "did not allow"},
		{"several", `"options":[1,2]`, nil, "answered", false, "did not allow"},
		{"with words", `"text":"yes, later"`, nil, "answered", false, "They said: yes, later"},
		{"the input ends", ``, nil, "nobody", false, "nobody is there"},
		{"no time", `-`, []string{"--timeout", "1"}, "timeout", false, "did not answer within 1s"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			server := modeltest.Start(t, modeltest.Options{Player: one(), BindThinking: true})
			d := startDriven(t, server, append([]string{"once", "-t", "Bash", "run it"}, test.args...)...)
			q := d.until("question")
			call, _ := q["permission"].(map[string]any)
			if in, _ := call["input"].(map[string]any); call["tool"] != "Bash" || in["command"] != "touch ran.txt" || q["timeout_s"] == 0.0 {
				t.Errorf("asked %v", q)
			}
			switch test.answer {
			case "":
				_ = d.in.Close() // nobody answers
			case "-":
			default:
				d.say(orderAbout(q, test.answer))
			}
			if a := d.until("answer"); a["how"] != test.how || a["allowed"] != test.allowed || a["id"] != q["id"] {
				t.Errorf("the answer is %v", a)
			}
			if f := d.until("tool_finished"); f["denied"] == test.allowed || !test.allowed && !strings.Contains(f["output"].(string), test.told) {
				t.Errorf("the call ended as %v", f)
			}
			if end := d.end(); end["ok"] != true {
				t.Errorf("the end is %v", end)
			}
			if _, err := os.Stat(filepath.Join(d.cmd.Dir, "ran.txt")); (err == nil) != test.allowed {
				t.Errorf("the file: %v", err)
			}
		})
	}
}

// TestDrivenPermissionAfterAKill kills flower while it asks: the call has not run, and is asked about under the same id.
func TestDrivenPermissionAfterAKill(t *testing.T) {
	server := modeltest.Start(t, modeltest.Options{Player: one(), BindThinking: true})
	d := startDriven(t, server, "once", "-t", "Bash", "run it")
	session := d.until("agent_started")["session_id"].(string)
	first := d.until("question")
	d.kill()
	ran := filepath.Join(d.cmd.Dir, "ran.txt")
	if _, err := os.Stat(ran); err == nil {
		t.Error("it has run")
	}
	d = driveIn(t, server, d.cmd.Dir, "once", "-t", "Bash", "--resume", session)
	d.say(orderAbout(first, `"option":1`)) // before it is asked: nobody waits for it
	d.refused(1, "no question with this id waits")
	again := d.until("question")
	if again["id"] != first["id"] {
		t.Errorf("asked as %v, then as %v", first["id"], again["id"])
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("it has run before it was allowed")
	}
	d.say(orderAbout(again, `"option":1`))
	if end := d.end(); end["ok"] != true {
		t.Errorf("the end is %v", end)
	}
	if _, err := os.Stat(ran); err != nil {
		t.Error(err)
	}
}

// TestDrivenQuestionAfterAKill kills flower in a question, twice: it is asked again as the same question.
func TestDrivenQuestionAfterAKill(t *testing.T) {
	server := modeltest.Start(t, modeltest.Options{Player: job(judgeByFiles), BindThinking: true})
	d := startDriven(t, server, "x")
	first := d.until("question")
	for range 2 {
		d.kill()
		d = driveIn(t, server, d.cmd.Dir, "--timeout", "60")
		d.until("prompt")
		d.say(`{"type":"request","text":""}`)
		if again := d.until("question"); again["id"] != first["id"] || again["text"] != first["text"] {
			t.Errorf("asked %v, then %v", first, again)
		}
	}
	d.say(orderAbout(first, `"options":[2,1]`))
	if a := d.until("answer"); a["text"] != "German\nEnglish" {
		t.Errorf("the answer is %v", a)
	}
	d.say(orderAbout(first, `"option":1`))
	d.refused(3, "does not wait any more: answered")
	if end := d.end(); end["ok"] != true {
		t.Errorf("the end is %v", end)
	}
}

// TestDrivenInputEnds closes the input in the middle of a question: the agent decides, and the run goes on.
func TestDrivenInputEnds(t *testing.T) {
	server := modeltest.Start(t, modeltest.Options{Player: job(judgeByFiles), BindThinking: true})
	d := startDriven(t, server, "x")
	d.until("question")
	if _, err := d.in.Write([]byte(`{"type":"answer","id":"`)); err != nil { // a line that is cut off
		t.Fatal(err)
	}
	_ = d.in.Close() // that is the test
	if a := d.until("answer"); a["how"] != "nobody" || a["text"] != "" {
		t.Errorf("the answer is %v", a)
	}
	if end := d.end(); end["ok"] != true {
		t.Errorf("the end is %v", end)
	}
	if !regexp.MustCompile(`"type":"error",.*"line":1,"input":"\{\\"type\\":\\"answer\\",\\"id\\":\\""`).MatchString(d.stream.String()) {
		t.Errorf("the line that was cut off is not told:\n%s", &d.stream)
	}
}

// TestDriverDies closes both ends in the middle of the work: the run ends with its code, and goes on later.
func TestDriverDies(t *testing.T) {
	for _, at := range []string{"start", "question", "brief", "tool_started", "verdict"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			server := modeltest.Start(t, modeltest.Options{Player: job(judgeByFiles), BindThinking: true})
			args := []string{"x", "--asks", "0"}
			if at == "question" {
				args = args[:1] // it waits
			}
			d := startDriven(t, server, args...)
			d.until(at)
			_, _ = d.in.Close(), d.out.Close() // it is dead
			_ = d.cmd.Wait()                   // the code says how
			if code := d.cmd.ProcessState.ExitCode(); code != 141 {
				t.Fatalf("exit code %d", code)
			}
			d = driveIn(t, server, d.cmd.Dir, "--timeout", "0", "x")
			if end := d.end(); end["ok"] != true || end["verdict"] != "achieved" {
				t.Errorf("the end is %v", end)
			}
		})
	}
}

// TestDrivenNonsense says everything that is wrong, in a question, and answers it after that.
func TestDrivenNonsense(t *testing.T) {
	server := modeltest.Start(t, modeltest.Options{Player: job(judgeByFiles), BindThinking: true})
	d := startDriven(t, server, "x")
	q := d.until("question")
	n := 0
	for _, test := range []struct{ line, why string }{
		{"\uFEFF" + `{"type":"remark","text":"with a mark before it"}` + "\r", ""},
		{"blue", "no JSON"},
		{"\xff\xfe", "UTF-8"},
		{"\x00", "no JSON"},
		{strings.Repeat("[", 100_000), "no JSON"},
		{`{"type":"remark","text":` + strings.Repeat(`{"a":`, 100_000), "no JSON"},
		{`{"type":"answer","id":"` + q["id"].(string) + `","id":"x","text":"1"}`, "twice"},
		{`{"type":"remark","text":"` + strings.Repeat("a", 300<<10) + `"}`, "longer than"},
		{strings.Repeat("c", 4<<20), "longer than"},
		{`{"type":"answer","id":"` + q["id"].(string) + `x","option":1}`, "no question with this id"},
		{orderAbout(q, `"option":3`), "the question has 2"},
		{orderAbout(q, `"options":[1,3]`), "the question has 2"},
		{`{"type":"quit"}`, "is not known"},
		{`{"type":"remark","text":"\ud800"}` + "\r", ""},
	} {
		d.say(test.line)
		if n++; test.why == "" {
			d.until("remark")
			continue
		}
		d.refused(n, test.why)
	}
	d.say(orderAbout(q, `"text":"2"`) + "\r")
	if a := d.until("answer"); a["text"] != "German" {
		t.Errorf("the answer is %v", a)
	}
	if end := d.end(); end["ok"] != true {
		t.Errorf("the end is %v", end)
	}
}

// TestDrivenPieces joins the pieces of each answer: they are its text.
func TestDrivenPieces(t *testing.T) {
	server := modeltest.Start(t, modeltest.Options{Player: modeltest.Passing(job(judgeByFiles), modeltest.Say(strings.Repeat("This one breaks off. ", 100)).Broken(modeltest.Inside("text"), modeltest.HangUp)), BindThinking: true})
	d := startDriven(t, server, "--partial", "--timeout", "0", "x")
	if end := d.end(); end["ok"] != true {
		t.Fatalf("the end is %v", end)
	}
	open, void, told := map[[2]string]string{}, 0, 0
	for line := range strings.Lines(d.stream.String()) {
		var ev struct{ Type, Label, Path, Of, Text string }
		if err := json.Unmarshal([]byte(line), &ev); err != nil {
			t.Fatal(err)
		}
		at := [2]string{ev.Label, ev.Path}
		switch ev.Type {
		case "piece":
			open[at] += ev.Text
			told++
		case "pieces_void":
			open[at] = ""
			void++
		case "message":
			if open[at] != ev.Text {
				t.Errorf("pieces %q, the message %q", open[at], ev.Text)
			}
			open[at] = ""
		}
	}
	if void < 1 || told < 10 {
		t.Errorf("%d pieces, %d times void", told, void)
	}
}

// TestSchemaIsStrict: what is no event, or no event that is known, is not valid.
func TestSchemaIsStrict(t *testing.T) {
	data, err := os.ReadFile(schemaPath())
	if err != nil {
		t.Fatal(err)
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(data, &schema); err != nil {
		t.Fatal(err)
	}
	valid, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]bool{
		`{"type":"input_ended","time":"2026-01-01T00:00:00.000Z","run":null}`:         true,
		`{"type":"input_ended","time":"2026-01-01T00:00:00.000Z","run":null,"new":1}`: true,
		`{"type":"no_such_event","time":"2026-01-01T00:00:00.000Z","run":null}`:       false,
		`{"type":"input_ended","time":"2026-01-01T00:00:00.000Z"}`:                    false,
		`{"type":"brief","time":"2026-01-01T00:00:00.000Z","run":null}`:               false,
		`{"type":"brief","time":"2026-01-01T00:00:00.000Z","run":null,"file":1}`:      false,
		`{"time":"2026-01-01T00:00:00.000Z","run":null}`:                              false,
		`[]`: false,
	} {
		var value any
		if err := json.Unmarshal([]byte(line), &value); err != nil {
			t.Fatal(err)
		}
		if err := valid.Validate(value); (err == nil) != want {
			t.Errorf("%s: %v", line, err)
		}
	}
}

// TestEveryStreamIsChecked reads the scripts: after each flower go or flower once with --json the events are checked.
func TestEveryStreamIsChecked(t *testing.T) {
	scripts, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil || len(scripts) < 20 {
		t.Fatal(err, scripts)
	}
	streams := regexp.MustCompile(`^(! )?flower .*--json( |$)`)
	others := regexp.MustCompile(` (status|sessions|version|--version|--)( |$)|&\w*&?$`) // one value, or one of a pair of which one is checked
	checked := 0
	for _, name := range scripts {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		script, _, _ := strings.Cut(string(data), "\n-- ")
		lines := strings.Split(script, "\n")
		for i, line := range lines {
			if !streams.MatchString(line) || others.MatchString(line) {
				continue
			}
			if checked++; i+1 == len(lines) || !strings.HasPrefix(lines[i+1], "events ") {
				t.Errorf("%s:%d: the events of %s are not checked", name, i+1, line)
			}
		}
	}
	if checked < 30 {
		t.Errorf("only %d streams are checked", checked)
	}
}
