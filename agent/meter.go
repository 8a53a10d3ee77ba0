package agent

import (
	"sync"

	"flower/transcript"
)

// Meter adds up what was spent and knows how much may be. It is safe for concurrent use. Everything counted in a child
// counts in its parents as well.
type Meter struct {
	parent   *Meter
	limitUSD float64

	mu       sync.Mutex
	usage    transcript.Usage
	cost     float64
	unpriced bool
}

// NewMeter returns a meter with a limit in USD; 0 does not limit.
func NewMeter(limitUSD float64) *Meter { return &Meter{limitUSD: limitUSD} }

// Child returns a meter with a limit of its own whose spending also counts in m, which may be nil.
func (m *Meter) Child(limitUSD float64) *Meter { return &Meter{parent: m, limitUSD: limitUSD} }

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

// check returns an error if this meter or one above it has reached its limit.
func (m *Meter) check() error {
	for ; m != nil; m = m.parent {
		if _, spent, _ := m.Spent(); m.limitUSD > 0 && spent >= m.limitUSD {
			return &LimitError{CostUSD: m.limitUSD, meter: m}
		}
	}
	return nil
}
