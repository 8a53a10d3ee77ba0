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
// anything that is not an object.
func members(raw []byte) (list []member, ok bool) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, false
	}
	for dec.More() {
		before := int(dec.InputOffset())
		t, err := dec.Token()
		key, isString := t.(string)
		if err != nil || !isString {
			return nil, false
		}
		var v json.RawMessage
		if err := dec.Decode(&v); err != nil {
			return nil, false
		}
		to := int(dec.InputOffset())
		start := before + bytes.IndexByte(raw[before:], '"')
		list = append(list, member{key: key, start: start, value: to - len(v), to: to})
	}
	return list, true
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
