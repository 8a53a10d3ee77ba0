package agent_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"flower/agent"
)

// line is an endpoint and the way to it, as a list of what each request meets. It is safe for concurrent use.
type line struct {
	mu       sync.Mutex
	meets    []error // one each; then answers
	hold     time.Duration
	up       time.Time // probes fail before it
	requests []time.Time
	probes   []time.Time
	closed   int
	hears    bool // an answer is heard before it breaks off
}

func (l *line) Generate(ctx context.Context, _ *agent.ModelRequest, sink func(agent.Delta)) (*agent.Response, error) {
	l.mu.Lock()
	l.requests = append(l.requests, time.Now())
	var err error
	gone := time.Now().Before(l.up)
	if len(l.meets) > 0 && !gone {
		err, l.meets = l.meets[0], l.meets[1:]
	}
	l.mu.Unlock()
	if l.hold > 0 {
		time.Sleep(l.hold)
	}
	if gone {
		return nil, offline()
	}
	if l.hears {
		sink(agent.TextDelta{Text: "o"})
	}
	if err != nil {
		return nil, err
	}
	return text("ok"), ctx.Err()
}

func (l *line) Probe(context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.probes = append(l.probes, time.Now())
	if time.Now().Before(l.up) {
		return errors.New("connection refused")
	}
	return nil
}

func (l *line) CloseIdle() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed++
}

func offline() error {
	return &agent.ModelError{Kind: agent.Transient, Outage: agent.Offline, Message: "dial: connection refused"}
}

func portal() error {
	return &agent.ModelError{Kind: agent.Transient, Outage: agent.Portal, Status: 200, Message: "a web page"}
}

func busy(after time.Duration) error {
	return &agent.ModelError{Kind: agent.Transient, Outage: agent.Busy, Status: 529, RetryAfter: after, Message: "Overloaded"}
}

func broken() error { return &agent.ModelError{Kind: agent.Transient, Message: "cut"} }

func times(n int, err error) (list []error) {
	for range n {
		list = append(list, err)
	}
	return list
}

// said is what deltas tell, each in a word or two.
func said(deltas []agent.Delta, began time.Time) (out []string) {
	for _, d := range deltas {
		switch d := d.(type) {
		case agent.Waiting:
			word := "wait " + d.Outage.String()
			if d.Known {
				word += " known"
			}
			if !d.Until.IsZero() {
				word += " until " + d.Until.Sub(began).String()
			}
			out = append(out, word)
		case agent.OutageOver:
			out = append(out, fmt.Sprintf("over %v %v", d.Outage, d.Waited))
		case agent.Retrying:
			out = append(out, fmt.Sprintf("again %d in %v", d.Attempt, d.Wait))
		}
	}
	return out
}

// steady is without jitter.
func steady(r agent.Retry) agent.Retry {
	r.Rand = func() float64 { return 0.5 }
	return r
}

func TestOutages(t *testing.T) {
	const s = time.Second
	for _, tt := range []struct {
		name     string
		meets    []error
		hears    bool
		down     time.Duration // from the beginning
		retry    agent.Retry
		took     time.Duration
		requests int
		said     []string
		fails    agent.Outage // with an OutageError of this; NoOutage: it does not
	}{
		{
			name: "the network comes back", down: 100 * s, took: 105 * s, requests: 2,
			said: []string{"wait offline", "over offline 1m45s"},
		},
		{
			name: "an endpoint that breaks off is there", meets: times(2, offline()), took: 12 * s, requests: 3,
			said: []string{"again 1 in 4s", "again 2 in 8s"},
		},
		{
			name: "it breaks off too often", meets: times(99, offline()), took: 124 * s, requests: 6,
			said: []string{"again 1 in 4s", "again 2 in 8s", "again 3 in 16s", "again 4 in 32s", "again 5 in 1m4s"},
		},
		{
			name: "an hour is enough", down: 2 * time.Hour, took: time.Hour, requests: 1, said: []string{"wait offline"}, fails: agent.Offline,
		},
		{
			name: "without a limit", down: 30 * time.Hour, retry: agent.Retry{MaxOffline: -1}, took: 30 * time.Hour, requests: 2,
			said: []string{"wait offline", "over offline 30h0m0s"},
		},
		{
			name: "a limit that is no multiple of the interval", down: time.Hour, retry: agent.Retry{MaxOffline: 20 * s}, took: 20 * s, requests: 1,
			said: []string{"wait offline"}, fails: agent.Offline,
		},
		{
			name: "a portal", meets: times(20, portal()), took: 300 * s, requests: 21,
			said: append(append([]string{"wait portal"}, repeat("wait portal known", 19)...), "over portal 5m0s"),
		},
		{
			name: "a portal that stays", meets: times(999, portal()), took: time.Hour, requests: 241,
			said: append([]string{"wait portal"}, repeat("wait portal known", 239)...), fails: agent.Portal,
		},
		{
			name: "an overload is waited out", meets: times(12, busy(0)), took: (124 + 7*120) * s, requests: 13,
			said: append(append([]string{"wait busy"}, repeat("wait busy known", 11)...), "over busy 16m4s"),
		},
		{
			name: "no rush for who says at once", meets: times(7, busy(s)), took: (124 + 2*120) * s, requests: 8,
			said: append(append([]string{"wait busy"}, repeat("wait busy known", 6)...), "over busy 6m4s"),
		},
		{
			name: "hours that were asked for", meets: []error{busy(5 * time.Hour), busy(0)}, took: 5*time.Hour + 15*s + 8*s, requests: 3,
			said: []string{"wait busy until 5h0m0s", "wait busy known", "over busy 5h0m23s"},
		},
		{
			name: "a later end is said again", meets: []error{busy(time.Hour), busy(time.Hour)}, took: 2*time.Hour + 30*s, requests: 3,
			said: []string{"wait busy until 1h0m0s", "wait busy until 2h0m15s", "over busy 2h0m30s"},
		},
		{
			name: "days are too long", meets: []error{busy(48 * time.Hour)}, requests: 1, fails: agent.Busy,
		},
		{
			name: "a deadline for a limit", meets: []error{busy(48 * time.Hour)}, retry: agent.Retry{Until: start.Add(50 * time.Hour)},
			took: 48*time.Hour + 15*s, requests: 2, said: []string{"wait busy until 48h0m0s", "over busy 48h0m15s"},
		},
		{
			name: "a limit that ends later", meets: []error{busy(5 * time.Hour)}, retry: agent.Retry{Until: start.Add(2 * time.Hour)},
			requests: 1, fails: agent.Busy,
		},
		{
			name: "a deadline for an overload", meets: times(99, busy(0)), retry: agent.Retry{Until: start.Add(2 * time.Hour)},
			took: 2 * time.Hour, requests: 65, said: append([]string{"wait busy"}, repeat("wait busy known", 63)...), fails: agent.Busy,
		},
		{
			name: "a deadline that has passed changes nothing", meets: times(3, busy(0)), retry: agent.Retry{Until: start},
			took: 28 * s, requests: 4, said: []string{"wait busy", "wait busy known", "wait busy known", "over busy 28s"},
		},
		{
			name: "one outage after the other", meets: []error{portal(), busy(0), broken(), busy(0)}, took: (15 + 4 + 4 + 8) * s, requests: 5,
			said: []string{"wait portal", "over portal 15s", "wait busy", "over busy 4s", "again 1 in 4s", "wait busy", "over busy 8s"},
		},
		{
			name: "the first piece of an answer ends an outage", meets: []error{busy(0), broken()}, hears: true, took: 8 * s, requests: 3,
			said: []string{"wait busy", "over busy 4s", "again 1 in 4s"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &line{meets: tt.meets, hears: tt.hears, up: start.Add(tt.down)}
				if !time.Now().Equal(start) {
					t.Fatalf("the clock begins at %v", time.Now())
				}
				var deltas []agent.Delta
				_, err := agent.WithRetry(l, steady(tt.retry)).Generate(t.Context(), &agent.ModelRequest{}, func(d agent.Delta) { deltas = append(deltas, d) })
				if took := time.Since(start); took != tt.took || len(l.requests) != tt.requests {
					t.Errorf("%d requests in %v, want %d in %v", len(l.requests), took, tt.requests, tt.took)
				}
				if got := said(deltas, start); !reflect.DeepEqual(got, tt.said) {
					t.Errorf("said %q\nwant %q", got, tt.said)
				}
				var out *agent.OutageError
				if got := errors.As(err, &out); got != (tt.fails != agent.NoOutage) || got && (out.Outage != tt.fails || !errors.As(err, new(*agent.ModelError))) {
					t.Errorf("error %v, want one of %v", err, tt.fails)
				}
			})
		})
	}
}

// start is when the clock of a synctest bubble begins.
var start = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

func repeat(s string, n int) (list []string) {
	for range n {
		list = append(list, s)
	}
	return list
}

func TestOutageProbes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &line{up: start.Add(time.Minute)}
		if _, err := agent.WithRetry(l, steady(agent.Retry{})).Generate(t.Context(), &agent.ModelRequest{}, nil); err != nil {
			t.Fatal(err)
		}
		var got []time.Duration
		for _, at := range l.probes {
			got = append(got, at.Sub(start))
		}
		const s = time.Second
		if want := []time.Duration{0, 15 * s, 30 * s, 45 * s, 60 * s}; !reflect.DeepEqual(got, want) {
			t.Errorf("probes at %v, want %v", got, want)
		}
		if l.closed < 2 { // when the connection failed, and when the network was back
			t.Errorf("idle connections were closed %d times", l.closed)
		}
	})
}

// However many requests wait, one notice is enough, one of them probes, and all go on.
func TestRequestsWaitTogether(t *testing.T) {
	const workers = 8
	for name, tt := range map[string]struct {
		meets []error
		down  time.Duration
		over  agent.Outage
	}{
		"no network": {down: 10 * time.Minute, over: agent.Offline},
		"a portal":   {meets: times(40*workers, portal()), over: agent.Portal},
		"busy":       {meets: times(5*workers, busy(0)), over: agent.Busy},
		"a limit":    {meets: times(workers, busy(3*time.Hour)), over: agent.Busy},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &line{meets: tt.meets, up: start.Add(tt.down)}
				m := agent.WithRetry(l, agent.Retry{})
				var mu sync.Mutex
				var deltas []agent.Delta
				var all sync.WaitGroup
				for range workers {
					all.Go(func() {
						_, err := m.Generate(t.Context(), &agent.ModelRequest{}, func(d agent.Delta) {
							mu.Lock()
							defer mu.Unlock()
							deltas = append(deltas, d)
						})
						if err != nil {
							t.Error(err)
						}
					})
				}
				all.Wait()
				news, over := 0, 0
				for _, d := range deltas {
					switch d := d.(type) {
					case agent.Waiting:
						if !d.Known {
							news++
						}
					case agent.OutageOver:
						over++
						if d.Outage != tt.over {
							t.Errorf("over: %v", d.Outage)
						}
					}
				}
				if news != 1 || over != 1 {
					t.Errorf("said %d times that it waits and %d times that it is over: %q", news, over, said(deltas, start))
				}
				if tt.down > 0 && len(l.probes) > workers+int(tt.down/agent.DefaultInterval) {
					t.Errorf("%d probes", len(l.probes))
				}
			})
		})
	}
}

// A request that is interrupted leaves the others waiting; whoever is left probes.
func TestInterruptedWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &line{up: start.Add(time.Hour)}
		m := agent.WithRetry(l, agent.Retry{MaxOffline: -1})
		stopped := errors.New("stopped by the person")
		ctx, stop := context.WithCancelCause(t.Context())
		var all sync.WaitGroup
		var first, second error
		var over []agent.Delta
		all.Go(func() { _, first = m.Generate(ctx, &agent.ModelRequest{}, nil) })
		synctest.Wait() // it has the turn
		all.Go(func() {
			_, second = m.Generate(t.Context(), &agent.ModelRequest{}, func(d agent.Delta) {
				if _, ok := d.(agent.OutageOver); ok {
					over = append(over, d)
				}
			})
		})
		time.Sleep(10 * time.Minute)
		stop(stopped)
		synctest.Wait()
		if !errors.Is(first, stopped) {
			t.Errorf("the interrupted request ended with %v", first)
		}
		all.Wait()
		if second != nil || len(over) != 1 {
			t.Errorf("the other one ended with %v and said %v", second, over)
		}
	})
	for name, l := range map[string]*line{
		"portal": {meets: times(999, portal())},
		"busy":   {meets: times(999, busy(time.Hour))},
		"broken": {meets: times(999, broken())},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				defer cancel()
				if _, err := agent.WithRetry(l, agent.Retry{}).Generate(ctx, &agent.ModelRequest{}, nil); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("got %v", err)
				}
				if took := time.Since(start); took != 2*time.Second {
					t.Errorf("it took %v to notice", took)
				}
			})
		})
	}
}

// A computer that slept while a request was out has used up nothing.
func TestSleepUsesNoAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wall := time.Duration(0) // ahead of the bubble's clock
		l := &line{meets: times(50, broken())}
		m := agent.WithRetry(l, steady(agent.Retry{Now: func() time.Time {
			wall += time.Hour // between any two looks
			return time.Now().Add(wall)
		}}))
		var deltas []agent.Delta
		if _, err := m.Generate(t.Context(), &agent.ModelRequest{}, func(d agent.Delta) { deltas = append(deltas, d) }); err != nil {
			t.Fatal(err)
		}
		if got := said(deltas, start); len(got) != 50 || !strings.HasPrefix(got[0], "wait offline known") {
			t.Errorf("said %q", got)
		}
	})
}

// A wait for a time is over when the clock on the wall says so, also if the computer slept through most of it.
func TestSleepThroughAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wall := time.Duration(0)
		l := &line{meets: []error{busy(5 * time.Hour)}}
		m := agent.WithRetry(l, steady(agent.Retry{
			Now: func() time.Time { return time.Now().Add(wall) },
			Sleep: func(_ context.Context, d time.Duration) error {
				time.Sleep(d)
				if time.Since(start) > 10*time.Minute {
					wall = 7 * time.Hour
				}
				return nil
			},
		}))
		if _, err := m.Generate(t.Context(), &agent.ModelRequest{}, nil); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took > 12*time.Minute {
			t.Errorf("waited %v more after a sleep of hours", took)
		}
	})
}

// A request is not repeated while the disk is full.
func TestRepeatWaitsForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := func() (int64, error) {
			if time.Since(start) > time.Hour {
				return agent.DefaultRoom, nil
			}
			return 0, nil
		}
		l := &line{meets: []error{broken()}}
		m := agent.WithRetry(l, agent.Retry{Room: agent.NewRoom(agent.RoomOptions{Free: free})})
		if _, err := m.Generate(t.Context(), &agent.ModelRequest{}, nil); err != nil {
			t.Fatal(err)
		}
		if again := l.requests[1].Sub(start); again < time.Hour {
			t.Errorf("repeated after %v", again)
		}
	})
}

// The rule of attempts stays in its bounds whatever the random numbers are.
func TestPauses(t *testing.T) {
	for _, r := range []float64{0, 0.25, 0.999999} {
		synctest.Test(t, func(t *testing.T) {
			l := &line{meets: times(99, broken())}
			_, _ = agent.WithRetry(l, agent.Retry{Rand: func() float64 { return r }}).Generate(t.Context(), &agent.ModelRequest{}, nil)
			if len(l.requests) != agent.DefaultAttempts {
				t.Fatalf("%d requests", len(l.requests))
			}
			for i, at := range l.requests[1:] {
				rule := min(agent.DefaultBase<<i, agent.DefaultMax)
				if wait := at.Sub(l.requests[i]); wait < rule*3/4 || wait > rule*5/4 {
					t.Errorf("pause %d is %v, the rule is %v by a quarter", i+1, wait, rule)
				}
			}
		})
	}
}
