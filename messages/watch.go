package messages

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"
)

// errStalled is the cause with which a silent request is cancelled.
var errStalled = errors.New("the endpoint said nothing for too long")

// watchdog cancels a request that gets no byte for a while. The clock runs only while something is awaited from the
// endpoint, so a slow reader of the answer does not count against it. It belongs to the goroutine of its request; only
// the timer's function runs elsewhere, and that does nothing but cancel.
type watchdog struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
	limit  time.Duration
	body   io.ReadCloser
	left   int64 // bytes the body may still have
}

// watch starts a watchdog with the clock running; stop must be called.
func watch(ctx context.Context, limit time.Duration) *watchdog {
	w := &watchdog{limit: limit}
	w.ctx, w.cancel = context.WithCancelCause(ctx)
	w.timer = time.AfterFunc(limit, func() { w.cancel(errStalled) })
	return w
}

// stop ends the request, whatever has become of it.
func (w *watchdog) stop() {
	w.timer.Stop()
	w.cancel(nil)
	if w.body != nil {
		_ = w.body.Close() // everything of use has been read
	}
}

// stalled says whether the watchdog itself ended the request.
func (w *watchdog) stalled() bool { return errors.Is(context.Cause(w.ctx), errStalled) }

// middleware puts the watchdog around the body of a response.
func (w *watchdog) middleware(req *http.Request, next func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	res, err := next(req)
	w.timer.Stop()
	if res == nil || res.Body == nil {
		return res, err
	}
	w.left = maxErrorBody
	if res.StatusCode/100 == 2 && req.Method == http.MethodPost {
		w.left = maxAnswerBody
	}
	w.body, res.Body = res.Body, w
	return res, err
}

// Read implements io.Reader. Beyond the bound of the body it reports its end.
func (w *watchdog) Read(p []byte) (int, error) {
	if w.left <= 0 {
		return 0, io.EOF
	}
	if int64(len(p)) > w.left {
		p = p[:w.left]
	}
	w.timer.Reset(w.limit)
	n, err := w.body.Read(p)
	w.timer.Stop()
	w.left -= int64(n)
	return n, err
}

// Close implements io.Closer.
func (w *watchdog) Close() error { return w.body.Close() }

// drain reads what little comes after the end of an answer, so that the connection can be used again. An endpoint that
// keeps the stream open is not waited for.
func (w *watchdog) drain() {
	w.limit = min(w.limit, drainTimeout)
	w.left = min(w.left, maxErrorBody)
	_, _ = io.Copy(io.Discard, w) // its only use is the connection
}
