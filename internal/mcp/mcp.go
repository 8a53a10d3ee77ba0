//go:build unix

// Package mcp uses the tools of servers that speak the Model Context Protocol.
//
// Terms. A server is a program that is started here and spoken to over its standard input and output, or one that is
// reached over HTTP. A Set is the servers of one run. The list of a server's tools is asked for once, when the Set is
// opened, and stays as it is: it is part of what every request to a model begins with.
//
// Trust. Which programs are started is the person's to say; what servers answer is data. Lists, schemas and results are
// kept within bounds. A server that dies, hangs or answers nonsense makes a call fail and nothing else; the next call
// starts it again, once. A call is never repeated: nobody knows what it has done.
package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"flower/internal/proc"
)

// Options of a Set. The zero value is useful.
type Options struct {
	// Environ is the environment of programs, without credentials; what a server's definition adds comes on top.
	Environ []string
	// Dir is where programs run; "" is the current directory.
	Dir string
	// Commands starts programs and ends what they leave behind. Nil: the Set has one of its own.
	Commands *proc.Supervisor
	// Hurry, once closed, says that there is no time: programs that are being ended are killed. Nil: there always is.
	Hurry <-chan struct{}
	// Confine is called with the function that starts a program and must call it in the same goroutine, or return an
	// error. Nil confines nothing.
	Confine func(start func() error) error
	// Proxy finds the proxy for a URL; nil for none.
	Proxy func(*url.URL) (*url.URL, error)
	// StartTimeout is for starting a server and asking for its tools; 0 is 30 seconds.
	StartTimeout time.Duration
	// CallTimeout is for one call; 0 is 10 minutes.
	CallTimeout time.Duration
	// Version is what servers are told of flower.
	Version string
}

// Bounds of what servers say: product settings.
const (
	maxTools       = 200      // of one server
	maxDescription = 4000     // bytes
	maxSchema      = 64 << 10 // bytes
	maxName        = 128      // of a tool as the model calls it; the API's limit
	maxMessage     = 16 << 20 // bytes of one message, images in base 64 included
)

// Set is the servers of one run. It is safe for concurrent use.
type Set struct {
	clients []*client
	tools   []Tool
	faults  []error
	own     *proc.Supervisor // of programs, if the caller has none
}

// Open starts all servers at once and asks each for its tools. A server that fails is none of its error: see Faults. It
// returns when all have answered, their time is over, or ctx is done.
func Open(ctx context.Context, servers []Server, opts Options) *Set {
	opts.StartTimeout = cmp.Or(opts.StartTimeout, 30*time.Second)
	opts.CallTimeout = cmp.Or(opts.CallTimeout, 10*time.Minute)
	s := &Set{clients: make([]*client, len(servers))}
	if opts.Commands == nil {
		s.own = &proc.Supervisor{}
		opts.Commands = s.own
	}
	found := make([][]Tool, len(servers))
	faults := make([][]error, len(servers))
	var all sync.WaitGroup
	for i, server := range servers {
		s.clients[i] = &client{server: server, opts: opts}
		all.Go(func() { found[i], faults[i] = s.clients[i].list(ctx) })
	}
	all.Wait()
	for i := range servers {
		s.tools = append(s.tools, found[i]...)
		s.faults = append(s.faults, faults[i]...)
	}
	return s
}

// Tools are all tools, server by server, the same for the Set's life. A nil Set has none.
func (s *Set) Tools() []Tool {
	if s == nil {
		return nil
	}
	return s.tools
}

// Has says whether there is a server of that name, whether or not it has started.
func (s *Set) Has(server string) bool { return s != nil && s.client(server) != nil }

func (s *Set) client(server string) *client {
	for _, c := range s.clients {
		if c.server.Name == server {
			return c
		}
	}
	return nil
}

// Faults are what went wrong when the Set was opened: servers that did not start, tools that cannot be offered.
func (s *Set) Faults() []error { return s.faults }

// Call runs a tool. An error says why there is no result; it is for the model to read.
func (s *Set) Call(ctx context.Context, t Tool, input json.RawMessage) (Result, error) {
	c := s.client(t.Server)
	if c == nil {
		return Result{}, fmt.Errorf("there is no server %q", t.Server)
	}
	return c.call(ctx, t.Name, input)
}

// Close ends all servers and waits for them.
func (s *Set) Close() {
	if s == nil {
		return
	}
	var all sync.WaitGroup
	for _, c := range s.clients {
		all.Go(c.close)
	}
	all.Wait()
	if s.own != nil {
		s.own.Close()
	}
}

// client is one server. mu guards link; whoever needs a link while it is being made waits.
type client struct {
	server Server
	opts   Options

	mu     sync.Mutex
	closed bool
	link   *link // nil: not connected
}

// link is a connection that worked when it was made.
type link struct {
	session *sdk.ClientSession
	program *program      // nil over HTTP
	gone    chan struct{} // closed when the connection has ended
}

func (l *link) alive() bool {
	select {
	case <-l.gone:
		return false
	default:
		return true
	}
}

// end closes the connection and ends the program.
func (l *link) end() {
	if l.program != nil {
		l.program.end()
	}
	_ = l.session.Close() // nothing is expected of it any more
	<-l.gone
}

// connected returns a connection that lives, a new one if there is none.
func (c *client) connected(ctx context.Context) (*link, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, errors.New("servers are closed")
	}
	if c.link != nil && c.link.alive() {
		return c.link, nil
	}
	if c.link != nil {
		c.link.end()
		c.link = nil
	}
	limited, cancel := context.WithTimeout(ctx, c.opts.StartTimeout)
	defer cancel()
	l, err := c.connect(limited)
	if err != nil {
		if limited.Err() != nil && ctx.Err() == nil {
			return nil, &Error{Server: c.server.Name, Why: NoAnswer, Detail: c.opts.StartTimeout.String()}
		}
		return nil, &Error{Server: c.server.Name, Why: NotStarted, Err: err}
	}
	c.link = l
	return l, nil
}

func (c *client) connect(ctx context.Context) (*link, error) {
	l := &link{gone: make(chan struct{})}
	var transport sdk.Transport
	if c.server.URL != "" {
		transport = c.overHTTP()
	} else {
		var err error
		if l.program, err = start(c.server, c.opts); err != nil {
			return nil, err
		}
		transport = &sdk.IOTransport{Reader: l.program.Output, Writer: impatient{l.program.Input}, MaxLineLength: maxMessage}
	}
	session, err := sdk.NewClient(&sdk.Implementation{Name: "flower", Version: cmp.Or(c.opts.Version, "0")},
		&sdk.ClientOptions{Capabilities: &sdk.ClientCapabilities{}}).Connect(ctx, transport, nil)
	if err != nil {
		if l.program != nil {
			l.program.end()
			err = l.program.explain(err)
		}
		return nil, err
	}
	l.session = session
	go func() { // ends with the session, which end closes
		defer close(l.gone)
		_ = session.Wait()
	}()
	return l, nil
}

// overHTTP reaches a server by its URL. Redirects are not followed: headers are for one host.
func (c *client) overHTTP() sdk.Transport {
	base := &http.Transport{DisableKeepAlives: true}
	if c.opts.Proxy != nil {
		base.Proxy = func(r *http.Request) (*url.URL, error) { return c.opts.Proxy(r.URL) }
	}
	return &sdk.StreamableClientTransport{
		Endpoint: c.server.URL, DisableStandaloneSSE: true, MaxRetries: -1, MaxEventSize: maxMessage,
		HTTPClient: &http.Client{
			Transport:     withHeaders{base, c.server.Headers},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

type withHeaders struct {
	next    http.RoundTripper
	headers map[string]string
}

// RoundTrip implements http.RoundTripper.
func (h withHeaders) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for k, v := range h.headers {
		r.Header.Set(k, v)
	}
	answer, err := h.next.RoundTrip(r)
	if err == nil {
		answer.Body = http.MaxBytesReader(nil, answer.Body, maxMessage)
	}
	return answer, err
}

// list asks for the tools, and says what is wrong with those that cannot be offered.
func (c *client) list(ctx context.Context) (tools []Tool, faults []error) {
	l, err := c.connected(ctx)
	if err != nil {
		return nil, []error{err}
	}
	limited, cancel := context.WithTimeout(ctx, c.opts.StartTimeout)
	defer cancel()
	var theirs []*sdk.Tool
	for t, err := range l.session.Tools(limited, nil) {
		if err != nil {
			return nil, []error{&Error{Server: c.server.Name, Why: NotListed, Err: err}}
		}
		if len(theirs) == maxTools {
			faults = append(faults, &Error{Server: c.server.Name, Why: TooManyTools, Detail: strconv.Itoa(maxTools)})
			break
		}
		theirs = append(theirs, t)
	}
	names := c.names(theirs)
	seen := map[string]bool{}
	for i, t := range theirs {
		tool, bad := c.tool(t, names[i])
		if bad == nil && seen[tool.FullName] {
			bad = &Error{Why: ToolTwice}
		}
		if bad != nil {
			bad.Server, bad.Tool = c.server.Name, t.Name
			faults = append(faults, bad)
			continue
		}
		seen[tool.FullName] = true
		tools = append(tools, tool)
	}
	return tools, faults
}

// call runs a tool on a connection that lives.
func (c *client) call(ctx context.Context, name string, input json.RawMessage) (Result, error) {
	l, err := c.connected(ctx)
	if err != nil {
		return Result{}, err
	}
	limited, cancel := context.WithTimeout(ctx, c.opts.CallTimeout)
	defer cancel()
	answer, err := l.session.CallTool(limited, &sdk.CallToolParams{Name: name, Arguments: input})
	switch {
	case err == nil && answer.NeedsInput():
		return Result{}, fmt.Errorf("server %s wants to be told something that nobody here can say", c.server.Name)
	case err == nil:
		return resultOf(answer), nil
	case ctx.Err() != nil:
		return Result{}, errors.New("interrupted; what the call has done is not known")
	case limited.Err() != nil && !l.answers(ctx):
		c.drop(l)
		return Result{}, fmt.Errorf("no answer within %s, and the server answers nothing else either; what the call has done is not known, the next call starts it again", c.opts.CallTimeout)
	case limited.Err() != nil:
		return Result{}, fmt.Errorf("no answer within %s; what the call has done is not known", c.opts.CallTimeout)
	case !l.alive() || broke(err) || !refusedBy(err) && !l.answers(ctx):
		if l.program != nil {
			err = l.program.explain(err)
		}
		c.drop(l)
		return Result{}, fmt.Errorf("server %s has ended; what the call has done is not known, the next call starts it again: %w", c.server.Name, err)
	}
	return Result{}, fmt.Errorf("server %s: %w", c.server.Name, err)
}

// answers says whether the server says anything at all: one that is slow does, one that hangs does not, and would keep every
// later call waiting as long as this one.
func (l *link) answers(ctx context.Context) bool {
	limited, cancel := context.WithTimeout(ctx, pingTime)
	defer cancel()
	err := l.session.Ping(limited, nil)
	return limited.Err() == nil && (err == nil || !broke(err)) // that it knows no ping is an answer
}

// refusedBy says whether an error is what the server has answered: then there is nothing wrong with the connection.
func refusedBy(err error) bool {
	var wire *jsonrpc.Error
	return errors.As(err, &wire)
}

// broke says of the error of a call that the connection has ended; that it has may be seen there first.
func broke(err error) bool {
	return errors.Is(err, sdk.ErrConnectionClosed) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, io.ErrClosedPipe) || errors.Is(err, os.ErrClosed) || errors.Is(err, syscall.EPIPE) || errors.Is(err, os.ErrDeadlineExceeded)
}

// drop gives up a connection, unless another one is there already.
func (c *client) drop(l *link) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.link == l {
		l.end()
		c.link = nil
	}
}

func (c *client) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	if c.link != nil {
		c.link.end()
		c.link = nil
	}
}
