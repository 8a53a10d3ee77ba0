package modeltest

import (
	"context"
	"net"
	"sync"
)

// pipe is a listener whose connections are pairs of net.Pipe.
type pipe struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newPipe() *pipe { return &pipe{conns: make(chan net.Conn), done: make(chan struct{})} }

type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return "127.0.0.1:80" }

// Accept implements net.Listener.
func (p *pipe) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (p *pipe) Close() error {
	p.once.Do(func() { close(p.done) })
	return nil
}

// Addr implements net.Listener.
func (p *pipe) Addr() net.Addr { return pipeAddr{} }

func (p *pipe) dial(ctx context.Context) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p.conns <- server:
		return client, nil
	case <-p.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Dial connects to the server whatever the address; it fits http.Transport.DialContext. While Down is in effect it
// fails with that error.
func (s *Server) Dial(ctx context.Context, network, _ string) (net.Conn, error) {
	s.mu.Lock()
	err := s.down
	s.mu.Unlock()
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: err}
	}
	if p, ok := s.listener.(*pipe); ok {
		return p.dial(ctx)
	}
	var d net.Dialer
	return d.DialContext(ctx, "tcp", s.listener.Addr().String())
}

// Down makes every later Dial fail with err, a *net.DNSError or syscall.ECONNREFUSED for one, until Up. Connections
// that are open stay open. A nil err is a refused connection.
func (s *Server) Down(err error) {
	if err == nil {
		err = errDown
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = err
}

// Up ends Down.
func (s *Server) Up() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = nil
}
