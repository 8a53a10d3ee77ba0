package tui

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// device is a terminal as the system has it: its modes, its size, and whose turn it is.
type device interface {
	enter() error     // keys come one by one and are not echoed
	leave() error     // as it was before enter
	size() (w, h int) // 0 is unknown
	ours() bool       // this process is in the foreground
}

// tty is a device of the system.
type tty struct {
	in, out *os.File
	before  *unix.Termios
}

func (t *tty) enter() error {
	now, err := unix.IoctlGetTermios(int(t.in.Fd()), getTermios)
	if err != nil {
		return fmt.Errorf("read terminal modes: %w", err)
	}
	if t.before == nil {
		before := *now
		t.before = &before
	}
	raw := *now
	raw.Iflag &^= unix.BRKINT | unix.ICRNL | unix.INLCR | unix.IGNCR | unix.INPCK | unix.ISTRIP | unix.IXON | unix.PARMRK
	raw.Lflag &^= unix.ECHO | unix.ECHONL | unix.ICANON | unix.IEXTEN | unix.ISIG
	raw.Cflag &^= unix.PARENB | unix.CSIZE
	raw.Cflag |= unix.CS8
	raw.Cc[unix.VMIN], raw.Cc[unix.VTIME] = 1, 0
	// Output modes stay: what others write to the terminal, a crash for one, still begins its lines on the left.
	if err := t.set(&raw); err != nil {
		return fmt.Errorf("set terminal modes: %w", err)
	}
	return nil
}

// Hush keeps a terminal from showing what is typed until show is called. Whoever asks for a secret hushes it before the
// prompt: people paste as soon as they see one.
func Hush(terminal *os.File) (show func(), err error) {
	t := &tty{in: terminal, out: terminal}
	now, err := unix.IoctlGetTermios(int(terminal.Fd()), getTermios)
	if err != nil {
		return nil, fmt.Errorf("read terminal modes: %w", err)
	}
	before, silent := *now, *now
	silent.Lflag &^= unix.ECHO
	if err := t.set(&silent); err != nil {
		return nil, fmt.Errorf("set terminal modes: %w", err)
	}
	return func() { _ = t.set(&before) }, nil // or it is gone by now
}

func (t *tty) leave() error {
	if t.before == nil || !t.ours() {
		return nil // the shell has set its own modes
	}
	if err := t.set(t.before); err != nil {
		return fmt.Errorf("restore terminal modes: %w", err)
	}
	return nil
}

func (t *tty) set(modes *unix.Termios) error {
	for {
		err := unix.IoctlSetTermios(int(t.in.Fd()), setTermios, modes)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

func (t *tty) size() (w, h int) {
	size, err := unix.IoctlGetWinsize(int(t.out.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0, 0
	}
	return int(size.Col), int(size.Row)
}

func (t *tty) ours() bool {
	group, err := unix.IoctlGetInt(int(t.in.Fd()), unix.TIOCGPGRP)
	return err != nil || group == unix.Getpgrp()
}

// claim marks the terminal as used by this process until it ends; false if another one has it. The kernel frees the mark
// of the dead.
func (t *tty) claim() bool {
	whole := unix.Flock_t{Type: unix.F_WRLCK}
	err := unix.FcntlFlock(t.out.Fd(), unix.F_SETLK, &whole)
	return !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EACCES)
}
