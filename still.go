package flower

import (
	"crypto/sha256"
	"fmt"
	"hash"
	"io/fs"
	"path/filepath"
	"strings"
)

// maxStillRounds is how many rounds in a row may leave the workspace as it was before the step is stopped.
const maxStillRounds = 2

// maxSeenFiles bounds what is looked at to find out whether a round has changed anything: a larger workspace counts as
// changed.
const maxSeenFiles = 200_000

// stillness counts the rounds that have changed nothing since the last judgement.
type stillness struct {
	judged string // fingerprint of the workspace after it
	rounds int    // in a row
}

func (s *stillness) compare(now string) {
	if now != "" && now == s.judged {
		s.rounds++
	} else {
		s.rounds = 0
	}
}

// caches are names of what tools rewrite whenever they are run. What else git ignores may be what was asked for.
var caches = map[string]bool{
	"__pycache__": true, ".pytest_cache": true, ".mypy_cache": true, ".ruff_cache": true, ".hypothesis": true, ".cache": true,
	".gradle": true, ".nyc_output": true, ".parcel-cache": true, ".turbo": true, ".coverage": true, ".eslintcache": true, ".DS_Store": true,
}

// look is a fingerprint of the workspace: names, sizes, modes and times of its files. The run directory, what flower
// itself writes down about a run, caches and git's own bookkeeping do not count, but a commit does. Empty: not known.
func (rt *Runtime) look() string {
	sum := sha256.New()
	files := 0
	runDir := realPath(rt.opts.RunDir) // as the workspace is: it may have been reached by a symbolic link
	err := filepath.WalkDir(rt.workspace, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return skipUnreadable(d)
		}
		rel, err := filepath.Rel(rt.workspace, path)
		if err != nil {
			return err
		}
		switch {
		case path == runDir, rel == filepath.Join(".flower", "notes"), rel == filepath.Join(".flower", "spill"):
			return fs.SkipDir
		case rel == filepath.Join(".flower", "INDEX.md"):
			return nil
		case d.IsDir() && d.Name() == ".git":
			seeCommits(sum, path)
			return fs.SkipDir
		case d.IsDir() && caches[d.Name()]:
			return fs.SkipDir
		case d.IsDir(), caches[d.Name()], strings.HasSuffix(d.Name(), ".pyc"), strings.HasSuffix(d.Name(), ".tsbuildinfo"):
			return nil
		}
		if files++; files > maxSeenFiles {
			return fs.SkipAll
		}
		see(sum, rel, d)
		return nil
	})
	if err != nil || files > maxSeenFiles {
		return ""
	}
	return string(sum.Sum(nil))
}

func skipUnreadable(d fs.DirEntry) error {
	if d != nil && d.IsDir() {
		return fs.SkipDir
	}
	return nil
}

func see(sum hash.Hash, name string, d fs.DirEntry) {
	info, err := d.Info()
	if err != nil {
		return // gone since
	}
	_, _ = fmt.Fprintf(sum, "%q %d %v %d\n", name, info.Size(), info.Mode(), info.ModTime().UnixNano())
}

// seeCommits counts what a commit changes: the branches, not the index, which looking alone rewrites.
func seeCommits(sum hash.Hash, gitDir string) {
	_ = filepath.WalkDir(gitDir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return skipUnreadable(d)
		}
		rel := strings.TrimPrefix(path, gitDir)
		name, _, _ := strings.Cut(strings.TrimPrefix(filepath.ToSlash(rel), "/"), "/")
		switch {
		case rel == "", d.IsDir() && name == "refs":
			return nil
		case d.IsDir():
			return fs.SkipDir
		case name == "refs", name == "HEAD", name == "packed-refs":
			see(sum, rel, d)
		}
		return nil
	})
}
