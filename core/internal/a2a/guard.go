package a2a

import (
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"
)

// errPrivate rejects an agent at a private address.
var errPrivate = errors.New("it is at a private or loopback address")

// newTransport returns a transport. A guarded transport does not connect to private addresses, also
// if a name or redirect leads there.
func newTransport(proxy func(*http.Request) (*url.URL, error), guarded bool) *http.Transport {
	dialer := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	if guarded {
		dialer.Control = func(_, address string, _ syscall.RawConn) error {
			at, err := netip.ParseAddrPort(address)
			if err != nil || isPrivate(at.Addr()) {
				return errPrivate
			}
			return nil
		}
	}
	return &http.Transport{
		Proxy: proxy, DialContext: dialer.DialContext, ForceAttemptHTTP2: true,
		TLSHandshakeTimeout: 30 * time.Second, IdleConnTimeout: 90 * time.Second, MaxIdleConnsPerHost: 2, MaxResponseHeaderBytes: 256 << 10,
	}
}

// isPrivate reports whether an address does not belong to the public internet.
func isPrivate(a netip.Addr) bool {
	a = a.Unmap()
	if a.Is6() {
		b := a.As16()
		if nat64.Contains(a) || sixToFour.Contains(a) { // an embedded IPv4 address
			at := 12
			if sixToFour.Contains(a) {
				at = 2
			}
			return isPrivate(netip.AddrFrom4([4]byte(b[at : at+4])))
		}
	}
	return !a.IsGlobalUnicast() || a.IsPrivate() || shared.Contains(a) || a.Is4() && (a.As4()[0] == 0 || a.As4()[0] >= 240)
}

var (
	shared    = netip.MustParsePrefix("100.64.0.0/10") // of carriers
	nat64     = netip.MustParsePrefix("64:ff9b::/96")
	sixToFour = netip.MustParsePrefix("2002::/16")
)

// parseURL parses the URL of a card or an endpoint. The error is a clause.
func parseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme == "":
		return nil, errors.New("is not an absolute URL")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("has a scheme other than http and https")
	case u.Hostname() == "" || u.Opaque != "":
		return nil, errors.New("has no host")
	case u.User != nil:
		return nil, errors.New("contains a user name or a password, which belong into auth")
	}
	u.Fragment = ""
	return u, nil
}

// shown returns a URL for messages: without its query, which may contain secrets.
func shown(u *url.URL) string { return u.Scheme + "://" + u.Host + u.EscapedPath() }

// sameHost reports whether data for a may be sent to b: b has the same host name and is not less
// secure. All loopback names and addresses are the same host.
func sameHost(a, b *url.URL) bool {
	same := strings.EqualFold(a.Hostname(), b.Hostname()) || isLoopback(a.Hostname()) && isLoopback(b.Hostname())
	return same && (a.Scheme == b.Scheme || a.Scheme == "http")
}

// isLoopback reports whether a host name stands for this machine alone.
func isLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && addr.Unmap().IsLoopback()
}

// reachable returns u with the host name of at, if u names all addresses of a machine: a server
// that listens there may write this address into its card.
func reachable(u, at *url.URL) *url.URL {
	addr, err := netip.ParseAddr(u.Hostname())
	if err != nil || !addr.Unmap().IsUnspecified() {
		return u
	}
	moved := *u
	moved.Host = at.Hostname()
	if port := u.Port(); port != "" {
		moved.Host = net.JoinHostPort(moved.Host, port)
	} else if strings.Contains(moved.Host, ":") {
		moved.Host = "[" + moved.Host + "]"
	}
	return &moved
}
