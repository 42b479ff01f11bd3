package dial

import (
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// privateSuffixes are names that no public resolver knows.
var privateSuffixes = []string{"localhost", "local", "internal", "intranet", "lan", "home.arpa"}

// CheckURL refuses a URL that the guard would not fetch, as far as that can be told
// without asking anybody: it is not http or https, holds credentials, or names what is
// not on the public internet and not allowed. A name that resolves to such an address
// is refused when it is dialled. The error is for whoever gave the URL.
func (g *Guard) CheckURL(raw string) error {
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Opaque != "":
		return fmt.Errorf("%w: it is not a URL", ErrRefused)
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("%w: its scheme must be http or https", ErrRefused)
	case u.Hostname() == "":
		return fmt.Errorf("%w: it has no host", ErrRefused)
	case u.User != nil:
		return fmt.Errorf("%w: it must not hold credentials", ErrRefused)
	}
	host, port := u.Hostname(), u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	if g.allow.named(host, port) {
		return nil
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		if g.allow.contains(canonical(addr)) || g.allow.contains(addr.WithZone("")) {
			return nil
		}
		if why := reason(canonical(addr)); why != "" {
			return fmt.Errorf("%w: its host is %s", ErrRefused, why)
		}
		return nil
	}
	name := normalHost(host)
	if !strings.Contains(name, ".") || endsInNumber(name) {
		return fmt.Errorf("%w: its host is not a name of the public internet", ErrRefused)
	}
	for _, suffix := range privateSuffixes {
		if name == suffix || strings.HasSuffix(name, "."+suffix) {
			return fmt.Errorf("%w: its host is private", ErrRefused)
		}
	}
	return nil
}

// endsInNumber reports whether a name is one of the many ways to write an IPv4 address
// (WHATWG URL, "ends in a number").
func endsInNumber(name string) bool {
	last := name[strings.LastIndexByte(name, '.')+1:]
	_, err := strconv.ParseUint(last, 0, 64)
	return err == nil || strings.HasPrefix(last, "0x")
}
