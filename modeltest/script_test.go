package modeltest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"flower/transcript"
)

func TestRoles(t *testing.T) {
	tools := func(names ...string) string {
		var list []string
		for _, n := range names {
			list = append(list, `{"name":"`+n+`","input_schema":{"type":"object"}}`)
		}
		return `[` + strings.Join(list, ",") + `]`
	}
	const ask = "mcp__human__ask"
	rows := []struct {
		system string
		tools  []string
		want   Role
	}{
		{"# 角色:澄清者\nrest", nil, Clarifier},
		{"# 角色：目标制定者", nil, GoalSetter},
		{"before\n# 角色:协调者", nil, Coordinator},
		{"# 角色: 执行者", []string{"Agent"}, Worker},
		{"#角色:判定者", nil, Judge},
		{"# 角色:旁问者", nil, Oracle},
		{"# Role: clarifier", nil, Clarifier},
		{"# Role: Goal setter", []string{ask, "Read"}, GoalSetter},
		{"# role: coordinator", nil, Coordinator},
		{"# Role: worker", nil, Worker},
		{"# Role: judge", nil, Judge},
		{"# Role: oracle", nil, Oracle},
		{"# Role: king", []string{"Write"}, Worker},
		{"none", []string{"Agent", "Read"}, Coordinator},
		{"none", []string{ask, "Read", "WebFetch"}, Clarifier},
		{"none", []string{ask, "Read"}, Judge},
		{"none", []string{"Read"}, Oracle},
		{"none", nil, ""},
		{"by rule", []string{"Agent"}, "clown"},
	}
	s, c := start(t, Options{Roles: []RoleRule{{"clown", func(r *Request) bool { return r.System == "by rule" }}}})
	for i, row := range rows {
		c.ask(good().set("system", string(encode(row.system)), "tools", tools(row.tools...)).String())
		if got := s.Requests()[i].Role(); got != row.want {
			t.Errorf("%q %v: role %q, want %q", row.system, row.tools, got, row.want)
		}
	}
}

// A script answers by what the request holds, so a client that comes back in the middle gets what it got before.
func TestScript(t *testing.T) {
	script := Script{
		{When: Prompted("second"), Turns: []Player{Say("short")}},
		{Role: Oracle, Turns: []Player{
			Answer(Call("Read", map[string]string{"file_path": "a"}), Call("Read", nil)),
			PlayerFunc(func(r *Request) Reply {
				return Say(fmt.Sprintf("%d results, first %s", len(r.Answered("Read")), r.Calls()[0].Result.PlainText()))
			}),
		}},
	}
	s, c := start(t, tolerant(Options{Player: script}))
	first := c.ask(good().set("tools", readTool).String())
	again := c.ask(good().set("tools", readTool).String())
	if a, b := first.ToolUses(), again.ToolUses(); len(a) != 2 || a[0].ID != b[0].ID || a[1].ID != b[1].ID {
		t.Errorf("repeated request: %v, then %v", a, b)
	}
	calls := first.ToolUses()
	l := []transcript.Message{user(Text("hello")), back(first), user(result(calls[0].ID, "ALPHA"), result(calls[1].ID, "BETA"))}
	m := c.ask(good().set("tools", readTool, "messages", messages(l...)).String())
	if got := m.PlainText(); got != "2 results, first ALPHA" {
		t.Errorf("second turn: %q", got)
	}
	l = append(l, back(m), user(Text("the second thing")))
	if got := c.ask(good().set("tools", readTool, "messages", messages(l...)).String()).PlainText(); got != "short" {
		t.Errorf("second prompt: %q", got)
	}
	req := s.Requests()[3].Request
	if req.Turn() != 0 || req.Answers() != 2 || req.Prompts() != 2 || req.LastUser() != "the second thing" ||
		req.FirstUser() != "hello" || !req.Says("ALPHA") || req.Says("short") || len(req.Results()) != 0 || !req.Offers("Read") || req.Offers("Write") {
		t.Errorf("request: %+v", req)
	}
	names := map[string]bool{}
	for _, r := range s.Requests() {
		names[r.Conversation()] = true
	}
	if len(names) != 1 {
		t.Errorf("one conversation has %d names", len(names))
	}
	c.refused(good().String(), "the script has no answer")
	if p := s.Problems(); len(p) != 1 || p[0].Kind != KindScript {
		t.Errorf("problems %v", p)
	}
}

func TestPlan(t *testing.T) {
	script := Script{{Plan: []Player{Say("one"), Say("two"), Say("last")}}}
	_, c := start(t, Options{Player: script})
	var l []transcript.Message
	for _, want := range []string{"one", "two", "last", "last"} {
		l = append(l, user(Text("go on")))
		m := c.ask(good().set("messages", messages(l...)).String())
		if m.PlainText() != want {
			t.Errorf("said %q, want %q", m.PlainText(), want)
		}
		l = append(l, back(m))
	}
	_, c = start(t, tolerant(Options{Player: Script{{Plan: []Player{Answer(Call("Read", nil))}}}}))
	m := c.ask(good().String())
	c.refused(good().set("messages", messages(user(Text("a")), back(m), user(result(m.ToolUses()[0].ID, "x")))).String(), "the script has no answer")
}

func TestPassing(t *testing.T) {
	_, c := start(t, Options{Player: Passing(Say("there"), Overloaded(), RateLimited("1"))})
	for _, want := range []int{529, 429, 200, 200} {
		if status, data := c.post(good().String()); status != want {
			t.Errorf("answered %d, want %d: %s", status, want, data)
		}
	}
	if status, _ := c.post(good().set("max_tokens", "7").String()); status != 529 {
		t.Error("another request is a first attempt again")
	}
}

func TestPanicIsAProblem(t *testing.T) {
	s, c := start(t, tolerant(Options{Player: PlayerFunc(func(*Request) Reply { panic("oh") })}))
	c.refused(good().String(), "the script panicked: oh")
	if p := s.Problems(); p[0].Kind != KindScript || !strings.Contains(p[0].String(), "request 1: 400 script") {
		t.Errorf("problem %v", p[0])
	}
}

// fakeTB collects what Start tells a test.
type fakeTB struct {
	errors []string
	clean  []func()
}

func (f *fakeTB) Helper()                   {}
func (f *fakeTB) Cleanup(c func())          { f.clean = append(f.clean, c) }
func (f *fakeTB) Errorf(s string, a ...any) { f.errors = append(f.errors, fmt.Sprintf(s, a...)) }
func (f *fakeTB) Fatalf(s string, a ...any) { f.Errorf(s, a...) }

func TestRefusalFailsTheTest(t *testing.T) {
	tb := &fakeTB{}
	s := Start(tb, Options{Allow: func(p Problem) bool { return p.Kind == KindAuth }})
	c := newClient(t, s)
	c.post(good().set("model", "").String())
	c.header.Set("X-Api-Key", "wrong")
	c.post(good().String())
	for _, f := range tb.clean {
		f()
	}
	if len(tb.errors) != 1 || !strings.Contains(tb.errors[0], "model: Field required") || len(s.Problems()) != 2 {
		t.Errorf("the test was told %q", tb.errors)
	}
	if err := c.fail(good().String()); err == nil {
		t.Error("the server answers after the test")
	}
	tb = &fakeTB{}
	if s := Start(tb, Options{Addr: "192.0.2.1:0"}); s != nil || len(tb.errors) != 1 {
		t.Errorf("address elsewhere: %v", tb.errors)
	}
}

func TestModelInfo(t *testing.T) {
	s, c := start(t, Options{Models: map[string]Model{"mine": {Window: 5000}}})
	get := func(c *client, path string) string {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, c.url+path, nil)
		req.Header = c.header
		res, err := c.http.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		data, _ := io.ReadAll(res.Body)
		return fmt.Sprint(res.StatusCode, " ", string(data))
	}
	if got := get(c, "/v1/models/mine"); !strings.Contains(got, `"max_input_tokens":5000`) {
		t.Error(got)
	}
	if got := get(c, "/v1/models/claude-opus-5-5"); !strings.Contains(got, `"max_input_tokens":1000000`) {
		t.Error(got)
	}
	if got := get(c, "/v1/models/none"); !strings.HasPrefix(got, "404") {
		t.Error(got)
	}
	if len(s.Requests()) != 0 {
		t.Error("look-ups are recorded")
	}
	_, c = start(t, Options{NoModelInfo: true})
	if got := get(c, "/v1/models/claude-opus-5-5"); !strings.HasPrefix(got, "404") {
		t.Error(got)
	}
	s, c = start(t, tolerant(Options{}))
	if got := get(c, "/v2/other"); !strings.HasPrefix(got, "404") || len(s.Problems()) != 1 {
		t.Error(got)
	}
}

// In a synctest bubble a paced answer takes its time on the fake clock.
func TestPipeUnderAFakeClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := start(t, Options{Pipe: true, Player: Say(strings.Repeat("a", 240)).Paced(time.Second)})
		begin := time.Now()
		res, err := c.do(good().set("stream", "true").String())
		if err != nil {
			t.Fatal(err)
		}
		events, err := readEvents(res.Body)
		res.Body.Close()
		if took := time.Since(begin); !errors.Is(err, io.EOF) || took != time.Duration(len(events)-1)*time.Second {
			t.Errorf("%d events in %v, %v", len(events), took, err)
		}
		c.http.CloseIdleConnections()
		s.Down(syscall.ECONNREFUSED)
		if err := c.fail(good().String()); err == nil || !strings.Contains(err.Error(), "connection refused") {
			t.Errorf("down: %v", err)
		}
		s.Down(&net.DNSError{Err: "no such host", Name: "api", IsNotFound: true})
		if err := c.fail(good().String()); err == nil || !strings.Contains(err.Error(), "no such host") {
			t.Errorf("no name: %v", err)
		}
		s.Up()
		c.post(good().String())
		c.http.CloseIdleConnections()
	})
}

func TestListenAndServe(t *testing.T) {
	s, _ := start(t, Options{})
	if err := ListenAndServe(t.Context(), strings.TrimPrefix(s.URL, "http://"), Options{}); err == nil {
		t.Error("two listeners on one address")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := ListenAndServe(ctx, "localhost:0", Options{}); err != nil {
		t.Error(err)
	}
}

func TestOnRequest(t *testing.T) {
	heard := make(chan *Request, 1)
	_, c := start(t, Options{Key: "other", OnRequest: func(r *Request) { heard <- r }})
	c.ask(good().set("metadata", `{"user_id":"me"}`).String())
	if r := <-heard; r.Session != "me" || r.LastUser() != "hello" || r.Header.Get("X-Api-Key") != "other" {
		t.Errorf("heard %+v", r)
	}
}

func TestRequestsAreInOrder(t *testing.T) {
	s, c := start(t, Options{})
	for i := range 3 {
		c.ask(good().set("max_tokens", itoa(i+1)).String())
	}
	var got []int
	for _, r := range s.Requests() {
		got = append(got, r.Seq, r.MaxTokens, r.Status)
	}
	if want := []int{1, 1, 200, 2, 2, 200, 3, 3, 200}; !slices.Equal(got, want) {
		t.Errorf("requests %v, want %v", got, want)
	}
}
