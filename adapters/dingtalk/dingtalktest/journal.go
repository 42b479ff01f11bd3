package dingtalktest

import (
	"net/http"
	"time"
)

// Entry is one call that the platform received.
type Entry struct {
	At     time.Time `json:"at"`
	Op     Op        `json:"op"`
	Method string    `json:"method"`
	Path   string    `json:"path"`
	Body   string    `json:"body"`
}

// journalLength bounds the journal: a simulator may run for days.
const journalLength = 10000

func (s *Server) record(op Op, r *http.Request, body []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.journal) >= journalLength {
		s.journal = append(s.journal[:0:0], s.journal[journalLength/2:]...)
	}
	s.journal = append(s.journal, Entry{s.clock.Now(), op, r.Method, r.URL.Path, string(body)})
	s.notify()
}

// Journal returns the calls received, oldest first: of the given kinds, or all.
func (s *Server) Journal(ops ...Op) []Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Entry
	for _, e := range s.journal {
		wanted := len(ops) == 0
		for _, op := range ops {
			wanted = wanted || e.Op == op
		}
		if wanted {
			out = append(out, e)
		}
	}
	return out
}
