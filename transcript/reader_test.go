package transcript

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

// reference reads an entry with encoding/json, key by key because that one does not mind the case of letters.
func reference(line []byte) (e Entry, err error) {
	line, e.repaired = cleanJSON(line)
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(line, &keys); err != nil {
		return Entry{}, err
	}
	if keys == nil {
		return Entry{}, errNotObject
	}
	for key, to := range map[string]any{
		"type": &e.Type, "uuid": &e.UUID, "parentUuid": &e.ParentUUID, "sessionId": &e.SessionID, "agentId": &e.AgentID,
		"timestamp": &e.Timestamp, "cwd": &e.CWD, "gitBranch": &e.GitBranch, "version": &e.Version, "userType": &e.UserType,
		"isSidechain": &e.IsSidechain, "isMeta": &e.IsMeta, "isCompactSummary": &e.IsCompactSummary,
		"isApiErrorMessage": &e.IsAPIError, "toolDenialKind": &e.ToolDenialKind,
	} {
		if err := take(keys, key, to); err != nil {
			return Entry{}, err
		}
	}
	if raw := keys["message"]; len(raw) > 0 && raw[0] == '{' {
		e.Message, err = referenceMessage(raw)
	}
	e.raw = line
	return e, err
}

func take(keys map[string]json.RawMessage, key string, to any) error {
	if raw, there := keys[key]; there {
		return json.Unmarshal(raw, to)
	}
	return nil
}

func referenceMessage(raw json.RawMessage) (*Message, error) {
	var keys map[string]json.RawMessage
	m := &Message{}
	err := json.Unmarshal(raw, &keys)
	for key, to := range map[string]any{"id": &m.ID, "role": &m.Role, "model": &m.Model, "stop_reason": &m.StopReason} {
		err = errors.Join(err, take(keys, key, to))
	}
	if err != nil {
		return nil, err
	}
	m.Usage = referenceUsage(keys["usage"])
	m.Content, err = referenceContent(keys["content"], false)
	return m, err
}

func referenceUsage(raw json.RawMessage) (u Usage) {
	var keys map[string]json.RawMessage
	if json.Unmarshal(raw, &keys) != nil {
		return Usage{}
	}
	for key, to := range map[string]*int{
		"input_tokens": &u.Input, "output_tokens": &u.Output, "cache_read_input_tokens": &u.CacheRead,
		"cache_creation_input_tokens": &u.CacheWrite, "cache_creation_1h_input_tokens": &u.CacheWrite1h,
	} {
		if take(keys, key, to) != nil {
			return Usage{}
		}
	}
	return u
}

func referenceContent(raw json.RawMessage, inside bool) ([]Block, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	if raw[0] == '"' {
		var s string
		err := json.Unmarshal(raw, &s)
		return []Block{Text(s)}, err
	}
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, err
	}
	var blocks []Block
	for _, raw := range list {
		b := Block{raw: raw}
		if string(raw) != "null" {
			var err error
			if b, err = referenceBlock(raw, inside); err != nil {
				return nil, err
			}
		}
		blocks = append(blocks, b)
	}
	return blocks, nil
}

func referenceBlock(raw json.RawMessage, inside bool) (Block, error) {
	b := Block{raw: raw}
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(raw, &keys); err != nil {
		return b, err
	}
	var wrong error
	for key, to := range map[string]any{
		"type": &b.Type, "text": &b.Text, "thinking": &b.Thinking, "signature": &b.Signature, "id": &b.ID,
		"name": &b.Name, "tool_use_id": &b.ToolUseID, "is_error": &b.IsError,
	} {
		wrong = errors.Join(wrong, take(keys, key, to))
	}
	_ = take(keys, "data", &b.Data)
	b.Input = keys["input"]
	if b.Type == TypeToolResult && !inside {
		var err error
		b.Content, err = referenceContent(keys["content"], true)
		wrong = errors.Join(wrong, err)
	}
	if b.Type != "" && !ours(b.Type) {
		wrong = nil
	}
	return b, wrong
}

// twice says whether an object in the text has a key twice: there the two ways of reading may differ.
func twice(text []byte) bool {
	dec := json.NewDecoder(bytes.NewReader(text))
	type level struct {
		keys map[string]bool // nil in a list
		at   int
	}
	var levels []level
	for {
		tok, err := dec.Token()
		if err != nil {
			return err != io.EOF
		}
		if d, ok := tok.(json.Delim); ok && (d == '}' || d == ']') {
			levels = levels[:len(levels)-1]
			continue
		}
		if n := len(levels); n > 0 && levels[n-1].keys != nil {
			l := &levels[n-1]
			if key, ok := tok.(string); ok && l.at%2 == 0 {
				if l.keys[key] {
					return true
				}
				l.keys[key] = true
			}
			l.at++
		}
		if d, ok := tok.(json.Delim); ok {
			next := level{}
			if d == '{' {
				next.keys = map[string]bool{}
			}
			levels = append(levels, next)
		}
	}
}

// FuzzParseEntry compares what is read with what encoding/json reads.
func FuzzParseEntry(f *testing.F) {
	for _, file := range caseFiles(f) {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for line := range bytes.SplitSeq(data, []byte("\n")) {
			f.Add(line)
		}
	}
	for _, line := range []string{
		`{"type":null,"uuid":"\u0041\ud83d\ude00\/\b","isMeta":true,"n":[-0,1.5e+7,[{}]],"message":{"content":[null,{"type":"x","text":7}]}}`,
		`{"message":{"role":"user","content":[{"content":[{"type":"text","text":"a"},null],"tool_use_id":"t","type":"tool_result"}],"usage":{"input_tokens":1.5}}}`,
		`{"a":01}`, `{"a":1.}`, `{"a":"\x"}`, "{\"a\":\"\t\"}", `{"a":tru}`, `{,}`, `{"a":1,}`, `{"a" "b"}`, `{"a":[1,]}`, `{} x`, `{"a":-}`, `{"a":1e}`,
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		got, err := ParseEntry(line)
		line = bytes.Trim(line, "\x00 \t\r\n")
		want, wantErr := reference(line)
		if clean, _ := cleanJSON(line); json.Valid(clean) && twice(clean) {
			return
		}
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("%v, want %v", err, wantErr)
		}
		if err != nil {
			return
		}
		if a, b := mustEncode(got), mustEncode(want); !bytes.Equal(a, b) {
			t.Fatalf("\n got %s\nwant %s", a, b)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("\n got %+v\nwant %+v", got, want)
		}
	})
}

func TestReaderDepth(t *testing.T) {
	deep := func(n int) []byte {
		return []byte(`{"a":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}`)
	}
	if _, err := ParseEntry(deep(maxDepth - 1)); err != nil {
		t.Error(err)
	}
	if _, err := ParseEntry(deep(maxDepth)); !errors.Is(err, errTooDeep) {
		t.Error(err)
	}
}

func TestLonger(t *testing.T) {
	for _, text := range []string{"", "a", "häß", "訂單", "😀😀", strings.Repeat("ä", 50)} {
		for n := range 60 {
			if got, want := longer(text, n), utf8.RuneCountInString(text) > n; got != want {
				t.Errorf("longer(%q, %d) = %v", text, n, got)
			}
		}
	}
}
