package main

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/chatkeep/chatkeep/agents/echo"
	"github.com/chatkeep/chatkeep/gateway"
	"github.com/chatkeep/chatkeep/gateway/access"
	"github.com/chatkeep/chatkeep/gateway/httpapi"
	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
	"github.com/chatkeep/chatkeep/store/memstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// chats joins what the HTTP side needs to take a message and to tell its outcome.
type chats struct {
	*gateway.Gateway

	inbox store.Inbox
}

func (c chats) Inbound(ctx context.Context, id string) (*models.Inbound, error) {
	return c.inbox.Inbound(ctx, id)
}

// serve runs a server with an echoing agent, in memory.
func serve(t *testing.T) (*client, store.Store) {
	t.Helper()
	st := memstore.New()
	t.Cleanup(func() { _ = st.Close() })
	log := slog.New(slog.DiscardHandler)
	settings := gateway.Settings{
		Agents: map[string]gateway.Agent{"assistant": {ID: "assistant", Agent: echo.New(echo.Config{}, clock.Real()), Timeout: time.Minute}},
		Chat: func(channel, _, _ string) (gateway.ChatSettings, bool) {
			return gateway.ChatSettings{Agent: "assistant", Access: access.Policy{Direct: access.Open}}, channel == "api"
		},
		MaxMessages: 100, Location: time.UTC,
	}
	g, err := gateway.New(gateway.Config{Owner: "example", Lease: 5 * time.Second, Workers: 4, Grace: time.Second}, settings, st, nil, clock.Real(), log)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- g.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("gateway: %v", err)
		}
	})
	api := httpapi.New(httpapi.Config{MaxBody: 64 << 10, Accounts: []httpapi.Account{{Name: "default"}}}, httpapi.Deps{
		Chats: chats{g, st}, Sessions: st, Control: g, Contexts: g, Slots: g, Notebooks: g, Live: g.Live(),
	}, clock.Real(), log)
	server := httptest.NewServer(api.All())
	t.Cleanup(server.Close)
	t.Cleanup(server.Client().CloseIdleConnections)
	return &client{base: server.URL, http: server.Client()}, st
}

func TestConsultation(t *testing.T) {
	c, st := serve(t)
	var out strings.Builder
	if err := consult(t.Context(), c, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"[cardiology] " + onHeart, "[neurology] " + onNerves, "nothing of each other", "merged back"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the play does not say %q:\n%s", want, out.String())
		}
	}
	left, _, err := st.ListSessions(t.Context(), store.SessionQuery{Limit: 10})
	if err != nil || len(left) != 0 {
		t.Errorf("%d sessions are left, %v", len(left), err)
	}
}

func TestCheckFindsALeak(t *testing.T) {
	c, _ := serve(t)
	answer, err := c.say(t.Context(), patient, "", complaint)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.check(t.Context(), answer.SessionKey, "default", nil, []string{complaint}); err == nil || !strings.Contains(err.Error(), "heard") {
		t.Errorf("a text that must not be there: %v", err)
	}
	if err := c.check(t.Context(), answer.SessionKey, "default", []string{onHeart}, nil); err == nil || !strings.Contains(err.Error(), "lost") {
		t.Errorf("a text that is missing: %v", err)
	}
	if _, err := c.history(t.Context(), answer.SessionKey, "nowhere"); err == nil || !strings.Contains(err.Error(), http.StatusText(http.StatusNotFound)) {
		t.Errorf("a slot that is not there: %v", err)
	}
}
