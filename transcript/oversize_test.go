package transcript

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/png"
	"strings"
	"testing"
	"time"
)

// picture is an image block of a size in pixels.
func picture(t testing.TB, width, height int) Block {
	t.Helper()
	var buf bytes.Buffer
	if err := png.Encode(&buf, image.NewGray(image.Rect(0, 0, width, height))); err != nil {
		t.Fatal(err)
	}
	return Image("image/png", base64.StdEncoding.EncodeToString(buf.Bytes()))
}

// seen makes a history in which tools have returned the contents, one each.
func seen(contents ...[]Block) []Entry {
	list := []Message{say(RoleUser, Text("go"))}
	for i, content := range contents {
		id := fmt.Sprint("t", i)
		list = append(list, Message{Role: RoleAssistant, ID: "msg" + id, Content: []Block{Thinking("so", "sig"+id), ToolUse(id, "look", nil)}},
			say(RoleUser, ToolResult(id, false, content...)))
	}
	var entries []Entry
	for i, m := range list {
		e := Entry{Type: m.Role, UUID: fmt.Sprint("e", i), Message: &m}
		if i > 0 {
			e.ParentUUID = fmt.Sprint("e", i-1)
		}
		entries = append(entries, e)
	}
	return entries
}

func times(n int, b Block) (out [][]Block) {
	for range n {
		out = append(out, []Block{b})
	}
	return out
}

func TestOversize(t *testing.T) {
	long := Text(strings.Repeat("line of a result\n", 2000)) // 34 KB
	small, wide, huge := picture(t, 3, 2), picture(t, 2001, 1), picture(t, 1, 8001)
	heavy := Image("image/png", strings.Repeat("A", MaxImageBytes+4))
	pdf := Block{Type: TypeDocument, raw: []byte(`{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"` + strings.Repeat("A", 30_000) + `"}}`)}
	rows := []struct {
		name    string
		given   [][]Block
		opts    Options
		changed int
		spills  int
		left    int      // images
		same    int      // messages; -1 is all
		says    []string // somewhere in what is sent
	}{
		{name: "nothing", given: [][]Block{{long, small}}, left: 1, same: -1},
		{name: "at the limit", given: [][]Block{{long}}, opts: Options{MaxResult: 34_000}, same: -1},
		{name: "text", given: [][]Block{{Text("short")}, {long, small, Text("tail")}}, opts: Options{MaxResult: 33_000}, changed: 1, spills: 1, left: 1, same: 4,
			says: []string{pointerPrefix, "34005 characters", "It begins:\\nline of a result"}},
		{name: "same text twice", given: times(2, long), opts: Options{MaxResult: 33_000}, changed: 2, spills: 1, same: 2},
		{name: "no files", given: [][]Block{{long}}, opts: Options{MaxResult: 33_000, NoSpill: true}, changed: 1, same: 2, says: []string{lostPrefix + "34000 characters"}},
		{name: "wide image", given: [][]Block{{wide}}, left: 1, same: -1},
		{name: "huge image", given: [][]Block{{huge, Text("kept")}}, changed: 1, same: 2, says: []string{"1x8001 pixels, more than the 8000", "kept"}},
		{name: "heavy image", given: [][]Block{{heavy}}, changed: 1, same: 2, says: []string{"5242884 bytes in base 64"}},
		{name: "kind of image", given: [][]Block{{Image("image/bmp", "QQ==")}}, changed: 1, same: 2, says: []string{`\"image/bmp\" is not a kind`}},
		{name: "image that nobody can read", given: [][]Block{{Image("image/png", "QQ==")}}, left: 1, same: -1},
		{name: "image elsewhere", given: [][]Block{{{Type: TypeImage, raw: []byte(`{"type":"image","source":{"type":"url","url":"http://x"}}`)}}}, left: 1, same: -1},
		{name: "twenty images", given: append(times(19, small), []Block{wide}), left: 20, same: -1},
		{name: "twenty-one images", given: append(times(20, small), []Block{wide}), changed: 1, left: 20, same: 42, says: []string{"2001x1 pixels, more than the 2000"}},
		{name: "ninety-nine images", given: times(99, small), left: 99, same: -1},
		{name: "a hundred images", given: times(100, small), changed: 50, left: 50, same: 2, says: []string{"[image left out"}},
		{name: "request", given: append(times(10, pdf), []Block{long}), opts: Options{MaxRequest: 200_000}, changed: 9, same: 2, says: []string{"[document left out"}},
		{name: "request of texts", given: times(5, long), opts: Options{MaxRequest: 150_000}, changed: 4, spills: 1, same: 2},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			got := Prepare(seen(row.given...), row.opts)
			sendableNow(t, got)
			sameAgain(t, got, row.opts)
			_, images := Weigh(got.Messages)
			if row.same < 0 {
				row.same = len(got.Messages)
			}
			if got.Report.Oversize != row.changed || len(got.Spills) != row.spills || images != row.left || got.Same != row.same {
				t.Errorf("%d changed, %d spills, %d images, the first %d of %d the same, want %d, %d, %d, %d",
					got.Report.Oversize, len(got.Spills), images, got.Same, len(got.Messages), row.changed, row.spills, row.left, row.same)
			}
			all := string(mustEncode(got.Messages))
			for _, words := range row.says {
				if !strings.Contains(all, words) {
					t.Errorf("%q is not in %.3000s", words, all)
				}
			}
			thinking := strings.Count(all, `"signature"`)
			if want := row.same / 2; thinking != want {
				t.Errorf("%d thinking blocks, want those of %d answers", thinking, want)
			}
		})
	}
}

func TestFitOfAPrompt(t *testing.T) {
	text := strings.Repeat("世", 5000)
	e := Entry{Type: RoleUser, UUID: "e", Message: &Message{Role: RoleUser, Content: []Block{Text(text)}}}
	got := Prepare([]Entry{e}, Options{MaxText: 14_000})
	if len(got.Spills) != 1 || got.Spills[0].Text != text || !strings.Contains(got.Messages[0].PlainText(), strings.Repeat("世", 1000)+" …") {
		t.Errorf("%d spills, %s", len(got.Spills), got.Messages[0].PlainText())
	}
}

// Headers of real files, as encoders write them.
func TestWebPSize(t *testing.T) {
	rows := []struct {
		name, head    string
		width, height int
	}{
		{"lossy", "RIFF\x24\x00\x00\x00WEBPVP8 \x18\x00\x00\x00\x30\x01\x00\x9d\x01\x2a\x10\x27\x03\x00", 10000, 3},
		{"lossless", "RIFF\x1a\x00\x00\x00WEBPVP8L\x0d\x00\x00\x00\x2f\x0f\x27\x00\x00\x00\x00\x00\x00\x00", 10000, 1},
		{"extended", "RIFF\x1a\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x10\x00\x00\x00\x0f\x27\x00\x02\x00\x00", 10000, 3},
		{"another", "RIFF\x1a\x00\x00\x00WEBPVP9 \x0a\x00\x00\x00\x10\x00\x00\x00\x0f\x27\x00\x02\x00\x00", 0, 0},
		{"cut", "RIFF\x1a\x00\x00\x00WEBPVP8X", 0, 0},
	}
	for _, row := range rows {
		width, height, err := webpSize([]byte(row.head))
		if width != row.width || height != row.height || (err == nil) != (row.width > 0) {
			t.Errorf("%s: %dx%d, %v", row.name, width, height, err)
		}
	}
}

func FuzzImageSize(f *testing.F) {
	f.Add([]byte("RIFF\x1a\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x10\x00\x00\x00\x0f\x27\x00\x02\x00\x00"))
	f.Add([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x00\x00\x00\x00:~\x9bU"))
	f.Add([]byte("GIF89a\x01\x00\x01\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		width, height, err := ImageSize(bytes.NewReader(data))
		if err == nil && (width < 0 || height < 0) {
			t.Errorf("%dx%d", width, height)
		}
	})
}

func TestThinkingDropped(t *testing.T) {
	base := []string{"a - user go", "b a assistant ~one words !t1", "c b user =t1", "d c assistant ~two !t2", "e d user =t2"}
	id := func(signature string) string { return ThinkingID(Thinking("so", signature)) }
	rows := []struct {
		name, from string
		want       string
	}{
		{"all", "", "go | words !t1 | =t1 | !t2 | =t2 | ~three end | more"},
		{"from the second on", id("two"), "go | ~one words !t1 | =t1 | !t2 | =t2 | ~three end | more"},
		{"from one that is not there", id("four"), "go | ~one words !t1 | =t1 | ~two !t2 | =t2 | ~three end | more"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			list := story(t, base...)
			list = append(list, ThinkingDropped(Stamp{SessionID: "s"}, "n", "e", time.Unix(0, 0), row.from))
			list = append(list, story(t, "f n assistant ~three end", "g f user more")...)
			got := Prepare(list, Options{})
			if s := spoken(got.Messages); s != row.want || got.Same != len(got.Messages) || len(got.Report.Dropped) > 0 {
				t.Errorf("%s, the first %d the same, report %+v", s, got.Same, got.Report)
			}
			sameAgain(t, got, Options{})
			// As the process did it that met the refusal.
			before := Prepare(list[:5], Options{}).Messages
			at := map[string]int{"": 0, id("two"): 3, id("four"): 5}[row.from]
			rest, from := DropThinking(before, at, 0)
			want, _, _ := strings.Cut(row.want, " | ~three")
			if s := spoken(rest); s != want || row.from == id("two") && from != row.from {
				t.Errorf("in memory: %s, from %s", s, from)
			}
		})
	}
}
