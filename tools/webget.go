package tools

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// Figures of single requests.
const (
	fetchErrorBytes  = 4 << 10 // of the body of an answer that is no success: what a server has to say then is short
	fetchHeaderBytes = 64 << 10
)

// fetched is the last answer of a fetch.
type fetched struct {
	url       *url.URL
	hops      []*url.URL // what redirected here, in order
	elsewhere *url.URL   // another site that this one redirects to; nil if it does not
	status    string     // "200 OK"
	ok        bool       // 2xx
	mediaType string     // as the server says; may be empty
	body      []byte
	cut       bool  // there was more
	size      int64 // of the whole body, as the server says; not positive if it does not
}

// fetch sends a request and goes along with redirects that stay on the site.
func (o WebOptions) fetch(ctx context.Context, u *url.URL) (fetched, error) {
	var hops []*url.URL
	for {
		got, next, err := o.get(ctx, u)
		if err != nil {
			return fetched{}, err
		}
		got.hops = hops
		if next == nil {
			return got, nil
		}
		if !sameSite(u, next) {
			got.elsewhere = next
			return got, nil
		}
		if hops = append(hops, u); len(hops) > fetchRedirects {
			return fetched{}, fmt.Errorf("more than %d redirects, the last one to %s", fetchRedirects, shownURL(next))
		}
		u = next
	}
}

// get sends one request. Of an answer that redirects it returns where to.
func (o WebOptions) get(ctx context.Context, u *url.URL) (_ fetched, next *url.URL, err error) {
	transport, err := o.transport(u)
	if err != nil {
		return fetched{}, nil, err
	}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return fetched{}, nil, fmt.Errorf("make request: %w", err)
	}
	name := o.UserAgent
	if name == "" {
		name = "flower"
	}
	req.Header.Set("User-Agent", name)
	req.Header.Set("Accept", "text/markdown, text/html;q=0.9, text/plain;q=0.9, application/json;q=0.9, */*;q=0.5")
	answer, err := transport.RoundTrip(req)
	if err != nil {
		return fetched{}, nil, err
	}
	defer func() { _ = answer.Body.Close() }() // it was only read
	got := fetched{
		url: u, status: fmt.Sprintf("%d %s", answer.StatusCode, http.StatusText(answer.StatusCode)),
		ok: answer.StatusCode/100 == 2, mediaType: answer.Header.Get("Content-Type"), size: answer.ContentLength,
	}
	if where := answer.Header.Get("Location"); where != "" && answer.StatusCode/100 == 3 {
		next, err := redirect(u, where)
		return got, next, err
	}
	if packed := answer.Header.Get("Content-Encoding"); packed != "" && !strings.EqualFold(packed, "identity") {
		return fetched{}, nil, fmt.Errorf("the server has packed its answer as %q, which was not asked for", clip(packed, 40))
	}
	most := fetchBytes
	if !got.ok {
		most = fetchErrorBytes
	}
	got.body, err = io.ReadAll(io.LimitReader(answer.Body, int64(most)+1))
	if err != nil {
		return fetched{}, nil, fmt.Errorf("read answer: %w", err)
	}
	if got.cut = len(got.body) > most; got.cut {
		got.body = got.body[:most]
	}
	return got, nil, nil
}

// redirect is the address that a Location means.
func redirect(from *url.URL, where string) (*url.URL, error) {
	next, err := from.Parse(where)
	if err == nil {
		next, err = parseURL(next.String())
	}
	if err != nil {
		return nil, fmt.Errorf("the server redirects to %q: %w", clip(where, 200), err)
	}
	return next, nil
}

// transport is for one request, so that nothing is left of it: no connections, no cookies, no credentials.
func (o WebOptions) transport(u *url.URL) (*http.Transport, error) {
	if err := checkHost(u.Hostname(), o.AllowPrivate); err != nil {
		return nil, err
	}
	dialer := &net.Dialer{ControlContext: dialGuard(o.AllowPrivate)}
	t := &http.Transport{DisableKeepAlives: true, MaxResponseHeaderBytes: fetchHeaderBytes, DialContext: dialer.DialContext}
	if o.Proxy == nil {
		return t, nil
	}
	proxy, err := o.Proxy(u)
	if err != nil {
		return nil, fmt.Errorf("find proxy: %w", err)
	}
	if proxy != nil {
		t.Proxy = http.ProxyURL(proxy)
		dialer.ControlContext = nil // what is dialled is the proxy
	}
	return t, nil
}
