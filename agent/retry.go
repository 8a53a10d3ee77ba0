package agent

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// Retry says how often and how long WithRetry tries. The zero value is the product's rule: 6 attempts, 4 s doubling up
// to 120 s, each varied by a quarter.
type Retry struct {
	Attempts int           // including the first; 0 is 6
	Base     time.Duration // before the second attempt; 0 is 4 s
	Max      time.Duration // 0 is 120 s

	Sleep func(context.Context, time.Duration) error // nil waits
	Rand  func() float64                             // in [0,1); nil is random
}

// Defaults of Retry.
const (
	DefaultAttempts = 6
	DefaultBase     = 4 * time.Second
	DefaultMax      = 120 * time.Second
)

type retrying struct {
	model Model
	Retry
}

// WithRetry returns a Model that sends a request again after a transient or unknown failure, with growing pauses, never
// shorter than the endpoint asks for. It says so through the sink. Fatal failures, an overflow and a cancelled context
// are returned at once.
func WithRetry(m Model, r Retry) Model {
	if r.Attempts == 0 {
		r.Attempts = DefaultAttempts
	}
	if r.Base == 0 {
		r.Base = DefaultBase
	}
	if r.Max == 0 {
		r.Max = DefaultMax
	}
	if r.Sleep == nil {
		r.Sleep = sleep
	}
	if r.Rand == nil {
		r.Rand = rand.Float64
	}
	return &retrying{model: m, Retry: r}
}

// Generate implements Model.
func (m *retrying) Generate(ctx context.Context, req *ModelRequest, sink func(Delta)) (*Response, error) {
	for attempt := 1; ; attempt++ {
		resp, err := m.model.Generate(ctx, req, sink)
		if err == nil || attempt >= m.Attempts || ctx.Err() != nil {
			return resp, err
		}
		var failure *ModelError
		if !errors.As(err, &failure) || failure.Kind == Fatal || failure.Kind == Overflow || failure.NoRetry {
			return nil, err // what is no failure of the endpoint, such as a request that cannot be encoded, stays as it is
		}
		wait := m.pause(attempt)
		if failure.RetryAfter > wait {
			wait = failure.RetryAfter
		}
		if sink != nil {
			sink(Retrying{Attempt: attempt, Wait: wait, Err: err})
		}
		if err := m.Sleep(ctx, wait); err != nil {
			return nil, err
		}
	}
}

// pause is the wait after attempt n: Base doubled n-1 times, at most Max, varied by a quarter either way.
func (m *retrying) pause(attempt int) time.Duration {
	wait := m.Base
	for i := 1; i < attempt && wait < m.Max; i++ {
		wait *= 2
	}
	wait = min(wait, m.Max)
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
