package tools

import (
	"encoding/json"
	"fmt"
	"math"
	"sort"
	"strconv"
	"strings"

	"flower/agent"
)

// params decodes the input of a call. The first fault is kept and named by err; getters after it return zero values.
// Models write numbers and switches as strings now and then; that is accepted.
type params struct {
	raw   map[string]json.RawMessage
	known map[string]bool
	fault string
}

func decode(input json.RawMessage) *params {
	p := &params{known: map[string]bool{}}
	if err := json.Unmarshal(input, &p.raw); err != nil || p.raw == nil {
		p.fail("the input is not a JSON object")
	}
	return p
}

func (p *params) fail(format string, args ...any) {
	if p.fault == "" {
		p.fault = fmt.Sprintf(format, args...)
	}
}

// get returns a parameter that is there; null is the same as absent.
func (p *params) get(name string) (json.RawMessage, bool) {
	p.known[name] = true
	v, ok := p.raw[name]
	return v, ok && string(v) != "null" && p.fault == ""
}

// text is a string that must be there; it may be empty.
func (p *params) text(name string) string {
	if _, ok := p.get(name); !ok {
		p.fail("parameter %q is missing", name)
		return ""
	}
	return p.textOr(name, "")
}

// filled is a string that must be there and hold more than blanks.
func (p *params) filled(name string) string {
	s := p.text(name)
	if strings.TrimSpace(s) == "" {
		p.fail("parameter %q is empty", name)
	}
	return s
}

func (p *params) textOr(name, missing string) string {
	v, ok := p.get(name)
	if !ok {
		return missing
	}
	var s string
	if err := json.Unmarshal(v, &s); err != nil {
		p.fail("parameter %q must be a string", name)
		return missing
	}
	return s
}

// integer is a whole number from low to high.
func (p *params) integer(name string, missing, low, high int) int {
	v, ok := p.get(name)
	if !ok {
		return missing
	}
	word := string(v)
	var s string
	if json.Unmarshal(v, &s) == nil {
		word = strings.TrimSpace(s)
	}
	f, err := strconv.ParseFloat(word, 64)
	if err != nil || f != math.Trunc(f) || f < float64(low) || f > float64(high) {
		p.fail("parameter %q must be a whole number from %d to %d, not %s", name, low, high, clip(word, 40))
		return missing
	}
	return int(f)
}

func (p *params) boolean(name string, missing bool) bool {
	v, ok := p.get(name)
	if !ok {
		return missing
	}
	switch strings.ToLower(strings.Trim(string(v), `"`)) {
	case "true":
		return true
	case "false":
		return false
	}
	p.fail("parameter %q must be true or false", name)
	return missing
}

// choice is one of the words; the first one if it is missing.
func (p *params) choice(name string, words ...string) string {
	s := p.textOr(name, words[0])
	for _, w := range words {
		if s == w {
			return s
		}
	}
	p.fail("parameter %q must be one of %s, not %q", name, strings.Join(words, ", "), clip(s, 40))
	return words[0]
}

// value decodes a parameter that must be there into v; shape says what it should look like.
func (p *params) value(name, shape string, v any) {
	raw, ok := p.get(name)
	if !ok {
		p.fail("parameter %q is missing", name)
		return
	}
	if err := json.Unmarshal(raw, v); err != nil {
		p.fail("parameter %q must be %s", name, shape)
	}
}

// bad returns the result that names the fault, and whether there is one. It is called after all getters: a parameter
// that none of them asked for is a fault too.
func (p *params) bad() (agent.ToolResult, bool) {
	var extra, known []string
	for name := range p.raw {
		if !p.known[name] {
			extra = append(extra, strconv.Quote(clip(name, 40)))
		}
	}
	if len(extra) > 0 {
		for name := range p.known {
			known = append(known, name)
		}
		sort.Strings(extra)
		sort.Strings(known)
		p.fail("unknown parameter %s; there are: %s", strings.Join(extra, ", "), strings.Join(known, ", "))
	}
	if p.fault == "" {
		return agent.ToolResult{}, false
	}
	return agent.ErrorResult("Nothing was done: " + p.fault + "."), true
}

// clip shortens s to n characters for a message.
func clip(s string, n int) string {
	if runes := []rune(s); len(runes) > n {
		return string(runes[:n]) + "…"
	}
	return s
}
