// Package modeltest is a scripted server of the Messages API for tests and demonstrations, what httptest is for HTTP.
//
// Terms. A Player decides what a request is answered with; a Reply is such an answer, a whole message, a failure, or a
// message that breaks off on the way. A refusal is an answer 400 (or 401, 404, 413) that the server gives by itself
// because the real endpoint would not accept the request either; it is recorded as a Problem and fails the test that
// Start was given. A mark is a cache_control on a tool or block; a unit is what a cache can end behind: one tool, one
// block of the system text, one block of a message.
//
// The server keeps nothing of a conversation that its answers depend on: a Player sees the request and should answer by
// its content alone, so that a client that was killed and comes back gets an answer that fits what it has. What the
// server does remember (thinking it has signed, prefixes it has cached, paused answers) only makes it stricter or more
// exact in its accounts.
//
// Trust. It listens on the loopback interface only and never calls anything. Requests come from a client under test and
// may be any bytes; a Player is trusted code.
package modeltest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// DefaultKey is the API key a server expects unless Options.Key says otherwise. It is no secret.
const DefaultKey = "modeltest-key"

// Options of a Server. The zero value is a server that answers every acceptable request with the text "ok".
type Options struct {
	// Player answers; nil says "ok". It is called from several goroutines at once.
	Player Player

	// Key is what clients must send, as x-api-key or as a bearer token. "" is DefaultKey.
	Key string
	// Addr is the loopback address to listen on. "" is a free port of 127.0.0.1.
	Addr string
	// Pipe serves connections in memory instead of on a socket; clients come in through Server.Dial. It is meant for
	// testing/synctest, where waiting for a real socket stops the fake clock.
	Pipe bool

	// BindThinking makes a thinking signature cover the system text, the set of tools and all messages before it, as
	// the newer models do. Signatures that this package did not make are then refused. Off, a signature covers the
	// thinking itself, and foreign ones are accepted.
	BindThinking bool

	// Models adds to or replaces the built-in table; a model in neither is answered with 404.
	Models map[string]Model
	// Window replaces the context window of every model, in tokens. 0 leaves the table's.
	Window int
	// NoModelInfo answers GET /v1/models/{id} with 404, as many gateways do.
	NoModelInfo bool

	// NoSearch refuses the API's own search of the web, as endpoints do that have none. The zero value has it.
	NoSearch Refusal

	// BytesPerToken is how many bytes of JSON count as one token, 4 by default.
	BytesPerToken int
	// MinCache is the length in tokens below which a prefix is silently not cached. The real endpoint has 512 to 4096
	// by model; the default here is 0.
	MinCache int

	// Roles are tried in order before the built-in recognition of Request.Role.
	Roles []RoleRule

	// Allow says of a Problem that the test expects it: it is recorded but does not fail the test. Nil allows none.
	Allow func(Problem) bool
	// OnRequest is told of every request that was not refused, before Player is asked. Nil is told nothing.
	OnRequest func(*Request)

	// Now is the clock of cache expiry and of Request.At; nil is time.Now.
	Now func() time.Time
}

// Server is a running server. Its methods are safe for concurrent use.
type Server struct {
	// URL is the base URL, without a path: http://127.0.0.1:port.
	URL string
	// Key is the key that clients must send.
	Key string

	opts     Options
	listener net.Listener
	http     *http.Server
	closing  chan struct{}
	work     sync.WaitGroup // Serve and the handlers

	mu       sync.Mutex // guards everything below
	closed   bool
	down     error
	records  []*Record
	problems []Problem
	report   func(Problem)
	attempts map[digest]int
	cache    *cache
	memory   *memory
}

// New starts a server. The caller closes it.
func New(opts Options) (*Server, error) {
	listener, err := listen(opts)
	if err != nil {
		return nil, fmt.Errorf("start model server: %w", err)
	}
	s := newServer(opts, listener)
	s.work.Go(func() { _ = s.http.Serve(listener) }) // returns when Close closes it
	return s, nil
}

func newServer(opts Options, listener net.Listener) *Server {
	if opts.Player == nil {
		opts.Player = Say("ok")
	}
	if opts.Key == "" {
		opts.Key = DefaultKey
	}
	if opts.BytesPerToken <= 0 {
		opts.BytesPerToken = 4
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	s := &Server{
		URL: "http://" + listener.Addr().String(), Key: opts.Key, opts: opts, listener: listener,
		closing:  make(chan struct{}),
		attempts: map[digest]int{}, cache: newCache(opts.MinCache), memory: newMemory(),
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/messages", s.serveMessages)
	mux.HandleFunc("GET /v1/models/{id}", s.serveModel)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.refuse(w, s.arrive(r), &refusal{http.StatusNotFound, "not_found_error", "Not Found", KindInvalid})
	})
	s.http = &http.Server{Handler: s.counted(mux), ReadHeaderTimeout: time.Minute}
	return s
}

func listen(opts Options) (net.Listener, error) {
	if opts.Pipe {
		return newPipe(), nil
	}
	addr := opts.Addr
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("listen on %s: not a loopback address", addr)
	}
	return net.Listen("tcp", addr)
}

// TB is the part of testing.TB that Start needs; declared here so that programs with a demonstration do not link the
// testing package.
type TB interface {
	Helper()
	Cleanup(func())
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Start starts a server for one test. A request that had to be refused, or that the Player had no answer for, fails the
// test at once unless Options.Allow allows it; the server is closed when the test ends.
func Start(t TB, opts Options) *Server {
	t.Helper()
	s, err := New(opts)
	if err != nil {
		t.Fatalf("%v", err)
		return nil
	}
	s.mu.Lock()
	s.report = func(p Problem) { t.Errorf("model server refused a request: %v", p) }
	s.mu.Unlock()
	t.Cleanup(s.Close)
	return s
}

// ListenAndServe runs a server on a loopback address until ctx is done, which is no error.
func ListenAndServe(ctx context.Context, addr string, opts Options) error {
	opts.Addr = addr
	s, err := New(opts)
	if err != nil {
		return err
	}
	defer s.Close()
	<-ctx.Done()
	return nil
}

// Close ends all answers, held and silent ones included, closes all connections and waits for what it has started.
func (s *Server) Close() {
	s.mu.Lock()
	first := !s.closed
	s.closed = true
	s.mu.Unlock()
	if first {
		close(s.closing)
		_ = s.http.Close()
	}
	s.work.Wait()
}

// Requests returns what has come in so far, refused requests included, in the order of arrival. The records are
// copies; what they point to must not be changed.
func (s *Server) Requests() []Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Record, len(s.records))
	for i, r := range s.records {
		out[i] = *r
	}
	return out
}

// Problems returns what clients and the Player did wrong so far, allowed problems included.
func (s *Server) Problems() []Problem {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Problem(nil), s.problems...)
}

// CacheStats returns the accounts of the cache over all answers so far.
func (s *Server) CacheStats() CacheStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cache.stats
}

// counted makes Close wait for the handlers and turns away what comes after it.
func (s *Server) counted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		if s.closed {
			s.mu.Unlock()
			panic(http.ErrAbortHandler)
		}
		s.work.Add(1)
		s.mu.Unlock()
		defer s.work.Done()
		next.ServeHTTP(w, r)
	})
}

var errDown = errors.New("connection refused")
