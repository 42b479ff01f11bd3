package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/key"
)

// sender is what sends to an account: its adapter, or for what has none the part of
// the gateway that does; nil if the account is not here.
func (g *Gateway) sender(channel, account string) adapters.Adapter {
	if a := g.adapters[accountID{channel, account}]; a != nil {
		return a
	}
	switch channel {
	case key.ChannelTask:
		return &hook{client: g.hooks, place: place{channel, account}}
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
	client *http.Client
	place
}

// Traits says that a repeat is not recognised: that is up to whoever owns the URL.
func (*hook) Traits() adapters.Traits { return adapters.Traits{} }

// hookBody is what is posted. The id is the same whenever it is sent again.
type hookBody struct {
	ID        string    `json:"id"`
	TaskID    string    `json:"taskId"`
	InboundID string    `json:"inboundId"`
	Text      string    `json:"text"`
	CreatedAt time.Time `json:"createdAt"`
}

// maxHookAnswer bounds what is read of an answer, so that the connection can be used again.
const maxHookAnswer = 64 << 10

// Send posts one answer. Any 2xx is success.
func (h *hook) Send(ctx context.Context, d *models.Delivery) (adapters.Sent, error) {
	if h.client == nil {
		return adapters.Sent{}, &adapters.SendError{Kind: adapters.Refused, Err: errors.New("URLs cannot be reached from here")}
	}
	body, err := json.Marshal(hookBody{ID: d.ID, TaskID: d.Account, InboundID: d.InboundID, Text: d.Text, CreatedAt: d.CreatedAt})
	if err != nil {
		return adapters.Sent{}, &adapters.SendError{Kind: adapters.Refused, Err: err}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, string(d.Target.Ref), bytes.NewReader(body))
	if err != nil {
		return adapters.Sent{}, &adapters.SendError{Kind: adapters.Refused, Err: errors.New("the URL cannot be used")}
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Idempotency-Key", d.ID)
	answer, err := h.client.Do(request)
	if err != nil {
		return adapters.Sent{}, &adapters.SendError{Kind: adapters.Unknown, Err: errors.New("the URL did not answer")} // the cause may quote it
	}
	_, _ = io.CopyN(io.Discard, answer.Body, maxHookAnswer)
	_ = answer.Body.Close()
	status := fmt.Errorf("the URL answered %d", answer.StatusCode)
	switch code := answer.StatusCode; {
	case code < 300:
		return adapters.Sent{PlatformMessageID: d.ID}, nil
	case code == http.StatusTooManyRequests:
		return adapters.Sent{}, &adapters.SendError{Kind: adapters.RateLimited, Err: status}
	case code >= 500 || code == http.StatusRequestTimeout:
		return adapters.Sent{}, &adapters.SendError{Kind: adapters.Retry, Err: status}
	default:
		return adapters.Sent{}, &adapters.SendError{Kind: adapters.Refused, Err: status}
	}
}
