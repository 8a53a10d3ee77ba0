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

func TestRunnable(t *testing.T) {
	b, _ := checkBox(t)
	for text, want := range map[string]bool{
		"sh -c 'exit 0'":         true,
		"ls":                     false, // says nothing of the work
		"ls hello.txt":           true,
		"git push":               false,
		"echo ok":                false,
		"python3":                false,
		"./greet Bob":            true,
		"cd . && ./greet":        true,
		"test -f hello.txt":      true,
		"[ -f hello.txt ]":       true,
		"! grep -q x hello.txt":  true,
		"true":                   false, // a value more often than a check
		"test":                   false,
		"hello.txt":              false,
		"./hello.txt":            false,
		"greet":                  false, // not on PATH
		"no-such-program --help": false,
		"$X":                     false,
		"it's":                   false,
		"HH:MM":                  false,
		"func main()":            false,
		"":                       false,
	} {
		if got := b.Runnable(text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
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
