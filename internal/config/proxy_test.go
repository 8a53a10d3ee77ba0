package config

import (
	"net/url"
	"testing"
)

func TestProxy(t *testing.T) {
	for _, tt := range []struct{ environ, url, want string }{
		{"", "https://api.example", ""},
		{"HTTPS_PROXY=http://relay.example:3128", "https://api.example", "http://relay.example:3128"},
		{"https_proxy=relay.example:3128", "https://api.example", "http://relay.example:3128"},
		{"HTTP_PROXY=http://relay.example", "https://api.example", ""},
		{"HTTP_PROXY=http://relay.example", "http://api.example", "http://relay.example"},
		{"HTTP_PROXY=socks5://relay.example", "http://api.example", "socks5://relay.example"},
		{"HTTP_PROXY=http://relay.example", "http://127.0.0.1:8080", ""},
		{"HTTP_PROXY=http://relay.example", "http://localhost:8080", ""},
		{"HTTP_PROXY= ", "http://api.example", ""},
	} {
		for _, exempt := range []bool{false, true} {
			environ := []string{tt.environ}
			want := tt.want
			if exempt {
				environ, want = append(environ, "NO_PROXY=other.example, api.example"), ""
			}
			u, _ := url.Parse(tt.url)
			got, err := Proxy(environ)(u)
			if err != nil || want == "" && got != nil || want != "" && (got == nil || got.String() != want) {
				t.Errorf("%q: %s goes through %v, %v; want %q", environ, tt.url, got, err, want)
			}
		}
	}
}
