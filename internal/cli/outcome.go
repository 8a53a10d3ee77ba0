package cli

import (
	"regexp"
	"strconv"

	"flower/internal/text"
)

// Outcomes of calls as tools write them for models, in English; anything else is shown as it is.
var (
	ranCommand  = regexp.MustCompile(`^exit code ([0-9]+), ran (\S+)$`)
	foundFiles  = regexp.MustCompile(`^([0-9]+) match(?:es)?$`)
	foundInside = regexp.MustCompile(`^([0-9]+) match(?:es)? in ([0-9]+) files?(?:; .*)?$`)
	foundNone   = regexp.MustCompile(`^no match for `)
	partRead    = regexp.MustCompile(`^lines ([0-9]+)-([0-9]+) of ([0-9]+) lines?$`)
)

// outcome says in the language of the interface how a call ended.
func (p *printer) outcome(s string) string {
	if m := ranCommand.FindStringSubmatch(s); m != nil {
		if m[1] == "0" {
			return m[2] // that it went well goes without saying
		}
		return p.Say("check.failed", text.Data{"Code": m[1]}) + " · " + m[2]
	}
	if m := foundFiles.FindStringSubmatch(s); m != nil {
		return p.Say("outcome.matches", text.Data{"N": number(m[1])})
	}
	if m := foundInside.FindStringSubmatch(s); m != nil {
		return p.Say("outcome.matches", text.Data{"N": number(m[1])}) + " · " + p.Say("outcome.files", text.Data{"N": number(m[2])})
	}
	if foundNone.MatchString(s) {
		return p.Say("outcome.none")
	}
	if m := partRead.FindStringSubmatch(s); m != nil {
		return p.Say("outcome.part", text.Data{"From": m[1], "To": m[2], "All": m[3]})
	}
	return s
}

// number is a number as far as it can be one.
func number(digits string) int {
	n, _ := strconv.Atoi(digits) // more than fits is as many as can be
	return n
}
