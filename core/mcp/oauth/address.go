package oauth

import (
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/fettle-dev/fettle/core/mcp"
)

// keyOf returns the key of a server's tokens.
func keyOf(spec mcp.ServerSpec) (key, error) {
	u, err := url.Parse(spec.URL)
	if err != nil || spec.URL == "" || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return key{}, unusable(spec.Name, "it has no http or https address.", "Sign-in requires a server with a url.")
	}
	return key{spec.Name, canonical(u)}, nil
}

// canonical returns an address in the form that identifies a resource (RFC 8707):
// scheme and host in lower case, without a default port, a fragment, a lone slash
// or a user.
func canonical(u *url.URL) string {
	c := *u
	c.Scheme, c.Host = strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	if port := u.Port(); port == "443" && c.Scheme == "https" || port == "80" && c.Scheme == "http" {
		c.Host = strings.TrimSuffix(c.Host, ":"+port)
	}
	c.User, c.Fragment, c.RawFragment = nil, "", ""
	if c.Path == "/" {
		c.Path = ""
	}
	return c.String()
}

// origin returns scheme and host of an address: the only part that may be
// displayed, because path and query may hold a key.
func origin(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return "an invalid address"
	}
	return (&url.URL{Scheme: strings.ToLower(u.Scheme), Host: strings.ToLower(u.Host)}).String()
}

func withoutQuery(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	u.RawQuery, u.User = "", nil
	return u.String()
}

// wellKnown returns the address of a well-known document for u: u's path follows
// the document's name.
func wellKnown(u *url.URL, name, path string) string {
	w := url.URL{Scheme: u.Scheme, Host: u.Host, Path: "/.well-known/" + name + strings.TrimRight(path, "/")}
	return w.String()
}

// local reports whether a host is this machine.
func local(host string) bool {
	host = strings.ToLower(host)
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// trustworthy returns the reason why a secret must not be sent to an address
// named by a server at from, or "". The connection must be encrypted or local,
// and local only if the server is.
func trustworthy(address, from string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil {
		return "it names an invalid address."
	}
	here := local(u.Hostname())
	switch {
	case u.Scheme != "https" && !(u.Scheme == "http" && here):
		return "it names " + origin(address) + ", which does not use https."
	case here && !fromHere(from):
		return "it names " + origin(address) + ", which is on this machine, while the server is not."
	}
	return ""
}

func fromHere(address string) bool {
	u, err := url.Parse(address)
	return err == nil && local(u.Hostname())
}

// coversResource reports whether a declared resource is the server at address or
// contains it: it has the same origin and a path that is a prefix.
func coversResource(declared, address string) bool {
	d, err := url.Parse(declared)
	if err != nil || d.Host == "" {
		return false
	}
	a, err := url.Parse(address)
	if err != nil {
		return false
	}
	if !sameOrigin(d, a) {
		return false
	}
	above, path := strings.TrimRight(d.EscapedPath(), "/"), strings.TrimRight(a.EscapedPath(), "/")
	return path == above || strings.HasPrefix(path, above+"/")
}

func sameOrigin(a, b *url.URL) bool {
	return strings.EqualFold(a.Scheme, b.Scheme) && strings.EqualFold(a.Hostname(), b.Hostname()) && portOf(a) == portOf(b)
}

func portOf(u *url.URL) string {
	if port := u.Port(); port != "" {
		return port
	}
	return map[string]string{"http": "80", "https": "443"}[strings.ToLower(u.Scheme)]
}

// sameIssuer reports whether two issuers are equal except for a trailing slash.
func sameIssuer(a, b string) bool {
	return strings.TrimSuffix(a, "/") == strings.TrimSuffix(b, "/")
}

// callbackPath is the default path of the redirect URI.
const callbackPath = "/oauth/callback"

// redirectOf returns the configured redirect URI, by default one with a free
// port. A missing port also means a free one.
func redirectOf(spec mcp.ServerSpec) (*url.URL, error) {
	if spec.OAuth == nil || spec.OAuth.RedirectURI == "" {
		return &url.URL{Scheme: "http", Host: "127.0.0.1", Path: callbackPath}, nil
	}
	u, err := url.Parse(spec.OAuth.RedirectURI)
	if err != nil || u.Scheme != "http" || !local(u.Hostname()) || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return nil, unusable(spec.Name, "its oauth.redirectUri is not a plain http address of this machine.",
			"Write it as http://127.0.0.1:PORT"+callbackPath+", or remove it.")
	}
	return u, nil
}

// withPort returns the redirect URI of a listener: as configured, with the
// listener's port if none is configured.
func withPort(u *url.URL, addr net.Addr) string {
	c := *u
	if tcp, ok := addr.(*net.TCPAddr); ok && c.Port() == "" {
		c.Host = net.JoinHostPort(c.Hostname(), strconv.Itoa(tcp.Port))
	}
	return c.String()
}
