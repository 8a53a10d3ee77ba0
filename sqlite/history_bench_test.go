package sqlite

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"flower/agent"
	"flower/internal/storetest"
	"flower/transcript"
)

// BenchmarkHistory brings a session of 20,000 entries and 40 MB back as a run does when it resumes: read from the store,
// parsed, and made ready to be sent. size-MB is what the store holds of it; the others are times that size: live-x is what
// is in use when all is done and nothing let go, peak-x the most that was in memory, with what was not collected yet, and
// kept-x what a conversation goes on with.
func BenchmarkHistory(b *testing.B) {
	s, _ := openNew(b)
	session := storetest.LongSession(20_000)
	size := sizeOf(b, session)
	noErr(b, s.Append(context.Background(), shared, session...))
	runtime.KeepAlive(session) // not longer than this
	benchmarkHistory(b, s, shared, size)
}

// BenchmarkHistoryBesideOthers is the same with a session of 2 MB in a store of 500 MB: the others are not read.
func BenchmarkHistoryBesideOthers(b *testing.B) {
	s, path := openNew(b)
	session := storetest.LongSession(1000)
	size := sizeOf(b, session)
	noErr(b, s.Append(context.Background(), shared, session...))
	fillOthers(b, s, "other", 500<<20)
	runtime.KeepAlive(session) // not longer than this
	noErr(b, s.Close())
	s = openAt(b, path, "/w")
	b.Cleanup(func() { noErr(b, s.Close()) })
	benchmarkHistory(b, s, shared, size)
}

// BenchmarkHistoryWithOneLargeResult has one result of several megabytes among 1000 entries: MB/s stays the same if the
// time is linear. It is the newest result, which trim leaves as it is, or an old one, which goes to a file.
func BenchmarkHistoryWithOneLargeResult(b *testing.B) {
	for _, place := range []string{"old", "new"} {
		for _, megabytes := range []int{3, 6, 12, 24} {
			b.Run(fmt.Sprintf("%s/%dMB", place, megabytes), func(b *testing.B) {
				s, _ := openNew(b)
				session := storetest.LongSession(1000)
				at := 10
				if place == "new" {
					at = len(session) - 10
				}
				for len(session[at].Message.ToolUses()) > 0 {
					at++
				}
				text := strings.Repeat("a line \"of\" output, größer als 訂單\n", megabytes<<20/40)
				old := session[at].Message.Content[0]
				session[at] = session[at].WithMessage(transcript.Message{
					Role: transcript.RoleUser, Content: []transcript.Block{transcript.ToolResult(old.ToolUseID, false, transcript.Text(text))}})
				noErr(b, s.Append(context.Background(), shared, session...))
				benchmarkHistory(b, s, shared, sizeOf(b, session))
			})
		}
	}
}

func benchmarkHistory(b *testing.B, s *Store, key agent.Key, size int) {
	prepare := func() (lines, entries, prepared any) {
		l, err := s.Load(context.Background(), key)
		noErr(b, err)
		e, damaged := transcript.ParseHistory(l)
		p := transcript.Prepare(e, transcript.Options{Trim: true, KeepOpenCalls: true})
		if damaged > 0 || len(p.Messages) == 0 || p.Report.Trimmed == 0 {
			b.Fatal(damaged, len(p.Messages), p.Report.Trimmed)
		}
		return l, e, p
	}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		prepare()
	}
	b.StopTimer()
	runtime.GC()
	before := heap()
	var lines, entries, prepared any
	peak := highest(func() { lines, entries, prepared = prepare() })
	runtime.GC()
	live := heap()
	runtime.KeepAlive(lines)
	runtime.KeepAlive(entries)
	messages := prepared.(transcript.Prepared).Messages
	lines, entries, prepared = nil, nil, nil
	runtime.GC()
	kept := heap()
	runtime.KeepAlive(messages)
	for unit, n := range map[string]uint64{"peak-x": peak, "live-x": live, "kept-x": kept} {
		b.ReportMetric(float64(n-min(n, before))/float64(size), unit)
	}
	b.ReportMetric(float64(size)/1e6, "size-MB")
}

// heap is how many bytes are in use or were not collected yet.
func heap() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// highest is the most that heap said while f ran.
func highest(f func()) uint64 {
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
	f()
	now := heap()
	done.Store(true)
	return max(now, <-watched)
}

func sizeOf(t testing.TB, entries []transcript.Entry) (size int) {
	t.Helper()
	for _, e := range entries {
		raw, err := e.MarshalJSON()
		noErr(t, err)
		size += len(raw)
	}
	return size
}

// fillOthers appends other sessions of together so many bytes, under keys before and after the shared one.
func fillOthers(t testing.TB, s *Store, name string, size int) {
	t.Helper()
	session := storetest.LongSession(500)
	one := sizeOf(t, session)
	for i := range size/one + 1 {
		key := agent.Key{Project: shared.Project, Session: fmt.Sprint([]string{"0", "z"}[i%2], name, i)}
		noErr(t, s.Append(context.Background(), key, session...))
	}
}
