package tools

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"

	"flower/internal/disk"
)

// Sizes of a batch, in files: they grow, so that a short answer comes at once and a long search is not held up.
const (
	firstBatch = 16
	lastBatch  = 1024
)

// batch is a run of files that one goroutine searches. It is owned by the walk, then by the searcher until done is
// closed, then by whoever puts the answer together.
type batch struct {
	files      []file
	hits       hits
	large      int
	unreadable map[string]error
	done       chan struct{}
}

// seek searches all files of the walk: it finds them, others read them, and the answer is put together in the order of
// their paths, so that it is the same every time.
func (s *search) seek(ctx context.Context, q *query, out *sheet) {
	inner, cancel := context.WithCancel(ctx)
	searchers := runtime.GOMAXPROCS(0)
	work, order := make(chan *batch), make(chan *batch, 4*searchers)
	narrow := s.box.ripgrep(q)
	var all sync.WaitGroup
	all.Go(func() { s.gather(inner, q, work, order) })
	for range searchers {
		all.Go(func() {
			for b := range work {
				s.searchBatch(inner, q, narrow, b)
				close(b.done)
			}
		})
	}
	var missed []*batch
	for b := range order {
		<-b.done
		if out.full {
			continue
		}
		if out.add(&b.hits) != nil {
			cancel()
			continue
		}
		s.files += len(b.files)
		s.large += b.large
		missed = append(missed, b)
	}
	cancel()
	all.Wait()
	for _, b := range missed {
		for _, f := range b.files {
			if err, ok := b.unreadable[f.path]; ok {
				s.miss(f.path, err)
			}
		}
	}
	s.stopped = ""
	s.stop(ctx.Err())
	if out.full {
		s.stopped = "" // what follows has been found already
	}
}

// gather walks and sends what it comes to in batches, first to be put in order, then to be searched.
func (s *search) gather(ctx context.Context, q *query, work, order chan<- *batch) {
	defer close(order)
	defer close(work)
	size := firstBatch
	b := &batch{}
	send := func() error {
		b.hits.query, b.done = q, make(chan struct{})
		full := b
		b, size = &batch{}, min(2*size, lastBatch)
		select {
		case order <- full:
		case <-ctx.Done():
			return ctx.Err()
		}
		select {
		case work <- full:
		case <-ctx.Done():
			full.files = nil
			close(full.done)
			return ctx.Err()
		}
		return nil
	}
	s.walk(ctx, func(f file) error {
		if !f.entry.Type().IsRegular() || !q.include(f.rel) && !q.include(s.box.show(f.path)) {
			return nil
		}
		b.files = append(b.files, f)
		if len(b.files) < size {
			return nil
		}
		return send()
	})
	if len(b.files) > 0 {
		_ = send() // who cancelled knows
	}
}

// searchBatch searches some files.
func (s *search) searchBatch(ctx context.Context, q *query, narrow *ripgrep, b *batch) {
	files := narrow.candidates(ctx, b.files)
	for i, f := range files {
		if ctx.Err() != nil {
			b.files = files[:i]
			return
		}
		if b.hits.full {
			return
		}
		data, err := disk.ReadRegular(f.path, grepMaxFile)
		if tooLarge := (*disk.TooLargeError)(nil); errors.As(err, &tooLarge) {
			b.large++
			continue
		}
		if err != nil {
			if b.unreadable == nil {
				b.unreadable = map[string]error{}
			}
			b.unreadable[f.path] = err
			continue
		}
		t, ok := parseText(data)
		if !ok {
			continue
		}
		body := strings.ReplaceAll(t.body, "\r\n", "\n")
		b.hits.file(s.box.show(f.path), body, q.match.spans(ctx, body))
	}
}
