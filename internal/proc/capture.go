//go:build unix

package proc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"unicode/utf8"
)

// capture keeps the beginning and the end of a stream of any length. The
// goroutine that reads the stream owns it until it ended.
type capture struct {
	keepHead, keepTail int // bytes, margin included
	margin             int // bytes that are read only to see secrets whole
	redact             func(string) string
	head               []byte
	tail               []byte // a ring once it is full
	next               int    // oldest byte of the full ring
	total              int64
	eof                bool

	spill     io.Writer
	spillLeft int64
	spillErr  error
}

func newCapture(cmd Command) *capture {
	keep := func(n int) int {
		if n == 0 {
			return DefaultKeep
		}
		return max(n, 0)
	}
	left := cmd.SpillCap
	if left == 0 {
		left = DefaultSpillCap
	}
	c := &capture{keepHead: keep(cmd.KeepHead), keepTail: keep(cmd.KeepTail), spill: cmd.Spill, spillLeft: left}
	if cmd.Redact != nil {
		c.redact, c.margin = cmd.Redact, secretMargin
		c.keepHead, c.keepTail = c.keepHead+c.margin, c.keepTail+c.margin
		if c.spill != nil {
			c.spill = &redactor{w: cmd.Spill, redact: cmd.Redact}
		}
	}
	return c
}

const readSize = 32 << 10

// readFrom reads until the end or the read deadline.
func (c *capture) readFrom(r io.Reader) {
	buf := make([]byte, readSize)
	for {
		n, err := r.Read(buf)
		c.add(buf[:n])
		if err != nil {
			c.eof = errors.Is(err, io.EOF)
			return
		}
	}
}

// sweep takes what is in the pipe without waiting. A read whose deadline has
// passed returns at once even if there is data, so on a busy machine the
// deadline alone could lose output that was written long before.
func sweep(r *os.File, c *capture) {
	conn, err := r.SyscallConn()
	if err != nil {
		return
	}
	const most = 1 << 20 // the largest pipe an unprivileged process can make
	buf := make([]byte, readSize)
	_ = conn.Control(func(fd uintptr) {
		for got := 0; got < most; {
			n, err := syscall.Read(int(fd), buf)
			if errors.Is(err, syscall.EINTR) {
				continue
			}
			if err != nil {
				return
			}
			if n == 0 {
				c.eof = true
				return
			}
			c.add(buf[:n])
			got += n
		}
	})
}

func (c *capture) add(p []byte) {
	c.total += int64(len(p))
	c.toSpill(p)
	if n := min(len(p), c.keepHead-len(c.head)); n > 0 {
		c.head = append(c.head, p[:n]...)
		p = p[n:]
	}
	if len(p) > c.keepTail {
		p = p[len(p)-c.keepTail:]
	}
	if n := min(len(p), c.keepTail-len(c.tail)); n > 0 {
		c.tail = append(c.tail, p[:n]...)
		p = p[n:]
	}
	for len(p) > 0 {
		n := copy(c.tail[c.next:], p)
		c.next = (c.next + n) % len(c.tail)
		p = p[n:]
	}
}

func (c *capture) toSpill(p []byte) {
	if c.spill == nil || c.spillErr != nil {
		return
	}
	p = p[:min(int64(len(p)), max(c.spillLeft, 0))]
	if len(p) == 0 {
		return
	}
	c.spillLeft -= int64(len(p))
	if _, err := c.spill.Write(p); err != nil {
		c.spillErr = fmt.Errorf("spill output: %w", err)
	}
}

// endSpill writes what was held back.
func (c *capture) endSpill() {
	if r, ok := c.spill.(*redactor); ok && c.spillErr == nil {
		if err := r.flush(); err != nil {
			c.spillErr = fmt.Errorf("spill output: %w", err)
		}
	}
}

// text renders what was kept and counts the bytes that were not.
func (c *capture) text() (text string, omitted int64) {
	tail := append(bytes.Clone(c.tail[c.next:]), c.tail[:c.next]...)
	head, whole := c.head, c.total == int64(len(c.head)+len(tail))
	if whole {
		head, tail = append(head, tail...), nil
	}
	if c.redact != nil {
		head, tail = []byte(c.redact(string(head))), []byte(c.redact(string(tail)))
		switch {
		case whole:
			// Two parts again if it is too much without the margins.
			if most := c.keepHead + c.keepTail - 2*c.margin; len(head) > most {
				tail, whole = head[len(head)-(c.keepTail-c.margin):], false
				head = head[:c.keepHead-c.margin]
			}
		default:
			// A piece of a secret can only stand at the seam.
			head = head[:min(max(len(head)-c.margin, 0), c.keepHead-c.margin)]
			tail = tail[min(c.margin, len(tail)):]
			tail = tail[max(len(tail)-(c.keepTail-c.margin), 0):]
		}
	}
	if whole {
		return clean(head), 0
	}
	head, tail = cutEnd(head), cutStart(tail)
	omitted = max(c.total-int64(len(head)+len(tail)), 1)
	return fmt.Sprintf("%s\n[… %d bytes left out …]\n%s", clean(head), omitted, clean(tail)), omitted
}

// clean makes b valid UTF-8 without NUL.
func clean(b []byte) string {
	b = bytes.ReplaceAll(b, []byte{0}, []byte{0xff}) // never valid in UTF-8
	return string(bytes.ToValidUTF8(b, []byte(string(utf8.RuneError))))
}

// cutEnd drops the first part of a character at the end of b.
func cutEnd(b []byte) []byte {
	for i := len(b) - 1; i >= 0 && i >= len(b)-utf8.UTFMax; i-- {
		if utf8.RuneStart(b[i]) {
			if !utf8.FullRune(b[i:]) {
				return b[:i]
			}
			break
		}
	}
	return b
}

// cutStart drops the last part of a character at the start of b.
func cutStart(b []byte) []byte {
	for i := 0; i < len(b) && i < utf8.UTFMax; i++ {
		if utf8.RuneStart(b[i]) {
			return b[i:]
		}
	}
	return b
}
