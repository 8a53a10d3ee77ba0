package tools

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

const maxURL = 8 << 10 // bytes; servers refuse longer ones

// addressError says that an address is not for agents to reach.
type addressError struct {
	host   string // as it was asked for, or the address that it stands for
	what   string // what kind of address it is
	forbid bool   // also where private networks are allowed
}

func (e *addressError) Error() string { return fmt.Sprintf("%s is %s", e.host, e.what) }

// advice is the error for the model.
func (e *addressError) advice() string {
	text := refused + e.Error() + ". That is intended"
	if !e.forbid {
		text += noPrivate + "--allow-private-net"
	}
	return text + "."
}

// parseURL reads an address that is to be fetched, in one form: without a fragment.
func parseURL(s string) (*url.URL, error) {
	if len(s) > maxURL {
		return nil, fmt.Errorf("the address has more than %d bytes", maxURL)
	}
	u, err := url.Parse(s)
	if err != nil {
		var e *url.Error
		if errors.As(err, &e) {
			err = e.Err
		}
		return nil, fmt.Errorf("%s is no address: %w", quoted(s), err)
	}
	switch {
	case u.Scheme == "" || u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("%s does not begin with http:// or https://", quoted(s))
	case u.User != nil:
		return nil, errors.New("addresses that hold a name or a password are refused")
	case u.Hostname() == "":
		return nil, fmt.Errorf("%s names no host", quoted(s))
	}
	u.Fragment, u.RawFragment = "", ""
	return u, nil
}

func quoted(s string) string { return fmt.Sprintf("%q", clip(s, 100)) }

// sameSite says whether a redirect from one address to another is followed without asking: the host stays the same, but
// for a "www.", and a connection does not become worse.
func sameSite(from, to *url.URL) bool {
	host := func(u *url.URL) string {
		return strings.TrimPrefix(strings.TrimSuffix(strings.ToLower(u.Hostname()), "."), "www.")
	}
	if host(from) != host(to) {
		return false
	}
	if from.Scheme == to.Scheme {
		return port(from) == port(to)
	}
	return to.Scheme == "https" && port(from) == "80" && port(to) == "443"
}

func port(u *url.URL) string {
	switch p := u.Port(); {
	case p != "":
		return p
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}

// checkHost judges a host as it is written, which is all that can be known where a proxy looks names up. Without one
// dialGuard judges what it stands for as well.
func checkHost(host string, allowPrivate bool) error {
	plain, err := idna.Lookup.ToASCII(host) // as the connection, or the proxy, will read it: ①.example is 1.example, and 。 a dot
	if err != nil && strings.ContainsFunc(host, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return &addressError{host: quoted(host), what: "no name of a host", forbid: true}
	}
	if err != nil { // an address, or a name with an underscore
		plain = host
	}
	name := strings.TrimSuffix(strings.ToLower(plain), ".")
	if addr, err := netip.ParseAddr(name); err == nil {
		return checkAddress(addr, allowPrivate)
	}
	last := name[strings.LastIndexByte(name, '.')+1:]
	switch {
	case strings.ContainsAny(name, ":%") || isNumber(last) || last == "" || strings.HasPrefix(name, ".") || strings.Contains(name, ".."):
		// Some programs read 2130706433, 0x7f.1 and 127.1 as 127.0.0.1, a proxy perhaps.
		return &addressError{host: quoted(host), what: "not written as an address usually is", forbid: true}
	case last == name || privateEnds[last] || name == "home.arpa" || strings.HasSuffix(name, ".home.arpa"):
		if name == "metadata.google.internal" {
			return &addressError{host: quoted(host), what: "a service that hands credentials to machines", forbid: true}
		}
		if !allowPrivate {
			return &addressError{host: quoted(host), what: "a name of this machine or of a private network"}
		}
	}
	return nil
}

// privateEnds are last parts of names that stand for something else in every network: RFC 6761, 6762 and 8375, and what
// ICANN keeps out of the root because private networks use it. So does a name without a dot.
var privateEnds = map[string]bool{
	"localhost": true, "localdomain": true, "local": true, "internal": true, "lan": true, "home": true, "corp": true, "mail": true, "intranet": true, "private": true,
}

// isNumber says whether the last part of a host makes programs read the whole as an IPv4 address: digits, or hexadecimal
// ones behind 0x.
func isNumber(label string) bool {
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return label != "" && strings.Trim(label, "0123456789") == ""
}

// dialGuard judges the address that is really connected to, after names were looked up: one that stands for something
// else by then, and a redirect, get no further.
func dialGuard(allowPrivate bool) func(ctx context.Context, network, address string, c syscall.RawConn) error {
	return func(_ context.Context, network, address string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err != nil || !strings.HasPrefix(network, "tcp") {
			return &addressError{host: quoted(network + " " + address), what: "no address of the internet", forbid: true}
		}
		return checkAddress(to.Addr(), allowPrivate)
	}
}

// block is a range of addresses that are nobody's page.
type block struct {
	prefix netip.Prefix
	what   string
	forbid bool // also where private networks are allowed
}

// What the blocks are.
const (
	ownMachine  = "an address of this machine"
	privateNet  = "an address of a private network"
	credentials = "a service that hands credentials to machines"
	noHost      = "no address of a host"
)

// blocks are the special ranges of the IANA registries for IPv4 and IPv6, and the addresses at which clouds serve their
// machines; the first one that holds an address counts. Everything in IPv6 outside of 2000::/3 is noHost.
var blocks = func() []block {
	var all []block
	for _, group := range []struct {
		what     string
		forbid   bool
		prefixes string
	}{
		{credentials, true, "169.254.169.254/32 169.254.170.2/32 169.254.170.23/32 fd00:ec2::254/128 fd00:ec2::23/128 fd20:ce::254/128 100.100.100.200/32 168.63.129.16/32 192.0.0.192/32"},
		{ownMachine, false, "127.0.0.0/8 ::1/128"},
		{privateNet, false, "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 100.64.0.0/10 fc00::/7"},
		{"a link-local address", true, "169.254.0.0/16 fe80::/10"},
		{"a multicast address", true, "224.0.0.0/4 ff00::/8"},
		// Zero, protocols, documentation, benchmarks, reserved; tunnels that lead to any IPv4 address (Teredo, 6to4, and NAT64
		// with a prefix of one's own).
		{noHost, true, "0.0.0.0/8 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 240.0.0.0/4 " +
			"2001::/23 2001:db8::/32 2002::/16 3fff::/20"},
	} {
		for _, p := range strings.Fields(group.prefixes) {
			all = append(all, block{netip.MustParsePrefix(p), group.what, group.forbid})
		}
	}
	return all
}()

var (
	globalIPv6 = netip.MustParsePrefix("2000::/3")
	nat64      = netip.MustParsePrefix("64:ff9b::/96")
)

// checkAddress refuses every address that is not one of a host on the internet.
func checkAddress(addr netip.Addr, allowPrivate bool) error {
	shown := addr.String()
	a := addr.Unmap().WithZone("")
	if nat64.Contains(a) { // an IPv4 address stands in its end
		b := a.As16()
		a = netip.AddrFrom4([4]byte(b[12:]))
	}
	for _, b := range blocks {
		if b.prefix.Contains(a) {
			if b.forbid || !allowPrivate {
				return &addressError{host: shown, what: b.what, forbid: b.forbid}
			}
			return nil
		}
	}
	if !a.Is4() && !globalIPv6.Contains(a) {
		return &addressError{host: shown, what: noHost, forbid: true}
	}
	return nil
}
