package cli

import (
	"fmt"
	"os"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// pair opens both ends of a pseudo-terminal.
func pair(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo-terminals here: %v", err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	return master, slave
}

// A terminal that was closed is told from a person who left with Ctrl-D, at the very moment at which the read ends.
func TestHungUp(t *testing.T) {
	for range 300 {
		master, slave := pair(t)
		read := make(chan bool)
		go func() {
			var b [16]byte
			_, _ = syscall.Read(int(slave.Fd()), b[:]) // Ctrl-D ends it
			read <- hungUp(slave)
			_, _ = syscall.Read(int(slave.Fd()), b[:]) // and here the other end is closed
			read <- hungUp(slave)
		}()
		if _, err := master.WriteString("\x04"); err != nil {
			t.Fatal(err)
		}
		if <-read {
			t.Fatal("Ctrl-D passes for a terminal that is gone")
		}
		if err := master.Close(); err != nil {
			t.Fatal(err)
		}
		if !<-read {
			t.Fatal("a terminal that is gone passes for the end of the input")
		}
		if err := slave.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if null, err := os.Open(os.DevNull); err != nil || !hungUp(null) || !hungUp(nil) {
		t.Errorf("what is no terminal any more passes for one: %v", err)
	}
}
