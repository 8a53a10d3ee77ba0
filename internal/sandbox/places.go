package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Temporary are the directories for files that need not last: what TMPDIR says, /tmp, /var/tmp and shared memory.
func Temporary(environ []string) []string {
	places := []string{"/tmp", "/var/tmp", "/dev/shm"}
	if dir := value(environ, "TMPDIR"); filepath.IsAbs(dir) {
		places = append(places, dir)
	}
	return places
}

// Caches are the directories in which package managers and compilers keep what can be made or fetched again. Without
// them a "go build" or "npm install" would fail in every workspace.
func Caches(environ []string) []string {
	var places []string
	add := func(dir string) {
		if filepath.IsAbs(dir) && filepath.Clean(dir) != "/" {
			places = append(places, dir)
		}
	}
	for _, name := range []string{"XDG_CACHE_HOME", "GOCACHE", "GOMODCACHE", "npm_config_cache", "PIP_CACHE_DIR", "UV_CACHE_DIR", "CCACHE_DIR"} {
		add(value(environ, name))
	}
	for _, dir := range filepath.SplitList(value(environ, "GOPATH")) {
		add(filepath.Join(dir, "pkg"))
	}
	if home := value(environ, "HOME"); filepath.IsAbs(home) && filepath.Clean(home) != "/" {
		for _, dir := range []string{
			".cache", "Library/Caches", "go/pkg", ".npm/_cacache", ".npm/_logs", ".yarn/berry/cache", ".local/share/pnpm/store",
			".cargo/registry", ".cargo/git", ".gradle/caches", ".gradle/daemon", ".m2/repository", ".ivy2/cache",
			".bundle/cache", ".nuget/packages", ".ccache",
		} {
			add(filepath.Join(home, dir))
		}
	}
	return places
}

// settle follows the links of places and leaves out those that lie in others, or whose way leads through others.
func settle(places []string) []string {
	var kept, linked []string
	for _, p := range places {
		if p = filepath.Clean(p); p == real(p, nil) {
			kept = append(kept, p)
		} else {
			linked = append(linked, p)
		}
	}
	slices.Sort(linked) // a directory before what is in it
	for _, p := range linked {
		through := false
		at := real(p, func(dir string) { through = through || inAny(kept, dir) })
		if !through {
			kept = append(kept, at)
		}
	}
	slices.Sort(kept)
	kept = slices.Compact(kept)
	return slices.DeleteFunc(slices.Clone(kept), func(p string) bool { return p != "/" && inAny(kept, filepath.Dir(p)) })
}

func inAny(roots []string, path string) bool {
	return slices.ContainsFunc(roots, func(root string) bool {
		rel, err := filepath.Rel(root, path)
		return err == nil && filepath.IsLocal(rel)
	})
}

// real follows the symbolic links of an absolute path, as far as it exists, and calls look, if it is set, with every
// directory that a name is looked up in.
func real(path string, look func(dir string)) string {
	const mostLinks = 40 // what Linux allows on one path
	at, rest := "/", strings.Split(path, "/")
	for links := 0; len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		if name == "" || name == "." {
			continue
		}
		if look != nil {
			look(at)
		}
		at = filepath.Join(at, name) // of ".." too: no link is left in at
		target, err := os.Readlink(at)
		if err != nil { // no link, or nothing there
			continue
		}
		if links++; links > mostLinks {
			return path // the kernel will say so
		}
		if at = filepath.Dir(at); filepath.IsAbs(target) {
			at = "/"
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	return at
}

// Repository returns the directories of git that a commit in dir writes to: .git in dir or above, and for a worktree the
// one that all its worktrees share. None outside of a repository, and none that lies in dir, which is a place anyway.
func Repository(dir string) []string {
	for at := dir; ; at = filepath.Dir(at) {
		dot := filepath.Join(at, ".git")
		info, err := os.Lstat(dot)
		switch {
		case err == nil && info.IsDir() && at == dir:
			return nil
		case err == nil && info.IsDir():
			return []string{dot}
		case err == nil && info.Mode().IsRegular():
			return linked(at, dot)
		case err != nil && !errors.Is(err, fs.ErrNotExist), at == filepath.Dir(at):
			return nil
		}
	}
}

// linked follows the file .git of a worktree at dir. Whoever works there may have written it, so it counts only if
// what it names lies in the directory of git that is to be opened, and points back: a file that only claims to belong to
// a repository opens no place.
func linked(dir, dot string) []string {
	gitDir, ok := pointer(dot, "gitdir: ")
	if !ok {
		return nil
	}
	gitDir = absolute(dir, gitDir)
	if back, ok := pointer(filepath.Join(gitDir, "gitdir"), ""); ok && sameFile(absolute(gitDir, back), dot) {
		if common, ok := pointer(filepath.Join(gitDir, "commondir"), ""); ok {
			common = absolute(gitDir, common)
			if isGitDir(common) && sameFile(filepath.Join(common, "worktrees", filepath.Base(gitDir)), gitDir) {
				return []string{common}
			}
		}
	}
	return nil
}

func isGitDir(dir string) bool {
	head, err := os.Lstat(filepath.Join(dir, "HEAD"))
	if err != nil || !head.Mode().IsRegular() {
		return false
	}
	objects, err := os.Stat(filepath.Join(dir, "objects"))
	return err == nil && objects.IsDir()
}

func sameFile(a, b string) bool {
	one, err := os.Lstat(a)
	if err != nil {
		return false
	}
	other, err := os.Lstat(b)
	return err == nil && os.SameFile(one, other)
}

// pointer reads a file of one line that begins with prefix.
func pointer(path, prefix string) (string, bool) {
	const most = 8 << 10 // a path
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > most {
		return "", false
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", false
	}
	rest, ok := strings.CutPrefix(strings.TrimRight(string(data), "\r\n"), prefix)
	return rest, ok && rest != "" && !strings.ContainsAny(rest, "\n\x00")
}

func absolute(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// value is that of the last entry of a name.
func value(environ []string, name string) (v string) {
	for _, entry := range environ {
		if rest, ok := strings.CutPrefix(entry, name+"="); ok {
			v = rest
		}
	}
	return v
}
