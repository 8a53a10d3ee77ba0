package messages

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"flower/agent"
)

// A probe says nothing to whom it reaches.
func TestProbe(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	said := make(chan int, 9)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			n, _ := conn.Read(make([]byte, 1))
			said <- n
			_ = conn.Close()
		}
	}()
	open := "http://" + l.Addr().String()
	proxied := func(to string) func(*url.URL) (*url.URL, error) {
		return func(*url.URL) (*url.URL, error) { return url.Parse(to) }
	}
	const shut = "http://127.0.0.1:1" // nobody listens there
	for name, c := range map[string]struct {
		opts Options
		ok   bool
	}{
		"reached":          {Options{BaseURL: open + "/path"}, true},
		"refused":          {Options{BaseURL: shut}, false},
		"no such name":     {Options{BaseURL: "http://no-such-name.invalid"}, false},
		"through a proxy":  {Options{BaseURL: shut, Proxy: proxied(open)}, true},
		"no proxy there":   {Options{BaseURL: open, Proxy: proxied(shut)}, false},
		"a bad proxy":      {Options{BaseURL: open, Proxy: func(*url.URL) (*url.URL, error) { return nil, errors.New("bad") }}, false},
		"an unknown way":   {Options{BaseURL: shut, Transport: failing{}}, true},
		"a dialer":         {Options{BaseURL: shut, Transport: &http.Transport{DialContext: toward(l.Addr())}}, true},
		"the default port": {Options{BaseURL: "https://x.invalid", Transport: &http.Transport{DialContext: only("x.invalid:443", l.Addr())}}, true},
		"other letters":    {Options{BaseURL: "http://Bücher.invalid", Transport: &http.Transport{DialContext: only("xn--bcher-kva.invalid:80", l.Addr())}}, true},
		"an address":       {Options{BaseURL: "http://[::1]", Transport: &http.Transport{DialContext: only("[::1]:80", l.Addr())}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if c.opts.Proxy != nil {
				c.opts.Transport = newTransport(c.opts.Proxy)
			}
			err := client(t, c.opts).Probe(t.Context())
			if (err == nil) != c.ok {
				t.Fatalf("got %v", err)
			}
			if _, unknown := c.opts.Transport.(failing); c.ok && !unknown {
				if n := <-said; n != 0 {
					t.Error("the probe said something")
				}
			}
		})
	}
}

type dial = func(context.Context, string, string) (net.Conn, error)

func toward(to net.Addr) dial {
	return func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, to.String())
	}
}

func only(address string, to net.Addr) dial {
	return func(ctx context.Context, network, asked string) (net.Conn, error) {
		if asked != address {
			return nil, errors.New("asked for " + asked)
		}
		return toward(to)(ctx, network, asked)
	}
}

func TestProbeEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangs := func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := client(t, Options{Transport: &http.Transport{DialContext: hangs}}).Probe(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}

// A proxy that gets no further is an outage, one that does not let us through is none.
func TestProxyRefuses(t *testing.T) {
	for status, want := range map[int]agent.ModelError{
		502: {Kind: agent.Transient, Outage: agent.Portal},
		503: {Kind: agent.Transient, Outage: agent.Portal},
		403: {Kind: agent.Fatal},
		407: {Kind: agent.Fatal},
	} {
		proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodConnect || r.Header.Get("x-api-key") != "" {
				t.Errorf("the proxy was asked %s with %v", r.Method, r.Header)
			}
			w.WriteHeader(status)
		}))
		c := client(t, Options{
			BaseURL: "https://api.invalid", APIKey: "k",
			Transport: newTransport(func(*url.URL) (*url.URL, error) { return url.Parse(proxy.URL) }),
		})
		if e := failed(t, c); e.Kind != want.Kind || e.Outage != want.Outage {
			t.Errorf("%d: got %#v", status, e)
		}
		proxy.Close()
	}
}

// What is said in place of an answer, under status 200.
func TestStrangeAnswers(t *testing.T) {
	html := []string{"content-type", "text/html; charset=utf-8"}
	for name, c := range map[string]struct {
		body   string
		header []string
		want   agent.ErrorKind
		outage agent.Outage
	}{
		"empty object":            {"{}", nil, agent.Unknown, agent.NoOutage},
		"null":                    {"null", nil, agent.Transient, agent.NoOutage},
		"a list":                  {"[]", nil, agent.Transient, agent.NoOutage},
		"OK":                      {"OK\n", []string{"content-type", "text/plain"}, agent.Transient, agent.NoOutage},
		"nothing":                 {"", nil, agent.Transient, agent.NoOutage},
		"cut":                     {sse(conversation[:4]...), nil, agent.Transient, agent.NoOutage},
		"cut, and called a page":  {sse(conversation[:4]...), html, agent.Transient, agent.NoOutage},
		"bytes":                   {"\x00\xff\x1f", []string{"content-type", "application/octet-stream"}, agent.Transient, agent.NoOutage},
		"a page":                  {"\ufeff\n <!-- x --><html>", nil, agent.Transient, agent.Portal},
		"a script of a portal":    {"window.location = '/login'", html, agent.Transient, agent.Portal},
		"an empty page":           {"", html, agent.Transient, agent.Portal},
		"busy, in the stream":     {sse(`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`), nil, agent.Transient, agent.Busy},
		"a fault, in the stream":  {sse(`{"type":"error","error":{"type":"api_error","message":"Internal"}}`), nil, agent.Transient, agent.NoOutage},
		"a limit, in the stream":  {sse(`{"type":"error","error":{"type":"rate_limit_error","message":"slow"}}`), nil, agent.Transient, agent.Busy},
		"no money, in the stream": {sse(`{"type":"error","error":{"type":"billing_error","message":"pay"}}`), nil, agent.Fatal, agent.NoOutage},
	} {
		if e := failed(t, server(t, Options{}, says(200, c.body, c.header...))); e.Kind != c.want || e.Outage != c.outage {
			t.Errorf("%s: got %#v", name, e)
		}
	}
	for status, want := range map[int]agent.Outage{
		307: agent.Portal, 511: agent.Portal, 429: agent.Busy, 503: agent.Busy, 529: agent.Busy,
		500: agent.NoOutage, 502: agent.NoOutage, 504: agent.NoOutage, 401: agent.NoOutage, 403: agent.NoOutage,
	} {
		if e := failed(t, server(t, Options{}, says(status, "<html></html>", html...))); e.Outage != want {
			t.Errorf("%d: got %v, want %v", status, e.Outage, want)
		}
	}
}

// After a sleep a connection has half a minute to show that it lives.
func TestSleep(t *testing.T) {
	for name, c := range map[string]struct {
		jump  time.Duration // of the clock on the wall, after ten seconds
		after time.Duration
		hang  bool
	}{
		"asleep for an hour, dead":  {time.Hour, watchTick + watchGrace, true},
		"asleep for an hour, alive": {time.Hour, 0, false},
		"the clock was set":         {30 * time.Second, DefaultStallTimeout, true},
		"the clock was set back":    {-time.Hour, DefaultStallTimeout, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				now := func() time.Time {
					if time.Since(began) < 10*time.Second {
						return time.Now()
					}
					return time.Now().Add(c.jump)
				}
				s := script{hang: true}
				if !c.hang {
					s = script{header: 40 * time.Second, pieces: split(conversation)}
				}
				_, err := ask(client(t, Options{Transport: s, Now: now}))
				var e *agent.ModelError
				switch {
				case !c.hang && err != nil:
					t.Errorf("an answer was given up: %v", err)
				case c.hang && (!errors.As(err, &e) || e.Outage != agent.Offline || time.Since(began) != c.after):
					t.Errorf("%v after %v, want one after %v", err, time.Since(began), c.after)
				case c.jump == time.Hour && c.hang && (!errors.Is(err, ErrAsleep) || !strings.Contains(e.Message, "asleep")):
					t.Errorf("got %v", err)
				}
			})
		})
	}
}
