package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rogpeppe/go-internal/testscript"

	"flower/modeltest"
)

// serving calls a tool by name, and then says how that ended.
func serving() modeltest.Player {
	return modeltest.PlayerFunc(func(r *modeltest.Request) modeltest.Reply {
		if results := r.Results(); len(results) > 0 {
			kinds := []string{}
			for _, b := range results[0].Content {
				kinds = append(kinds, b.Type)
			}
			return modeltest.Say(fmt.Sprintf("error %v, %v: %s", results[0].IsError, kinds, results[0].PlainText()))
		}
		tool, in, _ := strings.Cut(r.Prompt(), " ")
		if !r.Offers(tool) {
			return modeltest.Say(fmt.Sprintf("There is %q.", r.Tools))
		}
		return modeltest.Answer(modeltest.Call(tool, json.RawMessage(in)))
	})
}

// mcpServer is a program that speaks the Model Context Protocol. "litter" leaves a program of another session running, and
// minds neither SIGTERM nor the end of its input; PIDS is where it notes who is alive.
func mcpServer() {
	if slices.Contains(os.Args, "litter") {
		signal.Ignore(syscall.SIGTERM)
		child := exec.Command("sleep", "600")
		child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := child.Start(); err != nil {
			os.Exit(1)
		}
		if err := os.WriteFile(os.Getenv("PIDS"), fmt.Appendf(nil, "%d\n%d\n", os.Getpid(), child.Process.Pid), 0o600); err != nil {
			os.Exit(1)
		}
	}
	_, _ = fmt.Fprintln(os.Stderr, "\x1b[31mserver begins")
	_ = newMCPServer().Run(context.Background(), &sdk.StdioTransport{})
	if slices.Contains(os.Args, "litter") {
		select {}
	}
}

func newMCPServer() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	add := func(name string, run func(text string) (*sdk.CallToolResult, error)) {
		schema := json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}}}`)
		s.AddTool(&sdk.Tool{Name: name, Description: name, InputSchema: schema}, func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			var in struct{ Text string }
			if err := json.Unmarshal(r.Params.Arguments, &in); err != nil {
				return nil, err
			}
			return run(in.Text)
		})
	}
	text := func(s string) *sdk.CallToolResult {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: s}}}
	}
	add("echo", func(s string) (*sdk.CallToolResult, error) { return text(s), nil })
	add("environ", func(string) (*sdk.CallToolResult, error) { return text(strings.Join(os.Environ(), "\n")), nil })
	add("refuse", func(string) (*sdk.CallToolResult, error) { return nil, errors.New("out of order") })
	add("hang", func(string) (*sdk.CallToolResult, error) { select {} })
	add("die", func(string) (*sdk.CallToolResult, error) {
		_, _ = fmt.Fprintln(os.Stderr, "out of cheese")
		return nil, syscall.Kill(os.Getpid(), syscall.SIGKILL)
	})
	add("large", func(string) (*sdk.CallToolResult, error) { return text(strings.Repeat("many words\n", 50_000)), nil })
	add("picture", func(string) (*sdk.CallToolResult, error) {
		var out bytes.Buffer
		if err := png.Encode(&out, image.NewGray(image.Rect(0, 0, 9000, 2))); err != nil {
			return nil, err
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.ImageContent{Data: out.Bytes(), MIMEType: "image/png"}, &sdk.ImageContent{Data: []byte("no"), MIMEType: "image/png"}}}, nil
	})
	return s
}

// mcpHTTP starts such a server over HTTP and sets MCP_URL to where it is; it wants the token "letmein-4711".
func mcpHTTP(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: mcphttp")
	}
	mcp := newMCPServer()
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return mcp }, nil)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer letmein-4711" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	ts.Defer(server.Close)
	ts.Setenv("MCP_URL", server.URL)
}
