package disk

import (
	"bytes"
	"os"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// keepAttributes gives tmp the extended attributes of the file at path, of which an access control list is one on Linux.
// It is a best effort: a file system may have none of these, and a user may not set all of them.
func keepAttributes(tmp *os.File, path string) {
	names := readAttribute(func(to []byte) (int, error) { return unix.Llistxattr(path, to) })
	if !bytes.Contains(names, []byte(accessList)) {
		_ = unix.Fremovexattr(int(tmp.Fd()), accessList) // that of its directory, which the old file did not have
	}
	for name := range strings.SplitSeq(string(bytes.TrimSuffix(names, []byte{0})), "\x00") {
		if !isKept(name) {
			continue
		}
		value := readAttribute(func(to []byte) (int, error) { return unix.Lgetxattr(path, name, to) })
		if value != nil {
			_ = unix.Fsetxattr(int(tmp.Fd()), name, value, 0)
		}
	}
}

// accessList is the attribute that is a file's access control list on Linux.
const accessList = "system.posix_acl_access"

// isKept says that an attribute says something of the file as such. Others belong to the content, as a checksum does or
// the capabilities of a program, which every write takes away, or come from where the file lies.
func isKept(name string) bool {
	if runtime.GOOS == "linux" {
		return strings.HasPrefix(name, "user.") || name == accessList
	}
	return name != ""
}

// readAttribute reads what a system call writes, which says how much there is if it gets no room; nil if there is none.
func readAttribute(read func(to []byte) (int, error)) []byte {
	const most = 1 << 20 // far above the limits of the systems
	size, err := read(nil)
	if err != nil || size < 0 || size > most {
		return nil
	}
	buf := make([]byte, size+1)            // empty ones are there, too
	if size, err = read(buf); err != nil { // it has grown: somebody changes it just now
		return nil
	}
	return buf[:size]
}
