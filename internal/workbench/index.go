package workbench

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"unicode"

	"flower/internal/disk"
)

// Bounds of the index: it is at the front of every new conversation.
const (
	maxEntries = 40  // a group
	maxName    = 100 // characters
	maxDesc    = 200 // characters

	descLines = 10      // a description stands in the first lines
	descBytes = 4 << 10 // however long they are
)

// Index lists scripts with their descriptions, artifacts and notes, one a
// line, by name, at most 40 a group. It is "" when there is nothing to list.
//
// A script describes itself in one of its first lines: "# desc: one sentence",
// also after // or --, with a half- or full-width colon.
func (b *Bench) Index() (string, error) {
	var out strings.Builder
	for _, g := range []struct {
		name, dir string
		describe  bool
	}{
		{scriptsDir, b.Scripts(), true},
		{artifactsDir, b.Artifacts(), false},
		{notesDir, b.Notes(), false},
	} {
		entries, err := list(g.dir)
		if err != nil {
			return "", fmt.Errorf("index workbench: %w", err)
		}
		if len(entries) == 0 {
			continue
		}
		fmt.Fprintf(&out, "\n## %s\n\n", g.name)
		for _, e := range entries[:min(len(entries), maxEntries)] {
			fmt.Fprintf(&out, "- %s", b.entry(g.dir, e, g.describe))
		}
		if more := len(entries) - maxEntries; more > 0 {
			fmt.Fprintf(&out, "- … and %d more\n", more)
		}
	}
	if out.Len() == 0 {
		return "", nil
	}
	return fmt.Sprintf("# %s\n%s", clip(filepath.Base(b.dir), maxName), out.String()), nil
}

// WriteIndex writes the index to INDEX.md, unless it says so already.
func (b *Bench) WriteIndex() error {
	text, err := b.Index()
	if err != nil {
		return err
	}
	path := filepath.Join(b.dir, indexFile)
	old, err := disk.ReadRegular(path, maxNote)
	there, err := exists(err)
	if err != nil {
		return fmt.Errorf("write index: %w", err)
	}
	if string(old) == text && (there || text == "") {
		return nil
	}
	return b.inside(func() error { return disk.WriteFile(path, []byte(text), fileMode) })
}

// list returns what is in dir, by name, without hidden files and the archive
// of notes. A missing directory is empty.
func list(dir string) ([]fs.DirEntry, error) {
	all, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var entries []fs.DirEntry
	for _, e := range all {
		archive := e.IsDir() && filepath.Base(dir) == notesDir && e.Name() == archiveDir
		if !strings.HasPrefix(e.Name(), ".") && !archive {
			entries = append(entries, e)
		}
	}
	return entries, nil
}

func (b *Bench) entry(dir string, e fs.DirEntry, describe bool) string {
	name := clip(e.Name(), maxName)
	if e.IsDir() {
		name += "/"
	} else if describe {
		if desc := description(filepath.Join(dir, e.Name())); desc != "" {
			return name + ": " + desc + "\n"
		}
	}
	return name + "\n"
}

// description reads a script's first lines. A script that cannot be read has
// none: the index is no place for errors about single files.
func description(path string) string {
	f, _, err := disk.OpenRegular(path)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	start, err := io.ReadAll(io.LimitReader(f, descBytes))
	if err != nil {
		return ""
	}
	return findDesc(string(start))
}

var descLine = regexp.MustCompile(`(?i)^\s*(?:#|//|--)\s*desc\s*[:：](.*)$`)

func findDesc(start string) string {
	lines := 0
	for line := range strings.Lines(start) {
		if lines++; lines > descLines {
			break
		}
		if m := descLine.FindStringSubmatch(strings.TrimSpace(strings.TrimPrefix(line, "\uFEFF"))); m != nil {
			return clip(strings.TrimSpace(m[1]), maxDesc)
		}
	}
	return ""
}

// clip makes text fit for one line of the index: what is not printable is
// shown as U+FFFD, so that a name cannot begin a line of its own, hide its end
// or move a cursor; what is too long ends in "…".
func clip(text string, most int) string {
	var out []rune
	for _, r := range text {
		if len(out) == most {
			return string(out) + "…"
		}
		if !unicode.IsPrint(r) { // format characters, bidi marks among them, are not
			r = unicode.ReplacementChar
		}
		out = append(out, r)
	}
	return string(out)
}
