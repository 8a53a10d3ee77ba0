package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"flower/transcript"
)

// What the model is told about calls that were cut off. The same words every time: a history is read again and again.
const (
	unknownOutcome = "The outcome of this call is unknown: the program was stopped while it ran. It may have taken effect, wholly or in part. Look at the present state before you do it again."
	interrupted    = "Interrupted by the person before it was done. This is no fault of the tool: nothing needs to be investigated."
	noOutput       = "(no output)"
)

// boundTool is a tool of this conversation with its schema ready to check.
type boundTool struct {
	Tool
	schema *jsonschema.Resolved
}

// bind makes the conversation's tools.
func (c *conversation) bind() ([]ToolSpec, error) {
	c.tools = make(map[string]boundTool)
	if len(c.spec.Tools) == 0 {
		return nil, nil
	}
	if c.engine.opts.Toolbox == nil {
		return nil, fmt.Errorf("make tools of agent %s: the engine has no toolbox", c.spec.Name)
	}
	env := Env{Key: c.key}
	if len(c.spec.Subagents) > 0 {
		env.Spawn = c.spawn
	}
	tools, err := c.engine.opts.Toolbox.Tools(c.spec, env)
	if err != nil {
		return nil, fmt.Errorf("make tools of agent %s: %w", c.spec.Name, err)
	}
	specs := make([]ToolSpec, 0, len(tools))
	for _, t := range tools {
		var schema jsonschema.Schema
		if err := json.Unmarshal(t.InputSchema, &schema); err != nil {
			return nil, fmt.Errorf("read schema of tool %s: %w", t.Name, err)
		}
		resolved, err := schema.Resolve(nil)
		if err != nil {
			return nil, fmt.Errorf("read schema of tool %s: %w", t.Name, err)
		}
		if _, twice := c.tools[t.Name]; twice {
			return nil, fmt.Errorf("make tools of agent %s: %s is there twice", c.spec.Name, t.Name)
		}
		c.tools[t.Name] = boundTool{Tool: t, schema: resolved}
		specs = append(specs, t.ToolSpec)
	}
	return specs, nil
}

// outcome is how one call ended; err ends the run.
type outcome struct {
	index  int
	result ToolResult
	open   bool // cut off, and can be run again: it stays without a result
	err    error
}

// settle runs calls, a bounded number at once, and commits each result as soon as it is there, so that a finished call
// keeps its result when the program is killed beside a running one. The model is told the results in call order. Calls
// that were left open by an earlier process and may not be run again get a result that says so.
func (c *conversation) settle(ctx context.Context, calls []transcript.Block) error {
	if len(calls) == 0 {
		return nil
	}
	fresh := c.result.Turns > 0
	runCtx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	outcomes := make(chan outcome)
	slots := make(chan struct{}, c.engine.opts.Parallel)
	var running sync.WaitGroup
	for i, call := range calls {
		running.Add(1)
		go func() {
			defer running.Done()
			slots <- struct{}{}
			defer func() { <-slots }()
			o := c.perform(runCtx, call, fresh)
			o.index = i
			outcomes <- o
		}()
	}
	go func() { running.Wait(); close(outcomes) }()

	results := make([]ToolResult, len(calls))
	var failed error
	fail := func(err error) {
		if failed == nil {
			failed = err
			cancel(err)
		}
	}
	for o := range outcomes {
		switch {
		case o.err != nil:
			fail(o.err)
		case o.open:
		default:
			if err := c.store(ctx, calls[o.index], o.result); err != nil {
				fail(err)
			}
			results[o.index] = o.result
		}
	}
	if failed == nil && ctx.Err() != nil {
		failed = context.Cause(ctx)
	}
	if failed != nil {
		return failed // the history in memory ends here; the next run reads the stored one
	}
	c.tell(calls, results)
	return nil
}

// tell adds results to what the model is told, in call order and before anything else in their message. After a load
// that message may already hold results of other calls of the same answer.
func (c *conversation) tell(calls []transcript.Block, results []ToolResult) {
	if len(calls) == 0 {
		return
	}
	byCall := make(map[string]transcript.Block)
	for i, call := range calls {
		byCall[call.ID] = resultBlock(call, results[i])
	}
	last := len(c.messages) - 1
	var rest []transcript.Block
	if c.messages[last].Role == transcript.RoleUser {
		for _, b := range c.messages[last].Content {
			if b.Type == transcript.TypeToolResult {
				byCall[b.ToolUseID] = b
			} else {
				rest = append(rest, b)
			}
		}
		c.messages = c.messages[:last:last]
		last--
	}
	var blocks []transcript.Block
	for _, call := range c.messages[last].ToolUses() {
		if b, ok := byCall[call.ID]; ok {
			blocks = append(blocks, b)
		}
	}
	c.messages = append(c.messages, transcript.Message{Role: transcript.RoleUser, Content: append(blocks, rest...)})
}

// perform runs one call and says how it ended.
func (c *conversation) perform(ctx context.Context, call transcript.Block, fresh bool) outcome {
	tool, known := c.tools[call.Name]
	if !fresh && (c.abandon || known && !tool.Again) {
		if c.abandon {
			return outcome{result: ErrorResult(interrupted)}
		}
		return outcome{result: ErrorResult(unknownOutcome)}
	}
	if ctx.Err() != nil { // not started
		if known && tool.Again {
			return outcome{open: true}
		}
		return outcome{result: ErrorResult("Not run: the run was stopped before this call began.")}
	}
	if !known {
		return outcome{result: DeniedResult(fmt.Sprintf("There is no tool %q here; that is intended. Use one of the tools you were given.", call.Name))}
	}
	if input, bad := c.unreadable[call.ID]; bad {
		return outcome{result: ErrorResult(fmt.Sprintf("The input of this call is not a JSON object. You sent: %s", inputText(input)))}
	}
	if err := checkInput(tool.schema, call.Input); err != nil {
		return outcome{result: ErrorResult(fmt.Sprintf("The input does not fit the tool %s: %v. You sent: %s", call.Name, err, inputText(call.Input)))}
	}
	c.emit(ToolStarted{Path: c.path, ID: call.ID, Name: call.Name, Input: call.Input})
	began := c.engine.opts.Now()
	result, err := tool.Run(ctx, Call{ID: call.ID, Name: call.Name, Input: call.Input, Key: c.key})
	switch {
	case ctx.Err() != nil && tool.Again && (err != nil || result.IsError || len(result.Content) == 0):
		return outcome{open: true}
	case ctx.Err() != nil && err != nil:
		result = ErrorResult(interrupted)
	case err != nil:
		return outcome{err: err}
	}
	c.emit(ToolFinished{
		Path: c.path, ID: call.ID, Name: call.Name, Input: call.Input, Result: result,
		Elapsed: c.engine.opts.Now().Sub(began).Round(time.Millisecond),
	})
	return outcome{result: result}
}

// isObject says whether input is one JSON object.
func isObject(input json.RawMessage) bool {
	trimmed := bytes.TrimSpace(input)
	return len(trimmed) > 0 && trimmed[0] == '{' && json.Valid(trimmed)
}

// checkInput validates a call's input.
func checkInput(schema *jsonschema.Resolved, input json.RawMessage) error {
	var v any
	if err := json.Unmarshal(input, &v); err != nil {
		return err
	}
	return schema.Validate(v)
}

// store commits one result as an entry of its own.
func (c *conversation) store(ctx context.Context, call transcript.Block, r ToolResult) error {
	denial := ""
	if r.Denied {
		denial = transcript.DeniedByRule
	}
	m := transcript.Message{Role: transcript.RoleUser, Content: []transcript.Block{resultBlock(call, r)}}
	return c.commit(ctx, c.engine.opts.NewID(), m, denial)
}

// resultBlock is a result as the API takes it: never empty, no blank text.
func resultBlock(call transcript.Block, r ToolResult) transcript.Block {
	content := make([]transcript.Block, 0, len(r.Content))
	for _, b := range r.Content {
		if b.Type == transcript.TypeText && len(bytes.TrimSpace([]byte(b.Text))) == 0 {
			continue
		}
		content = append(content, b)
	}
	if len(content) == 0 {
		content = append(content, transcript.Text(noOutput))
	}
	return transcript.ToolResult(call.ID, r.IsError, content...)
}
