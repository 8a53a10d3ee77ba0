package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Free returns how many bytes can still be written to the file system of a
// directory, or of the nearest one above it as long as it is not made, by
// somebody who is not root: what is set aside for root stays set aside. A quota is not looked at. A file system that does not know, as some
// that are reached over a network, gives errors.ErrUnsupported.
func Free(dir string) (int64, error) {
	var st syscall.Statfs_t
	for {
		err := syscall.Statfs(dir, &st)
		up := filepath.Dir(dir)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, fs.ErrNotExist) && up != dir:
			dir = up
			continue
		case err != nil:
			return 0, &os.PathError{Op: "statfs", Path: dir, Err: err}
		}
		break
	}
	if st.Blocks == 0 {
		return 0, errors.ErrUnsupported
	}
	return free(&st), nil
}

// inBytes multiplies numbers whose types differ between systems.
func inBytes[Size int32 | int64 | uint32](blocks uint64, size Size) int64 {
	return int64(blocks) * int64(size)
}

// probeSize is what Probe writes: more than the largest page of a database.
const probeSize = 128 << 10

// Probe finds out why a file in dir that has size bytes cannot grow, by letting
// another one grow there in its place, which is then removed. Nil: it can. The
// file has a hole and takes probeSize.
func Probe(dir string, size int64) error {
	f, err := createTemp(dir, PrivateMode)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(make([]byte, probeSize), size)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}

// Size is that of the largest of some files; those that are not there count
// nothing.
func Size(paths ...string) int64 {
	var most int64
	for _, path := range paths {
		if info, err := os.Stat(filepath.Clean(path)); err == nil {
			most = max(most, info.Size())
		}
	}
	return most
}
