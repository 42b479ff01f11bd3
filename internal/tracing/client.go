package tracing

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

const (
	// tracesPath is where OTLP/HTTP receivers take spans:
	// https://opentelemetry.io/docs/specs/otlp/#otlphttp-request
	tracesPath = "v1/traces"
	// maxReply bounds what is read of a reply, so that the connection can be used again.
	maxReply = 64 << 10
	idleTime = 30 * time.Second
)

// client posts spans by OTLP/HTTP. OpenTelemetry's own brings gRPC and its
// descriptors along, a megabyte of memory at rest in every server, traced or not.
type client struct {
	url  string
	http *http.Client
	log  *slog.Logger
	down atomic.Bool

	base   context.Context //nolint:containedctx // the client's lifetime: its end cuts what hangs
	cancel context.CancelFunc
}

func newClient(endpoint string, log *slog.Logger) (*client, error) {
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" {
		return nil, errors.New("the endpoint is not a URL") // which may hold a password
	}
	if !strings.HasSuffix(u.Path, "/"+tracesPath) {
		u = u.JoinPath(tracesPath)
	}
	c := &client{
		url: u.String(), log: log,
		http: &http.Client{
			Transport: &http.Transport{
				Proxy: http.ProxyFromEnvironment, MaxIdleConns: 1, IdleConnTimeout: idleTime,
				TLSHandshakeTimeout: exportTimeout, ForceAttemptHTTP2: true,
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
	c.base, c.cancel = context.WithCancel(context.Background())
	return c, nil
}

// Start is part of [otlptrace.Client].
func (*client) Start(context.Context) error { return nil }

// Stop is part of [otlptrace.Client].
func (*client) Stop(context.Context) error { return nil }

func (c *client) close() {
	c.cancel()
	c.http.CloseIdleConnections()
}

// UploadTraces posts a batch once; it is dropped if that fails. The log learns when a
// collector goes away and when it is back, not of each batch.
func (c *client) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	err := c.post(ctx, spans)
	if down := err != nil; c.down.Swap(down) != down {
		if down {
			c.log.Warn("traces cannot be sent; they are dropped until they can", "error", err)
		} else {
			c.log.Info("traces are sent again")
		}
	}
	return nil
}

func (c *client) post(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	// The same bytes as an ExportTraceServiceRequest, which lives beside gRPC.
	body, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: spans})
	if err != nil {
		return fmt.Errorf("encode spans: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, exportTimeout)
	defer cancel()
	defer context.AfterFunc(c.base, cancel)()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return errors.New("the endpoint cannot be used")
	}
	request.Header.Set("Content-Type", "application/x-protobuf")
	reply, err := c.http.Do(request)
	if err != nil {
		if wrapped, ok := errors.AsType[*url.Error](err); ok {
			err = wrapped.Err // without the URL
		}
		return fmt.Errorf("post spans: %w", err)
	}
	_, _ = io.CopyN(io.Discard, reply.Body, maxReply)
	_ = reply.Body.Close()
	if reply.StatusCode/100 != 2 {
		return fmt.Errorf("post spans: the collector answered %d", reply.StatusCode)
	}
	return nil
}
