package transcript

import (
	"bytes"
	"encoding/json"
	"strings"
)

// member is one key of a JSON object with the places of its parts in the object's bytes.
type member struct {
	key              string
	start, value, to int // of the key's quote, of the value's first byte, behind the value's last byte
}

// members lists the top-level keys of a JSON object in their order, without decoding the values. ok is false for
// anything that is not an object; the object's JSON is expected to be valid, as it was read before.
func members(raw []byte) (list []member, ok bool) {
	at := skipSpace(raw, 0)
	if at >= len(raw) || raw[at] != '{' {
		return nil, false
	}
	for at = skipSpace(raw, at+1); at < len(raw) && raw[at] == '"'; {
		m := member{start: at}
		at = skipValue(raw, at)
		if json.Unmarshal(raw[m.start:at], &m.key) != nil {
			return nil, false
		}
		if at = skipSpace(raw, at); at >= len(raw) || raw[at] != ':' {
			return nil, false
		}
		m.value = skipSpace(raw, at+1)
		m.to = skipValue(raw, m.value)
		list = append(list, m)
		if at = skipSpace(raw, m.to); at < len(raw) && raw[at] == ',' {
			at = skipSpace(raw, at+1)
		}
	}
	return list, at < len(raw) && raw[at] == '}'
}

func skipSpace(raw []byte, at int) int {
	for at < len(raw) && (raw[at] == ' ' || raw[at] == '\t' || raw[at] == '\n' || raw[at] == '\r') {
		at++
	}
	return at
}

// skipValue is the place behind the value that begins at a place.
func skipValue(raw []byte, at int) int {
	depth := 0
	for ; at < len(raw); at++ {
		switch c := raw[at]; c {
		case '"':
			at = skipString(raw, at) - 1
		case '{', '[':
			depth++
			continue
		case '}', ']':
			if depth == 0 {
				return at // behind a number or a word
			}
			depth--
		case ',', ' ', '\t', '\n', '\r':
			if depth == 0 {
				return at
			}
			continue
		default: // part of a number or a word, or a colon
			continue
		}
		if depth == 0 {
			return at + 1
		}
	}
	return len(raw)
}

// skipString is the place behind the string that begins at a place.
func skipString(raw []byte, at int) int {
	for at++; at < len(raw); at++ {
		switch raw[at] {
		case '\\':
			at++
		case '"':
			return at + 1
		}
	}
	return len(raw)
}

// setMember replaces the value of a top-level key and leaves every other byte as it is. A key that is not there is
// added at the end. Keys match as encoding/json matches them, letter case aside, and the last one counts. Anything that
// is not an object is returned unchanged.
func setMember(raw []byte, key string, value []byte) json.RawMessage {
	list, ok := members(raw)
	if !ok {
		return raw
	}
	for i := len(list) - 1; i >= 0; i-- {
		if m := list[i]; strings.EqualFold(m.key, key) {
			return splice(raw, m.value, m.to, value)
		}
	}
	name, _ := encode(key)
	add := append(append(name, ':'), value...)
	at := bytes.IndexByte(raw, '{') + 1
	if len(list) > 0 {
		at = list[len(list)-1].to
		add = append([]byte{','}, add...)
	}
	return splice(raw, at, at, add)
}

// deleteMember removes a top-level key, however often it is there, with the comma that belongs to it.
func deleteMember(raw []byte, key string) json.RawMessage {
	for {
		list, ok := members(raw)
		if !ok {
			return raw
		}
		i := 0
		for i < len(list) && !strings.EqualFold(list[i].key, key) {
			i++
		}
		switch {
		case i == len(list):
			return raw
		case i > 0:
			raw = splice(raw, list[i-1].to, list[i].to, nil)
		case len(list) > 1:
			raw = splice(raw, list[0].start, list[1].start, nil)
		default:
			raw = splice(raw, list[0].start, list[0].to, nil)
		}
	}
}

// splice returns a copy of raw with the bytes from…to replaced.
func splice(raw []byte, from, to int, with []byte) json.RawMessage {
	out := make(json.RawMessage, 0, len(raw)-(to-from)+len(with))
	out = append(out, raw[:from]...)
	out = append(out, with...)
	return append(out, raw[to:]...)
}
