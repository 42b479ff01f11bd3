package feishutest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Fault changes how some calls end.
type Fault struct {
	// Match is part of "METHOD /path" of the calls; empty: all.
	Match string
	// Times is how many calls; zero: one, negative: all.
	Times int
	// Delay holds the answer back.
	Delay time.Duration
	// Code refuses the call with this code of the platform, with Status (zero: 400) and Msg.
	Code   int
	Status int
	Msg    string
	// Header goes with the refusal, e.g. x-ogw-ratelimit-reset.
	Header map[string]string
	// Plain answers Status with a body that is not JSON, as a proxy would.
	Plain bool
	// DropBefore breaks the connection before the call is carried out, DropAfter after it.
	DropBefore, DropAfter bool
}

// Inject adds a fault; the oldest that matches a call is the one that acts.
func (s *Server) Inject(f Fault) {
	if f.Times == 0 {
		f.Times = 1
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, &f)
}

// Heal removes all faults.
func (s *Server) Heal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
}

// take returns the fault that acts on a call, nil if none.
func (s *Server) take(call string) *Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, f := range s.faults {
		if !strings.Contains(call, f.Match) {
			continue
		}
		if f.Times > 0 {
			if f.Times--; f.Times == 0 {
				s.faults = slices.Delete(s.faults, i, i+1)
			}
		}
		return f
	}
	return nil
}

// Call is one call of the OpenAPI.
type Call struct {
	At     time.Time
	Method string
	Path   string
	Body   string
	Status int
	Code   int
	Token  string
}

// maxCalls bounds the journal.
const maxCalls = 20_000

// Calls lists the calls whose "METHOD /path" contains match, oldest first.
func (s *Server) Calls(match string) []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Call
	for _, c := range s.calls {
		if strings.Contains(c.Method+" "+c.Path, match) {
			out = append(out, c)
		}
	}
	return out
}

// api wraps the handlers of the OpenAPI: journal, faults, access token.
func (s *Server) api(needsToken bool, handle func(r *http.Request) reply) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.Down() {
			panic(http.ErrAbortHandler)
		}
		body, err := io.ReadAll(io.LimitReader(r.Body, 64<<20))
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		call := Call{At: s.clock.Now(), Method: r.Method, Path: r.URL.Path, Token: strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")}
		if !strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/") {
			call.Body = string(body)
		}
		fault := s.take(r.Method + " " + r.URL.Path)
		if fault != nil && fault.Delay > 0 && !s.sleep(r, fault.Delay) {
			panic(http.ErrAbortHandler)
		}
		answer := s.answer(fault, needsToken, call.Token, r, handle)
		call.Status, call.Code = answer.status(), answer.Code
		s.mu.Lock()
		if len(s.calls) < maxCalls {
			s.calls = append(s.calls, call)
		}
		s.touchLocked()
		s.mu.Unlock()
		if fault != nil && (fault.DropBefore || fault.DropAfter) {
			panic(http.ErrAbortHandler)
		}
		answer.write(w, fault)
	})
}

func (s *Server) answer(f *Fault, needsToken bool, token string, r *http.Request, handle func(*http.Request) reply) reply {
	switch {
	case f != nil && f.DropBefore:
		return reply{}
	case f != nil && (f.Code != 0 || f.Status != 0):
		return reply{Status: f.Status, Code: f.Code, Msg: f.Msg}
	case needsToken && token == "":
		return refuse(99991661, "Missing access token for authorization")
	case needsToken && !s.validToken(token):
		return refuse(99991663, "Invalid access token for authorization")
	}
	return handle(r)
}

func (s *Server) sleep(r *http.Request, d time.Duration) bool {
	t := s.clock.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-r.Context().Done():
	case <-s.done:
	}
	return false
}

// reply is an answer of the OpenAPI.
type reply struct {
	Status int // zero: 200, or 400 with a code
	Code   int
	Msg    string
	Data   any
	// Top are fields beside code and msg.
	Top map[string]any
	// File is the body of a download.
	File *Blob
}

func refuse(code int, format string, args ...any) reply {
	return reply{Code: code, Msg: fmt.Sprintf(format, args...)}
}

func (a reply) status() int {
	switch {
	case a.Status != 0:
		return a.Status
	case a.Code != 0:
		return http.StatusBadRequest
	}
	return http.StatusOK
}

func (a reply) write(w http.ResponseWriter, f *Fault) {
	w.Header().Set("X-Tt-Logid", "simulated")
	if f != nil {
		for name, value := range f.Header {
			w.Header().Set(name, value)
		}
		if f.Plain {
			http.Error(w, "upstream trouble", a.status())
			return
		}
	}
	if a.File != nil && a.Code == 0 {
		w.Header().Set("Content-Type", a.File.ContentType)
		w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", a.File.Name))
		_, _ = w.Write(a.File.Data)
		return
	}
	body := map[string]any{"code": a.Code, "msg": a.Msg}
	if a.Code == 0 {
		body["msg"] = "success"
	}
	if a.Data != nil {
		body["data"] = a.Data
	}
	maps.Copy(body, a.Top)
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(a.status())
	_ = json.NewEncoder(w).Encode(body)
}
