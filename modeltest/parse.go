package modeltest

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"
)

type digest = [sha256.Size]byte

// object is a JSON object with its keys as they were written; unlike a struct it tells an absent key from an empty one
// and does not forgive letter case.
type object map[string]json.RawMessage

// mark is a cache_control.
type mark struct{ hour bool }

// block is a content block, a tool or a piece of the system text.
type block struct {
	path  string // as the API names it: messages.3.content.1
	typ   string
	keys  object
	canon []byte // one spelling for equal blocks: see canonical
	mark  *mark

	side   int     // of an image: the longer one, in pixels; 0 if it could not be read
	images []block // of a result
}

func (b *block) text() string      { return b.keys.text("text") }
func (b *block) id() string        { return b.keys.text("id") }
func (b *block) toolUseID() string { return b.keys.text("tool_use_id") }
func (b *block) thinking() bool    { return b.typ == "thinking" || b.typ == "redacted_thinking" }

// signature is what binds a thinking block: redacted thinking has nothing but its data.
func (b *block) signature() string {
	if b.typ == "redacted_thinking" {
		return b.keys.text("data")
	}
	return b.keys.text("signature")
}

// turn is one message.
type turn struct {
	path   string
	role   string
	blocks []block
}

func (t *turn) has(typ string) bool {
	for i := range t.blocks {
		if t.blocks[i].typ == typ {
			return true
		}
	}
	return false
}

// tree is a request in the shape the checks need.
type tree struct {
	top    object
	model  Model
	tools  []block
	system []block
	turns  []turn
}

// text returns a string value, or "" if there is none.
func (o object) text(key string) string {
	var s string
	_ = json.Unmarshal(o[key], &s)
	return s
}

func (o object) has(key string) bool { _, ok := o[key]; return ok }

func kindOf(raw json.RawMessage) byte {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return 0
	}
	switch c := raw[0]; c {
	case 't', 'f':
		return 'b'
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		if bytes.ContainsAny(raw, ".eE") {
			return 'f'
		}
		return '0'
	default:
		return c
	}
}

var kindNames = map[byte]string{
	'"': "string", 'b': "boolean", '0': "integer", 'f': "number", '{': "dictionary", '[': "list",
}

// want checks the JSON type of a value; kind '#' is any number.
func want(path string, raw json.RawMessage, kind byte) error {
	got := kindOf(raw)
	if kind == '#' && (got == '0' || got == 'f') {
		return nil
	}
	if kind == '#' {
		kind = 'f'
	}
	if got != kind {
		return invalid("%s: Input should be a valid %s", path, kindNames[kind])
	}
	return nil
}

func parseObject(path string, raw json.RawMessage) (object, error) {
	if kindOf(raw) != '{' {
		return nil, invalid("%s: Input should be a valid dictionary", path)
	}
	var o object
	if err := json.Unmarshal(raw, &o); err != nil {
		return nil, invalid("%s: %v", path, err)
	}
	return o, nil
}

func parseList(path string, raw json.RawMessage) ([]json.RawMessage, error) {
	if kindOf(raw) != '[' {
		return nil, invalid("%s: Input should be a valid list", path)
	}
	var l []json.RawMessage
	if err := json.Unmarshal(raw, &l); err != nil {
		return nil, invalid("%s: %v", path, err)
	}
	return l, nil
}

// require says which of the keys is missing.
func (o object) require(path string, keys ...string) error {
	for _, k := range keys {
		if !o.has(k) {
			return invalid("%s: Field required", join(path, k))
		}
	}
	return nil
}

// only refuses keys that are not in the list.
func (o object) only(path string, keys ...string) error {
	for _, k := range slices.Sorted(maps.Keys(o)) {
		if !slices.Contains(keys, k) {
			return invalid("%s: Extra inputs are not permitted", join(path, k))
		}
	}
	return nil
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func index(path string, i int) string { return path + "." + strconv.Itoa(i) }

// parseBody reads the outermost object. Bytes that are no UTF-8 and escapes that are no characters are refused here:
// Go's decoder would replace both silently.
func parseBody(body []byte) (object, error) {
	const prefix = "The request body is not valid JSON: "
	if !utf8.Valid(body) {
		return nil, invalid(prefix + "invalid UTF-8 encoding")
	}
	if at := loneSurrogate(body); at >= 0 {
		return nil, invalid(prefix+"lone surrogate in string (char %d)", at)
	}
	var o object
	if err := json.Unmarshal(body, &o); err != nil {
		return nil, invalid(prefix+"%v", err)
	}
	if o == nil {
		return nil, invalid("Input should be a valid dictionary")
	}
	return o, nil
}

// loneSurrogate returns the offset of the first \u escape that is half a pair, or -1.
func loneSurrogate(body []byte) int {
	for i := 0; i < len(body); i++ {
		if body[i] != '\\' {
			continue
		}
		v, ok := escape(body[i:])
		if !ok {
			i++ // \\ or \n: the next byte belongs to it
			continue
		}
		if v >= 0xD800 && v < 0xDC00 {
			if low, ok := escape(body[i+6:]); ok && low >= 0xDC00 && low < 0xE000 {
				i += 11
				continue
			}
		}
		if v >= 0xD800 && v < 0xE000 {
			return i
		}
		i += 5
	}
	return -1
}

func escape(b []byte) (uint64, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	v, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	return v, err == nil
}

// canonical spells a block so that equal meaning is equal bytes: sorted keys, no cache_control, a lone string as a list
// of one text, is_error only where it is true.
func canonical(raw json.RawMessage) ([]byte, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	normalise(v)
	return encode(v), nil
}

func normalise(v any) {
	m, ok := v.(map[string]any)
	if !ok {
		return
	}
	delete(m, "cache_control")
	if m["type"] != "tool_result" {
		return
	}
	if m["is_error"] == false {
		delete(m, "is_error")
	}
	switch c := m["content"].(type) {
	case string:
		m["content"] = []any{map[string]any{"type": "text", "text": c}}
	case []any:
		for _, inner := range c {
			normalise(inner)
		}
	}
}

// encode is json.Marshal without the escaping of HTML; it is used on values that always encode.
func encode(v any) []byte {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(fmt.Sprintf("modeltest: encode %T: %v", v, err))
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
}
