package simulator

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"time"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
)

//go:embed page.html
var pageHTML []byte

const (
	maxBody = 1 << 20
	// heartbeat keeps a quiet event stream open.
	heartbeat = 15 * time.Second
)

// Page serves the page on which people of the platform are played.
func Page(p Platform) http.Handler {
	s := &page{platform: p, markdown: goldmark.New(goldmark.WithExtensions(extension.GFM))}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.index)
	mux.HandleFunc("GET /api/state", s.state)
	mux.HandleFunc("GET /api/messages", s.messages)
	mux.HandleFunc("GET /api/changes", s.changes)
	mux.HandleFunc("POST /api/say", s.say)
	mux.HandleFunc("POST /api/press", s.press)
	mux.HandleFunc("POST /api/recall", s.recall)
	mux.HandleFunc("POST /api/fault", s.fault)
	return mux
}

type page struct {
	platform Platform
	markdown goldmark.Markdown
}

func (s *page) index(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'self'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src * data:")
	_, _ = w.Write(pageHTML)
}

type stateBody struct {
	Info

	Connections int `json:"connections"`
}

func (s *page) state(w http.ResponseWriter, _ *http.Request) {
	answer(w, stateBody{s.platform.Info(), s.platform.Connections()})
}

type shownMessage struct {
	Message

	HTML string `json:"html"`
}

func (s *page) messages(w http.ResponseWriter, r *http.Request) {
	out := []shownMessage{}
	for _, m := range s.platform.Messages(r.URL.Query().Get("chat")) {
		out = append(out, shownMessage{m, s.render(m.Text)})
	}
	answer(w, out)
}

// render turns Markdown into HTML; raw HTML in it is left out.
func (s *page) render(text string) string {
	var b bytes.Buffer
	if err := s.markdown.Convert([]byte(text), &b); err != nil {
		return html.EscapeString(text)
	}
	return b.String()
}

// changes tells the page, by server-sent events, that it should look again.
func (s *page) changes(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	for {
		changed := s.platform.Changed()
		if _, err := fmt.Fprint(w, "data: look\n\n"); err != nil || control.Flush() != nil {
			return
		}
		beat := time.NewTimer(heartbeat)
		select {
		case <-changed:
		case <-beat.C:
		case <-r.Context().Done():
		}
		beat.Stop()
		if r.Context().Err() != nil {
			return
		}
	}
}

func (s *page) say(w http.ResponseWriter, r *http.Request) {
	var said Said
	if read(w, r, &said) {
		finish(w, s.platform.Say(said))
	}
}

type pressBody struct {
	MessageID string `json:"messageId"`
	PersonID  string `json:"personId"`
	Label     string `json:"label"`
}

type toastBody struct {
	Toast string `json:"toast"`
}

func (s *page) press(w http.ResponseWriter, r *http.Request) {
	var b pressBody
	if !read(w, r, &b) {
		return
	}
	toast, err := s.platform.Press(b.MessageID, b.PersonID, b.Label)
	if err != nil {
		finish(w, err)
		return
	}
	answer(w, toastBody{toast})
}

type recallBody struct {
	MessageID string `json:"messageId"`
}

func (s *page) recall(w http.ResponseWriter, r *http.Request) {
	var b recallBody
	if read(w, r, &b) {
		finish(w, s.platform.Recall(b.MessageID))
	}
}

type faultBody struct {
	Name string `json:"name"`
	On   bool   `json:"on"`
}

func (s *page) fault(w http.ResponseWriter, r *http.Request) {
	var b faultBody
	if read(w, r, &b) {
		finish(w, s.platform.SetFault(b.Name, b.On))
	}
}

func read(w http.ResponseWriter, r *http.Request, v any) bool {
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(v); err != nil {
		http.Error(w, "the body is not the JSON that this needs", http.StatusBadRequest)
		return false
	}
	return true
}

func finish(w http.ResponseWriter, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_ = json.NewEncoder(w).Encode(v) //nolint:errchkjson // the page has gone if this fails
}
