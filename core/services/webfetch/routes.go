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

// routes are the two ways to a server: directly, with every address checked at the connection, and
// through a proxy, which may have a private address.
type routes struct {
	guard           guard
	resolver        *net.Resolver
	proxy           func(*http.Request) (*url.URL, error)
	proxyDecides    bool // about names that cannot be resolved locally
	direct, proxied *http.Transport
}

// proxyKey is the context key of a request's proxy.
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
			return nil, errors.New("the request has no proxy")
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
		DisableCompression:     true, // this package decompresses bodies, with limits
		MaxResponseHeaderBytes: 256 << 10,
		MaxIdleConns:           32,
		IdleConnTimeout:        30 * time.Second,
	}
}

// send sends one request. It follows no redirect.
func (r *routes) send(q *http.Request) (*http.Response, error) {
	if r.proxy == nil {
		return r.direct.RoundTrip(q)
	}
	proxy, err := r.proxy(q)
	switch {
	case err != nil:
		return nil, failed("The proxy for "+show(q.URL.String())+" cannot be determined: "+errorText(err)+".", "Correct the proxy setting.", errors.New(errorText(err)))
	case proxy == nil:
		return r.direct.RoundTrip(q)
	}
	if err := r.checkNames(q.Context(), q.URL); err != nil {
		return nil, err
	}
	return r.proxied.RoundTrip(q.WithContext(context.WithValue(q.Context(), proxyKey{}, proxy)))
}

// checkNames resolves the host here and refuses it at a private address. It refuses a name that
// cannot be resolved here, unless the proxy decides.
//
// The proxy receives the name, not the address: many proxies have rules about names, and with http
// a proxy must forward the host of the URL and ignore the Host header (RFC 9112, 3.2.2). A name
// that resolves to another address at the proxy is therefore not detected. With https the
// certificate must still match the name, which closes that gap.
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
		return failed("The host "+show(host)+" cannot be resolved here ("+errorText(err)+"), so it may be private, and no request was sent through the proxy.",
			"Check the URL; or ask the user to allow only this host with the setting web.allowedHosts, or to leave such names to the proxy with web.proxyDecides.",
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

// close closes the idle connections.
func (r *routes) close() {
	r.direct.CloseIdleConnections()
	r.proxied.CloseIdleConnections()
}

// explain converts the error of a request without a response to a fault.
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
		return failed("The host of "+target+" is unknown.", "Check the URL, or search for the right one.", err)
	case errors.As(err, &untrusted):
		return failed("The certificate of "+target+" is not trusted: "+errorText(untrusted.Err)+".", "Use another source; there is no option to accept the certificate.", err)
	case errors.As(err, &refused) && refused.Op == "dial":
		return failed("Connecting to the host of "+target+": "+errorText(refused.Err)+".", "Check the host and the port, or try again later.", err)
	}
	return failed("The request for "+target+" failed: "+errorText(err)+".", "Try again later, or use another source.", err)
}
