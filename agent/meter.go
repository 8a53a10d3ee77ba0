package agent

import (
	"sync"

	"flower/transcript"
)

// Meter adds up what was spent. It is safe for concurrent use; the zero value is ready. A meter with a parent passes
// everything on to it.
type Meter struct {
	parent *Meter

	mu       sync.Mutex
	usage    transcript.Usage
	cost     float64
	unpriced bool
}

// Child returns a meter whose spending also counts in m.
func (m *Meter) Child() *Meter { return &Meter{parent: m} }

// Add counts one answer.
func (m *Meter) Add(u transcript.Usage, costUSD float64, unpriced bool) {
	for ; m != nil; m = m.parent {
		m.mu.Lock()
		m.usage = m.usage.Add(u)
		m.cost += costUSD
		m.unpriced = m.unpriced || unpriced
		m.mu.Unlock()
	}
}

// Spent returns the sums so far.
func (m *Meter) Spent() (u transcript.Usage, costUSD float64, unpriced bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.usage, m.cost, m.unpriced
}
