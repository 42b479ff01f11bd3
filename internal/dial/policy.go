package dial

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
)

// Policy names what may be reached though it is not public. The zero Policy
// allows nothing beyond the public internet.
type Policy struct {
	// Hosts are host names or literal addresses, on any port. The operator
	// vouches for whatever they resolve to.
	Hosts []string
	// Prefixes are address ranges, on any port.
	Prefixes []netip.Prefix
	// HostPorts are exact "host:port" pairs as they stand in a URL.
	HostPorts []string
}

// ParsePolicy reads the list of egress.allowPrivate (hosts or CIDRs) and the
// host:port pairs that the configuration itself names.
func ParsePolicy(allowPrivate, hostPorts []string) (Policy, error) {
	p := Policy{}
	for _, entry := range allowPrivate {
		switch {
		case strings.Contains(entry, "/"):
			prefix, err := netip.ParsePrefix(entry)
			if err != nil {
				return Policy{}, fmt.Errorf("dial: allow %q: %w", entry, err)
			}
			p.Prefixes = append(p.Prefixes, prefix.Masked())
		case strings.TrimSpace(entry) == "":
			return Policy{}, fmt.Errorf("dial: allow %q: neither a host nor a CIDR", entry)
		default:
			p.Hosts = append(p.Hosts, entry)
		}
	}
	for _, entry := range hostPorts {
		if _, _, err := net.SplitHostPort(entry); err != nil {
			return Policy{}, fmt.Errorf("dial: allow %q: %w", entry, err)
		}
		p.HostPorts = append(p.HostPorts, entry)
	}
	return p, nil
}

// allows is a Policy prepared for look-up.
type allows struct {
	hosts     map[string]bool
	hostPorts map[string]bool
	prefixes  []netip.Prefix
}

func (p Policy) prepare() allows {
	a := allows{hosts: map[string]bool{}, hostPorts: map[string]bool{}, prefixes: p.Prefixes}
	for _, host := range p.Hosts {
		a.hosts[normalHost(host)] = true
	}
	for _, pair := range p.HostPorts {
		if host, port, err := net.SplitHostPort(pair); err == nil {
			a.hostPorts[net.JoinHostPort(normalHost(host), port)] = true
		}
	}
	return a
}

func (a allows) named(host, port string) bool {
	host = normalHost(host)
	return a.hosts[host] || a.hostPorts[net.JoinHostPort(host, port)]
}

func (a allows) contains(addr netip.Addr) bool {
	for _, prefix := range a.prefixes {
		if prefix.Contains(addr) {
			return true
		}
	}
	return false
}

// normalHost gives one spelling to what dials the same: case, a final dot,
// brackets, and the many ways to write an IP address.
func normalHost(host string) string {
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.Unmap().String()
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}
