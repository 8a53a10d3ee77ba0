package cli

import (
	"strings"
)

// oneLine is a text on one line.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// firstLine is the first line of a text that says anything.
func firstLine(s string) string {
	for line := range strings.Lines(s) {
		if line = strings.TrimSpace(line); line != "" {
			return oneLine(line)
		}
	}
	return ""
}

// lastLine is the last line of a text that says anything.
func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return oneLine(s[strings.LastIndexByte(s, '\n')+1:])
}

// tilde writes a path below the home directory with "~".
func tilde(path, home string) string {
	if home == "" || home == "/" {
		return path
	}
	if path == home {
		return "~"
	}
	if rest, ok := strings.CutPrefix(path, strings.TrimSuffix(home, "/")+"/"); ok {
		return "~/" + rest
	}
	return path
}
