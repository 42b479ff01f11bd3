package dingtalktest

import (
	"io"
	"net/http"
	"time"

	"github.com/chatkeep/chatkeep/internal/clock"
)

// Op is a call that the platform takes.
type Op string

// The calls.
const (
	OpOpen          Op = "open"
	OpToken         Op = "token"
	OpWebhook       Op = "session webhook"
	OpGroupSend     Op = "group send"
	OpDirectSend    Op = "direct send"
	OpDownload      Op = "download"
	OpUpload        Op = "upload"
	OpEmotion       Op = "emotion"
	OpEmotionRecall Op = "emotion recall"
	OpCardCreate    Op = "card create"
	OpCardStream    Op = "card stream"
)

// Fault is how one call goes wrong.
type Fault struct {
	// Status and Body are the answer. Status zero: 200.
	Status int
	Body   string
	// Delay comes before anything else.
	Delay time.Duration
	// Apply does first what the call asks for; only its answer is replaced.
	Apply bool
	// Drop breaks the connection instead of answering.
	Drop bool
}

// Refusal is the OpenAPI's answer with a code.
func Refusal(status int, code string) Fault {
	return Fault{Status: status, Body: `{"code":"` + code + `","message":"scripted","requestid":"SIM-REQUEST"}`}
}

// ErrCode is a session webhook's or the older API's answer with a code, which may
// be a number or a word.
func ErrCode(code string) Fault {
	return Fault{Body: `{"errcode":"` + code + `","errmsg":"scripted"}`}
}

// Page is an answer that is no JSON, as gateways in between give.
func Page(status int) Fault { return Fault{Status: status, Body: "<html>scripted</html>"} }

// Fail makes the next calls of op go wrong, one fault each.
func (s *Server) Fail(op Op, faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults[op] = append(s.faults[op], faults...)
}

// Mend removes all scripted faults.
func (s *Server) Mend() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = map[Op][]Fault{}
}

func (s *Server) nextFault(op Op) (Fault, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	queue := s.faults[op]
	if len(queue) == 0 {
		return Fault{}, false
	}
	s.faults[op] = queue[1:]
	return queue[0], true
}

func (s *Server) faulty(op Op, r *request, h func(*request)) {
	f, ok := s.nextFault(op)
	if !ok {
		h(r)
		return
	}
	if clock.Sleep(r.r.Context(), clock.Real(), f.Delay) != nil {
		return
	}
	if f.Apply {
		h(&request{discard{}, r.r, r.body})
	}
	switch {
	case f.Drop:
		panic(http.ErrAbortHandler)
	case f.Body == "" && f.Status == 0:
		if !f.Apply {
			h(r) // a delay alone
		}
	default:
		r.w.Header().Set("Content-Type", "application/json")
		orDefault(&f.Status, http.StatusOK)
		r.w.WriteHeader(f.Status)
		_, _ = io.WriteString(r.w, f.Body)
	}
}

// discard is where an answer goes that is replaced.
type discard struct{}

func (discard) Header() http.Header         { return http.Header{} }
func (discard) Write(b []byte) (int, error) { return len(b), nil }
func (discard) WriteHeader(int)             {}
