package mcp

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// dial prepares a connection to the server.
func (l *link) dial() (wire, error) {
	if l.server.URL == "" {
		return startProcess(l.server, l.clock, l.log)
	}
	life, end := context.WithCancel(context.Background())
	base := l.client.Transport
	if base == nil {
		base = http.DefaultTransport
	}
	return &endpoint{
		StreamableClientTransport: &mcp.StreamableClientTransport{
			Endpoint: l.server.URL, MaxEventSize: maxMessage,
			HTTPClient: &http.Client{
				Transport: &exchanges{base: base, life: life, headers: l.server.Headers, origin: originOf(l.server.URL)}, CheckRedirect: l.client.CheckRedirect,
			},
		},
		end: end,
	}, nil
}

// endpoint carries a connection over streamable HTTP.
type endpoint struct {
	*mcp.StreamableClientTransport

	end context.CancelFunc
}

func (e *endpoint) kill() { e.end() }

// exchanges ends every exchange with the connection's life, adds the configured
// headers and bounds what is read.
type exchanges struct {
	base    http.RoundTripper
	headers map[string]string // for requests to origin
	origin  string
	life    context.Context //nolint:containedctx // the lifetime of what it owns, not of a call
}

func origin(u *url.URL) string { return u.Scheme + "://" + u.Host }

func originOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "" // no request is ever sent there
	}
	return origin(u)
}

// RoundTrip makes one exchange.
func (x *exchanges) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(req.Context())
	stop := context.AfterFunc(x.life, cancel)
	release := func() { stop(); cancel() }
	req = req.Clone(ctx)
	if origin(req.URL) == x.origin { // where a server redirects to gets none of its secrets
		for name, value := range x.headers {
			req.Header.Set(name, value)
		}
	}
	res, err := x.base.RoundTrip(req)
	if err != nil {
		release()
		return nil, err
	}
	left := int64(maxMessage)
	if media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); media == "text/event-stream" {
		left = -1 // it goes on; each event is bounded
	}
	res.Body = &body{ReadCloser: res.Body, left: left, release: release}
	return res, nil
}

var errTooMuch = errors.New("the server sent too much")

// body is a response's, bounded unless left is negative.
type body struct {
	io.ReadCloser

	left    int64
	release func()
}

// Read reads, and fails where the bound is passed.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left >= 0 {
		if b.left -= int64(n); b.left < 0 {
			b.left = 0
			return 0, errTooMuch
		}
	}
	return n, err
}

// Close ends the exchange.
func (b *body) Close() error {
	defer b.release()
	return b.ReadCloser.Close()
}
