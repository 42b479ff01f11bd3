package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/internal/dial"
	"github.com/chatkeep/chatkeep/internal/signature"
	"github.com/chatkeep/chatkeep/internal/tracing"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/key"
	"github.com/chatkeep/chatkeep/store"
)

// sender is what sends to an account: its adapter, or for what has none the part of
// the gateway that does; nil if the account is not here.
func (g *Gateway) sender(channel, account string) adapters.Adapter {
	if a := g.adapters[accountID{channel, account}]; a != nil {
		return a
	}
	switch channel {
	case key.ChannelTask:
		return &hook{g: g, place: place{channel, account}}
	case key.ChannelAPI:
		if _, ok := g.settings.Load().Chat(channel, account, ""); ok {
			return &mailbox{place{channel, account}}
		}
	}
	return nil
}

// place is an account that sends and never receives.
type place struct{ channel, account string }

func (p place) Channel() string { return p.channel }
func (p place) Account() string { return p.account }

func (place) Run(ctx context.Context, _ adapters.Sink) error {
	<-ctx.Done()
	return nil
}

func (place) Render(a adapters.Answer) []string {
	if a.Text == "" {
		return nil
	}
	return []string{a.Text}
}

func (place) Status() adapters.Status { return adapters.Status{Connected: true} }

// mailbox is a chat of the API channel: what is sent there is read there, as part of
// its history. Being remembered is all the delivery there is.
type mailbox struct{ place }

func (*mailbox) Send(_ context.Context, d *models.Delivery) (adapters.Sent, error) {
	return adapters.Sent{PlatformMessageID: d.ID}, nil
}

func (*mailbox) Traits() adapters.Traits {
	return adapters.Traits{IdempotencyWindow: 365 * 24 * time.Hour} // nothing leaves the database
}

// hook posts answers to the URL of their task.
type hook struct {
	g *Gateway
	place
}

const (
	// hookWindow is how long a post is repeated whose outcome nobody knows: whoever owns
	// the URL recognises it by its id.
	hookWindow = 24 * time.Hour
	// maxHookAttempts bounds the posts of one answer: they take about twenty minutes.
	maxHookAttempts = 12
	// maxHookPause is the longest pause between them; it doubles from a second on.
	maxHookPause = 5 * time.Minute
	// maxHookAnswer bounds what is read of an answer, so that the connection can be used again.
	maxHookAnswer = 64 << 10
)

// Traits says for how long posts may be repeated.
func (*hook) Traits() adapters.Traits { return adapters.Traits{IdempotencyWindow: hookWindow} }

// hookBody is what is posted. The id is the same whenever it is sent again.
type hookBody struct {
	ID        string    `json:"id"`
	TaskID    string    `json:"taskId"`
	InboundID string    `json:"inboundId"`
	Text      string    `json:"text"`
	CreatedAt time.Time `json:"createdAt"`
}

// Send posts one answer. Any 2xx is success.
func (h *hook) Send(ctx context.Context, d *models.Delivery) (adapters.Sent, error) {
	failed := h.post(ctx, d)
	switch {
	case failed == nil:
		return adapters.Sent{PlatformMessageID: d.ID}, nil
	case failed.Kind == adapters.Refused:
	case d.Attempts+1 >= maxHookAttempts:
		failed.Kind, failed.Err = adapters.Refused, fmt.Errorf("given up after %d attempts: %w", d.Attempts+1, failed.Err)
	default:
		pause := min(time.Second<<min(d.Attempts, maxHookAttempts), maxHookPause)
		failed.RetryAfter = max(pause, min(failed.RetryAfter, maxHookPause))
	}
	return adapters.Sent{}, failed
}

// post makes one attempt. Errors never quote the URL: it may be a secret.
func (h *hook) post(ctx context.Context, d *models.Delivery) *adapters.SendError {
	client := h.g.settings.Load().TaskHooks
	if client == nil {
		return hookRefused("URLs cannot be reached from here")
	}
	task, err := h.g.store.Task(ctx, d.Account)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return hookRefused("the task was deleted")
	case err != nil:
		return &adapters.SendError{Kind: adapters.Retry, Err: err}
	}
	// To the microsecond, as it is stored: a repeat is the same to the byte.
	body, err := json.Marshal(hookBody{ID: d.ID, TaskID: d.Account, InboundID: d.InboundID, Text: d.Text, CreatedAt: d.CreatedAt.UTC().Truncate(time.Microsecond)})
	if err != nil {
		return hookRefused("the answer cannot be written as JSON")
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, string(d.Target.Ref), bytes.NewReader(body))
	if err != nil {
		return hookRefused("the URL cannot be used")
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Idempotency-Key", d.ID)
	tracing.Inject(ctx, request.Header)
	secret := ""
	if task.Deliver != nil {
		secret = task.Deliver.Secret
	}
	signature.Set(request.Header, secret, h.g.now(), body)
	answer, err := client.Do(request)
	switch {
	case errors.Is(err, dial.ErrRefused):
		return hookRefused("the URL leads to an address that is not public; name it in egress.allowPrivate")
	case err != nil:
		return &adapters.SendError{Kind: adapters.Unknown, Err: errors.New("the URL did not answer")}
	}
	_, _ = io.CopyN(io.Discard, answer.Body, maxHookAnswer)
	_ = answer.Body.Close()
	status := fmt.Errorf("the URL answered %d", answer.StatusCode)
	switch code := answer.StatusCode; {
	case code < 300:
		return nil
	case code >= 500, code == http.StatusRequestTimeout, code == http.StatusTooManyRequests:
		seconds, _ := strconv.Atoi(answer.Header.Get("Retry-After"))
		return &adapters.SendError{Kind: adapters.Retry, RetryAfter: time.Duration(min(max(seconds, 0), 3600)) * time.Second, Err: status}
	default:
		return &adapters.SendError{Kind: adapters.Refused, Err: status}
	}
}

func hookRefused(why string) *adapters.SendError {
	return &adapters.SendError{Kind: adapters.Refused, Err: errors.New(why)}
}
