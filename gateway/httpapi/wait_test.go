package httpapi

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/chatkeep/chatkeep/gateway"
	"github.com/chatkeep/chatkeep/gateway/watch"
	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/key"
	"github.com/chatkeep/chatkeep/store"
)

// endless accepts messages that never get an outcome, or whose session goes away.
type endless struct {
	hub  *watch.Hub
	gone bool
}

func (e *endless) Accept(_ context.Context, in *gateway.Incoming) (*store.Accepted, error) {
	return &store.Accepted{Inbound: &models.Inbound{ID: in.ID, SessionKey: "key", State: models.InboundRunning}}, nil
}

func (e *endless) Watch(id string) *watch.Watcher { return e.hub.Watch(id) }

func (e *endless) Inbound(_ context.Context, id string) (*models.Inbound, error) {
	if e.gone {
		return nil, store.ErrNotFound
	}
	return &models.Inbound{ID: id, SessionKey: "key", State: models.InboundRunning}, nil
}

// wait posts a message to a server whose messages never end, and returns the
// answer and how long it took.
func wait(t *testing.T, gone bool, body string) (*httptest.ResponseRecorder, time.Duration) {
	t.Helper()
	chats := &endless{watch.NewHub(nil, clock.Real(), slog.New(slog.DiscardHandler)), gone}
	s := New(Config{Accounts: []Account{{Name: "default", Tokens: []string{"t"}}}, MaxBody: 1000}, Deps{Chats: chats}, clock.Real(), slog.New(slog.DiscardHandler))
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/chat", strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer t")
	w := httptest.NewRecorder()
	began := clock.Real().Now()
	s.engine(s.channelRoutes).ServeHTTP(w, r)
	return w, clock.Real().Now().Sub(began)
}

func TestLongestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, took := wait(t, false, `{"userId":"lin","text":"hi"}`)
		if w.Code != http.StatusAccepted || took != maxWait || !strings.Contains(w.Body.String(), `"inboundId":"inb_`) {
			t.Errorf("after %v: %d %s", took, w.Code, w.Body)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		w, took := wait(t, false, `{"userId":"lin","text":"hi","stream":true}`)
		body := w.Body.String()
		if took != maxWait || !strings.Contains(body, "event: error") || !strings.Contains(body, string(models.CodeUnavailable)) {
			t.Errorf("after %v: %s", took, body)
		}
		if n := strings.Count(body, ": still here\n\n"); n < 35 {
			t.Errorf("only %d comments in a silent stream", n)
		}
	})
}

func TestWaitForADeletedMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, took := wait(t, true, `{"userId":"lin","text":"hi"}`)
		if w.Code != http.StatusConflict || took > lookAgain || !strings.Contains(w.Body.String(), string(models.CodeSuperseded)) {
			t.Errorf("after %v: %d %s", took, w.Code, w.Body)
		}
	})
}

// TestCompletionThatStartsAgain: OpenAI's stream cannot take back what was shown.
func TestCompletionThatStartsAgain(t *testing.T) {
	for _, c := range []struct{ before, after, want string }{
		{"", "whole", "whole"},
		{"the first", "the first and more", "the first and more"},
		{"the first", "another", "the first\n\nanother"},
	} {
		rec := httptest.NewRecorder()
		ctx, _ := gin.CreateTestContext(rec)
		ctx.Request = httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil)
		s := New(Config{}, Deps{}, clock.Real(), slog.New(slog.DiscardHandler))
		w := s.beginCompletion(ctx, &completionRequest{Model: "m", Stream: true})
		w.delta(c.before)
		w.restart()
		w.delta(c.after)
		w.end(c.after, "stop", models.Usage{})
		w.close()
		if got := w.shown.String(); got != c.want {
			t.Errorf("%q, then %q: shown %q, want %q", c.before, c.after, got, c.want)
		}
	}
}

func TestDetail(t *testing.T) {
	for _, c := range []struct {
		err, sentinel error
		want          string
	}{
		{fmt.Errorf("accept: %w: a message of 2 MB", store.ErrTooLarge), store.ErrTooLarge, "a message of 2 MB"},
		{fmt.Errorf("accept: text has a NUL byte: %w", store.ErrInvalid), store.ErrInvalid, "invalid value: text has a NUL byte"},
		{fmt.Errorf("accept: %w: user id is empty", key.ErrInvalid), key.ErrInvalid, "user id is empty"},
		{store.ErrInvalid, store.ErrInvalid, "invalid value"},
	} {
		if got := detail(c.err, c.sentinel); got != c.want {
			t.Errorf("%v: %q, want %q", c.err, got, c.want)
		}
	}
}
