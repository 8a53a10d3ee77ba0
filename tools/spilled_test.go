package tools

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"

	"flower/internal/workbench"
)

// TestOutputWithNULs: what a command printed is read and searched in the file it went to whatever bytes it holds, with
// ripgrep and without, while no other binary file is.
func TestOutputWithNULs(t *testing.T) {
	f := newFixture(t, func(o *Options) { o.Bench = workbench.Open(o.Workspace) })
	got := f.ok(Bash, in{"command": `printf 'a\0b\n\377\n'; seq 1 3000; echo ERROR: disk 4711; seq 1 3000`})
	wants(t, got, "Read it with offset and limit")
	path := regexp.MustCompile(`\S+/spill/\w+\.txt`).FindString(got)
	wants(t, f.ok(Read, in{"file_path": path, "limit": 3}), "     1\ta\\x00b\n     2\t\\xFF\n     3\t1\n", "1 NUL byte, shown as \\x00")
	for _, f := range []*fixture{f, f.withoutRipgrep()} {
		if f.box.spilled == "" {
			f = withBench(f)
		}
		for _, pattern := range []string{"ERROR: disk", `ERR[O]R: (?:disk|tape)|[Q]`} {
			want := path + ":3003:ERROR: disk 4711\n[1 match in 1 file; 1 file searched]"
			if got := f.ok(Grep, in{"pattern": pattern, "path": path, "output_mode": modeContent}); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		}
		wants(t, f.ok(Grep, in{"pattern": `a\x00b`, "path": path, "output_mode": modeContent}), `:1:a\x00b`)
		wants(t, f.ok(Grep, in{"pattern": "ERROR: disk", "path": ".flower/spill"}), path+"\n[1 match")
	}
	data, err := os.ReadFile(f.dir + "/" + path)
	if err != nil || !bytes.HasPrefix(data, []byte("a\x00b\n\xff\n")) {
		t.Fatalf("the file holds %q, %v", data[:min(len(data), 20)], err)
	}
	f.file("copy", string(data))
	wants(t, f.fails(Read, in{"file_path": "copy"}), "not a text file")
	wants(t, f.fails(Grep, in{"pattern": "ERROR", "path": "copy"}), "[incomplete: copy is a binary file")
}

// withBench is the same fixture with a workbench.
func withBench(f *fixture) *fixture {
	g := newFixture(f.t, func(o *Options) {
		o.Workspace, o.Environ, o.Bench = f.dir, f.box.opts.Environ, workbench.Open(f.dir)
	})
	g.dir = f.dir
	return g
}

// TestLargeSpilledResult is shown in pieces, whatever bytes it holds.
func TestLargeSpilledResult(t *testing.T) {
	f := newFixture(t, func(o *Options) { o.Bench = workbench.Open(o.Workspace) })
	content := "\xFF\xFEa\x00b\n" + strings.Repeat(strings.Repeat("x", 1<<20)+"\n", maxEditBytes>>20)
	f.file(".flower/spill/0.txt", content)
	wants(t, f.ok(Read, in{"file_path": ".flower/spill/0.txt", "limit": 1}), `     1	\xFF\xFEa\x00b`)
	f.file("large", content)
	wants(t, f.fails(Read, in{"file_path": "large", "limit": 1}), "large and not plain text")
}
