package tools

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"flower/agent"
)

//go:embed webfetch.md
var webFetchText string

// WebOptions say how WebFetch reaches the network. The zero value is useful.
type WebOptions struct {
	// AllowPrivate lets it reach this machine and private networks. Link-local addresses, multicast and the services by
	// which clouds hand credentials to their machines stay refused.
	AllowPrivate bool
	// Proxy finds the proxy for a URL, nil for none. A proxy is the person's own and may be anywhere; where one is used,
	// it and not flower looks names up, so only addresses that are written out can be judged. Nil: there is never one.
	Proxy func(*url.URL) (*url.URL, error)
	// UserAgent is sent with every request; empty is "flower".
	UserAgent string
	// Timeout is for one call, redirects included; 0 is 30 seconds.
	Timeout time.Duration
}

// Figures of WebFetch, stated in webfetch.md.
const (
	defaultFetchTimeout = 30 * time.Second
	fetchBytes          = 2 << 20 // of a body, unpacked: turning HTML into Markdown takes about a second for this
	fetchRedirects      = 5
)

func (b *Box) webFetch(_ *session, _ agent.Spec, _ agent.Env) agent.Tool {
	return agent.Tool{
		ToolSpec: agent.ToolSpec{Name: WebFetch, Description: webFetchText, InputSchema: json.RawMessage(`{
"type":"object",
"properties":{
"url":{"type":"string","description":"Complete address, http or https"},
"full":{"type":"boolean","description":"Of HTML the whole page, not only its main text. Default: false"}
},
"required":["url"],
"additionalProperties":false}`)},
		Again: true, Looks: true,
		Run: func(ctx context.Context, call agent.Call) (agent.ToolResult, error) {
			p := decode(call.Input)
			address, full := p.filled("url"), p.boolean("full", false)
			if r, bad := p.bad(); bad {
				return r, nil
			}
			return b.fetch(ctx, strings.TrimSpace(address), full), nil
		},
	}
}

// fetch gets a page and makes a result of it.
func (b *Box) fetch(ctx context.Context, address string, full bool) agent.ToolResult {
	if b.opts.Redact != nil && b.opts.Redact(address) != address {
		return agent.DeniedResult(noSecrets + ", and it would be sent to a stranger.")
	}
	u, err := parseURL(address)
	if err != nil {
		return agent.ErrorResult("Nothing was fetched: " + err.Error() + ".")
	}
	limit := b.opts.Web.Timeout
	if limit <= 0 {
		limit = defaultFetchTimeout
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	got, err := b.opts.Web.fetch(limited, u)
	var refused *addressError
	switch {
	case err == nil:
		return got.result(full)
	case ctx.Err() != nil:
		return agent.ErrorResult("Nothing was fetched: interrupted.")
	case errors.As(err, &refused):
		return agent.DeniedResult(refused.advice())
	case limited.Err() != nil:
		return agent.ErrorResult(fmt.Sprintf("Nothing was fetched: no complete answer within %s.", limit))
	}
	return agent.ErrorResult("Nothing was fetched: " + reason(err) + ".")
}

// reason is what went wrong, in one line.
func reason(err error) string {
	var dns *net.DNSError
	if errors.As(err, &dns) && dns.IsNotFound {
		return fmt.Sprintf("there is no host %q", clip(dns.Name, 100))
	}
	return oneLine(clip(err.Error(), 300))
}

// shownURL is an address for a status line.
func shownURL(u *url.URL) string { return oneLine(clip(u.String(), 200)) }

// result is what the model is told.
func (f fetched) result(full bool) agent.ToolResult {
	status := f.status + " · " + shownURL(f.url)
	if len(f.hops) > 0 {
		names := make([]string, len(f.hops))
		for i, u := range f.hops {
			names[i] = shownURL(u)
		}
		status += " · redirected from " + strings.Join(names, ", ")
	}
	if f.elsewhere != nil {
		return agent.TextResult(fmt.Sprintf("The site redirects to another one, which is not followed by itself. To go there fetch %s\n[%s]", oneLine(f.elsewhere.String()), status))
	}
	p, err := readPage(f.body, f.mediaType, f.url, full)
	if err != nil {
		return agent.ErrorResult(fmt.Sprintf("Not shown: %v.\n[%s · %s]", err, status, f.measure()))
	}
	status += " · " + p.kind + ", " + f.measure()
	if p.part {
		status += " · main text, the whole page with full"
	}
	text := strings.TrimRight(p.text, "\n")
	if strings.TrimSpace(text) == "" {
		text = "(no text)"
	}
	r := agent.TextResult(text + "\n[" + status + "]")
	r.IsError = !f.ok
	return r
}

// measure is how much there is and how much of it was read.
func (f fetched) measure() string {
	switch {
	case !f.cut:
		return plural(len(f.body), "byte")
	case f.size > 0:
		return fmt.Sprintf("the first %d of %d bytes", len(f.body), f.size)
	}
	return fmt.Sprintf("the first %d bytes", len(f.body))
}
