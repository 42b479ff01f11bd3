package agenttest

import (
	"crypto/subtle"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/internal/clock"
)

// ServerOptions make a server as strict as wanted. The zero value takes any key,
// has no window and follows OpenAI in all else.
type ServerOptions struct {
	// APIKey is the only accepted bearer token; empty accepts all.
	APIKey string
	// ContextWindow refuses requests with more tokens, the answer's max_tokens
	// included; zero refuses none.
	ContextWindow int
	// Estimate counts the tokens of a text. Default: a rune beyond ASCII is one, four
	// other bytes are one.
	Estimate func(text string) int
	// RequireReasoning refuses assistant messages with tool calls that lack
	// reasoning_content, as thinking models do. An empty one is accepted.
	RequireReasoning bool
	// RefuseReasoning refuses reasoning_content anywhere.
	RefuseReasoning bool
	// RefuseStreamOptions refuses stream_options, as old servers do.
	RefuseStreamOptions bool
	// Clock paces delays. Default: the system's.
	Clock clock.Clock
}

// Server speaks OpenAI's chat completions. It checks every request, answers the
// good ones from a script, and remembers all. It is safe for concurrent use.
type Server struct {
	options ServerOptions

	mu         sync.Mutex
	script     []Reply
	otherwise  func(*ChatRequest) Reply
	requests   []*ChatRequest
	rejections []Rejection
	calls      []time.Time
}

// Rejection is a request that was refused as malformed.
type Rejection struct {
	Status  int
	Code    string
	Message string
	Body    string
}

// NewServer returns a server that echoes the last user message until told otherwise.
func NewServer(o ServerOptions) *Server {
	if o.Estimate == nil {
		o.Estimate = estimate
	}
	if o.Clock == nil {
		o.Clock = clock.Real()
	}
	return &Server{options: o, otherwise: Echo}
}

// Start serves on loopback until the test ends and returns the base URL, with /v1.
func (s *Server) Start(tb testing.TB) string {
	tb.Helper()
	server := httptest.NewServer(s)
	tb.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL + "/v1"
}

// Script queues replies: each well-formed request takes the next one.
func (s *Server) Script(replies ...Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = append(s.script, replies...)
}

// Otherwise sets what answers when the script is used up.
func (s *Server) Otherwise(reply func(*ChatRequest) Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.otherwise = reply
}

// Requests returns the well-formed requests so far, in order of arrival.
func (s *Server) Requests() []*ChatRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*ChatRequest(nil), s.requests...)
}

// Rejections returns the refused requests so far.
func (s *Server) Rejections() []Rejection {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Rejection(nil), s.rejections...)
}

// Calls returns when each request for a completion came, good or bad, by the
// server's clock.
func (s *Server) Calls() []time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]time.Time(nil), s.calls...)
}

// ServeHTTP serves POST …/chat/completions and GET …/models.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.authorized(r) {
		writeError(w, http.StatusUnauthorized, "invalid_request_error", "invalid_api_key", "Incorrect API key provided.")
		return
	}
	switch {
	case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/chat/completions"):
		s.complete(w, r)
	case r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/models"):
		writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": []any{
			map[string]any{"id": "test-model", "object": "model", "created": 0, "owned_by": "agenttest"},
		}})
	default:
		writeError(w, http.StatusNotFound, "invalid_request_error", "unknown_url", "Unknown request URL: "+r.Method+" "+r.URL.Path)
	}
}

func (s *Server) authorized(r *http.Request) bool {
	want := "Bearer " + s.options.APIKey
	return s.options.APIKey == "" || subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte(want)) == 1
}

func (s *Server) complete(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client went away
	}
	request, refused := s.check(r.Header, body)
	s.mu.Lock()
	s.calls = append(s.calls, s.options.Clock.Now())
	if refused != nil {
		refused.Body = string(body)
		s.rejections = append(s.rejections, *refused)
		s.mu.Unlock()
		writeError(w, refused.Status, "invalid_request_error", refused.Code, refused.Message)
		return
	}
	s.requests = append(s.requests, request)
	reply, otherwise := Reply{}, s.otherwise
	scripted := len(s.script) > 0
	if scripted {
		reply, s.script = s.script[0], s.script[1:]
	}
	s.mu.Unlock()
	if !scripted {
		reply = otherwise(request)
	}
	s.write(w, r, request, reply)
}

func writeError(w http.ResponseWriter, status int, kind, code, message string) {
	writeJSON(w, status, errorBody(kind, code, message))
}

func errorBody(kind, code, message string) map[string]any {
	return map[string]any{"error": map[string]any{"message": message, "type": kind, "code": code, "param": nil}}
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

// estimate is the default count of tokens.
func estimate(text string) int {
	wide, narrow := 0, 0
	for _, r := range text {
		if r > 0x7F {
			wide++
		} else {
			narrow++
		}
	}
	return wide + (narrow+3)/4
}
