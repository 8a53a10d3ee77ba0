package agent

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// Retry says how often WithRetry tries and how long it waits. The zero value is the product's rule: 6 attempts with
// pauses of 4 s, doubled each time up to 120 s and varied by a quarter; a probe of the network every 15 s for an hour.
type Retry struct {
	Attempts int           // including the first; 0 is DefaultAttempts
	Base     time.Duration // before the second attempt; 0 is DefaultBase
	Max      time.Duration // 0 is DefaultMax

	Network    Network       // nil: the Model itself, if it is one; if not, an Offline failure uses up an attempt
	Interval   time.Duration // between two probes, and between requests to a portal; 0 is DefaultInterval
	MaxOffline time.Duration // how long an outage is waited out; 0 is DefaultMaxOffline, less does not limit
	// Until lets a request wait for a busy endpoint until then, beyond MaxOffline, and no longer than that for a limit of
	// which the endpoint says when it ends. Zero: such a limit is waited for up to DefaultMaxNamed.
	Until time.Time

	Room *Room // must have room before a request is sent again; nil always has

	Sleep func(context.Context, time.Duration) error // nil waits
	Rand  func() float64                             // in [0,1); nil is random
	Now   func() time.Time                           // the wall clock; nil is time.Now
}

// Defaults of Retry.
const (
	DefaultAttempts   = 6
	DefaultBase       = 4 * time.Second
	DefaultMax        = 120 * time.Second
	DefaultInterval   = 15 * time.Second
	DefaultMaxOffline = time.Hour
	// DefaultMaxNamed is enough for limits by the day. Who wants to wait for one by the week should say so.
	DefaultMaxNamed = 24 * time.Hour
)

const (
	probeTimeout = 5 * time.Second
	// jump is how far the wall clock must get ahead of the time that passed for the computer to have been asleep. Less
	// are corrections of the clock, and sleeps that connections survive.
	jump = time.Minute
	// glance is how often the wall clock is looked at in a long wait: after a sleep it may be over early.
	glance = time.Minute
	// maxSpread bounds what is added to a wait that the endpoint asked for, so that not all come back at once.
	maxSpread = 30 * time.Second
)

type retrying struct {
	model Model
	gate  *gate
	Retry
}

// WithRetry returns a Model that sends a request again after a transient or unknown failure. An outage is waited out and
// uses up no attempt: no network, a portal, or an endpoint that is busy; the error is *OutageError if that takes too
// long. Other failures use up an attempt each. Both are said through the sink (Waiting, OutageOver, Retrying); of several
// requests that wait for the same, one tells. Fatal failures, an overflow and a cancelled context are returned at once.
func WithRetry(m Model, r Retry) Model {
	if r.Attempts == 0 {
		r.Attempts = DefaultAttempts
	}
	for _, d := range []struct {
		value     *time.Duration
		otherwise time.Duration
	}{{&r.Base, DefaultBase}, {&r.Max, DefaultMax}, {&r.Interval, DefaultInterval}, {&r.MaxOffline, DefaultMaxOffline}} {
		if *d.value == 0 {
			*d.value = d.otherwise
		}
	}
	if r.Network == nil {
		r.Network, _ = m.(Network)
	}
	if r.Sleep == nil {
		r.Sleep = sleep
	}
	if r.Rand == nil {
		r.Rand = rand.Float64
	}
	if r.Now == nil {
		r.Now = time.Now
	}
	return &retrying{model: m, gate: newGate(), Retry: r}
}

// Generate implements Model.
func (m *retrying) Generate(ctx context.Context, req *ModelRequest, sink func(Delta)) (*Response, error) {
	if sink == nil {
		sink = func(Delta) {}
	}
	t := &trial{retrying: m, ctx: ctx, sink: sink}
	defer t.leave(false)
	for {
		began, wall := time.Now(), m.Now().Round(0)
		resp, err := m.model.Generate(ctx, req, t.hear)
		if ctx.Err() != nil && err != nil {
			return nil, err
		}
		var failure *ModelError
		if err == nil || !errors.As(err, &failure) || failure.Kind == Fatal || failure.Kind == Overflow || failure.NoRetry {
			t.leave(true)
			return resp, err // what is no failure of the endpoint, such as a request that cannot be encoded, stays as it is
		}
		asleep := m.Now().Round(0).Sub(wall)-time.Since(began) > jump
		if err := t.failed(failure, err, asleep); err != nil {
			return nil, err
		}
		if err := m.Room.Await(ctx); err != nil {
			return nil, err
		}
	}
}

// trial is one request on its way through failures. The goroutine of its Generate owns it.
type trial struct {
	*retrying
	ctx  context.Context
	sink func(Delta)

	attempts int    // used up
	refused  int    // answers of a busy endpoint
	waits    Outage // for which it stands in the gate

	since time.Time     // when the outage began; zero: there is none
	slept time.Duration // in it; more than the clock says where Sleep does not wait
	named time.Duration // of it, what the endpoint asked for
}

// hear passes on a piece of an answer, which is the end of any outage.
func (t *trial) hear(d Delta) {
	t.leave(true)
	t.sink(d)
}

// failed waits until the request is to be sent again, or says why not.
func (t *trial) failed(failure *ModelError, err error, asleep bool) error {
	outage := failure.Outage
	switch {
	case asleep:
		outage = Offline // whatever it looks like: the connection did not live through it
	case outage == NoOutage && failure.RetryAfter > 0:
		outage = Busy
	}
	if t.Network != nil && (outage == Offline || outage == Portal) {
		t.Network.CloseIdle()
	}
	switch outage {
	case Offline:
		if t.Network == nil {
			break
		}
		gone := t.probe()
		switch {
		case t.ctx.Err() != nil:
			return context.Cause(t.ctx)
		case gone:
			return t.awaitNetwork(err)
		case asleep:
			t.sink(Waiting{Outage: Offline, Err: err, Since: t.Now(), Known: true})
			return nil
		}
	case Portal:
		return t.await(Portal, t.vary(t.Interval), 0, err)
	case Busy:
		t.refused++
		return t.await(Busy, t.pause(t.refused), failure.RetryAfter, err)
	case NoOutage:
	}
	return t.again(err)
}

// again uses up an attempt.
func (t *trial) again(err error) error {
	t.leave(true) // whatever it waited for, it got further
	t.since, t.slept, t.named = time.Time{}, 0, 0
	if t.attempts++; t.attempts >= t.Attempts {
		return err
	}
	wait := t.pause(t.attempts)
	t.sink(Retrying{Attempt: t.attempts, Wait: wait, Err: err})
	return t.Sleep(t.ctx, wait)
}

// await waits for an outage that only another request can tell the end of: pause, or longer if the endpoint asks for it.
func (t *trial) await(o Outage, pause, asked time.Duration, err error) error {
	now := t.begin()
	if asked <= pause { // a short one must not make us hurry
		left, limited := t.left(o, now)
		if limited && left <= 0 {
			return &OutageError{Outage: o, Waited: t.waited(now), Err: err}
		}
		if limited {
			pause = min(pause, left)
		}
		t.enter(o, now, time.Time{}, err)
		return t.rest(pause)
	}
	until := now.Add(asked)
	if !t.mayWait(o, now, until) {
		return &OutageError{Outage: o, Waited: t.waited(now), Until: until, Err: err}
	}
	t.enter(o, now, until, err)
	t.named += asked
	return t.rest(asked + time.Duration(t.Rand()*float64(min(asked/10, maxSpread))))
}

// awaitNetwork probes until the network is back, or lets another request do so.
func (t *trial) awaitNetwork(err error) error {
	t.enter(Offline, t.begin(), time.Time{}, err)
	returned := t.gate.returned()
	select {
	case <-t.ctx.Done():
		return context.Cause(t.ctx)
	case <-returned:
	case t.gate.turn <- struct{}{}:
		err = t.watch(returned, err)
		<-t.gate.turn
		if err != nil {
			return err
		}
	}
	t.leave(true)
	t.Network.CloseIdle()
	return nil
}

// watch probes for all requests that wait for the network.
func (t *trial) watch(returned <-chan struct{}, err error) error {
	select {
	case <-returned: // while this one waited for its turn
		return nil
	default:
	}
	for {
		now := t.Now()
		left, limited := t.left(Offline, now)
		if limited && left <= 0 {
			return &OutageError{Outage: Offline, Waited: t.waited(now), Err: err}
		}
		wait := t.Interval
		if limited {
			wait = min(wait, left)
		}
		if err := t.rest(wait); err != nil {
			return err
		}
		if !t.probe() {
			t.gate.open()
			return nil
		}
		if t.ctx.Err() != nil {
			return context.Cause(t.ctx)
		}
	}
}

// probe says whether the network is gone.
func (t *trial) probe() bool {
	ctx, cancel := context.WithTimeout(t.ctx, probeTimeout)
	defer cancel()
	return t.Network.Probe(ctx) != nil
}

// begin notes the beginning of an outage, if it is one, and returns the time.
func (t *trial) begin() time.Time {
	now := t.Now()
	if t.since.IsZero() {
		t.since = now
	}
	return now
}

// waited is how long the outage has lasted. The time a computer sleeps does not count: nobody tried.
func (t *trial) waited(now time.Time) time.Duration { return max(t.slept, now.Sub(t.since)) }

// left is how much longer an outage may be waited out, if that is limited. What the endpoint asked for is not taken off.
func (t *trial) left(o Outage, now time.Time) (left time.Duration, limited bool) {
	if t.MaxOffline < 0 {
		return 0, false
	}
	left = t.MaxOffline - (t.waited(now) - t.named)
	if o == Busy && !t.Until.IsZero() {
		left = max(left, t.Until.Sub(now))
	}
	return left, true
}

// mayWait says whether a wait to a time that the endpoint named is wanted.
func (t *trial) mayWait(o Outage, now, until time.Time) bool {
	left, limited := t.left(o, now)
	latest := t.Until
	if latest.IsZero() {
		latest = t.since.Add(DefaultMaxNamed)
	}
	return !limited || until.Sub(now) <= left || !until.After(latest)
}

// enter says that this request waits.
func (t *trial) enter(o Outage, now, until time.Time, err error) {
	if t.waits != o {
		t.leave(true)
	}
	since, news := t.gate.enter(o, t.waits == o, now, until)
	t.waits = o
	left, _ := t.left(o, now)
	t.sink(Waiting{Outage: o, Err: err, Since: since, Limit: left, Until: until, Known: !news})
}

// leave says that this request waits no longer: because the outage is over, or because it gives up.
func (t *trial) leave(over bool) {
	if t.waits == NoOutage {
		return
	}
	o := t.waits
	t.waits = NoOutage
	if since, last := t.gate.leave(o); last && over {
		t.sink(OutageOver{Outage: o, Waited: t.Now().Round(0).Sub(since.Round(0))})
	}
}

// rest waits, by the clock on the wall if the computer sleeps meanwhile.
func (t *trial) rest(d time.Duration) error {
	end := t.Now().Round(0).Add(d)
	for d > 0 {
		step := min(d, glance)
		if err := t.Sleep(t.ctx, step); err != nil {
			return err
		}
		t.slept += step
		d -= step
		if !t.Now().Round(0).Before(end) {
			return nil
		}
	}
	return nil
}

// pause is the wait after failure n: Base doubled n-1 times, at most Max, varied.
func (m *retrying) pause(n int) time.Duration {
	wait := m.Base
	for i := 1; i < n && wait < m.Max; i++ {
		wait *= 2
	}
	return m.vary(min(wait, m.Max))
}

// vary changes a wait by a quarter at most, either way.
func (m *retrying) vary(wait time.Duration) time.Duration {
	return wait + time.Duration((m.Rand()-0.5)/2*float64(wait))
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
