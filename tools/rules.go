package tools

import (
	"context"
	"errors"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"

	"flower/internal/disk"
	"flower/internal/ignore"
)

// Names of ignore files.
const (
	gitignore   = ".gitignore"
	otherIgnore = ".ignore"
	gitDir      = ".git"
)

// maxIgnoreFile is the size in bytes from which an ignore file is none.
const maxIgnoreFile = 1 << 20

// rules are what ignore files say in a directory: its own and, by parent, those above. Directories without such files
// share the rules of the one above. They do not change once made; nil has none.
type rules struct {
	parent *rules
	dir    string      // that the lists speak of
	other  ignore.List // .ignore
	git    ignore.List // .gitignore
	// behind are the lists that git asks last, weakest last: set where a repository begins, whose files know nothing of
	// the directories above.
	behind []ignore.List
	repo   bool
}

// ignored says whether path, somewhere below r.dir, is to be passed by. A .ignore file goes before all of git's, the
// nearest first.
func (r *rules) ignored(path string, dir bool) bool {
	for at := r; at != nil; at = at.parent {
		if v := at.other.Match(below(at.dir, path), dir); v != ignore.Silent {
			return v == ignore.Ignored
		}
	}
	for at := r; at != nil; at = at.parent {
		rel := below(at.dir, path)
		if v := at.git.Match(rel, dir); v != ignore.Silent {
			return v == ignore.Ignored
		}
		for _, list := range at.behind {
			if v := list.Match(rel, dir); v != ignore.Silent {
				return v == ignore.Ignored
			}
		}
		if at.repo {
			break
		}
	}
	return false
}

// below is a path from one of the directories above it on.
func below(dir, path string) string { return strings.TrimPrefix(path[len(dir):], "/") }

// rulesAbove are the rules that hold in the directory dir because of those above it, up to where its repository begins
// or, without one, the workspace. left says that dir itself, or one of those, is left out by them.
func (b *Box) rulesAbove(dir string) (r *rules, left bool) {
	top := dir
	if within(b.workspace, dir) {
		top = b.workspace
	}
	for at := dir; ; at = filepath.Dir(at) {
		if disk.Exists(filepath.Join(at, gitDir)) {
			top = at
			break
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	for at := top; at != dir; {
		r = b.rulesIn(r, at, func(name string) bool { return disk.Exists(filepath.Join(at, name)) })
		name, _, _ := strings.Cut(below(at, dir), "/")
		at = filepath.Join(at, name)
		left = left || passedBy[name] || r.ignored(at, true)
	}
	return r, left || passedBy[filepath.Base(dir)]
}

// rulesIn are the rules in a directory below one where above hold; has says whether it holds a file of that name.
func (b *Box) rulesIn(above *rules, dir string, has func(name string) bool) *rules {
	r := &rules{parent: above, dir: dir, repo: has(gitDir)}
	if has(otherIgnore) {
		r.other = readIgnore(filepath.Join(dir, otherIgnore))
	}
	if has(gitignore) {
		r.git = readIgnore(filepath.Join(dir, gitignore))
	}
	if r.repo {
		r.behind = []ignore.List{readIgnore(filepath.Join(repository(dir), "info", "exclude")), b.userIgnores()}
	} else if r.other.Empty() && r.git.Empty() {
		return above
	}
	return r
}

// readIgnore reads an ignore file. One that cannot be read has no rules: then more is searched, not less.
func readIgnore(path string) ignore.List {
	data, err := disk.ReadRegular(path, maxIgnoreFile)
	if err != nil {
		return ignore.List{}
	}
	return ignore.Parse(string(data))
}

// repository is the directory of git's own files for a work tree, shared by all work trees of a repository.
func repository(dir string) string {
	git := filepath.Join(dir, gitDir)
	pointer := func(path, prefix string) (string, bool) {
		data, err := disk.ReadRegular(path, maxIgnoreFile)
		target, ok := strings.CutPrefix(strings.TrimSpace(string(data)), prefix)
		if err != nil || !ok || target == "" {
			return "", false
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(path), target)
		}
		return target, true
	}
	if target, ok := pointer(git, "gitdir: "); ok {
		git = target
	}
	if common, ok := pointer(filepath.Join(git, "commondir"), ""); ok {
		return common
	}
	return git
}

// findUserIgnores reads the list that git applies to all repositories of the person: core.excludesFile, which git itself
// is asked for because its settings include each other, or else the usual place.
func (b *Box) findUserIgnores() ignore.List {
	env := map[string]string{}
	for _, entry := range b.opts.Environ {
		name, value, _ := strings.Cut(entry, "=")
		env[name] = value
	}
	config := env["XDG_CONFIG_HOME"]
	if config == "" && env["HOME"] != "" {
		config = filepath.Join(env["HOME"], ".config")
	}
	path := ""
	if config != "" {
		path = filepath.Join(config, "git", "ignore")
	}
	if git := b.program("git"); git != "" {
		ctx, cancel := context.WithTimeout(context.Background(), gitSettingsTimeout)
		defer cancel()
		cmd := exec.CommandContext(ctx, git, "config", "--type=path", "--get", "core.excludesFile")
		cmd.Dir, cmd.Env = b.workspace, append(b.readerEnv(), "XDG_CONFIG_HOME="+config)
		if out, err := cmd.Output(); err == nil {
			path = strings.TrimSuffix(string(out), "\n")
		}
	}
	switch {
	case path == "":
		return ignore.List{}
	case !filepath.IsAbs(path):
		path = filepath.Join(b.workspace, path)
	}
	return readIgnore(path)
}

// isGone says whether an error means that there is nothing any more.
func isGone(err error) bool { return errors.Is(err, fs.ErrNotExist) }
