package main

import (
	"bytes"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"flower/internal/cli"
)

// TestEveryFlagIsScripted reads the flags of go and once from their help, and sees that the script of flags uses each,
// by its name or its letter, before the request and behind it.
func TestEveryFlagIsScripted(t *testing.T) {
	script, err := os.ReadFile("testdata/script/flags.txtar")
	if err != nil {
		t.Fatal(err)
	}
	flag := regexp.MustCompile(`(?m)^ +(?:-(\w), |    )--([a-z-]+)`)
	word := regexp.MustCompile(`'[^']*'|\S+`)
	for _, command := range []string{"go", "once"} {
		var out bytes.Buffer
		code := cli.Main([]string{command, "--help", "--lang", "en"}, nil, cli.Stdio{Out: &out, Err: &out}, cli.Options{Dir: t.TempDir()})
		found := flag.FindAllStringSubmatch(out.String(), -1)
		if code != 0 || len(found) < 15 {
			t.Fatalf("exit code %d, %d flags in\n%s", code, len(found), &out)
		}
		before, behind := map[string]bool{}, map[string]bool{}
		for line := range strings.Lines(string(script)) {
			words := word.FindAllString(strings.TrimPrefix(line, "! "), -1)
			if len(words) == 0 || words[0] != "flower" || slices.Contains(words, "once") != (command == "once") {
				continue
			}
			words = words[1:]
			if words[0] == command {
				words = words[1:]
			}
			used := before // the request is the last word, or the first
			if !strings.HasPrefix(words[0], "-") {
				used = behind
			}
			for _, w := range words {
				used[w] = true
			}
		}
		for _, f := range found {
			short, long := "-"+f[1], "--"+f[2]
			if long == "--help" {
				continue
			}
			if !before[long] && !before[short] || !behind[long] && !behind[short] {
				t.Errorf("%s %s: before the request %v, behind it %v", command, long, before[long] || before[short], behind[long] || behind[short])
			}
		}
	}
}
