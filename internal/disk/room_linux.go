package disk

import "syscall"

// blockSize is the unit of the numbers of blocks in st, in bytes.
func blockSize(st *syscall.Statfs_t) int64 { return int64(st.Frsize) }
