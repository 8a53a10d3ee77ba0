package flower

import (
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf16"

	"golang.org/x/text/unicode/norm"
)

// projectKeyMax is the length from which Claude Code shortens a project key.
const projectKeyMax = 200

// ProjectKey is the name under which a workspace's sessions are stored: the path with every character outside
// [A-Za-z0-9] turned into "-", shortened above 200 characters. It is what Claude Code writes. The path must be absolute
// and resolved (see ResolveWorkspace).
func ProjectKey(workspace string) string {
	workspace = norm.NFC.String(workspace)
	key := mapPath(workspace, func(c uint16) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
	})
	if len(key) <= projectKeyMax {
		return key
	}
	return key[:projectKeyMax] + "-" + pathHash(workspace)
}

// ProjectKeys are the spellings under which sessions of a workspace may be found, the one written first: that of
// ProjectKey, and that of the Python program where it is another.
func ProjectKeys(workspace string) []string { return projectKeys(workspace) }

// projectKeys are the spellings under which sessions of a workspace may be found, the one written first. The Python
// program looked rows up under a rule that keeps everything but "/", "_" and ".".
func projectKeys(workspace string) []string {
	key := ProjectKey(workspace)
	old := strings.NewReplacer("/", "-", "_", "-", ".", "-").Replace(norm.NFC.String(workspace))
	if old == key {
		return []string{key}
	}
	return []string{key, old}
}

// mapPath replaces by UTF-16 code units, as JavaScript does: a character outside the basic plane becomes two dashes.
func mapPath(path string, keep func(uint16) bool) string {
	var out strings.Builder
	for _, c := range utf16.Encode([]rune(path)) {
		if keep(c) {
			out.WriteByte(byte(c))
		} else {
			out.WriteByte('-')
		}
	}
	return out.String()
}

// pathHash is the base-36 form of the 32-bit hash h*31+c over the path's UTF-16 code units, absolute value.
func pathHash(path string) string {
	var h int32
	for _, c := range utf16.Encode([]rune(path)) {
		h = h*31 + int32(c)
	}
	n := int64(h)
	if n < 0 {
		n = -n
	}
	return strconv.FormatInt(n, 36)
}

// ResolveWorkspace returns the absolute path of dir with symbolic links followed, so that every way to a directory
// leads to the same conversations.
func ResolveWorkspace(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}
