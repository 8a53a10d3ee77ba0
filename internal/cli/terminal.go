package cli

import (
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
