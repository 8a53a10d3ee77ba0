package disk

import "syscall"

// free is the number of bytes that st says are free.
func free(st *syscall.Statfs_t) int64 { return inBytes(st.Bavail, st.Frsize) }
