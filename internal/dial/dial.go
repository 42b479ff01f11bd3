package dial

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"
)

// ErrRefused is wrapped by every error about an address that the policy does not allow.
var ErrRefused = errors.New("address refused")

// ErrTooManyRedirects is wrapped by the error of a fetch with more than [MaxRedirects] hops.
var ErrTooManyRedirects = errors.New("too many redirects")

// MaxRedirects is how many redirects a guarded client follows.
const MaxRedirects = 5

const (
	dialTimeout   = 10 * time.Second
	keepAlive     = 30 * time.Second
	tlsTimeout    = 10 * time.Second
	idleTimeout   = 30 * time.Second
	maxIdleConns  = 32
	maxHeaderSize = 64 << 10
)

// Guard dials public addresses, and others only as far as its [Policy] goes.
// It is safe for concurrent use.
type Guard struct {
	allow     allows
	resolver  *net.Resolver
	transport *http.Transport
}

// New returns a guard with the given exceptions.
func New(allow Policy) *Guard {
	g := &Guard{allow: allow.prepare(), resolver: net.DefaultResolver}
	g.transport = &http.Transport{
		Proxy:                  nil, // a proxy would dial for us, unguarded
		DialContext:            g.DialContext,
		ForceAttemptHTTP2:      true,
		TLSHandshakeTimeout:    tlsTimeout,
		IdleConnTimeout:        idleTimeout,
		MaxIdleConns:           maxIdleConns,
		MaxResponseHeaderBytes: maxHeaderSize,
	}
	return g
}

// DialContext connects to addr ("host:port") over TCP. The check runs on each
// resolved address right before it is connected to; an address that is not
// allowed gives an error that wraps [ErrRefused].
func (g *Guard) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	switch network {
	case "tcp", "tcp4", "tcp6":
	default:
		return nil, fmt.Errorf("dial: network %q: %w", network, ErrRefused)
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("dial: %q: %w", addr, err)
	}
	d := net.Dialer{Timeout: dialTimeout, KeepAlive: keepAlive, Resolver: g.resolver}
	if !g.allow.named(host, port) {
		d.Control = func(_, resolved string, _ syscall.RawConn) error {
			return g.check(host, resolved)
		}
	}
	conn, err := d.DialContext(ctx, network, addr)
	if err != nil {
		return nil, fmt.Errorf("dial: %w", err)
	}
	return conn, nil
}

func (g *Guard) check(host, resolved string) error {
	ap, err := netip.ParseAddrPort(resolved)
	if err != nil {
		return fmt.Errorf("%q: %w: not an IP address", resolved, ErrRefused)
	}
	addr := canonical(ap.Addr())
	why := reason(addr)
	if why == "" || g.allow.contains(addr) || g.allow.contains(ap.Addr().WithZone("")) {
		return nil
	}
	return fmt.Errorf("%w: %s is %s (host %q); egress.allowPrivate can permit it", ErrRefused, addr, why, host)
}

// HTTPClient returns a client whose every connection, redirects included, goes
// through the guard. timeout bounds a whole exchange with its body; 0 leaves
// that to the request's context. Environment proxies are ignored. Clients of
// one guard share their idle connections.
func (g *Guard) HTTPClient(timeout time.Duration) *http.Client {
	return &http.Client{
		Transport: g.transport,
		Timeout:   timeout,
		CheckRedirect: func(_ *http.Request, via []*http.Request) error {
			if len(via) > MaxRedirects {
				return fmt.Errorf("dial: %w: stopped after %d", ErrTooManyRedirects, MaxRedirects)
			}
			return nil
		},
	}
}

// CloseIdleConnections closes what the guard's clients keep open for reuse.
func (g *Guard) CloseIdleConnections() { g.transport.CloseIdleConnections() }
