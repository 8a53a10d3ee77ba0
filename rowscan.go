package flower

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"flower/transcript"
)

// rowScanner reads a manifest of the form that flower and the Python program write, in one pass and without a copy of
// its texts: status has to read thousands of rows before a person notices. Whatever it does not expect makes it give up,
// and encoding/json decides; what it does read it reads as encoding/json would.
type rowScanner struct {
	s   string
	at  int
	bad bool
}

// scanRows calls each for every row of a manifest. It returns false if the rows have to be read another way, perhaps
// after some.
func scanRows(data []byte, each func(manifestRow)) bool {
	if !utf8.Valid(data) {
		return false
	}
	r := &rowScanner{s: string(data)}
	r.list(func() {
		var row manifestRow
		r.object(func(key string) { r.member(&row, key) })
		each(row)
	})
	r.space()
	return !r.bad && r.at == len(r.s)
}

// member reads the value of one key of a row.
func (r *rowScanner) member(row *manifestRow, key string) {
	switch key {
	case "step":
		row.Step = r.text()
	case "session_id":
		row.SessionID = r.textOrNull()
	case "ok":
		row.OK = r.truth()
	case "cost_usd":
		row.CostUSD = r.number()
	case "num_turns":
		row.Turns = r.whole()
	case "text":
		row.Text = r.text()
	case "error":
		row.Error = r.textOrNull()
	case "started_at":
		row.StartedAt = r.number()
	case "ended_at":
		row.EndedAt = r.number()
	case "attempts":
		row.Attempts = r.whole()
	case "errors":
		row.Errors = r.texts()
	case "resumed":
		row.Resumed = r.truth()
	case "retired":
		row.Retired = r.texts()
	case "context":
		row.Context = r.whole()
	case "duration_s":
		row.DurationS = r.number()
	case "run":
		row.Run = r.text()
	case "usage":
		r.object(func(key string) { r.usage(&row.Usage, key) })
	case "model":
		row.Model = r.text()
	case "unpriced":
		row.Unpriced = r.truth()
	case "verdict":
		row.Verdict = r.text()
	case "resumed_from":
		row.ResumedFrom = r.text()
	case "evidence":
		r.list(func() {
			var e Evidence
			r.object(func(key string) { r.evidence(&e, key) })
			row.Evidence = append(row.Evidence, e)
		})
	case "definition":
		row.Definition = r.text()
	default:
		r.bad = true
	}
}

func (r *rowScanner) evidence(e *Evidence, key string) {
	switch key {
	case "command":
		e.Command = r.text()
	case "exit_code":
		e.ExitCode = r.whole()
	case "output":
		e.Output = r.text()
	case "problem":
		e.Problem = r.text()
	case "duration_s":
		e.DurationS = r.number()
	default:
		r.bad = true
	}
}

func (r *rowScanner) usage(u *transcript.Usage, key string) {
	switch key {
	case "input_tokens":
		u.Input = r.whole()
	case "output_tokens":
		u.Output = r.whole()
	case "cache_read_input_tokens":
		u.CacheRead = r.whole()
	case "cache_creation_input_tokens":
		u.CacheWrite = r.whole()
	case "cache_creation_1h_input_tokens":
		u.CacheWrite1h = r.whole()
	case "web_search_requests":
		u.Searches = r.whole()
	default:
		r.bad = true
	}
}

// space goes to what comes next and returns its first byte, 0 at the end.
func (r *rowScanner) space() byte {
	for r.at < len(r.s) {
		switch c := r.s[r.at]; c {
		case ' ', '\t', '\n', '\r':
			r.at++
		default:
			return c
		}
	}
	return 0
}

// take expects a byte.
func (r *rowScanner) take(c byte) {
	if r.space() != c {
		r.bad = true
		return
	}
	r.at++
}

// list reads a list, each for every element.
func (r *rowScanner) list(each func()) {
	if r.take('['); r.space() == ']' {
		r.at++
		return
	}
	for each(); !r.bad && r.space() == ','; {
		r.at++
		each()
	}
	r.take(']')
}

// object reads an object, each for every key; a key that comes twice is for others to decide.
func (r *rowScanner) object(each func(key string)) {
	var seen [32]string
	n := 0
	member := func() {
		key := r.text()
		for _, k := range seen[:n] {
			r.bad = r.bad || k == key
		}
		if r.take(':'); r.bad || n == len(seen) {
			r.bad = true
			return
		}
		seen[n] = key
		n++
		each(key)
	}
	if r.take('{'); r.space() == '}' {
		r.at++
		return
	}
	for member(); !r.bad && r.space() == ','; {
		r.at++
		member()
	}
	r.take('}')
}

// text reads a string.
func (r *rowScanner) text() string {
	if r.take('"'); r.bad {
		return ""
	}
	from := r.at
	end := strings.IndexByte(r.s[from:], '"')
	for i := range max(end, 0) {
		switch c := r.s[from+i]; {
		case c == '\\':
			return r.escaped(from, from+i)
		case c < ' ':
			end = -1
		}
	}
	if end < 0 {
		r.bad = true
		return ""
	}
	r.at = from + end + 1
	return r.s[from : from+end]
}

// escaped reads a string with escapes, the first of which is at a place.
func (r *rowScanner) escaped(from, at int) string {
	for ; at < len(r.s) && r.s[at] != '"'; at++ {
		if r.s[at] == '\\' {
			at++
		}
	}
	var out string
	if at >= len(r.s) || json.Unmarshal([]byte(r.s[from-1:at+1]), &out) != nil {
		r.bad = true
		return ""
	}
	r.at = at + 1
	return out
}

func (r *rowScanner) textOrNull() *string {
	if r.space() == 'n' {
		r.word("null")
		return nil
	}
	s := r.text()
	return &s
}

func (r *rowScanner) texts() []string {
	list := []string{}
	r.list(func() { list = append(list, r.text()) })
	return list
}

func (r *rowScanner) truth() bool {
	if r.space() == 't' {
		r.word("true")
		return true
	}
	r.word("false")
	return false
}

func (r *rowScanner) word(w string) {
	if !strings.HasPrefix(r.s[r.at:], w) {
		r.bad = true
		return
	}
	r.at += len(w)
}

// digits goes over digits and returns how many there are.
func (r *rowScanner) digits() int {
	from := r.at
	for r.at < len(r.s) && r.s[r.at] >= '0' && r.s[r.at] <= '9' {
		r.at++
	}
	return r.at - from
}

// integer goes over a sign and digits as JSON allows them.
func (r *rowScanner) integer() string {
	from := r.at
	if r.space() == '-' {
		r.at++
	}
	first := r.at
	if n := r.digits(); n == 0 || n > 1 && r.s[first] == '0' {
		r.bad = true
	}
	return r.s[from:r.at]
}

func (r *rowScanner) whole() int {
	r.space()
	n, err := strconv.Atoi(r.integer())
	r.bad = r.bad || err != nil
	return n
}

// number reads a number; exponents are for others, nobody writes them.
func (r *rowScanner) number() float64 {
	r.space()
	from := r.at
	if r.integer(); r.at < len(r.s) && r.s[r.at] == '.' {
		r.at++
		r.bad = r.bad || r.digits() == 0
	}
	f, err := strconv.ParseFloat(r.s[from:r.at], 64)
	r.bad = r.bad || err != nil
	return f
}
