package httpapi_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/models"
)

// fakeChannel is a platform in memory, with webhooks: enough for what the HTTP
// side does with platforms.
type fakeChannel struct {
	mu     sync.Mutex
	sent   []models.Delivery
	refuse bool
	broken bool // events cannot be stored
	sink   adapters.Sink
}

var (
	_ adapters.Adapter = (*fakeChannel)(nil)
	_ adapters.Webhook = (*fakeChannel)(nil)
)

func (*fakeChannel) Channel() string { return "fake" }
func (*fakeChannel) Account() string { return "main" }

func (f *fakeChannel) Run(ctx context.Context, sink adapters.Sink) error {
	f.mu.Lock()
	f.sink = sink
	f.mu.Unlock()
	<-ctx.Done()
	return nil
}

func (*fakeChannel) Render(a adapters.Answer) []string {
	if a.Text == "" {
		return nil
	}
	return strings.Split(a.Text, "|")
}

func (f *fakeChannel) Send(_ context.Context, d *models.Delivery) (adapters.Sent, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.refuse {
		return adapters.Sent{}, &adapters.SendError{Kind: adapters.Refused, Err: errors.New("no such chat")}
	}
	f.sent = append(f.sent, *d)
	return adapters.Sent{PlatformMessageID: "pm_" + d.ID}, nil
}

func (*fakeChannel) Status() adapters.Status {
	return adapters.Status{Mode: "webhook", Connected: true}
}
func (*fakeChannel) Traits() adapters.Traits { return adapters.Traits{} }

// ServeWebhook takes a text behind a password.
func (f *fakeChannel) ServeWebhook(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("X-Password") != "open" {
		http.Error(w, "go away", http.StatusUnauthorized)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, "too much", http.StatusRequestEntityTooLarge)
		return
	}
	f.mu.Lock()
	sink, broken := f.sink, f.broken
	f.mu.Unlock()
	if broken {
		http.Error(w, "later", http.StatusServiceUnavailable)
		return
	}
	if err := sink.Accept(r.Context(), &adapters.Message{
		ID: string(body), Chat: adapters.Chat{ID: "c", Type: adapters.Direct}, Sender: adapters.Sender{ID: "u"}, Text: string(body), Mentioned: true,
	}); err != nil {
		http.Error(w, "later", http.StatusServiceUnavailable)
		return
	}
	w.WriteHeader(http.StatusOK)
}

func (f *fakeChannel) setRefuse(refuse bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refuse = refuse
}

func (f *fakeChannel) breakDown() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.broken = true
}

func (f *fakeChannel) texts() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []string
	for i := range f.sent {
		out = append(out, f.sent[i].Text)
	}
	return out
}
