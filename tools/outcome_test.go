package tools

import (
	"context"
	"fmt"
	"testing"
	"time"

	"flower/agent"
	"flower/internal/proc"
)

// What Bash writes about an end is what is read of it.
func TestReadExit(t *testing.T) {
	left := []proc.Process{{PID: 7, Name: "sleep"}, {PID: 8, Name: "x, y]"}}
	for _, tt := range []struct {
		res  proc.Result
		want Exit
	}{
		{proc.Result{Duration: 40 * time.Millisecond}, Exit{Ran: 40 * time.Millisecond}},
		{proc.Result{ExitCode: 137, Signal: "SIGKILL", Duration: 3 * time.Second}, Exit{Code: 137, Signal: "SIGKILL", Ran: 3 * time.Second}},
		{proc.Result{ExitCode: -1, Duration: time.Minute}, Exit{Unknown: true, Ran: time.Minute}},
		{proc.Result{ExitCode: 143, Signal: "SIGTERM", Duration: 2 * time.Minute, TimedOut: true}, Exit{Code: 143, Signal: "SIGTERM", Ran: 2 * time.Minute, TimedOut: true}},
		{proc.Result{ExitCode: 1, Duration: time.Second, Canceled: true}, Exit{Code: 1, Ran: time.Second, Interrupted: true}},
		{proc.Result{Duration: time.Second, Background: left[:1]}, Exit{Ran: time.Second, Background: 1}},
		{proc.Result{Duration: time.Second, Background: left}, Exit{Ran: time.Second, Background: 2}},
	} {
		line := statusLine(tt.res, 2*time.Minute)
		if got, ok := ReadExit(line); !ok || got != tt.want {
			t.Errorf("%s: got %+v, %v, want %+v", line, got, ok, tt.want)
		}
	}
	for _, line := range []string{"", "[exit code 0]", "[exit code x, ran 1s]", "exit code 0, ran 1s", "[exit code 0, ran long]", "[exit code 0, ran 1s"} {
		if got, ok := ReadExit(line); ok {
			t.Errorf("%q is read as %+v", line, got)
		}
	}
}

func TestReadFound(t *testing.T) {
	for _, tt := range []struct {
		line string
		want Found
		ok   bool
	}{
		{"[1 match]", Found{Matches: 1}, true},
		{"[12 matches; incomplete: time was over]", Found{Matches: 12, Incomplete: true}, true},
		{"[the newest 100 of 240 matches]", Found{Matches: 240, Incomplete: true}, true},
		{"[3 matches in 2 files; 9 files searched]", Found{Matches: 3, Files: 2}, true},
		{"[1 match in 1 file; 9 files searched, 2 ignored by ignore files and passed by; incomplete: x]", Found{Matches: 1, Files: 1, Incomplete: true}, true},
		{`[no match for "x" in .: 9 files searched]`, Found{}, true},
		{"[no file to search: none below . fits glob and type]", Found{}, true},
		{"[2 matches; 1 directory passed by (.git)]", Found{Matches: 2}, true},
		{"[no file searched: below . none fits glob and type apart from what was left out: 1 symbolic link not followed]", Found{}, true},
		{"[incomplete: x is a binary file and was not searched. Use a command that knows its format]", Found{Incomplete: true}, true},
		{"[incomplete: no match so far, but there may be some: x; y. Narrow it]", Found{Incomplete: true}, true},
		{"[the first 9 entries after offset 3; more follow: go on with offset 12, or narrow the search]", Found{}, false},
		{"3 matches in 2 files", Found{}, false},
	} {
		if got, ok := ReadFound(tt.line); got != tt.want || ok != tt.ok {
			t.Errorf("%s: got %+v, %v", tt.line, got, ok)
		}
	}
}

// What Read shows people is what is read of it.
func TestReadPage(t *testing.T) {
	for _, tt := range []struct {
		page page
		want Page
	}{
		{page{first: 1, last: 1, total: 1, counted: true}, Page{First: 1, Last: 1, Total: 1}},
		{page{first: 10, last: 30, total: 200, counted: true, more: true}, Page{First: 10, Last: 30, Total: 200}},
		{page{first: 1, last: 2000, total: 2001, more: true}, Page{First: 1, Last: 2000, Total: 2001, More: true}},
	} {
		display := tt.page.result("a: lines 1-2 of 3 lines", nil).Display
		if got, ok := ReadPage(display); !ok || got != tt.want {
			t.Errorf("%s: got %+v, %v, want %+v", display, got, ok, tt.want)
		}
	}
	if _, ok := ReadPage("a.png: PNG 10x10"); ok {
		t.Error("an image is read as lines")
	}
}

func FuzzReadOutcome(f *testing.F) {
	for _, seed := range []string{
		"[exit code 0, ran 46ms]", "[exit code 137, ended by SIGKILL, ran 1s, stopped: the timeout of 2m0s was over]",
		"[3 matches in 2 files; 9 files searched]", "x: lines 1-2 of at least 3 lines", "[the newest 100 of 240 matches]",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		exit, isExit := ReadExit(s)
		found, isFound := ReadFound(s)
		page, _ := ReadPage(s)
		if isExit && isFound || exit.Code < 0 || exit.Background < 0 || found.Matches < 0 || found.Files < 0 || page.Total < 0 {
			t.Errorf("%q: %s", s, fmt.Sprint(exit, found, page))
		}
	})
}

// What the model is told of a refusal is what is read of it.
func TestReadDenial(t *testing.T) {
	f := newFixture(t, nil)
	seen := map[Reason]bool{DeniedByPerson: true, DeniedLate: true} // by TestModes
	for _, tt := range []struct {
		tool, said string
		want       Reason
	}{
		{Bash, refusedText(`"rm" is not on the list`), DeniedCommands},
		{Bash, modeRefusal(Bash), DeniedCommands},
		{Bash, noBash + ".", DeniedCommands},
		{Write, modeRefusal(Write), DeniedChanges},
		{Edit, modeRefusal(Edit), DeniedChanges},
		{"mcp__srv__fail", modeRefusal("mcp__srv__fail"), DeniedServers},
		{"mcp__srv__fail", textOf(alone(t, f)), DeniedAlone},
		{WebFetch, noSecrets + ".", DeniedSecret},
		{WebFetch, (&addressError{host: "localhost", what: ownMachine}).advice(), DeniedPrivate},
		{WebFetch, (&addressError{host: "169.254.169.254", what: credentials, forbid: true}).advice(), DeniedAddress},
		{Write, textOf(f.box.refuse("x", &refusal{"x belongs to the books"})), DeniedPlace},
		{"Nope", `There is no tool "Nope" here; that is intended.`, DeniedOther},
		{"", "", DeniedOther},
	} {
		seen[tt.want] = true
		if got := ReadDenial(tt.tool, tt.said); got != (Denial{Reason: tt.want}) {
			t.Errorf("%s %q: got %+v, want %s", tt.tool, tt.said, got, tt.want)
		}
	}
	for _, r := range Reasons {
		if !seen[r] {
			t.Errorf("no refusal for %s", r)
		}
	}
}

// alone is the refusal of a call that nobody is there to be asked about.
func alone(t *testing.T, f *fixture) agent.ToolResult {
	t.Helper()
	f.box.opts.Permit = func(context.Context, PermitRequest) (Permit, error) { return Permit{}, nil }
	r, err := f.box.permit(t.Context(), agent.Spec{Permission: ModeDefault}, agent.Call{})
	if err != nil {
		t.Fatal(err)
	}
	return *r
}
