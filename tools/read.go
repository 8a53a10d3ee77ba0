package tools

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf8"

	"flower/agent"
	"flower/internal/disk"
)

//go:embed read.md
var readText string

// Bounds of one answer of Read, stated in read.md.
const (
	readLines    = 2000    // unless limit says otherwise
	readColumns  = 2000    // characters of a line
	readBytes    = 100_000 // of the whole answer, about 25,000 tokens
	maxEditBytes = 32 << 20
)

// read does not spill: the model asked for this file and says with offset and limit how much of it, while a pointer to
// a copy would only have to be read in turn. The bounds above hold instead.
func (b *Box) read(s *session, _ agent.Spec, _ agent.Env) agent.Tool {
	return agent.Tool{
		ToolSpec: agent.ToolSpec{Name: Read, Description: readText, InputSchema: json.RawMessage(`{
"type":"object",
"properties":{
"file_path":{"type":"string","description":"Absolute path of the file, or one relative to the workspace"},
"offset":{"type":"integer","minimum":1,"description":"First line to show, counted from 1. Default 1"},
"limit":{"type":"integer","minimum":1,"description":"Number of lines to show. Default 2000"}
},
"required":["file_path"],
"additionalProperties":false}`)},
		Again: true, Looks: true,
		Run: func(ctx context.Context, call agent.Call) (agent.ToolResult, error) {
			p := decode(call.Input)
			path := p.filled("file_path")
			first := p.integer("offset", 1, 0, math.MaxInt32) // 0 is a common slip for 1
			limit := p.integer("limit", readLines, 1, math.MaxInt32)
			if r, bad := p.bad(); bad {
				return r, nil
			}
			return b.readFile(ctx, s, path, max(first, 1), limit), nil
		},
	}
}

func (b *Box) readFile(ctx context.Context, s *session, path string, first, limit int) agent.ToolResult {
	real, err := b.readable(path)
	if err != nil {
		return b.refuse(path, err)
	}
	data, err := disk.ReadRegular(real, maxEditBytes)
	if tooLarge := (*disk.TooLargeError)(nil); errors.As(err, &tooLarge) {
		return b.readLarge(ctx, real, path, first, limit)
	}
	if err != nil {
		return b.refuse(path, err)
	}
	if len(data) == 0 {
		s.saw(real, data)
		return agent.TextResult("[" + oneLine(path) + " exists and is empty]")
	}
	if kind := imageType(data); kind != "" {
		return readImage(kind, path, data)
	}
	t, ok := b.parse(real, data)
	if !ok {
		return agent.ErrorResult(fmt.Sprintf("%s is not a text file (%d bytes) and cannot be shown. Use a command that knows its format.", path, len(data)))
	}
	page, err := paginate(ctx, strings.NewReader(t.body), first, limit)
	if err != nil {
		return b.refuse(path, err)
	}
	s.saw(real, data)
	return page.result(path, t.notes())
}

// readLarge shows a part of a file that is too large to be held in memory, or to be edited.
func (b *Box) readLarge(ctx context.Context, real, path string, first, limit int) agent.ToolResult {
	f, _, err := disk.OpenRegular(real)
	if err != nil {
		return b.refuse(path, err)
	}
	defer func() { _ = f.Close() }()
	r := bufio.NewReaderSize(f, 1<<16)
	if head, _ := r.Peek(sniffed); !b.isSpilled(real) && (isBinary(head) || bytes.HasPrefix(head, []byte(markUTF16LE)) || bytes.HasPrefix(head, []byte(markUTF16BE))) {
		return agent.ErrorResult(path + " is large and not plain text. Use a command that knows its format.")
	}
	page, err := paginate(ctx, r, first, limit)
	if err != nil {
		return b.refuse(path, err)
	}
	return page.result(path, []string{"too large for Write and Edit"})
}

// notes says what a model has to know of the file beyond its lines.
func (t text) notes() []string {
	var notes []string
	switch t.mark {
	case markUTF8:
		notes = append(notes, "begins with a byte order mark")
	case markUTF16LE, markUTF16BE:
		notes = append(notes, "UTF-16")
	}
	if crlf := strings.Count(t.body, "\r\n"); crlf > 0 {
		if crlf == strings.Count(t.body, "\n") {
			notes = append(notes, "lines end in CRLF")
		} else {
			notes = append(notes, "mixed line endings, CRLF and LF")
		}
	}
	if lone := strings.Count(t.body, "\r") - strings.Count(t.body, "\r\n"); lone > 0 {
		notes = append(notes, plural(lone, "carriage return")+" without a line feed, which end no line here")
	}
	if !utf8.ValidString(t.body) {
		notes = append(notes, `not UTF-8: foreign bytes are shown as \xNN`)
	}
	if nul := strings.Count(t.body, "\x00"); nul > 0 {
		notes = append(notes, plural(nul, "NUL byte")+`, shown as \x00`)
	}
	return notes
}

// page is a numbered piece of a file.
type page struct {
	text        strings.Builder
	first, last int  // numbers of the lines shown; last < first: none
	total       int  // lines of the file, as far as it was read
	more        bool // lines follow behind last
	gaveUp      bool // the first line to show was not reached
	counted     bool // total is that of the whole file
	cut         int  // lines that were too long
}

// Bounds of what is read besides the lines that are shown, in bytes: behind them to learn the number of lines, and before
// them to find the first. A line longer than countAhead, as in a file with a hole, ends the reading too.
const (
	countAhead = maxEditBytes
	skipAhead  = 4 << 30 // seconds on a usual disk
)

// paginate numbers limit lines of r from line first on. It reads on to count, but not without end.
func paginate(ctx context.Context, r io.Reader, first, limit int) (*page, error) {
	p := &page{first: first, last: first - 1}
	in := bufio.NewReaderSize(&stopping{ctx: ctx, r: r}, 1<<16)
	ahead, skipped, full := 0, 0, false
	for n := 1; ; n++ {
		line, size, err := nextLine(in, countAhead-ahead)
		if errors.Is(err, io.EOF) {
			p.counted = true
			return p, nil
		}
		long := errors.Is(err, errLong)
		if err != nil && !long {
			return nil, err
		}
		p.total = n
		if n < first {
			if skipped += size; long || skipped > skipAhead {
				p.gaveUp = true
				return p, nil
			}
			continue
		}
		full = full || n >= first+limit || p.text.Len() >= readBytes
		if !full {
			p.add(n, line, size)
			if long {
				p.more = true // whatever follows the line
				return p, nil
			}
			continue
		}
		p.more = true
		if ahead += size; long || ahead > countAhead {
			return p, nil
		}
	}
}

// stopping is a reader that ends with its context.
type stopping struct {
	ctx context.Context
	r   io.Reader
}

func (s *stopping) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	return s.r.Read(p)
}

var errLong = errors.New("the line is too long")

// lineBytes bounds what is kept of a line: enough for readColumns characters of any kind.
const lineBytes = readColumns * utf8.UTFMax

// nextLine returns the beginning of a line without its ending, and the size of the whole in bytes. io.EOF means that
// there is none, errLong that the line did not end within most bytes.
func nextLine(in *bufio.Reader, most int) (line string, size int, err error) {
	var kept []byte
	for {
		piece, err := in.ReadSlice('\n')
		size += len(piece)
		if room := lineBytes + 2 - len(kept); room > 0 { // 2 for the ending
			kept = append(kept, piece[:min(room, len(piece))]...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull) && size > most:
			return string(kept), size, errLong
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && size > 0, err == nil:
			return strings.TrimSuffix(strings.TrimSuffix(string(kept), "\n"), "\r"), size, nil
		}
		return "", 0, err
	}
}

// add appends the line with number n, whose beginning is given and which has size bytes.
func (p *page) add(n int, line string, size int) {
	rest := size - len(line) - len("\r\n")
	chars := 0
	for i := range line {
		if chars == readColumns {
			line, rest = line[:i], size-i
			break
		}
		chars++
	}
	fmt.Fprintf(&p.text, "%6d\t%s", n, visible(line))
	if rest > 0 && chars == readColumns {
		p.cut++
		fmt.Fprintf(&p.text, " … [%d more bytes]", rest)
	}
	p.text.WriteByte('\n')
	p.last = n
}

// result shows the page and says in the status line what it leaves out.
func (p *page) result(path string, notes []string) agent.ToolResult {
	if p.gaveUp {
		return agent.ErrorResult(fmt.Sprintf("%s: line %d lies too far behind the beginning; the first %s were looked through. Use a command.", path, p.first, plural(p.total, "line")))
	}
	if p.last < p.first {
		return agent.ErrorResult(fmt.Sprintf("%s has %s; offset %d is behind the end.", path, plural(p.total, "line"), p.first))
	}
	total := "at least " + plural(p.total, "line")
	if p.counted {
		total = plural(p.total, "line")
	}
	if p.more {
		notes = append([]string{fmt.Sprintf("lines %d-%d of %s; go on with offset %d", p.first, p.last, total, p.last+1)}, notes...)
	}
	if p.cut > 0 {
		notes = append(notes, fmt.Sprintf("%s cut at %d characters", plural(p.cut, "line"), readColumns))
	}
	shown := p.text.String()
	if len(notes) > 0 {
		shown += "[" + strings.Join(notes, "; ") + "]"
	}
	r := agent.TextResult(strings.TrimSuffix(shown, "\n"))
	r.Display = fmt.Sprintf("%s: lines %d-%d of %s", oneLine(path), p.first, p.last, total)
	return r
}

// refuse is the result for a path that could not be used.
func (b *Box) refuse(path string, err error) agent.ToolResult {
	var forbidden *refusal
	if errors.As(err, &forbidden) {
		return agent.DeniedResult(forbidden.text + ".")
	}
	return agent.ErrorResult(b.explain(called(path), err))
}
