package config

import (
	"bytes"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/joho/godotenv"
)

// fault is where and why a .env file cannot be parsed. The library's own
// errors repeat the rest of the file, keys and all, so they are not passed on.
type fault struct {
	line int // from 1; 0 = unknown
	why  Fault
}

// variable is a name that a shell can have too.
var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.]*$`)

// parseDotenv parses the content of a .env file. Later values of a name win;
// what comments, escapes and variables are is said at prepare.
func parseDotenv(data []byte) (map[string]string, *fault) {
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	if !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 {
		return nil, &fault{why: NotUTF8}
	}
	values, ok := parse(data)
	if ok {
		return values, nil
	}
	why := BadLine
	line := faultyLine(data)
	if line > 0 && quoteOpens(bytes.Split(data, []byte("\n"))[line-1]) {
		why = OpenQuote
	}
	return nil, &fault{line: line, why: why}
}

func parse(data []byte) (map[string]string, bool) {
	values, err := godotenv.Unmarshal(prepare(string(data)))
	if err != nil {
		return nil, false
	}
	for name, value := range values {
		values[name] = restore(value)
		// The library takes "A B=1", "=1" and a last line without a sign.
		if !variable.MatchString(name) {
			return nil, false
		}
	}
	return values, true
}

// faultyLine finds the line where parsing goes wrong: after the longest
// beginning of whole lines that parses. That takes quadratic time, so it is
// only done for files of a usual size; 0 = unknown.
func faultyLine(data []byte) int {
	const mostBytes, mostLines = 32 << 10, 500
	lines := bytes.SplitAfter(data, []byte("\n"))
	if len(data) > mostBytes || len(lines) > mostLines {
		return 0
	}
	end := len(data)
	for n := len(lines); n > 0; n-- {
		end -= len(lines[n-1])
		if _, ok := parse(data[:end]); ok {
			return n
		}
	}
	return 0
}

func quoteOpens(line []byte) bool {
	_, value, _ := strings.Cut(string(line), "=")
	value = strings.TrimSpace(value)
	return strings.HasPrefix(value, `"`) || strings.HasPrefix(value, "'")
}
