package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"flower/internal/disk"
)

// maxHead bounds what is read of git's small files.
const maxHead = 64 << 10

// gitBranch returns what reads the branch that is checked out in a directory, from git's own file: no process is
// started for every entry. "" where there is none.
func gitBranch(dir string) func() string {
	head := gitHead(dir)
	return func() string {
		if head == "" {
			return ""
		}
		data, err := disk.ReadRegular(head, maxHead)
		if err != nil {
			return ""
		}
		ref, ok := strings.CutPrefix(strings.TrimSpace(string(data)), "ref: refs/heads/")
		if !ok {
			return "" // a commit, not a branch
		}
		return strings.ToValidUTF8(ref, "\uFFFD")
	}
}

// gitHead is the HEAD file that governs dir; "" outside of repositories.
func gitHead(dir string) string {
	for {
		git := filepath.Join(dir, ".git")
		info, err := os.Stat(git)
		switch {
		case err == nil && info.IsDir():
			return filepath.Join(git, "HEAD")
		case err == nil:
			return linkedHead(dir, git)
		case !errors.Is(err, fs.ErrNotExist):
			return ""
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}

// linkedHead follows the .git file of a linked worktree.
func linkedHead(dir, file string) string {
	data, err := disk.ReadRegular(file, maxHead)
	if err != nil {
		return ""
	}
	target, ok := strings.CutPrefix(strings.TrimSpace(string(data)), "gitdir: ")
	if !ok {
		return ""
	}
	if !filepath.IsAbs(target) {
		target = filepath.Join(dir, target)
	}
	return filepath.Join(target, "HEAD")
}
