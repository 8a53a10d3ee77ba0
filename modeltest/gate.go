package modeltest

import "sync"

// Gate stops an answer at a point until a test lets it go on, so that tests wait for events instead of sleeping. It
// stays open once it is open. All methods are safe for concurrent use.
type Gate struct {
	reached, open         chan struct{}
	reachedOnce, openOnce sync.Once
}

// NewGate returns a closed gate.
func NewGate() *Gate { return &Gate{reached: make(chan struct{}), open: make(chan struct{})} }

// Reached is closed as soon as an answer stands before the gate.
func (g *Gate) Reached() <-chan struct{} { return g.reached }

// Open lets everything through, now and later.
func (g *Gate) Open() { g.openOnce.Do(func() { close(g.open) }) }

func (g *Gate) arrive() <-chan struct{} {
	g.reachedOnce.Do(func() { close(g.reached) })
	return g.open
}
