package cli

import (
	"errors"
	"os"
	"strconv"

	"github.com/mattn/go-isatty"
	"golang.org/x/sys/unix"
)

// isTerminal says whether a stream is a terminal.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}

// hungUp says whether a stream that was a terminal has lost its other end. A pseudo-terminal reads as ended a moment
// before it stops to be a terminal, so that alone says too little.
func hungUp(stream any) bool {
	f, ok := stream.(*os.File)
	if !ok || !isatty.IsTerminal(f.Fd()) {
		return true
	}
	state := []unix.PollFd{{Fd: int32(f.Fd()), Events: unix.POLLIN}}
	for {
		_, err := unix.Poll(state, 0)
		if !errors.Is(err, unix.EINTR) {
			return err == nil && state[0].Revents&(unix.POLLHUP|unix.POLLNVAL) != 0
		}
	}
}

// lineWidth is the number of cells of a line: what the terminal says now, then COLUMNS, then 80.
func (a *app) lineWidth(stream any) int {
	if f, ok := stream.(*os.File); ok && isatty.IsTerminal(f.Fd()) {
		if size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ); err == nil && size.Col > 0 {
			return int(size.Col)
		}
	}
	if n, err := strconv.Atoi(a.getenv("COLUMNS")); err == nil && n > 0 {
		return n
	}
	return defaultWidth
}
