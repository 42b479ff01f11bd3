package httpapi

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/chatkeep/chatkeep/gateway"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// QueueControl repeats what failed, and pushes messages from outside.
type QueueControl interface {
	Retry(ctx context.Context, inboundID string) (*models.Inbound, error)
	RetryDelivery(ctx context.Context, id string) (*models.Delivery, error)
	Push(ctx context.Context, p gateway.Push) ([]string, error)
}

// pushRequest is the body of POST /admin/v1/deliveries.
type pushRequest struct {
	Channel        string `json:"channel"`
	Account        string `json:"account"`
	ChatID         string `json:"chatId"`
	UserID         string `json:"userId"`
	ThreadID       string `json:"threadId"`
	Text           string `json:"text"`
	IdempotencyKey string `json:"idempotencyKey"`
	Remember       *bool  `json:"remember"`
}

type pushResponse struct {
	// DeliveryIDs are the pieces in order; a repeat tells the first one's alone.
	DeliveryIDs []string `json:"deliveryIds"`
}

func (s *Server) push(c *gin.Context) {
	var body pushRequest
	err := decodeBody(c, &body, true)
	if err == nil {
		err = body.check()
	}
	if err != nil {
		s.fail(c, err)
		return
	}
	ids, err := s.deps.QueueControl.Push(c.Request.Context(), gateway.Push{
		Channel: body.Channel, Account: body.Account, Text: body.Text, IdempotencyKey: body.IdempotencyKey,
		Target:   models.Target{ChatID: body.ChatID, UserID: body.UserID, ThreadID: body.ThreadID, Direct: body.UserID != ""},
		Remember: body.Remember == nil || *body.Remember,
	})
	if errors.Is(err, store.ErrConflict) {
		err = conflict("another target or text was pushed with this idempotencyKey")
	}
	if err != nil {
		s.fail(c, err)
		return
	}
	c.JSON(http.StatusAccepted, pushResponse{ids})
}

func (b *pushRequest) check() error {
	switch {
	case !models.ValidName(b.Channel) || !models.ValidName(b.Account):
		return invalid("channel and account are needed, as they are configured")
	case (b.ChatID == "") == (b.UserID == ""):
		return invalid("exactly one of chatId and userId is needed")
	case strings.TrimSpace(b.Text) == "":
		return invalid("text is needed")
	}
	return checkTexts(
		foreignID("chatId", b.ChatID), foreignID("userId", b.UserID), foreignID("threadId", b.ThreadID),
		foreignID("idempotencyKey", b.IdempotencyKey), text{name: "text", value: b.Text},
	)
}
