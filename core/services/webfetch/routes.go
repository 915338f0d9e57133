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
	direct, proxied *http.Transport
}

// proxyKey is the key under which a request's context holds its proxy.
type proxyKey struct{}

func newRoutes(o Options, g guard) *routes {
	free := &net.Dialer{Resolver: o.Resolver}
	guarded := &net.Dialer{Resolver: o.Resolver, ControlContext: g.control}
	r := &routes{guard: g, resolver: o.Resolver, proxy: o.Proxy}
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
		return nil, failed("The proxy for "+show(q.URL.String())+" cannot be told: "+why(err)+".", "Correct the proxy's setting.", err)
	case proxy == nil:
		return r.direct.RoundTrip(q)
	}
	if err := r.checkNames(q.Context(), q.URL); err != nil {
		return nil, err
	}
	return r.proxied.RoundTrip(q.WithContext(context.WithValue(q.Context(), proxyKey{}, proxy)))
}

// checkNames refuses a host of which this machine knows that it is at a private
// address. A proxy looks names up itself, so this cannot be certain; a name
// that is not known here is left to the proxy.
func (r *routes) checkNames(ctx context.Context, u *url.URL) error {
	host, port := u.Hostname(), portOf(u)
	if r.guard.allowsName(host, port) {
		return nil
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return asError(r.guard.checkHost(u))
	}
	addrs, err := r.resolver.LookupNetIP(ctx, "ip", host)
	if unknown := new(net.DNSError); errors.As(err, &unknown) && unknown.IsNotFound {
		return nil
	}
	if err != nil {
		return err
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
