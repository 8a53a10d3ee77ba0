//go:build unix

package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"
)

// modeVariable makes the test binary a server.
const modeVariable = "FLOWER_TEST_SERVER"

func TestMain(m *testing.M) {
	if mode := os.Getenv(modeVariable); mode != "" {
		os.Exit(serve(mode))
	}
	goleak.VerifyTestMain(m)
}

// serve is a server over standard input and output.
func serve(mode string) int {
	switch mode {
	case "raw":
		return serveRaw(os.Stdin, os.Stdout)
	case "litter":
		litter()
	case "refuse":
		_, _ = fmt.Fprintln(os.Stderr, "no licence\nfor this")
		return 3
	case "noise":
		fmt.Println("Welcome!")
		return 0
	case "mute":
		_, _ = os.Stdin.Read(make([]byte, 1<<16))
		select {} // nothing is ever answered, and the end of input means nothing
	}
	if err := newServer(nil).Run(context.Background(), &sdk.StdioTransport{}); err != nil {
		return 1
	}
	return 0
}

// newServer is a server whose calls all end when release is closed.
func newServer(release <-chan struct{}) *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	object := json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}}}`)
	add := func(name string, run func(ctx context.Context, text string) (*sdk.CallToolResult, error)) {
		s.AddTool(&sdk.Tool{Name: name, Description: name + "s", InputSchema: object, Annotations: &sdk.ToolAnnotations{ReadOnlyHint: name == "echo"}},
			func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				var in struct{ Text string }
				if err := json.Unmarshal(r.Params.Arguments, &in); err != nil {
					return nil, err
				}
				return run(ctx, in.Text)
			})
	}
	text := func(s string) *sdk.CallToolResult {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: s}}}
	}
	add("echo", func(_ context.Context, s string) (*sdk.CallToolResult, error) { return text(s), nil })
	add("env", func(_ context.Context, s string) (*sdk.CallToolResult, error) {
		dir, _ := os.Getwd()
		return text(os.Getenv(s) + " " + dir), nil
	})
	add("die", func(context.Context, string) (*sdk.CallToolResult, error) {
		_, _ = fmt.Fprintln(os.Stderr, "out of cheese")
		os.Exit(7)
		return nil, nil
	})
	add("hang", func(ctx context.Context, _ string) (*sdk.CallToolResult, error) {
		select {
		case <-ctx.Done():
		case <-release:
		}
		return nil, errors.New("given up")
	})
	add("fail", func(context.Context, string) (*sdk.CallToolResult, error) { return nil, errors.New("it is broken") })
	add("complain", func(context.Context, string) (*sdk.CallToolResult, error) {
		r := text("no such thing")
		r.IsError = true
		return r, nil
	})
	add("all", func(context.Context, string) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{StructuredContent: map[string]any{"a": 1}, Content: []sdk.Content{
			&sdk.TextContent{Text: "words"}, &sdk.ImageContent{Data: []byte("\x89PNG"), MIMEType: "image/png"},
			&sdk.AudioContent{Data: []byte("la"), MIMEType: "audio/wav"}, &sdk.ResourceLink{Name: "doc", URI: "x://doc"},
			&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "x://a", Text: "inside"}},
			&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "x://b", MIMEType: "a/b", Blob: []byte{1}}},
		}}, nil
	})
	add("structured", func(context.Context, string) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{}, StructuredContent: map[string]any{"a": []int{1}}}, nil
	})
	add("flood", func(context.Context, string) (*sdk.CallToolResult, error) {
		return text(strings.Repeat("x", maxText+100)), nil
	})
	s.AddTool(&sdk.Tool{Name: "odd.name", InputSchema: object}, nil)
	s.AddTool(&sdk.Tool{Name: "odd_name", InputSchema: object}, nil)
	s.AddTool(&sdk.Tool{Name: strings.Repeat("n", 120), InputSchema: object}, nil)
	s.AddTool(&sdk.Tool{Name: "unresolved", InputSchema: json.RawMessage(`{"type":"object","properties":{"a":{"$ref":"#/$defs/missing"}}}`)}, nil)
	return s
}

// program is this binary as a server.
func local(name, mode string) Server {
	return Server{Name: name, Command: os.Args[0], Env: map[string]string{modeVariable: mode, "GIVEN": "given"}}
}

func open(t *testing.T, opts Options, servers ...Server) *Set {
	t.Helper()
	s := Open(context.Background(), servers, opts)
	t.Cleanup(s.Close)
	return s
}

// call runs a tool by the name that the model knows.
func call(t *testing.T, s *Set, name, input string) (Result, error) {
	t.Helper()
	i := slices.IndexFunc(s.Tools(), func(tool Tool) bool { return tool.FullName == name })
	if i < 0 {
		t.Fatalf("there is no %s", name)
	}
	return s.Call(context.Background(), s.Tools()[i], json.RawMessage(input))
}

// both runs a test over each way to reach a server.
func both(t *testing.T, opts Options, test func(t *testing.T, s *Set)) {
	t.Run("program", func(t *testing.T) { test(t, open(t, opts, local("srv", "good"))) })
	t.Run("http", func(t *testing.T) {
		release := make(chan struct{})
		handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return newServer(release) }, nil)
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer abc" {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			handler.ServeHTTP(w, r)
		}))
		t.Cleanup(server.Close)
		t.Cleanup(func() { close(release) })
		test(t, open(t, opts, Server{Name: "srv", URL: server.URL, Headers: map[string]string{"Authorization": "Bearer abc"}}))
	})
}

func TestTools(t *testing.T) {
	both(t, Options{}, func(t *testing.T, s *Set) {
		var names []string
		for _, tool := range s.Tools() {
			names = append(names, tool.FullName)
			if tool.ReadOnly != (tool.Name == "echo") {
				t.Errorf("%s reads only: %v", tool.Name, tool.ReadOnly)
			}
		}
		want := []string{"all", "complain", "die", "echo", "env", "fail", "flood", "hang", strings.Repeat("n", 128-len("mcp__srv__")-9) + "_0467d948", "odd_name", "odd_name_919b02c3", "structured"}
		for i := range want {
			want[i] = "mcp__srv__" + want[i]
		}
		if slices.Sort(names); !slices.Equal(names, want) {
			t.Errorf("tools %v", names)
		}
		faults := fmt.Sprint(s.Faults())
		for _, want := range []string{`"unresolved" of server "srv": left out: its schema`} {
			if !strings.Contains(faults, want) {
				t.Errorf("faults %s lack %s", faults, want)
			}
		}
	})
}

func TestCall(t *testing.T) {
	both(t, Options{}, func(t *testing.T, s *Set) {
		for _, test := range []struct {
			tool    string
			want    []Part
			isError bool
		}{
			{"echo", []Part{{Text: "héllo"}}, false},
			{"complain", []Part{{Text: "no such thing"}}, true},
			{"structured", []Part{{Text: `{"a":[1]}`}}, false},
			{"all", []Part{{Text: "words"}, {Image: []byte("\x89PNG"), MediaType: "image/png"}, {Text: "[audio left out: audio/wav, 2 bytes]"},
				{Text: "[resource doc: x://doc]"}, {Text: "inside"}, {Text: "[resource left out: x://b, a/b, 1 bytes]"}}, false},
		} {
			r, err := call(t, s, "mcp__srv__"+test.tool, `{"text":"héllo"}`)
			if err != nil || r.IsError != test.isError || fmt.Sprint(r.Parts) != fmt.Sprint(test.want) {
				t.Errorf("%s: %v %v %v", test.tool, r.Parts, r.IsError, err)
			}
		}
		if r, err := call(t, s, "mcp__srv__flood", `{}`); err != nil || len(r.Parts[0].Text) > maxText+100 || !strings.HasSuffix(r.Parts[0].Text, "bytes]") {
			t.Errorf("flood: %v", err)
		}
		if _, err := call(t, s, "mcp__srv__fail", `{}`); err == nil || !strings.Contains(err.Error(), "it is broken") {
			t.Errorf("fail: %v", err)
		}
	})
}

func TestCallTimeout(t *testing.T) {
	both(t, Options{CallTimeout: 50 * time.Millisecond}, func(t *testing.T, s *Set) {
		if _, err := call(t, s, "mcp__srv__hang", `{}`); err == nil || !strings.Contains(err.Error(), "no answer within 50ms") {
			t.Errorf("hang: %v", err)
		}
	})
}

// A server that dies makes one call fail; the next one starts it again.
func TestServerDies(t *testing.T) {
	s := open(t, Options{Dir: t.TempDir()}, local("srv", "good"))
	for range 2 {
		_, err := call(t, s, "mcp__srv__die", `{}`)
		if err == nil || !strings.Contains(err.Error(), "has ended") || !strings.Contains(err.Error(), "exit status 7") || !strings.Contains(err.Error(), "out of cheese") {
			t.Fatalf("die: %v", err)
		}
		if r, err := call(t, s, "mcp__srv__echo", `{"text":"back"}`); err != nil || r.Parts[0].Text != "back" {
			t.Fatalf("echo after it: %v %v", r, err)
		}
	}
	// One that is killed between calls is noticed by itself.
	c := s.client("srv")
	if err := syscall.Kill(c.link.program.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-c.link.gone
	if _, err := call(t, s, "mcp__srv__echo", `{"text":"back"}`); err != nil {
		t.Errorf("after a kill: %v", err)
	}
	s.Close()
	if _, err := call(t, s, "mcp__srv__echo", `{}`); err == nil {
		t.Error("a closed set answers")
	}
}

func TestServersThatDoNotStart(t *testing.T) {
	refuse := func(func() error) error { return errors.New("not here") }
	for name, test := range map[string]struct {
		server Server
		opts   Options
		want   string
	}{
		"no program":   {server: Server{Name: "srv", Command: "/no/such/program"}, want: "no such file"},
		"ends at once": {server: local("srv", "refuse"), want: "exit status 3); it said: no licence for this"},
		"talks":        {server: local("srv", "noise"), want: `server "srv": not started`},
		"says nothing": {server: local("srv", "mute"), opts: Options{StartTimeout: 50 * time.Millisecond}, want: "no answer within 50ms"},
		"no host":      {server: Server{Name: "srv", URL: "http://127.0.0.1:1/"}, want: "refused"},
		"not confined": {server: local("srv", "good"), opts: Options{Confine: refuse}, want: "not here"},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, test.opts, test.server, local("other", "good"))
			faults := fmt.Sprint(s.Faults())
			if !strings.Contains(faults, test.want) {
				t.Errorf("faults: %s", faults)
			}
			if test.opts.Confine == nil && test.opts.StartTimeout == 0 && len(s.Tools()) == 0 {
				t.Error("the other server is gone too")
			}
			if !s.Has("srv") || s.Has("nobody") {
				t.Error("it is not known which servers there are")
			}
		})
	}
}

func TestEnvironment(t *testing.T) {
	t.Setenv("MINE", "mine")
	dir := t.TempDir()
	s := open(t, Options{Dir: dir, Environ: []string{"KEPT=kept"}}, local("srv", "good"))
	for name, want := range map[string]string{"GIVEN": "given " + dir, "KEPT": "kept " + dir, "MINE": " " + dir} {
		r, err := call(t, s, "mcp__srv__env", `{"text":"`+name+`"}`)
		if err != nil || !strings.HasSuffix(r.Parts[0].Text, want) || name == "MINE" && strings.Contains(r.Parts[0].Text, "mine") {
			t.Errorf("%s is %v (%v)", name, r.Parts, err)
		}
	}
}

var configs = []struct{ name, data, want, fault string }{
	{name: "program", data: `{"mcpServers":{"b":{"command":"run","args":["${A}","${NO:-x}","${A:-y}"],"env":{"K":"${A}1"}},"a":{"type":"http","url":"https://h/${A}","headers":{"X":"1"}}},"other":1}`,
		want: `[{a  [] map[] https://h/va map[X:1]} {b run [va x va] map[K:va1]  map[]}]`},
	{name: "none", data: `{"mcpServers":{}}`, want: "[]"},
	{name: "stdio", data: `{"mcpServers":{"a":{"type":"stdio","command":"x"}}}`, want: "[{a x [] map[]  map[]}]"},
	{name: "empty", data: ``, fault: "no JSON"},
	{name: "no list", data: `{}`, fault: "mcpServers"},
	{name: "another form", data: `{"mcpServers":{"a":{"command":["secret"]}}}`, fault: "does not have the form"},
	{name: "neither", data: `{"mcpServers":{"a":{}}}`, fault: "either"},
	{name: "both", data: `{"mcpServers":{"a":{"command":"x","url":"http://h"}}}`, fault: "either"},
	{name: "sse", data: `{"mcpServers":{"a":{"type":"sse","url":"http://h"}}}`, fault: `"sse" is not known`},
	{name: "type of a program", data: `{"mcpServers":{"a":{"type":"http","command":"x"}}}`, fault: "not known"},
	{name: "url", data: `{"mcpServers":{"a":{"url":"file:///x"}}}`, fault: "no http"},
	{name: "human", data: `{"mcpServers":{"human":{"command":"x"}}}`, fault: "taken"},
	{name: "name", data: `{"mcpServers":{"a b":{"command":"x"}}}`, fault: "name is made of"},
	{name: "two underscores", data: `{"mcpServers":{"a__b":{"command":"x"}}}`, fault: "name is made of"},
	{name: "variable", data: `{"mcpServers":{"a":{"command":"${NO}"}}}`, fault: "has no NO"},
}

func lookup(name string) (string, bool) { return "va", name == "A" }

func TestParseConfig(t *testing.T) {
	for _, test := range configs {
		list, err := ParseConfig([]byte(test.data), lookup)
		if test.fault != "" {
			if err == nil || !strings.Contains(err.Error(), test.fault) || strings.Contains(err.Error(), "secret") {
				t.Errorf("%s: %v", test.name, err)
			}
		} else if got := fmt.Sprint(list); err != nil || got != test.want {
			t.Errorf("%s: %s (%v)", test.name, got, err)
		}
	}
}

func FuzzParseConfig(f *testing.F) {
	for _, test := range configs {
		f.Add([]byte(test.data))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := ParseConfig(data, lookup)
		if err != nil {
			return
		}
		for _, s := range list {
			if (s.Command == "") == (s.URL == "") || s.Name == reserved || strings.Contains(s.Name, "__") {
				t.Fatalf("%+v was let through", s)
			}
		}
	})
}

func TestSecrets(t *testing.T) {
	s := Server{Headers: map[string]string{"Authorization": "Bearer abc"}, Env: map[string]string{"API_KEY": "k", "LANG": "C"}}
	got := s.Secrets(func(name, _ string) bool { return strings.Contains(name, "KEY") })
	if slices.Sort(got); !slices.Equal(got, []string{"Bearer abc", "abc", "k"}) {
		t.Errorf("secrets %q", got)
	}
	for name, want := range map[string]bool{"mcp__s": true, "mcp__s__x": true, "mcp__s_x": false, "s": false, "mcp__sx__y": false} {
		if (Server{Name: "s"}).Offers(name) != want {
			t.Errorf("%s is offered: %v", name, !want)
		}
	}
}
