package transcript

import (
	"bytes"
	"encoding/json"
	"slices"
)

// kept are the members whose strings Redacted leaves alone for the most part: what the API has signed or encrypted, and
// the data of images, in which anything may look like a key.
var kept = map[string]bool{"encrypted_content": true, "encrypted_index": true, "thinking": true, "signature": true, "data": true, "uuid": true, "parentUuid": true, "sessionId": true, "timestamp": true}

// Redacted returns the entry with every string of its JSON changed by redact, at any depth, and the ids of the calls
// whose input is not the same any more. Left as they are: names of members, except for those a model has chosen, and the
// data of images. Thinking in which something was changed is marked as unsigned, so that it is not sent again. The
// endpoint takes what its own tools have found back only as it came: where something in it would change, the searches of
// the entry become plain text. redact must not change what it has made.
func (e Entry) Redacted(redact func(string) string) (Entry, []string, error) {
	e, plain := e.withPlainSearches(redact)
	raw, err := e.MarshalJSON()
	if err != nil {
		return Entry{}, nil, err
	}
	unsigned := map[string]bool{}
	if e.Message != nil {
		for _, b := range e.Message.Content {
			if b.Type == TypeThinking && (plain || redact(b.Thinking) != b.Thinking) {
				unsigned[b.Signature] = true
			}
		}
	}
	changed := redactStrings(raw, redact, unsigned)
	if bytes.Equal(changed, raw) {
		return e, nil, nil // with its searches as text, if they had to be
	}
	out, err := ParseEntry(changed)
	if err != nil {
		return Entry{}, nil, err
	}
	var calls []string
	if e.Message != nil && out.Message != nil && len(e.Message.Content) == len(out.Message.Content) {
		for i, b := range e.Message.Content {
			if b.Type == TypeToolUse && !sameJSON(b.Input, out.Message.Content[i].Input) {
				calls = append(calls, b.ID)
			}
		}
	}
	return out, calls, nil
}

// withPlainSearches returns the entry with text in the place of its searches and citations if redact would change one of
// them, and whether it did.
func (e Entry) withPlainSearches(redact func(string) string) (Entry, bool) {
	if e.Message == nil || !slices.ContainsFunc(e.Message.Content, func(b Block) bool {
		return b.sealed() && !bytes.Equal(redactStrings(b.raw, redact, nil), b.raw)
	}) {
		return e, false
	}
	m := *e.Message
	m.Content = nil
	queries := map[string]string{}
	for _, b := range e.Message.Content {
		switch {
		case b.Type == TypeServerToolUse:
			queries[b.ID] = redact(b.query()) // before it is quoted, which may hide a secret
			continue
		case b.Type == TypeWebSearchResult:
			b = Text(b.found().plain(queries[b.ToolUseID]))
		case b.answersServer():
			continue
		case b.sealed():
			b = Text(b.Text)
		}
		m.Content = append(m.Content, b)
	}
	if len(m.Content) == 0 {
		m.Content = []Block{Text(Search{Failed: "interrupted"}.plain(""))}
	}
	return e.withMessage(&m), true
}

// brokenSignature stands for the signature of thinking that is not stored as it was signed.
const brokenSignature = "redacted"

func sameJSON(a, b json.RawMessage) bool {
	var one, other bytes.Buffer
	if json.Compact(&one, a) != nil || json.Compact(&other, b) != nil {
		return false
	}
	return bytes.Equal(one.Bytes(), other.Bytes())
}

// RedactedJSON returns valid JSON of any shape with all its strings changed by redact, names of members included, and every
// other byte as it was.
func RedactedJSON(raw json.RawMessage, redact func(string) string) json.RawMessage {
	const before, behind = `{"input":`, `}` // where nothing is left alone
	out := redactStrings([]byte(before+string(raw)+behind), redact, nil)
	return out[len(before) : len(out)-len(behind)]
}

// redactStrings changes the strings of valid JSON and keeps every other byte. unsigned are the signatures of thinking that
// does change.
func redactStrings(raw []byte, redact func(string) string, unsigned map[string]bool) []byte {
	var out []byte // nil while nothing has changed
	done := 0      // of raw, in out
	key := ""
	depth, input := 0, 0 // of open brackets; of those, where the input of a call is, 0 outside of one
	for at := 0; at < len(raw); {
		switch raw[at] {
		case '{', '[':
			if depth++; key == "input" && input == 0 {
				input = depth
			}
			key = ""
		case '}', ']':
			if depth == input {
				input = 0
			}
			depth--
		}
		if raw[at] != '"' {
			at++
			continue
		}
		end := stringEnd(raw, at)
		literal := raw[at:end]
		from := at
		at = end
		var text string
		if json.Unmarshal(literal, &text) != nil {
			continue
		}
		if rest := bytes.TrimLeft(raw[end:], " \t\r\n"); len(rest) > 0 && rest[0] == ':' {
			key = text
			if input == 0 {
				continue
			}
		}
		clean := text
		switch {
		case input > 0 || !kept[key] || key == "thinking" && len(unsigned) > 0: // a call may call its parameters anything
			clean = redact(text)
		case key == "signature" && unsigned[text]:
			clean = brokenSignature
		}
		if clean != text {
			out = append(append(out, raw[done:from]...), mustEncode(clean)...)
			done = end
		}
	}
	if out == nil {
		return raw
	}
	return append(out, raw[done:]...)
}

// stringEnd is the index behind the string literal that begins at raw[at].
func stringEnd(raw []byte, at int) int {
	for i := at + 1; i < len(raw); i++ {
		switch raw[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(raw)
}
