package shell

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A line may begin its work elsewhere: "cd sub && git status". The rules about files that never end look at how a path
// begins, so a directory from which a harmless path would lead to one of them is refused.

// maxDirs is how often a line may change the directory.
const maxDirs = 4

// judgeCd accepts one plain directory. No flag, no variable, and nothing that leads to the root, to devices or to the
// kernel's files.
func judgeCd(args []word) string {
	if len(args) != 1 {
		return "it takes one directory here"
	}
	w := args[0]
	switch dir := path.Clean(w.text); {
	case w.text == "" || w.glob || w.dyn || strings.HasPrefix(w.text, "-") || strings.HasPrefix(w.text, "~"):
		return fmt.Sprintf("%s is not a plain directory", clip(w.text))
	case dir == "/" || dir == ".." || strings.HasSuffix(dir, "/.."):
		return fmt.Sprintf("%s may be the root, from where devices are reached", clip(w.text))
	}
	return endless(w)
}

// onlyMoves reports whether the line does nothing but change the directory, and whether it does so too often.
func onlyMoves(file *syntax.File) string {
	changes, others := 0, 0
	eachCall(file, func(words []string) {
		changes += len(moves(words))
		if words[0] != "cd" {
			others++
		}
	})
	switch {
	case others == 0 && changes > 0:
		return "a change of the directory ends with the line"
	case changes > maxDirs:
		return "the line changes the directory too often"
	}
	return ""
}

// Dirs returns the directories, besides the one it starts in, that parts of an ephemeral line may work in: absolute, or
// relative to where it starts. It errs on the side of too many. Of a line that is not ephemeral it returns nil.
func Dirs(command string) []string {
	file, reason := judge(command)
	if reason != "" {
		return nil
	}
	dirs := []string{"."}
	eachCall(file, func(words []string) {
		// A subshell leaves the others where they are, and a cd may fail.
		for _, to := range moves(words) {
			for _, from := range slices.Clone(dirs) {
				if to := join(from, to); !slices.Contains(dirs, to) {
					dirs = append(dirs, to)
				}
			}
		}
	})
	return dirs[1:]
}

// moves returns the directories that a command goes to, one after the other.
func moves(words []string) []string {
	switch words[0] {
	case "cd":
		return words[1:2]
	case "git":
		args := make([]word, len(words)-1)
		for i, w := range words[1:] {
			args[i].text = w
		}
		dirs, _, _ := gitDirs(args)
		return dirs
	}
	return nil
}

func join(from, to string) string {
	if path.IsAbs(to) {
		return path.Clean(to)
	}
	return path.Join(from, to)
}

// eachCall calls f with the words of every simple command of an accepted line, in order.
func eachCall(file *syntax.File, f func(words []string)) {
	syntax.Walk(file, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.CallExpr); ok {
			args, _ := evalArguments(c) // no reason: the line is accepted
			words := make([]string, len(args))
			for i, a := range args {
				words[i] = a.text
			}
			if len(words) > 0 {
				f(words)
			}
		}
		return true
	})
}
