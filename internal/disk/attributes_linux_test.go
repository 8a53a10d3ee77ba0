package disk_test

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"flower/internal/disk"
)

// listOfAccess is an access control list as the kernel keeps it: the owner, one other user, the group, the mask, others.
func listOfAccess() string {
	const version = 2
	list := binary.LittleEndian.AppendUint32(nil, version)
	for _, entry := range []struct {
		tag, perm uint16
		id        uint32
	}{{0x01, 6, 0xffffffff}, {0x02, 6, 4711}, {0x04, 4, 0xffffffff}, {0x10, 6, 0xffffffff}, {0x20, 0, 0xffffffff}} {
		list = binary.LittleEndian.AppendUint16(list, entry.tag)
		list = binary.LittleEndian.AppendUint16(list, entry.perm)
		list = binary.LittleEndian.AppendUint32(list, entry.id)
	}
	return string(list)
}

// A file that is replaced keeps what is said of it outside of its content.
func TestAttributesAreKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for name, value := range map[string]string{
		"user.note": "mine", "user.empty": "", "user.bytes": "\x00\xff\n", "user.long": strings.Repeat("x", 2000),
		"system.posix_acl_access": listOfAccess(),
	} {
		t.Run(name, func(t *testing.T) {
			write(t, path, "old")
			err := unix.Setxattr(path, name, []byte(value), 0)
			if errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.EPERM) {
				t.Skipf("this file system has no such attribute: %v", err)
			}
			if err != nil {
				t.Fatal(err)
			}
			before, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := disk.WriteFile(path, []byte("new"), 0o600); err != nil {
				t.Fatal(err)
			}
			if got := content(t, path); got != "new" {
				t.Errorf("content %q", got)
			}
			buf := make([]byte, 4096)
			n, err := unix.Getxattr(path, name, buf)
			if err != nil || string(buf[:n]) != value {
				t.Errorf("%q, %v; want %q", buf[:max(n, 0)], err, value)
			}
			after, err := os.Stat(path)
			if err != nil || after.Mode() != before.Mode() || os.SameFile(before, after) {
				t.Errorf("mode %v, was %v; %v", after.Mode(), before.Mode(), err)
			}
		})
	}
}

// A file without a list does not get the one that its directory has for new files.
func TestNoListIsInherited(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	write(t, path, "old")
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setxattr(dir, "system.posix_acl_default", []byte(listOfAccess()), 0); err != nil {
		t.Skipf("this file system has no such lists: %v", err)
	}
	if err := disk.WriteFile(path, []byte("new"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := unix.Getxattr(path, "system.posix_acl_access", make([]byte, 100)); !errors.Is(err, unix.ENODATA) {
		t.Errorf("it has a list: %v", err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o640 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

// What belongs to the old content goes with it: a program that was changed does not keep the rights it had.
func TestCapabilitiesAreNotKept(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root may give a program capabilities")
	}
	const name = "security.capability"
	path := filepath.Join(t.TempDir(), "program")
	write(t, path, "old")
	value := binary.LittleEndian.AppendUint32(nil, 0x02000001)            // version 2, effective
	value = append(value, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0) // CAP_NET_BIND_SERVICE
	if err := unix.Setxattr(path, name, value, 0); err != nil {
		t.Skipf("this file system keeps no capabilities: %v", err)
	}
	if err := disk.WriteFile(path, []byte("new"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := unix.Getxattr(path, name, make([]byte, 100)); !errors.Is(err, unix.ENODATA) {
		t.Errorf("it is still there: %v", err)
	}
}
