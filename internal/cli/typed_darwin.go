package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// dropTyped throws away what was typed on a terminal and not read yet.
func dropTyped(stream any) {
	if f, ok := stream.(*os.File); ok {
		_ = unix.IoctlSetPointerInt(int(f.Fd()), unix.TIOCFLUSH, 1) // FREAD; of what is no terminal there is nothing to drop
	}
}
