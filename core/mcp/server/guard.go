package server

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// guard authorizes requests to an HTTP server.
type guard struct {
	tokens  [][sha256.Size]byte
	hosts   []string
	origins []string
}

func newGuard(o HTTPOptions) *guard {
	g := &guard{hosts: o.Hosts, origins: o.Origins}
	for _, t := range o.Tokens {
		if t != "" {
			g.tokens = append(g.tokens, sha256.Sum256([]byte(t)))
		}
	}
	return g
}

// Guard returns a handler that passes the requests with an accepted token, host and origin to next,
// for servers of other protocols.
func (o HTTPOptions) Guard(next http.Handler) http.Handler {
	g := newGuard(o)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, ok := g.admit(w, r); ok {
			next.ServeHTTP(w, r)
		}
	})
}

// admit answers a request that must not be served and reports false. Otherwise it
// returns the digest of the presented token, "" if no token is required.
func (g *guard) admit(w http.ResponseWriter, r *http.Request) (holder string, ok bool) {
	if !g.hostAllowed(r.Host) {
		http.Error(w, "Forbidden: this server does not accept that Host.", http.StatusForbidden)
		return "", false
	}
	for _, origin := range r.Header.Values("Origin") {
		if !g.originAllowed(origin) {
			http.Error(w, "Forbidden: pages of that Origin may not use this server.", http.StatusForbidden)
			return "", false
		}
	}
	if len(g.tokens) == 0 {
		return "", true
	}
	presented := r.Header.Values("Authorization")
	if len(presented) == 1 {
		scheme, token, _ := strings.Cut(presented[0], " ")
		sum, known := sha256.Sum256([]byte(strings.TrimSpace(token))), 0
		for _, t := range g.tokens {
			known |= subtle.ConstantTimeCompare(sum[:], t[:])
		}
		if strings.EqualFold(scheme, "Bearer") && known == 1 {
			return hex.EncodeToString(sum[:]), true
		}
	}
	challenge := `Bearer realm="mcp"`
	if len(presented) > 0 {
		challenge += `, error="invalid_token"`
	}
	w.Header().Set("WWW-Authenticate", challenge)
	http.Error(w, "Unauthorized: this server requires a bearer token.", http.StatusUnauthorized)
	return "", false
}

// hostAllowed reports whether a Host header names a loopback address or a host
// allowed by the options.
func (g *guard) hostAllowed(host string) bool {
	name, _ := splitPort(host)
	return loopback(name) || slices.ContainsFunc(g.hosts, func(allowed string) bool {
		return strings.EqualFold(allowed, host) || strings.EqualFold(allowed, name)
	})
}

// originAllowed reports the same of an Origin header. "null" is never allowed.
func (g *guard) originAllowed(origin string) bool {
	if slices.ContainsFunc(g.origins, func(allowed string) bool { return strings.EqualFold(allowed, origin) }) {
		return true
	}
	u, err := url.Parse(origin)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.User != nil || u.Path != "" || u.RawQuery != "" || u.Fragment != "" {
		return false
	}
	name, _ := splitPort(u.Host)
	return loopback(name)
}

// splitPort splits the port off a host, and removes the brackets of an IPv6
// address.
func splitPort(host string) (name, port string) {
	if name, port, err := net.SplitHostPort(host); err == nil {
		return name, port
	}
	return strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"), ""
}

// loopback reports whether a host name denotes the loopback interface. Except for
// localhost, names that require a resolver do not.
func loopback(name string) bool {
	if strings.EqualFold(name, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(name)
	return err == nil && addr.Unmap().IsLoopback()
}
