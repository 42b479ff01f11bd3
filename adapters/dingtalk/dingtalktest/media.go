package dingtalktest

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// file is something uploaded by the robot or sent by a person.
type file struct {
	name        string
	contentType string
	data        []byte
}

// AddFile makes data available under a download code.
func (s *Server) AddFile(code, contentType string, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files[code] = file{code, contentType, data}
}

func (s *Server) hasFile(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.files[id]
	return ok
}

// downloadURL exchanges a code for a temporary address.
func (s *Server) downloadURL(r *request) {
	var in struct {
		DownloadCode string `json:"downloadCode"`
		RobotCode    string `json:"robotCode"`
	}
	if !r.decode(&in) {
		return
	}
	if in.RobotCode != s.opts.ClientID || !s.hasFile(in.DownloadCode) {
		r.refuse(400, "invalidParameter.robotCode.downloadCode", "no such code for this robot")
		return
	}
	s.mu.Lock()
	id := fmt.Sprintf("tmp%d", s.next())
	s.files[id] = s.files[in.DownloadCode]
	s.mu.Unlock()
	r.reply(200, struct {
		DownloadURL string `json:"downloadUrl"`
	}{s.URL() + "/files/" + id})
}

func (s *Server) serveFile(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	f, ok := s.files[r.PathValue("id")]
	s.mu.Unlock()
	if !ok {
		http.NotFound(w, r)
		return
	}
	if f.contentType != "" {
		w.Header().Set("Content-Type", f.contentType)
	}
	_, _ = w.Write(f.data)
}

// upload is a call of the older API: the token is in the URL.
func (s *Server) upload(r *request) {
	q := r.r.URL.Query()
	if !s.validToken(q.Get("access_token")) {
		r.errcode(40014, "invalid access_token")
		return
	}
	r.r.Body = io.NopCloser(bytes.NewReader(r.body))
	part, header, err := r.r.FormFile("media")
	if err != nil {
		r.errcode(40035, "no media")
		return
	}
	defer part.Close()
	data, err := io.ReadAll(part)
	if err != nil || len(data) == 0 || len(data) > 20<<20 {
		r.errcode(40004, "empty or too large")
		return
	}
	if q.Get("type") == "file" && !strings.Contains(header.Filename, ".") {
		r.errcode(40004, "unknown file type")
		return
	}
	s.mu.Lock()
	id := fmt.Sprintf("@sim%d", s.next())
	s.files[id] = file{header.Filename, header.Header.Get("Content-Type"), data}
	s.mu.Unlock()
	r.reply(200, struct {
		ErrCode int    `json:"errcode"`
		ErrMsg  string `json:"errmsg"`
		Type    string `json:"type"`
		MediaID string `json:"media_id"`
	}{0, "ok", q.Get("type"), id})
}
