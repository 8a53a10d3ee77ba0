package tools

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"flower/internal/disk"
)

// refusal is a path that the rules forbid, as opposed to one that does not work.
type refusal struct{ text string }

func (r *refusal) Error() string { return r.text }

// locate turns a path as a model writes it into an absolute one with all symbolic links followed. What does not exist
// stays as it is named: it may be about to be made.
func (b *Box) locate(path string) (string, error) {
	switch {
	case strings.TrimSpace(path) == "":
		return "", errors.New("the path is empty")
	case strings.ContainsRune(path, 0):
		return "", errors.New("the path holds a NUL character")
	case path == "~" || strings.HasPrefix(path, "~/"):
		return "", fmt.Errorf("%s: ~ is not expanded here; give an absolute path", called(path))
	case !filepath.IsAbs(path):
		path = b.opts.Workspace + "/" + path // not Join, which would fold "link/.." before the link is followed
	}
	real, err := follow(path)
	if err == nil && strings.HasSuffix(path, "/") {
		if info, err := os.Stat(real); err != nil || !info.IsDir() {
			return "", fmt.Errorf("%s names a directory, as it ends with a slash, and there is none", called(path))
		}
	}
	if err == nil && inAny(b.private, real) {
		return "", &refusal{called(path) + " belongs to the books of the program that runs you. This is intended; leave it alone"}
	}
	return real, err
}

// kernel holds the file systems that the kernel makes up: files there block, never end or hold flower's own secrets.
var kernel = []string{"/proc", "/sys"}

// readable is locate for reading.
func (b *Box) readable(path string) (string, error) {
	real, err := b.locate(path)
	if err != nil {
		return "", err
	}
	if inAny(kernel, real) {
		return "", &refusal{called(path) + " belongs to the kernel and is not read as a file"}
	}
	return real, nil
}

// inAny says whether path is one of the roots or below it.
func inAny(roots []string, path string) bool {
	for _, root := range roots {
		if within(root, path) {
			return true
		}
	}
	return false
}

// changeable is locate for writing.
func (b *Box) changeable(path string) (string, error) {
	real, err := b.locate(path)
	if err != nil {
		return "", err
	}
	if b.notes != "" && within(b.notes, real) {
		return "", &refusal{called(path) + " lies among the frozen documents, which say what was agreed and what will be judged. " +
			"This is intended; put what you write elsewhere, for example into .flower/artifacts"}
	}
	for _, root := range b.writable {
		if within(root, real) && real != root {
			return real, nil
		}
	}
	where := called(path)
	if real != path {
		where += " (which is " + called(real) + ")"
	}
	return "", &refusal{fmt.Sprintf("%s is outside the places where files may be written: %s. This is intended; "+
		"write inside the workspace", where, strings.Join(b.writable, ", "))}
}

// isSpilled says whether a resolved path is that of a long result.
func (b *Box) isSpilled(path string) bool { return b.spilled != "" && within(b.spilled, path) }

// parse is parseText for the content of a file: a long result is text whatever its bytes are.
func (b *Box) parse(path string, data []byte) (text, bool) {
	t, ok := parseText(data)
	if !ok && b.isSpilled(path) {
		return text{body: string(data)}, true
	}
	return t, ok
}

// show names a resolved path to the model: relative to the workspace if it is in there, and on one line.
func (b *Box) show(path string) string {
	if within(b.workspace, path) {
		if rel, err := filepath.Rel(b.workspace, path); err == nil {
			path = rel
		}
	}
	return oneLine(path)
}

// oneLine quotes names that would break a list of names.
func oneLine(name string) string {
	if strings.IndexFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\uFFFD' }) >= 0 {
		return fmt.Sprintf("%q", name)
	}
	return name
}

// within says whether path is root or below it; both are clean and absolute.
func within(root, path string) bool {
	rel, err := filepath.Rel(root, path)
	return err == nil && filepath.IsLocal(rel)
}

// follow resolves the symbolic links of an absolute path like the kernel does, and goes on where nothing exists, so
// that a link to a place that is still to be made leads there.
func follow(path string) (string, error) {
	const maxLinks = 40 // what Linux allows on one path
	done, rest := "/", strings.Split(path, "/")
	for links := 0; len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		if name == "" || name == "." {
			continue
		}
		if name == ".." {
			done = filepath.Dir(done)
			continue
		}
		next := filepath.Join(done, name)
		info, err := os.Lstat(next)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			done = next
			continue
		}
		if links++; links > maxLinks {
			return "", &fs.PathError{Op: "follow", Path: path, Err: syscall.ELOOP}
		}
		target, err := os.Readlink(next)
		if err != nil {
			return "", err
		}
		if filepath.IsAbs(target) {
			done = "/"
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	return done, nil
}

// explain says in one sentence, for the model, why a path could not be used.
func (b *Box) explain(path string, err error) string {
	var special *disk.NotRegularError
	var large *disk.TooLargeError
	switch {
	case errors.As(err, &special) && special.Mode.IsDir():
		return fmt.Sprintf("%s is a directory, not a file; Glob or ls lists what is in it.", path)
	case errors.As(err, &special):
		return fmt.Sprintf("%s is not a regular file (pipe, socket or device); it is neither read nor written.", path)
	case errors.As(err, &large):
		return fmt.Sprintf("%s has %d bytes, more than the %d allowed here; use a command for it.", path, large.Size, large.Max)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Sprintf("%s does not exist. Relative paths begin at the workspace, %s.", path, b.opts.Workspace) + b.suggestion(err)
	case errors.Is(err, errReadOnly):
		return fmt.Sprintf("%s is read-only and was not changed. If it may be changed, give yourself the permission first with a command.", path)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Sprintf("%s: permission denied.", path)
	case errors.Is(err, syscall.ENOTDIR):
		return fmt.Sprintf("%s: a part of this path is a file, not a directory.", path)
	case errors.Is(err, syscall.ELOOP):
		return fmt.Sprintf("%s: the symbolic links go round in a circle.", path)
	case errors.Is(err, syscall.ENAMETOOLONG):
		return clip(path, 80) + ": the name is too long."
	case errors.Is(err, syscall.ENOSPC):
		return fmt.Sprintf("%s: no space left on the device; nothing was changed.", path)
	}
	return err.Error()
}
