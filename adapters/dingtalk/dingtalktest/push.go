package dingtalktest

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"net/http"
	"strconv"
)

// SetWebhookTarget changes where messages are posted; empty makes the robot one
// in stream mode.
func (s *Server) SetWebhookTarget(url string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.target = url
}

// post delivers over HTTP. Any answer is noted with its status as code.
func (s *Server) post(target string, d *delivery) {
	now := strconv.FormatInt(s.clock.Now().UnixMilli(), 10)
	status := s.PostSigned(target, d.body, now, s.Sign(now))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.acknowledge(d.id, Ack{Code: status})
}

// PostSigned posts a body with the given headers, empty ones left out, and returns
// the status; zero if there was no answer.
func (s *Server) PostSigned(target string, body []byte, timestamp, sign string) int {
	req, err := http.NewRequestWithContext(s.ctx, http.MethodPost, target, bytes.NewReader(body))
	if err != nil {
		return 0
	}
	req.Header.Set("Content-Type", "application/json; charset=utf-8")
	if timestamp != "" {
		req.Header.Set("Timestamp", timestamp)
	}
	if sign != "" {
		req.Header.Set("Sign", sign)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

// Sign returns the proof of origin for a timestamp.
func (s *Server) Sign(timestamp string) string {
	mac := hmac.New(sha256.New, []byte(s.opts.ClientSecret))
	mac.Write([]byte(timestamp + "\n" + s.opts.ClientSecret))
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}
