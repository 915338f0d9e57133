package webfetch

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"time"

	"github.com/fettle-dev/fettle/core/fault"
)

// routes are the two ways to a server: directly, where each address is checked
// when it is dialled, and through a proxy, which may itself be private.
type routes struct {
	guard           guard
	resolver        *net.Resolver
	proxy           func(*http.Request) (*url.URL, error)
	proxyDecides    bool // about names that are not known here
	direct, proxied *http.Transport
}

// proxyKey is the key under which a request's context holds its proxy.
type proxyKey struct{}

func newRoutes(o Options, g guard) *routes {
	free := &net.Dialer{Resolver: o.Resolver}
	guarded := &net.Dialer{Resolver: o.Resolver, ControlContext: g.control}
	r := &routes{guard: g, resolver: o.Resolver, proxy: o.Proxy, proxyDecides: o.ProxyDecides}
	r.direct = newTransport(o.TLS)
	r.direct.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		host, port, err := net.SplitHostPort(address)
		if err == nil && g.allowsName(host, port) {
			return free.DialContext(ctx, network, address)
		}
		return guarded.DialContext(ctx, network, address)
	}
	r.proxied = newTransport(o.TLS)
	r.proxied.DialContext = free.DialContext
	r.proxied.Proxy = func(q *http.Request) (*url.URL, error) {
		u, ok := q.Context().Value(proxyKey{}).(*url.URL)
		if !ok {
			return nil, errors.New("no proxy was chosen")
		}
		return u, nil
	}
	return r
}

func newTransport(c *tls.Config) *http.Transport {
	if c != nil {
		c = c.Clone()
	}
	return &http.Transport{
		TLSClientConfig:        c,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true, // bodies are decompressed here, within limits
		MaxResponseHeaderBytes: 256 << 10,
		MaxIdleConns:           32,
		IdleConnTimeout:        30 * time.Second,
	}
}

// send makes one request. It follows no redirect.
func (r *routes) send(q *http.Request) (*http.Response, error) {
	if r.proxy == nil {
		return r.direct.RoundTrip(q)
	}
	proxy, err := r.proxy(q)
	switch {
	case err != nil:
		return nil, failed("The proxy for "+show(q.URL.String())+" cannot be told: "+why(err)+".", "Correct the proxy's setting.", errors.New(why(err)))
	case proxy == nil:
		return r.direct.RoundTrip(q)
	}
	if err := r.checkNames(q.Context(), q.URL); err != nil {
		return nil, err
	}
	return r.proxied.RoundTrip(q.WithContext(context.WithValue(q.Context(), proxyKey{}, proxy)))
}

// checkNames refuses a host that is at a private address, by a look-up of its
// name here, and a name that cannot be looked up here unless the proxy decides.
//
// The proxy is given the name, not the address: many decide by names, and with
// http a proxy has to send the host of the URL on, not the header (RFC 9112,
// 3.2.2). So a name that means another address to the proxy is not found out. With
// https the certificate still has to fit the name, which closes that.
func (r *routes) checkNames(ctx context.Context, u *url.URL) error {
	host, port := u.Hostname(), portOf(u)
	if r.guard.allowsName(host, port) {
		return nil
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return asError(r.guard.checkHost(u))
	}
	addrs, err := r.resolver.LookupNetIP(ctx, "ip", host)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil && r.proxyDecides:
		return nil
	case err != nil:
		return failed("The host "+show(host)+" cannot be looked up here ("+why(err)+"), so it may be private, and is not asked through the proxy.",
			"Check the URL; or ask the user to allow this host alone with the setting web.allowedHosts, or to leave such names to the proxy with web.proxyDecides.",
			err).Because(fault.PrivateAddress)
	}
	n, _ := strconv.ParseUint(port, 10, 16) // ParseURL has checked it
	for _, a := range addrs {
		if f := r.guard.checkAddr(a.String(), netip.AddrPortFrom(a, uint16(n))); f != nil {
			return f
		}
	}
	return nil
}

// close closes the connections that nobody uses.
func (r *routes) close() {
	r.direct.CloseIdleConnections()
	r.proxied.CloseIdleConnections()
}

// explain says why a request got no answer.
func explain(target string, err error) *fault.Error {
	if f := fault.As(err); f != nil {
		return f
	}
	target = show(target)
	var unknown *net.DNSError
	var untrusted *tls.CertificateVerificationError
	var refused *net.OpError
	switch {
	case errors.As(err, &unknown) && unknown.IsNotFound:
		return failed("The host of "+target+" is not known.", "Check the URL, or search for the right one.", err)
	case errors.As(err, &untrusted):
		return failed("The certificate of "+target+" is not trusted: "+why(untrusted.Err)+".", "Use another source; a certificate cannot be overruled here.", err)
	case errors.As(err, &refused) && refused.Op == "dial":
		return failed("No connection could be made to the host of "+target+": "+why(refused.Err)+".", "Check host and port, or try again later.", err)
	}
	return failed("The request for "+target+" failed: "+why(err)+".", "Try again later, or use another source.", err)
}
