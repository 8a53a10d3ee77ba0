package sqlite

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"flower/agent"
	"flower/internal/storetest"
)

// BenchmarkAppend appends one entry of 2 kB at a time, each in a transaction of its own, and reports how long the
// median and the worst hundredth take.
func BenchmarkAppend(b *testing.B) {
	ctx := context.Background()
	s, _ := openNew(b)
	text := strings.Repeat("x", 2000)
	took := make([]time.Duration, 0, 1024)
	for b.Loop() {
		e := storetest.Entry(strconv.Itoa(len(took)), text)
		start := time.Now()
		noErr(b, s.Append(ctx, shared, e))
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
}

// BenchmarkAppendTogether is BenchmarkAppend with several sessions that are written at the same time, as parallel
// subagents do, and reports how many entries a second that makes and how many commits an entry. Every commit is one fsync.
func BenchmarkAppendTogether(b *testing.B) {
	for _, writers := range []int{1, 4, 16} {
		b.Run(strconv.Itoa(writers), func(b *testing.B) {
			s, path := openNew(b)
			_, err := s.writer.Exec("PRAGMA wal_autocheckpoint=0") // the log keeps what is to be counted
			noErr(b, err)
			text := strings.Repeat("x", 2000)
			before, count := commits(b, path), atomic.Int64{}
			var wait sync.WaitGroup
			b.ResetTimer()
			for w := range writers {
				key := agent.Key{Project: "p", Session: "s", SubPath: fmt.Sprint("subagents/agent-", w)}
				wait.Go(func() {
					for n := count.Add(1); n <= int64(b.N); n = count.Add(1) {
						if err := s.Append(context.Background(), key, storetest.Entry(strconv.FormatInt(n, 10), text)); err != nil {
							b.Error(err)
						}
					}
				})
			}
			wait.Wait()
			b.StopTimer()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "entries/s")
			b.ReportMetric(float64(commits(b, path)-before)/float64(b.N), "commits/entry")
		})
	}
}

func fill(b *testing.B, s *Store, key agent.Key, n int) {
	b.Helper()
	noErr(b, s.Append(context.Background(), key, storetest.Entries(strings.Repeat("x", 1000), n)...))
}

// BenchmarkLoad loads a session of 20,000 entries of about 1.3 kB.
func BenchmarkLoad(b *testing.B) {
	s, _ := openNew(b)
	fill(b, s, shared, 20_000)
	for b.Loop() {
		stored, err := s.Load(context.Background(), shared)
		noErr(b, err)
		if len(stored) != 20_000 {
			b.Fatal(len(stored))
		}
	}
}

// BenchmarkLoadCancellable is BenchmarkLoad as the program does it: under a context that can end.
func BenchmarkLoadCancellable(b *testing.B) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s, _ := openNew(b)
	fill(b, s, shared, 20_000)
	for b.Loop() {
		stored, err := s.Load(ctx, shared)
		noErr(b, err)
		if len(stored) != 20_000 {
			b.Fatal(len(stored))
		}
	}
}

// BenchmarkTail reads the last entry of one of 50 sessions in a store of 100,000 entries.
func BenchmarkTail(b *testing.B) {
	s, _ := openNew(b)
	for i := range 50 {
		fill(b, s, agent.Key{Project: "p", Session: strconv.Itoa(i)}, 2000)
	}
	for b.Loop() {
		stored, err := s.Tail(context.Background(), agent.Key{Project: "p", Session: "25"}, 1)
		noErr(b, err)
		if len(stored) != 1 {
			b.Fatal(len(stored))
		}
	}
}

// BenchmarkOpen opens and closes a store that exists.
func BenchmarkOpen(b *testing.B) {
	_, path := openNew(b)
	for b.Loop() {
		noErr(b, openAt(b, path, "/w").Close())
	}
}
