package flower

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// object is a JSON object that keeps the order of its keys and the bytes of the values nobody touches: the files on
// disk are shared with other programs, whose keys must survive us.
type object struct {
	keys   []string
	values map[string]json.RawMessage
}

var errTrailing = errors.New("more after the end")

// errWrongType is valid JSON of another kind than the file must hold.
var errWrongType = errors.New("not a JSON object")

// parseObject reads exactly one JSON object. Valid JSON of another type gives errWrongType.
func parseObject(data []byte) (object, error) {
	if err := oneValue(data); err != nil {
		return object{}, err
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return object{}, errWrongType
	}
	o := object{values: make(map[string]json.RawMessage)}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return object{}, err
		}
		var v json.RawMessage
		if err := dec.Decode(&v); err != nil {
			return object{}, err
		}
		o.set(key.(string), v)
	}
	return o, nil
}

// oneValue says whether data is exactly one JSON value.
func oneValue(data []byte) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	var v json.RawMessage
	if err := dec.Decode(&v); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errTrailing
	}
	return nil
}

func (o *object) set(key string, value json.RawMessage) {
	if o.values == nil {
		o.values = make(map[string]json.RawMessage)
	}
	if _, there := o.values[key]; !there {
		o.keys = append(o.keys, key)
	}
	o.values[key] = value
}

func (o *object) put(key string, value any) {
	raw, err := marshal(value)
	if err != nil {
		panic(fmt.Sprintf("encode %s: %v", key, err)) // strings, numbers and objects of ours always encode
	}
	o.set(key, raw)
}

// MarshalJSON writes the keys in order.
func (o object) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	out.WriteByte('{')
	for i, k := range o.keys {
		if i > 0 {
			out.WriteByte(',')
		}
		name, err := marshal(k)
		if err != nil {
			return nil, err
		}
		out.Write(name)
		out.WriteByte(':')
		out.Write(o.values[k])
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}
