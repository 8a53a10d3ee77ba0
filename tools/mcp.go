package tools

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"

	"flower/agent"
	"flower/internal/mcp"
	"flower/transcript"
)

// AllServers in a Spec's tools stands for every tool of every MCP server that the person has named; mcp__NAME stands for
// those of one server, and mcp__NAME__TOOL for one tool.
const AllServers = mcpPrefix + "*"

const mcpPrefix = "mcp__"

// FromServer says whether a tool is that of an MCP server.
func FromServer(name string) bool {
	return strings.HasPrefix(name, mcpPrefix) && name != Ask && name != Inbox
}

// fromServers are the tools that a name in a Spec stands for. A server that has not started has none, and that is no
// error: the person has been told.
func (b *Box) fromServers(name string) ([]agent.Tool, error) {
	var list []agent.Tool
	for _, t := range b.opts.Servers.Tools() {
		if name == AllServers || name == t.FullName || name == mcpPrefix+t.Server {
			list = append(list, b.fromServer(t))
		}
	}
	server, _, _ := strings.Cut(strings.TrimPrefix(name, mcpPrefix), "__")
	if len(list) == 0 && name != AllServers && !b.opts.Servers.Has(server) {
		return nil, errUnknownTool
	}
	return list, nil
}

// fromServer makes a tool of a server's. What the server says of it is stored and sent as results are: without secrets.
func (b *Box) fromServer(t mcp.Tool) agent.Tool {
	if b.opts.Redact != nil {
		t.Description, t.Schema = b.opts.Redact(t.Description), transcript.RedactedJSON(t.Schema, b.opts.Redact)
	}
	return agent.Tool{
		ToolSpec: agent.ToolSpec{Name: t.FullName, Description: t.Description, InputSchema: t.Schema},
		Looks:    t.ReadOnly, // the person has chosen the server, so its word counts for this
		Run: func(ctx context.Context, call agent.Call) (agent.ToolResult, error) {
			answer, err := b.opts.Servers.Call(ctx, t, call.Input)
			if err != nil {
				return agent.ErrorResult("The call failed: " + oneLine(clip(err.Error(), 1000)) + "."), nil
			}
			r := agent.ToolResult{IsError: answer.IsError}
			for _, part := range answer.Parts {
				r.Content = append(r.Content, blocksOf(part)...)
			}
			return r, nil
		},
	}
}

// blocksOf makes blocks of a part. An image is what its bytes say, and is sent only if the endpoint would take it.
func blocksOf(part mcp.Part) []transcript.Block {
	if part.Image == nil {
		return []transcript.Block{transcript.Text(part.Text)}
	}
	kind := imageType(part.Image)
	if kind == "" {
		return []transcript.Block{transcript.Text(fmt.Sprintf("[image left out: %s, %d bytes, is of no kind that can be shown]", oneLine(clip(part.MediaType, 60)), len(part.Image)))}
	}
	p, err := loadPicture(kind, part.Image)
	if err != nil {
		return []transcript.Block{transcript.Text(fmt.Sprintf("[image left out: %s, %d bytes: %v]", kind, len(part.Image), err))}
	}
	return []transcript.Block{transcript.Image(p.kind, base64.StdEncoding.EncodeToString(p.data))}
}
