package tui

import (
	"strings"
	"testing"
	"unicode/utf8"

	"flower/internal/text"
)

// Bytes that terminals send, and some that none does.
var wires = []string{
	"hello", "中文😀", "e\u0301", "👨\u200d👩\u200d👧", "\r", "\x03", "\x1b", "\x1b[A", "\x1b[1;5D", "\x1bb", "\x1b\r", "\x1b\x1b[A", "\x1bOA", "\x1bO5P",
	"\x1b[200~one\r\ntwo\x1b[201~", "\x1b[200~never ends", "\x1b[201~", "\x1b[200~\x1b[200~\x1b[201~\x1b[201~", "\x1b[200~\x1b]0;t\x07x\x1b[201~",
	"\x1b]11;rgb:0000/0000/0000\x1b\\", "\x1bP1$r0m\x1b\\", "\x1b_G\x1b\\", "\x1b[27;5;106~", "\x1b[106;5u", "\x1b[97;1:1u", "\x1b[<0;1;1M", "\x1b[M !!",
	"\xff\xfe", "\xe4\xb8", "\u009b31m", "\u202e", "\x1b[[A", "\x1b[1;2;3;4;5;6;7;8;9;10;11;12;13;14;15;16;17;18;19;20m", "\x00", "\x7f", "\x1b[13;2u",
}

// Whatever comes, in whatever pieces: the same keys, none of which holds what a terminal would obey, and nothing is kept
// for ever that is no paste.
func FuzzDecoder(f *testing.F) {
	for _, w := range wires {
		f.Add(w, 1)
		f.Add(w+"x"+w, 3)
	}
	f.Fuzz(func(t *testing.T, wire string, at int) {
		whole, cut := &decoder{}, &decoder{}
		keys := flat(append(whole.feed([]byte(wire)), whole.expire()...))
		at = max(0, min(at, len(wire)))
		pieces := append(cut.feed([]byte(wire[:at])), cut.feed([]byte(wire[at:]))...)
		if got := flat(append(pieces, cut.expire()...)); got != keys {
			t.Errorf("cut at %d: %q, whole: %q", at, got, keys)
		}
		if !whole.pasting && len(whole.buf) >= utf8.UTFMax {
			t.Errorf("%q is kept", whole.buf)
		}
		for _, k := range pieces {
			if strings.ContainsFunc(k.text, func(r rune) bool { return r < 0x20 && r != '\n' && r != '\t' || r == 0x7f || r >= 0x80 && r < 0xa0 }) {
				t.Errorf("control characters are typed: %q", k.text)
			}
		}
	})
}

// flat writes keys so that texts typed in pieces are the same as in one.
func flat(keys []key) string {
	var out strings.Builder
	for _, k := range keys {
		switch {
		case k.pasted:
			out.WriteString("<" + k.text + ">")
		case k.name != "":
			out.WriteString("{" + k.name + "}")
		default:
			out.WriteString(k.text)
		}
	}
	return out.String()
}

// Whatever is typed: the cursor stands inside the line, no row is wider than the screen, and nothing gets lost.
func FuzzEditor(f *testing.F) {
	for _, w := range wires {
		f.Add("ab", w, 20)
		f.Add("中文字 two", w+"\x01"+w, 24)
	}
	say := text.NewPrinter(text.English)
	f.Fuzz(func(t *testing.T, before, wire string, width int) {
		width = max(leastWidth, min(width, 100))
		e := &editor{}
		e.insert(plainInput(before))
		u := &ui{opts: Options{Say: say}}
		d := &decoder{}
		for _, k := range append(d.feed([]byte(wire)), d.expire()...) {
			had := len(e.text())
			switch {
			case k.pasted:
				e.paste(k.text, u.foldLabel(k.text))
			case k.text != "":
				e.insert(k.text)
			default:
				e.key(k.name)
				had = 0
			}
			if got := len(e.text()); had > 0 && got != had+len(k.text) {
				t.Fatalf("%d bytes became %d with %d more", had, got, len(k.text))
			}
			if e.at < 0 || e.at > len(e.pieces) {
				t.Fatalf("the cursor is at %d of %d", e.at, len(e.pieces))
			}
			r := (&view{say: say, edit: e, width: width, height: 24, activity: &activity{}}).region()
			if r.x < 0 || r.x >= width || r.y < 0 || r.y >= len(r.rows) {
				t.Fatalf("the cursor is at %d,%d of %d rows", r.x, r.y, len(r.rows))
			}
			for _, row := range r.rows {
				if text.Width(row) >= width && width > 2 {
					t.Fatalf("%d cells of %d: %q", text.Width(row), width, row)
				}
			}
		}
	})
}
