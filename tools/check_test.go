package tools

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func checkBox(t *testing.T) (*Box, string) {
	t.Helper()
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"greet": 0o755, "hello.txt": 0o644} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\necho hello $1\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	b, err := New(Options{Workspace: dir, Environ: os.Environ(), Redact: func(s string) string { return strings.ReplaceAll(s, "sesame", "[secret]") }})
	if err != nil {
		t.Fatal(err)
	}
	return b, dir
}

func TestCommand(t *testing.T) {
	b, dir := checkBox(t)
	if err := os.MkdirAll(filepath.Join(dir, "venv", "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"venv/bin/mylint", "a b.sh"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	b.opts.Environ = append(b.opts.Environ, "PATH="+filepath.Join(dir, "venv", "bin")+":node_modules/.bin:"+os.Getenv("PATH"))
	const no, missing, found = "no", "missing", "found"
	for text, want := range map[string]string{
		"sh -c 'exit 0'":        found,
		"ls":                    no, // says nothing of the work
		"ls hello.txt":          found,
		"git push":              found,
		"rm -rf data":           found,
		"echo ok":               found,
		"python3":               no,
		"./greet":               found,
		"./greet Bob":           found,
		"'./greet' Bob":         found,
		"'./a b.sh' x":          found,
		"./nothing Bob":         missing,
		"./nothing":             missing,
		"./hello.txt x":         missing, // not executable: running it shows that
		"cd . && ./greet":       found,
		". ./greet && true":     found,
		"test -f hello.txt":     found,
		"[ -f hello.txt ]":      found,
		"[[ -f hello.txt ]]":    found,
		"((1 + 1))":             found,
		"! grep -q x hello.txt": found,
		"if grep -q x hello.txt; then exit 1; fi": found,
		"for i in 1 2; do ./greet $i; done":       found,
		"while read -r x; do ./greet; done < f":   found,
		"mylint -q src":                           found,
		"mylint":                                  found,
		"nonesuch-linter -q src":                  missing,
		"hello world":                             missing,
		"Hello world":                             no,
		"true":                                    no, // a value more often than a check
		"test":                                    no,
		"hello.txt":                               no,
		"./hello.txt":                             no,
		"greet":                                   no, // not on PATH
		"src/main.go":                             no,
		"$X":                                      no,
		"it's":                                    no,
		"HH:MM":                                   no,
		"key: value":                              no,
		"func main()":                             no,
		"{x}":                                     no,
		"a=b":                                     no,
		"":                                        no,
	} {
		got := no
		if is, there := b.Command(text); is && there {
			got = found
		} else if is {
			got = missing
		}
		if got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func TestCheck(t *testing.T) {
	b, dir := checkBox(t)
	tests := []struct {
		command string
		code    int
		output  string
		problem string
	}{
		{"./greet Bob", 0, "hello Bob", ""},
		{"echo sesame; exit 3", 3, "[secret]", ""},
		{"pwd", 0, dir, ""},
		{"nonesuch-linter -q src", 127, "not found", ""},
		{"./hello.txt x", 126, "", ""},
		{"kill -9 $$", -1, "", "ended by"},
		{"read x; echo got $x", 0, "got", ""}, // no input
	}
	for _, tt := range tests {
		r := b.Check(t.Context(), tt.command)
		if tt.code >= 0 && r.ExitCode != tt.code || !strings.Contains(r.Output, tt.output) || (r.Err == nil) != (tt.problem == "") || r.Err != nil && !strings.Contains(r.Err.Error(), tt.problem) {
			t.Errorf("%s: %+v", tt.command, r)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r := b.Check(ctx, "sleep 100"); r.ExitCode != -1 || r.Err == nil {
		t.Errorf("stopped: %+v", r)
	}
}
