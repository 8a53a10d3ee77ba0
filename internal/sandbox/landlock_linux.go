package sandbox

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Rights of files and, with these, of directories.
const (
	fileRights = unix.LANDLOCK_ACCESS_FS_WRITE_FILE
	dirRights  = fileRights | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG |
		unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_SYM
)

// devices hold nothing that lasts: files that take and drop what is written, terminals that a program makes for itself,
// shared memory, and the hardware of computations. Disks and the kernel's memory are not among them.
var devices = []string{
	"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/pts",
	"/dev/kvm", "/dev/fuse", "/dev/dri", "/dev/kfd", "/dev/nvidia0", "/dev/nvidia1", "/dev/nvidiactl", "/dev/nvidia-uvm",
}

// kernelABI asks for the version of Landlock; 0 is a kernel without it, or one that was started with it switched off.
func kernelABI() int {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(v)
}

// rights are those that version abi knows, of files and of directories.
func rights(abi int) (file, dir uint64) {
	file, dir = fileRights, dirRights
	if abi >= abiRefer {
		dir |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if abi >= abiTruncate {
		file |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
		dir |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	return file, dir
}

// confined calls start on a thread of its own that is confined first; the child is born with what its thread has. The
// thread ends with its goroutine because it stays locked to it, and the runtime never makes another from one that is
// locked. So there is no helper program, and the rest of this process keeps its rights.
func (s *Sandbox) confined(start func() error) error {
	ruleset, err := s.ruleset()
	if err != nil {
		return fmt.Errorf("confine command: %w", err)
	}
	defer func() { _ = unix.Close(ruleset) }()
	result := make(chan error, 1)
	ownThread(isMainThread, func() {
		if err := restrictThread(ruleset); err != nil {
			result <- fmt.Errorf("confine command: %w", err)
			return
		}
		result <- start()
	})
	return <-result
}

// ownThread calls f on a thread that refused does not name and that ends with f; it returns when f has. A thread that is
// refused is held until f is done, so that it is not offered again.
func ownThread(refused func(tid int) bool, f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		if refused(unix.Gettid()) {
			defer runtime.UnlockOSThread()
			ownThread(refused, f)
			return
		}
		f() // and the thread stays locked: the runtime ends it
	}()
	<-done
}

// isMainThread tells whether tid is the first thread of this process. It must stay free: the runtime cannot end it, and
// the kernel asks it alone who may read the memory of the process, which a command that shares its confinement could.
func isMainThread(tid int) bool { return tid == unix.Getpid() }

// restrictThread confines the calling thread.
func restrictThread(ruleset int) error {
	// Without it a program with the setuid bit would run with the confinement, and may misbehave with it.
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("give up new rights: %w", err)
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(ruleset), 0, 0); errno != 0 {
		return fmt.Errorf("restrict thread: %w", errno)
	}
	return nil
}

// ruleset makes the kernel's form of the sandbox, to be closed by the caller.
func (s *Sandbox) ruleset() (fd int, err error) {
	file, dir := rights(s.abi)
	attr := unix.LandlockRulesetAttr{Handled_access_fs: dir}
	// The older kernels know only the first field and want the others to be absent or zero.
	r, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr.Handled_access_fs), 0)
	if errno != 0 {
		return -1, fmt.Errorf("make rules: %w", errno)
	}
	fd = int(r)
	defer func() {
		if err != nil {
			_ = unix.Close(fd)
		}
	}()
	for _, path := range devices {
		if err := allow(fd, path, file, file); err != nil {
			return fd, err
		}
	}
	for _, path := range s.places {
		if err := allow(fd, path, file, dir); err != nil {
			return fd, err
		}
	}
	return fd, nil
}

// allow adds a rule for what lies at path: file rights for a file, dir rights for a directory.
func allow(ruleset int, path string, file, dir uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.EACCES) {
		return nil // nothing to write to
	}
	if err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	defer func() { _ = unix.Close(fd) }()
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return fmt.Errorf("look at %s: %w", path, err)
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: file, Parent_fd: int32(fd)}
	if stat.Mode&unix.S_IFMT == unix.S_IFDIR {
		rule.Allowed_access = dir
	}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return fmt.Errorf("allow %s: %w", path, errno)
	}
	return nil
}
