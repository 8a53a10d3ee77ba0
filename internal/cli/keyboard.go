package cli

import (
	"errors"
	"os"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"flower/internal/tui"
)

// keyboard reads the lines of a terminal that has not been taken over. The system edits such a line and keeps it for itself until
// Enter: whoever only reads cannot know that it was begun before a question came. So whenever one comes, what is half
// typed is taken out of the system, and the rest of the line is put behind it when that is entered.
//
// Two goroutines serve it: one reads, one hands lines over. Both hang when the program ends, and are left behind.
type keyboard struct {
	in *os.File // a terminal

	mu     sync.Mutex
	more   sync.Cond // lines, or ended
	lines  []tui.Line
	half   string // begun and not entered, as far as it has been taken
	before string // the newest question when that was begun
	newest string // question that was asked
	ended  bool
}

func newKeyboard(in *os.File) *keyboard {
	k := &keyboard{in: in}
	k.more.L = &k.mu
	return k
}

// run hands lines over until the end of the input. The Question of each is the newest that had been asked when it was begun.
func (k *keyboard) run(lines chan<- tui.Line) {
	go k.read()
	for {
		k.mu.Lock()
		for len(k.lines) == 0 && !k.ended {
			k.more.Wait()
		}
		if len(k.lines) == 0 {
			k.mu.Unlock()
			return
		}
		line := k.lines[0]
		k.lines = k.lines[1:]
		k.mu.Unlock()
		lines <- line
	}
}

// asked notes that a question is asked, and returns what is half typed at this moment: that does not answer it.
func (k *keyboard) asked(id string) (half string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.take()
	k.newest = id
	return k.half
}

// givenUp says that a question has ended without an answer: what was typed for it answers no other one.
func (k *keyboard) givenUp() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.take()
	k.before = ""
	for i := range k.lines {
		k.lines[i].Question = ""
	}
}

// restart forgets what is half typed, as the system does at Ctrl-C.
func (k *keyboard) restart() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.half = ""
}

// read takes in what is entered.
func (k *keyboard) read() {
	for {
		ready := k.poll(-1)
		k.mu.Lock()
		if ready {
			k.drain()
		} else {
			k.end()
		}
		ended := k.ended
		k.mu.Unlock()
		if ended {
			return
		}
	}
}

// poll waits for input, for ever if timeout is -1. False is no input, or none any more if that was waited for for ever.
func (k *keyboard) poll(timeout int) bool {
	state := []unix.PollFd{{Fd: int32(k.in.Fd()), Events: unix.POLLIN}}
	for {
		_, err := unix.Poll(state, timeout)
		if !errors.Is(err, unix.EINTR) {
			return err == nil && state[0].Revents&(unix.POLLIN|unix.POLLHUP|unix.POLLERR) != 0
		}
	}
}

// drain takes in whole lines that wait in the system. An error is an end: a terminal that was closed gives EIO.
func (k *keyboard) drain() {
	piece := make([]byte, 8<<10) // no line of a terminal is longer than 4 KiB
	for !k.ended && k.poll(0) {
		n, err := unix.Read(int(k.in.Fd()), piece)
		switch {
		case n > 0:
			k.feed(string(piece[:n]))
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.EAGAIN):
		default:
			k.end()
		}
	}
}

// take takes in also what is half typed. For that moment the terminal hands over bytes, not lines. A terminal that belongs to
// another job is left alone: nobody types for this one there.
func (k *keyboard) take() {
	k.drain()
	fd := int(k.in.Fd())
	lines, err := unix.IoctlGetTermios(fd, getTermios)
	group, groupErr := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
	if k.ended || err != nil || lines.Lflag&unix.ICANON == 0 || groupErr == nil && group != unix.Getpgrp() {
		return
	}
	bytes := *lines
	bytes.Lflag &^= unix.ICANON
	bytes.Cc[unix.VMIN], bytes.Cc[unix.VTIME] = 0, 0 // a read takes what is there, and waits for nothing
	if unix.IoctlSetTermios(fd, setTermios, &bytes) != nil {
		return
	}
	piece := make([]byte, 8<<10)
	for {
		n, err := unix.Read(fd, piece)
		if n > 0 {
			k.feed(string(piece[:n]))
		} else if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	_ = unix.IoctlSetTermios(fd, setTermios, lines) // or it is gone by now
	k.drain()                                       // what was typed between the two
}

// feed adds what was typed to the line that is begun. Of one that is too long only so much is kept that it shows.
func (k *keyboard) feed(typed string) {
	for typed != "" {
		part, rest, entered := strings.Cut(typed, "\n")
		if k.half == "" {
			k.before = k.newest
		}
		if len(k.half) <= maxRequest+len("\r") {
			k.half += part
		}
		if entered {
			k.enter()
		}
		typed = rest
	}
}

// enter makes a line of what was begun.
func (k *keyboard) enter() {
	k.lines = append(k.lines, tui.Line{Text: strings.TrimSuffix(k.half, "\r"), Question: k.before})
	k.half = ""
	k.more.Signal()
}

// end is the end of the input; what was begun is the last line.
func (k *keyboard) end() {
	if k.half != "" {
		k.enter()
	}
	k.ended = true
	k.more.Signal()
}
