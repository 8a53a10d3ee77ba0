package agent_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"flower"
	"flower/agent"
	"flower/transcript"
)

// price is a price list for tests: a dollar for a million tokens read plainly, other classes as usual. "m" is the only
// model on it.
func price(model string, u transcript.Usage) (float64, bool) {
	if model != "m" {
		return 0, false
	}
	return (float64(u.Input) + 5*float64(u.Output) + 0.1*float64(u.CacheRead) + 1.25*float64(u.CacheWrite)) / 1e6, true
}

func pricedEngine(t testing.TB, m agent.Model, log agent.Log, b box, now func() time.Time) *agent.Engine {
	t.Helper()
	e, err := agent.New(agent.Options{Model: m, Log: log, Toolbox: b, ModelName: "m", CWD: "/w", Price: price, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// spending is an answer of a usage at its price.
func spending(u transcript.Usage, stop string, blocks ...transcript.Block) *agent.Response {
	r := answer(stop, blocks...)
	r.Message.Usage = u
	usd, known := price(r.Message.Model, u)
	r.CostUSD, r.Unpriced = usd, !known
	return r
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(a), math.Abs(b)) }

// TestBudgetStopsBeforeTheRequest: one answer that leaves 1,000,000 tokens in the cache and costs 1.25, after which every
// request costs 0.1 at least.
func TestBudgetStopsBeforeTheRequest(t *testing.T) {
	const first, next = 1.25, 0.1
	for _, tt := range []struct {
		name     string
		limit    float64 // of the run
		own      float64 // of the agent
		requests int
		least    float64
	}{
		{"enough for all", 10, 0, 3, 0},
		{"exactly enough for the next one", first + next, 0, 2, next},
		{"not quite enough for the next one", first + next - 0.001, 0, 1, next},
		{"spent by the first answer", first, 0, 1, next},
		{"passed by the first answer", 0.5, 0, 1, next},
		{"the agent's own", 0, first + 0.05, 1, next},
		{"the smaller one counts", 10, first + 0.05, 1, next},
		{"no limit", 0, 0, 3, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := &script{}
			m.reply = func(req *agent.ModelRequest) (*agent.Response, error) {
				switch len(req.Messages) {
				case 1:
					return spending(transcript.Usage{CacheWrite: 1_000_000}, agent.StopToolUse, call("t1", "look", `{}`)), nil
				case 3:
					return spending(transcript.Usage{CacheRead: 1_000_000}, agent.StopToolUse, call("t2", "look", `{}`)), nil
				}
				return spending(transcript.Usage{CacheRead: 1_000_000}, agent.StopEndTurn, transcript.Text("done")), nil
			}
			store := flower.NewMemoryStore("/w")
			e := pricedEngine(t, m, store, box{"look": tool("look", true, say("seen"))}, nil)
			spec := agent.Spec{Name: "lead", Tools: []string{"look"}, Limits: agent.Limits{CostUSD: tt.own}}
			req := agent.Request{Key: key, Spec: spec, Prompt: "go", PromptID: "p1", Meter: agent.NewMeter(tt.limit)}
			events, result, err := run(t, e, req)
			if len(m.sent) != tt.requests {
				t.Fatalf("%d requests, want %d: %v", len(m.sent), tt.requests, err)
			}
			if tt.requests == 3 {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			var limit *agent.LimitError
			if !errors.As(err, &limit) || limit.WholeRun() != (tt.own == 0) || !near(limit.SpentUSD, result.CostUSD) || !near(limit.NextUSD, tt.least) {
				t.Fatalf("%+v, %v", limit, err)
			}
			warned := 0
			for _, ev := range events {
				if w, ok := ev.(agent.BudgetLow); ok && w.LimitUSD == limit.CostUSD {
					warned++
				}
			}
			if warned != 1 {
				t.Errorf("warned %d times", warned)
			}
			// Again with too little: nothing is asked and nothing is added. With more it goes on where it was.
			before := len(stored(t, store, key))
			for i := range 3 {
				req.Prompt, req.PromptID, req.Meter = "go on", fmt.Sprint("again", i), agent.NewMeter(next/2)
				if _, _, err := run(t, e, req); !errors.As(err, &limit) {
					t.Fatalf("with too little: %v", err)
				}
			}
			if n := len(stored(t, store, key)); n != before || len(m.sent) != tt.requests {
				t.Fatalf("%d entries of %d, %d requests", n, before, len(m.sent))
			}
			req.Spec.Limits.CostUSD, req.Meter = 20, agent.NewMeter(20)
			_, again, err := run(t, e, req)
			if err != nil || again.Text != "done" || !again.Resumed || len(m.sent) != 3 {
				t.Fatalf("with more: %+v, %v, %d requests", again, err, len(m.sent))
			}
			if want := result.CostUSD + again.CostUSD; !near(want, first+2*next) {
				t.Errorf("the two runs cost %v", want)
			}
		})
	}
}

// TestUnknownPricesDoNotStop: where no price is known nothing is held, and answers say so.
func TestUnknownPricesDoNotStop(t *testing.T) {
	m := &script{reply: func(req *agent.ModelRequest) (*agent.Response, error) {
		r := answer(agent.StopEndTurn, transcript.Text("done"))
		if len(req.Messages) == 1 {
			r = calls(call("t1", "look", `{}`))
		}
		r.Message.Model, r.CostUSD, r.Unpriced = "else", 0, true
		return r, nil
	}}
	e, err := agent.New(agent.Options{
		Model: m, Log: flower.NewMemoryStore("/w"), Toolbox: box{"look": tool("look", true, say("seen"))}, ModelName: "else", Price: price,
	})
	if err != nil {
		t.Fatal(err)
	}
	_, result, err := run(t, e, agent.Request{Key: key, Spec: agent.Spec{Tools: []string{"look"}}, Prompt: "go", Meter: agent.NewMeter(1e-9)})
	if err != nil || !result.Unpriced || result.CostUSD != 0 || result.Usage.Output != 20 {
		t.Errorf("%+v, %v", result, err)
	}
}

// TestParallelAgentsShareTheLastDollar: workers whose requests are on their way at the same time. Where a request costs what
// is known before, the budget is not passed at all; where it costs more, only by what was on its way.
func TestParallelAgentsShareTheLastDollar(t *testing.T) {
	const workers, first, next = 6, 0.0125, 0.001 // 10,000 tokens
	for _, surprise := range []int{0, 1000} {     // tokens of output that nobody knew of before
		t.Run(fmt.Sprint(surprise), func(t *testing.T) {
			var onTheWay, most atomic.Int64
			var together, paid sync.WaitGroup // all have asked; the first requests of all are paid for
			together.Add(workers)
			paid.Add(workers)
			look := tool("look", true, func(_ context.Context, c agent.Call) (agent.ToolResult, error) {
				if c.ID == "w1" {
					paid.Done()
					paid.Wait()
				}
				return agent.TextResult("seen"), nil
			})
			m := &script{}
			m.reply = func(req *agent.ModelRequest) (*agent.Response, error) {
				if req.System == "lead" {
					if len(req.Messages) > 1 {
						return spending(transcript.Usage{}, agent.StopEndTurn, transcript.Text("all done")), nil
					}
					var parts []transcript.Block
					for i := range workers {
						parts = append(parts, call(fmt.Sprint("a", i), "Agent", `{}`))
					}
					return spending(transcript.Usage{}, agent.StopToolUse, parts...), nil
				}
				if n := onTheWay.Add(1); n > most.Load() {
					most.Store(n)
				}
				defer onTheWay.Add(-1)
				u := transcript.Usage{CacheRead: 10_000, Output: surprise}
				if len(req.Messages) == 1 {
					together.Done()
					together.Wait()
					u = transcript.Usage{CacheWrite: 10_000}
				}
				return spending(u, agent.StopToolUse, call(fmt.Sprintf("w%d", len(req.Messages)), "look", `{}`)), nil
			}
			// Enough for the first requests of all, and then for two and a half.
			limit := workers*first + 2.5*next
			meter := agent.NewMeter(limit)
			e := pricedEngine(t, m, flower.NewMemoryStore("/w"), box{"look": look, "Agent": delegate}, nil)
			lead := agent.Spec{Name: "lead", Instructions: "lead", Tools: []string{"Agent"}, Subagents: []agent.Spec{{
				Name: "worker", Instructions: "worker", Tools: []string{"look"},
			}}}
			events, result, err := run(t, e, agent.Request{Key: key, Spec: lead, Prompt: "go", Meter: meter})
			var stop *agent.LimitError
			if !errors.As(err, &stop) || !stop.WholeRun() {
				t.Fatalf("%v", err)
			}
			_, spent, _ := meter.Spent()
			over := float64(most.Load()) * 5 * float64(surprise) / 1e6
			if spent > limit+over+1e-9 || !near(spent, result.CostUSD) {
				t.Errorf("spent %v of %v, at most %v could be on its way", spent, limit, over)
			}
			if surprise == 0 && len(m.sent) != 1+workers+2 {
				t.Errorf("%d requests", len(m.sent))
			}
			warned, sum := 0, 0.0
			for _, ev := range events {
				switch ev := ev.(type) {
				case agent.BudgetLow:
					warned++
				case agent.Answered:
					sum += ev.CostUSD
				case agent.Wasted:
					t.Errorf("something was wasted: %+v", ev)
				}
			}
			if warned != 1 || !near(sum, spent) {
				t.Errorf("warned %d times; the answers cost %v, the meter says %v", warned, sum, spent)
			}
		})
	}
}

// held is a Model that answers some requests only when it may.
type held struct {
	*script
	waits func(*agent.ModelRequest) bool
	asked chan struct{} // closed when one has come that waits
	may   chan struct{}
}

func (h *held) Generate(ctx context.Context, req *agent.ModelRequest, sink func(agent.Delta)) (*agent.Response, error) {
	if h.waits(req) {
		close(h.asked)
		select {
		case <-h.may:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return h.script.Generate(ctx, req, sink)
}

// TestSpentBudgetLetsAnswersCome: when one worker finds the budget used up, what another has asked for is paid for, so it
// comes to its end and is stored.
func TestSpentBudgetLetsAnswersCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &held{script: &script{}, asked: make(chan struct{}), may: make(chan struct{})}
		m.waits = func(req *agent.ModelRequest) bool { return req.Messages[0].PlainText() == "part slow" }
		m.reply = func(req *agent.ModelRequest) (*agent.Response, error) {
			switch {
			case req.System == "lead":
				return calls(call("quick", "Agent", `{}`), call("slow", "Agent", `{}`)), nil
			case req.Messages[0].PlainText() == "part slow":
				return text("the slow one's report"), nil
			}
			return calls(call(fmt.Sprint("w", len(req.Messages)), "look", `{}`)), nil
		}
		store := flower.NewMemoryStore("/w")
		look := tool("look", true, func(context.Context, agent.Call) (agent.ToolResult, error) {
			<-m.asked
			return agent.TextResult("seen"), nil
		})
		e := newEngine(t, m, store, box{"look": look, "Agent": delegate})
		lead := agent.Spec{Name: "lead", Instructions: "lead", Tools: []string{"Agent"}, Subagents: []agent.Spec{{
			Name: "worker", Instructions: "worker", Tools: []string{"look"},
		}}}
		ended := make(chan error)
		go func() {
			_, _, err := run(t, e, agent.Request{Key: key, Spec: lead, Prompt: "go", Meter: agent.NewMeter(0.75)})
			ended <- err
		}()
		synctest.Wait() // the quick one has stopped
		close(m.may)
		var limit *agent.LimitError
		if err := <-ended; !errors.As(err, &limit) {
			t.Fatal(err)
		}
		slow := stored(t, store, key.Sub(agent.SubagentID(key, "slow")))
		if len(slow) != 2 || slow[1].Message.PlainText() != "the slow one's report" {
			t.Errorf("%d entries of the slow worker", len(slow))
		}
	})
}

// breaking is a Model whose answers begin and break off a number of times.
type breaking struct {
	*script
	times int
	stop  func()      // called once an answer has begun; nil goes on
	said  agent.Delta // after it has broken off, by something between that tries again itself; nil is nothing
}

func (b *breaking) Generate(ctx context.Context, req *agent.ModelRequest, sink func(agent.Delta)) (*agent.Response, error) {
	if b.times == 0 {
		sink(agent.Begun{Model: "m", Usage: transcript.Usage{Input: 10}})
		return b.script.Generate(ctx, req, sink)
	}
	b.times--
	sink(agent.Begun{Model: "m", Usage: transcript.Usage{Input: 1000, Output: 1}})
	if b.stop != nil {
		b.stop()
		return nil, ctx.Err()
	}
	if b.said != nil {
		sink(b.said)
		return b.Generate(ctx, req, sink)
	}
	return nil, &agent.ModelError{Kind: agent.Transient, Status: 200, Message: "broke off"}
}

// TestBrokenAnswersArePaidFor: what is known of an answer that broke off is counted once, as a lower bound, whether it was
// tried again, given up or stopped by the person.
func TestBrokenAnswersArePaidFor(t *testing.T) {
	const each = (1000 + 5) / 1e6
	for _, tt := range []struct {
		name   string
		breaks int
		stop   bool
		said   agent.Delta
		ok     bool
	}{
		{"tried again", 2, false, nil, true}, {"given up", 3, false, nil, false}, {"stopped", 1, true, nil, false},
		{"waited out", 2, false, agent.Waiting{Outage: agent.Offline, Err: errors.New("gone")}, true},
		{"sent again without a word", 2, false, agent.TextDelta{Text: "x"}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			b := &breaking{script: &script{reply: func(*agent.ModelRequest) (*agent.Response, error) {
				return spending(transcript.Usage{Input: 10}, agent.StopEndTurn, transcript.Text("done")), nil
			}}, times: tt.breaks, said: tt.said}
			if tt.stop {
				b.stop = cancel
			}
			m := agent.WithRetry(b, agent.Retry{Attempts: 3, Sleep: func(context.Context, time.Duration) error { return nil }})
			e := pricedEngine(t, m, flower.NewMemoryStore("/w"), nil, nil)
			events, result, err := runContext(ctx, e, agent.Request{Key: key, Prompt: "go"})
			if (err == nil) != tt.ok {
				t.Fatal(err)
			}
			want, wasted, sum := float64(tt.breaks)*each, 0, 0.0
			if tt.ok {
				want += 10 / 1e6
			}
			for _, ev := range events {
				switch ev := ev.(type) {
				case agent.Wasted:
					wasted++
					sum += ev.CostUSD
					if !ev.Low || ev.Whole {
						t.Errorf("%+v", ev)
					}
				case agent.Answered:
					sum += ev.CostUSD
				}
			}
			if wasted != tt.breaks || !near(result.CostUSD, want) || !near(sum, want) || !result.Unpriced {
				t.Errorf("wasted %d, %v in all, events say %v, want %v", wasted, result.CostUSD, sum, want)
			}
		})
	}
}

// losing is a Log that does not take the answer number at, from 1.
type losing struct {
	flower.Store
	at int
}

func (l *losing) Append(ctx context.Context, k agent.Key, entries ...transcript.Entry) error {
	if entries[0].Type == transcript.RoleAssistant {
		if l.at--; l.at == 0 {
			return errors.New("the disk is gone")
		}
	}
	return l.Store.Append(ctx, k, entries...)
}

// TestAnswerThatIsNotStoredIsCountedOnce: the process ends between an answer and its commit. The run has paid for it; the
// next one asks again, counts what that costs and nothing of before.
func TestAnswerThatIsNotStoredIsCountedOnce(t *testing.T) {
	m := &script{reply: func(req *agent.ModelRequest) (*agent.Response, error) {
		if len(req.Messages) == 1 {
			return spending(transcript.Usage{Input: 1000}, agent.StopToolUse, call("t1", "look", `{}`)), nil
		}
		return spending(transcript.Usage{Input: 2000}, agent.StopEndTurn, transcript.Text("done")), nil
	}}
	log := &losing{Store: flower.NewMemoryStore("/w"), at: 2}
	e := pricedEngine(t, m, log, box{"look": tool("look", true, say("seen"))}, nil)
	req := agent.Request{Key: key, Spec: agent.Spec{Tools: []string{"look"}}, Prompt: "go", PromptID: "p"}
	events, result, err := run(t, e, req)
	if err == nil || !near(result.CostUSD, 0.003) {
		t.Fatalf("%+v, %v", result, err)
	}
	lost := 0
	for _, ev := range events {
		if w, ok := ev.(agent.Wasted); ok && w.Whole && !w.Low && w.Usage.Input == 2000 && near(w.CostUSD, 0.002) {
			lost++
		}
	}
	if lost != 1 {
		t.Errorf("%d answers lost", lost)
	}
	_, result, err = run(t, e, req)
	if err != nil || result.Turns != 1 || !near(result.CostUSD, 0.002) || result.Usage.Input != 2000 {
		t.Errorf("resumed: %+v, %v", result, err)
	}
	answered := 0
	for _, entry := range stored(t, log, key) {
		if entry.Type == transcript.RoleAssistant {
			answered++
		}
	}
	if answered != 2 {
		t.Errorf("%d answers are stored", answered)
	}
}

// TestCacheMissedOnResume looks at the first answer of a resumed session.
func TestCacheMissedOnResume(t *testing.T) {
	const thousand = 1000
	for _, tt := range []struct {
		name     string
		was, now transcript.Usage
		tokens   int // 0: nothing is said
		extra    float64
	}{
		{"all of it is read", transcript.Usage{CacheWrite: 50 * thousand}, transcript.Usage{CacheRead: 50 * thousand, CacheWrite: 100}, 0, 0},
		{"written again", transcript.Usage{CacheRead: 30 * thousand, CacheWrite: 20 * thousand}, transcript.Usage{CacheWrite: 51 * thousand}, 50 * thousand, 50 * thousand * 1.15 / 1e6},
		{"written again with what had long been in plain", transcript.Usage{CacheWrite: 50 * thousand}, transcript.Usage{Input: 50 * thousand}, 50 * thousand, 50 * thousand * 0.9 / 1e6},
		{"the system text was still there", transcript.Usage{CacheWrite: 50 * thousand}, transcript.Usage{CacheRead: 2 * thousand, CacheWrite: 48 * thousand}, 48 * thousand, 48 * thousand * 1.15 / 1e6},
		{"cleaned behind its middle", transcript.Usage{CacheWrite: 50 * thousand}, transcript.Usage{CacheRead: 40 * thousand, CacheWrite: 9 * thousand}, 0, 0},
		{"cleaned to almost nothing", transcript.Usage{CacheWrite: 50 * thousand}, transcript.Usage{CacheWrite: 300}, 300, 300 * 1.15 / 1e6},
		{"nothing was cached", transcript.Usage{Input: 50 * thousand}, transcript.Usage{Input: 51 * thousand}, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
			m := &script{}
			e := pricedEngine(t, m, flower.NewMemoryStore("/w"), nil, func() time.Time { return now })
			m.reply = func(*agent.ModelRequest) (*agent.Response, error) {
				return spending(tt.was, agent.StopEndTurn, transcript.Text("done")), nil
			}
			missed := func(prompt string) (said []agent.CacheMissed) {
				events, _, err := run(t, e, agent.Request{Key: key, Prompt: prompt})
				if err != nil {
					t.Fatal(err)
				}
				for _, ev := range events {
					if miss, ok := ev.(agent.CacheMissed); ok {
						said = append(said, miss)
					}
				}
				return said
			}
			if said := missed("go"); len(said) != 0 {
				t.Errorf("a new session: %v", said)
			}
			now = now.Add(12 * time.Minute)
			m.reply = func(*agent.ModelRequest) (*agent.Response, error) {
				return spending(tt.now, agent.StopEndTurn, transcript.Text("done again")), nil
			}
			said := missed("go on")
			if (len(said) == 1) != (tt.tokens > 0) {
				t.Fatalf("said %v", said)
			}
			if len(said) == 1 && (said[0].Tokens != tt.tokens || !near(said[0].ExtraUSD, tt.extra) || said[0].Age != 12*time.Minute) {
				t.Errorf("said %+v, want %d, %v", said[0], tt.tokens, tt.extra)
			}
		})
	}
}

// TestMeterAddsUp: whatever is spent by whom, every meter holds the sum of what was added in it and below.
func TestMeterAddsUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		meters := []*agent.Meter{agent.NewMeter(0)}
		parents := []int{-1}
		for i := range rapid.IntRange(0, 6).Draw(t, "children") {
			p := rapid.IntRange(0, i).Draw(t, "parent")
			meters, parents = append(meters, meters[p].Child(rapid.Float64Range(0, 2).Draw(t, "limit"))), append(parents, p)
		}
		cost, tokens, low := make([]float64, len(meters)), make([]int, len(meters)), make([]bool, len(meters))
		for range rapid.IntRange(0, 40).Draw(t, "answers") {
			at := rapid.IntRange(0, len(meters)-1).Draw(t, "at")
			u := transcript.Usage{Input: rapid.IntRange(0, 1e6).Draw(t, "in"), Output: rapid.IntRange(0, 1e5).Draw(t, "out")}
			usd, known := price(rapid.SampledFrom([]string{"m", "else"}).Draw(t, "model"), u)
			meters[at].Add(u, usd, !known)
			for i := at; i >= 0; i = parents[i] {
				cost[i] += usd
				tokens[i] += u.Input + u.Output
				low[i] = low[i] || !known
			}
		}
		for i, m := range meters {
			u, usd, isLow := m.Spent()
			if !near(usd, cost[i]) || usd < 0 || u.Input+u.Output != tokens[i] || isLow != low[i] {
				t.Fatalf("meter %d says %v, %v, %v; want %v, %v, %v", i, u, usd, isLow, tokens[i], cost[i], low[i])
			}
		}
	})
}

func TestLimitErrorSaysHowMuch(t *testing.T) {
	for want, e := range map[string]*agent.LimitError{
		"limit of 3 turns reached":                                                    {Turns: 3, Agent: "x"},
		"budget of $10 is used up: $10.25 spent":                                      {CostUSD: 10, SpentUSD: 10.25, NextUSD: 1},
		"budget of $10 is used up: $9.9 spent, and going on costs at least $0.12346":  {CostUSD: 10, SpentUSD: 9.9, NextUSD: 0.123456},
		"budget of $0.000001 is used up: $0.0000005 spent":                            {CostUSD: 0.000001, SpentUSD: 0.0000005},
		"budget of $1 is used up: $0 spent, and going on costs at least $2":           {CostUSD: 1, NextUSD: 2},
		"budget of $10000000000 is used up: $20000000000 spent":                       {CostUSD: 1e10, SpentUSD: 2e10},
		"budget of $0.5 is used up: $0.45 spent, and going on costs at least $0.0501": {CostUSD: 0.5, SpentUSD: 0.45, NextUSD: 0.05010, Agent: "oracle"},
	} {
		if got := e.Error(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// BenchmarkMeter is one answer counted in a subagent of an agent of a run, by one goroutine and by all.
func BenchmarkMeter(b *testing.B) {
	u := transcript.Usage{Input: 3, Output: 800, CacheRead: 120_000, CacheWrite: 2_000}
	b.Run("alone", func(b *testing.B) {
		m := agent.NewMeter(1e9).Child(0).Child(1e9)
		b.ReportAllocs()
		for b.Loop() {
			m.Add(u, 0.01, false)
		}
	})
	b.Run("together", func(b *testing.B) {
		root := agent.NewMeter(1e12).Child(0)
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			m := root.Child(1e12)
			for pb.Next() {
				m.Add(u, 0.01, false)
			}
		})
	})
}
