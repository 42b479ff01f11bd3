package config

import (
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

func (k *checker) server() {
	s := k.config.Server
	k.listenAddress("server.listen", s.Listen)
	if s.AdminListen != "" {
		k.listenAddress("server.adminListen", s.AdminListen)
		if _, port, _ := net.SplitHostPort(s.Listen); s.AdminListen == s.Listen && port != "0" {
			k.fail("server.adminListen", "is the same as server.listen: choose another port, or leave it empty")
		}
	}
	if !isLoopback(s.AdminAddress()) && s.AdminToken == "" {
		path, way := "server.listen", "set server.adminToken, move the admin API by server.adminListen: 127.0.0.1:8081, or listen on 127.0.0.1"
		if s.AdminListen != "" {
			path, way = "server.adminListen", "set server.adminToken, or listen on 127.0.0.1"
		}
		k.fail(path, "opens the admin API beyond this machine without a token: %s", way)
	}
	if token := string(s.AdminToken); hasControl(token) || strings.ContainsRune(token, ' ') {
		k.fail("server.adminToken", "holds a blank or control character: a bearer token cannot")
	}
	for i, proxy := range s.TrustedProxies {
		if !isPrefixOrAddress(proxy) {
			k.fail(at("server.trustedProxies", i), "needs an address or CIDR such as 10.0.0.0/8, not %q", clip(proxy))
		}
	}
}

func (k *checker) listenAddress(path, address string) {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		k.fail(path, "needs host:port such as 127.0.0.1:8080, not %q", clip(address))
		return
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		k.fail(path, "needs a port from 0 to 65535, not %q", clip(port))
	}
}

// isLoopback tells whether a host:port can be reached from this machine only.
// What cannot be parsed is reported elsewhere and counts as loopback here.
func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil || host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

func isPrefixOrAddress(s string) bool {
	if _, err := netip.ParsePrefix(s); err == nil {
		return true
	}
	_, err := netip.ParseAddr(s)
	return err == nil
}

// hostname as in RFC 1123, with the underscores that internal names use.
var hostname = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?(\.[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?)*\.?$`)

func isHostname(s string) bool { return len(s) <= 253 && hostname.MatchString(s) }

// url checks an http or https address; what names it in the message.
func (k *checker) url(path string, u URL, what string) {
	if !k.required(path, string(u), what) {
		return
	}
	parsed, err := url.Parse(string(u))
	if err != nil || parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Hostname() == "" || hasControl(string(u)) {
		k.fail(path, "needs a URL that begins with https:// or http:// and names a host")
	}
}

func (k *checker) operation() {
	for i, entry := range k.config.Egress.AllowPrivate {
		if !isPrefixOrAddress(entry) && (!isHostname(entry) || looksNumeric(entry)) {
			k.fail(at("egress.allowPrivate", i), "needs a host without port, an address or a CIDR, not %q", clip(entry))
		}
	}
	k.endpoint("tracing.endpoint", k.config.Tracing.Endpoint)
	for i, host := range k.config.Tracing.PassTo {
		if _, err := netip.ParseAddr(host); err != nil && (!isHostname(host) || looksNumeric(host)) {
			k.fail(at("tracing.passTo", i), "needs a host without port or an address, not %q", clip(host))
		}
	}
}

// looksNumeric tells a mistyped address (10.0.0.256) from a host.
func looksNumeric(s string) bool {
	return strings.Trim(s, "0123456789.") == ""
}

// endpoint checks an OTLP receiver. gRPC's client would cost every server some nine
// megabytes at rest, traced or not.
func (k *checker) endpoint(path string, u URL) {
	switch {
	case u == "":
	case !strings.Contains(string(u), "://"):
		k.fail(path, "needs the URL of an OTLP/HTTP receiver such as http://localhost:4318; OTLP over gRPC (host:4317) is not spoken")
	default:
		k.url(path, u, "")
	}
}
