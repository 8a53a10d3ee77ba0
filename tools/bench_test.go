package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"flower/agent"
)

// manyFiles is how many files the benchmarks of searches look at.
const manyFiles = 200_000

// BenchmarkManyFiles searches a tree of 200,000 files, beside find and ripgrep where they are installed. What is searched
// for is in one of them, so that nobody can stop early. The tree is in the page cache.
func BenchmarkManyFiles(b *testing.B) {
	dir := b.TempDir()
	body := strings.Repeat("some line of a source file, number 17\n", 20)
	for i := range manyFiles {
		sub := filepath.Join(dir, fmt.Sprintf("d%02d/e%02d", i/2000, i/100%20))
		if i%100 == 0 {
			if err := os.MkdirAll(sub, 0o755); err != nil {
				b.Fatal(err)
			}
		}
		text, name := body, fmt.Sprintf("f%06d.go", i)
		if i == manyFiles-7 {
			text, name = body+"a needle in it\n", "needle.txt"
		}
		if err := os.WriteFile(filepath.Join(sub, name), []byte(text), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	tool := func(name, path string, input in) func(*testing.B) {
		box, err := New(Options{Workspace: dir, Environ: []string{"PATH=" + path, "HOME=" + dir}, SearchTimeout: 1 << 40})
		if err != nil {
			b.Fatal(err)
		}
		list, err := box.Tools(agent.Spec{Tools: []string{name}}, agent.Env{})
		if err != nil {
			b.Fatal(err)
		}
		data, err := json.Marshal(input)
		if err != nil {
			b.Fatal(err)
		}
		return func(b *testing.B) {
			for b.Loop() {
				r, err := list[0].Run(context.Background(), agent.Call{Name: name, Input: data})
				if err != nil || r.IsError || !strings.HasPrefix(textOf(r), "d99/e19/needle.txt\n[1 match") {
					b.Fatal(textOf(r), err)
				}
			}
		}
	}
	program := func(args ...string) func(*testing.B) {
		return func(b *testing.B) {
			if _, err := exec.LookPath(args[0]); err != nil {
				b.Skip(args[0] + " is not installed")
			}
			for b.Loop() {
				cmd := exec.CommandContext(b.Context(), args[0], args[1:]...)
				cmd.Dir = dir
				if out, err := cmd.Output(); err != nil || !strings.Contains(string(out), "needle.txt") {
					b.Fatal(string(out), err)
				}
			}
		}
	}
	const here = "/usr/local/bin:/usr/bin:/bin"
	b.Run("Glob", tool(Glob, "/nowhere", in{"pattern": "*.txt"}))
	b.Run("find", program("find", ".", "-name", "*.txt"))
	b.Run("rg files", program("rg", "--no-config", "--files", "--hidden", "-g", "*.txt"))
	for _, pattern := range []string{"a needle", "(?i)NEEDLE.*it$", "[nm][e3]{2}[dt]"} {
		b.Run("Grep alone/"+pattern, tool(Grep, "/nowhere", in{"pattern": pattern}))
		b.Run("Grep with rg/"+pattern, tool(Grep, here, in{"pattern": pattern}))
		b.Run("rg/"+pattern, program("rg", "--no-config", "--hidden", "-l", pattern))
	}
}

// BenchmarkEdit changes one place in the middle of a file of 10 MB, again and again.
func BenchmarkEdit(b *testing.B) {
	for _, row := range []struct{ name, line, old, new string }{
		{"LF", "some line of text\n", "here", "there"},
		{"CRLF", "some line of text\r\n", "here", "there"},
		{"a near miss", "some line of text\n", "herr", ""},
	} {
		b.Run(row.name, func(b *testing.B) {
			dir := b.TempDir()
			half := strings.Repeat(row.line, 5<<20/len(row.line))
			content := half + "<here>\n" + half
			if err := os.WriteFile(filepath.Join(dir, "f"), []byte(content), 0o644); err != nil {
				b.Fatal(err)
			}
			box, err := New(Options{Workspace: dir})
			if err != nil {
				b.Fatal(err)
			}
			s := box.session(agent.Key{})
			box.readFile(context.Background(), s, "f", 1, 1)
			old, new := "<"+row.old+">", "<"+row.new+">"
			b.SetBytes(int64(len(content)))
			for b.Loop() {
				r := box.editFile(context.Background(), s, "f", change{old: old, new: new})
				if r.IsError != (row.new == "") {
					b.Fatal(textOf(r))
				}
				if !r.IsError {
					old, new = new, old
				}
			}
		})
	}
}
