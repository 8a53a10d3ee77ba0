package tools

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// resolveTo makes every name stand for one address, until the test ends.
func resolveTo(t *testing.T, address [4]byte) {
	t.Helper()
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 4096)
		for {
			n, from, err := server.ReadFrom(buf)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buf[:n]) != nil || len(m.Questions) != 1 {
				continue
			}
			q := m.Questions[0]
			m.Response, m.Additionals = true, nil
			if q.Type == dnsmessage.TypeA {
				m.Answers = []dnsmessage.Resource{{
					Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class, TTL: 1}, Body: &dnsmessage.AResource{A: address},
				}}
			}
			if answer, err := m.Pack(); err == nil {
				_, _ = server.WriteTo(answer, from)
			}
		}
	}()
	usual := net.DefaultResolver
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", server.LocalAddr().String())
	}}
	t.Cleanup(func() {
		net.DefaultResolver = usual
		_ = server.Close()
		<-done
	})
}

// TestWebFetchOfNamesThatLie: what counts is the address that a name leads to, for the page that was asked for and for where
// it redirects to.
func TestWebFetchOfNamesThatLie(t *testing.T) {
	reached := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		reached = true
		_, _ = w.Write([]byte("the books"))
	}))
	defer server.Close()
	port := server.URL[strings.LastIndexByte(server.URL, ':'):]

	resolveTo(t, [4]byte{127, 0, 0, 1})
	f := newFixture(t, nil)
	wants(t, f.denied(WebFetch, in{"url": "http://www.example.org" + port + "/"}), "this machine")
	if reached {
		t.Error("the server was asked")
	}
	f = newFixture(t, func(o *Options) { o.Web.AllowPrivate = true })
	wants(t, f.ok(WebFetch, in{"url": "http://www.example.org" + port + "/"}), "the books") // so the name is what was refused

	resolveTo(t, [4]byte{169, 254, 169, 254})
	wants(t, f.denied(WebFetch, in{"url": "http://www.example.org/latest"}), "credentials")
}

// TestWebFetchRedirectToANameThatLies: the second request is judged like the first.
func TestWebFetchRedirectToANameThatLies(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://www.example.org/latest", http.StatusFound)
	}))
	defer server.Close()
	resolveTo(t, [4]byte{127, 0, 0, 1})
	o := WebOptions{AllowPrivate: true}
	first, err := parseURL("http://www.example.org" + server.URL[strings.LastIndexByte(server.URL, ':'):] + "/")
	if err != nil {
		t.Fatal(err)
	}
	got, next, err := o.get(t.Context(), first)
	if err != nil || next == nil {
		t.Fatalf("got %+v, %v", got, err)
	}
	resolveTo(t, [4]byte{169, 254, 169, 254}) // meanwhile the name leads elsewhere
	if _, _, err := o.get(t.Context(), next); err == nil || !strings.Contains(err.Error(), "credentials") {
		t.Errorf("the redirect ends with %v", err)
	}
}
