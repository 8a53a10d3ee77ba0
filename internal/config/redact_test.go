package config

import (
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"strings"
	"testing"
)

var (
	pem = "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nMIIEow+/\nabc=\n-----END RSA PRIVATE KEY-----"
	b36 = "abcdefghijklmnopqrstuvwxyz0123456789"
)

var redactCases = []struct{ name, in, want string }{
	{"nothing", "plain text, 文字", "plain text, 文字"},
	{"empty", "", ""},
	{"value", "key=my-own-secret-1!", "key=[redacted]!"},
	{"longer value first", "my-own-secret-12", "[redacted]"},
	{"value twice", "my-own-secret-1my-own-secret-1", "[redacted][redacted]"},
	{"short value stays", "short", "short"},
	{"vendor key", "x sk-ant-api03-Ab_9-zz89 y", "x [redacted] y"},
	{"vendor key named only", "keys look like sk-ant-…", "keys look like sk-ant-…"},
	{"GitHub", "ghp_" + b36 + " gho_" + b36, "[redacted] [redacted]"},
	{"GitHub, fine-grained", "github_pat_11ABC_" + b36, "[redacted]"},
	{"GitLab", "glpat-abcdefghij0123456789", "[redacted]"},
	{"AWS", "id AKIAIOSFODNN7EXAMPLE.", "id [redacted]."},
	{"AWS inside a longer word", "xAKIAIOSFODNN7EXAMPLEx", "xAKIAIOSFODNN7EXAMPLEx"},
	{"Slack", "xoxb-123456789012-abcdef", "[redacted]"},
	{"Google", "AIza" + b36, "[redacted]"},
	{"bearer", "Authorization: Bearer abcdefgh.ijklmnop-123", "Authorization: Bearer [redacted]"},
	{"bearer twice", "Bearer BEARER  abcdefghijklmnop", "Bearer BEARER  [redacted]"},
	{"bearer in words", "the bearer of this", "the bearer of this"},
	{"JWT", "t=eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc_-9", "t=[redacted]"},
	{"other vendor", "sk-proj-" + b36 + ", sk-" + b36, "[redacted], [redacted]"},
	{"payments", "sk_live_" + b36 + " rk_test_" + b36 + " whsec_" + b36, "[redacted] [redacted] [redacted]"},
	{"more vendors", "gsk_" + b36 + " hf_" + b36 + " npm_" + b36 + " r8_" + b36 + " shpat_" + b36, "[redacted] [redacted] [redacted] [redacted] [redacted]"},
	{"names like theirs", "hf_hub_download npm_config_registry sk_test_mode r8_opt SG.x gsk_x", "hf_hub_download npm_config_registry sk_test_mode r8_opt SG.x gsk_x"},
	{"mail service", "SG." + b36[:22] + "." + b36 + "1234567", "[redacted]"},
	{"router and service accounts", "sk-or-v1-" + b36 + " sk-svcacct-" + b36 + " sk-admin-" + b36, "[redacted] [redacted] [redacted]"},
	{"Slack, app and refresh", "xapp-1-A0B1C2-123456789-" + b36 + " xoxe-1-" + b36, "[redacted] [redacted]"},
	{"words with sk-", "risk-assessment-and-task-lists-are-long-words", "risk-assessment-and-task-lists-are-long-words"},
	{"PEM", "a\n" + pem + "\nb", "a\n[redacted]\nb"},
	{"PEM, one line of JSON", strings.ReplaceAll(pem, "\n", `\n`), "[redacted]"},
	{"PEM cut off", "-----BEGIN PRIVATE KEY-----\n" + b36 + b36 + "\n" + b36 + b36 + "\n… more", "[redacted]… more"},
	{"PEM with a value in it", strings.Replace(pem, "abc=", "my-own-secret-1", 1), "[redacted]"},
	{"PEM spoken of", `if line == "-----BEGIN PRIVATE KEY-----" {`, `if line == "-----BEGIN PRIVATE KEY-----" {`},
	{"public key", "-----BEGIN PUBLIC KEY-----\nMIIE\n-----END PUBLIC KEY-----", "-----BEGIN PUBLIC KEY-----\nMIIE\n-----END PUBLIC KEY-----"},
	{"mark", "[redacted]", "[redacted]"},
	{"not UTF-8", "\xffmy-own-secret-1\xff", "\xff[redacted]\xff"},
	{"a boundary made by a mark", "my-own-secret-1AKIAIOSFODNN7EXAMPLE", "[redacted][redacted]"},
}

func testRedactor() *Redactor {
	return NewRedactor("my-own-secret-1", "my-own-secret-12", "short", "", "redacted")
}

func TestRedact(t *testing.T) {
	r := testRedactor()
	for _, tt := range redactCases {
		got := r.Redact(tt.in)
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
		if again := r.Redact(got); again != got {
			t.Errorf("%s: redacted again: %q", tt.name, again)
		}
	}
	var none *Redactor
	if got := none.Redact("my-own-secret-1 sk-ant-api03-Ab_9-zz89"); got != "my-own-secret-1 [redacted]" {
		t.Errorf("no redactor: %q", got)
	}
}

// Each text is the worst case of one shape: many beginnings and no key.
func TestRedactIsLinear(*testing.T) {
	r := testRedactor()
	for _, part := range []string{
		"-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----" + b36 + "abcdef\n", "-----BEGIN ", "eyJ-", "eyJ.", "Bearer ", "AKIA", "AKIA-",
		"sk-", "xoxb-", "ghp_", "my-own-secret-", "[", "-",
	} {
		text := strings.Repeat(part, 1<<17/len(part))
		r.Redact(text) // in quadratic time the tests would not end in reasonable time
	}
}

func TestRedactEncodings(t *testing.T) {
	const secret = "my-own/secret+value?1"
	r := NewRedactor(secret)
	for i := range 7 {
		plain := "abcdefg"[:i] + secret + "hijklmn"[:7-i]
		for name, text := range map[string]string{
			"base64": base64.StdEncoding.EncodeToString([]byte(plain)), "base64 for URLs": base64.URLEncoding.EncodeToString([]byte(plain)),
			"hex": hex.EncodeToString([]byte(plain)), "URL": "?q=" + url.QueryEscape(plain),
		} {
			got := r.Redact(text)
			if !strings.Contains(got, mark) || len(got)-len(mark) > len(text)-len(secret) {
				t.Errorf("%s: %q stays of %q", name, got, text)
			}
		}
	}
	if got := r.Redact("an ordinary text, YWJjZGVmZw== and 616263"); strings.Contains(got, mark) {
		t.Errorf("got %q", got)
	}
}

func TestMasked(t *testing.T) {
	for secret, want := range map[string]string{
		"": "", "short": "…", "fifteen-letters": "…", "sixteen--letters": "…ters",
		"sk-ant-x": "sk-ant-…", "sk-ant-api03-abcdefgh": "sk-ant-…efgh",
	} {
		if got := Masked(secret); got != want {
			t.Errorf("%q: %q, want %q", secret, got, want)
		}
	}
}

func FuzzRedact(f *testing.F) {
	for _, tt := range redactCases {
		f.Add(tt.in)
	}
	r := testRedactor()
	f.Fuzz(func(t *testing.T, text string) {
		got := r.Redact(text)
		if strings.Contains(got, "my-own-secret-1") {
			t.Errorf("left in %q", got)
		}
		if again := r.Redact(got); again != got {
			t.Errorf("%q, and again %q", got, again)
		}
	})
}

func BenchmarkRedact(b *testing.B) {
	r := testRedactor()
	text := strings.Repeat("ordinary output, gh and Bearer and sk- in it\n", 1000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		r.Redact(text)
	}
}
