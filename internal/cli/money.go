package cli

import (
	"errors"
	"math"
	"strconv"

	"flower/agent"
	"flower/internal/config"
	"flower/internal/text"
	"flower/messages"
	"flower/transcript"
)

// prices reads the person's table of prices; nil if there is none.
func prices(file config.File) (messages.Prices, error) {
	if file.Data == nil {
		return nil, nil
	}
	table, err := messages.ParsePrices(file.Data)
	var bad *messages.PriceError
	if errors.As(err, &bad) {
		return nil, &config.FileError{Path: file.Path, Line: bad.Line, Why: config.BadPrices, Err: err}
	}
	return table, err
}

// cost writes what something has cost, in tokens as well where its price is not known in full.
func cost(p *text.Printer, usd float64, unpriced bool, u transcript.Usage) string {
	if !unpriced || u == (transcript.Usage{}) {
		return text.Dollars(usd, unpriced)
	}
	counts := p.Say("cost.tokens", text.Data{"In": text.Tokens(u.Context()), "Out": text.Tokens(u.Output)})
	if usd == 0 {
		return counts
	}
	return text.Dollars(usd, true) + " (" + counts + ")"
}

// budgetError is a run that has used up its money. It knows what to type to go on.
type budgetError struct {
	limit   *agent.LimitError
	command string // up to the new amount
	err     error
}

// Error implements error.
func (e *budgetError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *budgetError) Unwrap() error { return e.err }

// withMore makes an error that says how to go on of one that is about the money of the whole run.
func withMore(err error, command string) error {
	var limit *agent.LimitError
	if errors.As(err, &limit) && limit.WholeRun() {
		return &budgetError{limit, command, err}
	}
	return err
}

// outOfMoney says what was spent, of how much, and what to type.
func outOfMoney(p *text.Printer, e *budgetError) string {
	id := "budget.spent"
	if e.limit.SpentUSD < e.limit.CostUSD && e.limit.NextUSD > 0 {
		id = "budget.stopped"
	}
	return p.Say(id, text.Data{
		"Limit": plainDollars(e.limit.CostUSD), "Spent": text.Dollars(e.limit.SpentUSD, false),
		"Next": text.Dollars(e.limit.NextUSD, false), "Command": e.next(),
	})
}

// next is the command that goes on. A run counts from zero: twice the amount is enough for what stopped this one, unless
// that alone is more.
func (e *budgetError) next() string {
	more := math.Ceil(100*2*max(e.limit.CostUSD, e.limit.NextUSD)) / 100
	return e.command + " " + strconv.FormatFloat(more, 'f', -1, 64)
}

// plainDollars is an amount as the person has written it.
func plainDollars(usd float64) string { return "$" + strconv.FormatFloat(usd, 'f', -1, 64) }

// unkeptBudget says, before anything is spent, that the budget cannot be kept for want of a price.
func (p *printer) unkeptBudget(model string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.noPrice(model)
}

// noPrice says once for each model that nobody knows its price, what follows, and what to do.
func (p *printer) noPrice(model string) {
	if p.unknown[model] {
		return
	}
	p.unknown[model] = true
	id := "price.unknown"
	if p.opts.budget > 0 {
		id = "price.nobudget"
	}
	data := text.Data{"Model": oneLine(model), "Path": p.opts.prices, "Budget": plainDollars(p.opts.budget)}
	p.say("! ", id, data)
}

// count adds what something has cost to the sums.
func (p *printer) count(usd float64, unpriced bool, u transcript.Usage) {
	p.total += usd
	p.unpriced = p.unpriced || unpriced
	p.usage = p.usage.Add(u)
}

// spent is the sum so far, for the last line.
func (p *printer) spent(usd float64, unpriced bool) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return cost(p.Printer, usd, unpriced, p.usage)
}

func (p *printer) budgetLow(ev agent.BudgetLow) {
	data := text.Data{"Spent": text.Dollars(ev.SpentUSD, p.unpriced), "Limit": plainDollars(ev.LimitUSD), "Agent": p.agentName(ev.Agent)}
	if ev.Agent == "" {
		p.say("! ", "budget.low", data)
		return
	}
	p.enter(ev.Path)
	p.say("! ", "budget.agent", data)
}

func (p *printer) wasted(ev agent.Wasted) {
	p.count(ev.CostUSD, ev.Low, ev.Usage)
	p.enter(ev.Path)
	id := "wasted.broken"
	if ev.Whole {
		id = "wasted.lost"
	}
	p.say("! ", id, text.Data{"Cost": cost(p.Printer, ev.CostUSD, ev.Low, ev.Usage)})
}

func (p *printer) cacheMissed(ev agent.CacheMissed) {
	p.enter(ev.Path)
	id := "cache.missed"
	if ev.ExtraUSD == 0 {
		id = "cache.unpriced"
	}
	p.say("! ", id, text.Data{
		"Tokens": text.Tokens(ev.Tokens), "Cost": text.Dollars(ev.ExtraUSD, false), "Age": text.Elapsed(ev.Age),
	})
}
