package tools

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"flower/internal/proc"
	"flower/internal/sandbox"
)

// deniedWords are what programs print when the system refuses a write, in some of the languages they speak.
var deniedWords = []string{
	"permission denied", "eacces", "operation not permitted", "eperm", "invalid cross-device link", "access is denied",
	"权限不够", "拒绝访问", "拒絕", "許可がありません", "keine berechtigung", "permission non accordée", "permiso denegado", "отказано в доступе",
}

// denial explains a refusal that the sandbox is the likely reason for; "" where it is not. The kernel does not tell who
// has refused what, so this goes by what the command has printed.
func (b *Box) denial(res proc.Result) string {
	if res.ExitCode == 0 || b.worker.Level() == sandbox.None {
		return ""
	}
	refused, outside, inside := false, []string(nil), 0
	for line := range strings.Lines(res.Output) {
		if !denied(line) {
			continue
		}
		refused = true
		for _, path := range pathsIn(line) {
			switch known, away := b.away(path); {
			case away && !slices.Contains(outside, path):
				outside = append(outside, path)
			case known:
				inside++
			}
		}
	}
	if !refused || len(outside) == 0 && inside > 0 { // what was refused in a place was refused for other reasons
		return ""
	}
	what := "if something was denied above because it lies elsewhere, that is intended"
	if len(outside) > 0 {
		what = "writing elsewhere (" + listed(outside) + ") is denied on purpose"
	}
	places := append([]string{"the workspace (" + b.workspace + ")"}, b.opts.Granted...)
	return fmt.Sprintf("[commands may write only in %s, in directories for temporary files and in caches: %s, and chmod or sudo "+
		"will not help. Write to one of these places, or say in your answer which directory the person would have to allow "+
		"with --allow-write]", strings.Join(places, ", "), what)
}

// away says of a path that a command has named whether it lies outside of all places. Where a relative one begins is not
// known, since the command may have gone elsewhere, so it counts only if it leads out of the workspace.
func (b *Box) away(path string) (known, away bool) {
	abs := path
	if !filepath.IsAbs(path) {
		abs = b.workspace + "/" + path
	}
	real, err := follow(abs)
	if err != nil {
		return false, false
	}
	if !inAny(b.worker.Places(), real) {
		return true, !within("/dev", real) && !inAny(kernel, real)
	}
	return filepath.IsAbs(path), false
}

func denied(line string) bool {
	line = strings.ToLower(line)
	return slices.ContainsFunc(deniedWords, func(words string) bool { return strings.Contains(line, words) })
}

// namedPath finds what may be a path in an error message: in quotation marks of some kind, else up to a blank or colon.
var namedPath = regexp.MustCompile(`['"‘“«` + "`" + `]([^'"’”»` + "`" + `]*/[^'"’”»` + "`" + `]*)['"’”»` + "`" + `]|(?:^|[\s:=])((?:/|\.\.?/)[^\s:,;'"]*)`)

// pathsIn are the paths in a line, as they stand there.
func pathsIn(line string) (paths []string) {
	for _, m := range namedPath.FindAllStringSubmatch(line, -1) {
		paths = append(paths, m[1]+m[2])
	}
	return paths
}

// listed names some paths.
func listed(paths []string) string {
	const most = 3
	var names []string
	for _, p := range paths[:min(len(paths), most)] {
		names = append(names, called(p))
	}
	if more := len(paths) - most; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	if len(names) == 1 {
		return names[0]
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}
