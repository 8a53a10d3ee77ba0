package agent

import (
	"time"

	"flower/transcript"
)

// carried is what the next request of a conversation takes over from the last answer.
type carried struct {
	usage transcript.Usage // of the last answer
	model string           // that gave it; "" if another process has asked
	// whole says that all of the last request is in the next one too, and that its usage counts it once: of an answer with
	// searches the context is counted once for each of them.
	whole bool
	// resumed says that the last answer is of an earlier run, and at when it was.
	resumed bool
	at      time.Time
}

// carriedOver is what a stored answer leaves for the next request.
func carriedOver(e transcript.Entry) carried {
	at, _ := time.Parse(time.RFC3339, e.Timestamp) // one that cannot be read is long ago
	return carried{usage: e.Message.Usage, whole: e.Message.Usage.Searches == 0, resumed: true, at: at}
}

// loaded takes into account what was made of the stored history: if anything of it is not sent any more, nobody knows
// how much is left.
func (c *carried) loaded(r transcript.Report) {
	if len(r.Dropped) > 0 || len(r.Repaired) > 0 || r.Damaged+r.Expired+r.Trimmed+r.Denials+r.Thinking+r.Oversize+r.Searches > 0 {
		c.whole = false
	}
}

// least is what the next request costs at least, in USD: what the one before has read from the cache or written there
// is read from it again at best, and the rest of it is no cheaper than it was. What was said since, and the answer, come
// on top; of those nothing is known.
func (c *conversation) least() float64 {
	if !c.carried.whole {
		return 0
	}
	u := c.carried.usage
	u = transcript.Usage{Input: u.Input, CacheRead: u.CacheRead + u.CacheWrite}
	if usd, known := c.engine.opts.Price(c.carried.model, u); known {
		return usd
	}
	usd, _ := c.engine.opts.Price(c.model(), u)
	return usd
}

// checkLimits says whether another request may be sent.
func (c *conversation) checkLimits() error {
	if c.closing {
		if c.result.Turns >= closingTurns {
			return &LimitError{Turns: closingTurns, Agent: agentName(c.spec), meter: c.meter}
		}
		return nil
	}
	if n := c.spec.Limits.Turns; n > 0 && c.result.Turns >= n {
		return &LimitError{Turns: n, Agent: agentName(c.spec), meter: c.meter}
	}
	return c.meter.check(c.least())
}

// model is the model that is asked.
func (c *conversation) model() string { return firstOf(c.spec.Model, c.engine.opts.ModelName) }

// waste counts an answer that has begun and did not come to its end; nil is none.
func (c *conversation) waste(begun *Begun) {
	if begun == nil {
		return
	}
	model := firstOf(begun.Model, c.model())
	usd, _ := c.engine.opts.Price(model, begun.Usage)
	c.warnings = append(c.warnings, c.meter.pay(0, begun.Usage, usd, true)...)
	c.emit(Wasted{Path: c.path, Usage: begun.Usage, CostUSD: usd, Low: true})
	c.warn()
}

// tellMoney says what is to be said about the money of an answer, and keeps it for the next request.
func (c *conversation) tellMoney(resp *Response) {
	if missed, ok := c.missed(resp); ok {
		c.emit(missed)
	}
	c.carried = carried{usage: resp.Message.Usage, model: resp.Message.Model, whole: resp.Message.Usage.Searches == 0}
	c.warn()
}

func (c *conversation) warn() {
	for _, w := range c.warnings {
		w.Path = c.path
		c.emit(w)
	}
	c.warnings = nil
}

// missed compares the first answer after a resume with what the last one before had left in the cache.
func (c *conversation) missed(resp *Response) (CacheMissed, bool) {
	was, now := c.carried, resp.Message.Usage
	cached := was.usage.CacheRead + was.usage.CacheWrite
	if !was.resumed || was.usage.Searches > 0 || now.CacheRead >= cached/2 {
		return CacheMissed{}, false
	}
	// What was sent is counted in the classes that were charged for it: written first, the rest plain.
	again := min(cached-now.CacheRead, now.CacheWrite+now.Input)
	read := now
	fromWrite := min(again, now.CacheWrite)
	read.CacheWrite -= fromWrite
	read.CacheWrite1h = min(now.CacheWrite1h, read.CacheWrite)
	read.Input -= again - fromWrite
	read.CacheRead += again
	asIs, known := c.engine.opts.Price(resp.Message.Model, now)
	asRead, _ := c.engine.opts.Price(resp.Message.Model, read)
	m := CacheMissed{Path: c.path, Tokens: again, Age: max(0, c.engine.opts.Now().Sub(was.at))}
	if known {
		m.ExtraUSD = max(0, asIs-asRead)
	}
	return m, again > 0
}
