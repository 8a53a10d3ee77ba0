package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"flower/transcript"
)

// What the model is told about calls that were cut off. The same words every time: a history is read again and again.
const (
	unknownOutcome = "The outcome of this call is unknown: the program was stopped while it ran. It may have taken effect, wholly or in part. Look at the present state before you do it again."
	interrupted    = "Interrupted by the person before it was done. This is no fault of the tool: nothing needs to be investigated."
	stopped        = "Stopped before it was done, because the whole run was stopped. This is no fault of the tool, but it may have taken effect in part: look at the present state before you do it again."
	neverBegan     = "Not run: the run was stopped before this call began."
	notComplete    = "Not run: the answer that contains this call is not complete."
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
		if len(t.Hosted) > 0 {
			if !c.engine.refused(c.model(), t.Name) {
				specs = append(specs, ToolSpec{Name: t.Name, Hosted: t.Hosted})
			}
			continue
		}
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

// BadInputKey is the one member of the input of a call that was no JSON object; its value is what the model wrote. The
// API takes nothing else when the call is sent back, and an empty object would pass for a call without arguments. A Model
// that cannot read an input hands it over in the same form.
const BadInputKey = "unreadable_json"

// unreadable is the input that stands for one that is no JSON object.
func unreadable(input json.RawMessage) json.RawMessage {
	raw, _ := json.Marshal(map[string]string{BadInputKey: inputText(input)}) // strings always encode
	return raw
}

// unread is what the model wrote if the input stands for one that could not be read.
func unread(input json.RawMessage) (written string, is bool) {
	var v map[string]json.RawMessage
	if !bytes.Contains(input, []byte(BadInputKey)) || json.Unmarshal(input, &v) != nil || len(v) != 1 {
		return "", false
	}
	return written, json.Unmarshal(v[BadInputKey], &written) == nil
}

// outcome is how one call ended; err ends the run.
type outcome struct {
	index  int
	result ToolResult
	open   bool          // cut off, and can be run again: it stays without a result
	ran    bool          // a tool was asked
	took   time.Duration // by the tool
	err    error
}

var errToolLeft = errors.New("a tool has ended its goroutine")

// settle runs calls, a bounded number at once, and commits each result as soon as it is there, so that a finished call
// keeps its result when the program is killed beside a running one. The model is told the results in call order. Calls
// that an earlier process has begun and may not be run again get a result that says so.
func (c *conversation) settle(ctx context.Context, calls []transcript.Block) error {
	if len(calls) == 0 {
		return nil
	}
	fresh := c.result.Turns > 0
	if !fresh {
		if err := c.readJournal(ctx); err != nil {
			return err
		}
	}
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
			o := outcome{err: errToolLeft}
			defer func() { o.index = i; outcomes <- o }()
			o = c.perform(runCtx, call, fresh)
		}()
	}
	go func() { running.Wait(); close(outcomes) }()

	results := make([]ToolResult, len(calls))
	left := c.limits().answer
	var failed error
	fail := func(err error) {
		var limit *LimitError
		switch {
		case failed == nil && errors.As(err, &limit):
			failed = err // the others come to an end by themselves: what they have asked for is paid for
		case failed == nil || errors.As(failed, &limit) && !errors.As(err, &limit):
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
			call := calls[o.index]
			fitted, err := c.fitResult(ctx, o.result, &left)
			if err == nil {
				o.result, results[o.index] = fitted, fitted
				err = c.store(ctx, call, fitted)
			}
			if err != nil {
				fail(err)
			} else if o.ran {
				c.emit(ToolFinished{Path: c.path, ID: call.ID, Name: call.Name, Input: call.Input, Result: o.result, Elapsed: o.took})
			}
		}
	}
	if failed == nil && ctx.Err() != nil {
		failed = context.Cause(ctx)
	}
	if failed != nil {
		return failed // the history in memory ends here; the next run reads the stored one
	}
	c.tell(calls, results)
	return c.checkProgress(ctx, calls, results)
}

// tell adds results to what the model is told. transcript.Append puts them in call order and before anything else in
// their message, which after a load may already hold results of other calls of the same answer.
func (c *conversation) tell(calls []transcript.Block, results []ToolResult) {
	blocks := make([]transcript.Block, len(calls))
	for i, call := range calls {
		blocks[i] = resultBlock(call, results[i])
	}
	c.messages = transcript.Append(c.messages, transcript.Message{Role: transcript.RoleUser, Content: blocks})
}

// perform runs one call and says how it ended.
func (c *conversation) perform(ctx context.Context, call transcript.Block, fresh bool) outcome {
	tool, known := c.tools[call.Name]
	switch {
	case !fresh && c.abandon:
		return outcome{result: ErrorResult(interrupted)}
	case c.closing && fresh:
		return outcome{result: ErrorResult(closingRefusal)}
	case c.closing && (!known || tool.Again || !c.untouched(call)): // the journal says nothing of tools that run again
		return outcome{result: ErrorResult(unknownOutcome)}
	case c.closing:
		return outcome{result: ErrorResult(neverBegan)}
	case !fresh && !tool.Again && (known || c.offers(call.Name)) && !c.untouched(call):
		return outcome{result: ErrorResult(unknownOutcome)}
	case !fresh && !known && c.offers(call.Name):
		return outcome{result: ErrorResult(neverBegan)}
	case ctx.Err() != nil && known && tool.Again: // not started
		return outcome{open: true}
	case ctx.Err() != nil:
		return outcome{result: ErrorResult(neverBegan)}
	case !known:
		return outcome{result: DeniedResult(fmt.Sprintf("There is no tool %q here; that is intended. Use one of the tools you were given.", call.Name))}
	}
	if written, is := unread(call.Input); is {
		return outcome{result: ErrorResult("The input of this call is not a JSON object. You sent: " + written)}
	}
	if err := checkInput(tool.schema, call.Input); err != nil {
		return outcome{result: ErrorResult(fmt.Sprintf("The input does not fit the tool %s: %v. You sent: %s", call.Name, err, inputText(call.Input)))}
	}
	asked := Call{ID: call.ID, Name: call.Name, Input: call.Input, Key: c.key}
	c.emit(ToolStarted{Path: c.path, ID: call.ID, Name: call.Name, Input: call.Input})
	switch refusal, err := permit(ctx, tool.Tool, asked); {
	case ctx.Err() != nil: // it has not begun, and whoever was asked may have been cut off
		return outcome{open: true}
	case err != nil:
		return outcome{err: err}
	case refusal != nil:
		return outcome{result: *refusal, ran: true}
	}
	if !tool.Again {
		if err := c.begin(ctx, call); err != nil {
			return outcome{err: err}
		}
	}
	began := c.engine.opts.Now()
	result, err := runTool(ctx, tool.Run, asked)
	switch {
	case ctx.Err() != nil && tool.Again && (err != nil || result.IsError || len(result.Content) == 0):
		return outcome{open: true}
	case ctx.Err() != nil && err != nil:
		result = ErrorResult(stopped)
	case err != nil:
		return outcome{err: err}
	}
	return outcome{result: result, ran: true, took: c.engine.opts.Now().Sub(began).Round(time.Millisecond)}
}

// offers says whether the session's requests offer a tool of this name, whether or not there still is one.
func (c *conversation) offers(name string) bool {
	return slices.ContainsFunc(c.prefix.Tools, func(t ToolSpec) bool { return t.Name == name })
}

// runTool makes a crash of a tool a result: one broken tool must not take down the work of all others.
func runTool(ctx context.Context, run Handler, call Call) (r ToolResult, err error) {
	defer func() {
		if v := recover(); v != nil {
			r, err = ErrorResult(fmt.Sprintf("The tool %s crashed; this is a fault of the tool. What it has done so far is not known: look before you go on.", call.Name)), nil
			r.Display = inputText([]byte(fmt.Sprintf("%s crashed: %v", call.Name, v)))
		}
	}()
	return run(ctx, call)
}

// permit asks whether a call may be made; a crash of who decides is a no.
func permit(ctx context.Context, tool Tool, call Call) (refusal *ToolResult, err error) {
	if tool.Permit == nil {
		return nil, nil
	}
	defer func() {
		if v := recover(); v != nil {
			r := DeniedResult(fmt.Sprintf("The tool %s was not run: whether it may be could not be found out. This is a fault of the program; do without the call.", call.Name))
			r.Display = inputText([]byte(fmt.Sprintf("permission of %s crashed: %v", call.Name, v)))
			refusal, err = &r, nil
		}
	}()
	return tool.Permit(ctx, call)
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

// resultBlock is a result as the API takes it: never empty, no blank text, valid UTF-8.
func resultBlock(call transcript.Block, r ToolResult) transcript.Block {
	content := make([]transcript.Block, 0, len(r.Content))
	for _, b := range r.Content {
		if b.Type == "" || b.Type == transcript.TypeText && strings.TrimSpace(b.Text) == "" {
			continue
		}
		if b.Type == transcript.TypeText && !utf8.ValidString(b.Text) {
			b = transcript.Text(strings.ToValidUTF8(b.Text, "\uFFFD"))
		}
		content = append(content, b)
	}
	if len(content) == 0 {
		content = append(content, transcript.Text(noOutput))
	}
	return transcript.ToolResult(call.ID, r.IsError, content...)
}
