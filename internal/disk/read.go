package disk

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// ReadRegular returns the content of the regular file at path, which may be a
// symbolic link to one. It never blocks on a pipe or device: those and
// directories give a [NotRegularError]. More than limit bytes give a
// [TooLargeError]; limit <= 0 means none. A missing file is fs.ErrNotExist.
func ReadRegular(path string, limit int64) ([]byte, error) {
	data, err := readRegular(path, limit)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return data, nil
}

func readRegular(path string, limit int64) ([]byte, error) {
	f, info, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	if limit <= 0 {
		return io.ReadAll(f)
	}
	if info.Size() > limit {
		return nil, &TooLargeError{Path: path, Size: info.Size(), Max: limit}
	}
	// The size is only a hint: files grow, and those in /proc say 0.
	buf := bytes.NewBuffer(make([]byte, 0, info.Size()+bytes.MinRead))
	if _, err := buf.ReadFrom(io.LimitReader(f, limit+1)); err != nil {
		return nil, err
	}
	data := buf.Bytes()
	if int64(len(data)) > limit {
		return nil, &TooLargeError{Path: path, Size: int64(len(data)), Max: limit}
	}
	return data, nil
}

// OpenRegular opens the regular file at path for reading, for those who do not
// want all of it in memory. Its errors are those of [ReadRegular].
func OpenRegular(path string) (*os.File, fs.FileInfo, error) {
	f, info, err := openRegular(path)
	if err != nil {
		return nil, nil, fmt.Errorf("open %s: %w", path, err)
	}
	return f, info, nil
}

func openRegular(path string) (*os.File, fs.FileInfo, error) {
	// Opening some devices has effects of its own, so look before opening,
	// and again afterwards, because the name may mean something else by then.
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, &NotRegularError{Path: path, Mode: info.Mode()}
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err = f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &NotRegularError{Path: path, Mode: info.Mode()}
	}
	if err != nil {
		_ = f.Close() // only read from; the first error is the one to tell
		return nil, nil, err
	}
	return f, info, nil
}
