package messages

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"flower/agent"
)

// table reads a file of tab-separated cases: comments, a header, rows with escapes.
func table(t testing.TB, name string, columns int) [][]string {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var rows [][]string
	header := true
	for line := range strings.SplitSeq(strings.TrimSuffix(string(data), "\n"), "\n") {
		switch {
		case strings.HasPrefix(line, "#"):
			continue
		case header:
			header = false
			continue
		}
		cells := strings.Split(line, "\t")
		if len(cells) != columns {
			t.Fatalf("%s: %d cells in %q, want %d", name, len(cells), line, columns)
		}
		for i := range cells {
			cells[i] = unescape(t, cells[i])
		}
		rows = append(rows, cells)
	}
	if len(rows) == 0 {
		t.Fatalf("%s has no rows", name)
	}
	return rows
}

func unescape(t testing.TB, s string) string {
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			out.WriteByte(s[i])
			continue
		}
		i++
		width := map[byte]int{'x': 2, 'u': 4}[s[i]]
		if width == 0 {
			out.WriteString(map[byte]string{'\\': `\`, 'n': "\n", 't': "\t", 'r': "\r", '0': "\x00"}[s[i]])
			continue
		}
		n, err := strconv.ParseUint(s[i+1:i+1+width], 16, 32)
		if err != nil {
			t.Fatal(err)
		}
		out.WriteRune(rune(n))
		i += width
	}
	return out.String()
}

func TestClassifyTable(t *testing.T) {
	for _, row := range table(t, "classify.tsv", 5) {
		status, _ := strconv.Atoi(row[0]) // empty is 0
		if got := Classify(status, row[1], row[2]).String(); got != row[3] {
			t.Errorf("Classify(%d, %q, %q) = %s, want %s: %s", status, row[1], row[2], got, row[3], row[4])
		}
	}
}

func TestClassifyMore(t *testing.T) {
	for _, c := range []struct {
		status int
		kind   string
		text   string
		want   agent.ErrorKind
	}{
		{408, "", "", agent.Transient},
		{425, "", "", agent.Transient},
		{499, "", "client closed request", agent.Transient},
		{302, "", "redirected", agent.Transient},
		{520, "", "web server returned an unknown error", agent.Transient},
		{422, "", "temporarily overloaded field", agent.Fatal},
		{407, "", "proxy connection", agent.Fatal},
		{429, "rate_limit_error", `{"error":{"details":{"error_code" : "enforced_spend_limit_reached"}}}`, agent.Fatal},
		{429, "insufficient_quota", "You exceeded your current quota", agent.Fatal},
		{429, "rate_limit_error", "see the billing page for higher limits", agent.Transient},
		{429, "", "exceeds the context window rate for now", agent.Transient},
		{200, "invalid_request_error", "prompt is too long: 5 tokens > 4 maximum", agent.Overflow},
		{0, "invalid_request_error", "input length and max_tokens exceed context limit", agent.Overflow},
		{413, "request_too_large", "prompt is too long", agent.Fatal},
		{500, "", "prompt is too long", agent.Transient},
		{400, "", "the request exceeds the available context size, try increasing it", agent.Overflow},
		{400, "", "Your input exceeds the context window of this model.", agent.Overflow},
		{400, "", "This endpoint's maximum context length is 8192 tokens. However, you requested 9000.", agent.Overflow},
		{400, "", "Input is too long for requested model.", agent.Overflow},
		{400, "", "输入超出了上下文窗口", agent.Overflow},
		{400, "", "Le texte dépasse la taille du contexte", agent.Overflow},
		{400, "", "La entrada supera el límite de contexto", agent.Overflow},
		{400, "", "Die Eingabe überschreitet das Kontextfenster", agent.Overflow},
		{400, "", "context_management: Extra inputs are not permitted", agent.Fatal},
		{400, "", "tools: too many, the limit of 128 is exceeded", agent.Fatal},
		{0, "", "This request would exceed the limit of 40,000 input tokens per minute: rate limit", agent.Transient},
		{0, "", "context canceled", agent.Unknown},
		{0, "", "context deadline exceeded", agent.Transient},
		{0, "", "<html><title>403 Forbidden</title></html>", agent.Transient},
		{0, "", "x509: certificate has expired or is not yet valid", agent.Transient},
		{0, "", "HTTP/1.1 401 Unauthorized", agent.Fatal},
		{0, "", "status=404", agent.Fatal},
		{0, "", "code:403, try again", agent.Fatal},
		{0, "", "upstream said 502.", agent.Transient},
		{0, "", "got (504) from the proxy", agent.Transient},
		{0, "", "read 401 files", agent.Unknown},
		{0, "", "took 503 ms", agent.Unknown},
		{0, "", "version 1.401 of req-403-a at 10.0.0.1:404 for $402 and 400,000 or 400.5 or x404", agent.Unknown},
		{0, "", "process 5290 ended", agent.Unknown},
		{0, "", "could not build the network definition", agent.Unknown},
		{0, "", "invalid syntax near key", agent.Unknown},
		{0, "server_error", "oops", agent.Transient},
		{0, "", "Budget exceeded: $2.10 of $2.00", agent.Fatal},
		{0, "", "stream disconnected: ETIMEDOUT", agent.Transient},
		{0, "", "write: broken pipe", agent.Transient},
		{-3, "", "", agent.Unknown},
		{101, "", "", agent.Unknown},
	} {
		if got := Classify(c.status, c.kind, c.text); got != c.want {
			t.Errorf("Classify(%d, %q, %q) = %v, want %v", c.status, c.kind, c.text, got, c.want)
		}
	}
}

// What counts is found at both ends of a long text, and takes no time to speak of.
func TestClassifyLong(t *testing.T) {
	filler := strings.Repeat("messages content ", 1<<16)
	for text, want := range map[string]agent.ErrorKind{
		"prompt is too long: 5 tokens > 4 maximum " + filler: agent.Overflow,
		filler + "context_length_exceeded":                   agent.Overflow,
		"<!DOCTYPE html><html>" + filler:                     agent.Transient,
		filler + "invalid x-api-key":                         agent.Fatal,
		filler + `"},"message":"Too many requests"}`:         agent.Transient,
		filler: agent.Unknown,
		strings.Repeat("\xff", 1<<20) + " connection refused": agent.Transient,
	} {
		if got := Classify(0, "", text); got != want {
			t.Errorf("%.40q … %.40q is %v, want %v", text, text[len(text)-40:], got, want)
		}
	}
}

func TestRetryAfterTable(t *testing.T) {
	for _, row := range table(t, "retryafter.tsv", 4) {
		now, err := time.Parse(time.RFC3339, row[1])
		if err != nil {
			t.Fatal(err)
		}
		got := "none"
		if d, ok := RetryAfter(row[0], now); ok {
			got = strconv.Itoa(int(d.Seconds()))
		}
		if got != row[2] {
			t.Errorf("RetryAfter(%q) = %s, want %s: %s", row[0], got, row[2], row[3])
		}
	}
	if d, ok := RetryAfter("99999999999999999999999", time.Now()); !ok || d <= 0 {
		t.Errorf("a huge number gives %v, %v; want a long wait", d, ok)
	}
}

func FuzzClassify(f *testing.F) {
	for _, row := range table(f, "classify.tsv", 5) {
		status, _ := strconv.Atoi(row[0])
		f.Add(status, row[1], row[2])
	}
	c := &Client{secrets: []string{"sekret"}}
	f.Fuzz(func(t *testing.T, status int, kind, text string) {
		got := Classify(status, kind, text)
		if got < agent.Unknown || got > agent.Overflow {
			t.Fatalf("no such kind: %d", got)
		}
		if (status == 401 || status == 403) && got != agent.Fatal {
			t.Fatalf("status %d is %v", status, got)
		}
		if status/100 == 5 && status > 0 && got != agent.Transient {
			t.Fatalf("status %d is %v", status, got)
		}
		line := c.oneLine(text)
		if len(line) > maxErrorText || strings.ContainsAny(line, "\n\r\x1b") || !utf8.ValidString(line) || strings.Contains(line, "sekret") {
			t.Fatalf("not one clean line: %q", line)
		}
	})
}

func FuzzRetryAfter(f *testing.F) {
	for _, row := range table(f, "retryafter.tsv", 4) {
		now, err := time.Parse(time.RFC3339, row[1])
		if err != nil {
			f.Fatal(err)
		}
		f.Add(row[0], now.Unix())
	}
	f.Fuzz(func(t *testing.T, value string, unix int64) {
		now := time.Unix(unix%(1<<40), 0)
		d, ok := RetryAfter(value, now)
		if d < 0 || !ok && d != 0 {
			t.Fatalf("RetryAfter(%q) = %v, %v", value, d, ok)
		}
		if again, same := RetryAfter(" "+value+"\t", now); again != d || same != ok {
			t.Fatalf("blanks around %q change %v to %v", value, d, again)
		}
		if n, err := strconv.ParseUint(value, 10, 31); err == nil && (!ok || d != time.Duration(n)*time.Second) {
			t.Fatalf("RetryAfter(%q) = %v, %v", value, d, ok)
		}
	})
}

func BenchmarkClassify(b *testing.B) {
	rows := table(b, "classify.tsv", 5)
	b.Run("texts", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			Classify(0, "", rows[i%len(rows)][2])
		}
	})
	b.Run("answers", func(b *testing.B) { // with their status and type, as the endpoint gives them
		for i := 0; b.Loop(); i++ {
			row := rows[i%len(rows)]
			status, _ := strconv.Atoi(row[0])
			Classify(status, row[1], row[2])
		}
	})
	long := strings.Repeat("nothing to be found in here ", 1<<15)
	b.Run("a megabyte", func(b *testing.B) {
		for b.Loop() {
			Classify(0, "", long)
		}
	})
}
