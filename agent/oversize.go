package agent

import (
	"context"
	"fmt"
	"unicode/utf8"

	"flower/transcript"
)

// DefaultWindow is the window of a model of which nothing is known, in tokens: the smallest of the models in use.
const DefaultWindow = 200_000

// maxResult is the most that one result brings into a conversation, in bytes, however large the window: about 32,000
// tokens, a little more than the largest page of the tool Read. What is longer can be read in parts.
const maxResult = 128 << 10

// limits bound what enters a conversation, in bytes of text. A token is about four bytes of English or of code, and three
// of Chinese.
type limits struct {
	result int // of one result: at most a sixth of the window
	answer int // of the results of one answer: a quarter, the room that handoff leaves free
	text   int // of one prompt or remark: three bytes for each token of the window
	least  int // of a result, whatever the others were
}

func (c *conversation) limits() limits {
	window := DefaultWindow
	if of := c.engine.opts.Window; of != nil {
		window = of(c.model())
	}
	const least = 2000
	return limits{result: max(least, min(maxResult, window*2/3)), answer: window, text: max(least, window*3), least: least}
}

// TooLargeError is something that is too large to be sent to a model. It was not sent, and not stored either.
type TooLargeError struct {
	What  string // "prompt", "request"
	Bytes int
	Max   int // bytes
}

// Error implements error.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the %s has %d bytes, more than the %d that can be sent", e.What, e.Bytes, e.Max)
}

// checkPrompt returns a *TooLargeError for a prompt that leaves no room to answer it.
func (c *conversation) checkPrompt(prompt string) error {
	if most := c.limits().text; len(prompt) > most {
		return &TooLargeError{What: "prompt", Bytes: len(prompt), Max: most}
	}
	return nil
}

// fit makes content small enough to be told: longer texts go to a file, images that the API refuses become a remark. In
// a request with many images the API takes smaller ones, so these hold from the beginning.
func (c *conversation) fit(ctx context.Context, content []transcript.Block, most int) ([]transcript.Block, error) {
	f := transcript.Fit{MaxText: most, NoSpill: c.engine.opts.Spill == nil, MaxSide: transcript.MaxImageSideOfMany}
	fitted, moved, _ := f.Content(content)
	for _, s := range moved {
		if err := c.spill(ctx, s); err != nil {
			return nil, err
		}
	}
	return fitted, nil
}

// fitResult bounds a result. left is what the results of its answer may still take together.
func (c *conversation) fitResult(ctx context.Context, r ToolResult, left *int) (ToolResult, error) {
	most := c.limits()
	content, err := c.fit(ctx, r.Content, max(most.least, min(most.result, *left)))
	if err != nil {
		return r, err
	}
	if r.Display == "" && len(content) > 0 && len(r.Content) > 0 {
		r.Display = shown(r.Content, content)
	}
	r.Content = content
	for _, b := range content {
		*left -= len(b.Text)
	}
	return r, nil
}

// shown is what people see of a result whose text was moved: its beginning rather than the pointer.
func shown(before, after []transcript.Block) string {
	const most = 400
	if before[0].Text == after[0].Text || before[0].Type != transcript.TypeText {
		return ""
	}
	text := before[0].Text
	if len(text) <= most {
		return text
	}
	for most := most; ; most-- {
		if utf8.RuneStart(text[most]) {
			return text[:most] + " …"
		}
	}
}
