package proc

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// ProcessRoom is how many processes and threads a command may add to those that there are when it begins. It is far more
// than a large parallel build needs, and few enough to leave room for everybody else when a command forks without end,
// until its timeout is over. A command can lift this limit, because what it is against is a mistake. On root the kernel
// does not impose it.
const ProcessRoom = 4096

// limited calls start with a limit on processes that what it starts inherits; this process has none of it afterwards. The
// kernel counts all processes of the user, so there is no such limit for one command alone: this one is measured from the
// number that the whole system has now, which no user is above.
func limited(start func()) {
	var was unix.Rlimit
	now, ok := tasks()
	if !ok || unix.Getrlimit(unix.RLIMIT_NPROC, &was) != nil || was.Cur <= now+ProcessRoom {
		start()
		return
	}
	low := unix.Rlimit{Cur: now + ProcessRoom, Max: was.Max}
	if unix.Setrlimit(unix.RLIMIT_NPROC, &low) == nil {
		defer func() { _ = unix.Setrlimit(unix.RLIMIT_NPROC, &was) }()
	}
	start()
}

// tasks counts the processes and threads of the system.
func tasks() (n uint64, ok bool) {
	load, err := os.ReadFile("/proc/loadavg") // "0.20 0.18 0.12 1/80 11206": the number after the stroke
	if err != nil {
		return 0, false
	}
	fields := bytes.Fields(load)
	const running = 3
	if len(fields) <= running {
		return 0, false
	}
	_, all, _ := bytes.Cut(fields[running], []byte("/"))
	n, err = strconv.ParseUint(string(all), 10, 64)
	return n, err == nil
}
