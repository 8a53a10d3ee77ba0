package cli

import (
	"path/filepath"

	"flower/internal/disk"
	"flower/internal/ignore"
	"flower/internal/text"
)

// runDirIgnore keeps the books out of git, with what is there only for a moment or after a kill. It names what is in
// there and not everything: a run directory may be one that holds other things as well, the workspace even.
const runDirIgnore = `# conversations and books of flower, which may hold what is nobody else's business
/.gitignore
/` + storeFile + `*
/.` + storeFile + `.*
/lineage.json*
/manifest.json*
/archiving.json
/flower.lock
/leases/
/` + commandsDir + `/
/` + asideDir + `/
/.*.lock
/.flower-*.tmp
`

const gitIgnore = ".gitignore"

// ignoreBooks writes it beside the books, unless there is an ignore file: that is the person's, and is left as it is. If
// git would take the books along then, it is said.
func (p place) ignoreBooks(show reporter) error {
	path := filepath.Join(p.runDir, gitIgnore)
	if !disk.Exists(path) {
		return disk.WriteFile(path, []byte(runDirIgnore), disk.PrivateMode)
	}
	if seenByGit(filepath.Join(p.runDir, storeFile)) {
		show.Notice("! ", "books.exposed", text.Data{"Path": p.short(path), "Line": "/" + storeFile + "*"})
	}
	return nil
}

// seenByGit says that a file lies in a repository none of whose ignore files leaves it out. The person's own list for all
// repositories is not asked: it holds on one machine only.
func seenByGit(path string) bool {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if ignores(filepath.Join(dir, gitIgnore), dir, path) {
			return false
		}
		if git := filepath.Join(dir, ".git"); disk.Exists(git) {
			return !ignores(filepath.Join(git, "info", "exclude"), dir, path)
		}
		if dir == filepath.Dir(dir) {
			return false
		}
	}
}

// ignores says that an ignore file, whose rules begin at dir, leaves out a file below it or a directory on the way there.
func ignores(list, dir, path string) bool {
	const most = 1 << 20 // bytes; nobody writes as much by hand
	data, err := disk.ReadRegular(list, most)
	if err != nil {
		return false
	}
	rules := ignore.Parse(string(data))
	for at := path; at != dir; at = filepath.Dir(at) {
		if rel, err := filepath.Rel(dir, at); err == nil && rules.Match(rel, at != path) == ignore.Ignored {
			return true
		}
	}
	return false
}
