package tools

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"flower/transcript"
)

func TestRead(t *testing.T) {
	f := newFixture(t, nil)
	long := strings.Repeat("é", 2500)
	many := strings.Repeat("line\n", 2345)
	tests := []struct {
		name, content string
		input         in
		want          string
	}{
		{"plain", "a\nb\n", nil, "     1\ta\n     2\tb"},
		{"no line feed at the end", "a\nb", nil, "     1\ta\n     2\tb"},
		{"blank lines", "\n\nx\n", nil, "     1\t\n     2\t\n     3\tx"},
		{"empty", "", nil, "[f exists and is empty]"},
		{"CRLF", "a\r\nb\r\n", nil, "     1\ta\n     2\tb\n[lines end in CRLF]"},
		{"mixed endings", "a\r\nb\n", nil, "     1\ta\n     2\tb\n[mixed line endings, CRLF and LF]"},
		{"byte order mark", "\xEF\xBB\xBFa\n", nil, "     1\ta\n[begins with a byte order mark]"},
		{"UTF-16 LE", "\xFF\xFEa\x00\n\x00-N", nil, "     1\ta\n     2\t中"},
		{"UTF-16 BE", "\xFE\xFF\x00a\x00\nN-", nil, "     1\ta\n     2\t中\n[UTF-16]"},
		{"Latin-1", "caf\xE9\n", nil, "     1\tcaf\\xE9\n[not UTF-8: foreign bytes are shown as \\xNN]"},
		{"unicode", "日本\n👩‍👩‍👧\n", nil, "     1\t日本\n     2\t👩‍👩‍👧"},
		{"a piece", "a\nb\nc\nd\n", in{"offset": 2, "limit": 2}, "     2\tb\n     3\tc\n[lines 2-3 of 4 lines; go on with offset 4]"},
		{"the last piece", "a\nb\nc\n", in{"offset": 3, "limit": 2}, "     3\tc"},
		{"offset 0", "a\n", in{"offset": 0}, "     1\ta"},
		{"long line", long + "\n", nil, "     1\t" + strings.Repeat("é", 2000) + " … [1001 more bytes]\n[1 line cut at 2000 characters]"},
		{"line of 2000", strings.Repeat("x", 2000), nil, "     1\t" + strings.Repeat("x", 2000)},
		{"line of 2000, CRLF", strings.Repeat("x", 2000) + "\r\n", nil, "     1\t" + strings.Repeat("x", 2000) + "\n[lines end in CRLF]"},
		{"last lines", many, in{"offset": 2345}, "  2345\tline"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := *f
			f.t = t
			f.file("f", test.content)
			input := in{"file_path": "f"}
			for k, v := range test.input {
				input[k] = v
			}
			got := f.ok(Read, input)
			if test.name == "UTF-16 LE" {
				test.want += "\n[UTF-16]"
			}
			if got != test.want {
				t.Errorf("got\n%q, want\n%q", got, test.want)
			}
		})
	}
	f.file("many", many)
	wants(t, f.ok(Read, in{"file_path": "many"}), "  2000\tline\n[lines 1-2000 of 2345 lines; go on with offset 2001]")
	wants(t, f.fails(Read, in{"file_path": "many", "offset": 2346}), "has 2345 lines; offset 2346 is behind the end")
	f.file("wide", strings.Repeat(strings.Repeat("x", 999)+"\n", 2000))
	if got := f.ok(Read, in{"file_path": "wide"}); len(got) > readBytes+5000 || !strings.Contains(got, "go on with offset") {
		t.Errorf("%d bytes, ending %q", len(got), lastLine(got))
	}
	f.file("名前 – naïve.txt", "x\n")
	f.ok(Read, in{"file_path": "名前 – naïve.txt"})
}

func TestReadRefuses(t *testing.T) {
	f := newFixture(t, nil)
	f.file("file", "x\n")
	f.file("binary", "\x7fELF\x00\x01")
	f.file("odd16", "\xFF\xFEa")
	f.file("half16", "\xFF\xFE\x00\xD8") // half of a pair
	if err := syscall.Mkfifo(filepath.Join(f.dir, "fifo"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"loop": "loop", "dangling": "nowhere", "pipe": "fifo", "self": "/proc/self/environ"} {
		if err := os.Symlink(target, filepath.Join(f.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct{ path, want string }{
		{"missing", "does not exist. Relative paths begin at the workspace, " + f.dir},
		{"dangling", "does not exist"},
		{".", "is a directory"},
		{"fifo", "not a regular file"},
		{"pipe", "not a regular file"},
		{"/dev/zero", "not a regular file"},
		{"/dev/stdin", ""},
		{"loop", "circle"},
		{"file/below", "part of this path is a file"},
		{"binary", "not a text file (6 bytes)"},
		{"odd16", "not a text file"},
		{"half16", "not a text file"},
		{strings.Repeat("x", 300), "too long"},
	}
	for _, test := range tests {
		r := f.result(Read, in{"file_path": test.path})
		if !r.IsError {
			t.Errorf("%s was read", test.path)
		}
		wants(t, textOf(r), test.want)
	}
	for _, path := range []string{"self", "/proc/self/environ", "/proc/1/../self/environ", "/sys/kernel/profiling"} {
		wants(t, f.denied(Read, in{"file_path": path}), "kernel")
	}
	if os.Geteuid() != 0 {
		path := f.file("secret", "x")
		if err := os.Chmod(path, 0); err != nil {
			t.Fatal(err)
		}
		wants(t, f.fails(Read, in{"file_path": "secret"}), "permission denied")
	}
}

func TestReadLargeFile(t *testing.T) {
	f := newFixture(t, nil)
	path := f.file("huge", "first\nsecond\n")
	if err := os.Truncate(path, 1<<40); err != nil { // a hole: a terabyte of NUL
		t.Skip("the file system has no sparse files of this size")
	}
	wants(t, f.fails(Read, in{"file_path": "huge"}), "not plain text")

	lines := bytes.Repeat([]byte(strings.Repeat("x", 1023)+"\n"), 1<<10) // 1 MiB
	h, err := os.Create(filepath.Join(f.dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	for range maxEditBytes>>20 + 1 {
		if _, err := h.Write(lines); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	wants(t, f.ok(Read, in{"file_path": "log", "limit": 1}), "     1\txxx", "[lines 1-1 of at least", "go on with offset 2; too large for Write and Edit]")
	wants(t, f.ok(Read, in{"file_path": "log", "offset": 33 << 10}), " 33792\txxx", "[too large for Write and Edit]")
	wants(t, f.fails(Edit, in{"file_path": "log", "old_string": "x", "new_string": "y"}), "more than the")
	wants(t, f.fails(Write, in{"file_path": "log", "content": ""}), "more than the")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if r, err := f.run(ctx, Read, in{"file_path": "log", "offset": 5000}); err != nil || !r.IsError {
		t.Errorf("a cancelled Read gave %v, %v", textOf(r), err)
	}
}

func TestReadImage(t *testing.T) {
	f := newFixture(t, nil)
	var buf bytes.Buffer
	if err := png.Encode(&buf, image.NewGray(image.Rect(0, 0, 3, 2))); err != nil {
		t.Fatal(err)
	}
	f.file("a.txt", buf.String()) // the content decides, not the name
	r := f.result(Read, in{"file_path": "a.txt"})
	if r.IsError || len(r.Content) != 1 || r.Content[0].Type != transcript.TypeImage {
		t.Fatalf("got %v", textOf(r))
	}
	data, err := json.Marshal(r.Content[0])
	if err != nil {
		t.Fatal(err)
	}
	wants(t, string(data), "image/png", base64.StdEncoding.EncodeToString(buf.Bytes()))
	wants(t, r.Display, "3x2")

	f.file("cut.png", buf.String()[:buf.Len()-20])
	wants(t, f.fails(Read, in{"file_path": "cut.png"}), "damaged")
	f.file("cut.webp", "RIFF\xff\xff\x00\x00WEBPVP8 ")
	wants(t, f.fails(Read, in{"file_path": "cut.webp"}), "cut short")
}

// webp is the head of a lossless WebP file of a width in pixels and one line.
func webp(width int) string {
	head := "RIFF\x1a\x00\x00\x00WEBPVP8L\x0d\x00\x00\x00\x2f" + string([]byte{byte(width - 1), byte((width - 1) >> 8)})
	return head + strings.Repeat("\x00", 34-len(head))
}

// TestReadLargeImage reads images that the API would refuse, now or when more of them are in the conversation.
func TestReadLargeImage(t *testing.T) {
	encoded := func(encode func(io.Writer, image.Image) error, width, height int) string {
		img := image.NewNRGBA(image.Rect(0, 0, width, height))
		for x := range width {
			for y := range height {
				img.Set(x, y, color.NRGBA{R: 200, G: 100, B: 50, A: 255})
			}
		}
		var buf bytes.Buffer
		if err := encode(&buf, img); err != nil {
			t.Fatal(err)
		}
		return buf.String()
	}
	jpg := func(w io.Writer, img image.Image) error { return jpeg.Encode(w, img, nil) }
	gifs := func(w io.Writer, img image.Image) error { return gif.Encode(w, img, nil) }
	f := newFixture(t, nil)
	for _, row := range []struct {
		name, data    string
		kind          string // of what is sent
		width, height int
	}{
		{"as it is", encoded(png.Encode, 2000, 1), "image/png", 2000, 1},
		{"wide", encoded(png.Encode, 4000, 100), "image/png", 1568, 39},
		{"high and thin", encoded(png.Encode, 1, 8001), "image/png", 1, 1568},
		{"photo", encoded(jpg, 2500, 2000), "image/jpeg", 1568, 1254},
		{"old", encoded(gifs, 2001, 20), "image/png", 1568, 15},
		{"heavy", encoded(png.Encode, 3, 2) + strings.Repeat("x", maxImageBytes), "image/png", 3, 2},
		{"webp", webp(2000), "image/webp", 2000, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			f.file("x", row.data)
			r := f.result(Read, in{"file_path": "x"})
			if r.IsError {
				t.Fatal(textOf(r))
			}
			var block struct {
				Source struct {
					Kind string `json:"media_type"`
					Data []byte `json:"data"`
				} `json:"source"`
			}
			raw, err := json.Marshal(r.Content[0])
			if err == nil {
				err = json.Unmarshal(raw, &block)
			}
			if err != nil {
				t.Fatal(err)
			}
			width, height, err := transcript.ImageSize(bytes.NewReader(block.Source.Data))
			if err != nil || width != row.width || height != row.height || block.Source.Kind != row.kind {
				t.Errorf("%s of %dx%d, %v, want %s of %dx%d", block.Source.Kind, width, height, err, row.kind, row.width, row.height)
			}
			if _, _, changed := (transcript.Fit{MaxSide: transcript.MaxImageSideOfMany}).Content(r.Content); changed {
				t.Error("the API would not take it")
			}
			scaled := string(block.Source.Data) != row.data
			if scaled != strings.Contains(textOf(r), fmt.Sprintf("to %dx%d pixels]", width, height)) {
				t.Errorf("says %q", textOf(r))
			}
			if img, _, err := image.Decode(bytes.NewReader(block.Source.Data)); scaled && err == nil {
				if r, g, b, a := img.At(width/2, height/2).RGBA(); r>>8 < 190 || r>>8 > 210 || g>>8 < 90 || g>>8 > 140 || b>>8 > 70 || a>>8 != 255 {
					t.Errorf("the colour became %d, %d, %d, %d", r>>8, g>>8, b>>8, a>>8)
				}
			}
		})
	}
	f.file("wide.webp", webp(2001))
	wants(t, f.fails(Read, in{"file_path": "wide.webp"}), "2001x1 pixels or 34 bytes are too many")
	var vast bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&vast, image.NewGray(image.Rect(0, 0, 5001, 5000))); err != nil {
		t.Fatal(err)
	}
	f.file("vast.png", vast.String())
	wants(t, f.fails(Read, in{"file_path": "vast.png"}), "5001x5000 pixels are too many")
}

func TestWrite(t *testing.T) {
	f := newFixture(t, nil)
	wants(t, f.ok(Write, in{"file_path": "new/deep/名.txt", "content": "a\nb"}), "Created", "2 lines, 3 bytes")
	if got := f.content("new/deep/名.txt"); got != "a\nb" {
		t.Errorf("wrote %q", got)
	}
	f.ok(Write, in{"file_path": "new/deep/名.txt", "content": "own work may be replaced"})
	f.ok(Write, in{"file_path": "empty", "content": ""})

	path := f.file("run.sh", "old\n")
	if err := os.Chmod(path, 0o751); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("run.sh", filepath.Join(f.dir, "link")); err != nil {
		t.Fatal(err)
	}
	wants(t, f.fails(Write, in{"file_path": "link", "content": "new\n"}), "have not read it", "Read it first")
	wants(t, f.ok(Write, in{"file_path": "link", "content": "old\n"}), "exactly this content already")
	f.ok(Read, in{"file_path": "run.sh"})
	f.file("run.sh", "changed\n")
	wants(t, f.fails(Write, in{"file_path": "link", "content": "new\n"}), "changed since you last read it")
	f.ok(Read, in{"file_path": "run.sh"})
	if f.content("run.sh") != "changed\n" {
		t.Error("a refused write changed the file")
	}
	r := f.result(Write, in{"file_path": "link", "content": "new\n"})
	wants(t, r.Display, "-changed\n+new")
	if f.content("run.sh") != "new\n" {
		t.Error("the link was not followed")
	}
	info, err := os.Lstat(filepath.Join(f.dir, "link"))
	if err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Error("the link is gone")
	}
	if info, err = os.Stat(path); err != nil || info.Mode().Perm() != 0o751 {
		t.Errorf("mode is %v", info.Mode())
	}
	wants(t, f.as("other").fails(Write, in{"file_path": "run.sh", "content": "x"}), "have not read it")

	if err := syscall.Mkfifo(filepath.Join(f.dir, "fifo"), 0o644); err != nil {
		t.Fatal(err)
	}
	wants(t, f.fails(Write, in{"file_path": "fifo", "content": "x"}), "not a regular file")
	wants(t, f.fails(Write, in{"file_path": "new", "content": "x"}), "is a directory")
	wants(t, f.fails(Write, in{"file_path": "empty/x", "content": "x"}), "part of this path is a file")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if r, err := f.run(ctx, Write, in{"file_path": "late", "content": "x"}); err != nil || !r.IsError {
		t.Errorf("a cancelled Write gave %q, %v", textOf(r), err)
	}
	if _, err := os.Stat(filepath.Join(f.dir, "late")); err == nil {
		t.Error("a cancelled Write wrote")
	}
}

// The directory for temporary files is a root of its own and on most machines holds t.TempDir, so these tests move it.
func TestWriteOnlyInside(t *testing.T) {
	outside := t.TempDir()
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	f := newFixture(t, nil)
	for name, target := range map[string]string{
		"out": outside, "outfile": filepath.Join(outside, "new"), "etc": "/etc", "up": "..", "in": "sub/inner",
	} {
		if err := os.Symlink(target, filepath.Join(f.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	f.file("sub/inner/x", "")
	for _, path := range []string{
		filepath.Join(outside, "a"), "../a", "out/a", "out/deeper/a", "outfile", "etc/a", "up/a", "in/../../../a",
		f.dir + "-sibling/a", "/", ".", "/dev/null", "/proc/self/mem", "sub/../../a",
	} {
		for _, call := range []struct {
			tool  string
			input in
		}{
			{Write, in{"file_path": path, "content": "x"}},
			{Edit, in{"file_path": path, "old_string": "x", "new_string": "y"}},
		} {
			wants(t, f.denied(call.tool, call.input), "This is intended")
		}
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) != 0 {
		t.Errorf("outside holds %v", entries)
	}
	for _, path := range []string{filepath.Join(tmp, "a"), "in/../b", "./c", f.dir + "/d", "sub/../e"} {
		f.ok(Write, in{"file_path": path, "content": "x"})
	}
	if f.content("sub/b") != "x" || f.content("e") != "x" {
		t.Error(".. was not followed as the kernel does it")
	}
	f.ok(Read, in{"file_path": "/etc/passwd"})
}
