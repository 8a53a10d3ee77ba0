package tools

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/idna"
)

const article = `<!doctype html><html><head><title>Winter wheat</title><meta charset="utf-8"></head><body>
<nav><a href="/">Home</a> <a href="/login">Sign in</a></nav>
<article><h1>Winter wheat</h1>
<p>Winter wheat is sown in autumn and harvested in summer. Frost in the first weeks decides, more than anything else, how much of it is left when the snow is gone; farmers watch the thermometer.</p>
<p>See <a href="../soil?x=1&amp;y=2">what it needs of the soil</a>, and the <b>table</b> of yields, which was last brought up to date when the harvest had been weighed and entered.</p>
<table><tr><th>year</th><th>tons</th></tr><tr><td>2024</td><td>7.1</td></tr></table>
<p><img alt="a field" src="data:image/png;base64,AAAAAAAAAAAAAAAAAAAA"></p>
<script>alert("no")</script></article>
<footer>Imprint and all that</footer></body></html>`

// site is a server with pages, good and bad, and a box that may reach it.
func site(t *testing.T, change func(*Options)) (*fixture, *httptest.Server) {
	t.Helper()
	serve := func(mediaType, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", mediaType)
			_, _ = w.Write([]byte(body))
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/field/wheat", serve("text/html", article))
	mux.HandleFunc("/list", serve("text/html", `<ul><li><a href="a">A</a><li><a href="b">B</a></ul>`))
	mux.HandleFunc("/base", serve("text/html", `<base href="http://other.example/dir/"><a href="x">X</a>`))
	mux.HandleFunc("/json", serve("application/json", `{"a": [1, 2]}`))
	mux.HandleFunc("/problem", serve("application/problem+json", `{"title":"no"}`))
	mux.HandleFunc("/plain", serve("text/plain; charset=utf-8", "one\ntwo <b>\n"))
	mux.HandleFunc("/empty", serve("text/plain", ""))
	mux.HandleFunc("/blank", serve("text/html", "<script>x</script>"))
	mux.HandleFunc("/latin1", serve("text/plain; charset=iso-8859-1", "caf\xe9"))
	mux.HandleFunc("/meta", serve("text/html", `<meta charset="gb2312"><p>`+"\xc4\xe3\xba\xc3"+`</p>`))
	mux.HandleFunc("/sjis", serve("text/html; charset=Shift_JIS", "<p>\x93\xfa\x96\x7b</p>"))
	mux.HandleFunc("/utf16", serve("text/plain", "\xff\xfeh\x00i\x00"))
	mux.HandleFunc("/unsaid", serve("text/plain", "größer"))
	mux.HandleFunc("/unknown", serve("text/plain; charset=klingon", "größer"))
	mux.HandleFunc("/badutf8", serve("text/plain; charset=utf-8", "a\xffb"))
	mux.HandleFunc("/png", serve("image/png", "\x89PNG\r\n\x1a\n\x00\x00"))
	mux.HandleFunc("/lies", serve("text/plain", "PK\x03\x04\x00\x00\x00"))
	mux.HandleFunc("/octets", serve("application/octet-stream", "just text\n"))
	mux.HandleFunc("/odd", serve("no/such;;type", "just text\n"))
	mux.HandleFunc("/deep", serve("text/html", strings.Repeat("<div>", 20000)+"x"))
	mux.HandleFunc("/long", serve("text/plain", strings.Repeat("0123456789abcde\n", fetchBytes/16+1)))
	mux.HandleFunc("/bomb", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("Content-Type", "text/plain")
		z := gzip.NewWriter(w)
		zeros := []byte(strings.Repeat("a", 1<<20))
		for range 64 {
			if _, err := z.Write(zeros); err != nil {
				return
			}
		}
		_ = z.Close()
	})
	mux.HandleFunc("/cookie", func(w http.ResponseWriter, r *http.Request) {
		if len(r.Cookies()) > 0 || r.Header.Get("Authorization") != "" || r.Header.Get("Referer") != "" {
			t.Errorf("sent %v", r.Header)
		}
		http.SetCookie(w, &http.Cookie{Name: "id", Value: "1"})
		http.Redirect(w, r, "/agent", http.StatusFound)
	})
	mux.HandleFunc("/agent", func(w http.ResponseWriter, r *http.Request) {
		if len(r.Cookies()) > 0 {
			t.Errorf("sent cookies %v", r.Cookies())
		}
		_, _ = fmt.Fprintf(w, "you are %s", r.UserAgent())
	})
	redirect := func(to string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusMovedPermanently)
		}
	}
	mux.HandleFunc("/moved", redirect("plain#part"))
	mux.HandleFunc("/loop", redirect("/loop"))
	mux.HandleFunc("/away", redirect("https://elsewhere.example/x?y=1"))
	mux.HandleFunc("/port", redirect("http://127.0.0.1:1/x"))
	mux.HandleFunc("/file", redirect("file:///etc/passwd"))
	mux.HandleFunc("/secret", redirect("http://user:pass@127.0.0.1/"))
	mux.HandleFunc("/metadata", redirect("http://169.254.169.254/latest"))
	mux.HandleFunc("/nowhere", redirect(""))
	mux.HandleFunc("/brotli", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "br")
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("\x0b\x02\x80hello\x03"))
	})
	mux.HandleFunc("/torn", func(w http.ResponseWriter, _ *http.Request) { // gzip that ends in the middle
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write([]byte("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff\xcaH"))
	})
	mux.HandleFunc("/headers", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Long", strings.Repeat("x", 2*fetchHeaderBytes))
	})
	mux.HandleFunc("/endless", func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := w.Write([]byte(strings.Repeat("for ever ", 1<<12))); err != nil {
				return
			}
		}
	})
	mux.HandleFunc("/charset", func(w http.ResponseWriter, _ *http.Request) { // one that nobody knows
		w.Header().Set("Content-Type", "text/plain; charset=x-klingon")
		_, _ = w.Write([]byte("größer"))
	})
	mux.HandleFunc("/shift", func(w http.ResponseWriter, _ *http.Request) { // an encoding in which markup can hide
		w.Header().Set("Content-Type", "text/html; charset=iso-2022-kr")
		_, _ = w.Write([]byte("<p>a\x0eb"))
	})
	mux.HandleFunc("/gone", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusGone)
		_, _ = w.Write([]byte("it was here" + strings.Repeat(".", 2*fetchErrorBytes)))
	})
	mux.HandleFunc("/broken", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = w.Write([]byte("half"))
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	f := newFixture(t, func(o *Options) {
		o.Web = WebOptions{AllowPrivate: true, UserAgent: "flower/test"}
		if change != nil {
			change(o)
		}
	})
	return f, server
}

func TestWebFetch(t *testing.T) {
	f, server := site(t, nil)
	tests := []struct {
		path  string
		full  bool
		fails bool
		want  []string
		not   []string
	}{
		{path: "/field/wheat", want: []string{"# Winter wheat\n", "(" + server.URL + "/soil?x=1&y=2)", "| year | tons |", "**table**", "[200 OK · ", "text/html", "main text"},
			not: []string{"alert", "Imprint", "AAAA", "Sign in"}},
		{path: "/field/wheat", full: true, want: []string{"Imprint", "Sign in", "(" + server.URL + "/login)", "Frost"}, not: []string{"alert", "AAAA", "main text"}},
		{path: "/list", want: []string{"- [A](" + server.URL + "/a)", "- [B]("}, not: []string{"main text"}},
		{path: "/base", want: []string{"(http://other.example/dir/x)"}},
		{path: "/json", want: []string{`{"a": [1, 2]}` + "\n[200 OK", "application/json, 13 bytes]"}},
		{path: "/problem", want: []string{`{"title":"no"}`}},
		{path: "/plain", want: []string{"one\ntwo <b>\n[200 OK", "text/plain, 12 bytes"}},
		{path: "/empty", want: []string{"(no text)\n[200 OK", "0 bytes"}},
		{path: "/blank", want: []string{"(no text)\n[200 OK"}},
		{path: "/latin1", want: []string{"café\n"}},
		{path: "/meta", want: []string{"你好"}},
		{path: "/sjis", want: []string{"日本"}},
		{path: "/utf16", want: []string{"hi\n["}},
		{path: "/unsaid", want: []string{"größer\n"}},
		{path: "/unknown", want: []string{"größer\n"}},
		{path: "/badutf8", want: []string{"a\uFFFDb\n"}},
		{path: "/png", fails: true, want: []string{"it is no text but image/png", "10 bytes"}},
		{path: "/lies", fails: true, want: []string{"it is no text but text/plain", "7 bytes"}},
		{path: "/octets", want: []string{"just text\n", "text/plain"}},
		{path: "/odd", want: []string{"just text\n", "text/plain"}},
		{path: "/deep", fails: true, want: []string{"the HTML cannot be read"}},
		{path: "/long", want: []string{fmt.Sprintf("text/plain, the first %d bytes]", fetchBytes)}},
		{path: "/bomb", want: []string{fmt.Sprintf("text/plain, the first %d bytes]", fetchBytes)}},
		{path: "/cookie", want: []string{"you are flower/test", "redirected from " + server.URL + "/cookie"}},
		{path: "/moved", want: []string{"one\ntwo", "· " + server.URL + "/plain ·", "redirected from " + server.URL + "/moved"}},
		{path: "/away", want: []string{"fetch https://elsewhere.example/x?y=1\n", "[301 Moved Permanently"}},
		{path: "/port", want: []string{"fetch http://127.0.0.1:1/x\n"}},
		{path: "/metadata", want: []string{"fetch http://169.254.169.254/latest\n"}},
		{path: "/loop", fails: true, want: []string{"more than 5 redirects"}},
		{path: "/file", fails: true, want: []string{`redirects to "file:///etc/passwd"`, "does not begin with http"}},
		{path: "/secret", fails: true, want: []string{"hold a name or a password"}},
		{path: "/nowhere", fails: true, want: []string{"[301 Moved Permanently"}},
		{path: "/gone", fails: true, want: []string{"it was here", "[410 Gone", fmt.Sprintf("the first %d", fetchErrorBytes)}},
		{path: "/missing", fails: true, want: []string{"404 page not found", "[404 Not Found"}},
		{path: "/brotli", fails: true, want: []string{`packed its answer as "br"`}},
		{path: "/torn", fails: true, want: []string{"unexpected EOF"}},
		{path: "/headers", fails: true, want: []string{"Nothing was fetched"}},
		{path: "/endless", want: []string{fmt.Sprintf("the first %d bytes]", fetchBytes)}},
		{path: "/charset", want: []string{"größer\n"}},
		{path: "/shift", want: []string{"[200 OK"}, not: []string{"\x0e"}},
		{path: "/broken", fails: true, want: []string{"unexpected EOF"}},
		{path: "/plain#x", want: []string{"· " + server.URL + "/plain ·"}},
	}
	for _, test := range tests {
		t.Run(strings.Trim(test.path, "/"), func(t *testing.T) {
			run := f.ok
			if test.fails {
				run = f.fails
			}
			got := run(WebFetch, in{"url": server.URL + test.path, "full": test.full})
			for _, want := range test.want {
				if !strings.Contains(got, want) {
					t.Errorf("%q is missing in:\n%s", want, clip(got, 1500))
				}
			}
			for _, not := range test.not {
				if strings.Contains(got, not) {
					t.Errorf("%q is in:\n%s", not, clip(got, 1500))
				}
			}
		})
	}
}

func TestWebFetchBadAddresses(t *testing.T) {
	f := newFixture(t, func(o *Options) {
		o.Redact = func(s string) string { return strings.ReplaceAll(s, "sk-secret", "…") }
	})
	for address, want := range map[string]string{
		"example.com":                           "does not begin with http:// or https://",
		"//example.com/x":                       "does not begin with",
		"ftp://example.com/":                    "does not begin with",
		"file:///etc/passwd":                    "does not begin with",
		"javascript:alert(1)":                   "does not begin with",
		"http://":                               "names no host",
		"http://:80/":                           "names no host",
		"https://me:pw@example.com/":            "a name or a password",
		"http://me@example.com/":                "a name or a password",
		"http://%6cocalhost/":                   "is no address",
		"http://exa mple.com/":                  "is no address",
		"http://[::1/":                          "is no address",
		"http://example.com:port/":              "is no address",
		"http://example.com/\x00":               "is no address",
		"http://example.com/%zz":                "is no address",
		"http://" + strings.Repeat("a", maxURL): "more than",
	} {
		if got := f.fails(WebFetch, in{"url": address}); !strings.Contains(got, want) {
			t.Errorf("%.60q: %s", address, got)
		}
	}
	for address, want := range map[string]string{
		"http://127.0.0.1/":                "this machine",
		"http://127.8.8.8:8080/":           "this machine",
		"http://localhost/":                "this machine",
		"http://LOCALHOST./":               "this machine",
		"http://a.localhost/":              "this machine",
		"http://[::1]/":                    "this machine",
		"http://[::ffff:127.0.0.1]/":       "this machine",
		"http://[64:ff9b::10.0.0.1]/":      "private network",
		"http://10.0.0.1/":                 "private network",
		"http://192.168.0.1/":              "private network",
		"http://100.64.0.1/":               "private network",
		"http://[fd00::1]/":                "private network",
		"http://printer.local/":            "private network",
		"http://169.254.169.254/latest/":   "hands credentials",
		"http://metadata.google.internal/": "hands credentials",
		"http://0.0.0.0/":                  "no address of a host",
		"http://[::]/":                     "no address of a host",
		"http://2130706433/":               "not written as",
		"http://0x7f000001/":               "not written as",
		"http://0177.0.0.1/":               "not written as",
		"http://127.1/":                    "not written as",
		"http://example.com/?k=sk-secret":  "looks like a secret",
		"http://[fe80::1%25eth0]/":         "link-local",
		"http://①②⑦.⓪.⓪.①/":                "this machine",
		"http://127。0。0。1/":                "this machine",
		"http://１２７.0.0.1/":                "this machine",
		"http://ⓛocalhost/":                "this machine",
		"http://127.0.0.1../":              "not written as",
		"http://example.com../":            "not written as",
		"http://.example.com/":             "not written as",
		"http://0x7f.1/":                   "not written as",
		"http://0xA9FEA9FE/":               "not written as",
		"http://[::ffff:0:127.0.0.1]/":     "no address of a host",
		"http://[::ffff:a9fe:a9fe]/":       "hands credentials",
		"http://intranet/":                 "private network",
		"http://router.lan/":               "private network",
		"http://git.corp/":                 "private network",
	} {
		if got := f.denied(WebFetch, in{"url": address}); !strings.Contains(got, want) {
			t.Errorf("%q: %s", address, got)
		}
	}
}

func TestCheckAddress(t *testing.T) {
	tests := []struct {
		addr          string
		open, private bool // reachable, and where private networks are allowed
	}{
		{"8.8.8.8", true, true}, {"1.1.1.1", true, true}, {"172.15.255.255", true, true}, {"172.32.0.0", true, true},
		{"100.63.255.255", true, true}, {"100.128.0.0", true, true}, {"223.255.255.255", true, true},
		{"2606:4700::1111", true, true}, {"2001:4860:4860::8888", true, true}, {"64:ff9b::8.8.8.8", true, true}, {"::ffff:8.8.8.8", true, true},
		{"127.0.0.1", false, true}, {"127.255.255.255", false, true}, {"::1", false, true}, {"::ffff:127.0.0.1", false, true},
		{"10.255.255.255", false, true}, {"172.16.0.0", false, true}, {"172.31.255.255", false, true}, {"192.168.1.1", false, true},
		{"100.64.0.0", false, true}, {"100.127.255.255", false, true}, {"fc00::", false, true}, {"fdff::1", false, true}, {"64:ff9b::192.168.0.1", false, true},
		{"169.254.1.1", false, false}, {"169.254.169.254", false, false}, {"::ffff:169.254.169.254", false, false}, {"64:ff9b::a9fe:a9fe", false, false},
		{"fd00:ec2::254", false, false}, {"100.100.100.200", false, false}, {"168.63.129.16", false, false},
		{"fe80::1", false, false}, {"fe80::1%eth0", false, false}, {"febf::1", false, false}, {"fec0::1", false, false},
		{"224.0.0.1", false, false}, {"239.255.255.255", false, false}, {"ff02::1", false, false},
		{"0.0.0.0", false, false}, {"0.1.2.3", false, false}, {"::", false, false}, {"::127.0.0.1", false, false}, {"240.0.0.1", false, false}, {"255.255.255.255", false, false},
		{"192.0.0.1", false, false}, {"192.0.2.1", false, false}, {"198.18.0.1", false, false}, {"198.51.100.1", false, false}, {"203.0.113.1", false, false},
		{"2001::1", false, false}, {"2001:db8::1", false, false}, {"2002:7f00:1::", false, false}, {"64:ff9b:1::1", false, false}, {"100::1", false, false}, {"3fff::1", false, false}, {"4000::1", false, false},
	}
	for _, test := range tests {
		addr := netip.MustParseAddr(test.addr)
		if got := checkAddress(addr, false) == nil; got != test.open {
			t.Errorf("%s can be reached: %v", test.addr, got)
		}
		if got := checkAddress(addr, true) == nil; got != test.private {
			t.Errorf("%s can be reached with private networks: %v", test.addr, got)
		}
	}
}

// A name that stands for this machine is found out when it is dialled, whoever has said so.
func TestWebFetchJudgesWhatIsDialled(t *testing.T) {
	var asked atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Store(true) }))
	defer server.Close()
	dialer := net.Dialer{ControlContext: dialGuard(false)}
	_, err := dialer.DialContext(context.Background(), "tcp", "localhost:"+server.URL[strings.LastIndexByte(server.URL, ':')+1:])
	var refused *addressError
	if !errors.As(err, &refused) || refused.what != ownMachine {
		t.Errorf("dialling says %v", err)
	}
	if asked.Load() {
		t.Error("it was reached")
	}
}

func TestWebFetchTimeout(t *testing.T) {
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.(http.Flusher).Flush()
		<-release
	}))
	defer server.Close()
	defer close(release)
	f := newFixture(t, func(o *Options) { o.Web = WebOptions{AllowPrivate: true, Timeout: time.Millisecond} })
	if got := f.fails(WebFetch, in{"url": server.URL}); !strings.Contains(got, "no complete answer within 1ms") {
		t.Error(got)
	}
	f = newFixture(t, func(o *Options) { o.Web.AllowPrivate = true })
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r, err := f.run(ctx, WebFetch, in{"url": server.URL})
	if err != nil || !strings.Contains(textOf(r), "interrupted") {
		t.Errorf("%v %s", err, textOf(r))
	}
}

// With a proxy names are the proxy's to look up, and what is written out is still refused.
func TestWebFetchProxy(t *testing.T) {
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, "proxied %s", r.URL)
	}))
	defer proxy.Close()
	f := newFixture(t, func(o *Options) {
		o.Web.Proxy = func(*url.URL) (*url.URL, error) { return url.Parse(proxy.URL) }
	})
	if got := f.ok(WebFetch, in{"url": "http://nowhere.example/x"}); !strings.HasPrefix(got, "proxied http://nowhere.example/x\n") {
		t.Error(got)
	}
	for _, address := range []string{"http://10.0.0.1/", "http://localhost/", "http://127.1/", "http://[::1]/"} {
		f.denied(WebFetch, in{"url": address})
	}
}

func TestSameSite(t *testing.T) {
	for _, test := range []struct {
		from, to string
		want     bool
	}{
		{"http://a.example/", "http://a.example/x", true},
		{"http://a.example/", "https://a.example/", true},
		{"http://a.example/", "https://www.A.example./", true},
		{"https://www.a.example/", "https://a.example:443/", true},
		{"https://a.example/", "http://a.example/", false},
		{"http://a.example/", "http://a.example:8080/", false},
		{"http://a.example:8080/", "https://a.example/", false},
		{"http://a.example/", "http://b.example/", false},
		{"http://a.example/", "http://a.example.b.example/", false},
	} {
		from, _ := url.Parse(test.from)
		to, _ := url.Parse(test.to)
		if got := sameSite(from, to); got != test.want {
			t.Errorf("%s to %s: %v", test.from, test.to, got)
		}
	}
}

// FuzzURL: what is let through is http or https, names a host that is not written in an odd way, and stays the same
// when it is read again.
func FuzzURL(f *testing.F) {
	for _, s := range []string{"http://a.example/x?y#z", "http://127.1/", "http://[::ffff:7f00:1]/", "http://0x7f.0.0.1", "http://%6cocalhost/", "https://①.example/", "http://①②⑦.⓪.⓪.①/", "http://127。0。0。1/", "HTTP://A"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		u, err := parseURL(s)
		if err != nil {
			return
		}
		again, err := parseURL(u.String())
		if err != nil || again.String() != u.String() {
			t.Fatalf("%q is %q, and that is %v (%v)", s, u, again, err)
		}
		if u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.Hostname() == "" {
			t.Fatalf("%q was let through as %q", s, u)
		}
		if checkHost(u.Hostname(), false) != nil {
			return
		}
		host, err := idna.Lookup.ToASCII(u.Hostname()) // as it is connected to
		if err != nil {
			host = u.Hostname()
		}
		if addr, err := netip.ParseAddr(strings.TrimRight(host, ".")); err == nil && !addr.Unmap().IsGlobalUnicast() {
			t.Fatalf("%q was let through", u)
		}
	})
}

// FuzzPage: whatever a server sends becomes valid text or an error.
func FuzzPage(f *testing.F) {
	f.Add([]byte(article), "text/html", false)
	f.Add([]byte("caf\xe9"), "text/plain; charset=latin1", true)
	f.Add([]byte("<table><tr><td><pre>`x`</td><ul><li><ol>"), "text/html; charset=utf-16", true)
	at := &url.URL{Scheme: "http", Host: "a.example"}
	f.Fuzz(func(t *testing.T, body []byte, mediaType string, full bool) {
		p, err := readPage(body, mediaType, at, full)
		if err == nil && strings.ToValidUTF8(p.text, "") != p.text {
			t.Fatalf("%q is no valid text", p.text)
		}
	})
}

// BenchmarkPage measures pages of the largest size that is read.
func BenchmarkPage(b *testing.B) {
	at := &url.URL{Scheme: "http", Host: "a.example"}
	paragraph := `<p>Some <b>words</b>, a <a href="/x">link</a>, and a little more so that it looks like a paragraph.</p>`
	for name, unit := range map[string]string{
		"paragraphs": paragraph, "brackets": "[(", "tags": "<b>", "items": "<ul><li>", "cells": "<table><tr><td>x", "breaks": "<br>", "spans": "<span> </span>",
		"divs": "<div>x</div>", "stars": "* _ ` #\n", "anchors": `<a href="x">`,
	} {
		body := []byte(strings.Repeat(unit, fetchBytes/len(unit)))
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				_, _ = readPage(body, "text/html", at, false)
			}
		})
	}
}
