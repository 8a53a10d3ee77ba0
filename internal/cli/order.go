package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// Kinds of orders.
const (
	orderRequest   = "request"
	orderAnswer    = "answer"
	orderRemark    = "remark"
	orderAside     = "aside"
	orderInterrupt = "interrupt"
	orderStatus    = "status"
	orderNew       = "new"
)

// orderKeys are the keys that each kind may have besides its type.
var orderKeys = map[string][]string{
	orderRequest: {"text"}, orderAnswer: {"id", "text", "option", "options", "decline"}, orderRemark: {"text"},
	orderAside: {"id", "text"}, orderInterrupt: {"text"}, orderStatus: {}, orderNew: {"text"},
}

// order is one line of standard input with --json.
type order struct {
	Type    string  `json:"type"`
	ID      string  `json:"id,omitempty"` // of an answer: the question's; of an aside: what its events are to carry
	Text    *string `json:"text,omitempty"`
	Option  *int    `json:"option,omitempty"`  // of an answer, instead of a text: the number of an option, from 1
	Options []int   `json:"options,omitempty"` // the same: several
	Decline bool    `json:"decline,omitempty"` // the same: no answer
}

// orderError says why a line is not taken, and what to do about it.
type orderError struct{ why, hint string }

// Error implements error.
func (e *orderError) Error() string { return e.why }

func wrongOrder(hint, why string, args ...any) error {
	return &orderError{fmt.Sprintf(why, args...), hint}
}

const (
	hintOrder  = `write one JSON object a line, such as {"type":"remark","text":"..."}`
	hintTypes  = "types are request, answer, remark, aside, interrupt, status and new"
	hintAnswer = `an answer has "id" and one of "text", "option", "options" and "decline"`
)

// parseOrder reads one line. Keys that are not known, or there twice, are errors: a misspelt one would make an answer
// empty, which means something, and of two answers nobody knows which is meant.
func parseOrder(line string) (order, error) {
	var o order
	if !utf8.ValidString(line) {
		return o, wrongOrder("write the line in UTF-8", "not valid UTF-8")
	}
	keys, err := orderObject(line)
	if err != nil {
		return o, err
	}
	if err := json.Unmarshal([]byte(line), &o); err != nil {
		return o, mistyped(err)
	}
	return o, o.check(keys)
}

// orderTypes says what a value of each key is, and what one looks like.
var orderTypes = map[string][2]string{
	"type": {"a text", hintTypes}, "id": {"a text", `write "id":"..."`}, "text": {"a text", `write "text":"..."`},
	"option": {"the number of an option", `write "option":1`}, "options": {"a list of numbers of options", `write "options":[1,2]`},
	"decline": {"true", `write "decline":true`},
}

// mistyped says which value is of another type than it has to be.
func mistyped(err error) error {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		key, _, _ := strings.Cut(wrong.Field, ".")
		if is, ok := orderTypes[key]; ok {
			return wrongOrder(is[1], "%q has to be %s", key, is[0])
		}
	}
	return wrongOrder(hintOrder, "no JSON object")
}

// orderObject returns the keys of a line that is one JSON object, without those that are null.
func orderObject(line string) (keys []string, err error) {
	dec := json.NewDecoder(strings.NewReader(line))
	bad := func(err error) ([]string, error) {
		var wrong *json.SyntaxError
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return nil, wrongOrder(hintOrder, "no JSON object: the line ends within it")
		case errors.As(json.Unmarshal([]byte(line), new(any)), &wrong) && wrong.Offset > 1: // err may be off by one
			return nil, wrongOrder(hintOrder, "no JSON object: what stands at byte %d does not belong there", wrong.Offset)
		}
		return nil, wrongOrder(hintOrder, "no JSON object")
	}
	if first, err := dec.Token(); err != nil {
		return bad(err)
	} else if first != json.Delim('{') {
		return bad(nil)
	}
	seen := map[string]bool{}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return bad(err)
		}
		name, _ := key.(string)
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return bad(err)
		}
		if seen[name] {
			return nil, wrongOrder("say it once", "the key %q is there twice", name)
		}
		seen[name] = true
		if string(value) != "null" {
			keys = append(keys, name)
		}
	}
	if _, err := dec.Token(); err != nil {
		return bad(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, wrongOrder(hintOrder, "more than one JSON value on the line")
	}
	return keys, nil
}

// check sees whether the keys that are there make sense together.
func (o order) check(keys []string) error {
	may, known := orderKeys[o.Type]
	if !known {
		return wrongOrder(hintTypes, "type %q is not known", o.Type)
	}
	answers := 0
	for _, key := range keys {
		switch {
		case key == "type":
		case !slices.Contains(may, key):
			return wrongOrder(fmt.Sprintf("keys of %s are %s", o.Type, strings.Join(append([]string{"type"}, may...), ", ")), "%s has no key %q", o.Type, key)
		case key != "id":
			answers++
		}
	}
	switch {
	case o.Type == orderAnswer && o.ID == "":
		return wrongOrder(hintAnswer, `an answer needs the "id" of its question`)
	case o.Type == orderAnswer && (answers != 1 || len(o.Options) == 0 && slices.Contains(keys, "options") || !o.Decline && slices.Contains(keys, "decline")):
		return wrongOrder(hintAnswer, "an answer says one thing")
	case slices.Contains([]string{orderRequest, orderRemark, orderAside}, o.Type) && o.Text == nil:
		return wrongOrder(fmt.Sprintf(`write {"type":%q,"text":"..."}`, o.Type), `%s needs a "text"`, o.Type)
	}
	return nil
}

func (o order) text() string {
	if o.Text == nil {
		return ""
	}
	return *o.Text
}

// numbers are the options that an answer picks.
func (o order) numbers() []int {
	if o.Option != nil {
		return []int{*o.Option}
	}
	return o.Options
}
