package config

import (
	"net/url"

	"golang.org/x/net/http/httpproxy"
)

// Proxy returns the function that finds the proxy for a URL, nil for none, by
// HTTP_PROXY, HTTPS_PROXY and NO_PROXY of an environment, in capitals or not.
// There is none for this machine. Files are not asked: a .env file that came
// with a directory must not lead the traffic elsewhere unseen.
func Proxy(environ []string) func(*url.URL) (*url.URL, error) {
	env := fromEnviron(environ)
	either := func(upper, lower string) string {
		if value := env.get(upper); value != "" {
			return value
		}
		return env.get(lower)
	}
	c := httpproxy.Config{
		HTTPProxy: either("HTTP_PROXY", "http_proxy"), HTTPSProxy: either("HTTPS_PROXY", "https_proxy"),
		NoProxy: either("NO_PROXY", "no_proxy"),
	}
	return c.ProxyFunc()
}
