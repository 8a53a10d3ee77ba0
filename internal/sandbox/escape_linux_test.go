package sandbox

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Ways out that a shell has no words for.
func init() {
	ways = maps.Clone(systemCalls)
	for way := range systemCalls {
		ways["shielded "+way] = func() error { return shielded(way) }
	}
}

// landmark is something in the memory of this program, at the same address in all that are started from it.
var landmark byte

var systemCalls = map[string]func() error{
	"file without a name, named outside": func() error {
		fd, err := unix.Open(".", unix.O_TMPFILE|unix.O_WRONLY, 0o600)
		if err != nil {
			return fmt.Errorf("the way does not begin: %w", err)
		}
		return unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), unix.AT_FDCWD, "../outside/new", unix.AT_SYMLINK_FOLLOW)
	},
	"file without a name outside": func() error {
		_, err := unix.Open("../outside", unix.O_TMPFILE|unix.O_WRONLY, 0o600)
		return err
	},
	"exchange": func() error {
		return unix.Renameat2(unix.AT_FDCWD, "file", unix.AT_FDCWD, "../outside/file", unix.RENAME_EXCHANGE)
	},
	"truncate while opened to read": func() error {
		_, err := unix.Open("../outside/file", unix.O_RDONLY|unix.O_TRUNC, 0)
		return err
	},
	"truncate a descriptor that reads": func() error {
		fd, err := unix.Open("../outside/file", unix.O_RDONLY, 0)
		if err != nil {
			return fmt.Errorf("the way does not begin: %w", err)
		}
		return unix.Ftruncate(fd, 0)
	},
	"open by number": func() error {
		handle, _, err := unix.NameToHandleAt(unix.AT_FDCWD, "../outside/file", 0)
		if err != nil {
			return fmt.Errorf("the way does not begin: %w", err)
		}
		fd, err := unix.OpenByHandleAt(unix.AT_FDCWD, handle, unix.O_WRONLY|unix.O_TRUNC)
		if err == nil {
			_, err = unix.Write(fd, []byte("x"))
		}
		return err
	},
	"device of a disk": func() error {
		var st unix.Stat_t
		if err := unix.Stat(".", &st); err != nil {
			return fmt.Errorf("the way does not begin: %w", err)
		}
		return unix.Mknod("disk", unix.S_IFBLK|0o600, int(st.Dev))
	},
	"device that stands for nothing": func() error { // a file that is struck out in a layer: no right is needed for it
		return unix.Mknod("device", unix.S_IFCHR|0o600, 0)
	},
	"capabilities": func() error {
		header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var data [2]unix.CapUserData
		if err := unix.Capget(&header, &data[0]); err != nil {
			return fmt.Errorf("the way does not begin: %w", err)
		}
		for _, c := range []int{
			unix.CAP_SYS_ADMIN, unix.CAP_MKNOD, unix.CAP_DAC_READ_SEARCH, unix.CAP_SYS_RAWIO, unix.CAP_SYS_MODULE, unix.CAP_SYS_BOOT,
			unix.CAP_BPF, unix.CAP_PERFMON,
		} {
			if data[c/32].Effective&(1<<(c%32)) != 0 {
				fmt.Println("it has capability", c)
				return nil
			}
		}
		return errors.New("none of those that lead out")
	},
	"new name space": func() error { return unix.Unshare(unix.CLONE_NEWNS) },
	"name space of another": func() error {
		fd, err := unix.Open(fmt.Sprintf("/proc/%d/ns/mnt", os.Getppid()), unix.O_RDONLY, 0)
		if err != nil {
			return err
		}
		return unix.Setns(fd, unix.CLONE_NEWNS)
	},
	"trace the parent":       func() error { return unix.PtraceSeize(os.Getppid()) },
	"memory of the parent":   parentFile("mem"),
	"environment":            parentFile("environ"),
	"descriptors":            parentFile("fd/0"),
	"memory by system call":  parentMemory,
	"memory of its threads":  func() error { return eachThread("mem") },
	"environment of threads": func() error { return eachThread("environ") },
	"open file of the parent": func() error {
		names, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", os.Getppid()))
		for _, name := range names {
			if target, linkErr := os.Readlink(name); linkErr == nil && strings.HasSuffix(target, "/outside/file") {
				err = os.WriteFile(name, []byte("x"), 0o600)
				if err == nil {
					return nil
				}
			}
		}
		return errors.Join(errors.New("none can be seen"), err)
	},
	"descriptor that was left open": func() error {
		for fd := 3; fd < 100; fd++ {
			if target, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd)); err == nil && strings.HasSuffix(target, "/outside/file") {
				return nil
			}
		}
		return errors.New("there is none")
	},
	"keys for another terminal": func() error {
		fd, err := unix.Open(os.Getenv("TERMINAL"), unix.O_RDWR|unix.O_NOCTTY, 0)
		if err != nil {
			return err
		}
		key := byte('x')
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.TIOCSTI, uintptr(unsafe.Pointer(&key))); errno != 0 {
			return errno
		}
		return nil
	},
	"another terminal as its own": func() error {
		_, _ = unix.Setsid() // it may lead one already
		fd, err := unix.Open(os.Getenv("TERMINAL"), unix.O_RDWR|unix.O_NOCTTY, 0)
		if err != nil {
			return err
		}
		return unix.IoctlSetInt(fd, unix.TIOCSCTTY, 1) // 1 steals
	},
}

// shielded is a program that shields itself, or not, and is looked into by another one of the same user.
func shielded(way string) error {
	if os.Getenv("SHIELD") != "" {
		Shield()
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = []string{tryName + "=" + way}
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// Without a sandbox, too, what flower holds stays its own, unless it is root's.
func TestShield(t *testing.T) {
	for _, way := range []string{"environment", "memory of the parent", "trace the parent", "descriptors"} {
		for _, shield := range []string{"", "yes"} {
			cmd := exec.Command("/proc/self/exe")
			cmd.Env = []string{tryName + "=shielded " + way, "SHIELD=" + shield}
			if os.Geteuid() == 0 {
				const nobody = 65534
				cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
			}
			out, err := cmd.CombinedOutput()
			if denied := err != nil; denied != (shield != "") {
				t.Errorf("%s, shield %q: %v, %s", way, shield, err, out)
			}
		}
	}
}

func parentFile(name string) func() error {
	return func() error {
		f, err := os.Open(fmt.Sprintf("/proc/%d/%s", os.Getppid(), name))
		if err == nil {
			_ = f.Close()
		}
		return err
	}
}

func parentMemory() error {
	buf := make([]byte, 1)
	_, err := unix.ProcessVMReadv(os.Getppid(), []unix.Iovec{{Base: &buf[0], Len: 1}}, []unix.RemoteIovec{{Base: uintptr(unsafe.Pointer(&landmark)), Len: 1}}, 0)
	if errors.Is(err, unix.EFAULT) {
		return nil // it was let in, and the address was wrong
	}
	return err
}

func eachThread(name string) error {
	paths, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/%s", os.Getppid(), name))
	if err != nil || len(paths) == 0 {
		return errors.New("no thread can be seen")
	}
	for _, path := range paths {
		if f, err := os.Open(path); err == nil {
			_ = f.Close()
			return nil
		}
	}
	return errors.New("none can be opened")
}

// tryConfined tries a way in a process that s confines.
func (p place) tryConfined(t *testing.T, s *Sandbox, way string, env ...string) (out string, ok bool) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Dir, cmd.Env = p.ws, append(env, tryName+"="+way)
	var text strings.Builder
	cmd.Stdout, cmd.Stderr = &text, &text
	if err := s.Start(cmd.Start); err != nil {
		t.Fatal(err)
	}
	err := cmd.Wait()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		t.Fatalf("%v: %s", err, text.String())
	}
	return text.String(), err == nil
}

func TestSystemCallsOut(t *testing.T) {
	needKernel(t)
	for way := range systemCalls {
		t.Run(way, func(t *testing.T) {
			p := newPlace(t)
			held, err := os.OpenFile(filepath.Join(p.outside, "file"), os.O_RDWR, 0) // as flower holds its books
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = held.Close() }()
			terminal, name := newPTY(t)
			before := p.state(t)
			out, ok := p.tryConfined(t, newSandbox(t, Options{Places: []string{p.ws}}), way, "TERMINAL="+name)
			if ok || strings.Contains(out, "does not begin") {
				t.Errorf("it was let out, or the test is worth nothing: %s", out)
			}
			if after := p.state(t); after != before {
				t.Errorf("outside was\n%s\nand is\n%s", before, after)
			}
			if n := typed(t, terminal); n > 0 {
				t.Errorf("%d keys were typed", n)
			}
		})
	}
}

// Most ways are open without a sandbox, at least to root: what the test above shows is its doing.
func TestSystemCallsWithout(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root has most of these ways")
	}
	var open []string
	for way := range systemCalls {
		p := newPlace(t)
		held, err := os.OpenFile(filepath.Join(p.outside, "file"), os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		_, name := newPTY(t)
		if _, ok := p.tryConfined(t, newSandbox(t, Options{ABI: -1}), way, "TERMINAL="+name); ok {
			open = append(open, way)
		}
		_ = held.Close()
	}
	for _, way := range []string{
		"file without a name, named outside", "exchange", "truncate while opened to read", "memory of the parent", "environment", "open file of the parent",
	} {
		if !slices.Contains(open, way) {
			t.Errorf("%q is closed without a sandbox, too; open are %q", way, open)
		}
	}
}

// newPTY is a terminal that somebody sits at: its master, and the name of its other side.
func newPTY(t *testing.T) (master *os.File, name string) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("there are no terminals here: %v", err)
	}
	t.Cleanup(func() { _ = master.Close() })
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	name = fmt.Sprintf("/dev/pts/%d", n)
	slave, err := os.OpenFile(name, os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	somebody := exec.Command("sleep", "600")
	somebody.Stdin = slave
	somebody.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := errors.Join(somebody.Start(), slave.Close()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = somebody.Process.Kill(), somebody.Wait() })
	return master, name
}

// typed counts what was typed at a terminal: its other side would read it.
func typed(t *testing.T, master *os.File) int {
	t.Helper()
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCINQ) // the echo of it
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// A command that turns one of its places, or a directory on the way to one, into a link opens nothing for those after it,
// in this run or the next.
func TestPlaceBecomesALink(t *testing.T) {
	needKernel(t)
	for name, tt := range map[string]struct {
		places func(p place) []string
		swap   string
	}{
		"within another":     {func(p place) []string { return []string{p.ws, p.ws + "/sub"} }, "rm -rf sub; ln -s ../outside sub"},
		"its parent":         {func(p place) []string { return []string{p.ws, p.ws + "/sub/deep"} }, "rm -rf sub; ln -s ../outside sub"},
		"order":              {func(p place) []string { return []string{p.ws + "/sub", p.ws} }, "rm -rf sub; ln -s ../outside sub"},
		"it is made":         {func(p place) []string { return []string{p.ws, p.ws + "/new"} }, "ln -s ../outside new"},
		"through a link":     {func(p place) []string { return []string{p.ws, p.dir + "/way/sub"} }, "rm -rf sub; ln -s ../outside sub"},
		"through both":       {func(p place) []string { return []string{p.dir + "/way", p.dir + "/way/sub"} }, "rm -rf sub; ln -s ../outside sub"},
		"whole, in another":  {func(p place) []string { return []string{p.dir + "/tmp", p.dir + "/tmp/ws"} }, "cd ../tmp && mv ws old && ln -s ../outside ws"},
		"a link in a circle": {func(p place) []string { return []string{p.ws, p.ws + "/sub"} }, "rm -rf sub; ln -s sub sub"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			for _, dir := range []string{"ws/sub/deep", "tmp/ws", "outside/deep"} {
				if err := os.MkdirAll(filepath.Join(p.dir, dir), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Symlink("ws", filepath.Join(p.dir, "way")); err != nil {
				t.Fatal(err)
			}
			first := newSandbox(t, Options{Places: tt.places(p)})
			before := p.state(t)
			if out, ok := p.run(t, first, tt.swap); !ok {
				t.Fatalf("the way does not begin: %s", out)
			}
			for which, s := range map[string]*Sandbox{"same": first, "next": newSandbox(t, Options{Places: tt.places(p)})} {
				if out, ok := p.run(t, s, "echo x > ../outside/new || echo x > ../outside/deep/new"); ok {
					t.Errorf("%s: wrote outside: %s", which, out)
				}
				if out, ok := p.run(t, s, "touch fine || touch ../tmp/fine"); !ok {
					t.Errorf("%s: cannot write in its place: %s", which, out)
				}
			}
			if after := p.state(t); after != before {
				t.Errorf("outside was\n%s\nand is\n%s", before, after)
			}
		})
	}
}

// A link that the person has made, where no command can write, is followed, also a chain of them.
func TestLinkedPlace(t *testing.T) {
	p := newPlace(t)
	for to, name := range map[string]string{"ws": "one", "one": "two", "missing": "dangling", p.dir: "up"} {
		if err := os.Symlink(to, filepath.Join(p.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for place, want := range map[string]string{
		"two": "ws", "two/sub/x": "ws/sub/x", "dangling": "missing", "up/two/../outside": "outside", "outside/../up/ws/": "ws", "ws/link": "outside",
	} {
		if got := newSandbox(t, Options{Places: []string{p.dir + "/" + place}}).Places(); !slices.Equal(got, []string{filepath.Join(p.dir, want)}) {
			t.Errorf("%s is %q, want %s", place, got, want)
		}
	}
	if got := newSandbox(t, Options{Places: []string{"/", p.ws, "/"}}).Places(); !slices.Equal(got, []string{"/"}) {
		t.Errorf("everything is %q", got)
	}
}

// When Start returns nothing of this process is confined any more: its child could look into it through that.
func TestNoThreadStaysConfined(t *testing.T) {
	needKernel(t)
	s := newSandbox(t, Options{})
	for range 20 {
		var thread int
		if err := s.Start(func() error { thread = unix.Gettid(); return nil }); err != nil {
			t.Fatal(err)
		}
		if err := unix.Tgkill(unix.Getpid(), thread, 0); !errors.Is(err, unix.ESRCH) {
			t.Fatalf("the thread is there: %v", err)
		}
	}
}

// What another program has opened and hands over can be written: Landlock asks when a file is opened. It is said in the
// package's trust model; here it is so that nobody takes it for closed.
func TestHandedOver(t *testing.T) {
	needKernel(t)
	p := newPlace(t)
	f, err := os.OpenFile(filepath.Join(p.outside, "file"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	cmd := exec.Command("bash", "-c", "echo more >&3")
	cmd.ExtraFiles = []*os.File{f}
	if err := newSandbox(t, Options{}).Start(cmd.Start); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(f.Name()); err != nil || string(data) != "precious\nmore\n" {
		t.Errorf("%q, %v", data, err)
	}
}
