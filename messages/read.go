package messages

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"

	"github.com/anthropics/anthropic-sdk-go/v2/packages/ssestream"

	"flower/agent"
)

// pageError is a page in place of an answer: a portal, or a proxy that speaks for a server it does not reach.
type pageError struct{ title string }

func (e *pageError) Error() string {
	return "a web page came in place of an answer: not online yet, or the base URL is wrong: " + e.title
}

// read reads an answer to its end. The form is told by the first byte, because gateways lie about the content type.
func (c *Client) read(w *watchdog, res *http.Response, sink func(agent.Delta)) (*answer, error) {
	body := bufio.NewReader(res.Body)
	first, err := firstByte(body)
	switch {
	case errors.Is(err, io.EOF) && saysPage(res):
		return nil, &pageError{title: pageTitle("")}
	case errors.Is(err, io.EOF):
		return nil, protocolError("the answer is empty")
	case err != nil:
		return nil, err
	case first == '<':
		return nil, readPage(body)
	}
	a := new(answer)
	if first == '{' {
		data, err := io.ReadAll(body)
		if err != nil {
			return nil, err
		}
		return a, a.whole(data, sink)
	}
	res.Body = struct {
		io.Reader
		io.Closer
	}{body, res.Body}
	events := ssestream.NewDecoder(res)
	for !a.done {
		if !events.Next() {
			if err := events.Err(); err != nil {
				return nil, err
			}
			if a.byIndex == nil && saysPage(res) { // of a portal that sends a script or a plain text
				return nil, &pageError{title: pageTitle("")}
			}
			return nil, protocolError("the stream ended in the middle of the answer")
		}
		if err := a.take(events.Event().Type, events.Event().Data, sink); err != nil {
			return nil, err
		}
	}
	w.drain()
	return a, nil
}

// saysPage says whether an answer calls itself a web page. That alone proves nothing: gateways lie about it.
func saysPage(res *http.Response) bool {
	kind, _, _ := mime.ParseMediaType(res.Header.Get("content-type")) // one that cannot be read is none of a page
	return kind == "text/html" || kind == "application/xhtml+xml"
}

// firstByte skips blanks and a byte order mark.
func firstByte(body *bufio.Reader) (byte, error) {
	for {
		b, err := body.ReadByte()
		if err != nil {
			return 0, err
		}
		switch b {
		case ' ', '\t', '\r', '\n', 0xEF, 0xBB, 0xBF:
			continue
		}
		return b, body.UnreadByte()
	}
}

func readPage(body io.Reader) error {
	page, err := io.ReadAll(io.LimitReader(body, 64<<10))
	if err != nil {
		return err
	}
	return &pageError{title: pageTitle(string(page))}
}

// readWindow reads the description of a model.
func (c *Client) readWindow(ctx context.Context, w *watchdog, res *http.Response) (int, bool, error) {
	data, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, false, c.brokenAnswer(ctx, w, res, err)
	}
	var m struct {
		MaxInputTokens count `json:"max_input_tokens"`
	}
	if json.Unmarshal(bytes.TrimSpace(data), &m) == nil && m.MaxInputTokens.n > 0 {
		return m.MaxInputTokens.n, true, nil
	}
	return 0, false, nil // a gateway that answers everything with something
}
