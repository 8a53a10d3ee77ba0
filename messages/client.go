// Package messages is the client of the Messages API: it implements agent.Model over HTTP.
//
// Terms. An endpoint is whatever answers at the base URL: the vendor's API or a gateway that speaks like it. An answer
// is one message of the model, sent as a stream of events or, by gateways that know no streams, as one JSON document.
// A mark is a cache_control member: the endpoint caches everything up to it. A portal is a network that is not open
// yet and answers every request itself, with a page to sign in.
//
// Division of work. The vendor's SDK sends the bytes and cuts the stream into events; what the bytes say and what the
// events mean is decided here, so that the blocks of a conversation go out exactly as they were stored. The SDK is kept
// from reading the environment, from retrying and from choosing headers of its own.
//
// Trust. Everything an endpoint says is untrusted: sizes are bounded, texts become one short line without keys, and an
// answer that does not end as the protocol demands is an error of which nothing is returned. Redirects are not
// followed, because the key would go with them.
package messages

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	anthropic "github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"

	"flower/agent"
	"flower/transcript"
)

// DefaultBaseURL is the vendor's API.
const DefaultBaseURL = "https://api.anthropic.com"

// DefaultStallTimeout is how long an endpoint may say nothing at all. The vendor's API sends a ping every few seconds,
// but gateways often pass on nothing while a model thinks, so the limit is generous.
const DefaultStallTimeout = 5 * time.Minute

const (
	apiVersion     = "2023-06-01"
	maxErrorBody   = 1 << 20   // more than any error or model description needs
	maxAnswerBody  = 256 << 20 // far above 128K tokens of output with all their events
	drainTimeout   = 250 * time.Millisecond
	defaultProgram = "flower"
)

// Options configure a Client. Exactly one of APIKey and AuthToken may be set.
type Options struct {
	// BaseURL is the endpoint: http or https, a host, and perhaps a path under which v1/messages lies; a trailing slash
	// does not matter. Empty is DefaultBaseURL.
	BaseURL string
	// APIKey is sent as x-api-key. With neither a key nor a token nothing is sent, for endpoints that ask for nothing.
	APIKey string
	// AuthToken is sent as authorization: Bearer.
	AuthToken string
	// Transport carries the requests; nil is one like http.DefaultTransport. Probe goes the way of an *http.Transport,
	// with its Proxy and DialContext.
	Transport http.RoundTripper
	// Proxy finds the proxy for a URL, nil for none; it is not asked if there is a Transport. Nil: the proxies of the
	// process's environment.
	Proxy func(*url.URL) (*url.URL, error)
	// StallTimeout ends a request when not a single byte has come for so long; 0 is DefaultStallTimeout.
	StallTimeout time.Duration
	// Prices go before the built-in table.
	Prices Prices
	// UserAgent names the program; empty is "flower".
	UserAgent string
	// Now is the clock on the wall, for retry-after dates and to notice that the computer was asleep; nil is time.Now.
	Now func() time.Time
}

// Client is a connection to one endpoint. It is safe for concurrent use and never retries.
type Client struct {
	sdk       anthropic.Client
	base      *url.URL
	transport http.RoundTripper
	stall     time.Duration
	prices    Prices
	secrets   []string
	now       func() time.Time
}

var _ agent.Model = (*Client)(nil)

// New returns a client, or an error if an option cannot be used. It sends nothing.
func New(opts Options) (*Client, error) {
	base, err := checkBaseURL(opts.BaseURL)
	if err != nil {
		return nil, err
	}
	if opts.APIKey != "" && opts.AuthToken != "" {
		return nil, errors.New("configure endpoint: both an API key and a token are set, only one can be sent")
	}
	for name, value := range map[string]string{"API key": opts.APIKey, "token": opts.AuthToken, "user agent": opts.UserAgent} {
		if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return nil, fmt.Errorf("configure endpoint: the %s contains a line break or another control character", name)
		}
	}
	if opts.StallTimeout < 0 {
		return nil, fmt.Errorf("configure endpoint: stall timeout %v is negative", opts.StallTimeout)
	}
	c := &Client{transport: opts.Transport, stall: opts.StallTimeout, prices: opts.Prices, now: opts.Now}
	if c.transport == nil {
		c.transport = newTransport(opts.Proxy)
	}
	if c.stall == 0 {
		c.stall = DefaultStallTimeout
	}
	if c.now == nil {
		c.now = time.Now
	}
	for _, s := range []string{opts.APIKey, opts.AuthToken} {
		if s != "" {
			c.secrets = append(c.secrets, s)
		}
	}
	c.base = base
	c.sdk = anthropic.NewClient(c.sdkOptions(base.String(), opts)...)
	return c, nil
}

// sdkOptions sets every header itself. What the SDK would add about the machine is nobody's business.
func (c *Client) sdkOptions(base string, opts Options) []option.RequestOption {
	program := opts.UserAgent
	if program == "" {
		program = defaultProgram
	}
	set := []option.RequestOption{
		option.WithoutEnvironmentDefaults(),
		option.WithMaxRetries(0),
		option.WithBaseURL(base),
		option.WithHTTPClient(&http.Client{
			Transport:     c.transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}),
		option.WithHeader("anthropic-version", apiVersion),
		option.WithHeader("User-Agent", program),
	}
	for _, name := range []string{
		"Lang", "Package-Version", "OS", "Arch", "Runtime", "Runtime-Version", "Retry-Count", "Timeout",
	} {
		set = append(set, option.WithHeaderDel("X-Stainless-"+name))
	}
	switch {
	case opts.APIKey != "":
		set = append(set, option.WithHeader("x-api-key", opts.APIKey))
	case opts.AuthToken != "":
		set = append(set, option.WithHeader("authorization", "Bearer "+opts.AuthToken))
	}
	return set
}

func checkBaseURL(base string) (*url.URL, error) {
	if base == "" {
		base = DefaultBaseURL
	}
	u, err := url.Parse(base)
	switch {
	case err != nil:
		return nil, errors.New("configure endpoint: the base URL cannot be read") // its text may hold a password
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("configure endpoint: base URL %s begins with neither http:// nor https://", u.Redacted())
	case u.Host == "":
		return nil, fmt.Errorf("configure endpoint: base URL %s names no host", u.Redacted())
	case u.User != nil:
		return nil, errors.New("configure endpoint: the base URL holds a user name, which would be sent beside the key")
	case u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("configure endpoint: base URL %s%s has a query or a fragment, which would be lost", u.Host, u.Path)
	}
	return url.Parse(strings.TrimRight(base, "/") + "/")
}

// Close closes idle connections. Requests on their way are not touched.
func (c *Client) Close() { c.CloseIdle() }

// Generate implements agent.Model.
func (c *Client) Generate(ctx context.Context, req *agent.ModelRequest, sink func(agent.Delta)) (*agent.Response, error) {
	body, err := encodeRequest(req)
	if err != nil {
		return nil, err
	}
	if len(body) > transcript.MaxRequestBytes {
		large := &agent.TooLargeError{What: "request", Bytes: len(body), Max: transcript.MaxRequestBytes}
		return nil, &agent.ModelError{Kind: agent.Fatal, Type: "request_too_large", Message: large.Error(), Err: large}
	}
	if sink == nil {
		sink = func(agent.Delta) {}
	}
	w := watch(ctx, c.stall, c.now)
	defer w.stop()
	var res *http.Response
	err = c.sdk.Execute(w.ctx, http.MethodPost, "v1/messages", body, &res, option.WithMiddleware(w.middleware))
	if err != nil || res.StatusCode/100 != 2 {
		return nil, c.failure(ctx, w, res, err)
	}
	a, err := c.read(w, res, sink)
	if err != nil {
		return nil, c.brokenAnswer(ctx, w, res, err)
	}
	return c.respond(req, res, a), nil
}

// respond makes the response of a complete answer.
func (c *Client) respond(req *agent.ModelRequest, res *http.Response, a *answer) *agent.Response {
	model := a.model
	if model == "" {
		model = req.Model
	}
	content, cut := a.content()
	cost, priced := c.prices.Cost(model, a.usage)
	return &agent.Response{
		Message: transcript.Message{
			Role: transcript.RoleAssistant, Content: content,
			ID: a.id, Model: model, StopReason: a.stopReason, Usage: a.usage,
		},
		Cut: cut, CostUSD: cost, Unpriced: !priced,
		StopDetails: c.oneLine(a.stopDetails), RequestID: requestID(res.Header),
	}
}

// ModelWindow asks the endpoint for the context window of a model, in tokens. An endpoint that does not know the
// question or the model is no error: the answer is false. Errors are those of Generate.
func (c *Client) ModelWindow(ctx context.Context, id string) (int, bool, error) {
	id = wireModel(id)
	if id == "" {
		return 0, false, nil
	}
	w := watch(ctx, c.stall, c.now)
	defer w.stop()
	var res *http.Response
	err := c.sdk.Execute(w.ctx, http.MethodGet, "v1/models/"+url.PathEscape(id), nil, &res, option.WithMiddleware(w.middleware))
	if res != nil && (res.StatusCode/100 == 4 || res.StatusCode == http.StatusNotImplemented) {
		switch res.StatusCode {
		case http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestTimeout, http.StatusTooManyRequests:
		default:
			return 0, false, nil
		}
	}
	if err != nil || res.StatusCode/100 != 2 {
		return 0, false, c.failure(ctx, w, res, err)
	}
	return c.readWindow(ctx, w, res)
}
