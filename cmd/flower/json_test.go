package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/rogpeppe/go-internal/testscript"

	"flower/modeltest"
)

// emitted is an event of flower go or flower once with --json, with the keys that tests look at.
type emitted struct {
	Type     string
	Time     string
	Run      *string
	ExitCode *int    `json:"exit_code"`
	OK       bool    `json:"ok"`
	Error    any     `json:"error"`
	CostUSD  float64 `json:"cost_usd"`
	Files    []string
}

// readEvents reads a whole stream: each line is valid by docs/json-schema.json, time does not go back, all is of one
// run, start is the first line, and end the last.
func readEvents(stream string) ([]emitted, error) {
	data, err := os.ReadFile(schemaPath())
	if err != nil {
		return nil, err
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(data, &schema); err != nil {
		return nil, err
	}
	valid, err := schema.Resolve(nil)
	if err != nil {
		return nil, err
	}
	var events []emitted
	for line := range strings.Lines(stream) {
		var value any
		var ev emitted
		if err := json.Unmarshal([]byte(line), &value); err != nil {
			return nil, fmt.Errorf("%w in %s", err, line)
		}
		if err := valid.Validate(value); err != nil {
			return nil, fmt.Errorf("%w: %s", err, line)
		}
		if err := json.Unmarshal([]byte(line), &ev); err != nil {
			return nil, fmt.Errorf("%w in %s", err, line)
		}
		if n := len(events); n > 0 && (ev.Time < events[n-1].Time || events[n-1].Run != nil && (ev.Run == nil || *ev.Run != *events[n-1].Run)) {
			return nil, fmt.Errorf("time or run of %s", line)
		}
		events = append(events, ev)
	}
	n := len(events)
	if n == 0 || events[n-1].Type != "end" {
		return nil, fmt.Errorf("%d events without an end", n)
	}
	if slices.ContainsFunc(events[:n-1], func(ev emitted) bool { return ev.Type == "end" }) {
		return nil, fmt.Errorf("something comes after the end")
	}
	return events, nil
}

// schemaPath is found from the directory the tests began in: scripts change it.
var schemaPath = func() func() string {
	dir, _ := os.Getwd()
	return func() string { return filepath.Join(dir, "..", "..", "docs", "json-schema.json") }
}()

// events CODE [TYPE...]: standard output is a valid stream that ends with this exit code, the types are among its
// events in this order, and one of them is error if the code is not 0. With "bare" first, it need not begin with start.
func events(ts *testscript.TestScript, neg bool, args []string) {
	bare := len(args) > 0 && args[0] == "bare"
	if bare {
		args = args[1:]
	}
	if neg || len(args) == 0 {
		ts.Fatalf("usage: events [bare] code [type...]")
	}
	code, err := strconv.Atoi(args[0])
	ts.Check(err)
	stream := ts.ReadFile("stdout")
	got, err := readEvents(stream)
	ts.Check(err)
	if (got[0].Type == "start") == bare {
		ts.Fatalf("it begins with %s", got[0].Type)
	}
	end := got[len(got)-1]
	if *end.ExitCode != code || end.OK != (code == 0) || (end.Error == nil) != (code == 0) {
		ts.Fatalf("the end is %+v, exit code %d", end, *end.ExitCode)
	}
	fails := func(ev emitted) bool { return ev.Type == "error" && ev.ExitCode != nil && *ev.ExitCode == code }
	if slices.ContainsFunc(got, fails) != (code != 0) {
		ts.Fatalf("code %d, and an error event: %v", code, code == 0)
	}
	rest := got
	for _, want := range args[1:] {
		i := slices.IndexFunc(rest, func(ev emitted) bool { return ev.Type == want })
		if i < 0 {
			ts.Fatalf("no event %s, or not there, in\n%s", want, stream)
		}
		rest = rest[i+1:]
	}
	if !strings.Contains(ts.ReadFile("stderr"), fmt.Sprintf("[exit %d]", code)) {
		ts.Fatalf("the exit code is another one")
	}
}

// TestDriver runs a whole job through examples/drive.py, which is another program in another language.
func TestDriver(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed, and the driver is written in it")
	}
	server := modeltest.Start(t, modeltest.Options{Player: job(judgeByFiles), BindThinking: true})
	dir := t.TempDir()
	script, err := filepath.Abs("../../examples/drive.py")
	if err != nil {
		t.Fatal(err)
	}
	test, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// This binary is flower if it is called so.
	flower := filepath.Join(dir, "flower")
	if err := os.Symlink(test, flower); err != nil {
		t.Fatal(err)
	}
	drive := func(stdin string, args ...string) string {
		t.Helper()
		cmd := exec.Command(python, append([]string{script}, args...)...)
		cmd.Dir = dir
		cmd.Stdin = strings.NewReader(stdin)
		cmd.Env = []string{
			"PATH=" + os.Getenv("PATH"), "WORK=" + dir, "HOME=" + filepath.Join(dir, "home"), "FLOWER=" + flower, "PYTHONUTF8=1",
			"ANTHROPIC_BASE_URL=" + server.URL, "ANTHROPIC_API_KEY=" + server.Key, "LANG=C",
		}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
	out := drive("a greeting in a file\n2\n")
	for _, want := range []string{
		"? What do you want done?\n", "? Which language?\n?   1) English\n?   2) German\n", "verdict on round 1: not_yet - bye.txt is missing.\n",
		"verdict on round 2: achieved - ", "files: bye.txt, hello.txt, more.txt\ngo on with: flower\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	told := false
	for _, r := range server.Requests() {
		for _, asked := range r.Calls() {
			told = told || asked.Call.Name == "mcp__human__ask" && strings.Contains(asked.Result.PlainText(), "German")
		}
	}
	if !told {
		t.Error("no agent was told the answer")
	}
	if out := drive("", "say it in French, too"); !strings.Contains(out, "done, $") {
		t.Errorf("going on:\n%s", out)
	}
	if out := drive("²\n", "--new", "a greeting in a file"); !strings.Contains(out, "? Which language?") || !strings.Contains(out, "done, $") {
		t.Errorf("what only looks like a number is an answer, too:\n%s", out)
	}
}

// driven is a flower under --json, with a test on the other side.
type driven struct {
	t      *testing.T
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    io.ReadCloser
	lines  *bufio.Scanner
	stream strings.Builder
}

func startDriven(t *testing.T, server *modeltest.Server, args ...string) *driven {
	t.Helper()
	return driveIn(t, server, t.TempDir(), args...)
}

// driveIn starts a flower in a directory, which may be one where another was killed.
func driveIn(t *testing.T, server *modeltest.Server, dir string, args ...string) *driven {
	t.Helper()
	test, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	flower := filepath.Join(dir, "flower") // this binary is flower if it is called so
	if err := os.Symlink(test, flower); err != nil && !errors.Is(err, os.ErrExist) {
		t.Fatal(err)
	}
	d := &driven{t: t, cmd: exec.CommandContext(t.Context(), flower, append([]string{"--json"}, args...)...)}
	d.cmd.Dir = dir
	d.cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "WORK=" + dir, "HOME=" + filepath.Join(dir, "home"), "LANG=C",
		"ANTHROPIC_BASE_URL=" + server.URL, "ANTHROPIC_API_KEY=" + server.Key,
	}
	out, err := d.cmd.StdoutPipe()
	if err == nil {
		d.in, err = d.cmd.StdinPipe()
	}
	if err == nil {
		err = d.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	d.out = out
	d.lines = bufio.NewScanner(out)
	d.lines.Buffer(nil, 1<<20)
	return d
}

// until reads events up to one of a type, and returns it.
func (d *driven) until(kind string) map[string]any {
	d.t.Helper()
	for d.lines.Scan() {
		d.stream.WriteString(d.lines.Text() + "\n")
		var ev map[string]any
		if err := json.Unmarshal(d.lines.Bytes(), &ev); err != nil {
			d.t.Fatalf("%v: %s", err, d.lines.Text())
		}
		if ev["type"] == kind {
			return ev
		}
	}
	d.t.Fatalf("no %s in\n%s", kind, &d.stream)
	return nil
}

func (d *driven) say(order string) {
	d.t.Helper()
	if _, err := io.WriteString(d.in, order+"\n"); err != nil {
		d.t.Fatal(err)
	}
}

// end is the rest of the stream; the whole of it is valid, and the exit code the one it says.
func (d *driven) end() (last map[string]any) {
	d.t.Helper()
	last = d.until("end")
	if d.lines.Scan() {
		d.t.Errorf("after the end: %s", d.lines.Text())
	}
	_ = d.cmd.Wait() // the code says it
	if got := d.cmd.ProcessState.ExitCode(); float64(got) != last["exit_code"] {
		d.t.Errorf("exit code %d, the stream says %v", got, last["exit_code"])
	}
	if _, err := readEvents(d.stream.String()); err != nil {
		d.t.Error(err)
	}
	return last
}

// TestDriven answers by option, makes a remark, interrupts an answer that never ends and goes on with words, all by lines.
func TestDriven(t *testing.T) {
	server := modeltest.Start(t, modeltest.Options{Player: slow(), BindThinking: true})
	d := startDriven(t, server)
	if what := d.until("prompt")["for"]; what != "request" {
		t.Errorf("asked for %v", what)
	}
	d.say(`{"type":"request","text":"a greeting in a file"}`)
	q := d.until("question")
	d.say(`{"type":"answer","id":"somebody else's","text":"French"}`)
	if why := d.until("error"); why["message"] != "no question with this id waits" || why["exit_code"] != nil {
		t.Errorf("an answer to nothing: %v", why)
	}
	id, _ := json.Marshal(q["id"])
	d.say(fmt.Sprintf(`{"type":"answer","id":%s,"option":2}`, id))
	if a := d.until("answer"); a["text"] != "German" || a["id"] != q["id"] || a["how"] != "answered" {
		t.Errorf("the answer is %v", a)
	}
	d.until("goal")
	d.until("agent_started")
	d.say(`{"type":"remark","text":"with umlauts"}`)
	if r := d.until("remark"); r["text"] != "with umlauts" || r["in_brief"] != true {
		t.Errorf("the receipt is %v", r)
	}
	d.say(`{"type":"interrupt"}`)
	if what := d.until("prompt")["for"]; what != "interrupt" {
		t.Errorf("asked for %v", what)
	}
	d.say(`{"type":"remark","text":"be quick"}`)
	d.until("remark")
	if end := d.end(); end["ok"] != true || end["verdict"] != "achieved" {
		t.Errorf("the end is %v", end)
	}
}

// TestDrivenEnds interrupts twice, which ends the run as a second Ctrl-C does.
func TestDrivenEnds(t *testing.T) {
	server := modeltest.Start(t, modeltest.Options{Player: slow(), BindThinking: true})
	d := startDriven(t, server, "--asks", "0", "a greeting in a file")
	d.until("goal")
	d.until("agent_started")
	d.say(`{"type":"interrupt"}`)
	d.until("prompt")
	d.say(`{"type":"interrupt"}`)
	if end := d.end(); end["exit_code"] != 130.0 || end["next"] != "flower" {
		t.Errorf("the end is %v", end)
	}
}
