package agent

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"regexp"

	"flower/transcript"
)

// maxRepeats is how often the same call may have the same result, with nothing achieved in between, before the model is
// told, and once more before the run is stopped. A model that looks again after each of a few changes stays below it.
const maxRepeats = 5

// PollingKey is the member of a call's input that declares, when it is true, that the call is repeated on purpose until
// something changes. Such calls are not counted.
const PollingKey = "polling"

const repeating = "You have made the same call %d times, with the same result each time: %s. Nothing has changed in between, and doing it again will not change it. Think about why, and do something else; if there is nothing else to do, say so and end your turn. If you wait for something on purpose, say so in the call (`polling`) where the tool knows that, and wait longer between two calls."

// StuckError ends a run that repeats itself although it was told.
type StuckError struct {
	Tool  string
	Input json.RawMessage
	Times int
}

// Error implements error.
func (e *StuckError) Error() string {
	return fmt.Sprintf("stuck: %s was called %d times with the same input and the same result, and again after being told: %s",
		e.Tool, e.Times, inputText(e.Input))
}

// repeats notices calls that lead nowhere. The goroutine of the conversation owns it.
type repeats struct {
	seen  map[[sha256.Size]byte]bool // of the whole run: what is not new is no progress
	count map[[sha256.Size]byte]int  // since the last progress
	told  bool                       // since the last progress
}

// note counts an outcome, and says whether it has come too often. what is new and does not only look is a step forward.
func (r *repeats) note(key [sha256.Size]byte, forward bool) (stuck bool) {
	if r.seen == nil {
		r.seen, r.count = make(map[[sha256.Size]byte]bool), make(map[[sha256.Size]byte]int)
	}
	if forward && !r.seen[key] {
		clear(r.count)
		r.told = false
	}
	r.seen[key] = true
	r.count[key]++
	return r.count[key] >= maxRepeats
}

// outcomeKey identifies a call together with what came of it, whenever that was.
func outcomeKey(call transcript.Block, result ToolResult) [sha256.Size]byte {
	sum := sha256.New()
	var input bytes.Buffer
	if json.Compact(&input, call.Input) != nil {
		input.Reset()
		input.Write(call.Input)
	}
	essence := []byte(result.Essence)
	if result.Essence == "" {
		essence, _ = json.Marshal(result.Content) // blocks that were stored encode
	}
	for _, part := range [][]byte{[]byte(call.Name), input.Bytes(), passing.ReplaceAll(essence, nil)} {
		_, _ = fmt.Fprintf(sum, "%d:", len(part)) // a hash takes everything
		sum.Write(part)
	}
	return [sha256.Size]byte(sum.Sum(nil))
}

// passing is what differs in the output of a command that is run again although nothing else does: days and times, how
// long something took in seconds or less, and the long numbers of moments and of temporary files. Minutes to go are news.
var passing = regexp.MustCompile(`\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?` +
	`|\d{1,2}:\d{2}:\d{2}(?:[.,]\d+)?` +
	`|(?:\d+m)?\d+(?:[.,]\d+)? ?(?:ns|µs|μs|us|ms|secs?|seconds?|s)\b` +
	`|\d{10,}(?:\.\d+)?`)

func declaresPolling(input json.RawMessage) bool {
	if !bytes.Contains(input, []byte(PollingKey)) {
		return false
	}
	var in map[string]json.RawMessage
	return json.Unmarshal(input, &in) == nil && string(in[PollingKey]) == "true"
}

// checkProgress tells the model, once, that it repeats itself, and ends the run if it goes on.
func (c *conversation) checkProgress(ctx context.Context, calls []transcript.Block, results []ToolResult) error {
	now := make(map[[sha256.Size]byte]bool) // several at the same moment are one
	for i, call := range calls {
		key := outcomeKey(call, results[i])
		if declaresPolling(call.Input) || now[key] {
			continue
		}
		now[key] = true
		if !c.repeats.note(key, !c.tools[call.Name].Looks && !results[i].IsError) {
			continue
		}
		if c.repeats.told {
			return &StuckError{Tool: call.Name, Input: call.Input, Times: maxRepeats}
		}
		clear(c.repeats.count)
		c.repeats.told = true
		if err := c.say(ctx, c.engine.opts.NewID(), fmt.Sprintf(repeating, maxRepeats, call.Name+" "+inputText(call.Input))); err != nil {
			return err
		}
		c.emit(Repeating{Path: c.path, Name: call.Name, Input: call.Input, Times: maxRepeats})
	}
	return nil
}
