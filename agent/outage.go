package agent

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Outage says what a transient failure is a sign of beyond the request that met it. An outage is waited out; a failure
// that is a sign of nothing uses up an attempt.
type Outage int

// The outages.
const (
	NoOutage Outage = iota // the endpoint was there and failed
	Offline                // perhaps there is no network: Network.Probe tells
	Portal                 // something else answers in the endpoint's place: a page to sign in, a proxy that gets no further
	Busy                   // the endpoint is overloaded, or a limit of use is reached
)

// String is the outage's name in lower case.
func (o Outage) String() string {
	switch o {
	case Offline:
		return "offline"
	case Portal:
		return "portal"
	case Busy:
		return "busy"
	default:
		return "none"
	}
}

// Network is a Model's way to its endpoint. Implementations are safe for concurrent use.
type Network interface {
	// Probe says whether a connection to the endpoint, or to the proxy before it, can be made: nil if so. Nothing is
	// said on the connection, so it tells no secret and costs nothing. It returns when ctx ends.
	Probe(ctx context.Context) error
	// CloseIdle closes the connections that no request is using. After an outage they may be dead without a sign of it.
	CloseIdle()
}

// Waiting says that a request failed because of an outage and will be sent again when that is over. It uses up no
// attempt. Everything said of the answer before it is void.
type Waiting struct {
	Outage Outage
	Err    error     // of the request
	Since  time.Time // when the first of the requests that wait now began to wait
	// Limit is how much longer is waited at most; 0 does not limit.
	Limit time.Duration
	// Until is when the request is sent again, if the endpoint said when; zero: as soon as it makes sense.
	Until time.Time
	// Known: another request has said it already, so that nobody has to be told again.
	Known bool
}

// OutageOver says that an outage is over. Of all requests that waited for it one says so.
type OutageOver struct {
	Outage Outage
	Waited time.Duration // since the first of them began to wait
}

func (Waiting) delta()    {}
func (OutageOver) delta() {}

// OutageError is an outage that did not end in time. It wraps the *ModelError of the last request.
type OutageError struct {
	Outage Outage
	Waited time.Duration
	Until  time.Time // when the endpoint wants to be asked again; zero if it did not say
	Err    error
}

// Error implements error.
func (e *OutageError) Error() string {
	waited := e.Waited.Round(time.Second)
	switch {
	case !e.Until.IsZero():
		return fmt.Sprintf("the endpoint does not want to be asked before %s: %v", e.Until.Format(time.DateTime), e.Err)
	case e.Outage == Busy:
		return fmt.Sprintf("the endpoint stayed too busy for %v: %v", waited, e.Err)
	case e.Outage == Portal:
		return fmt.Sprintf("something else answered in place of the endpoint for %v: %v", waited, e.Err)
	}
	return fmt.Sprintf("the network did not come back in %v: %v", waited, e.Err)
}

// Unwrap returns the last request's error.
func (e *OutageError) Unwrap() error { return e.Err }

// gate is what the requests of a model know of each other's outages, so that one of them speaks for all and one of them
// probes for all. It is safe for concurrent use.
type gate struct {
	turn chan struct{} // of capacity 1: whoever has put something in probes for all

	mu    sync.Mutex
	halls [Busy + 1]hall
	back  chan struct{} // closed when a probe got through, and replaced
}

// hall is the requests that wait for the end of one outage.
type hall struct {
	waiting int
	since   time.Time // when the first of them came
	until   time.Time // what was said of when it ends
}

func newGate() *gate { return &gate{turn: make(chan struct{}, 1), back: make(chan struct{})} }

// enter counts a request in, unless it is. It returns since when requests wait for this outage, and whether that, or
// when it ends, has not been said yet.
func (g *gate) enter(o Outage, again bool, now, until time.Time) (since time.Time, news bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	h := &g.halls[o]
	if news = h.waiting == 0; news {
		h.since, h.until = now, time.Time{}
	}
	if !again {
		h.waiting++
	}
	const about = time.Minute // jitter and rounding are no news
	if until.Sub(h.until) > about && (!h.until.IsZero() || until.Sub(now) > about) {
		h.until, news = until, true
	}
	return h.since, news
}

// leave counts a request out. It returns since when requests have waited, and whether this was the last.
func (g *gate) leave(o Outage) (since time.Time, last bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	h := &g.halls[o]
	h.waiting--
	return h.since, h.waiting == 0
}

// returned is closed when a probe gets through from now on.
func (g *gate) returned() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.back
}

// open wakes all requests that wait for the network.
func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.back)
	g.back = make(chan struct{})
}
