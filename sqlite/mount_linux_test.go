package sqlite

import "syscall"

// mountSmall puts a file system of 6 MiB over dir; only root can.
func mountSmall(dir string) error { return syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=6m") }

func unmount(dir string) error { return syscall.Unmount(dir, 0) }
