package agent

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"strconv"

	"flower/transcript"
)

// What stands here changes the history of a running conversation, which nothing else does. It happens when the endpoint
// does not take it as it is and never would: the same request again would be refused again, today and at every resume.

// obtain gets the next answer. If the request is refused for what the history holds, that is taken out and the request sent
// once more; this is none of the attempts that WithRetry counts.
func (c *conversation) obtain(ctx context.Context) (*Response, error) {
	if err := c.relieve(ctx); err != nil {
		return nil, err
	}
	forgot := false
	for {
		req := c.request()
		resp, err := c.generate(ctx, req)
		if err == nil {
			c.marked = []Mark{endOf(req.Messages)}
			return resp, nil
		}
		again := false
		var fault error
		switch {
		case ctx.Err() != nil:
		case tooLarge(err):
			again, fault = c.halve(ctx)
		default:
			if again, fault = c.withdrawRefused(ctx, err); again || fault != nil {
				break
			}
			if !forgot {
				again, fault = c.forgetRefused(ctx, err)
				forgot = again
			}
		}
		if fault != nil {
			return nil, fault
		}
		if !again {
			return nil, err
		}
	}
}

// relieve makes room in a conversation that has grown over what the API takes of a request.
func (c *conversation) relieve(ctx context.Context) error {
	bytes, images := transcript.Weigh(c.messages)
	if bytes+len(c.prefix.System) < transcript.MaxRequestBytes && images < transcript.MaxImages {
		return nil
	}
	return c.reload(ctx, transcript.MaxRequestBytes)
}

// halve makes a conversation smaller that the endpoint found too large: gateways take less than the API itself. again is
// false when nothing is left that could go.
func (c *conversation) halve(ctx context.Context) (again bool, err error) {
	before := c.removed
	bytes, _ := transcript.Weigh(c.messages)
	err = c.reload(ctx, bytes/4*3) // of which half is left
	return err == nil && c.removed > before, err
}

// reload reads the conversation anew from the store and makes it smaller than most bytes, if it is not.
func (c *conversation) reload(ctx context.Context, most int) error {
	entries, _, err := c.stored(ctx)
	if err != nil {
		return err
	}
	opts := c.prepareOptions()
	opts.MaxRequest = most
	before := c.removed
	p := transcript.Prepare(entries, opts)
	if err := c.take(ctx, p); err != nil {
		return err
	}
	c.carried.loaded(p.Report)
	if c.removed > before {
		c.emit(Amended{Path: c.path, Report: p.Report})
	}
	return nil
}

// tooLarge says whether a request was not sent, or refused, because of its size in bytes.
func tooLarge(err error) bool {
	var local *TooLargeError
	var failure *ModelError
	return errors.As(err, &local) || errors.As(err, &failure) &&
		(failure.Status == http.StatusRequestEntityTooLarge || failure.Type == "request_too_large")
}

// thinkingRefused recognises the API's words for thinking that it does not take back, and thinkingPlace where in the
// request it stands.
var (
	thinkingRefused = regexp.MustCompile(`(?i)signature.{0,40}thinking|thinking.{0,200}(signature|cannot be modified)`)
	thinkingPlace   = regexp.MustCompile(`messages[.\[](\d{1,9})\]?\.content[.\[](\d{1,9})`)
)

// forgetRefused gives up thinking that the endpoint has refused: the block that it names and all behind it, or all if it
// names none. again is false for other failures, and if there is no thinking.
func (c *conversation) forgetRefused(ctx context.Context, failed error) (again bool, err error) {
	var failure *ModelError
	if !errors.As(failed, &failure) || failure.Status != http.StatusBadRequest || !thinkingRefused.MatchString(failure.Message) {
		return false, nil
	}
	var rest []transcript.Message
	from := ""
	if place := thinkingPlace.FindStringSubmatch(failure.Message); place != nil {
		message, _ := strconv.Atoi(place[1]) // digits, not too many
		block, _ := strconv.Atoi(place[2])
		rest, from = transcript.DropThinking(c.messages, message, block)
	}
	stored := from
	if from == "" {
		rest, from = transcript.DropThinking(c.messages, 0, 0)
	}
	if from == "" {
		return false, nil
	}
	if _, err := c.forget(ctx, stored); err != nil {
		return false, err
	}
	report := transcript.Report{Thinking: thinkingIn(c.messages) - thinkingIn(rest)}
	c.messages = rest
	c.carried.loaded(report)
	c.marked = earlierEnds(rest, len(rest))
	c.emit(Amended{Path: c.path, Report: report})
	return true, nil
}

// forget stores that the thinking so far is given up, from the block with an id on, or all of it.
func (c *conversation) forget(ctx context.Context, from string) (transcript.Entry, error) {
	note := transcript.ThinkingDropped(c.stamp(), c.engine.opts.NewID(), c.parent, c.engine.opts.Now(), from)
	return note, c.write(ctx, note)
}

func thinkingIn(messages []transcript.Message) int {
	n := 0
	for _, m := range messages {
		for _, b := range m.Content {
			if b.IsThinking() {
				n++
			}
		}
	}
	return n
}
