package sqlite

import (
	"context"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"testing"
	"time"

	"flower/internal/storetest"
	"flower/transcript"
)

// BenchmarkHistory brings a session of 20,000 entries and 40 MB back as a run does when it resumes: read from the store,
// parsed, and made ready to be sent. size-MB is what the store holds of it. peak-x and left-x are times that size: the
// most that was in memory at once, garbage included, and what is left when the history is ready.
func BenchmarkHistory(b *testing.B) {
	ctx := context.Background()
	s, _ := openNew(b)
	session := storetest.LongSession(20_000)
	noErr(b, s.Append(ctx, shared, session...))
	size := 0
	for _, e := range session {
		raw, err := e.MarshalJSON()
		noErr(b, err)
		size += len(raw)
	}
	session = nil
	prepare := func() transcript.Prepared {
		lines, err := s.Load(ctx, shared)
		noErr(b, err)
		entries, damaged := transcript.ParseHistory(lines)
		p := transcript.Prepare(entries, transcript.Options{Trim: true, KeepOpenCalls: true})
		if damaged > 0 || len(p.Messages) < 10_000 {
			b.Fatal(damaged, len(p.Messages))
		}
		return p
	}
	prepare()
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		prepare()
	}
	b.StopTimer()
	defer debug.SetGCPercent(debug.SetGCPercent(5))
	peak, left := memory(func() any { return prepare() })
	b.ReportMetric(float64(size)/1e6, "size-MB")
	b.ReportMetric(float64(peak)/float64(size), "peak-x")
	b.ReportMetric(float64(left)/float64(size), "left-x")
}

// memory says how far the heap has grown at most while f ran, and how much of it what f returned still holds.
func memory(f func() any) (peak, left uint64) {
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	runtime.GC()
	before := heap()
	var done atomic.Bool
	watched := make(chan uint64)
	go func() {
		most := uint64(0)
		for !done.Load() {
			most = max(most, heap())
			time.Sleep(time.Millisecond)
		}
		watched <- most
	}()
	v := f()
	now := heap()
	done.Store(true)
	peak = max(now, <-watched)
	runtime.GC()
	left = heap()
	runtime.KeepAlive(v)
	return peak - before, left - min(left, before)
}
