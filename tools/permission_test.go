package tools

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"flower/agent"
)

// person answers requests for permission and notes them.
type person struct {
	answer Permit
	err    error
	asked  []PermitRequest
}

func (p *person) permit(_ context.Context, r PermitRequest) (Permit, error) {
	p.asked = append(p.asked, r)
	return p.answer, p.err
}

// attempt makes a call as the engine does: Permit first.
func (f *fixture) attempt(id, name string, input in) (agent.ToolResult, error) {
	data, err := json.Marshal(input)
	if err != nil {
		f.t.Fatal(err)
	}
	call := agent.Call{ID: id, Name: name, Input: data, Key: f.env.Key}
	if t := f.tools[name]; t.Permit != nil {
		if refusal, err := t.Permit(context.Background(), call); refusal != nil || err != nil {
			if refusal == nil {
				refusal = &agent.ToolResult{}
			}
			return *refusal, err
		}
	}
	return f.tools[name].Run(context.Background(), call)
}

// TestModes tries every kind of call in every mode, with a person who allows, who does not, and with nobody.
func TestModes(t *testing.T) {
	const (
		free   = "free"   // runs, nobody is asked
		asks   = "asks"   // runs if the person allows it
		denies = "denies" // never runs
	)
	calls := []struct {
		tool  string
		input in
		want  map[string]string // by mode
	}{
		{Read, in{"file_path": "seed.txt"}, map[string]string{ModeDefault: free, ModePlan: free, ModeAcceptEdits: free, ModeBypass: free}},
		{Glob, in{"pattern": "*"}, map[string]string{ModeDefault: free, ModePlan: free, ModeAcceptEdits: free, ModeBypass: free}},
		{TodoWrite, in{"todos": []in{}}, map[string]string{ModeDefault: free, ModePlan: free, ModeAcceptEdits: free, ModeBypass: free}},
		{Write, in{"file_path": "made.txt", "content": "x"}, map[string]string{ModeDefault: asks, ModePlan: denies, ModeAcceptEdits: free, ModeBypass: free}},
		{Bash, in{"command": "cat seed.txt"}, map[string]string{ModeDefault: free, ModePlan: free, ModeAcceptEdits: free, ModeBypass: free}},
		{Bash, in{"command": "touch made.txt"}, map[string]string{ModeDefault: asks, ModePlan: denies, ModeAcceptEdits: asks, ModeBypass: free}},
		{Bash, in{"command": "cat seed.txt\ntouch made.txt"}, map[string]string{ModeDefault: asks, ModePlan: denies, ModeAcceptEdits: asks, ModeBypass: free}},
		{"mcp__srv__echo", in{"text": "hello"}, map[string]string{ModeDefault: free, ModePlan: free, ModeAcceptEdits: free, ModeBypass: free}},
		{"mcp__srv__fail", in{}, map[string]string{ModeDefault: asks, ModePlan: denies, ModeAcceptEdits: asks, ModeBypass: free}},
	}
	set := servers(t)
	for _, mode := range Modes {
		for _, who := range []string{"allows", "declines", "declines with words", "silent", "nobody"} {
			for _, c := range calls {
				answers := map[string]Permit{
					"allows": {Allowed: true}, "declines": {Declined: true}, "declines with words": {Declined: true, Said: "use tabs, key hunter2222"},
					"silent": {Waited: 5 * time.Minute},
				}
				p := &person{answer: answers[who]}
				f := newFixture(t, func(o *Options) {
					o.Servers = set
					o.Redact = func(s string) string { return strings.ReplaceAll(s, "hunter2222", "***") }
					if who != "nobody" {
						o.Permit = p.permit
					}
				})
				if err := os.WriteFile(filepath.Join(f.dir, "seed.txt"), []byte("seed"), 0o600); err != nil {
					t.Fatal(err)
				}
				f.use(agent.Spec{Name: "worker", Tools: []string{Read, Glob, TodoWrite, Write, Bash, AllServers}, Permission: mode}, f.env)
				r, err := f.attempt("t1", c.tool, c.input)
				if err != nil {
					t.Fatal(err)
				}
				want := c.want[mode]
				runs := want == free || want == asks && who == "allows"
				if r.Denied == runs {
					t.Errorf("%s, %s, %s %v: denied %v: %s", mode, who, c.tool, c.input, r.Denied, textOf(r))
				}
				if _, err := os.Stat(filepath.Join(f.dir, "made.txt")); err == nil && !runs {
					t.Errorf("%s, %s, %s %v has run", mode, who, c.tool, c.input)
				}
				if got := len(p.asked); (got == 1) != (want == asks && who != "nobody") {
					t.Errorf("%s, %s, %s %v: asked %d times", mode, who, c.tool, c.input, got)
				}
				if said := textOf(r); want == asks && !strings.Contains(said, map[string]string{
					"allows": "", "declines": "did not allow", "declines with words": "They said: use tabs, key ***", "silent": "did not answer within 5m0s", "nobody": "Refused: ",
				}[who]) {
					t.Errorf("%s, %s, %s: the model is told %q", mode, who, c.tool, said)
				}
				if read := ReadDenial(c.tool, textOf(r)); want == asks && who != "allows" && who != "nobody" && read != map[string]Denial{
					"declines": {Reason: DeniedByPerson}, "declines with words": {Reason: DeniedByPerson, Said: "use tabs, key ***"},
					"silent": {Reason: DeniedLate, Waited: 5 * time.Minute},
				}[who] {
					t.Errorf("%s, %s, %s: read as %+v: %s", mode, who, c.tool, read, textOf(r))
				}
			}
		}
	}
}

// TestPermitRequests: what is asked is the call itself; the same call asks under the same id, others never do.
func TestPermitRequests(t *testing.T) {
	p := &person{answer: Permit{Declined: true}}
	f := newFixture(t, func(o *Options) { o.Permit = p.permit })
	f.use(agent.Spec{Name: "helper", Tools: []string{Write, Bash}, Permission: ModeDefault}, f.env)
	for _, c := range []struct {
		id, tool string
		input    in
	}{
		{"t1", Write, in{"file_path": "a", "content": "x"}}, {"t1", Write, in{"file_path": "a", "content": "x"}},
		{"t1", Write, in{"file_path": "a", "content": "y"}}, {"t2", Write, in{"file_path": "a", "content": "x"}},
		{"t1", Bash, in{"command": "touch a"}},
	} {
		if _, err := f.attempt(c.id, c.tool, c.input); err != nil {
			t.Fatal(err)
		}
	}
	if len(p.asked) != 5 || p.asked[0].Agent != "helper" || p.asked[0].Tool != Write || !strings.Contains(string(p.asked[0].Input), `"content":"x"`) {
		t.Fatalf("asked %+v", p.asked)
	}
	ids := map[string]int{}
	for _, r := range p.asked {
		ids[r.ID]++
	}
	if len(ids) != 4 || ids[p.asked[0].ID] != 2 {
		t.Errorf("ids %v", ids)
	}
}

// TestPermitFails: an unknown mode offers nothing, an error ends the run, and who only looks by role is not asked.
func TestPermitFails(t *testing.T) {
	p := &person{err: errors.New("the store is gone"), answer: Permit{Allowed: true}}
	f := newFixture(t, func(o *Options) { o.Permit = p.permit })
	if _, err := f.box.Tools(agent.Spec{Tools: []string{Read}, Permission: "Default"}, f.env); !errors.Is(err, errUnknownMode) {
		t.Errorf("an unknown mode: %v", err)
	}
	f.use(agent.Spec{Tools: []string{Write, Bash}, Permission: ModeDefault}, f.env)
	if _, err := f.attempt("t1", Write, in{"file_path": "a", "content": "x"}); !errors.Is(err, p.err) {
		t.Errorf("the error is %v", err)
	}
	f.use(agent.Spec{Tools: []string{Bash}, Permission: ModeAcceptEdits, EphemeralShell: true}, f.env)
	p.err = nil
	if r, err := f.attempt("t1", Bash, in{"command": "touch a"}); err != nil || !r.Denied || len(p.asked) != 1 {
		t.Errorf("a role that only looks: %+v, %v, asked %d times", r, err, len(p.asked))
	}
}

// TestPermittedCommands: a command that is free runs where it cannot write, one that was allowed as any other.
func TestPermittedCommands(t *testing.T) {
	p := &person{answer: Permit{Allowed: true}}
	f := newFixture(t, func(o *Options) { o.Permit = p.permit; o.Environ = append(o.Environ, "MINE=1") })
	f.use(agent.Spec{Tools: []string{Bash}, Permission: ModeDefault}, f.env)
	if !strings.Contains(f.tools[Bash].Description, "first shown to the person") {
		t.Error("the model is not told that commands are shown to the person")
	}
	for command, want := range map[string]string{"printenv MINE; true": "1", "pwd": f.dir} {
		r, err := f.attempt("t1", Bash, in{"command": command})
		if err != nil || r.IsError || !strings.Contains(textOf(r), want) {
			t.Errorf("%s: %s, %v", command, textOf(r), err)
		}
	}
	if len(p.asked) != 1 {
		t.Errorf("asked %+v", p.asked)
	}
}
