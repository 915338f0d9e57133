package webfetch

import (
	"cmp"
	"net/netip"
	"strconv"
	"strings"
)

// block is a special-purpose address range.
type block struct {
	prefix   netip.Prefix
	what     string
	internal bool // a range of internal servers: [Options].AllowPrivate allows it
}

// blocks are the ranges outside of the public internet, from the registries of special-purpose
// addresses (RFC 6890 and its successors). The first range that contains an address applies. In
// IPv6 only 2000::/3 is public.
var blocks = []block{
	{netip.MustParsePrefix("0.0.0.0/8"), "an unspecified address", false},
	{netip.MustParsePrefix("10.0.0.0/8"), "a private address", true},
	{netip.MustParsePrefix("100.64.0.0/10"), "an address shared within a provider's network", true},
	{netip.MustParsePrefix("127.0.0.0/8"), "a loopback address", true},
	{netip.MustParsePrefix("169.254.0.0/16"), "a link-local address", false},
	{netip.MustParsePrefix("172.16.0.0/12"), "a private address", true},
	{netip.MustParsePrefix("192.0.0.0/24"), "a reserved address", false},
	{netip.MustParsePrefix("192.0.2.0/24"), "an address for documentation", false},
	{netip.MustParsePrefix("192.88.99.0/24"), "a 6to4 relay address", false},
	{netip.MustParsePrefix("192.168.0.0/16"), "a private address", true},
	{netip.MustParsePrefix("198.18.0.0/15"), "an address for benchmarks", true},
	{netip.MustParsePrefix("198.51.100.0/24"), "an address for documentation", false},
	{netip.MustParsePrefix("203.0.113.0/24"), "an address for documentation", false},
	{netip.MustParsePrefix("224.0.0.0/4"), "a multicast address", false},
	{netip.MustParsePrefix("240.0.0.0/4"), "a reserved address", false},

	{netip.MustParsePrefix("::/128"), "an unspecified address", false},
	{netip.MustParsePrefix("::1/128"), "a loopback address", true},
	{netip.MustParsePrefix("::/96"), "an IPv4-compatible address", false},
	{netip.MustParsePrefix("fc00::/7"), "a private address", true},
	{netip.MustParsePrefix("fe80::/10"), "a link-local address", false},
	{netip.MustParsePrefix("fec0::/10"), "a site-local address", true},
	{netip.MustParsePrefix("ff00::/8"), "a multicast address", false},
	{netip.MustParsePrefix("2001::/32"), "a Teredo address", false},
	{netip.MustParsePrefix("2001:db8::/32"), "an address for documentation", false},
	{netip.MustParsePrefix("2001::/23"), "a reserved address", false},
	{netip.MustParsePrefix("2002::/16"), "a 6to4 address", false},
	{netip.MustParsePrefix("3fff::/20"), "an address for documentation", false},
}

var (
	publicIPv6 = netip.MustParsePrefix("2000::/3")
	nat64      = netip.MustParsePrefix("64:ff9b::/96")
)

// specialBlock returns the special-purpose range of an address, and nil for an address of the public
// internet.
func specialBlock(a netip.Addr) *block {
	if a.Zone() != "" {
		return &block{what: "an address with a zone"}
	}
	a = a.Unmap()
	if nat64.Contains(a) { // equivalent to the embedded IPv4 address
		b := a.As16()
		return specialBlock(netip.AddrFrom4([4]byte(b[12:])))
	}
	for _, b := range blocks {
		if b.prefix.Contains(a) {
			return &b
		}
	}
	if a.Is6() && !publicIPv6.Contains(a) {
		return &block{what: "a reserved address"}
	}
	return nil
}

// legacyIPv4 parses a host in the historic IPv4 notation that some resolvers accept: one to four
// decimal, octal or hexadecimal numbers, of which the last fills the remaining bytes, such as
// 0x7f.1 or 2130706433. It reports false for a name and for an address in its usual form.
func legacyIPv4(host string) (netip.Addr, bool) {
	if _, err := netip.ParseAddr(host); err == nil {
		return netip.Addr{}, false
	}
	parts := strings.Split(host, ".")
	if len(parts) > 4 {
		return netip.Addr{}, false
	}
	var value uint64
	for i, part := range parts {
		base := 10
		switch {
		case strings.HasPrefix(part, "0x"):
			part, base = part[2:], 16
			part = cmp.Or(part, "0")
		case len(part) > 1 && part[0] == '0':
			part, base = part[1:], 8
		}
		most := uint64(0xff)
		if i == len(parts)-1 {
			most = 1<<(8*(5-len(parts))) - 1
		}
		n, err := strconv.ParseUint(part, base, 64)
		if err != nil || n > most {
			return netip.Addr{}, false
		}
		if i < len(parts)-1 {
			n <<= 8 * (3 - i)
		}
		value |= n
	}
	return netip.AddrFrom4([4]byte{byte(value >> 24), byte(value >> 16), byte(value >> 8), byte(value)}), true
}
