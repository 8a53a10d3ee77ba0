package tools

import (
	"context"
	"errors"
	"io/fs"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

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
	binary     int
	unreadable map[string]error
	crash      any // what a search panicked with
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
			}
		})
	}
	var missed []*batch
	var crash any
	for b := range order {
		<-b.done
		if b.crash != nil {
			crash = b.crash
			cancel()
		}
		if out.full || crash != nil {
			continue
		}
		if out.add(&b.hits) != nil {
			cancel()
			continue
		}
		s.files += len(b.files) - b.large - b.binary - len(b.unreadable)
		s.large += b.large
		s.binary += b.binary
		if len(b.unreadable) > 0 {
			missed = append(missed, b)
		}
	}
	cancel()
	all.Wait()
	if crash != nil {
		panic(crash) // where the engine catches it
	}
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
		switch kind := f.entry.Type(); {
		case kind&fs.ModeSymlink != 0:
			s.links++
			return nil
		case !kind.IsRegular():
			s.special++
			return nil
		}
		if !q.include(f.rel) && !q.include(s.box.show(f.path)) {
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
	defer close(b.done)
	defer func() { b.crash = recover() }()
	files := narrow.candidates(ctx, b.files)
	var buf []byte
	for i, f := range files {
		if ctx.Err() != nil {
			b.files = files[:i]
			return
		}
		if b.hits.full {
			return
		}
		data, err := slurp(f.path, &buf)
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
		t, ok := s.box.parse(f.path, data)
		if !ok {
			b.binary++
			continue
		}
		body := strings.ReplaceAll(t.body, "\r\n", "\n")
		b.hits.file(s.box.show(f.path), body, q.match.spans(ctx, body))
	}
}

// slurp is disk.ReadRegular for very many files, of which the walk has said that they are regular: with half of the
// system calls, and into a buffer that is used again. A link or a pipe that has taken the place of a file is not followed
// and does not block.
func slurp(path string, buf *[]byte) ([]byte, error) {
	fail := func(err error) ([]byte, error) { return nil, &fs.PathError{Op: "read", Path: path, Err: err} }
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return fail(err)
	}
	defer func() { _ = unix.Close(fd) }() // only read from
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fail(err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return fail(unix.EINVAL)
	}
	data := (*buf)[:0]
	defer func() { *buf = data[:0] }()
	for {
		if len(data) > grepMaxFile || st.Size > grepMaxFile {
			return nil, &disk.TooLargeError{Path: path, Size: max(st.Size, int64(len(data))), Max: grepMaxFile}
		}
		data = slices.Grow(data, max(int(st.Size)-len(data), 0)+512)
		n, err := unix.Read(fd, data[len(data):cap(data)])
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return fail(err)
		}
		data = data[:len(data)+n]
		if n == 0 || len(data) == int(st.Size) && len(data) < cap(data) {
			return data, nil // a regular file that gives less than was asked for has ended
		}
	}
}
