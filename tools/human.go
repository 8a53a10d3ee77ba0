package tools

import (
	"context"
	_ "embed"
	"encoding/json"
	"strings"

	"flower/agent"
)

// Descriptions.
var (
	//go:embed ask.md
	askText string
	//go:embed inbox.md
	inboxText string
)

// What a model is told where there is no person.
const (
	nobody     = "Nobody can be asked. Decide yourself, take the safest sensible choice, and write the assumption down."
	nothingNew = "[nothing new]"
)

// ask may be called again after an interruption: the question is known by the call's id.
func (b *Box) ask(_ *session, _ agent.Spec, _ agent.Env) agent.Tool {
	return agent.Tool{
		ToolSpec: agent.ToolSpec{Name: Ask, Description: askText, InputSchema: json.RawMessage(`{
"type":"object",
"properties":{
"question":{"type":"string","minLength":1,"description":"One question, in the person's language"},
"options":{"type":"array","items":{"type":"string"},"description":"Answers to choose from, the one you recommend first"}
},
"required":["question"],
"additionalProperties":false}`)},
		Again: true,
		Run: func(ctx context.Context, call agent.Call) (agent.ToolResult, error) {
			p := decode(call.Input)
			question := p.filled("question")
			var options []string
			if _, ok := p.get("options"); ok {
				p.value("options", "a list of strings", &options)
			}
			if r, bad := p.bad(); bad {
				return r, nil
			}
			if b.opts.Ask == nil {
				return agent.TextResult(nobody), nil
			}
			// Some endpoints count calls from 0 in every session: the id alone would give one session's answer to another.
			answer, err := b.opts.Ask(ctx, call.Key.String()+"/"+call.ID, question, options)
			if err != nil {
				return agent.ToolResult{}, err
			}
			return agent.TextResult(answer), nil
		},
	}
}

// inbox may be called again: it only counts.
func (b *Box) inbox(_ *session, _ agent.Spec, _ agent.Env) agent.Tool {
	return agent.Tool{
		ToolSpec: agent.ToolSpec{Name: Inbox, Description: inboxText, InputSchema: json.RawMessage(`{
"type":"object",
"properties":{},
"additionalProperties":false}`)},
		Again: true, Looks: true,
		Run: func(ctx context.Context, call agent.Call) (agent.ToolResult, error) {
			if r, bad := decode(call.Input).bad(); bad {
				return r, nil
			}
			if b.opts.Inbox == nil {
				return agent.TextResult(nothingNew), nil
			}
			said, err := b.opts.Inbox(ctx)
			if err != nil {
				return agent.ToolResult{}, err
			}
			if strings.TrimSpace(said) == "" {
				said = nothingNew
			}
			return agent.TextResult(said), nil
		},
	}
}
