// Package tracingtest is an OTLP/HTTP receiver for tests: a collector at the wire.
//
// It owns how spans are decoded and checked. It must not know who made them.
package tracingtest

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Receiver takes spans as a collector does.
type Receiver struct {
	server *httptest.Server

	mu       sync.Mutex
	spans    []Span
	raw      bytes.Buffer
	problems []string
	status   int
	hold     chan struct{}
	given    int
}

// Span is a span that was received.
type Span struct {
	Name, Trace, ID, Parent string
	Kind                    tracepb.Span_SpanKind
	// Attributes are the span's, numbers in decimals.
	Attributes map[string]string
	Failed     bool
	Status     string
	Service    string
}

// New returns a receiver that listens on loopback. Close it.
func New() *Receiver {
	r := &Receiver{status: http.StatusOK}
	r.server = httptest.NewServer(http.HandlerFunc(r.take))
	return r
}

// URL is the endpoint to be configured.
func (r *Receiver) URL() string { return r.server.URL }

// Close ends it.
func (r *Receiver) Close() {
	r.Release()
	r.server.CloseClientConnections()
	r.server.Close()
}

// Answer makes it answer with a status.
func (r *Receiver) Answer(status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status = status
}

// Hang makes it take requests and answer none until [Receiver.Release].
func (r *Receiver) Hang() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.hold == nil {
		r.hold = make(chan struct{})
	}
}

// GivenUp is how many requests were given up while it hung.
func (r *Receiver) GivenUp() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.given
}

// Release ends [Receiver.Hang].
func (r *Receiver) Release() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.hold != nil {
		close(r.hold)
		r.hold = nil
	}
}

// Spans returns what was received so far.
func (r *Receiver) Spans() []Span {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Span(nil), r.spans...)
}

// Raw returns all bytes received so far, for a search for what must not be there.
func (r *Receiver) Raw() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return bytes.Clone(r.raw.Bytes())
}

// Problems returns what was wrong with requests.
func (r *Receiver) Problems() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.problems...)
}

func (r *Receiver) take(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	r.mu.Lock()
	hold := r.hold
	r.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-request.Context().Done():
			r.mu.Lock()
			r.given++
			r.mu.Unlock()
			return
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var data tracepb.TracesData
	switch {
	case err != nil:
		r.problems = append(r.problems, "unreadable body")
	case request.Method != http.MethodPost || request.URL.Path != "/v1/traces":
		r.problems = append(r.problems, request.Method+" "+request.URL.Path)
	case request.Header.Get("Content-Type") != "application/x-protobuf":
		r.problems = append(r.problems, "content type "+request.Header.Get("Content-Type"))
	case proto.Unmarshal(body, &data) != nil || len(data.GetResourceSpans()) == 0:
		r.problems = append(r.problems, "no spans in the body")
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
	w.WriteHeader(r.status)
	if r.status != http.StatusOK {
		return
	}
	r.raw.Write(body)
	for _, resource := range data.GetResourceSpans() {
		service := ""
		for _, a := range resource.GetResource().GetAttributes() {
			if a.GetKey() == "service.name" {
				service = a.GetValue().GetStringValue()
			}
		}
		for _, scope := range resource.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				r.spans = append(r.spans, spanOf(s, service))
			}
		}
	}
}
