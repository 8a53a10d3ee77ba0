package config

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

type dotenvCase struct{ content, want, why string }

var escape = regexp.MustCompile(`\\(?:\\|n|t|r|0|x[0-9a-f]{2}|u[0-9a-f]{4})`)

// unescape undoes the escapes of the table's cells.
func unescape(cell string) string {
	return escape.ReplaceAllStringFunc(cell, func(e string) string {
		switch e[1] {
		case 'n':
			return "\n"
		case 't':
			return "\t"
		case 'r':
			return "\r"
		case '0':
			return "\x00"
		case 'x', 'u':
			code, _ := strconv.ParseUint(e[2:], 16, 32)
			return string(rune(code))
		}
		return `\`
	})
}

func dotenvTable(t testing.TB) []dotenvCase {
	t.Helper()
	data, err := os.ReadFile("testdata/dotenv.tsv")
	if err != nil {
		t.Fatal(err)
	}
	var cases []dotenvCase
	header := false
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		if !header {
			header = true
			continue
		}
		cells := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(cells) != 3 {
			t.Fatalf("%d cells in %q", len(cells), line)
		}
		cases = append(cases, dotenvCase{unescape(cells[0]), unescape(cells[1]), cells[2]})
	}
	if len(cases) < 20 {
		t.Fatalf("only %d cases", len(cases))
	}
	return cases
}

func TestParseDotenv(t *testing.T) {
	cases := append(dotenvTable(t), []dotenvCase{
		{"\uFEFFA=\"x\nB=2\n", "error", "both at once"},
		{"A=$B\nB=1\nC=$B\nD='$B'\nE=\\$B", `{"A":"","B":"1","C":"1","D":"$B","E":"$B"}`, "earlier lines only"},
		{"A= # note\nB=#x\nC=\t# note\n", `{"A":"","B":"","C":""}`, "nothing but a comment"},
		{"A=x # one # two\nB=x #one#two\nC=x#y # z\n", `{"A":"x","B":"x","C":"x#y"}`, "the first one begins it"},
		{"A='x # y' # z # w\nB=1 # don't\nC=2 # \"\n", `{"A":"x # y","B":"1","C":"2"}`, "around quotes"},
		{"A: x # y\n", `{"A":"x"}`, "with a colon"},
		{"A=x # y\r\nB=1\r\n", `{"A":"x","B":"1"}`, "CRLF"},
		{`A="C:\temp\dir" # x`, `{"A":"C:\\temp\\dir"}`, "no escape"},
		{`A="C:\\"`, `{"A":"C:\\"}`, "a backslash at the end"},
		{`A="say \"hi\""`, `{"A":"say \"hi\""}`, "a quote at the end"},
		{`A="\"" # x`, `{"A":"\""}`, "nothing but a quote"},
		{`A="a\\nb"`, `{"A":"a\\nb"}`, "an escaped backslash before an n"},
		{`A='it\'s' # x`, `{"A":"it\\'s"}`, "as it stands"},
		{`A='a\'' # x`, `{"A":"a\\'"}`, "at the end as well"},
		{`A='C:\\temp'`, `{"A":"C:\\\\temp"}`, "single quotes: no escapes"},
		{"B=b\nA=\"${B:-d}\"\nC=${B-d}\nD=\"${B\"", `{"B":"b","A":"${B:-d}","C":"${B-d}","D":"${B"}`, "no defaults"},
		{"B=b\nA={$B}\nC=${B}x\nD=\"$B\\n\"", `{"B":"b","A":"{b}","C":"bx","D":"b\n"}`, "next to other characters"},
		{`A=costs$5$$2$(id)$bc$Bc\$B`, `{"A":"costs$5$$2$(id)$bc$Bc$B"}`, "no variable"},
		{"A=C:\\temp\\new\n", `{"A":"C:\\temp\\new"}`, "no escapes without quotes"},
		{"JUST WORDS\n", "error", "no sign"},
		{"A=1\nLAST", "error", "no sign in the last line"},
		{"=1\n", "error", "no name"},
		{"A B=1\n", "error", "a blank in the name"},
		{"1A=1\n", "error", "no shell has such a name"},
		{"A=\"x\" y\n", "error", "text after the quote"},
		{"A=\xff\n", "error", "not UTF-8"},
		{"\xff\xfeA\x00=\x001\x00", "error", "UTF-16"},
		{"A=1\x00\n", "error", "NUL"},
		{"{\"A\": 1}\n", "error", "JSON"},
	}...)
	for _, tt := range cases {
		got, fault := parseDotenv([]byte(tt.content))
		if tt.want == "error" {
			if fault == nil {
				t.Errorf("%q (%s): no error but %q", tt.content, tt.why, got)
			}
			continue
		}
		var want map[string]string
		if err := json.Unmarshal([]byte(tt.want), &want); err != nil {
			t.Fatal(err)
		}
		if fault != nil || !maps.Equal(got, want) {
			t.Errorf("%q (%s): got %q, %v, want %q", tt.content, tt.why, got, fault, want)
		}
	}
}

func TestParseDotenvSaysWhere(t *testing.T) {
	for _, tt := range []struct {
		content string
		line    int
		reason  string
	}{
		{"A=1\n# x\nB='2\nC=3\n", 3, "quote"},
		{"A=1\nB=\"2\nC=3\nD\n", 2, "quote"},
		{"A=1\nB=\"2\n3\"\nSEKRIT\nC=1\n", 4, "NAME=value"},
		{"A=1\nSEKRIT", 2, "NAME=value"},
		{"A=1\r\nB='\r\n", 2, "quote"},
		{strings.Repeat("A=1\n", 600) + "SEKRIT", 0, "NAME=value"},
		{"A=1\nB=SEKRIT\xff", 0, "UTF-8"},
	} {
		_, fault := parseDotenv([]byte(tt.content))
		if fault == nil || fault.line != tt.line || !strings.Contains(fault.why.String(), tt.reason) || strings.Contains(fault.why.String(), "SEKRIT") {
			t.Errorf("%.50q: got %+v, want line %d, %s", tt.content, fault, tt.line, tt.reason)
		}
	}
}

func FuzzParseDotenv(f *testing.F) {
	for _, tt := range dotenvTable(f) {
		f.Add([]byte(tt.content))
	}
	for _, s := range []string{"A= # note\nB=#x # y", `A="C:\t\"$B}${B:-d}\\" # x`, `A='\''`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		values, fault := parseDotenv(data)
		if (values == nil) == (fault == nil) {
			t.Errorf("%q and %v", values, fault)
		}
		if fault != nil && (fault.line < 0 || fault.line > strings.Count(string(data), "\n")+1) {
			t.Errorf("line %d", fault.line)
		}
		for name, value := range values {
			if !variable.MatchString(name) || !utf8.ValidString(value) || strings.Contains(value, "\x00") {
				t.Errorf("%q=%q", name, value)
			}
		}
	})
}

// What is written in quotes is read as it is, whatever it is.
func FuzzDotenvQuoted(f *testing.F) {
	for _, s := range []string{"", "x", "# x", `C:\temp\`, `say "hi"`, "it's\\", "${A:-d}$A}$(x)$$", `\n\r\'`, "a\nb\tc ", "'\"'\"", "\u00a0#\u0085"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, value string) {
		if !utf8.ValidString(value) || strings.ContainsAny(value, "\x00\r") {
			return
		}
		values, fault := parseDotenv([]byte("A=1\nB=" + quoted(value) + " # x\nC=2\n"))
		if fault != nil || values["B"] != value || values["A"] != "1" || values["C"] != "2" || len(values) != 3 {
			t.Errorf("%q, written %s: %q, %v", value, quoted(value), values, fault)
		}
	})
}
