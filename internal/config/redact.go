package config

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"html"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

const (
	// mark stands for what was taken out.
	mark = "[redacted]"
	// minSecret is the length, in bytes, from which a value is looked for in
	// texts: a shorter one would be found by chance all over them.
	minSecret = 8
)

// Masked shows enough of a secret to recognise it and not enough to use it: a
// well-known beginning and, from 16 characters, the last four.
func Masked(secret string) string {
	if secret == "" {
		return ""
	}
	const vendor = "sk-ant-"
	out := "…"
	if strings.HasPrefix(secret, vendor) {
		out = vendor + out
	}
	if runes := []rune(secret); len(runes) >= 16 {
		out += string(runes[len(runes)-4:])
	}
	return out
}

// shape is what keys of one kind look like: a beginning, then a run of
// characters. It is matched by hand because a regular expression with \b in
// front is a hundred times slower, and all output of commands passes here.
type shape struct {
	begin string
	run   string // the characters of the rest, with ranges: "A-Z0-9"
	least int    // bytes in the run
	most  int    // 0 = no limit; a longer run is no key

	word bool   // nothing of a word may stand before it
	has  string // must be in the run
	keep bool   // begin stays, blanks may follow it
}

// shapes are the published forms of keys.
var shapes = []shape{
	{begin: "sk-ant-", run: wordDash, least: 8},
	{begin: "sk-proj-", run: wordDash, least: 20, word: true},
	{begin: "sk-svcacct-", run: wordDash, least: 20, word: true},
	{begin: "sk-admin-", run: wordDash, least: 20, word: true},
	{begin: "sk-or-v1-", run: alnum, least: 32, word: true},
	{begin: "sk-", run: alnum, least: 32, word: true},
	{begin: "sk_live_", run: alnum, least: 16, word: true},
	{begin: "sk_test_", run: alnum, least: 16, word: true},
	{begin: "rk_live_", run: alnum, least: 16, word: true},
	{begin: "rk_test_", run: alnum, least: 16, word: true},
	{begin: "whsec_", run: alnum + "+/=", least: 24, word: true},
	{begin: "gsk_", run: alnum, least: 32, word: true},
	{begin: "xai-", run: alnum, least: 40, word: true},
	{begin: "pplx-", run: alnum, least: 32, word: true},
	{begin: "hf_", run: alnum, least: 30, word: true},
	{begin: "r8_", run: alnum, least: 30, word: true},
	{begin: "npm_", run: alnum, least: 36, word: true},
	{begin: "pypi-AgEI", run: wordDash, least: 50, word: true},
	{begin: "dop_v1_", run: alnum, least: 40, word: true},
	{begin: "shpat_", run: alnum, least: 32, word: true},
	{begin: "SG.", run: wordDash + ".", least: 60, word: true},
	{begin: "AGE-SECRET-KEY-1", run: "A-Z0-9", least: 50, word: true},
	{begin: "ya29.", run: wordDash + ".", least: 30, word: true},
	{begin: "GOCSPX-", run: wordDash, least: 24, word: true},
	{begin: "github_pat_", run: alnum + "_", least: 20},
	{begin: "ghp_", run: alnum, least: 20},
	{begin: "gho_", run: alnum, least: 20},
	{begin: "ghu_", run: alnum, least: 20},
	{begin: "ghs_", run: alnum, least: 20},
	{begin: "ghr_", run: alnum, least: 20},
	{begin: "glpat-", run: wordDash, least: 20},
	{begin: "xapp-", run: "-" + alnum, least: 20, word: true},
	{begin: "xoxe-", run: "-" + alnum, least: 20},
	{begin: "xoxe.xoxp-", run: "-" + alnum, least: 20},
	{begin: "xoxa-", run: "-" + alnum, least: 10},
	{begin: "xoxb-", run: "-" + alnum, least: 10},
	{begin: "xoxp-", run: "-" + alnum, least: 10},
	{begin: "xoxs-", run: "-" + alnum, least: 10},
	{begin: "AIza", run: wordDash, least: 35},
	{begin: "Bearer", run: tokenRun, least: 16, word: true, keep: true},
	{begin: "bearer", run: tokenRun, least: 16, word: true, keep: true},
	{begin: "BEARER", run: tokenRun, least: 16, word: true, keep: true},
	{begin: "eyJ", run: wordDash + ".", least: 30, word: true, has: ".eyJ"},
	{begin: "AKIA", run: alnum, least: 16, most: 16, word: true},
	{begin: "ASIA", run: alnum, least: 16, most: 16, word: true},
}

const (
	alnum    = "A-Za-z0-9"
	wordDash = "-" + alnum + "_"
	tokenRun = wordDash + ".~+/="
)

// privateKey is a PEM block, whole or cut off. Its body cannot reach over the
// dashes of another block, which keeps the search linear.
var privateKey = regexp.MustCompile(`-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----` +
	`(?:(?:[][A-Za-z0-9+/=\s\\:,.]|-[A-Za-z0-9])*-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----` +
	`|(?:\s|\\[nr])*(?:[A-Za-z0-9+/=]{40,}(?:\s|\\[nr])*)+)`)

// redact replaces what has this shape.
func (s shape) redact(text string) string {
	at := strings.Index(text, s.begin)
	if at < 0 {
		return text
	}
	var out strings.Builder
	done := 0 // text before this is in out
	for at < len(text) {
		i := strings.Index(text[at:], s.begin)
		if i < 0 {
			break
		}
		begin := at + i
		start, end, ok := s.match(text, begin)
		at = max(end, begin+1)
		if !ok {
			continue
		}
		out.WriteString(text[done:start])
		out.WriteString(mark)
		done = end
	}
	out.WriteString(text[done:])
	return out.String()
}

// match looks at the text from begin on, where the shape's beginning is, and
// returns what to replace, or, if it is no key, how far was looked.
func (s shape) match(text string, begin int) (start, end int, ok bool) {
	if s.word && begin > 0 && isWord(text[begin-1]) {
		return 0, 0, false
	}
	start, at := begin, begin+len(s.begin)
	if s.keep {
		blanks := at
		for at < len(text) && (text[at] == ' ' || text[at] == '\t') {
			at++
		}
		if at == blanks {
			return 0, 0, false
		}
		start = at
	}
	end = at
	for end < len(text) && in(s.run, text[end]) {
		end++
	}
	n := end - at
	ok = n >= s.least && (s.most == 0 || n <= s.most) && strings.Contains(text[at:end], s.has)
	if !ok && s.has == "" {
		end = begin + 1 // a key may begin inside a run that is too short
	}
	return start, end, ok
}

// in reports whether c is one of the characters of set, where "a-z" is a range
// and a "-" at the start stands for itself.
func in(set string, c byte) bool {
	for i := 0; i < len(set); i++ {
		if i+2 < len(set) && set[i+1] == '-' {
			if set[i] <= c && c <= set[i+2] {
				return true
			}
			i += 2
		} else if set[i] == c {
			return true
		}
	}
	return false
}

func isWord(c byte) bool { return in(alnum+"_", c) }

// Redactor takes secrets out of text: exact values and known shapes of keys.
// A nil Redactor knows the shapes only. It is safe for concurrent use.
type Redactor struct {
	values  *strings.Replacer
	longest int // value, in bytes
}

// NewRedactor returns a Redactor for the values in use, also as base64, in hex,
// in a URL, and escaped for JSON and HTML. Values under 8 bytes are ignored.
func NewRedactor(secrets ...string) *Redactor {
	var all []string
	for _, s := range secrets {
		if len(s) >= minSecret {
			all = append(append(all, s), encodings(s)...)
		}
	}
	secrets = slices.DeleteFunc(all, func(s string) bool { return len(s) < minSecret || strings.Contains(mark, s) })
	// At one place the first that fits is replaced: it must be the longest.
	slices.SortStableFunc(secrets, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, s := range secrets {
		pairs = append(pairs, s, mark)
	}
	r := &Redactor{values: strings.NewReplacer(pairs...)}
	if len(secrets) > 0 {
		r.longest = len(secrets[0])
	}
	return r
}

// Longest is the length of the longest value that is looked for, in bytes.
func (r *Redactor) Longest() int {
	if r == nil {
		return 0
	}
	return r.longest
}

// encodings are the forms in which a secret leaves a program that encodes what
// it prints.
func encodings(s string) []string {
	list := []string{inJSON(s, true), inJSON(s, false), html.EscapeString(s), url.QueryEscape(s), url.PathEscape(s), hex.EncodeToString([]byte(s)), strings.ToUpper(hex.EncodeToString([]byte(s)))}
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		// Three bytes become four characters, and the secret begins at any of
		// the three. Characters that depend on its neighbours do not count.
		for before, skip := range []int{0, 2, 3} {
			text := enc.EncodeToString(append(make([]byte, before), s...))
			if (before+len(s))%3 != 0 {
				text = text[:len(text)-1]
			}
			list = append(list, text[skip:])
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// inJSON is how a secret stands in a string of JSON.
func inJSON(s string, escapeHTML bool) string {
	var out strings.Builder
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(escapeHTML)
	if enc.Encode(s) != nil { // no string fails
		return s
	}
	return strings.TrimSuffix(strings.TrimPrefix(out.String(), `"`), "\"\n")
}

// Redact returns text with every secret replaced by "[redacted]". It takes
// time linear in the text, and redacting again changes nothing.
func (r *Redactor) Redact(text string) string {
	if r != nil && r.values != nil {
		text = r.values.Replace(text)
	}
	text = privateKey.ReplaceAllString(text, mark)
	for _, s := range shapes {
		text = s.redact(text)
	}
	return text
}
