package transcript

import (
	"bytes"
	"encoding/json"
)

// member is one key of a JSON object with the places of its parts in the object's bytes.
type member struct {
	key              string
	start, value, to int // of the key's quote, of the value's first byte, behind the value's last byte
}

// members lists the top-level keys of a JSON object in their order. ok is false for anything that is not an object.
func members(raw []byte) (list []member, ok bool) {
	r := reader{text: raw}
	for more := r.enter('{'); more; more = r.another('{') {
		r.peek()
		m := member{start: r.at}
		m.key = string(r.key())
		m.value = r.at
		r.skip()
		m.to = r.at
		list = append(list, m)
	}
	return list, r.end() == nil
}

// setMember replaces the value of a top-level key and leaves every other byte as it is. A key that is not there is
// added at the end. Of keys that are there twice the last one counts. Anything that is not an object is returned unchanged.
func setMember(raw []byte, key string, value []byte) json.RawMessage {
	list, ok := members(raw)
	if !ok {
		return raw
	}
	for i := len(list) - 1; i >= 0; i-- {
		if m := list[i]; m.key == key {
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
		for i < len(list) && list[i].key != key {
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
