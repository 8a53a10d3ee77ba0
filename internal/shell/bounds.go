package shell

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// mostTimes bounds what a line may ask for with a number it names: a width, how often something is repeated. What is so
// bounded ends within seconds.
const mostTimes = 1_000_000

// small reports whether s is a whole number in decimal digits of at most mostTimes.
func small(s string) bool {
	n, err := strconv.Atoi(s)
	return err == nil && isDigits(s) && n <= mostTimes
}

// big reports whether a word could be a number beyond mostTimes to a program that reads numbers in every base and with
// exponents.
func big(w word) bool {
	return w.dyn || w.glob || strings.ContainsAny(w.text, "0123456789") && !small(strings.TrimLeft(w.text, "+-"))
}

// wide is a conversion with a width or precision of many digits: of printf, of dates, and of git's padding.
var wide = regexp.MustCompile(`%[-_^#+ '0]*(\d{7,}|\d*\.\d{7,})|%[<>|]+\([^)]*\d{7,}`)

// formatting are the programs that read such conversions.
var formatting = set("printf find stat date git awk gawk mawk nawk ls du tree")

// widths are the flags, of whatever program, whose value is a width: so many blanks, or so long a line, stand where one
// character stood.
var widths = set("t w W g T l tabs tabsize width number-width join-blank-lines output-width goal expand-tabs stat-width")

// long finds a number of more digits than a width has.
var long = regexp.MustCompile(`\d{7,}`)

// wideFlag is the reason for refusing the flags of a call for a width, or "".
func wideFlag(flags []flag) string {
	for _, f := range flags {
		if f.has && widths[f.name] && long.MatchString(f.value.text) {
			return fmt.Sprintf("%s is too large a width", clip(f.value.text))
		}
	}
	return ""
}

// wideFormat is the reason for refusing the arguments of the program name for a conversion in them, or "".
func wideFormat(name string, args []word) string {
	for _, w := range args {
		if formatting[name] && wide.MatchString(w.text) {
			return fmt.Sprintf("%s asks for a width that is too large", clip(w.text))
		}
	}
	return ""
}
