package config

import (
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

// shape is what keys of one kind look like. hint is in every match, in lower
// case, so that a text without it is not searched with the expression.
type shape struct {
	hint string
	expr *regexp.Regexp
	keep string // what stays in front of the mark, as for Regexp.Expand
}

// shapes are the published forms of keys. Every expression is linear in Go's
// regexp. None can match the mark; those that begin at a word boundary come
// last, because the mark of another one makes a boundary.
var shapes = []shape{
	{hint: "private key", expr: regexp.MustCompile(`-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----` +
		`(?:[A-Za-z0-9+/=\s\\:,.-]*?-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----` +
		`|(?:\s|\\[nr])*(?:[A-Za-z0-9+/=]{40,}(?:\s|\\[nr])*)+)`)}, // cut off
	{hint: "sk-ant-", expr: regexp.MustCompile(`sk-ant-[A-Za-z0-9_-]{8,}`)},
	{hint: "github_pat_", expr: regexp.MustCompile(`github_pat_[A-Za-z0-9_]{20,}`)},
	{hint: "gh", expr: regexp.MustCompile(`gh[pousr]_[A-Za-z0-9]{20,}`)},
	{hint: "glpat-", expr: regexp.MustCompile(`glpat-[A-Za-z0-9_-]{20,}`)},
	{hint: "xox", expr: regexp.MustCompile(`xox[abeoprs]-[A-Za-z0-9-]{10,}`)},
	{hint: "aiza", expr: regexp.MustCompile(`AIza[A-Za-z0-9_-]{35,}`)},
	{hint: "bearer", expr: regexp.MustCompile(`(?i)\b(bearer\s+)[A-Za-z0-9._~+/=-]{16,}`), keep: "${1}"},
	{hint: "eyj", expr: regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]+`)},
	{hint: "sk-", expr: regexp.MustCompile(`\bsk-(?:proj-[A-Za-z0-9_-]{20,}|[A-Za-z0-9]{32,})`)},
	{hint: "akia", expr: regexp.MustCompile(`\bAKIA[A-Z0-9]{16}\b`)},
	{hint: "asia", expr: regexp.MustCompile(`\bASIA[A-Z0-9]{16}\b`)},
}

// Redactor takes secrets out of text: exact values and known shapes of keys.
// A nil Redactor knows the shapes only. It is safe for concurrent use.
type Redactor struct{ values *strings.Replacer }

// NewRedactor returns a Redactor for the values in use. Values under 8 bytes
// are ignored.
func NewRedactor(secrets ...string) *Redactor {
	secrets = slices.DeleteFunc(slices.Clone(secrets), func(s string) bool {
		return len(s) < minSecret || strings.Contains(mark, s)
	})
	// At one place the first that fits is replaced: it must be the longest.
	slices.SortStableFunc(secrets, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, s := range secrets {
		pairs = append(pairs, s, mark)
	}
	return &Redactor{values: strings.NewReplacer(pairs...)}
}

// Redact returns text with every secret replaced by "[redacted]". It takes
// time linear in the text, and redacting again changes nothing.
func (r *Redactor) Redact(text string) string {
	if r != nil && r.values != nil {
		text = r.values.Replace(text)
	}
	lower := strings.ToLower(text)
	for _, s := range shapes {
		if strings.Contains(lower, s.hint) {
			text = s.expr.ReplaceAllString(text, s.keep+mark)
		}
	}
	return text
}
