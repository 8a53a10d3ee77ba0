package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"image"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"flower/agent"
	"flower/internal/mcp"
	"flower/internal/workbench"
	"flower/transcript"
)

// servers are one that works and one that cannot be reached.
func servers(t *testing.T) *mcp.Set {
	t.Helper()
	s := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	schema := json.RawMessage(`{"type":"object","properties":{"text":{"type":"string","description":"as hunter2 has it","default":"hunter2"}},"required":["text"]}`)
	s.AddTool(&sdk.Tool{Name: "echo", Description: "says it again, for hunter2", InputSchema: schema, Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}},
		func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			var in struct{ Text string }
			if err := json.Unmarshal(r.Params.Arguments, &in); err != nil {
				return nil, err
			}
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: in.Text}}}, nil
		})
	s.AddTool(&sdk.Tool{Name: "see", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			var out bytes.Buffer
			if err := png.Encode(&out, image.NewGray(image.Rect(0, 0, 2, 2))); err != nil {
				return nil, err
			}
			return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{
				&sdk.ImageContent{Data: out.Bytes(), MIMEType: "image/bogus"}, &sdk.ImageContent{Data: []byte("no"), MIMEType: "image/png"},
				&sdk.ImageContent{Data: out.Bytes()[:40], MIMEType: "image/png"},
			}}, nil
		})
	s.AddTool(&sdk.Tool{Name: "fail", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return nil, errors.New("out of order")
		})
	server := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil))
	t.Cleanup(server.Close)
	set := mcp.Open(context.Background(), []mcp.Server{{Name: "srv", URL: server.URL}, {Name: "down", Command: "/no/such/program"}}, mcp.Options{})
	t.Cleanup(set.Close)
	return set
}

func TestServers(t *testing.T) {
	f := newFixture(t, func(o *Options) {
		o.Servers = servers(t)
		o.Bench = workbench.Open(o.Workspace)
		o.Redact = func(s string) string { return strings.ReplaceAll(s, "hunter2", "…") }
	})
	for _, test := range []struct {
		names, want []string
		unknown     bool
	}{
		{names: []string{Read, AllServers}, want: []string{Read, "mcp__srv__echo", "mcp__srv__fail", "mcp__srv__see"}},
		{names: []string{"mcp__srv"}, want: []string{"mcp__srv__echo", "mcp__srv__fail", "mcp__srv__see"}},
		{names: []string{"mcp__srv__see", Ask}, want: []string{"mcp__srv__see", Ask}},
		{names: []string{"mcp__down"}},
		{names: []string{"mcp__sr"}, unknown: true},
		{names: []string{"mcp__other__x"}, unknown: true},
		{names: []string{"mcp__"}, unknown: true},
	} {
		list, err := f.box.Tools(agent.Spec{Tools: test.names}, f.env)
		var got []string
		for _, tool := range list {
			got = append(got, tool.Name)
			if told := tool.Description + string(tool.InputSchema); strings.Contains(told, "hunter2") || tool.Name == "mcp__srv__echo" && strings.Count(told, "…") != 3 {
				t.Errorf("%s is offered with a secret: %s", tool.Name, told)
			}
			if FromServer(tool.Name) && (tool.Again || tool.Looks != (tool.Name == "mcp__srv__echo")) {
				t.Errorf("%s: again %v, looks %v", tool.Name, tool.Again, tool.Looks)
			}
		}
		if errors.Is(err, errUnknownTool) != test.unknown || !slices.Equal(got, test.want) {
			t.Errorf("%v are %v (%v), want %v", test.names, got, err, test.want)
		}
	}
	f.use(agent.Spec{Tools: []string{AllServers}}, f.env)
	if got := f.ok("mcp__srv__echo", in{"text": "it is hunter2"}); got != "it is …" {
		t.Error(got)
	}
	if got := f.ok("mcp__srv__echo", in{"text": strings.Repeat("long\n", 2000)}); !strings.HasPrefix(got, "[long result: ") {
		t.Error(clip(got, 200))
	} else if files, err := os.ReadDir(f.box.opts.Bench.SpillDir()); err != nil || len(files) == 0 {
		t.Errorf("nothing was spilled: %v", err)
	}
	if got := f.fails("mcp__srv__fail", in{}); !strings.HasPrefix(got, "The call failed: server srv: ") || !strings.Contains(got, "out of order") {
		t.Error(got)
	}
	r := f.result("mcp__srv__see", in{})
	if !r.IsError || len(r.Content) != 3 || r.Content[0].Type != transcript.TypeImage || !strings.Contains(r.Content[1].Text, "of no kind") || !strings.Contains(r.Content[2].Text, "left out") {
		t.Errorf("%+v", r)
	}
}

// Without servers the name that stands for all of them is nothing.
func TestNoServers(t *testing.T) {
	f := newFixture(t, nil)
	list, err := f.box.Tools(agent.Spec{Tools: []string{Read, AllServers}}, f.env)
	if err != nil || len(list) != 1 {
		t.Errorf("%d tools, %v", len(list), err)
	}
	if _, err := f.box.Tools(agent.Spec{Tools: []string{"mcp__srv"}}, f.env); !errors.Is(err, errUnknownTool) {
		t.Errorf("an unknown server: %v", err)
	}
}
