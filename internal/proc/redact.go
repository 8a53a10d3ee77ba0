package proc

import (
	"io"
	"strings"
)

const (
	// secretMargin is longer than any secret: private keys of the largest
	// usual size take 13 KB.
	secretMargin = 16 << 10
	// redactChunk is how much is looked at in one go.
	redactChunk = 256 << 10
)

// redactor takes secrets out of a stream, also those that come in pieces: the
// last part of what was written is held back until it is known to be no
// beginning of a secret. It is for one goroutine.
type redactor struct {
	w      io.Writer
	redact func(string) string
	held   []byte
}

// Write implements io.Writer.
func (r *redactor) Write(p []byte) (int, error) {
	for done := 0; done < len(p); {
		n := min(len(p)-done, redactChunk)
		r.held = append(r.held, p[done:done+n]...)
		done += n
		if len(r.held) < redactChunk {
			continue
		}
		text := string(r.held)
		cut := r.seam(text)
		if _, err := io.WriteString(r.w, r.redact(text[:cut])); err != nil {
			return done, err
		}
		r.held = append(r.held[:0], text[cut:]...)
	}
	return len(p), nil
}

// flush writes what is held back.
func (r *redactor) flush() error {
	_, err := io.WriteString(r.w, r.redact(string(r.held)))
	r.held = nil
	return err
}

// seam finds a place to cut text at, about a margin before its end, where no
// secret lies across.
func (r *redactor) seam(text string) int {
	const tries = 16
	at := len(text) - secretMargin
	for range tries {
		// Rather at the end of a line: few secrets have more than one.
		if line := strings.LastIndexByte(text[:at], '\n') + 1; line > secretMargin {
			at = line
		}
		around := text[at-secretMargin : min(at+secretMargin, len(text))]
		if r.redact(around[:secretMargin])+r.redact(around[secretMargin:]) == r.redact(around) {
			return at
		}
		if at -= 1 << 10; at < secretMargin {
			break
		}
	}
	return len(text) // something endless: what was found of it is taken out at least
}
