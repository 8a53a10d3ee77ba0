package tui

import (
	"bytes"
	"strings"
	"unicode/utf8"

	uv "github.com/charmbracelet/ultraviolet"
)

// Marks of a bracketed paste: a terminal that was asked to puts them around what is pasted.
const (
	pasteBegin = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
)

// maxPaste is how much of one paste is kept, in bytes: a file chosen by mistake must not eat the memory.
const maxPaste = 16 << 20

// maxSequence is the longest escape sequence that is waited for, in bytes; keys have about ten.
const maxSequence = 256

// key is what the person did: typed a text, pasted one, or pressed a key that is no text.
type key struct {
	text   string
	pasted bool
	name   string // of a key: "enter", "ctrl+w", "alt+left"; "" if there is text
	cut    bool   // the paste was longer than what is kept
}

// decoder turns the bytes of a terminal into keys. Bytes may come in any pieces: a character, a sequence or a paste that
// is not complete is kept until the rest comes.
type decoder struct {
	buf     []byte
	pasting bool
	paste   []byte
	cut     bool
	keys    uv.EventDecoder
}

// feed takes bytes and returns the keys that are complete.
func (d *decoder) feed(p []byte) []key {
	d.buf = append(d.buf, p...)
	return d.take(false)
}

// waits says that an escape sequence may have begun: only time tells it from the Esc key.
func (d *decoder) waits() bool { return len(d.buf) > 0 && !d.pasting && d.buf[0] == 0x1b }

// expire takes what has begun as complete: no more bytes have come for a while.
func (d *decoder) expire() []key { return d.take(true) }

// broken ends a paste whose end has not come, and will not any more; the key is empty if there is none.
func (d *decoder) broken() key {
	if !d.pasting {
		return key{}
	}
	_, k := d.inPaste([]byte(pasteEnd)) // what of buf is left was the beginning of this mark
	d.buf = nil
	return k
}

func (d *decoder) take(final bool) []key {
	var keys []key
	rest := d.buf
	for len(rest) > 0 {
		n, k := d.next(rest, final && !d.pasting)
		if n == 0 {
			break
		}
		rest = rest[n:]
		if k.text != "" || k.name != "" || k.pasted {
			keys = append(keys, k)
		}
	}
	d.buf = append(d.buf[:0], rest...)
	return keys
}

// next takes the first key of b, which is not empty; n is 0 if it is not complete. The key is empty if these bytes
// mean nothing, or nothing yet.
func (d *decoder) next(b []byte, final bool) (n int, k key) {
	switch {
	case d.pasting:
		return d.inPaste(b)
	case b[0] == 0x1b:
		return d.escape(b, final)
	case b[0] < 0x20 || b[0] == 0x7f:
		return 1, d.named(b[:1])
	}
	return typed(b)
}

// typed takes the text up to the next control character.
func typed(b []byte) (n int, k key) {
	var out strings.Builder
	for n < len(b) && b[n] >= 0x20 && b[n] != 0x7f && utf8.FullRune(b[n:]) {
		r, size := utf8.DecodeRune(b[n:])
		n += size
		if r < 0x80 || r >= 0xa0 { // a C1 character would begin a sequence
			out.WriteRune(r) // U+FFFD for what is no UTF-8
		}
	}
	return n, key{text: plainInput(out.String())}
}

// inPaste takes what belongs to a paste, up to its end mark.
func (d *decoder) inPaste(b []byte) (n int, k key) {
	if at := bytes.Index(b, []byte(pasteEnd)); at >= 0 {
		d.keep(b[:at])
		k = key{text: pastedText(string(d.paste)), pasted: true, cut: d.cut}
		d.pasting, d.paste, d.cut = false, nil, false
		return at + len(pasteEnd), k
	}
	// The end mark may have begun.
	n = len(b)
	for part := min(len(b), len(pasteEnd)-1); part > 0; part-- {
		if bytes.HasSuffix(b, []byte(pasteEnd[:part])) {
			n -= part
			break
		}
	}
	d.keep(b[:n])
	return n, key{}
}

func (d *decoder) keep(b []byte) {
	if room := maxPaste - len(d.paste); len(b) > room {
		b, d.cut = b[:room], true
	}
	d.paste = append(d.paste, b...)
}

// escape takes an escape sequence, or the Esc key if nothing follows.
func (d *decoder) escape(b []byte, final bool) (n int, k key) {
	if bytes.HasPrefix(b, []byte(pasteBegin)) {
		d.pasting = true
		return len(pasteBegin), key{}
	}
	n = sequence(b)
	switch {
	case n > 0:
		return n, d.named(b[:n])
	case final || len(b) > maxSequence:
		return 1, key{name: "esc"} // what follows is text again
	}
	return 0, key{}
}

// sequence is the length of the escape sequence at the beginning of b; 0 if it is not complete.
func sequence(b []byte) int {
	at := 1
	for at < len(b) && b[at] == 0x1b { // Alt with a key that is a sequence itself
		at++
	}
	if at == len(b) {
		return 0
	}
	switch b[at] {
	case '[':
		for i := at + 1; i < len(b); i++ {
			if b[i] == '[' && i == at+1 {
				continue // the Linux console's function keys
			}
			if b[i] < 0x20 || b[i] >= 0x40 {
				return i + 1
			}
		}
		return 0
	case 'O':
		for i := at + 1; i < len(b); i++ {
			if b[i] < '0' || b[i] > '9' {
				return i + 1
			}
		}
		return 0
	case ']', 'P', '_', '^', 'X': // an answer of the terminal
		for i := at + 1; i < len(b); i++ {
			if b[i] == 0x07 {
				return i + 1
			}
			if b[i] == '\\' && b[i-1] == 0x1b && i > at+1 {
				return i + 1
			}
		}
		return 0
	}
	if !utf8.FullRune(b[at:]) {
		return 0
	}
	_, size := utf8.DecodeRune(b[at:])
	return at + size
}

// named gives the key of a control character or a complete sequence; empty if there is none.
func (d *decoder) named(seq []byte) key {
	for len(seq) > 0 {
		n, ev := d.keys.Decode(seq)
		if k, ok := press(ev); ok {
			return k
		}
		if n <= 0 || n >= len(seq) {
			return key{}
		}
		seq = seq[n:]
	}
	return key{}
}

// press is the key of an event. Keyboards that report every key as a sequence say what text it stands for.
func press(ev uv.Event) (key, bool) {
	p, ok := ev.(uv.KeyPressEvent)
	if !ok {
		return key{}, false
	}
	if text := plainInput(p.Text); text != "" && p.Mod&(uv.ModCtrl|uv.ModAlt) == 0 {
		return key{text: text}, true
	}
	return key{name: uv.Key(p).Keystroke()}, true
}
