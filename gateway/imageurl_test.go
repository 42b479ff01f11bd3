package gateway_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/gateway"
	"github.com/chatkeep/chatkeep/models"
)

// A caller's pictures are not a way to send any number of requests elsewhere.
func TestFetchesOfOneCallAreBounded(t *testing.T) {
	t.Parallel()
	var fetched atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fetched.Add(1)
		w.WriteHeader(http.StatusNotFound)
	}))
	defer server.Close()
	r := newRig(t)
	agent := r.settings.Agents["assistant"]
	agent.Images = true
	r.settings.Agents["assistant"] = agent
	r.options = append(r.options, gateway.WithImages(server.Client()))
	r.make()
	messages := make([]*models.SessionMessage, 100)
	for i := range messages {
		messages[i] = &models.SessionMessage{Role: models.RoleUser, Content: "look", Images: []string{server.URL, server.URL}}
	}
	if _, err := r.gateway.Complete(context.Background(), "assistant", messages, false, func(agents.Event) {}); err != nil {
		t.Fatal(err)
	}
	if n := fetched.Load(); n != 64 {
		t.Errorf("%d fetches", n)
	}
}
