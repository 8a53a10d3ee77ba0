package proc

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A keeper is this program, started again under another name. It
//
//  1. reads what to run from its control pipe, so that nothing is run when
//     flower dies before it has noted the keeper;
//  2. adopts orphans of its tree, starts the main process, says so, and says
//     how it ended;
//  3. on the byte drain reads the output from then on;
//  4. ends when its tree has, and ends the tree when the control pipe is
//     closed: by flower, or by the kernel because flower is no more.
//
// PR_SET_PDEATHSIG would not do for the last: it follows the thread that
// started the child, and Go ends threads as it likes.
const keeperName = "flower-keeper"

// Descriptors of a keeper.
const (
	controlFD = 3 + iota
	statusFD
	outputFD
	stdinFD // of a service
	stdoutFD
)

// drain is the one message that follows on the control pipe.
const drain = 'd'

func init() {
	if len(os.Args) == 1 && os.Args[0] == keeperName {
		os.Exit(keep())
	}
}

// order is what a keeper is to run.
type order struct {
	path, dir string
	service   bool // has standard input and output of its own
	argv, env []string
}

// encode writes an order: its length, then strings with NULs between, which no
// string of a command can hold.
func (o order) encode() []byte {
	fields := append([]string{o.path, o.dir, strconv.FormatBool(o.service), strconv.Itoa(len(o.argv))}, o.argv...)
	text := strings.Join(append(fields, o.env...), "\x00")
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(text))), text...)
}

// maxOrder is beyond what any system runs.
const maxOrder = 64 << 20

func readOrder(r io.Reader) (order, error) {
	var length [4]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return order{}, err
	}
	n := binary.BigEndian.Uint32(length[:])
	if n > maxOrder {
		return order{}, errors.New("too long")
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(r, text); err != nil {
		return order{}, err
	}
	fields := strings.Split(string(text), "\x00")
	if len(fields) < 4 {
		return order{}, errors.New("too short")
	}
	argc, err := strconv.Atoi(fields[3])
	rest := fields[4:]
	if err != nil || argc < 1 || argc > len(rest) {
		return order{}, errors.New("no program")
	}
	return order{path: fields[0], dir: fields[1], service: fields[2] == "true", argv: rest[:argc], env: rest[argc:]}, nil
}

// keep is the main function of a keeper.
func keep() int {
	// Also what flower itself was given and knows nothing of.
	if unix.CloseRange(controlFD, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) != nil { // before Linux 5.11
		for fd := controlFD; fd <= stdoutFD; fd++ {
			unix.CloseOnExec(fd)
		}
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return 1
	}
	// Not ignored, which children would inherit, but without effect.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT, syscall.SIGPIPE,
		syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGALRM)
	control, status := os.NewFile(controlFD, "control"), os.NewFile(statusFD, "status")
	what, err := readOrder(control)
	if err != nil {
		return 1
	}
	// The other end of the output's pipe, as a description of our own: what
	// flower sets on its own does not matter here.
	output, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", outputFD), os.O_RDONLY, 0)
	if err != nil {
		output = nil
	}
	var main int
	limited(func() { main, err = launch(what) })
	_ = unix.Close(outputFD)
	if what.service {
		_, _ = unix.Close(stdinFD), unix.Close(stdoutFD) // or nobody would see their end
	}
	if err != nil {
		var errno syscall.Errno
		errors.As(err, &errno)
		_, _ = fmt.Fprintf(status, "errno %d\n", int(errno))
		return 1
	}
	_, _ = fmt.Fprintf(status, "pid %d\n", main)
	empty := make(chan struct{})
	go func() {
		defer close(empty)
		reap(main, status)
	}()
	released := make(chan struct{})
	go func() {
		defer close(released)
		for commands := bufio.NewReader(control); ; {
			c, err := commands.ReadByte()
			if err != nil {
				return
			}
			if c == drain && output != nil {
				go func() { _, _ = io.Copy(io.Discard, output) }()
			}
		}
	}()
	select {
	case <-empty:
	case <-released:
		endBelow(main, empty)
	}
	return 0
}

func launch(what order) (pid int, err error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return 0, err
	}
	defer func() { _ = null.Close() }()
	files := []uintptr{null.Fd(), outputFD, outputFD} // one pipe for both keeps the order
	if what.service {
		files = []uintptr{stdinFD, stdoutFD, outputFD}
	}
	return syscall.ForkExec(what.path, what.argv, &syscall.ProcAttr{
		Dir: what.dir, Env: what.env, Files: files,
		Sys: &syscall.SysProcAttr{Setpgid: true},
	})
}

// reap waits for all children, adopted ones too, until there is none left: then
// the tree is empty. It reports how the main process ended and whether the tree
// was empty then.
func reap(main int, status io.Writer) {
	var outcome *syscall.WaitStatus // of the main process, to be reported
	for {
		options := 0
		if outcome != nil {
			options = syscall.WNOHANG // first whatever else has ended already
		}
		var how syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &how, options, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if outcome != nil && (err != nil || pid == 0) {
			_, _ = fmt.Fprintf(status, "exit %d %t\n", uint32(*outcome), err != nil) // nobody may read it any more
			outcome = nil
		}
		if err != nil {
			return
		}
		if pid == main {
			outcome = &how
		}
	}
}

// endBelow ends the tree in stages.
func endBelow(main int, empty <-chan struct{}) {
	list := descendants(os.Getpid())
	signalAll(list, main, syscall.SIGTERM)
	signalAll(list, main, syscall.SIGCONT)
	select {
	case <-empty:
		return
	case <-time.After(DefaultGrace):
	}
	late := time.After(killWait)
	for {
		signalAll(descendants(os.Getpid()), main, syscall.SIGKILL)
		select {
		case <-empty:
			return
		case <-late:
			return
		case <-time.After(pollTime):
		}
	}
}
