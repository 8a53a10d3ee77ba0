package config

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"flower/internal/disk"
)

// maxFile is the largest .env file read, in bytes.
const maxFile = 1 << 20

// source is one place where values are looked up.
type source struct {
	name    string
	values  map[string]string
	foreign bool // may have come from somebody else
}

// get returns a value without blanks around it, "" when there is none: an
// empty value does not keep the next source from being asked.
func (s source) get(name string) string { return strings.Trim(s.values[name], " \t") }

// openSources reads all sources in their order.
func openSources(opts Options) ([]source, error) {
	env := fromEnviron(opts.Environ)
	files := []struct {
		path    string
		named   bool // by the person: then it has to be there
		foreign bool
	}{
		{path: inDir(opts.Dir, env.get(envFile)), named: true},
		{path: inDir(opts.Dir, dotenvIn(opts.Dir)), foreign: true},
		{path: userFile(env, ".env")},
	}
	sources := []source{env}
	for _, f := range files {
		if f.path == "" || f.foreign && opts.Own {
			continue
		}
		s, there, err := fromFile(f.path, f.named)
		if err != nil {
			return nil, err
		}
		// The file that was named says nothing new when it is found again.
		if s.foreign = f.foreign; there && !slices.ContainsFunc(sources, func(o source) bool { return o.name == s.name }) {
			sources = append(sources, s)
		}
	}
	if s, there := fromClaude(claudeFile(env, opts.Dir)); there {
		sources = append(sources, s)
	}
	return sources, nil
}

func fromEnviron(environ []string) source {
	values := map[string]string{}
	for _, entry := range environ {
		name, value, ok := strings.Cut(entry, "=")
		if _, twice := values[name]; ok && !twice {
			values[name] = value
		}
	}
	return source{name: SourceEnvironment, values: values}
}

func dotenvIn(dir string) string {
	if dir == "" {
		return ""
	}
	return ".env"
}

func inDir(dir, path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// userDir is flower's directory among the person's own files; "" when the
// environment does not say where those are. A relative XDG_CONFIG_HOME counts
// as not set, as the XDG base directory specification wants.
func userDir(env source) string {
	dir := env.get("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) {
		home := env.get("HOME")
		if !filepath.IsAbs(home) {
			return ""
		}
		dir = filepath.Join(home, ".config")
	}
	return filepath.Join(dir, "flower")
}

// userFile is one of the person's own files, "" like userDir.
func userFile(env source, name string) string {
	dir := userDir(env)
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, name)
}

// LoadPrices reads prices.json in the person's configuration directory. What is in it is not looked at. Errors:
// [FileError].
func LoadPrices(opts Options) (File, error) {
	path := userFile(fromEnviron(opts.Environ), "prices.json")
	if path == "" {
		return File{}, nil
	}
	data, err := disk.ReadRegular(path, maxFile)
	var odd *disk.NotRegularError
	var big *disk.TooLargeError
	switch {
	case err == nil:
		return File{Path: path, Data: append([]byte{}, data...)}, nil
	case errors.Is(err, fs.ErrNotExist):
		return File{Path: path}, nil
	case errors.As(err, &odd):
		return File{}, &FileError{Path: path, Why: NotRegularFile, Err: err}
	case errors.As(err, &big):
		return File{}, &FileError{Path: path, Why: TooLargeFile, Err: err}
	}
	return File{}, &FileError{Path: path, Why: Unreadable, Err: err}
}

// fromFile reads a .env file. One that nobody named may be missing, or be a
// directory: virtual environments are often called .env.
func fromFile(path string, named bool) (s source, there bool, err error) {
	data, err := disk.ReadRegular(path, maxFile)
	var odd *disk.NotRegularError
	var big *disk.TooLargeError
	switch {
	case err == nil:
	case !named && (errors.Is(err, fs.ErrNotExist) || errors.As(err, &odd) && odd.Mode.IsDir()):
		return source{}, false, nil
	case errors.Is(err, fs.ErrNotExist):
		return source{}, false, &FileError{Path: path, Why: NoSuchFile, Err: err}
	case errors.As(err, &odd):
		return source{}, false, &FileError{Path: path, Why: NotRegularFile, Err: err}
	case errors.As(err, &big):
		return source{}, false, &FileError{Path: path, Why: TooLargeFile, Err: err}
	default:
		return source{}, false, &FileError{Path: path, Why: Unreadable, Err: err}
	}
	values, fault := parseDotenv(data)
	if fault != nil {
		return source{}, false, &FileError{Path: path, Line: fault.line, Why: fault.why}
	}
	return source{name: path, values: values}, true, nil
}
