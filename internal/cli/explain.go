package cli

import (
	"errors"
	"strings"

	"flower/internal/text"
)

// explainer says errors to a person. Inside the program errors are English and typed, for logs and for models; this is
// the one place where they become messages of the catalogue. What the endpoint or the system said stays as it is, behind
// a colon; where it happened, as the program's own words have it, stands at the end in brackets.
type explainer struct {
	*text.Printer
	home string // for "~" in paths; "" leaves them as they are
}

// spoken is an error whose text is in the person's language already.
type spoken string

// Error implements error.
func (s spoken) Error() string { return string(s) }

// aboutError is an error with its subject, which is named in the person's language.
type aboutError struct {
	what string
	err  error
}

// Error implements error.
func (e *aboutError) Error() string { return e.what + ": " + e.err.Error() }

// Unwrap returns the cause.
func (e *aboutError) Unwrap() error { return e.err }

// explanation is what there is to say of an error.
type explanation struct {
	words   string   // in the person's language
	details []string // technical
	where   []string // technical, the outermost first
}

// line is all of an explanation.
func (x explainer) line(e explanation) string {
	out := e.words
	for _, d := range e.details {
		out = x.Say("error.path", text.Data{"Path": out, "Why": d})
	}
	if len(e.where) > 0 {
		out += " (" + strings.Join(e.where, ": ") + ")"
	}
	return oneLine(out)
}

// explain says an error on one line, as a part of a message. One that nobody knows is said as it is.
func (x explainer) explain(err error) string {
	if err == nil {
		return ""
	}
	if e, ok := x.tree(err); ok {
		return x.line(e)
	}
	return oneLine(err.Error())
}

// alone is explain for an error that nothing stands before: one that nobody knows gets a word that says that it is one.
func (x explainer) alone(err error) string {
	if _, ok := x.tree(err); ok {
		return x.explain(err)
	}
	return x.Say("error.other", text.Data{"Err": x.explain(err)})
}

// tree explains an error, or the first one in it that is known; false if there is none.
func (x explainer) tree(err error) (explanation, bool) {
	if e, ok := x.known(err); ok {
		return e, true
	}
	if inner := errors.Unwrap(err); inner != nil {
		e, ok := x.tree(inner)
		return e.inside(err, inner), ok
	}
	if many, ok := any(err).(interface{ Unwrap() []error }); ok {
		return x.several(err, many.Unwrap())
	}
	return explanation{}, false
}

// inside adds what the text of an error says around the one that was explained.
func (e explanation) inside(outer, inner error) explanation {
	all, part := outer.Error(), inner.Error()
	at := strings.LastIndex(all, part)
	if at < 0 {
		return e
	}
	if before := strings.TrimRight(all[:at], ": "); before != "" {
		e.where = append([]string{before}, e.where...)
	}
	if after := strings.TrimLeft(all[at+len(part):], ": "); after != "" {
		e.details = append(e.details, after)
	}
	return e
}

// several explains an error of several: each of those that were joined; otherwise the first that is known, with the
// others as its details.
func (x explainer) several(err error, list []error) (explanation, bool) {
	texts := make([]string, len(list))
	for i, one := range list {
		texts[i] = one.Error()
	}
	if err.Error() == strings.Join(texts, "\n") {
		words, known := make([]string, len(list)), false
		for i, one := range list {
			e, ok := x.tree(one)
			if words[i] = x.line(e); !ok {
				words[i] = texts[i]
			}
			known = known || ok
		}
		return explanation{words: strings.Join(words, "; ")}, known
	}
	for i, one := range list {
		e, ok := x.tree(one)
		if !ok {
			continue
		}
		for _, other := range list[i+1:] {
			if more, ok := x.tree(other); ok {
				e.details = append(e.details, x.line(more))
				return e, true
			}
		}
		return e.inside(err, one), true
	}
	return explanation{}, false
}
