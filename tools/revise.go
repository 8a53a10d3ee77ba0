package tools

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
	"golang.org/x/text/unicode/norm"

	"flower/agent"
	"flower/internal/disk"
)

// revise changes a file that exists and that the session knows as it is now, while nobody else changes it. change returns
// the new content and what to say of it, or why there is none.
func (b *Box) revise(ctx context.Context, s *session, path string, change func(data []byte) (out []byte, said, why string)) agent.ToolResult {
	real, err := b.changeable(path)
	if err != nil {
		return b.refuse(path, err)
	}
	defer b.paths.hold(fold(real))()
	if ctx.Err() != nil {
		return unchanged(path, "interrupted")
	}
	data, err := disk.ReadRegular(real, maxEditBytes)
	if err != nil {
		return b.refuse(path, err)
	}
	if why := s.stale(real, data); why != "" {
		return unchanged(path, why)
	}
	out, said, why := change(data)
	if why != "" {
		return unchanged(path, why)
	}
	links, err := replaceable(real)
	if err != nil {
		return b.refuse(path, err)
	}
	if err := b.store(real, out); err != nil {
		return b.refuse(path, err)
	}
	s.saw(real, out)
	r := agent.TextResult(said + links)
	r.Display = compare(b.show(real), plain(data), plain(out)).String()
	return r
}

// unchanged is the result of a change that was not made.
func unchanged(path, why string) agent.ToolResult {
	return agent.ErrorResult(fmt.Sprintf("%s was not changed: %s.", called(path), why))
}

// plain is the content of a file as text; of one that is none, its bytes.
func plain(data []byte) string {
	t, ok := parseText(data)
	if !ok {
		return string(data)
	}
	return t.body
}

var errReadOnly = errors.New("the file is read-only")

// replaceable says whether the file at path, which exists, may be replaced: a rename would not ask for its permissions.
// links is a remark if it has other names, which keep the old content because the new one is a new file.
func replaceable(path string) (links string, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if info.Mode().Perm()&0o222 == 0 || unix.Access(path, unix.W_OK) != nil {
		return "", errReadOnly
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Nlink > 1 {
		links = fmt.Sprintf(" The file had %d names (hard links); the others keep the old content.", st.Nlink)
	}
	return links, nil
}

// fold makes names the same that some file systems take for one.
func fold(name string) string { return strings.ToLower(norm.NFC.String(name)) }

// twinNames bounds how many names of a directory are looked through for a twin.
const twinNames = 10_000

// twin is another name in the directory of path that differs from it only in case or in how its characters are
// composed; "" if there is none.
func twin(path string) string {
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return ""
	}
	defer func() { _ = dir.Close() }()
	names, _ := dir.Readdirnames(twinNames) // what was read before an error will do
	base := filepath.Base(path)
	for _, name := range names {
		if name != base && fold(name) == fold(base) {
			return filepath.Join(filepath.Dir(path), name)
		}
	}
	return ""
}

// called is a path as a message repeats it.
func called(path string) string { return clip(oneLine(path), 300) }

// suggestion names the twin of the missing file that an error speaks of.
func (b *Box) suggestion(err error) string {
	var at *fs.PathError
	if !errors.As(err, &at) || !filepath.IsAbs(at.Path) {
		return ""
	}
	if other := twin(at.Path); other != "" {
		return fmt.Sprintf(" There is %q, which differs only in case or in how its characters are composed.", b.show(other))
	}
	return ""
}
