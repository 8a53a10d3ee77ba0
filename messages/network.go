package messages

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"golang.org/x/net/idna"

	"flower/agent"
)

// Both bounds find out that a connection of HTTP/2 is dead, which no error tells: one that is silent for the first gets a
// ping, and has to answer within the second. Others than those that wait for an answer are not kept open for it.
const (
	pingAfter   = 30 * time.Second
	pingTimeout = 15 * time.Second
)

var _ agent.Network = (*Client)(nil)

// proxyError is a proxy that does not get through to the endpoint.
type proxyError struct{ status string }

func (e *proxyError) Error() string { return "the proxy does not get through: " + e.status }

// newTransport is the transport of a Client that was given none.
func newTransport(proxy func(*url.URL) (*url.URL, error)) http.RoundTripper {
	t, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return http.DefaultTransport
	}
	t = t.Clone()
	if proxy != nil {
		t.Proxy = func(r *http.Request) (*url.URL, error) { return proxy(r.URL) }
	}
	t.HTTP2 = &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingTimeout}
	t.OnProxyConnectResponse = func(_ context.Context, _ *url.URL, _ *http.Request, res *http.Response) error {
		if res.StatusCode/100 == 5 {
			return &proxyError{res.Status}
		}
		return nil // others become an error of the transport
	}
	return t
}

// Probe implements agent.Network: it looks the name up and opens a connection, to the proxy if there is one before the
// endpoint, and closes it. The way of a Transport that is no *http.Transport is not known; it counts as open.
func (c *Client) Probe(ctx context.Context) error {
	t, ok := c.transport.(*http.Transport)
	if !ok {
		return nil
	}
	to := c.base
	if t.Proxy != nil {
		proxy, err := t.Proxy(&http.Request{URL: c.base, Header: http.Header{}})
		if err != nil {
			return fmt.Errorf("find proxy: %w", err)
		}
		if proxy != nil {
			to = proxy
		}
	}
	dial := t.DialContext
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	conn, err := dial(ctx, "tcp", address(to))
	if err != nil {
		return fmt.Errorf("probe %s: %w", to.Hostname(), err)
	}
	_ = conn.Close() // it has served its purpose
	return nil
}

// CloseIdle implements agent.Network.
func (c *Client) CloseIdle() {
	if t, ok := c.transport.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

// address is where a URL's server listens.
func address(u *url.URL) string {
	host, port := u.Hostname(), u.Port()
	if ascii, err := idna.Lookup.ToASCII(host); err == nil {
		host = ascii
	}
	if port == "" {
		switch u.Scheme {
		case "http":
			port = "80"
		case "socks5", "socks5h":
			port = "1080"
		default:
			port = "443"
		}
	}
	return net.JoinHostPort(host, port)
}
