package cli

import (
	"errors"
	"io"
	"strings"
	"sync"
	"syscall"

	"flower/internal/text"
)

// screen is the one place where output is written: nothing reaches a terminal or a pipe but through emit, which takes
// out control sequences and secrets. It is safe for concurrent use.
type screen struct {
	unread chan struct{} // closed when the reader of the output has gone away

	mu     sync.Mutex
	out    io.Writer
	styles bool                // colours of others may stay: it is a terminal
	redact func(string) string // takes secrets out; nil before they are known
	rest   string              // of Write: a line that is not complete yet
	failed error               // the first error of the output
}

func newScreen(out io.Writer, styles bool) *screen {
	return &screen{out: out, styles: styles, unread: make(chan struct{})}
}

// hide sets what takes secrets out from now on.
func (s *screen) hide(redact func(string) string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.redact = redact
}

// Line writes a text and a line feed.
func (s *screen) Line(line string) { s.Text(line + "\n") }

// Err is the first error of the output. Nobody stops for it in the middle of the work; the command ends with it.
func (s *screen) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

// Text writes a text as it is.
func (s *screen) Text(t string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.emit(t)
}

// Clean is what will be left of a text, for who has to measure it. Cleaning twice changes nothing.
func (s *screen) Clean(t string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.clean(t)
}

// Reveal is a text a person decides by, with what is hidden in it made visible. A secret stays out of it also where
// hidden characters part it.
func (s *screen) Reveal(t string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.redact != nil {
		if plain := text.Plain(t); s.redact(plain) != plain {
			return s.redact(plain)
		}
	}
	return text.Reveal(t)
}

// onto writes to something else from now on.
func (s *screen) onto(w io.Writer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out = w
}

// Write implements io.Writer for libraries; it writes whole lines.
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.rest + string(p)
	end := strings.LastIndexByte(all, '\n') + 1
	s.rest = all[end:]
	if end > 0 {
		s.emit(all[:end])
	}
	return len(p), nil
}

func (s *screen) emit(t string) {
	_, err := io.WriteString(s.out, s.clean(t))
	if s.failed != nil || err == nil {
		return
	}
	s.failed = err
	if errors.Is(err, syscall.EPIPE) {
		close(s.unread)
	}
}

// clean takes out what must not be written. Secrets are looked for in the text without styles, because a style in the
// middle would hide one. A style never reaches beyond its line: it could make the next one invisible.
func (s *screen) clean(t string) string {
	plain := text.Plain(t)
	if s.redact != nil {
		if hidden := s.redact(plain); hidden != plain {
			return hidden
		}
	}
	if !s.styles {
		return plain
	}
	t = text.Sanitise(t)
	if !strings.Contains(t, "\x1b") {
		return t
	}
	lines := strings.SplitAfter(t, "\n")
	for i, line := range lines {
		body := strings.TrimSuffix(line, "\n")
		if strings.Contains(body, "\x1b") && !strings.HasSuffix(body, "\x1b[0m") {
			lines[i] = body + "\x1b[0m" + line[len(body):]
		}
	}
	return strings.Join(lines, "")
}
