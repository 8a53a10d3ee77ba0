package sandbox

import (
	"errors"
	"fmt"
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Rights of files and, with these, of directories; and what is denied everywhere: a device file made in a place would
// be a door to what lies on the disk.
const (
	fileRights = unix.LANDLOCK_ACCESS_FS_WRITE_FILE
	dirRights  = fileRights | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_SYM
	deniedRights = unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK
)

// withheld are the capabilities that a command does not get where flower is run by root, because they lead around the
// confinement: into other name spaces and the input of other terminals, to device files, to files by number instead of
// by name, into the kernel, to the environment of any process. Everything else that root may do stays, so that commands
// can work with files of others.
var withheld = []uintptr{
	unix.CAP_SYS_ADMIN, unix.CAP_MKNOD, unix.CAP_DAC_READ_SEARCH, unix.CAP_SYS_RAWIO, unix.CAP_SYS_MODULE, unix.CAP_SYS_BOOT,
	unix.CAP_BPF, unix.CAP_PERFMON,
}

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
	thread := 0
	ownThread(isMainThread, func() {
		thread = unix.Gettid()
		if err := restrictThread(ruleset); err != nil {
			result <- fmt.Errorf("confine command: %w", err)
			return
		}
		result <- start()
	})
	ended(thread)
	return <-result
}

// ended waits until a thread of this process is gone. Until then the command shares its confinement, and may look into
// this process through it; that is over before the command has even been told what to run.
func ended(thread int) {
	// About what it takes; of the system's clock, because it waits for the system: a test may have replaced Go's.
	pause := unix.NsecToTimespec(int64(20 * time.Microsecond))
	for unix.Tgkill(unix.Getpid(), thread, 0) == nil {
		_ = unix.Nanosleep(&pause, nil)
	}
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
	for _, c := range withheld {
		// Of the thread, and of what it starts from the moment that a program is started. Whoever is not root has none
		// of them, and may not give them up.
		_ = unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(ruleset), 0, 0); errno != 0 {
		return fmt.Errorf("restrict thread: %w", errno)
	}
	return nil
}

// ruleset makes the kernel's form of the sandbox, to be closed by the caller.
func (s *Sandbox) ruleset() (fd int, err error) {
	file, dir := rights(s.abi)
	attr := unix.LandlockRulesetAttr{Handled_access_fs: dir | deniedRights}
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
		if err := allow(fd, path, 0, file, file); err != nil {
			return fd, err
		}
	}
	for _, path := range s.places {
		if err := allow(fd, path, unix.RESOLVE_NO_SYMLINKS, file, dir); err != nil {
			return fd, err
		}
	}
	return fd, nil
}

// allow adds a rule for what lies at path: file rights for a file, dir rights for a directory.
func allow(ruleset int, path string, resolve, file, dir uint64) error {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: resolve}
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &how)
	if errors.Is(err, unix.ENOSYS) { // a filter of system calls that does not know it
		fd, err = unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	}
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.EACCES):
		return nil // nothing to write to
	case errors.Is(err, unix.ELOOP):
		return nil // a link since New has looked: whoever made it decides about no place
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
