package webfetch

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/idna"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
)

// ParseURL parses an absolute http or https URL with a host and without credentials. The result has
// a lower-case ASCII host without a final dot; characters that a URL may not contain are
// percent-encoded. It has no fragment, because servers do not receive it. The error has code
// invalid_tool_params.
func ParseURL(rawURL string) (*url.URL, error) {
	u, err := parse(url.Parse, strings.TrimSpace(rawURL))
	if err != nil {
		return nil, err
	}
	u.Scheme = strings.ToLower(u.Scheme)
	switch {
	case u.Scheme == "" || !strings.Contains(rawURL, "://"):
		return nil, badURL(rawURL, "has no scheme")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, badURL(rawURL, "has the scheme "+u.Scheme+", but only http and https are supported")
	case u.User != nil:
		u.User = nil
		return nil, badURL(u.String(), "contains a user name or a password, which are never sent")
	case u.Hostname() == "":
		return nil, badURL(rawURL, "has no host")
	}
	if err := normalizeHost(u); err != nil {
		return nil, badURL(rawURL, err.Error())
	}
	u.RawQuery = escapeQuery(u.RawQuery)
	u.Fragment, u.RawFragment = "", ""
	return u, nil
}

// parse parses a URL with a function of net/url. The error has code invalid_tool_params.
func parse(read func(string) (*url.URL, error), rawURL string) (*url.URL, error) {
	u, err := read(rawURL)
	if err != nil {
		var inner *url.Error
		if errors.As(err, &inner) {
			err = inner.Err // without the URL, which the message contains already
		}
		return nil, badURL(rawURL, "cannot be parsed: "+err.Error())
	}
	return u, nil
}

// escapeQuery percent-encodes the characters that a query may not contain. [url.URL.String] encodes
// paths, but not queries.
func escapeQuery(query string) string {
	var b strings.Builder
	for i := range len(query) {
		if c := query[i]; c <= ' ' || c >= 0x7f || strings.IndexByte("\"<>\\^`{|}", c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

func normalizeHost(u *url.URL) error {
	port := u.Port()
	if n, err := strconv.ParseUint(port, 10, 16); (err != nil || n == 0) && port != "" {
		return errors.New("has an invalid port")
	}
	host, err := hostName(u.Hostname())
	if err != nil {
		return errors.New("has an invalid host name")
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	u.Host = host
	if port != "" {
		u.Host += ":" + port
	}
	return nil
}

// hostName returns a host in the normalized form for comparisons.
func hostName(host string) (string, error) {
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.String(), nil
	}
	for i := range len(host) {
		if host[i] >= 0x80 {
			ascii, err := idna.Lookup.ToASCII(host)
			if err != nil {
				return "", err
			}
			host = ascii
			break
		}
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if host == "" || host[0] == '.' || strings.Contains(host, "..") || strings.HasSuffix(host, ".") || strings.ContainsFunc(host, func(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune(`"#%/<>?@[\]^|`+"`{}", r) }) {
		return "", errors.New("not a host name")
	}
	if addr, err := netip.ParseAddr(host); err == nil { // written in non-ASCII digits
		return addr.String(), nil
	}
	return host, nil
}

// portOf returns the port of a URL.
func portOf(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}

func badURL(rawURL, what string) *fault.Error {
	return fault.New(fault.InvalidToolParams, "webfetch.url", "The URL "+show(escape.Quote(rawURL))+" "+escape.Clip(escape.Line(what), 100)+".",
		"Give an absolute URL, such as https://example.com/page.")
}

// rawFile returns the raw URL of a file if u is the GitHub page of that file.
func rawFile(u *url.URL) (*url.URL, bool) {
	if u.Host != "github.com" && u.Host != "www.github.com" {
		return nil, false
	}
	parts := strings.SplitN(strings.TrimPrefix(u.EscapedPath(), "/"), "/", 5)
	if len(parts) < 5 || parts[2] != "blob" || parts[0] == "" || parts[1] == "" || parts[3] == "" || parts[4] == "" {
		return nil, false
	}
	raw, err := url.Parse("https://raw.githubusercontent.com/" + strings.Join([]string{parts[0], parts[1], parts[3], parts[4]}, "/"))
	return raw, err == nil
}
