package tracing

import (
	"net/http"
	"strings"
)

// passing is a transport that lets requests to some hosts continue the trace that they
// are made in.
type passing struct {
	base  http.RoundTripper
	hosts map[string]bool
}

// Passing returns base with a traceparent in requests to the named hosts, on any port, and
// in no others: a trace tells which requests belong together.
func Passing(base http.RoundTripper, hosts []string) http.RoundTripper {
	if len(hosts) == 0 {
		return base
	}
	p := passing{base, make(map[string]bool, len(hosts))}
	for _, host := range hosts {
		p.hosts[plain(host)] = true
	}
	return p
}

// RoundTrip is part of [http.RoundTripper].
func (p passing) RoundTrip(r *http.Request) (*http.Response, error) {
	if at := Carried(r.Context()); at != "" && p.hosts[plain(r.URL.Hostname())] {
		r = r.Clone(r.Context())
		r.Header.Set(Header, at)
	}
	return p.base.RoundTrip(r)
}

func plain(host string) string { return strings.ToLower(strings.TrimSuffix(host, ".")) }
