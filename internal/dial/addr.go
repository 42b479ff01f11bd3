package dial

import "net/netip"

type block struct {
	prefix netip.Prefix
	why    string
}

// refused holds what is not the public internet, from the IANA special-purpose
// address registries (RFC 6890 and updates), and metadata services on public addresses.
var refused = []block{
	{netip.MustParsePrefix("0.0.0.0/8"), "unspecified"},
	{netip.MustParsePrefix("10.0.0.0/8"), "private"},
	{netip.MustParsePrefix("100.64.0.0/10"), "carrier-grade NAT"},
	{netip.MustParsePrefix("127.0.0.0/8"), "loopback"},
	{netip.MustParsePrefix("169.254.0.0/16"), "link-local"},
	{netip.MustParsePrefix("172.16.0.0/12"), "private"},
	{netip.MustParsePrefix("192.0.0.0/24"), "special-purpose"},
	{netip.MustParsePrefix("192.0.2.0/24"), "documentation"},
	{netip.MustParsePrefix("192.88.99.0/24"), "6to4 relay"},
	{netip.MustParsePrefix("192.168.0.0/16"), "private"},
	{netip.MustParsePrefix("198.18.0.0/15"), "benchmarking"},
	{netip.MustParsePrefix("198.51.100.0/24"), "documentation"},
	{netip.MustParsePrefix("203.0.113.0/24"), "documentation"},
	{netip.MustParsePrefix("224.0.0.0/4"), "multicast"},
	{netip.MustParsePrefix("240.0.0.0/4"), "reserved"},
	{netip.MustParsePrefix("168.63.129.16/32"), "cloud metadata"}, // Azure's host agent

	{netip.MustParsePrefix("::1/128"), "loopback"},
	{netip.MustParsePrefix("::/128"), "unspecified"},
	{netip.MustParsePrefix("fc00::/7"), "private"},
	{netip.MustParsePrefix("fe80::/10"), "link-local"},
	{netip.MustParsePrefix("ff00::/8"), "multicast"},
	{netip.MustParsePrefix("2001::/23"), "special-purpose"}, // Teredo and ORCHID among them
	{netip.MustParsePrefix("2001:db8::/32"), "documentation"},
	{netip.MustParsePrefix("2002::/16"), "6to4"},
	{netip.MustParsePrefix("3fff::/20"), "documentation"},
}

var (
	// nat64 is how a network without IPv4 names every IPv4 address (RFC 6052).
	nat64 = netip.MustParsePrefix("64:ff9b::/96")
	// globalUnicast is the only part of IPv6 that is handed out to the public.
	globalUnicast = netip.MustParsePrefix("2000::/3")
)

// canonical returns the address that a connection to addr would really reach:
// without a zone, and as IPv4 where IPv6 only wraps it.
func canonical(addr netip.Addr) netip.Addr {
	addr = addr.WithZone("").Unmap()
	if nat64.Contains(addr) {
		b := addr.As16()
		return netip.AddrFrom4([4]byte(b[12:]))
	}
	return addr
}

// reason says why the canonical addr is not on the public internet, or "".
func reason(addr netip.Addr) string {
	if !addr.IsValid() {
		return "invalid"
	}
	for _, b := range refused {
		if b.prefix.Contains(addr) {
			return b.why
		}
	}
	if addr.Is6() && !globalUnicast.Contains(addr) {
		return "reserved"
	}
	return ""
}
