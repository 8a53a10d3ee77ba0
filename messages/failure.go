package messages

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	anthropic "github.com/anthropics/anthropic-sdk-go/v2"

	"flower/agent"
)

const maxErrorText = 1024 // bytes

// failure makes the error of a request that got no answer: err is what the SDK said, res what came, if anything.
func (c *Client) failure(ctx context.Context, w *watchdog, res *http.Response, err error) error {
	var api *anthropic.Error
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &api):
		return c.refusal(api.StatusCode, api.Response.Header, []byte(api.RawJSON()))
	case res != nil && res.StatusCode/100 != 2 && res.StatusCode/100 != 3: // its body broke off, the status stands
		return c.refusal(res.StatusCode, res.Header, nil)
	case res != nil && res.StatusCode/100 == 3:
		body := fmt.Sprintf("redirected to %s, which is not followed: not online yet, or the base URL is wrong", res.Header.Get("Location"))
		return c.refusal(res.StatusCode, res.Header, []byte(body))
	}
	return c.unanswered(w, err)
}

// refusal makes the error of an answer with an error status.
func (c *Client) refusal(status int, header http.Header, body []byte) *agent.ModelError {
	kind, message, id := describe(body)
	e := &agent.ModelError{
		Kind: Classify(status, kind, string(body)), Status: status, Type: c.oneLine(kind), Message: c.oneLine(message),
		NoRetry:   strings.EqualFold(strings.TrimSpace(header.Get("x-should-retry")), "false"),
		RequestID: requestID(header),
	}
	if e.Kind == agent.Overflow {
		e.Window = statedWindow(message)
	}
	if e.Kind == agent.Transient {
		e.Outage = outageOf(status, kind)
	}
	if e.Message == "" {
		e.Message = strings.ToLower(http.StatusText(status))
	}
	if e.RequestID == "" {
		e.RequestID = c.oneLine(id)
	}
	e.RetryAfter, _ = RetryAfter(header.Get("retry-after"), c.now())
	return e
}

// brokenAnswer makes the error of an answer that began and was no good.
func (c *Client) brokenAnswer(ctx context.Context, w *watchdog, res *http.Response, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var e *agent.ModelError
	var said *reportedError
	var page *pageError
	var broken protocolError
	switch {
	case errors.As(err, &said):
		e = c.refusal(res.StatusCode, res.Header, said.raw)
	case errors.As(err, &page):
		e = &agent.ModelError{Kind: agent.Transient, Outage: agent.Portal, Message: c.oneLine(err.Error())}
	case errors.As(err, &broken):
		e = &agent.ModelError{Kind: agent.Transient, Message: c.oneLine(err.Error())}
	default:
		e = c.unanswered(w, err)
	}
	e.Status = res.StatusCode
	if e.RequestID == "" {
		e.RequestID = requestID(res.Header)
	}
	return e
}

// unanswered makes the error of a network that failed.
func (c *Client) unanswered(w *watchdog, err error) *agent.ModelError {
	if why, cause := w.gaveUp(); cause != nil {
		return &agent.ModelError{Kind: agent.Transient, Outage: agent.Offline, Message: why, Err: cause}
	}
	kind, outage := classifyNetwork(err)
	return &agent.ModelError{Kind: kind, Outage: outage, Message: c.oneLine(networkText(err)), Err: err}
}

// classifyNetwork goes by the type of the error; its text, which differs between systems, comes last.
func classifyNetwork(err error) (agent.ErrorKind, agent.Outage) {
	var (
		network net.Error
		op      *net.OpError
		dns     *net.DNSError
		record  tls.RecordHeaderError
		alert   tls.AlertError
		proxy   *proxyError
		errno   syscall.Errno
	)
	switch {
	case isCertificate(err), errors.As(err, &record), errors.As(err, &proxy), errors.Is(err, http.ErrSchemeMismatch):
		return agent.Transient, agent.Portal
	case errors.As(err, &dns), errors.As(err, &op), errors.As(err, &alert), errors.As(err, &errno),
		errors.As(err, &network) && network.Timeout(),
		errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed), errors.Is(err, context.DeadlineExceeded):
		return agent.Transient, agent.Offline
	}
	if kind := Classify(0, "", err.Error()); kind != agent.Transient {
		return kind, agent.NoOutage
	}
	return agent.Transient, agent.Offline
}

// isCertificate recognises a server that is not who it should be.
func isCertificate(err error) bool {
	var (
		verify    *tls.CertificateVerificationError
		authority x509.UnknownAuthorityError
		host      x509.HostnameError
		invalid   x509.CertificateInvalidError
	)
	return errors.As(err, &verify) || errors.As(err, &authority) || errors.As(err, &host) || errors.As(err, &invalid)
}

func networkText(err error) string {
	if isCertificate(err) {
		return "the certificate is not trusted, perhaps a portal answers in place of the endpoint: " + err.Error()
	}
	return err.Error()
}

// reported makes the error of an endpoint that says something else than an answer under status 200.
func reported(data []byte) error {
	kind, _, _ := describe(data)
	return &reportedError{name: kind, raw: data}
}

// describe reads the type, the message and the request id of an error in the forms that endpoints use. What is no JSON
// is the message itself.
func describe(body []byte) (kind, message, id string) {
	text := strings.TrimSpace(string(body[:min(len(body), maxErrorBody)]))
	if strings.HasPrefix(text, "<") {
		return "", "a web page: " + pageTitle(text), ""
	}
	var v struct {
		Error     json.RawMessage `json:"error"`
		Message   json.RawMessage `json:"message"`
		Detail    json.RawMessage `json:"detail"`
		RequestID json.RawMessage `json:"request_id"`
	}
	if json.Unmarshal(body, &v) != nil {
		return "", text, ""
	}
	var inner struct {
		Type    json.RawMessage `json:"type"`
		Message json.RawMessage `json:"message"`
	}
	_ = json.Unmarshal(v.Error, &inner) // a string, then: taken below
	for _, raw := range []json.RawMessage{inner.Message, v.Error, v.Message, v.Detail} {
		if s := stringOf(raw); s != "" {
			message = s
			break
		}
	}
	if message == "" {
		message = text
	}
	return stringOf(inner.Type), message, stringOf(v.RequestID)
}

func stringOf(raw json.RawMessage) string {
	var s string
	_ = json.Unmarshal(raw, &s) // anything else is as good as absent
	return s
}

var titleTag = regexp.MustCompile(`(?is)<(title|h1)[^>]*>(.*?)</`)

// pageTitle names a web page.
func pageTitle(page string) string {
	if m := titleTag.FindStringSubmatch(page); m != nil && strings.TrimSpace(m[2]) != "" {
		return fmt.Sprintf("%q", strings.TrimSpace(html.UnescapeString(m[2])))
	}
	return "without a title"
}

func requestID(h http.Header) string {
	for _, name := range []string{"request-id", "x-request-id"} {
		if id := h.Get(name); id != "" {
			return id[:min(len(id), 128)]
		}
	}
	return ""
}

// keyLike finds credentials that are not ours to know: a gateway may echo its own.
var keyLike = regexp.MustCompile(`(?i)\b(sk-|bearer\s+)[\w.~+/=-]{6,}`)

// oneLine makes a text fit for a log: one line, bounded, without keys, without control characters.
func (c *Client) oneLine(s string) string {
	for _, secret := range c.secrets {
		s = strings.ReplaceAll(s, secret, "***")
	}
	s = keyLike.ReplaceAllString(s, "${1}***")
	s = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r) {
			return ' '
		}
		return r
	}, s)
	s = strings.Join(strings.Fields(s), " ")
	if len(s) <= maxErrorText {
		return s
	}
	const dots = "…"
	return strings.ToValidUTF8(s[:maxErrorText-len(dots)], "") + dots
}
