package webfetch_test

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/dns/dnsmessage"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/webfetch"
)

// resolver responds to each lookup of a name with the next of its addresses, and repeats the last
// one. A name without addresses is unknown.
func resolver(t testing.TB, names map[string][]string) *net.Resolver {
	t.Helper()
	var mu sync.Mutex
	next := func(q dnsmessage.Question) (netip.Addr, bool, bool) {
		mu.Lock()
		defer mu.Unlock()
		name := strings.TrimSuffix(q.Name.String(), ".")
		left := names[name]
		if len(left) == 0 {
			return netip.Addr{}, false, false
		}
		addr := netip.MustParseAddr(left[0])
		if addr.Is4() != (q.Type == dnsmessage.TypeA) {
			return netip.Addr{}, false, true
		}
		if len(left) > 1 {
			names[name] = left[1:]
		}
		return addr, true, true
	}
	answer := func(c net.Conn) {
		defer c.Close()
		var size [2]byte
		for {
			if _, err := io.ReadFull(c, size[:]); err != nil {
				return
			}
			query := make([]byte, binary.BigEndian.Uint16(size[:]))
			if _, err := io.ReadFull(c, query); err != nil {
				return
			}
			var m dnsmessage.Message
			if err := m.Unpack(query); err != nil {
				return
			}
			m.Response, m.Additionals = true, nil
			addr, found, known := next(m.Questions[0])
			h := dnsmessage.ResourceHeader{Name: m.Questions[0].Name, Type: m.Questions[0].Type, Class: dnsmessage.ClassINET}
			switch {
			case !known:
				m.RCode = dnsmessage.RCodeNameError
			case found && addr.Is4():
				m.Answers = []dnsmessage.Resource{{Header: h, Body: &dnsmessage.AResource{A: addr.As4()}}}
			case found:
				m.Answers = []dnsmessage.Resource{{Header: h, Body: &dnsmessage.AAAAResource{AAAA: addr.As16()}}}
			}
			packed, err := m.Pack()
			if err != nil {
				return
			}
			if _, err := c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(packed))), packed...)); err != nil {
				return
			}
		}
	}
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go answer(theirs) // ends when the resolver closes its side
		return ours, nil
	}}
}

func through(proxy *httptest.Server) func(*http.Request) (*url.URL, error) {
	return func(*http.Request) (*url.URL, error) { return url.Parse(proxy.URL) }
}

// isPrivate requires that the guard refused a page.
func isPrivate(t testing.TB, p webfetch.Page) {
	t.Helper()
	require.NotNil(t, p.Err)
	require.Equal(t, fault.PrivateAddress, p.Err.Reason, "%v", p.Err)
}

// TO-12: only public addresses are requested, in whatever notation.
func TestAddresses(t *testing.T) {
	s := newService(t, webfetch.Options{})
	for _, host := range []string{
		"127.0.0.1", "127.255.255.255", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "0.1.2.3",
		"224.0.0.1", "239.1.1.1", "255.255.255.255", "240.0.0.1", "192.0.2.1", "198.51.100.7", "203.0.113.9", "198.18.0.1", "192.0.0.8", "192.88.99.1",
		"[::1]", "[::]", "[fe80::1]", "[fe80::1%25eth0]", "[fc00::1]", "[fd12:3456::1]", "[fec0::1]", "[ff02::1]", "[2001:db8::1]", "[3fff::1]",
		"[::ffff:127.0.0.1]", "[::ffff:a00:1]", "[::127.0.0.1]", "[64:ff9b::10.0.0.1]", "[64:ff9b::7f00:1]", "[64:ff9b:1::1]", "[2002:7f00:1::]", "[2001:0:7f00:1::]",
		"[100::1]", "[4000::1]", "[2606:4700::1%25eth0]",
		"localhost", "LOCALHOST", "localhost.", "a.localhost", "localhost.localdomain", "ip6-localhost",
		"127.1", "2130706433", "0x7f000001", "0x7F.1", "0177.0.0.1", "017700000001", "10.1", "0xa9fea9fe", "127.0.0.1.", "0",
		"127。0。0。1", "127.0.0.1", "①②⑦.0.0.1", "%31%32%37.0.0.1",
	} {
		rawURL := "http://" + host + ":8080/x"
		err := s.Check(rawURL)
		require.Error(t, err, host)
		f := fault.As(err)
		if f.Code == fault.InvalidToolParams {
			require.True(t, strings.Contains(host, "%"), "%s: %v", host, f) // an invalid URL
			continue
		}
		require.Equal(t, fault.WebFetchProcessing, f.Code, host)
		require.Equal(t, fault.PrivateAddress, f.Reason, host)
		p := one(t, s, rawURL)
		require.Equal(t, f.Message, p.Err.Message)
	}
	for _, host := range []string{
		"8.8.8.8", "172.15.0.1", "172.32.0.1", "100.63.0.1", "100.128.0.1", "1.1.1.1", "[2606:4700::1111]", "[::ffff:8.8.8.8]", "[64:ff9b::8.8.8.8]",
		"example.com", "notlocalhost", "1e100.net", "müller.de",
	} {
		require.NoError(t, s.Check("https://"+host+"/"), host)
	}
	open := newService(t, webfetch.Options{AllowPrivate: true})
	require.NoError(t, open.Check("http://127.0.0.1/"))
	require.NoError(t, open.Check("http://localhost/"))
	for _, host := range []string{"10.0.0.1", "192.168.1.1", "100.64.0.1", "[::1]", "[fd00::1]"} {
		require.NoError(t, open.Check("http://"+host+"/"), host)
		require.Regexp(t, "only this host with the setting web.allowedHosts, .* web.allowPrivateAddresses", fault.As(s.Check("http://"+host+"/")).Remedy)
	}
	for _, host := range []string{"169.254.169.254", "[fe80::1]", "[::ffff:169.254.169.254]", "[64:ff9b::a9fe:a9fe]", "0.0.0.0", "224.0.0.1", "192.0.2.1", "0xa9fea9fe"} {
		isPrivate(t, one(t, open, "http://"+host+"/"))
		require.NotContains(t, fault.As(open.Check("http://"+host+"/")).Remedy, "setting")
	}
	err := s.Check("http://0x8.8.8.8/")
	require.Contains(t, err.Error(), "8.8.8.8")
	require.Empty(t, fault.As(err).Reason)
}

func TestURLs(t *testing.T) {
	s := newService(t, webfetch.Options{AllowPrivate: true})
	for rawURL, words := range map[string]string{
		"":                       "has no scheme",
		"example.com":            "has no scheme",
		"file:///etc/passwd":     "scheme file",
		"ftp://x/":               "scheme ftp",
		"javascript:alert(1)":    "no scheme",
		"http://":                "has no host",
		"http:///x":              "has no host",
		"http://u:p@x.com/":      "user name or a password",
		"http://@x.com/":         "user name or a password",
		"http://x.com:99999/":    "port",
		"http://x.com:0/":        "port",
		"http://x com/":          "cannot be parsed",
		"http://x.com/\x7f":      "cannot be parsed",
		"http://[::1":            "cannot be parsed",
		"http://a<b/":            "invalid host name",
		"http://ex\u2100mple.c/": "invalid host name",
	} {
		err := s.Check(rawURL)
		require.Equal(t, fault.InvalidToolParams, fault.CodeOf(err), rawURL)
		require.Contains(t, err.Error(), words, rawURL)
		require.NotContains(t, err.Error(), "u:p")
		require.Equal(t, fault.InvalidToolParams, one(t, s, rawURL).Err.Code)
	}
	u, err := webfetch.ParseURL(" HTTPS://MÜLLER.de.:8443/Ä?q=1#frag ")
	require.NoError(t, err)
	require.Equal(t, "https://xn--mller-kva.de:8443/%C3%84?q=1", u.String())
}

// TO-12: a redirect target is checked like the requested URL.
func TestRedirectToPrivate(t *testing.T) {
	hits := 0
	secret := serve(t, func(http.ResponseWriter, *http.Request) { hits++ })
	for _, to := range []string{
		secret.URL, "http://localhost/", "http://10.0.0.1/", "//[::1]:80/", "http://2130706433/", "http://169.254.169.254/latest/meta-data/",
	} {
		server := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusFound) })
		p := one(t, newService(t, webfetch.Options{}, server), server.URL)
		isPrivate(t, p)
		require.Contains(t, p.Err.Message, "The URL redirects to http")
	}
	require.Zero(t, hits)
	for to, words := range map[string]string{
		"file:///etc/passwd": "scheme file", "http://u:p@127.0.0.1/": "user name", "http://[": "redirects to a URL that cannot be fetched", "gopher://x/": "scheme gopher",
	} {
		server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusFound)
		})
		p := one(t, newService(t, webfetch.Options{}, server), server.URL)
		refused(t, p, words)
		require.NotContains(t, p.Err.Error(), "u:p")
	}
}

// TO-12: the decision depends on the address of the connection, not on an earlier resolution of the
// name.
func TestRebinding(t *testing.T) {
	hits := 0
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		hits++
		w.Header().Set("Connection", "close")
	})
	addr := server.Listener.Addr().String()
	_, port, err := net.SplitHostPort(addr)
	require.NoError(t, err)
	s := newService(t, webfetch.Options{
		Allow:    []string{"127.0.0.1:" + port}, // represents a public address
		Resolver: resolver(t, map[string][]string{"rebind.test": {"127.0.0.1", "127.0.0.2"}, "private.test": {"10.1.2.3"}, "six.test": {"::1"}}),
	})
	require.Nil(t, one(t, s, "http://rebind.test:"+port).Err)
	isPrivate(t, one(t, s, "http://rebind.test:"+port))
	isPrivate(t, one(t, s, "http://private.test:"+port))
	isPrivate(t, one(t, s, "http://six.test:"+port))
	open := newService(t, webfetch.Options{AllowPrivate: true, Resolver: resolver(t, map[string][]string{"cloud.test": {"169.254.169.254"}, "here.test": {"127.0.0.1"}})})
	isPrivate(t, one(t, open, "http://cloud.test"))
	require.Nil(t, one(t, open, "http://here.test:"+port).Err)
	refused(t, one(t, s, "http://unknown.test:"+port), "is unknown")
	require.Equal(t, 2, hits)
}

// An Allow entry allows only the named host.
func TestAllow(t *testing.T) {
	server := serve(t, text("text/plain", "x"))
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	require.NoError(t, err)
	names := map[string][]string{"wiki.test": {"127.0.0.1"}, "sub.wiki.test": {"127.0.0.1"}}
	for entry, hosts := range map[string][2]string{ // entry → allowed, refused
		"127.0.0.1":                 {"127.0.0.1", "127.0.0.2"},
		"127.0.0.1:" + port:         {"wiki.test", "127.0.0.2"},
		"127.0.0.1:1":               {"", "127.0.0.1"},
		"127.0.0.0/8":               {"sub.wiki.test", "[::1]"},
		"::ffff:127.0.0.1":          {"127.0.0.1", "[::1]"},
		"Wiki.Test.":                {"wiki.test", "sub.wiki.test"},
		"wiki.test:" + port:         {"WIKI.test", "127.0.0.1"},
		"wiki.test:1":               {"", "wiki.test"},
		"10.0.0.0/8":                {"", "wiki.test"},
		"[2606:4700::1111]:" + port: {"", "127.0.0.1"},
	} {
		s := newService(t, webfetch.Options{Allow: []string{entry}, Resolver: resolver(t, names)})
		if hosts[0] != "" {
			require.Nil(t, one(t, s, "http://"+hosts[0]+":"+port).Err, entry)
		}
		isPrivate(t, one(t, s, "http://"+hosts[1]+":"+port))
	}
}

// TO-12: a proxy may be private, but receives no request for a private host.
func TestProxy(t *testing.T) {
	var asked []string
	proxy := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.String())
		text("text/plain", "from afar")(w, r)
	})
	s := newService(t, webfetch.Options{
		Proxy:    through(proxy),
		Resolver: resolver(t, map[string][]string{"private.test": {"10.1.2.3"}, "public.test": {"93.184.215.14"}}),
	})
	for _, rawURL := range []string{"http://public.test/b", "http://8.8.8.8/c"} {
		p := one(t, s, rawURL)
		require.Nil(t, p.Err)
		require.Equal(t, "from afar", p.Text)
	}
	require.Equal(t, []string{"http://public.test/b", "http://8.8.8.8/c"}, asked)
	for _, rawURL := range []string{"http://private.test/", "http://10.0.0.1/", "http://localhost/", "http://127.0.0.1/", "http://unknown.test/a", "https://unknown.test/a"} {
		isPrivate(t, one(t, s, rawURL))
	}
	require.Len(t, asked, 2)

	broken := newService(t, webfetch.Options{Proxy: func(*http.Request) (*url.URL, error) { return nil, io.ErrNoProgress }})
	refused(t, one(t, broken, "http://example.com/"), "proxy")
	direct := newService(t, webfetch.Options{Proxy: func(*http.Request) (*url.URL, error) { return nil, nil }}, proxy)
	require.Equal(t, "from afar", one(t, direct, proxy.URL).Text)
}

// TO-12: every address of a name is checked here before a proxy receives the name, with CONNECT
// too. A name that cannot be resolved is refused, unless the proxy decides.
func TestProxyIsGivenCheckedNames(t *testing.T) {
	var mu sync.Mutex
	var asked []string
	proxy := serve(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked = append(asked, r.Method+" "+r.Host)
		mu.Unlock()
		switch {
		case r.Method == http.MethodConnect:
			http.Error(w, "no tunnel", http.StatusForbidden)
		case r.URL.Path == "/on":
			http.Redirect(w, r, r.URL.Query().Get("to"), http.StatusFound)
		default:
			text("text/plain", "from afar")(w, r)
		}
	})
	names := map[string][]string{
		"public.test": {"93.184.215.14"}, "ten.test": {"10.1.2.3"}, "cloud.test": {"169.254.169.254"}, "cgnat.test": {"100.64.0.1"}, "here.test": {"127.0.0.1"}, "six.test": {"::1"},
		"mapped.test": {"::ffff:10.0.0.1"}, "nat64.test": {"64:ff9b::a00:1"}, "sixtofour.test": {"2002:a00:1::"}, "local.test": {"fe80::1"}, "unique.test": {"fd00::1"}, "wiki.test": {"10.1.2.3"},
	}
	options := webfetch.Options{Proxy: through(proxy), Resolver: resolver(t, names), Allow: []string{"wiki.test", "only-there.test"}}
	s := newService(t, options)
	options.ProxyDecides = true
	decides := newService(t, options)
	for name := range names {
		if name == "public.test" || name == "wiki.test" {
			continue
		}
		for _, service := range []*webfetch.Service{s, decides} {
			isPrivate(t, one(t, service, "http://"+name+"/"))
			isPrivate(t, one(t, service, "https://"+name+"/"))
			isPrivate(t, one(t, service, "http://public.test/on?to=http://"+name+"/"))
		}
	}
	for _, to := range []string{"http://unknown.test/", "https://unknown.test/"} {
		p := one(t, s, to)
		isPrivate(t, p)
		require.Contains(t, p.Err.Remedy, "web.proxyDecides")
		isPrivate(t, one(t, s, "http://public.test/on?to="+url.QueryEscape(to)))
	}
	for _, request := range asked {
		require.Equal(t, "GET public.test", request, "only the way to the redirect")
	}
	asked = nil
	for _, host := range []string{"public.test", "wiki.test", "only-there.test"} {
		require.Nil(t, one(t, s, "http://"+host+"/").Err)
		refused(t, one(t, s, "https://"+host+"/"), "Forbidden")
	}
	require.Nil(t, one(t, decides, "http://unknown.test/").Err)
	refused(t, one(t, decides, "https://unknown.test/"), "Forbidden")
	require.Equal(t, []string{
		"GET public.test", "CONNECT public.test:443", "GET wiki.test", "CONNECT wiki.test:443", "GET only-there.test", "CONNECT only-there.test:443", "GET unknown.test", "CONNECT unknown.test:443",
	}, asked)
	// Without a working resolver, no name is known to be public.
	broken := webfetch.Options{Proxy: through(proxy), Resolver: &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) { return nil, io.ErrClosedPipe }}}
	isPrivate(t, one(t, newService(t, broken), "http://public.test/"))
	broken.ProxyDecides = true
	require.Nil(t, one(t, newService(t, broken), "http://public.test/").Err)
}

// Credentials of a proxy reach the proxy and appear in no error.
func TestCredentialsOfProxy(t *testing.T) {
	var given string
	proxy := serve(t, func(w http.ResponseWriter, r *http.Request) {
		given = r.Header.Get("Proxy-Authorization")
		w.WriteHeader(http.StatusBadGateway)
	})
	addr := proxy.Listener.Addr().String()
	for rawProxy, rawURL := range map[string]string{
		"http://me:hunter2@" + addr: "https://8.8.8.8/", "http://me:hunter2@127.0.0.1:1": "http://8.8.8.8/", "socks5://me:hunter2@127.0.0.1:1": "http://8.8.8.8/", "http://me:hunter2@a b": "http://8.8.8.8/",
	} {
		s := newService(t, webfetch.Options{Retries: -1, Proxy: func(*http.Request) (*url.URL, error) {
			u, err := url.Parse(rawProxy)
			return u, err
		}})
		p := one(t, s, rawURL)
		require.NotNil(t, p.Err)
		require.NotContains(t, p.Err.Error()+p.Err.Remedy, "hunter2", rawProxy)
	}
	require.Equal(t, "Basic bWU6aHVudGVyMg==", given)
}
