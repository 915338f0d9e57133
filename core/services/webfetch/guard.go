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

// guard keeps requests away from addresses that are not of the public
// internet. It is immutable.
type guard struct {
	open     bool                // private networks and this machine are allowed
	names    map[string]struct{} // allowed host names, as "host" or "host:port"
	prefixes []allowedPrefix
}

type allowedPrefix struct {
	prefix netip.Prefix
	port   uint16 // 0: any
}

// newGuard reads the entries of [Options].Allow.
func newGuard(open bool, allow []string) (guard, error) {
	g := guard{open: open, names: map[string]struct{}{}}
	for _, entry := range allow {
		if !g.allow(strings.TrimSpace(entry)) {
			return guard{}, fault.New(fault.InvalidConfig, "webfetch.new", fmt.Sprintf("The allowed address %q cannot be understood.", entry),
				"Write a host name or an IP address, with a port if only that one is meant, or a prefix such as 10.0.0.0/8.")
		}
	}
	return g, nil
}

// allow adds an entry, if it can be read.
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

// allowsName reports whether a host is allowed by its name.
func (g *guard) allowsName(host, port string) bool {
	name, err := hostName(host)
	if err != nil {
		return false
	}
	_, any := g.names[name]
	_, one := g.names[name+":"+port]
	return any || one
}

// checkAddr refuses an address that is neither public nor allowed. host is how
// it was named.
func (g *guard) checkAddr(host string, a netip.AddrPort) *fault.Error {
	addr := a.Addr().Unmap()
	b := special(addr)
	if b == nil || g.open && b.inside {
		return nil
	}
	for _, p := range g.prefixes {
		if p.prefix.Contains(addr) && (p.port == 0 || p.port == a.Port()) {
			return nil
		}
	}
	return private(host, b.what, b.inside)
}

// checkHost refuses a URL whose host is plainly private: an address, or a name
// of this machine. A name that resolves to a private address is refused when
// it is dialled.
func (g *guard) checkHost(u *url.URL) *fault.Error {
	host, port := u.Hostname(), portOf(u)
	if addr, err := netip.ParseAddr(host); err == nil {
		n, _ := strconv.ParseUint(port, 10, 16) // ParseURL has checked it
		return g.checkAddr(host, netip.AddrPortFrom(addr, uint16(n)))
	}
	if addr, ok := oddAddr(host); ok {
		if b := special(addr); b != nil {
			return private(host+" ("+addr.String()+")", b.what, b.inside)
		}
		return failed("The host "+show(host)+" is an unusual way to write the address "+addr.String()+", so it is not asked.", "Write the address as "+addr.String()+".", nil)
	}
	if localName(host) && !g.open && !g.allowsName(host, port) {
		return private(host, "a name of this machine", true)
	}
	return nil
}

// control refuses an address at the moment when a connection to it would be
// opened, so that it does not matter how a name resolved before.
func (g *guard) control(_ context.Context, _, address string, _ syscall.RawConn) error {
	a, err := netip.ParseAddrPort(address)
	if err != nil {
		return failed("The address "+address+" cannot be checked, so it is not asked.", "", err)
	}
	return asError(g.checkAddr(a.Addr().String(), a))
}

// private returns the refusal of a host that is at a private address. inside
// says that a setting would allow it.
func private(host, what string, inside bool) *fault.Error {
	remedy := "Use a public address."
	if inside {
		remedy = "Use a public address; or ask the user to allow this host alone with the setting web.allowedHosts, or all such addresses with web.allowPrivateAddresses."
	}
	return failed(fmt.Sprintf("The host is at %s, %s, and is not asked.", show(host), what), remedy, nil).Because(fault.PrivateAddress)
}

// localName reports whether a name always means this machine.
func localName(host string) bool {
	switch host {
	case "localhost", "localhost.localdomain", "ip6-localhost", "ip6-loopback":
		return true
	}
	return strings.HasSuffix(host, ".localhost")
}
