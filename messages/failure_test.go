package messages

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"flower/agent"
)

func TestRefusals(t *testing.T) {
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name   string
		status int
		body   string
		header []string
		want   agent.ModelError
	}{
		{
			"plain", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"messages: at least one"},"request_id":"req_b"}`, nil,
			agent.ModelError{Kind: agent.Fatal, Type: "invalid_request_error", Message: "messages: at least one", RequestID: "req_b"},
		},
		{
			"overflow", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 3 tokens > 2 maximum"}}`, []string{"request-id", "req_h"},
			agent.ModelError{Kind: agent.Overflow, Type: "invalid_request_error", Message: "prompt is too long: 3 tokens > 2 maximum", RequestID: "req_h"},
		},
		{
			"rate limit", 429, `{"type":"error","error":{"type":"rate_limit_error","message":"slow"}}`, []string{"retry-after", "30"},
			agent.ModelError{Kind: agent.Transient, Outage: agent.Busy, Type: "rate_limit_error", Message: "slow", RetryAfter: 30 * time.Second},
		},
		{
			"overload with a date", 529, `{"type":"error","error":{"type":"overloaded_error","message":"busy"}}`, []string{"retry-after", "Sun, 29 Nov 2026 12:00:45 GMT"},
			agent.ModelError{Kind: agent.Transient, Outage: agent.Busy, Type: "overloaded_error", Message: "busy", RetryAfter: 45 * time.Second},
		},
		{
			"spend cap", 429, `{"type":"error","error":{"type":"rate_limit_error","message":"limit reached","details":{"error_code":"enforced_spend_limit_reached"}}}`, nil,
			agent.ModelError{Kind: agent.Fatal, Type: "rate_limit_error", Message: "limit reached"},
		},
		{"told not to retry", 500, `{"error":"broken"}`, []string{"x-should-retry", "false"}, agent.ModelError{Kind: agent.Transient, Message: "broken", NoRetry: true}},
		{"page of a proxy", 502, "<html><head><title>502 Bad Gateway</title></head></html>", nil, agent.ModelError{Kind: agent.Transient, Message: `a web page: "502 Bad Gateway"`}},
		{"no body", 503, "", nil, agent.ModelError{Kind: agent.Transient, Outage: agent.Busy, Message: "service unavailable"}},
		{"foreign", 401, `{"error":{"message":"Invalid token","type":"new_api_error"}}`, nil, agent.ModelError{Kind: agent.Fatal, Type: "new_api_error", Message: "Invalid token"}},
		{"lines and escapes", 400, "a\n\n\x1b[31mb\u202e\tc", nil, agent.ModelError{Kind: agent.Fatal, Message: "a [31mb c"}},
		{"a redirect", 302, "", []string{"location", "http://portal.example/login"}, agent.ModelError{
			Kind: agent.Transient, Outage: agent.Portal, Message: "redirected to http://portal.example/login, which is not followed: not online yet, or the base URL is wrong",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := failed(t, server(t, Options{Now: func() time.Time { return now }}, says(c.status, c.body, c.header...)))
			c.want.Status = c.status
			if *got != c.want {
				t.Errorf("got  %+v\nwant %+v", *got, c.want)
			}
		})
	}
}

func TestRedirectKeepsTheKey(t *testing.T) {
	asked := make(chan struct{}, 1)
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked <- struct{}{} }))
	t.Cleanup(other.Close)
	for _, status := range []int{301, 302, 303, 307, 308} {
		if e := failed(t, server(t, Options{APIKey: "secret"}, says(status, "", "location", other.URL))); e.Status != status {
			t.Errorf("got %+v, want status %d", *e, status)
		}
	}
	if len(asked) != 0 {
		t.Error("a redirect was followed")
	}
}

func TestErrorsHoldNoKeys(t *testing.T) {
	const key = "very-secret-key"
	body := `{"error":{"type":"` + key + `","message":"key ` + key + ` or sk-ant-api03-ABCDEF or Bearer abc.def.ghi ` + strings.Repeat("长", 3000) + `"}}`
	for _, opts := range []Options{{APIKey: key}, {AuthToken: key}} {
		for _, status := range []int{200, 401} {
			e := failed(t, server(t, opts, says(status, body)))
			text := fmt.Sprintf("%v %+v", e, *e)
			if strings.Contains(text, key) || strings.Contains(text, "ABCDEF") || strings.Contains(text, "abc.def") || len(e.Message) > maxErrorText {
				t.Errorf("%d: %d bytes: %s", status, len(e.Message), text)
			}
		}
	}
}

func TestErrorBodyIsBounded(t *testing.T) {
	c := server(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, strings.Repeat("x", 1<<16)); err != nil {
				return
			}
		}
	})
	if e := failed(t, c); e.Kind != agent.Fatal || len(e.Message) > maxErrorText {
		t.Errorf("got %v", e)
	}
}

// A status stands although its body breaks off.
func TestBrokenErrorBody(t *testing.T) {
	c := server(t, Options{}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("content-length", "100")
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, "{")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	if e := failed(t, c); e.Kind != agent.Fatal || e.Status != 401 {
		t.Errorf("got %#v", e)
	}
}

type failing struct{ err error }

func (f failing) RoundTrip(*http.Request) (*http.Response, error) { return nil, f.err }

func TestNetworkErrors(t *testing.T) {
	dial := func(err error) error { return &net.OpError{Op: "dial", Net: "tcp", Err: err} }
	for name, c := range map[string]struct {
		err    error
		want   agent.ErrorKind
		outage agent.Outage
	}{
		"refused":         {dial(os.NewSyscallError("connect", syscall.ECONNREFUSED)), agent.Transient, agent.Offline},
		"no such host":    {dial(&net.DNSError{Err: "no such host", Name: "h", IsNotFound: true}), agent.Transient, agent.Offline},
		"no answer":       {&net.DNSError{Err: "server misbehaving", Name: "h", IsTemporary: true}, agent.Transient, agent.Offline},
		"another tongue":  {dial(errors.New("401 не найдено")), agent.Transient, agent.Offline},
		"errno":           {syscall.ENETUNREACH, agent.Transient, agent.Offline},
		"timeout":         {os.ErrDeadlineExceeded, agent.Transient, agent.Offline},
		"reset":           {&net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}, agent.Transient, agent.Offline},
		"cut":             {io.ErrUnexpectedEOF, agent.Transient, agent.Offline},
		"closed":          {net.ErrClosed, agent.Transient, agent.Offline},
		"alert":           {tls.AlertError(40), agent.Transient, agent.Offline},
		"plain HTTP":      {tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"}, agent.Transient, agent.Portal},
		"plain HTTP too":  {http.ErrSchemeMismatch, agent.Transient, agent.Portal},
		"unknown signer":  {&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}, agent.Transient, agent.Portal},
		"another host":    {x509.HostnameError{Certificate: new(x509.Certificate), Host: "api.example"}, agent.Transient, agent.Portal},
		"expired":         {x509.CertificateInvalidError{Reason: x509.Expired}, agent.Transient, agent.Portal},
		"a proxy":         {&proxyError{"502 Bad Gateway"}, agent.Transient, agent.Portal},
		"proxy's key":     {errors.New("Proxy Authentication Required"), agent.Fatal, agent.NoOutage},
		"GOAWAY":          {errors.New("http2: server sent GOAWAY and closed the connection"), agent.Transient, agent.Offline},
		"stream error":    {errors.New("stream error: stream ID 3; INTERNAL_ERROR; received from peer"), agent.Transient, agent.Offline},
		"HTTP/2 is lost":  {errors.New("http2: client connection lost"), agent.Transient, agent.Offline},
		"nothing to know": {errors.New("who knows"), agent.Unknown, agent.NoOutage},
	} {
		e := failed(t, client(t, Options{Transport: failing{c.err}}))
		if e.Kind != c.want || e.Outage != c.outage || e.Status != 0 || !errors.Is(e, c.err) || e.Message == "" {
			t.Errorf("%s: %#v", name, e)
		}
	}
}

func TestCertificates(t *testing.T) {
	s := httptest.NewUnstartedServer(says(200, sse(conversation...)))
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // it reports the refused handshake
	s.StartTLS()
	t.Cleanup(s.Close)
	e := failed(t, client(t, Options{BaseURL: s.URL}))
	if e.Kind != agent.Transient || e.Outage != agent.Portal || !strings.Contains(e.Message, "certificate is not trusted") {
		t.Errorf("got %#v", e)
	}
	if _, err := ask(client(t, Options{BaseURL: s.URL, Transport: s.Client().Transport})); err != nil {
		t.Errorf("with the certificate known: %v", err)
	}
}

// script is an endpoint without a network, for the clock of synctest: it writes pieces with pauses between them.
type script struct {
	header time.Duration // before the headers
	pieces []string
	pause  time.Duration // before each piece
	hang   bool          // after the last piece
}

func (s script) RoundTrip(req *http.Request) (*http.Response, error) {
	select {
	case <-time.After(s.header):
	case <-req.Context().Done():
		return nil, req.Context().Err()
	}
	r, w := io.Pipe()
	go func() {
		for _, p := range s.pieces {
			select {
			case <-time.After(s.pause):
			case <-req.Context().Done():
				_ = w.CloseWithError(req.Context().Err())
				return
			}
			if _, err := io.WriteString(w, p); err != nil {
				return
			}
		}
		if s.hang {
			<-req.Context().Done()
			_ = w.CloseWithError(req.Context().Err())
			return
		}
		_ = w.Close()
	}()
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: r, Request: req}, nil
}

func split(events []string) (pieces []string) {
	for _, e := range events {
		pieces = append(pieces, sse(e))
	}
	return pieces
}

func TestStall(t *testing.T) {
	const limit = 10 * time.Second
	for name, c := range map[string]struct {
		script script
		after  time.Duration
		ok     bool
	}{
		"before the headers":           {script{header: time.Hour}, limit, false},
		"before the first byte":        {script{hang: true}, limit, false},
		"in the middle":                {script{pieces: split(conversation[:5]), hang: true}, limit, false},
		"slow but alive":               {script{header: 9 * time.Second, pieces: split(conversation), pause: 9 * time.Second}, 9 * 17 * time.Second, true},
		"a stream that stays open":     {script{pieces: split(conversation), hang: true}, drainTimeout, true},
		"pings are a sign of life too": {script{pieces: append(strings.Split(strings.Repeat(": \n|", 99)+"\n", "|"), sse(conversation...)), pause: 9 * time.Second}, 101 * 9 * time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				cl := client(t, Options{Transport: c.script, StallTimeout: limit})
				res, err := ask(cl)
				if took := time.Since(began); took != c.after {
					t.Errorf("took %v, want %v", took, c.after)
				}
				if c.ok {
					if err != nil || res.Message.PlainText() != conversationText {
						t.Errorf("got %+v, %v", res, err)
					}
					return
				}
				var e *agent.ModelError
				if res != nil || !errors.As(err, &e) || e.Kind != agent.Transient || e.Outage != agent.Offline || !errors.Is(err, ErrStalled) {
					t.Errorf("got %+v, %#v", res, err)
				}
			})
		})
	}
}

func TestASlowReaderIsNoStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := client(t, Options{Transport: script{pieces: split(conversation), pause: time.Second}, StallTimeout: 10 * time.Second})
		res, err := c.Generate(context.Background(), &agent.ModelRequest{}, func(agent.Delta) { time.Sleep(time.Hour) })
		if err != nil || res.Message.PlainText() != conversationText {
			t.Errorf("got %+v, %v", res, err)
		}
	})
}

func TestCancel(t *testing.T) {
	gone := make(chan struct{})
	c := server(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, sse(conversation[:9]...))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		close(gone)
	})
	ctx, cancel := context.WithCancel(context.Background())
	res, err := c.Generate(ctx, &agent.ModelRequest{}, func(d agent.Delta) {
		if _, ok := d.(agent.TextDelta); ok {
			cancel()
		}
	})
	if res != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("got %+v, %v", res, err)
	}
	<-gone // the connection is closed, the server notices

	if _, err := c.Generate(ctx, &agent.ModelRequest{}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("with a dead context: %v", err)
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		for _, s := range []script{{header: time.Hour}, {hang: true}} {
			c := client(t, Options{Transport: s})
			if _, err := c.Generate(ctx, &agent.ModelRequest{}, nil); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("past the deadline: %v", err)
			}
		}
	})
}

func TestConnectionIsKept(t *testing.T) {
	connections := make(chan net.Conn, 10)
	s := httptest.NewUnstartedServer(slow(sse(conversation...), 50))
	s.Config.ConnState = func(c net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections <- c
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	c := client(t, Options{BaseURL: s.URL})
	for range 5 {
		if _, err := ask(c); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(connections); n != 1 {
		t.Errorf("%d connections for 5 requests", n)
	}
}

func TestModelWindow(t *testing.T) {
	for _, c := range []struct {
		name   string
		status int
		body   string
		window int
		kind   string // of the error, if one is due
	}{
		{"told", 200, `{"id":"m","max_input_tokens":500000}`, 500_000, ""},
		{"not told", 200, `{"id":"m"}`, 0, ""},
		{"nonsense", 200, `{"max_input_tokens":"many"}`, 0, ""},
		{"a page", 200, `<html></html>`, 0, ""},
		{"no such route", 404, `{"error":{"type":"not_found_error","message":"x"}}`, 0, ""},
		{"no such method", 405, ``, 0, ""},
		{"refused", 401, ``, 0, "fatal"},
		{"busy", 529, ``, 0, "transient"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var path, method string
			cl := server(t, Options{BaseURL: "/gw", APIKey: "k"}, func(w http.ResponseWriter, r *http.Request) {
				path, method = r.URL.EscapedPath(), r.Method
				if r.Header.Get("x-api-key") != "k" || r.Header.Get("anthropic-version") != apiVersion {
					t.Errorf("headers %v", r.Header)
				}
				says(c.status, c.body, "content-type", "application/json")(w, r)
			})
			window, ok, err := cl.ModelWindow(t.Context(), "vendor/m 1[1m]")
			if window != c.window || ok != (c.window > 0) || (err != nil) != (c.kind != "") {
				t.Errorf("got %d, %v, %v", window, ok, err)
			}
			var e *agent.ModelError
			if errors.As(err, &e) && e.Kind.String() != c.kind {
				t.Errorf("got %#v", e)
			}
			if path != "/gw/v1/models/vendor%2Fm%201" || method != "GET" {
				t.Errorf("asked %s %s", method, path)
			}
		})
	}
	if _, ok, err := client(t, Options{}).ModelWindow(t.Context(), ""); ok || err != nil {
		t.Errorf("no name: %v, %v", ok, err)
	}
}
