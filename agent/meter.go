package agent

import (
	"fmt"
	"strconv"
	"sync"

	"flower/transcript"
)

// budgetWarning is the part of a limit at which the person is told that it comes near.
const budgetWarning = 0.8

// Meter adds up what was spent and knows how much may be. It is safe for concurrent use. Everything counted in a child
// counts in its parents as well. The zero Meter has no limit.
//
// What requests on their way will cost at least is held until their answers come, so that agents at work side by side
// cannot all spend the same last dollar.
type Meter struct {
	parent *Meter
	limit  float64 // USD; 0 does not limit
	agent  string  // Spec.Name of the agent whose limit it is; "" for one that is shared
	exempt bool    // no limit stops it, those of its parents included

	mu sync.Mutex // of the whole tree; only the root's is used

	// Guarded by the root's mu.
	usage  transcript.Usage
	spent  float64 // USD
	held   float64 // USD, the least that requests on their way will cost
	low    bool    // the sum is a lower bound
	warned bool
}

// NewMeter returns a meter with a limit in USD; 0 does not limit.
func NewMeter(limitUSD float64) *Meter { return &Meter{limit: limitUSD} }

// Child returns a meter with a limit of its own whose spending also counts in m, which may be nil.
func (m *Meter) Child(limitUSD float64) *Meter { return &Meter{parent: m, limit: limitUSD} }

// ofAgent returns the meter of one run of an agent; one that is exempt is stopped by no limit, neither its own nor one
// above it.
func (m *Meter) ofAgent(s Spec, exempt bool) *Meter {
	return &Meter{parent: m, limit: s.Limits.CostUSD, agent: agentName(s), exempt: exempt}
}

// agentName is what a limit's owner is called.
func agentName(s Spec) string { return firstOf(s.Name, "agent") }

// Add counts what was paid for; low says that it was more.
func (m *Meter) Add(u transcript.Usage, costUSD float64, low bool) { m.pay(0, u, costUSD, low) }

// Spent returns the sums so far; low says that the cost is a lower bound.
func (m *Meter) Spent() (u transcript.Usage, costUSD float64, low bool) {
	defer m.lock().Unlock()
	return m.usage, m.spent, m.low
}

// lock locks the tree.
func (m *Meter) lock() *sync.Mutex {
	for m.parent != nil {
		m = m.parent
	}
	m.mu.Lock()
	return &m.mu
}

// check returns an error if a limit is reached, or would certainly be passed by a request that costs at least leastUSD.
func (m *Meter) check(leastUSD float64) error {
	defer m.lock().Unlock()
	return m.fits(leastUSD)
}

// hold is check, and sets leastUSD aside until it is given back to pay.
func (m *Meter) hold(leastUSD float64) error {
	defer m.lock().Unlock()
	if err := m.fits(leastUSD); err != nil {
		return err
	}
	for ; m != nil; m = m.parent {
		m.held += leastUSD
	}
	return nil
}

func (m *Meter) fits(leastUSD float64) error {
	for ; m != nil && !m.exempt; m = m.parent {
		if m.limit > 0 && (m.spent >= m.limit || m.spent+m.held+leastUSD > m.limit) {
			return &LimitError{CostUSD: m.limit, SpentUSD: m.spent, NextUSD: m.held + leastUSD, Agent: m.agent, meter: m}
		}
	}
	return nil
}

// pay counts what was paid for and gives back what was held for it. It returns a warning for every limit of which four
// fifths are now spent for the first time.
func (m *Meter) pay(heldUSD float64, u transcript.Usage, costUSD float64, low bool) (warnings []BudgetLow) {
	defer m.lock().Unlock()
	for ; m != nil; m = m.parent {
		m.usage = m.usage.Add(u)
		m.spent += costUSD
		m.low = m.low || low
		m.held = max(0, m.held-heldUSD)
		if m.limit > 0 && !m.warned && m.spent >= budgetWarning*m.limit {
			m.warned = true
			warnings = append(warnings, BudgetLow{SpentUSD: m.spent, LimitUSD: m.limit, Agent: m.agent})
		}
	}
	return warnings
}

// LimitError is a run stopped by one of its limits, before the request that would have passed it. The session is whole:
// it goes on where it stopped when it is run with more.
type LimitError struct {
	Turns int // the limit, if turns ran out

	CostUSD  float64 // the limit, if money ran out
	SpentUSD float64 // of it
	NextUSD  float64 // the least that the next request, and those on their way, would add; 0 if that is not known
	Agent    string  // Spec.Name of the agent that has this limit; "" if it is that of Request.Meter, of the whole run

	meter *Meter
}

// WholeRun says that the money of the whole run is spent, so that nothing else in it can go on either.
func (e *LimitError) WholeRun() bool { return e.Turns == 0 && e.Agent == "" }

// Error implements error.
func (e *LimitError) Error() string {
	if e.Turns > 0 {
		return fmt.Sprintf("limit of %d turns reached", e.Turns)
	}
	said := fmt.Sprintf("budget of $%s is used up: $%s spent", amount(e.CostUSD), amount(e.SpentUSD))
	if e.SpentUSD < e.CostUSD && e.NextUSD > 0 {
		said += fmt.Sprintf(", and going on costs at least $%s", amount(e.NextUSD))
	}
	return said
}

// amount writes dollars as they are, up to a thousandth of a cent.
func amount(usd float64) string {
	const digits = 1e5
	if rounded := float64(int64(usd*digits+0.5)) / digits; rounded > 0 && usd < 1e9 {
		usd = rounded
	}
	return strconv.FormatFloat(usd, 'f', -1, 64)
}
