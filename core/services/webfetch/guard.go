package webfetch

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"syscall"

	"github.com/fettle-dev/fettle/core/fault"
)

// guard denies requests to addresses outside of the public internet. It is immutable.
type guard struct {
	open     bool                // allow private networks and this machine
	names    map[string]struct{} // allowed host names, as "host" or "host:port"
	prefixes []allowedPrefix
}

type allowedPrefix struct {
	prefix netip.Prefix
	port   uint16 // 0: any
}

// newGuard parses the entries of [Options].Allow.
func newGuard(open bool, allow []string) (guard, error) {
	g := guard{open: open, names: map[string]struct{}{}}
	for _, entry := range allow {
		if !g.allow(strings.TrimSpace(entry)) {
			return guard{}, fault.New(fault.InvalidConfig, "webfetch.new", fmt.Sprintf("The allowed address %q is invalid.", entry),
				"Write a host name or an IP address, with a port to allow only that port, or a prefix such as 10.0.0.0/8.")
		}
	}
	return g, nil
}

// allow adds an entry and reports whether it is valid.
func (g *guard) allow(entry string) bool {
	if prefix, err := netip.ParsePrefix(entry); err == nil {
		g.prefixes = append(g.prefixes, allowedPrefix{prefix.Masked(), 0})
		return true
	}
	if strings.Contains(entry, "/") {
		return false
	}
	host, port := entry, ""
	if h, p, err := net.SplitHostPort(entry); err == nil {
		if n, err := strconv.ParseUint(p, 10, 16); err != nil || n == 0 {
			return false
		}
		host, port = h, p
	} else if strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]") {
		host = host[1 : len(host)-1]
	}
	if addr, err := netip.ParseAddr(host); err == nil && addr.Zone() == "" {
		n, _ := strconv.ParseUint(port, 10, 16) // checked above; "" is 0
		g.prefixes = append(g.prefixes, allowedPrefix{netip.PrefixFrom(addr.Unmap(), addr.Unmap().BitLen()), uint16(n)})
		return true
	}
	name, err := hostName(host)
	if err != nil || strings.ContainsAny(name, ":*? \t") {
		return false
	}
	if port != "" {
		name += ":" + port
	}
	g.names[name] = struct{}{}
	return true
}

// allowsName reports whether an entry allows a host by its name.
func (g *guard) allowsName(host, port string) bool {
	name, err := hostName(host)
	if err != nil {
		return false
	}
	_, any := g.names[name]
	_, one := g.names[name+":"+port]
	return any || one
}

// checkAddr refuses an address that is neither public nor allowed. host is its form in the message.
func (g *guard) checkAddr(host string, a netip.AddrPort) *fault.Error {
	addr := a.Addr().Unmap()
	b := specialBlock(addr)
	if b == nil || g.open && b.internal {
		return nil
	}
	for _, p := range g.prefixes {
		if p.prefix.Contains(addr) && (p.port == 0 || p.port == a.Port()) {
			return nil
		}
	}
	return privateRefusal(host, b.what, b.internal)
}

// checkHost refuses a URL with a private address or a name of this machine as host. A name that
// resolves to a private address is refused at the time of the connection.
func (g *guard) checkHost(u *url.URL) *fault.Error {
	host, port := u.Hostname(), portOf(u)
	if addr, err := netip.ParseAddr(host); err == nil {
		n, _ := strconv.ParseUint(port, 10, 16) // ParseURL has checked it
		return g.checkAddr(host, netip.AddrPortFrom(addr, uint16(n)))
	}
	if addr, ok := legacyIPv4(host); ok {
		if b := specialBlock(addr); b != nil {
			return privateRefusal(host+" ("+addr.String()+")", b.what, b.internal)
		}
		return failed("The host "+show(host)+" is a nonstandard form of the address "+addr.String()+", so no request was sent.", "Write the address as "+addr.String()+".", nil)
	}
	if localName(host) && !g.open && !g.allowsName(host, port) {
		return privateRefusal(host, "a name of this machine", true)
	}
	return nil
}

// control refuses an address immediately before the connection, so that an earlier resolution of
// the name does not matter.
func (g *guard) control(_ context.Context, _, address string, _ syscall.RawConn) error {
	a, err := netip.ParseAddrPort(address)
	if err != nil {
		return failed("The address "+address+" cannot be checked, so no request was sent.", "", err)
	}
	return asError(g.checkAddr(a.Addr().String(), a))
}

// privateRefusal returns the refusal of a host at a private address. internal reports whether a setting can
// allow it.
func privateRefusal(host, what string, internal bool) *fault.Error {
	remedy := "Use a public address."
	if internal {
		remedy = "Use a public address; or ask the user to allow only this host with the setting web.allowedHosts, or all such addresses with web.allowPrivateAddresses."
	}
	return failed(fmt.Sprintf("The host is at %s, %s, so no request was sent.", show(host), what), remedy, nil).Because(fault.PrivateAddress)
}

// localName reports whether a name always refers to this machine.
func localName(host string) bool {
	switch host {
	case "localhost", "localhost.localdomain", "ip6-localhost", "ip6-loopback":
		return true
	}
	return strings.HasSuffix(host, ".localhost")
}
