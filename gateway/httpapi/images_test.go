package httpapi_test

import (
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chatkeep/chatkeep/gateway"
	"github.com/chatkeep/chatkeep/gateway/httpapi"
	"github.com/chatkeep/chatkeep/internal/dial"
)

var png = "\x89PNG\r\n\x1a\n" + strings.Repeat("\x00", 100)

// imageWorld is a world that may fetch from its own machine, but not from where a server
// there redirects to.
func imageWorld(t *testing.T) (w *world, server string, fetched *atomic.Int64) {
	t.Helper()
	fetched = &atomic.Int64{}
	images := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fetched.Add(1)
		switch r.URL.Path {
		case "/page":
			_, _ = w.Write([]byte("<html>no picture</html>"))
		case "/inside":
			http.Redirect(w, r, "http://169.254.169.254/latest", http.StatusFound)
		case "/gone":
			http.NotFound(w, r)
		case "/huge":
			_, _ = w.Write([]byte(png + strings.Repeat("x", 8<<20)))
		default:
			_, _ = w.Write([]byte(png))
		}
	}))
	t.Cleanup(images.Close)
	policy, err := dial.ParsePolicy([]string{"127.0.0.1"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	guard := dial.New(policy)
	t.Cleanup(guard.CloseIdleConnections)
	w = newWorld(t, options{
		http:    func(c *httpapi.Config) { c.CheckURL = guard.CheckURL },
		gateway: []gateway.Option{gateway.WithImages(guard.HTTPClient(0))},
		settings: func(s *gateway.Settings) {
			model := s.Agents["model"]
			model.Images = true
			s.Agents["model"] = model
		},
	})
	return w, images.URL, fetched
}

// The gateway fetches pictures itself, through the guard: what the model gets is a data
// URL, or that there was one.
func TestImagesAreFetched(t *testing.T) {
	w, server, fetched := imageWorld(t)
	data := "data:image/png;base64," + base64.StdEncoding.EncodeToString([]byte(png))
	for image, want := range map[string]string{
		server + "/cat.png?sig=s3cret": "look\n[image: image/png]",
		data:                           "look\n[image: image/png]",
		server + "/page":               "look\n[attachment image could not be read]",
		server + "/inside":             "look\n[attachment image could not be read]",
		server + "/gone":               "look\n[attachment image could not be read]",
		server + "/huge":               "look\n[attachment image could not be read]",
	} {
		w.work(obj{"userId": "lin", "text": "look", "images": []string{image}, "messageId": image[len(image)-8:]}).ok()
		requests := w.model.Requests()
		if got := requests[len(requests)-1].Last("user").Text(); got != want {
			t.Errorf("%.60s: the model got %.100q, want %q", image, got, want)
		}
		part := obj{"type": "image_url", "image_url": obj{"url": image}}
		w.do(request{method: http.MethodPost, path: "/v1/chat/completions", token: "work-token", body: obj{
			"model": "model", "messages": []any{obj{"role": "user", "content": []any{obj{"type": "text", "text": "look"}, part}}},
		}}).ok()
		requests = w.model.Requests()
		if got := requests[len(requests)-1].Last("user").Text(); got != want {
			t.Errorf("%.60s, stateless: the model got %.100q, want %q", image, got, want)
		}
	}
	if fetched.Load() != 10 {
		t.Errorf("%d fetches", fetched.Load())
	}
	if strings.Contains(w.log.String(), "s3cret") {
		t.Error("the log holds a URL")
	}
}

func TestBadImagesOfCompletions(t *testing.T) {
	w, _, _ := imageWorld(t)
	for _, image := range []string{"file:///etc/passwd", "http://10.0.0.1/a.png", "http://metadata.google.internal/", "data:text/plain;base64,AAAA"} {
		w.do(request{method: http.MethodPost, path: "/v1/chat/completions", body: obj{
			"model": "assistant", "messages": []any{obj{"role": "user", "content": []any{obj{"type": "image_url", "image_url": obj{"url": image}}}}},
		}}).want(http.StatusBadRequest, "invalid_request")
	}
	if n := len(w.model.Requests()); n != 0 {
		t.Errorf("%d requests", n)
	}
}
